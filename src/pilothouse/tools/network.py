"""Network: what the page asked for and what came back."""

import base64
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import patterns
from pilothouse.browser.network import Request
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, tool
from pilothouse.tools.outcome import newer

Status = Annotated[int, Meta(ge=0, le=999)]
BODY_SHOWN = 10_000


class Log(msgspec.Struct):
    requests: list[dict[str, Any]]
    next: int
    total: int = 0


class Detail(msgspec.Struct):
    request: dict[str, Any]


@tool(Access.READ, core=True, live=False, example={"status_min": 400}, aliases=("browser.network.getRecent",))
async def get_network_log(
    tab: Tab,
    url_pattern: Annotated[str, Meta(description="part, or glob with *")] = "",
    method: list[str] = [],
    type: Annotated[list[str], Meta(description="Document, Fetch, XHR …")] = [],  # noqa: A002
    status_min: Status = 0,
    status_max: Status = 999,
    since: Annotated[int, Meta(ge=0, description="epoch ms, or the last `next`")] = 0,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
) -> Result[Log]:
    """Requests of the tab."""
    fits = patterns.address(url_pattern) if url_pattern else None
    methods, kinds = {one.upper() for one in method}, {one.lower() for one in type}
    found = [
        one
        for one in tab.network.requests()
        if newer(one.number, one.started_ms, since)
        and (not methods or one.method in methods)
        and (not kinds or one.type.lower() in kinds)
        and status_min <= _worst(one) <= status_max
        and (fits is None or fits(one.whole_url))
    ]
    shown = found[-limit:]
    text = f"{len(shown)} of {len(found)} requests" if found else "no requests"
    data = Log([_brief(one) for one in shown], tab.network.last_number, len(found))
    return Result(text, data, page="\n".join(_line(one) for one in shown))


@tool(Access.READ, core=True, live=False, example={"id": "r1"})
async def get_network_request(
    tab: Tab,
    id: str,  # noqa: A002
    part: Literal["all", "request", "response", "frames"] = "all",
) -> Result[Detail]:
    """One request with headers, bodies, timing, WebSocket frames."""
    request = tab.network.get(id)
    if request is None:
        raise Failure("not_found", f"there is no request {id[:40]!r}", suggestions=["get_network_log lists them"])
    detail = _brief(request)
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
        return {**answer, "response_body": f"({len(body) * 3 // 4} bytes of {request.mime_type})"}
    text = base64.b64decode(body).decode("utf-8", "replace") if encoded else body
    return {**answer, "response_body": _cut(text, tab.terms.body_max_bytes)}


def _worst(one: Request) -> int:
    """A request that failed without an answer is worse than any status, and found by whoever looks for errors."""
    return 999 if one.failure and not one.status else one.status


def _cut(text: str, max_bytes: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    return data[:max_bytes].decode("utf-8", "ignore") + f"… (cut: {len(data)} bytes in all)"


def _brief(one: Request) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": one.id,
        "method": one.method,
        "url": one.url,
        "type": one.type,
        "status": one.status,
        "mime_type": one.mime_type,
        "duration_ms": one.duration_ms,
        "size_bytes": one.size_bytes,
        "started_ms": one.started_ms,
        "failure": one.failure,
        "from_cache": one.from_cache,
        "pending": not one.done,
    }
    return {name: value for name, value in fields.items() if value or name in ("id", "status")}


def _line(one: Request) -> str:
    outcome = one.failure or (str(one.status) if one.status else "pending")
    redirect = f" -> {one.redirected_to}" if one.redirected_to else ""
    return f"{one.id} {one.method} {one.url[:200]} {outcome} {one.type} {one.duration_ms:.0f} ms{redirect}"


def _printed(detail: dict[str, Any]) -> str:
    lines: list[str] = []
    for name, value in detail.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {key}: {item}" for key, item in value.items())]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(value, list):
            lines += [f"{name}:", *(f"  {item['direction']} {item['data'][:500]}" for item in value)]  # pyright: ignore
        elif value != "":
            shown = str(value)
            lines.append(f"{name}: {shown[:BODY_SHOWN]}{'…' if len(shown) > BODY_SHOWN else ''}")
    return "\n".join(lines)
