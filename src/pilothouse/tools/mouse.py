"""Mouse: what a pointer does."""

from typing import Annotated, Literal

from msgspec import Meta

from pilothouse.browser import drag as carrier
from pilothouse.browser import input as hand
from pilothouse.browser.locate import locate
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.outcome import Acted, Want, acted, called

Modifier = Literal["Alt", "Control", "Meta", "Shift"]
Button = Literal["left", "right", "middle"]
Count = Annotated[int, Meta(ge=1, le=3)]
Pixels = Annotated[float, Meta(ge=-100_000, le=100_000)]


@tool(Access.WRITE, core=True, example={"target": "#go"}, aliases=("browser.click",))
async def click(
    tab: Tab,
    target: Annotated[Target, Meta(description="ref, CSS, text=, label=, role=[name=]")],
    button: Button = "left",
    count: Count = 1,
    modifiers: list[Modifier] = [],
    snapshot: Want = None,
) -> Result[Acted]:
    """Click an element."""
    where = await hand.click(tab, await locate(tab, target), button=button, count=count, modifiers=modifiers)
    return await acted(tab, f"clicked {called(where.role, where.name, where.hint)}", where.note, snapshot, sends=True)


@tool(Access.WRITE, example={"target": "#go"})
async def double_click(tab: Tab, target: Target, snapshot: Want = None) -> Result[Acted]:
    """Double-click an element."""
    where = await hand.click(tab, await locate(tab, target), count=2)
    return await acted(
        tab, f"double-clicked {called(where.role, where.name, where.hint)}", where.note, snapshot, sends=True
    )


@tool(Access.WRITE, example={"target": "#go"})
async def right_click(tab: Tab, target: Target, snapshot: Want = None) -> Result[Acted]:
    """Click an element with the right button."""
    where = await hand.click(tab, await locate(tab, target), button="right")
    return await acted(tab, f"right-clicked {called(where.role, where.name, where.hint)}", where.note, snapshot)


@tool(Access.WRITE, example={"x": 10, "y": 10})
async def click_at(
    tab: Tab, x: Pixels, y: Pixels, button: Button = "left", count: Count = 1, snapshot: Want = None
) -> Result[Acted]:
    """Click a point of the viewport, in CSS pixels."""
    where = await hand.click_at(tab, x, y, button=button, count=count)
    hit = called(where.role, where.name, where.hint) if where.role else "nothing"
    return await acted(tab, f"clicked {hit} at {x:g}, {y:g}", want=snapshot, sends=True)


@tool(Access.VISIT, core=True, example={"target": "#go"})
async def hover(tab: Tab, target: Target, snapshot: Want = None) -> Result[Acted]:
    """Point at an element."""
    where = await hand.hover(tab, await locate(tab, target))
    return await acted(tab, f"pointer on {called(where.role, where.name, where.hint)}", where.note, snapshot)


@tool(
    Access.WRITE,
    example={"target": "#go", "dx": 20},
    synonyms={"source": "target", "from": "target", "source_selector": "target", "destination": "to", "onto": "to"},
)
async def drag(
    tab: Tab, target: Target, to: Target | None = None, dx: Pixels = 0, dy: Pixels = 0, snapshot: Want = None
) -> Result[Acted]:
    """Drag an element onto another (`to`), or by dx, dy pixels."""
    if bool(to) == bool(dx or dy):
        raise Failure("bad_request", "drag takes `to`, or dx and dy", suggestions=['drag(target="e3", to="e7")'])
    source = await locate(tab, target)
    moved = await carrier.drag(tab, source, await locate(tab, to) if to else None, (dx, dy))
    where = f"onto {called(moved.onto_role, moved.onto_name, moved.onto_hint)}" if to else f"by {dx:g}, {dy:g}"
    return await acted(tab, f"dragged {called(moved.role, moved.name, moved.hint)} {where}", moved.note, snapshot)
