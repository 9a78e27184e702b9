"""Console: what the page's scripts said."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser.console import Line, choice, folded
from pilothouse.browser.patterns import newer
from pilothouse.browser.tab import Tab
from pilothouse.result import Result, counted
from pilothouse.tool import Access, tool

SHOWN_CHARS = 500
Level = Literal["log", "debug", "info", "warn", "error"]


class Logs(msgspec.Struct):
    lines: list[dict[str, Any]]
    next: int
    total: int = 0


class Capture(msgspec.Struct):
    enabled: bool
    lines: int


class Cleared(msgspec.Struct):
    cleared: int


@tool(Access.READ, core=True, live=False, example={"level": ["error"]}, aliases=("browser.console.getRecent",))
async def get_console_logs(
    tab: Tab,
    level: list[Level] = [],
    pattern: Annotated[str, Meta(description="regex")] = "",
    since: Annotated[int, Meta(ge=0, description="epoch ms or last `next`")] = 0,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
) -> Result[Logs]:
    """Console lines and exceptions of the tab."""
    fits = choice(level, pattern, tab.terms.redact_text)
    found = [line for line in tab.console.lines() if newer(line.number, line.time_ms, since) and fits(line)]
    last = tab.console.last_number
    shown = folded(found)[-limit:]
    text = f"{sum(count for _, count in shown)} of {len(found)} lines, next: {last}" if found else "no lines"
    if tab.console.forgotten:
        text += f"; {counted(tab.console.forgotten, 'older one')} could not be kept"
    data = Logs([_data(line, count) for line, count in shown], last, len(found))
    return Result(text, data, page="\n".join(_printed(line, count) for line, count in shown))


@tool(Access.READ, live=False, example={})
async def enable_console_capture(tab: Tab) -> Result[Capture]:
    """Capture is always on; answers so."""
    count = len(tab.console.lines())
    return Result(f"capture is always on; {counted(count, 'line')} kept", Capture(True, count))


@tool(Access.VISIT, live=False, example={})
async def clear_console(tab: Tab) -> Result[Cleared]:
    """Forget the tab's console lines."""
    count = tab.console.clear()
    return Result(f"forgot {counted(count, 'line')}", Cleared(count))


def _data(line: Line, count: int) -> dict[str, Any]:
    data = msgspec.to_builtins(line)
    if not line.group:
        del data["group"]
    return {**data, "count": count} if count > 1 else data


def _printed(line: Line, count: int) -> str:
    place = f" ({line.url}{f':{line.line}' if line.line else ''})" if line.url else ""
    often = f" x{count}" if count > 1 else ""
    text = line.text if len(line.text) <= SHOWN_CHARS else line.text[:SHOWN_CHARS] + "…"
    return f"{'  ' * min(line.group, 10)}[{line.level}] {text}{place}{often}"
