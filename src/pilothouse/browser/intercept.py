"""Requests that are blocked or answered by us instead of the network, through the Fetch domain.

Above: context and tab join every target before it runs. Below: border (the policy, asked first), asking, patterns, cdp.
Fetch is on only while somebody has something to say: while it is, Chrome takes a detour with every request, and what
is stopped for us costs 1.8 ms (M) and gets an answer, whatever goes wrong. Documents that are not stopped are heard of
here, too: the network holds them, and somebody has to ask.
"""

import asyncio
import base64
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol

import msgspec

from pilothouse.browser import patterns
from pilothouse.browser.asking import Asking
from pilothouse.browser.border import Border, Refusal
from pilothouse.browser.origins import origin_of
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

MAX_RULES = 100
MAX_REFUSED = 200
APPLY_S = 5.0
_NOTHING: dict[str, Any] = {"patterns": [{"urlPattern": "nothing:"}]}
_NO_BODY = {204, 205, 304}
# As the browser calls them; callers may write them in any case. Before a request is sent, fetch is XHR to it (M).
TYPES = {
    one.lower(): one
    for one in (
        "Document", "Stylesheet", "Image", "Media", "Font", "Script", "TextTrack", "XHR", "Fetch", "EventSource",
        "Manifest", "Ping", "CSPViolationReport", "Other",
    )
}  # fmt: skip


class Answer(msgspec.Struct, frozen=True):
    """What a mocked request gets."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    delay_ms: int = 0


class Asked(msgspec.Struct, frozen=True):
    """A request that was stopped."""

    url: str
    method: str
    type: str
    headers: dict[str, str]  # names in lower case

    @property
    def preflight_for(self) -> str:
        """The method that a CORS preflight asks about; empty when it is none."""
        return self.headers.get("access-control-request-method", "") if self.method == "OPTIONS" else ""


class Rule(msgspec.Struct, eq=False):
    """`answer` mocks, none blocks. `times` 0 is for ever."""

    id: str
    pattern: str
    fits: Callable[[str], bool]
    types: tuple[str, ...] = ()
    method: str = ""
    answer: Answer | None = None
    named: tuple[str, ...] = ()  # the origins that the pattern spells out
    times: int = 0
    used: int = 0
    waiting: int = 0  # answers that are still delayed

    @property
    def spent(self) -> bool:
        return bool(self.times) and self.used >= self.times

    @property
    def said(self) -> str:
        return f"{'mocked' if self.answer else 'blocked'} by {self.id} ({self.pattern})"

    def means(self, asked: Asked) -> bool:
        """A preflight is asked on behalf of the request that follows, so a mock for that one answers it, too."""
        method = (self.answer and asked.preflight_for) or asked.method
        return (
            not self.spent
            and (not self.method or self.method == method)
            and (not self.types or asked.type in self.types)
            and self.fits(asked.url)
        )


class Tell(Protocol):
    def __call__(self, browser_id: str, url: str, said: str, *, blocked: bool) -> None: ...


class Answered(Protocol):
    def __call__(self, announced: dict[str, Any], refusal: Refusal | None) -> None: ...


def _no_frame(frame_id: str) -> str:
    return ""


def _nobody(announced: dict[str, Any], refusal: Refusal | None) -> None:
    pass


class Asker(NamedTuple):
    """Who is behind a channel. `pages` are the documents that a request may come from: while one takes the place of
    another, both. `top` is the frame of the tab itself; a worker has none. `shared` is the address of a shared worker:
    Fetch may come too late to one (M: 5 of 100 on a busy machine), so where pages have lists it is shut in as well.
    `frame` gives the address of a frame by its id. A service worker is `lasting`. `answered` is told what a person said
    about a document that nobody holds."""

    tell: Tell
    pages: Callable[[], Iterable[str]]
    top: str = ""
    shared: str = ""
    frame: Callable[[str], str] = _no_frame
    lasting: bool = False
    answered: Answered = _nobody


class Rules:
    """The rules of one session; the newest is asked first."""

    def __init__(self, redact: patterns.Redact = str) -> None:
        self._redact = redact
        self._rules: dict[str, Rule] = {}
        self._count = 0

    def __len__(self) -> int:
        return sum(not rule.spent for rule in self._rules.values())

    def add(self, pattern: str, **fields: Any) -> Rule:
        self._rules = {rule.id: rule for rule in self._rules.values() if not rule.spent or rule.waiting}
        if len(self._rules) >= MAX_RULES:
            raise Failure(
                "over_limit", f"this session has {MAX_RULES} rules", suggestions=["clear_intercepts removes them"]
            )
        if pattern.lower().startswith(("ws:", "wss:")):
            raise Failure(
                "unsupported",
                "WebSockets cannot be stopped by their address",
                suggestions=["open_session(allowed_domains=[…]) keeps a session from other hosts, by any protocol"],
            )
        self._count += 1
        name = f"{'m' if fields.get('answer') else 'b'}{self._count}"
        fits = patterns.address(pattern)
        # What is stopped is seen to be: by the part of an address that nobody is shown, nothing is.
        rule = self._rules[name] = Rule(name, pattern, lambda url: fits(self._redact(url)), **fields)
        return rule

    def remove(self, name: str = "") -> list[Rule]:
        """Take back one rule or all; the answer is what was in force."""
        gone = [rule for rule in self._rules.values() if name in ("", rule.id)]
        for rule in gone:
            del self._rules[rule.id]
        return [rule for rule in gone if not rule.spent]

    def patterns(self) -> Iterable[dict[str, Any]]:
        for rule in self._rules.values():
            if rule.spent and not rule.waiting:
                continue
            address = _browser_pattern(rule.pattern)
            yield from ({"urlPattern": address, "resourceType": one} for one in rule.types)
            if not rule.types:
                yield {"urlPattern": address}

    def find(self, asked: Asked) -> Rule | None:
        return next((rule for rule in reversed(self._rules.values()) if rule.means(asked)), None)


class Intercept:
    """All targets of a context, held to the policy first, then to the rules of the session."""

    def __init__(self) -> None:
        self.border: Border | None = None
        self.rules: Rules | None = None
        self.mocked: set[str] = set()  # origins that have been spoken for: what runs there may not be theirs any more
        self._channels: dict[str, Channel] = {}
        self._early: set[str] = set()
        self._shared: dict[str, str] = {}
        self._held: set[asyncio.Task[None]] = set()
        self._asking = Asking()
        self._refused: OrderedDict[str, Refusal] = OrderedDict()

    def refusal(self, url: str) -> Refusal | None:
        """Why the policy refused the last request for an address, if it did."""
        return self._refused.get(_without_fragment(url))

    def asking(self, channel: Channel) -> str:
        """The document of a tab that a person is being asked about, if there is one."""
        return self._asking.about(channel.id)

    async def answered(self, host: str, port: int) -> None:
        """Until nobody is being asked whether a document of that host may come, or somebody has said yes."""
        if self.border:
            await self._asking.answered(self.border, host, port)

    def join(self, channel: Channel, asker: Asker, *, early: bool = False) -> None:
        """A target that is about to run; what its requests came to is told. `early`: it listens to rules that come
        later only if Fetch was on when it began (shared workers, M)."""
        channel.on("Fetch.requestPaused", lambda p: self._paused(channel, asker, p))
        channel.on("Fetch.authRequired", lambda p: _without_password(channel, p))
        if asker.top:
            channel.on("Network.requestWillBeSent", lambda p: self._announced(channel, asker, p))
        self._channels[channel.id] = channel
        if early:
            self._early.add(channel.id)
        if asker.shared:
            self._shared[channel.id] = asker.shared
            if self._has_lists:
                self._shut_in(channel)
        if wanted := self._wanted() or (_NOTHING if early else {}):
            channel.post("Fetch.enable", **wanted)

    def leave(self, channel: Channel) -> None:
        self._asking.left(channel.id)
        self._channels.pop(channel.id, None)
        self._early.discard(channel.id)
        self._shared.pop(channel.id, None)

    async def apply(self) -> None:
        """Until what border and rules say now is in force in every target."""
        if posted := self._spread():
            await asyncio.wait(posted, timeout=APPLY_S)

    def _spread(self) -> list[asyncio.Future[dict[str, Any]]]:
        wanted = self._wanted()
        for channel in [one for one in self._channels.values() if one.gone]:
            self.leave(channel)
        return [self._put(channel, wanted) for channel in self._channels.values()]

    def put(self, channel: Channel) -> None:
        """What holds now, in one target that may have forgotten it."""
        if wanted := self._wanted():
            channel.post("Fetch.enable", steadfast=True, timeout=APPLY_S, **wanted)

    def _put(self, channel: Channel, wanted: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        if channel.id in self._shared:
            self._shut_in(channel)
        wanted = wanted or (_NOTHING if channel.id in self._early else {})
        if wanted:
            return channel.post("Fetch.enable", steadfast=True, timeout=APPLY_S, **wanted)
        return channel.post("Fetch.disable", steadfast=True, timeout=APPLY_S)

    def _shut_in(self, channel: Channel) -> None:
        """A shared worker loads from its own origin only, as long as pages have lists: the worker itself sees to it."""
        origin = origin_of(self._shared[channel.id].removeprefix("blob:"))
        own = [{"urlPattern": f"{origin}/*", "block": False}] if origin else []
        blocked = [*own, {"urlPattern": "*://*:*/*", "block": True}] if self._has_lists else []
        channel.post("Network.setBlockedURLs", steadfast=True, urlPatterns=blocked)

    @property
    def _has_lists(self) -> bool:
        return self.border is not None and self.border.watch == "all"

    def _wanted(self) -> dict[str, Any]:
        watch = self.border.watch if self.border else ""
        if watch == "all":
            return {"patterns": [{"urlPattern": "*"}], "handleAuthRequests": True}
        found = list(self.rules.patterns()) if self.rules is not None else []
        # Nobody could answer a password dialog: the page gets the 401 instead.
        answers = {"handleAuthRequests": True} if found or watch else {}
        if watch:
            found.append({"urlPattern": "*", "resourceType": "Document"})
        return {"patterns": found, **answers} if found else {}

    def _paused(self, channel: Channel, asker: Asker, params: dict[str, Any]) -> None:
        try:
            asked = _asked(params)
            if self.border and asked.type == "Document" and params.get("frameId") == asker.top:
                self._keep(self._hold(self.border, channel, asker, params, asked))
                return
            refusal = self._refusal_of(asked, asker)
            self._decide(channel, asker, params, asked, refusal)
        except Exception:  # a mistake of ours must not leave a page waiting
            log.exception("a request could not be judged")
            _break_off(channel, params)

    async def _hold(self, border: Border, channel: Channel, asker: Asker, params: dict[str, Any], asked: Asked) -> None:
        """A document of a tab waits until it is judged, by a person if need be."""
        try:
            self._decide(channel, asker, params, asked, await self._asking.judged(border, channel.id, asked.url))
        except Exception:
            log.exception("a document could not be judged")
            _break_off(channel, params)

    def _announced(self, channel: Channel, asker: Asker, params: dict[str, Any]) -> None:
        """A document of a tab that Fetch does not hold. If a person has to be asked, the network refuses it until then;
        it is for us to ask, and to say why."""
        if params.get("type") != "Document" or self.border is None or self.border.watch:
            return
        is_tabs = params.get("frameId") == asker.top and params["requestId"] == params.get("loaderId")
        if is_tabs and origin_of(params["request"]["url"]):  # what needs no network is judged when it is there
            self._keep(self._ask(self.border, channel, asker, params))

    async def _ask(self, border: Border, channel: Channel, asker: Asker, params: dict[str, Any]) -> None:
        url = params["request"]["url"]
        asks = border.asks(url)
        self._refused.pop(url, None)
        try:
            refusal = await self._asking.judged(border, channel.id, url)
        except Exception:  # the network has not let it pass
            log.exception("a document could not be judged")
            return
        if refusal:
            self._refuse(asker, params["requestId"], url, refusal)
        if asks:
            asker.answered(params, refusal)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    def _refusal_of(self, asked: Asked, asker: Asker) -> Refusal | None:
        if self.border is None:
            return None
        return next((why for page in asker.pages() if (why := self.border.resource(asked.url, page))), None)

    def _decide(
        self, channel: Channel, asker: Asker, params: dict[str, Any], asked: Asked, refusal: Refusal | None
    ) -> None:
        self._refused.pop(asked.url, None)
        rule = self.rules.find(asked) if refusal is None and self.rules is not None else None
        if rule and rule.answer and _outlives(asker, asked):
            rule = None
        elif rule and rule.answer:
            refusal = self._speak_for(_spoken_for(asker, params, asked), rule)
        if refusal is None:
            self._follow(channel, asker.tell, params, asked, rule)
            return
        self._refuse(asker, params.get("networkId", ""), asked.url, refusal)
        channel.post("Fetch.failRequest", steadfast=True, requestId=params["requestId"], errorReason="BlockedByClient")

    def _refuse(self, asker: Asker, browser_id: str, url: str, refusal: Refusal) -> None:
        self._refused[url] = refusal
        while len(self._refused) > MAX_REFUSED:
            self._refused.popitem(last=False)
        asker.tell(browser_id, url, refusal.why, blocked=True)

    def _speak_for(self, urls: list[str], rule: Rule) -> Refusal | None:
        """Why a mock may not answer; if it may, from now on these origins are not only their own."""
        for url in urls if self.border else ():
            assert self.border
            if refusal := self.border.mock(url, named=origin_of(url) in rule.named):
                return refusal
        self.mocked.update(origin_of(url) for url in urls)
        return None

    def _follow(self, channel: Channel, tell: Tell, params: dict[str, Any], asked: Asked, rule: Rule | None) -> None:
        request_id = params["requestId"]
        if rule is None:
            channel.post("Fetch.continueRequest", steadfast=True, requestId=request_id)
            return
        tell(params.get("networkId", ""), asked.url, rule.said, blocked=rule.answer is None)
        if rule.answer is None:
            channel.post("Fetch.failRequest", steadfast=True, requestId=request_id, errorReason="BlockedByClient")
            return
        if asked.preflight_for:
            _fulfill(channel, request_id, 204, _permission(asked), b"")
            return
        rule.used += 1
        rule.waiting += 1
        delay_s = rule.answer.delay_ms / 1000
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._answer, channel, request_id, asked, rule)
        else:
            self._answer(channel, request_id, asked, rule)

    def _answer(self, channel: Channel, request_id: str, asked: Asked, rule: Rule) -> None:
        rule.waiting -= 1
        answer = rule.answer
        assert answer
        body = b"" if asked.method == "HEAD" or answer.status in _NO_BODY else answer.body
        _fulfill(channel, request_id, answer.status, _headers(answer, asked), body)
        if rule.spent and not rule.waiting:
            self._spread()


def _outlives(asker: Asker, asked: Asked) -> bool:
    """A service worker's script stays in a profile when the session and its mocks are gone: nobody speaks for it."""
    return "service-worker" in asked.headers or (asker.lasting and asked.type in ("Script", "Other"))


def _spoken_for(asker: Asker, params: dict[str, Any], asked: Asked) -> list[str]:
    """Whose script an answer can become: a document is its own, anything else that of the page that asks for it."""
    found = [asked.url]
    if asked.type != "Document":
        found += [*asker.pages(), asker.frame(params.get("frameId", "")), asked.headers.get("referer", "")]
    plain = (url.removeprefix("blob:") for url in found)
    return list(dict.fromkeys(url for url in plain if origin_of(url)))


def _browser_pattern(pattern: str) -> str:
    """The pattern as the browser writes it: `?` stands for any character there, and a backslash takes that away."""
    escaped = pattern.replace("\\", "\\\\").replace("?", "\\?")
    return escaped if "*" in pattern else f"*{escaped}*"


def _asked(params: dict[str, Any]) -> Asked:
    request = params["request"]
    headers = {name.lower(): value for name, value in request["headers"].items()}
    return Asked(request["url"], request["method"], params.get("resourceType", ""), headers)


def _headers(answer: Answer, asked: Asked) -> list[tuple[str, str]]:
    """A page of another origin may read what was mocked for it, unless the mock says something else about that."""
    names = {name.lower() for name, _ in answer.headers}
    headers = list(answer.headers)
    if "origin" in asked.headers and "access-control-allow-origin" not in names:
        headers += _open_to(asked)
    if asked.method == "HEAD" and "content-length" not in names:
        headers.append(("Content-Length", str(len(answer.body))))
    return headers


def _permission(asked: Asked) -> list[tuple[str, str]]:
    wanted = asked.headers.get("access-control-request-headers", "")
    return [
        *_open_to(asked),
        ("Access-Control-Allow-Methods", asked.preflight_for),
        *([("Access-Control-Allow-Headers", wanted)] if wanted else []),
        ("Access-Control-Max-Age", "0"),  # the permission is the mock's, not the server's
    ]


def _open_to(asked: Asked) -> list[tuple[str, str]]:
    origin = asked.headers.get("origin", "*")
    return [("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"), ("Vary", "Origin")]


def _fulfill(channel: Channel, request_id: str, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    def refused(reply: asyncio.Future[dict[str, Any]]) -> None:
        if not reply.cancelled() and isinstance(reply.exception(), ProtocolError):
            log.warning("a mock was refused: %s", reply.exception())
            channel.post("Fetch.failRequest", steadfast=True, requestId=request_id, errorReason="Failed")

    channel.post(
        "Fetch.fulfillRequest",
        steadfast=True,
        requestId=request_id,
        responseCode=status,
        responseHeaders=[{"name": name, "value": value} for name, value in headers],
        body=base64.b64encode(body).decode(),
    ).add_done_callback(refused)


def _break_off(channel: Channel, params: dict[str, Any]) -> None:
    log.exception("a request could not be judged")
    channel.post("Fetch.failRequest", steadfast=True, requestId=params["requestId"], errorReason="Failed")


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def _without_password(channel: Channel, params: dict[str, Any]) -> None:
    channel.post(
        "Fetch.continueWithAuth",
        steadfast=True,
        requestId=params["requestId"],
        authChallengeResponse={"response": "CancelAuth"},
    )
