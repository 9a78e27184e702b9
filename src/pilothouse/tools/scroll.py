"""Scrolling."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser.locate import optional_scope
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, tool

Pixels = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]


class Scrolled(msgspec.Struct):
    y: int
    at_end: bool
    x: int = 0


@tool(Access.VISIT, core=True, example={"direction": "down"})
async def scroll(
    tab: Tab,
    direction: Literal["up", "down", "left", "right"] | None = None,
    dx: Pixels = 0,
    dy: Pixels = 0,
    target: str | list[str] | None = None,
    to: Literal["top", "bottom"] | None = None,
) -> Result[Scrolled]:
    """Scroll the page, or what scrolls at target."""
    frame, local = await optional_scope(tab, target)
    world = await tab.frames.ready(frame, 10)
    mark = Mark(tab, frame)
    moved = await world.call("scroll", {"ref": local, "direction": direction, "dx": dx, "dy": dy, "to": to})
    if moved.get("fail"):
        raise Failure("stale_ref", "the element is gone", suggestions=["take a new snapshot"])
    await settle(tab, mark)
    end = " (the end)" if moved["atEnd"] else ""
    still = "" if moved["moved"] else "nothing moved: "
    text = f"{still}at {moved['y']} of {moved['height']} px{end}"
    return Result(text, Scrolled(moved["y"], moved["atEnd"], moved["x"]))
