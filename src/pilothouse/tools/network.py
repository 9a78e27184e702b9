"""Network: what the page asked for and what came back; what is blocked or answered in the network's place."""

import asyncio
import base64
import binascii
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import har
from pilothouse.browser.intercept import TYPES, Answer, Rule
from pilothouse.browser.network import Request, brief, choice
from pilothouse.browser.patterns import named_origins, newer
from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result, counted
from pilothouse.tool import Access, tool

Status = Annotated[int, Meta(ge=0, le=999)]
Pattern = Annotated[str, Meta(min_length=1, max_length=2000, description="part, or glob with *")]
Headers = Annotated[dict[str, Annotated[str, Meta(max_length=8000)]], Meta(max_length=50)]
BODY_SHOWN = 10_000
_STREAMS = ("WebSocket", "EventSource")
_PATTERN_NAMES = {"url": "pattern", "url_pattern": "pattern", "urlPattern": "pattern"}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")


class Log(msgspec.Struct):
    requests: list[dict[str, Any]]
    next: int
    total: int = 0


class Detail(msgspec.Struct):
    request: dict[str, Any]


class Cleared(msgspec.Struct):
    cleared: int


class Ruled(msgspec.Struct):
    rule: str
    rules: int


class Saved(msgspec.Struct):
    path: str
    requests: int
    size_bytes: int


@tool(Access.READ, core=True, live=False, example={"status_min": 400}, aliases=("browser.network.getRecent",))
async def get_network_log(
    tab: Tab,
    url_pattern: Annotated[str, Meta(description="part, or glob with *")] = "",
    method: list[str] = [],
    type: Annotated[list[str], Meta(description="Document, Fetch, XHR …")] = [],  # noqa: A002
    status_min: Status = 0,
    status_max: Status = 999,
    since: Annotated[int, Meta(ge=0, description="epoch ms or last `next`")] = 0,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
) -> Result[Log]:
    """Requests of the tab."""
    fits = choice(url_pattern, method, type, (status_min, status_max), tab.terms.redact_text)
    found = [one for one in tab.network.requests() if newer(one.number, one.started_ms, since) and fits(one)]
    last = tab.network.last_number
    shown = found[-limit:]
    text = f"{len(shown)} of {len(found)} requests, next: {last}" if found else "no requests"
    data = Log([brief(one) for one in shown], last, len(found))
    return Result(text, data, page="\n".join(_line(one) for one in shown))


@tool(Access.READ, core=True, live=False, example={"id": "r1"})
async def get_network_request(
    tab: Tab,
    id: str,  # noqa: A002
    part: Literal["all", "request", "response", "frames"] = "all",
) -> Result[Detail]:
    """One request: headers, bodies, timing, frames."""
    request = tab.network.get(id)
    if request is None:
        raise Failure("not_found", f"there is no request {id[:40]!r}", suggestions=["get_network_log lists them"])
    detail = brief(request)
    if part in ("all", "request"):
        detail["request_headers"] = request.request_headers
        detail["request_body"] = _cut(await tab.network.post_data_of(request), tab.terms.body_max_bytes)
        detail["initiator"] = request.initiator
    if part in ("all", "response"):
        detail |= await _response(tab, request)
    if part in ("all", "frames") and (request.frames or part == "frames"):
        detail["frames"] = [msgspec.to_builtins(frame) for frame in request.frames]
        detail["frames_dropped"] = request.frames_dropped
    return Result("", Detail(detail), page=_printed(detail))


@tool(Access.VISIT, live=False, example={})
async def clear_network_log(tab: Tab) -> Result[Cleared]:
    """Forget the tab's requests that have ended."""
    count = tab.network.clear()
    return Result(f"{counted(count, 'request')} forgotten", Cleared(count))


@tool(Access.WRITE, example={"pattern": "*/ads/*"}, synonyms={**_PATTERN_NAMES, "types": "type"})
async def block_url(
    session: Session,
    pattern: Pattern,
    type: Annotated[list[str], Meta(max_length=20, description="Image, Script, Fetch …")] = [],  # noqa: A002
) -> Result[Ruled]:
    """Fail requests of the session's pages and workers."""
    if unknown := [one for one in type if one.lower() not in TYPES]:
        raise Failure(
            "bad_request", f"there is no type {unknown[0][:40]!r}", suggestions=[f"types: {', '.join(TYPES.values())}"]
        )
    types = {TYPES[one.lower()] for one in type}
    return await _add(session, pattern, types=tuple(types | {"XHR"} if "Fetch" in types else types))


async def _spoken_for(session: Session, args: Any) -> list[str]:
    return [f"{origin}/" for origin in named_origins(args.pattern)]


@tool(
    Access.SENSITIVE,
    places=_spoken_for,
    example={"pattern": "*/api/user", "body": '{"name":"Ada"}'},
    synonyms={**_PATTERN_NAMES, "status_code": "status", "contentType": "content_type", "response_body": "body"},
)
async def mock_url(
    session: Session,
    pattern: Pattern,
    status: Annotated[int, Meta(ge=200, le=599)] = 200,
    body: Annotated[str, Meta(max_length=5_000_000)] = "",
    body_base64: Annotated[str, Meta(max_length=7_000_000)] = "",
    content_type: Annotated[str, Meta(max_length=200)] = "",
    headers: Headers = {},
    method: Annotated[str, Meta(max_length=20)] = "",
    times: Annotated[int, Meta(ge=0, le=1_000_000, description="0: always")] = 0,
    delay_ms: Annotated[int, Meta(ge=0, le=60_000)] = 0,
) -> Result[Ruled]:
    """Answer requests of the session in the server's place."""
    if body and body_base64:
        raise Failure("bad_request", "mock_url takes body or body_base64, not both")
    data = _decoded(body_base64) if body_base64 else body.encode("utf-8", "replace")
    kind = content_type or ("application/octet-stream" if body_base64 else _kind(body))
    answer = Answer(status, _checked(headers, kind if data or content_type else ""), data, delay_ms)
    named = named_origins(pattern)
    return await _add(session, pattern, answer=answer, method=method.upper(), times=times, named=named)


@tool(Access.WRITE, example={})
async def clear_intercepts(
    session: Session, rule: Annotated[str, Meta(max_length=20, description="only this one")] = ""
) -> Result[Cleared]:
    """Take back block_url and mock_url."""
    gone = session.rules.remove(rule)
    if rule and not gone:
        raise Failure("not_found", f"there is no rule {rule!r}", suggestions=["without `rule` all are taken back"])
    await session.open()
    await session.context.intercept.apply()
    return Result(f"{counted(len(gone), 'rule')} taken back", Cleared(len(gone)))


@tool(Access.SENSITIVE, example={})
async def export_har(
    session: Session,
    tab: Annotated[str, Meta(description="default: all")] = "",
    bodies: bool = False,
) -> Result[Saved]:
    """Write the network log to a HAR file, secrets masked."""
    tabs = [one for one in ([await session.tab(tab)] if tab else session.tabs) if not session.forbids(one.url)]
    data, count = await har.archive(tabs, session.context.terms, bodies=bodies)
    path = await asyncio.to_thread(session.files.keep, "network.har", data)
    return Result(f"{counted(count, 'request')}: {path}", Saved(str(path), count, len(data)))


async def _add(session: Session, pattern: str, **fields: Any) -> Result[Ruled]:
    await session.open()
    rule = session.rules.add(pattern, **fields)
    await session.context.intercept.apply()
    return Result(_announced(rule), Ruled(rule.id, len(session.rules)))


def _announced(rule: Rule) -> str:
    if rule.answer is None:
        return f"{rule.id} blocks {rule.pattern}"
    often = f", {rule.times} times" if rule.times else ""
    return f"{rule.id} answers {rule.pattern} with {rule.answer.status}{often}"


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Failure("bad_request", "body_base64 is not base64") from None


def _kind(body: str) -> str:
    """What a body looks like, when nobody says what it is."""
    first = body.lstrip()[:1]
    kind = "application/json" if first in ("{", "[") else "text/html" if first == "<" else "text/plain"
    return f"{kind}; charset=utf-8"


def _checked(headers: dict[str, str], kind: str) -> tuple[tuple[str, str], ...]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isascii() or any(one in value for one in "\r\n\0"):
            raise Failure("bad_request", f"the header {name[:60]!r} cannot be sent")
    named = {name.lower() for name in headers}
    return (*headers.items(), *((("Content-Type", kind),) if kind and "content-type" not in named else ()))


async def _response(tab: Tab, request: Request) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "status_text": request.status_text,
        "response_headers": request.response_headers,
        "protocol": request.protocol,
        "timing": request.timing,
    }
    if request.redirected_to:
        return {**answer, "redirected_to": request.redirected_to}
    if not request.done or request.type == "WebSocket" or not request.status:
        return answer
    try:
        body, encoded = await tab.network.body_of(request)
    except LookupError as gone:
        return {**answer, "body_missing": str(gone)}
    if encoded and not request.mime_type.startswith(("text/", "application/json")):
        return {**answer, "response_body": f"({len(base64.b64decode(body))} bytes of {request.mime_type})"}
    text = base64.b64decode(body).decode("utf-8", "replace") if encoded else body
    return {**answer, "response_body": _cut(text, tab.terms.body_max_bytes)}


def _cut(text: str, max_bytes: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    return data[:max_bytes].decode("utf-8", "ignore") + f"… (cut: {len(data)} bytes in all)"


def _line(one: Request) -> str:
    outcome = ", ".join(part for part in (str(one.status or ""), one.failure) if part) or "pending"
    tail = f" -> {one.redirected_to}" if one.redirected_to else f" ({one.mocked})" if one.mocked else ""
    return f"{one.id} {one.method} {one.url[:200]} {outcome} {one.type} {_course(one)}{tail}"


def _course(one: Request) -> str:
    """How long it took; what is under way says so, and a stream how much has come."""
    took = f"{one.took_ms:.0f} ms"
    if one.status and not one.done:
        took = f"{'open' if one.messages or one.type in _STREAMS else 'still coming'} for {took}"
    return f"{took}, {counted(one.messages, 'message')}" if one.messages or one.type in _STREAMS else took


def _message(frame: dict[str, Any]) -> str:
    name = "" if frame["kind"] in ("text", "message") else f" {frame['kind'][:100]}:"
    return f"  {frame['direction']}{name} {frame['data'][:500]}"


def _printed(detail: dict[str, Any]) -> str:
    lines: list[str] = []
    for name, value in detail.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {key}: {item}" for key, item in value.items())]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(value, list):
            lines += [f"{name}:", *(_message(item) for item in value)]  # pyright: ignore
        elif value != "":
            shown = str(value)
            lines.append(f"{name}: {shown[:BODY_SHOWN]}{'…' if len(shown) > BODY_SHOWN else ''}")
    return "\n".join(lines)
