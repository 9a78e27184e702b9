"""The network log as an HTTP archive (HAR 1.2), for other programs to read.

Above: tools. Below: network, terms. A file passes no gate, so secrets are taken out here, before it is written.
What the format has no field for stands under names with an underscore, as the format asks.
"""

import asyncio
import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from pilothouse import __version__
from pilothouse.browser.network import Message, Network, Request
from pilothouse.browser.tab import Tab
from pilothouse.browser.terms import Terms
from pilothouse.cdp.connection import ProtocolError
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import counted

BODIES_MAX_BYTES = 64_000_000  # of one archive
AT_A_TIME = 8
_TEXTUAL = ("text/", "application/json", "application/javascript", "application/xml", "application/x-www-form")
_VERSIONS = {"h2": "HTTP/2.0", "h3": "HTTP/3.0", "h3-29": "HTTP/3.0"}
_HTTP = ("http:", "https:", "ws:", "wss:")


class Bodies(msgspec.Struct):
    """What one request sent and got, as far as the browser still has it."""

    sent: str = ""
    text: str | None = None
    data: bytes | None = None
    missing: str = ""


async def archive(tabs: list[Tab], terms: Terms, *, bodies: bool) -> tuple[bytes, int]:
    """The archive as JSON, and how many requests are in it."""
    kept = [(tab, request) for tab in tabs for request in tab.network.requests()]
    kept = [(tab, request) for tab, request in kept if request.whole_url.startswith(_HTTP)]
    found = await _collect(kept) if bodies else {}
    pages = [_page(tab, [request for one, request in kept if one is tab], terms) for tab in tabs]
    entries = [(tab.name, request, found.get((tab.name, request.id))) for tab, request in kept]
    # A thousand bodies take a while to read; other sessions must not wait for it.
    return await asyncio.to_thread(_written, pages, entries, terms), len(entries)


async def _collect(kept: list[tuple[Tab, Request]]) -> dict[tuple[str, str], Bodies]:
    turns = asyncio.Semaphore(AT_A_TIME)
    room, read = BODIES_MAX_BYTES, 0

    async def one(tab: Tab, request: Request) -> tuple[tuple[str, str], Bodies]:
        nonlocal room, read
        async with turns:
            bodies = await _bodies(tab.network, request) if room > 0 else Bodies(missing="the archive is full")
        read += 1
        room -= len(bodies.sent) + len(bodies.text or "") + len(bodies.data or b"")
        return (tab.name, request.id), bodies

    with doing(lambda: f"reading bodies: {read} of {counted(len(kept), 'request')}"):
        return dict(await asyncio.gather(*(one(tab, request) for tab, request in kept)))


async def _bodies(network: Network, request: Request) -> Bodies:
    try:
        sent = await network.post_data_of(request)
        if not request.done or not request.status or request.redirected_to or request.type == "WebSocket":
            return Bodies(sent)
        body, encoded = await network.body_of(request)
    except LookupError as gone:
        return Bodies(missing=str(gone))
    except (Failure, ProtocolError):
        return Bodies(missing="the page does not answer")
    if not encoded:
        return Bodies(sent, text=body)
    data = base64.b64decode(body)
    text = _as_text(data, request.mime_type)
    return Bodies(sent, data=data) if text is None else Bodies(sent, text=text)


def _as_text(data: bytes, mime_type: str) -> str | None:
    """What can be read is read, whatever it is called: in base64 no secret would be found."""
    try:
        return data.decode("utf-8", "replace" if mime_type.startswith(_TEXTUAL) else "strict")
    except UnicodeDecodeError:
        return None


def _written(pages: list[dict[str, Any]], entries: list[tuple[str, Request, Bodies | None]], terms: Terms) -> bytes:
    made = [_entry(tab, request, bodies, terms) for tab, request, bodies in entries]
    log = {
        "version": "1.2",
        "creator": {"name": "Pilothouse", "version": __version__},
        "pages": pages,
        "entries": sorted(made, key=lambda one: one["startedDateTime"]),
    }
    return msgspec.json.encode({"log": log})


def _page(tab: Tab, requests: list[Request], terms: Terms) -> dict[str, Any]:
    began = min((one.started_ms for one in requests), default=0)
    return {
        "startedDateTime": _moment(began),
        "id": tab.name,
        "title": terms.redact_text(tab.title or tab.url),
        "pageTimings": {"onContentLoad": -1, "onLoad": -1},
    }


def _entry(tab: str, request: Request, bodies: Bodies | None, terms: Terms) -> dict[str, Any]:
    timings = _timings(request)
    entry: dict[str, Any] = {
        "pageref": tab,
        "startedDateTime": _moment(request.started_ms),
        "time": round(sum(timings[name] for name in timings if name != "ssl" and timings[name] >= 0), 2),
        "request": _request(request, bodies, terms),
        "response": _response(request, bodies, terms),
        "cache": {},
        "timings": timings,
        "_resourceType": request.type.lower(),
        "_initiator": terms.redact_text(request.initiator),
    }
    if not request.done:
        entry["comment"] = "it was still under way"
    extra = {"_error": request.failure, "_mocked": request.mocked, "_worker": request.worker}
    entry |= {name: terms.redact_text(value) for name, value in extra.items() if value}
    if request.type == "WebSocket":
        entry["_webSocketMessages"] = [_frame(one, terms) for one in request.frames]
    elif request.frames:
        entry["_eventSourceMessages"] = [_event(one, terms) for one in request.frames]
    if request.frames_dropped:
        entry["_messagesDropped"] = request.frames_dropped
    return entry


def _timings(request: Request) -> dict[str, float]:
    """What did not happen is -1; what the browser did not tell of the rest is receiving."""
    phases = request.timing
    shown = {
        "blocked": -1,
        "dns": phases.get("dns", -1),
        "connect": phases.get("connect", -1),
        "ssl": phases.get("tls", -1),
        "send": phases.get("send", 0),
        "wait": phases.get("wait", 0),
    }
    known = sum(value for name, value in shown.items() if name != "ssl" and value > 0)
    return {**shown, "receive": round(max(request.duration_ms - known, 0), 2)}


def _request(request: Request, bodies: Bodies | None, terms: Terms) -> dict[str, Any]:
    url = terms.redact_text(request.whole_url)
    made: dict[str, Any] = {
        "method": request.method,
        "url": url,
        "httpVersion": _version(request.protocol),
        "cookies": _cookies(_header(request.request_headers, "cookie").split(";"), terms),
        "headers": _pairs(terms.redact_headers(request.request_headers).items()),
        # Read as text once more: what was escaped in the address stands in plain letters here.
        "queryString": [
            {"name": terms.redact_text(name), "value": terms.redact_text(value)}
            for name, value in parse_qsl(_query(url), keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": -1 if request.has_post_data and not bodies else len((bodies.sent if bodies else "").encode()),
    }
    if bodies and bodies.sent:
        mime_type = _header(request.request_headers, "content-type")
        text, comment = _cut(terms.redact_text(bodies.sent), terms.body_max_bytes)
        made["postData"] = {"mimeType": mime_type, "text": text, **comment}
    return made


def _response(request: Request, bodies: Bodies | None, terms: Terms) -> dict[str, Any]:
    headers = request.response_headers
    return {
        "status": request.status,
        "statusText": request.status_text,
        "httpVersion": _version(request.protocol),
        "cookies": _cookies(_header(headers, "set-cookie").splitlines(), terms),
        "headers": _pairs(terms.redact_headers(headers).items()),
        "content": _content(request, bodies, terms),
        "redirectURL": terms.redact_text(_header(headers, "location") or request.redirected_to),
        "headersSize": -1,
        "bodySize": 0 if request.from_cache else request.size_bytes if request.done else -1,
    }


def _content(request: Request, bodies: Bodies | None, terms: Terms) -> dict[str, Any]:
    made: dict[str, Any] = {"size": max(request.size_bytes, 0), "mimeType": request.mime_type or "x-unknown"}
    if bodies is None:
        return made
    if bodies.text is not None:
        made["size"] = len(bodies.text.encode("utf-8", "replace"))
        made["text"], comment = _cut(terms.redact_text(bodies.text), terms.body_max_bytes)
        made |= comment
    elif bodies.data is not None:
        made["size"] = len(bodies.data)
        coded = base64.b64encode(bodies.data[: terms.body_max_bytes]).decode()
        made |= {"text": terms.redact_registered(coded), "encoding": "base64"}
        if len(bodies.data) > terms.body_max_bytes:
            made["comment"] = f"cut: {len(bodies.data)} bytes in all"
    elif bodies.missing:
        made["comment"] = f"the body is missing: {bodies.missing}"
    return made


def _cut(text: str, max_bytes: int) -> tuple[str, dict[str, str]]:
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text, {}
    return data[:max_bytes].decode("utf-8", "ignore"), {"comment": f"cut: {len(data)} bytes in all"}


def _frame(message: Message, terms: Terms) -> dict[str, Any]:
    return {
        "type": "send" if message.direction == "sent" else "receive",
        "time": message.time_ms / 1000,
        "opcode": 1 if message.kind == "text" else 2,
        "data": terms.redact_text(message.data),
    }


def _event(message: Message, terms: Terms) -> dict[str, Any]:
    return {"time": message.time_ms / 1000, "event": message.kind, "data": terms.redact_text(message.data)}


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _cookies(texts: list[str], terms: Terms) -> list[dict[str, Any]]:
    """Their names and attributes; a value is a secret of whoever is logged in."""
    found: list[dict[str, Any]] = []
    for text in texts:
        name, _, rest = text.strip().partition("=")
        if not name:
            continue
        value, _, attributes = rest.partition(";")
        found.append({"name": name, "value": terms.redact_headers({"cookie": value})["cookie"], **_of(attributes)})
    return found


def _of(attributes: str) -> dict[str, Any]:
    if not attributes:
        return {}
    parts = [part.strip().partition("=") for part in attributes.split(";")]
    given = {name.lower(): value for name, _, value in parts}
    found: dict[str, Any] = {name: given[name] for name in ("path", "domain") if given.get(name)}
    return {**found, "httpOnly": "httponly" in given, "secure": "secure" in given}


def _header(headers: dict[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")


def _query(url: str) -> str:
    try:
        return urlsplit(url).query
    except ValueError:
        return ""


def _version(protocol: str) -> str:
    return _VERSIONS.get(protocol, protocol.upper() or "unknown")


def _moment(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
