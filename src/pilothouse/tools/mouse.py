"""Mouse: what a pointer does."""

from typing import Annotated, Literal

from msgspec import Meta

from pilothouse.browser import input as hand
from pilothouse.browser.locate import locate
from pilothouse.browser.tab import Tab
from pilothouse.result import Result
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.outcome import Acted, Want, acted, called

Modifier = Literal["Alt", "Control", "Meta", "Shift"]


@tool(Access.WRITE, core=True, example={"target": "#go"}, aliases=("browser.click",))
async def click(
    tab: Tab,
    target: Annotated[Target, Meta(description="ref, CSS, text=, role=[name=]")],
    button: Literal["left", "right", "middle"] = "left",
    count: Annotated[int, Meta(ge=1, le=3)] = 1,
    modifiers: list[Modifier] = [],
    snapshot: Want = None,
) -> Result[Acted]:
    """Click an element."""
    where = await hand.click(tab, await locate(tab, target), button=button, count=count, modifiers=modifiers)
    return await acted(tab, f"clicked {called(where.role, where.name)}", where.note, snapshot)


@tool(Access.VISIT, core=True, example={"target": "#go"})
async def hover(tab: Tab, target: Target) -> Result[Acted]:
    """Move the pointer over an element."""
    where = await hand.hover(tab, await locate(tab, target))
    return await acted(tab, f"pointer on {called(where.role, where.name)}", where.note)
