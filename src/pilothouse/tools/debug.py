"""Debug: tabs that browsers offer through the debug proxy, their requests and their console."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.hub.own import OwnDebug
from pilothouse.hub.words import ConsoleEntry, ConsoleFilters, NetworkFilters, NetworkRequest, TabInfo
from pilothouse.result import Result, counted, plain_url
from pilothouse.tool import Access, tool

# The hub's clients have handles; a token is what the proxy gives out.
Handle = Annotated[str, Meta(max_length=64, description="of browser_debug_list_tabs", extra={"word": "handle"})]
Regex = Annotated[str, Meta(max_length=1000, description="regular expression")]
Status = Annotated[int, Meta(ge=0, le=999)]
Since = Annotated[int, Meta(ge=0, description="epoch ms")]
LINE_CHARS = 500
_NONE = (
    "no tab is offered: open a page of a cocoon (`pilothouse cocoon list` has the addresses) in a browser that is "
    "paired, or that knows the hub"
)


class Offered(msgspec.Struct):
    tabs: list[dict[str, Any]]


class Requests(msgspec.Struct):
    requests: list[dict[str, Any]]
    more: bool


class Entries(msgspec.Struct):
    entries: list[dict[str, Any]]
    more: bool


# What they tell lost its secrets in the hub, piece by piece. Once more, and the handle (it is called `token`) would be
# taken for one, and so would the place of a line that stands behind an address: `?token=[redacted]:1)`.
@tool(Access.READ, example={}, reveals=True)
async def browser_debug_list_tabs(debug: OwnDebug) -> Result[Offered]:
    """Tabs open for inspection through the debug proxy."""
    tabs, forbidden = await debug.tabs()
    text = counted(len(tabs), "tab") if tabs or forbidden else _NONE
    text += f"; the policy forbids to read {forbidden} more" if forbidden else ""
    return Result(text, Offered([msgspec.to_builtins(one) for one in tabs]), page="\n".join(map(_tab_line, tabs)))


@tool(Access.READ, example={"token": "handle", "status_min": 400}, reveals=True)
async def browser_debug_get_network(
    debug: OwnDebug,
    token: Handle,
    url_pattern: Regex = "",
    method: list[str] = [],
    status_min: Status = 0,
    status_max: Status = 999,
    since: Since = 0,
    limit: Annotated[int, Meta(ge=1, le=2000)] = 50,
) -> Result[Requests]:
    """Requests of an offered tab."""
    filters = NetworkFilters(url_pattern, method, status_min, status_max, since, limit)
    found, more = await debug.network(token, filters)
    data = Requests([msgspec.to_builtins(one) for one in found], more)
    return Result(_newest(found, "request", more=more), data, page="\n".join(map(_request_line, found)))


@tool(Access.READ, example={"token": "handle", "level": ["error"]}, reveals=True)
async def browser_debug_get_console(
    debug: OwnDebug,
    token: Handle,
    level: list[Literal["log", "debug", "info", "warn", "error"]] = [],
    message_pattern: Regex = "",
    since: Since = 0,
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 50,
) -> Result[Entries]:
    """Console of an offered tab."""
    found, more = await debug.console(token, ConsoleFilters(level, message_pattern, since, limit))
    data = Entries([msgspec.to_builtins(one) for one in found], more)
    return Result(_newest(found, "line", more=more), data, page="\n".join(map(_entry_line, found)))


def _newest(found: Sequence[object], noun: str, *, more: bool) -> str:
    return counted(len(found), noun) + ("; there are older ones: raise limit" if more else "")


def _tab_line(one: TabInfo) -> str:
    return f"{one.token} {one.cocoon_id} {plain_url(one.url)} {one.title[:200]}".rstrip()


def _request_line(one: NetworkRequest) -> str:
    took = f" {one.duration_ms:.0f} ms" if one.duration_ms is not None else ""
    outcome = one.error or one.status or ("?" if took else "pending")
    return f"{one.method or '?'} {outcome}{took} {plain_url(one.url)}"


def _entry_line(one: ConsoleEntry) -> str:
    place = f" ({plain_url(one.source)}:{one.line or 0})" if one.source else ""
    return f"{one.level}: {one.message[:LINE_CHARS]}{place}"
