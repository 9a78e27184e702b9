"""Keyboard: typing, and single keys."""

from typing import Annotated

from msgspec import Meta

from pilothouse.browser import input as hand
from pilothouse.browser.fill import fill
from pilothouse.browser.locate import locate
from pilothouse.browser.tab import Tab
from pilothouse.result import Result
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.outcome import Acted, Want, acted, called


@tool(Access.WRITE, core=True, example={"target": "#name", "text": "Ada"}, aliases=("browser.type",))
async def type_text(
    tab: Tab,
    target: Target,
    text: Annotated[str, Meta(max_length=1_000_000)],
    clear: bool = True,
    submit: Annotated[bool, Meta(description="then press Enter")] = False,
    snapshot: Want = None,
) -> Result[Acted]:
    """Type into a field, replacing its text unless clear is false."""
    filled = await fill(tab, await locate(tab, target), text, clear=clear)
    done = f"typed into {called(filled.role, filled.name)}"
    if submit and not tab.dialog:
        await hand.press_key(tab, "Enter")
        done += " and pressed Enter"
    return await acted(tab, done, filled.note, snapshot)


@tool(Access.WRITE, core=True, example={"key": "Enter"})
async def press_key(
    tab: Tab,
    key: Annotated[str, Meta(max_length=100, description="Enter, ArrowDown, Control+a …")],
    count: Annotated[int, Meta(ge=1, le=100)] = 1,
    snapshot: Want = None,
) -> Result[Acted]:
    """Press a key in the focused element."""
    await hand.press_key(tab, key, count)
    times = f" {count} times" if count > 1 else ""
    return await acted(tab, f"pressed {key}{times}", want=snapshot)
