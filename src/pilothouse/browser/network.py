"""Every request of a tab, in a ring: headers, bodies, timing, failures, WebSocket frames, server-sent events.

Above: tab, settle, stream, tools. Below: eventstream, cdp. Bodies stay in the browser until somebody asks; durable
messages keep them there when the page has moved on.
"""

import asyncio
import base64
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pilothouse.browser import patterns
from pilothouse.browser.eventstream import EventStream
from pilothouse.browser.signal import Signal
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure, no_such_status

RING = 1000
FRAMES_KEPT = 200
FRAME_MAX_CHARS = 10_000
URL_SHOWN_CHARS = 2_048
URL_MAX_CHARS = 65_536
ENDED_KEPT = 100
EXTRA_PER_ID = 4  # headers sent and received, of a request and of one redirect
# What the browser calls the kinds of requests.
TYPES = (
    "Document", "Stylesheet", "Image", "Media", "Font", "Script", "TextTrack", "XHR", "Fetch", "Prefetch",
    "EventSource", "WebSocket", "Manifest", "SignedExchange", "Ping", "CSPViolationReport", "Preflight", "FedCM",
    "Other",
)  # fmt: skip
_KNOWN_TYPES = {one.lower() for one in TYPES}
NO_PAGE = (204, 205)  # answers after which a page stays where it is
CANCELED = "canceled"
# Kinds that may stay open for as long as they like: nobody waits for them.
_STREAMS = {"EventSource", "WebSocket", "Ping", "Media", "Prefetch", "Preflight", "CSPViolationReport", "Manifest"}
_LONG_LIVED = {"shared_worker", "service_worker"}  # they stay when a page goes
# What scripts and documents are made of; pictures, fonts and icons may come late.
_CONTENT = {"Document", "XHR", "Fetch", "Script", "Stylesheet"}
# Bodies fetched at once where the browser cannot keep them.
_EAGER = {"Document", "XHR", "Fetch"}
# Answered with a status of failure, these are given up by Chrome itself, which it tells like a break-off (M).
_GIVEN_UP = {"Script", "Stylesheet", "Font"}
_GIVEN_UP_AS = {"net::ERR_ABORTED", "net::ERR_FAILED"}  # the latter of a worker's first script
# Not the page's, but of what Chrome shows a PDF with, 224 requests for each (M); and nothing that a network brings.
_NOBODY_S = ("data:", "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/", "chrome://resources/")
# Events in them are told as bytes: scripts read these by themselves.
_SCRIPTED = {"XHR", "Fetch"}


class Message(msgspec.Struct, frozen=True):
    """A WebSocket frame or a server-sent event."""

    direction: str  # sent | received
    time_ms: int
    data: str
    kind: str  # text | binary | event name


class Request(msgspec.Struct):
    id: str
    number: int
    url: str  # as it is shown: cut
    method: str
    type: str
    started_ms: int
    channel: Channel
    browser_id: str
    whole_url: str  # as it is matched
    loader_id: str = ""
    request_headers: dict[str, str] = {}
    post_data: str = ""
    has_post_data: bool = False
    initiator: str = ""
    status: int = 0
    status_text: str = ""
    mime_type: str = ""
    response_headers: dict[str, str] = {}
    protocol: str = ""
    from_cache: bool = False
    timing: dict[str, float] = {}
    duration_ms: float = 0
    size_bytes: int = 0
    failure: str = ""
    redirected_to: str = ""
    blocked: str = ""  # by which of our rules
    mocked: str = ""
    worker: str = ""  # the kind of worker that asked
    done: bool = False
    body: str | None = None
    frames: list[Message] = []
    frames_dropped: int = 0
    stream: EventStream | None = None
    began: float = 0  # by our clock
    browser_began: float = 0  # by the browser's
    told: list[str] = []  # sides whose real headers have come
    hop_before: "Request | None" = None

    @property
    def messages(self) -> int:
        """Those of a stream so far, also of those that are not kept any more."""
        return len(self.frames) + self.frames_dropped

    @property
    def took_ms(self) -> float:
        """So far, if it has not ended."""
        return self.duration_ms if self.done else round((time.monotonic() - self.began) * 1000, 1)


class Network:
    """`explain(url)` gives the sluice's reason for a refused connection, or an empty string."""

    def __init__(self, explain: Callable[[str], str]) -> None:
        self._explain = explain
        self._ring: dict[str, Request] = {}
        self._current: dict[str, Request] = {}
        self._extra: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._workers: dict[Channel, str] = {}
        self._ended: dict[str, Request] = {}  # the last ones: something may come after the end
        self._ruled: dict[tuple[str, str], tuple[str, bool]] = {}
        self._sent: dict[str, None] = {}  # loaders of documents that a form brought
        self._numbers = itertools.count(1)
        self._signal = Signal()
        self._listeners: set[Callable[[Request], None]] = set()
        self.durable = True
        self.last_number = 0

    def follow(self, channel: Channel, worker: str = "") -> None:
        if worker:
            self._workers[channel] = worker
        handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "Network.requestWillBeSent": lambda p: self._started(channel, p),
            "Network.requestWillBeSentExtraInfo": lambda p: self._extra_info("request", p),
            "Network.responseReceivedExtraInfo": lambda p: self._extra_info("response", p),
            "Network.responseReceived": self._responded,
            "Network.requestServedFromCache": self._cached,
            "Network.dataReceived": self._data,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._failed,
            "Network.eventSourceMessageReceived": self._event,
            "Network.webSocketCreated": lambda p: self._socket_made(channel, p),
            "Network.webSocketHandshakeResponseReceived": self._socket_opened,
            "Network.webSocketWillSendHandshakeRequest": self._socket_asked,
            "Network.webSocketFrameSent": lambda p: self._frame("sent", p),
            "Network.webSocketFrameReceived": lambda p: self._frame("received", p),
            "Network.webSocketFrameError": self._socket_failed,
            "Network.webSocketClosed": self._socket_closed,
        }
        for method, handler in handlers.items():
            channel.on(method, handler)

    def ruled(self, browser_id: str, url: str, said: str, *, blocked: bool) -> None:
        """A rule of ours has decided about a request, which may not have been announced yet."""
        request = self._current.get(browser_id)
        if request and _without_fragment(request.whole_url) == url:
            _note_rule(request, said, blocked)
            return
        self._ruled[browser_id, url] = said, blocked
        while len(self._ruled) > RING:
            del self._ruled[next(iter(self._ruled))]

    def subscribe(self, listener: Callable[[Request], None]) -> Callable[[], None]:
        """Told of each request once, when it is done or has failed."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def requests(self) -> list[Request]:
        return list(self._ring.values())

    def get(self, request_id: str) -> Request | None:
        return self._ring.get(request_id)

    def by_loader(self, loader_id: str) -> Request | None:
        """The request that brought a document; its id in the browser is the loader's."""
        return next((one for one in reversed(self._ring.values()) if one.browser_id == loader_id), None)

    def was_sent(self, loader_id: str) -> bool:
        """Whether loading a document again would send again what brought it; known whatever the ring has lost."""
        return loader_id in self._sent

    def left(self, loader_id: str, next_one: str = "") -> None:
        """Another document is there: what older ones asked for ends, or nobody will ever hear of it. Not the request
        for the next one."""
        stay = {loader_id, next_one} - {""}  # sockets name no loader
        gone = [one for one in self._current.values() if one.loader_id not in stay and one.worker not in _LONG_LIVED]
        for one in gone:
            one.failure = one.failure or "the page was left"
            self._done(one)

    def stopped(self, loader_id: str) -> None:
        """A document loads no longer. If it was broken off before all of it had come, the browser never tells how its
        own request ended (M)."""
        if request := self._current.get(loader_id):
            request.failure = request.failure or "loading was stopped"
            self._done(request)

    def ended(self, channel: Channel) -> None:
        """A frame or worker is gone: nobody will ever hear how its requests ended."""
        self._workers.pop(channel, None)
        for one in [one for one in self._current.values() if one.channel is channel]:
            if not one.status:
                one.failure = one.failure or "the frame or worker that asked is gone"
            self._done(one)

    def clear(self) -> int:
        count = len(self._ring)
        self._ring = {one.id: one for one in self._current.values()}
        return count - len(self._ring)

    def in_flight(self) -> list[Request]:
        """Requests that will end by themselves."""
        return [one for one in self._current.values() if one.type not in _STREAMS]

    def awaited(self, since: int) -> list[Request]:
        """Requests begun after number `since` that a page's content may hang on."""
        return [one for one in self._current.values() if one.number > since and one.type in _CONTENT]

    def brought_no_page(self, since: int) -> bool:
        """Whether a document asked for after number `since` was answered and not taken, as one that is downloaded. Of
        those that were taken the browser tells no breaking off (M)."""
        newer = itertools.takewhile(lambda one: one.number > since, reversed(self._ring.values()))
        return any(
            one.type == "Document" and one.status not in (0, *NO_PAGE) and one.failure == CANCELED for one in newer
        )

    async def quiet(self, requests: list[Request], timeout: float) -> bool:
        """Until these requests are done; False when the time is over first."""
        return await self._signal.until(lambda: all(one.done for one in requests), timeout)

    async def idle(self, quiet_s: float) -> None:
        """Until nothing has been in flight for so long."""
        while True:
            await self._signal.until(lambda: not self.in_flight())
            mark = self.last_number
            if not await self._signal.until(lambda mark=mark: self.last_number > mark, quiet_s):
                return

    async def body_of(self, request: Request) -> tuple[str, bool]:
        """The response's body and whether it is base64; LookupError when the browser no longer has it."""
        if request.body is not None:
            return request.body, False
        try:
            reply = await request.channel.send("Network.getResponseBody", requestId=request.browser_id, timeout=10)
        except ProtocolError as error:
            raise LookupError(error.reason) from error
        return reply["body"], reply["base64Encoded"]

    async def post_data_of(self, request: Request) -> str:
        if request.post_data or not request.has_post_data:
            return request.post_data
        try:
            reply = await request.channel.send("Network.getRequestPostData", requestId=request.browser_id, timeout=10)
        except ProtocolError:
            return ""
        return reply["postData"]

    # Requests

    def _add(self, channel: Channel, browser_id: str, url: str, *, started_ms: int = 0, **fields: Any) -> Request:
        self.last_number = number = next(self._numbers)
        request = Request(
            id=f"r{number}",
            number=number,
            channel=channel,
            browser_id=browser_id,
            url=_shown(url),
            whole_url=url[:URL_MAX_CHARS],
            frames=[],
            timing={},
            told=[],
            began=time.monotonic(),
            worker=self._workers.get(channel, ""),
            started_ms=started_ms or _now(),
            **fields,
        )
        if ruled := self._ruled.pop((browser_id, _without_fragment(url)), None):
            _note_rule(request, *ruled)
        self._ring[request.id] = request
        self._current[browser_id] = request
        while len(self._ring) > RING:
            oldest = self._ring.pop(next(iter(self._ring)))
            if self._current.get(oldest.browser_id) is oldest:
                del self._current[oldest.browser_id]
        self._merge_kept(request)
        self._signal.stir()
        return request

    def _started(self, channel: Channel, params: dict[str, Any]) -> None:
        browser_id, sent = params["requestId"], params["request"]
        if sent["url"].startswith(_NOBODY_S):
            return
        before = self._current.get(browser_id)
        if before and (redirect := params.get("redirectResponse")):
            self._take_response(before, redirect)
            before.redirected_to = _shown(sent["url"])
            self._done(before, params.get("timestamp"))
        if browser_id == params.get("loaderId"):
            self._note_how(browser_id, sent["method"])
        self._add(
            channel,
            browser_id,
            sent["url"],
            method=sent["method"],
            loader_id=params.get("loaderId", ""),
            type=params.get("type", "Other"),
            request_headers=sent["headers"],
            post_data=sent.get("postData", ""),
            has_post_data=sent.get("hasPostData", False),
            initiator=_initiator(params.get("initiator", {})),
            started_ms=int(params.get("wallTime", 0) * 1000),
            browser_began=params.get("timestamp", 0),
            hop_before=before if params.get("redirectHasExtraInfo") else None,
        )

    def _note_how(self, loader_id: str, method: str) -> None:
        """A redirect may turn what was sent into something that is only asked for."""
        self._sent.pop(loader_id, None)
        if method not in ("GET", "HEAD"):
            self._sent[loader_id] = None
        while len(self._sent) > RING:
            del self._sent[next(iter(self._sent))]

    def _extra_info(self, side: str, params: dict[str, Any]) -> None:
        """The headers as they really were on the wire. They come when they like: before the request itself, or after
        the next hop of a redirect has begun, or after the end."""
        request = self._current.get(params["requestId"]) or self._ended.get(params["requestId"])
        while request and (before := request.hop_before) and side not in before.told:
            request = before
        if request and side not in request.told:
            self._merge(request, side, params["headers"])
            return
        kept = self._extra.setdefault(params["requestId"], [])
        kept.append((side, params["headers"]))
        del kept[:-EXTRA_PER_ID]
        if len(self._extra) > RING:  # some never come, of data: addresses and of requests that ended before
            del self._extra[next(iter(self._extra))]

    def _merge_kept(self, request: Request) -> None:
        for side, headers in self._extra.pop(request.browser_id, []):
            self._merge(request, side, headers)

    @staticmethod
    def _merge(request: Request, side: str, headers: dict[str, str]) -> None:
        request.told.append(side)
        if side == "request":
            request.request_headers = {**request.request_headers, **headers}
        else:
            request.response_headers = {**request.response_headers, **headers}

    def _responded(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.type = params.get("type", request.type)
            self._take_response(request, params["response"])
            if request.mime_type == "text/event-stream" and request.type in _SCRIPTED:
                self._read_along(request)
            self._signal.stir()

    @staticmethod
    def _take_response(request: Request, response: dict[str, Any]) -> None:
        request.status = response["status"]
        request.status_text = response.get("statusText", "")
        request.mime_type = response.get("mimeType", "")
        request.response_headers = {**response["headers"], **request.response_headers}
        request.protocol = response.get("protocol", "")
        request.from_cache = request.from_cache or response.get("fromDiskCache", False)
        request.timing = _phases(response.get("timing"))

    def _cached(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.from_cache = True

    def _finished(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.size_bytes = int(params["encodedDataLength"])
            self._merge_kept(request)  # a second answer, after a password or the like
            self._done(request, params.get("timestamp"))
            if not self.durable and request.type in _EAGER:
                request.channel.post("Network.getResponseBody", requestId=request.browser_id).add_done_callback(
                    lambda reply: _keep_body(request, reply)
                )

    def _failed(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.failure = self._why_failed(request, params)
            self._merge_kept(request)
            self._done(request, params.get("timestamp"))

    def _why_failed(self, request: Request, params: dict[str, Any]) -> str:
        """Empty where the status that came is all of it."""
        barred = params.get("blockedReason") or _cors(params)
        error = params.get("errorText", "failed")
        if not barred and error in _GIVEN_UP_AS and request.status >= 400 and request.type in _GIVEN_UP:
            return ""
        return CANCELED if params.get("canceled") else self._reason(request, barred or error)

    def _reason(self, request: Request, reason: str) -> str:
        if request.blocked:
            return request.blocked
        return self._explain(request.whole_url) or reason if "SOCKS" in reason else reason

    def _done(self, request: Request, ended: float | None = None) -> None:
        """`ended` is the browser's time; where it tells none, ours has to do."""
        request.done, request.stream = True, None
        by_browser = ended - request.browser_began if ended and request.browser_began else -1
        request.duration_ms = round((by_browser if by_browser >= 0 else time.monotonic() - request.began) * 1000, 1)
        if self._current.get(request.browser_id) is request:
            del self._current[request.browser_id]
        self._ended[request.browser_id] = request
        while len(self._ended) > ENDED_KEPT:
            del self._ended[next(iter(self._ended))]
        self._signal.stir()
        for listener in tuple(self._listeners):
            listener(request)

    # Streams

    def _read_along(self, request: Request) -> None:
        """From now on the browser tells what comes, and what has come until now."""
        request.stream = stream = EventStream()

        def begun(reply: asyncio.Future[dict[str, Any]]) -> None:
            if not reply.cancelled() and not reply.exception():
                self._streamed(request, stream.begin(base64.b64decode(reply.result()["bufferedData"])))

        asked = request.channel.post("Network.streamResourceContent", requestId=request.browser_id)
        asked.add_done_callback(begun)

    def _data(self, params: dict[str, Any]) -> None:
        request = self._current.get(params["requestId"])
        if request and request.stream and (data := params.get("data")):
            self._streamed(request, request.stream.feed(base64.b64decode(data)))

    def _streamed(self, request: Request, events: list[tuple[str, str]]) -> None:
        for name, data in events:
            self._keep(request, Message("received", _now(), data, name))

    def _event(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.type = "EventSource"
            self._keep(request, Message("received", _now(), params["data"], params.get("eventName") or "message"))

    def _socket_made(self, channel: Channel, params: dict[str, Any]) -> None:
        self._add(
            channel,
            params["requestId"],
            params["url"],
            method="GET",
            type="WebSocket",
            initiator=_initiator(params.get("initiator", {})),
        )

    def _socket_asked(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.request_headers = params["request"]["headers"]
            request.browser_began = params.get("timestamp", 0)

    def _socket_opened(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            response = params["response"]
            request.status, request.status_text = response["status"], response["statusText"]
            request.response_headers = response["headers"]

    def _frame(self, direction: str, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            frame = params["response"]
            kind = "text" if frame["opcode"] == 1 else "binary"
            self._keep(request, Message(direction, _now(), frame["payloadData"], kind))

    @staticmethod
    def _keep(request: Request, message: Message) -> None:
        if len(message.data) > FRAME_MAX_CHARS:
            message = msgspec.structs.replace(message, data=message.data[:FRAME_MAX_CHARS] + "…")
        request.frames.append(message)
        if len(request.frames) > FRAMES_KEPT:
            del request.frames[0]
            request.frames_dropped += 1

    def _socket_failed(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            request.failure = self._reason(request, params["errorMessage"])

    def _socket_closed(self, params: dict[str, Any]) -> None:
        if request := self._current.get(params["requestId"]):
            self._done(request, params.get("timestamp"))


def choice(
    url_pattern: str, methods: Sequence[str], types: Sequence[str], status: tuple[int, int], redact: patterns.Redact
) -> Callable[[Request], bool]:
    """Whether a request, as it would be shown, fits all of these; what is empty asks for nothing."""
    fits = patterns.address(url_pattern) if url_pattern else None
    if status[0] > status[1]:
        raise no_such_status(*status)
    if unknown := [one for one in types if one.lower() not in _KNOWN_TYPES]:
        hint = f"types: {', '.join(TYPES)}"
        raise Failure("bad_request", f"there is no type {unknown[0][:40]!r}", suggestions=[hint])
    of_methods, of_types = {one.upper() for one in methods}, {one.lower() for one in types}
    return lambda one: (
        (not of_methods or one.method in of_methods)
        and (not of_types or one.type.lower() in of_types)
        and status[0] <= _worst(one) <= status[1]
        and (fits is None or fits(redact(one.whole_url)))
    )


def brief(one: Request) -> dict[str, Any]:
    """A request without headers and bodies, as plain data."""
    fields: dict[str, Any] = {
        "id": one.id,
        "method": one.method,
        "url": one.url,
        "type": one.type,
        "status": one.status,
        "mime_type": one.mime_type,
        "duration_ms": one.took_ms,
        "size_bytes": one.size_bytes,
        "started_ms": one.started_ms,
        "failure": one.failure,
        "mocked": one.mocked,
        "worker": one.worker,
        "from_cache": one.from_cache,
        "messages": one.messages,
        "pending": not one.done,
    }
    return {name: value for name, value in fields.items() if value or name in ("id", "status")}


def _worst(one: Request) -> int:
    """A request that failed without an answer is worse than any status, and found by whoever looks for errors."""
    return 999 if one.failure and not one.status else one.status


def _note_rule(request: Request, said: str, blocked: bool) -> None:
    if blocked:
        request.blocked = said
    else:
        request.mocked = said


def _cors(params: dict[str, Any]) -> str:
    """Why a page may not read an answer of another origin; the error itself only says that it failed."""
    status: dict[str, str] = params.get("corsErrorStatus", {})
    what = " ".join(part for part in (status.get("corsError"), status.get("failedParameter")) if part)
    return f"blocked by CORS: {what[:200]}" if what else ""


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def _now() -> int:
    return int(time.time() * 1000)


def _shown(url: str) -> str:
    return url if len(url) <= URL_SHOWN_CHARS else url[: URL_SHOWN_CHARS - 1] + "…"


def _initiator(initiator: dict[str, Any]) -> str:
    calls = initiator.get("stack", {}).get("callFrames", [])
    if calls:
        return f"{initiator['type']} {_shown(calls[0]['url'])}:{calls[0]['lineNumber'] + 1}"
    place = f" {_shown(initiator['url'])}" if initiator.get("url") else ""
    return f"{initiator.get('type', 'other')}{place}"


def _phases(timing: dict[str, Any] | None) -> dict[str, float]:
    """How long each step took, in ms; steps that did not happen are left out."""
    if not timing:
        return {}
    phases: dict[str, float] = {}
    for name, start, end in (
        ("dns", "dnsStart", "dnsEnd"),
        ("connect", "connectStart", "connectEnd"),
        ("tls", "sslStart", "sslEnd"),
        ("send", "sendStart", "sendEnd"),
        ("wait", "sendEnd", "receiveHeadersStart"),
    ):
        if timing.get(start, -1) >= 0 and timing.get(end, -1) >= timing[start]:
            phases[name] = round(timing[end] - timing[start], 2)
    return phases


def _keep_body(request: Request, reply: asyncio.Future[dict[str, Any]]) -> None:
    if reply.cancelled() or reply.exception():
        return
    answer = reply.result()
    body = answer["body"]
    request.body = base64.b64decode(body).decode("utf-8", "replace") if answer["base64Encoded"] else body
