"""Scrolling."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from pilothouse.browser.input import CHECK_TIMEOUT_S, note_of, raise_if_unfit, told_after
from pilothouse.browser.locate import find, optional_scope
from pilothouse.browser.settle import Mark, settle, wait_out
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.outcome import Showing, Want, called, shown

Pixels = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]


class Scrolled(Showing):
    y: int
    at_end: bool
    x: int = 0


Direction = Literal["up", "down", "left", "right"]
End = Literal["top", "bottom"]


class Shown(Showing, omit_defaults=True):
    shown: str
    x: int
    y: int
    note: str = ""


@tool(Access.VISIT, core=True, example={"direction": "down"})
async def scroll(
    tab: Tab,
    direction: Direction | None = None,
    dx: Pixels = 0,
    dy: Pixels = 0,
    target: str | list[str] | None = None,
    to: End | None = None,
    snapshot: Want = None,
) -> Result[Scrolled]:
    """Scroll the page, or what scrolls at target."""
    return await shown(tab, await _scrolled(tab, target, direction, (dx, dy), to), snapshot)


@tool(Access.VISIT, example={"target": "#name", "direction": "down"})
async def scroll_element(
    tab: Tab,
    target: Target,
    direction: Direction | None = None,
    dx: Pixels = 0,
    dy: Pixels = 0,
    to: End | None = None,
    snapshot: Want = None,
) -> Result[Scrolled]:
    """Scroll inside an element, or in what scrolls around it."""
    if not (direction or dx or dy or to):
        direction = "down"
    return await shown(tab, await _scrolled(tab, target, direction, (dx, dy), to), snapshot)


@tool(Access.VISIT, example={"target": "#go"})
async def scroll_into_view(tab: Tab, target: Target, snapshot: Want = None) -> Result[Shown]:
    """Scroll until an element is in view."""
    element = await find(tab, target)
    mark = Mark(tab, element.frame)
    seen = await element.world.call("intoView", element.local, timeout=CHECK_TIMEOUT_S)
    raise_if_unfit(element, seen)
    await settle(tab, mark)
    name, note = called(seen["role"], seen["name"], seen["hint"]), note_of(element, seen)
    done = f"{name} is in view" if seen["moved"] else f"{name} was in view already"
    result = Result(f"{done} ({note})" if note else done, Shown(name, seen["x"], seen["y"], note))
    return await shown(tab, result, snapshot)


async def _scrolled(
    tab: Tab, target: str | list[str] | None, direction: Direction | None, by: tuple[int, int], to: End | None
) -> Result[Scrolled]:
    if sum((bool(direction), any(by), bool(to))) > 1:
        why = "scroll goes in a direction, by dx and dy, or to an end: only one of them"
        raise Failure("bad_request", why, suggestions=["one call for each, or a batch of them"])
    frame, local = await optional_scope(tab, target)
    world = await tab.frames.ready(frame, 10)
    mark = Mark(tab, frame)
    moved = await world.call("scroll", {"ref": local, "direction": direction, "dx": by[0], "dy": by[1], "to": to})
    if moved.get("fail"):
        raise Failure("stale_ref", "the element is gone", suggestions=["take a new snapshot"])
    if moved["moved"]:
        await told_after(world, "drawn", otherwise=None)  # before that nobody in the page has heard of it
    await settle(tab, mark)
    stands = await _stands(tab, world) or moved
    if stands["atEnd"] and moved["moved"]:
        await wait_out(tab, mark, CHECK_TIMEOUT_S)  # a list may grow a moment later
        stands = await _stands(tab, world) or stands
    end = " (the end)" if stands["atEnd"] else ""
    still = "" if moved["moved"] else "nothing moved: "
    text = f"{still}at {stands['y']} of {stands['height']} px{end}"
    return Result(text, Scrolled(stands["y"], stands["atEnd"], stands["x"]))


async def _stands(tab: Tab, world: World) -> dict[str, Any] | None:
    return None if tab.hindrance() else await told_after(world, "scrolledTo", otherwise=None)
