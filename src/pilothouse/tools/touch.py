"""Touch: what a finger does."""

from typing import Annotated, Literal

from msgspec import Meta

from pilothouse.browser import touch as finger
from pilothouse.browser.locate import locate
from pilothouse.browser.tab import Tab
from pilothouse.result import Result
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.outcome import Acted, Want, acted, called


@tool(Access.WRITE, example={"target": "#go"})
async def tap(tab: Tab, target: Target, snapshot: Want = None) -> Result[Acted]:
    """Tap an element with a finger."""
    where = await finger.tap(tab, await locate(tab, target))
    return await acted(tab, f"tapped {called(where.role, where.name, where.hint)}", where.note, snapshot, sends=True)


@tool(Access.WRITE, example={"direction": "up"})
async def swipe(
    tab: Tab,
    direction: Annotated[Literal["up", "down", "left", "right"], Meta(description="of the finger")],
    target: str | list[str] | None = None,
    distance: Annotated[float, Meta(gt=0, le=10_000)] | None = None,
    snapshot: Want = None,
) -> Result[Acted]:
    """Swipe over the page, or from an element."""
    swiped = await finger.swipe(tab, await locate(tab, target) if target else None, direction, distance)
    done = f"swiped {direction}; the page is scrolled to {swiped.x}, {swiped.y}"
    return await acted(tab, done if swiped.changed else f"{done}, unchanged", swiped.note, snapshot)
