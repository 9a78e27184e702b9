"""A person points at an element of a tab: asked in the page itself, answered by a real press there.

Above: the tool `ask_user_to_pick`, the person's own pages. Below: world/pick.js, frames. No element of the page gets
the press, and the page cannot make one up, nor put another thing in the place of what was framed. A document that is
replaced meanwhile is asked anew.
"""

import contextlib
import time
from typing import Any

import msgspec

from pilothouse.browser.aim import MAX_FRAME_DEPTH, inside
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, WorldGone
from pilothouse.errors import Failure

LOOK_S = 5.0
_MARGIN_S = 1.0


class Selector(msgspec.Struct, frozen=True):
    kind: str
    selector: str


class Picked(msgspec.Struct, frozen=True):
    """`selectors` were each found to lead to this element alone, the most robust first."""

    ref: str
    role: str
    name: str
    tag: str
    text: str
    url: str
    selectors: list[Selector]


async def pick(tab: Tab, prompt: str, timeout_s: float, *, own: bool = False) -> Picked | None:
    """What the person points at, of their `own` accord or asked; None when they would not, or did not in time."""
    if tab.picking:
        raise Failure("in_use", "the person is asked to point at something in this tab already")
    tab.picking, tab.picks_own = prompt, own
    try:
        return await _asked(tab, prompt, time.monotonic() + timeout_s)
    except WorldGone:
        raise _gone() from None
    finally:
        tab.picking = ""


async def point(tab: Tab, x: float, y: float, *, presses: bool) -> bool:
    """The person's pointer, by a picture of the page; false when nobody is asked there."""
    try:
        world = await tab.frames.ready(tab.frames.main, LOOK_S)
        return await world.call("pointAt", x, y, presses, timeout=LOOK_S)
    except WorldGone:
        return False


async def end_pick(tab: Tab) -> None:
    """Whoever was asked would rather not."""
    with contextlib.suppress(WorldGone):  # and the question with it
        world = await tab.frames.ready(tab.frames.main, LOOK_S)
        await world.call("endPick", timeout=LOOK_S)


async def _asked(tab: Tab, prompt: str, until: float) -> Picked | None:
    while (left_s := until - time.monotonic()) > 0:
        try:
            world = await tab.frames.ready(tab.frames.main, left_s)
            told = await _answered(world, prompt, left_s)
        except WorldGone:
            continue
        return None if told is None or told.get("late") else await _found(tab, world, told)
    return None


async def _answered(world: World, prompt: str, left_s: float) -> dict[str, Any] | None:
    try:
        return await world.call("pick", prompt, int(left_s * 1000), timeout=left_s + _MARGIN_S)
    except WorldGone:
        raise
    except BaseException:  # nobody waits for an answer any more: what was drawn must not stay over the page
        world.post("endPick")
        raise


async def _found(tab: Tab, world: World, told: dict[str, Any]) -> Picked:
    """From the page into whichever frame the point lies in."""
    frame = tab.frames.main
    for _ in range(MAX_FRAME_DEPTH):
        if told.get("gone"):
            break
        owner = told.get("frame", 0)
        inner = await inside(tab, frame, owner) if owner else None
        if inner is None and "local" in told:
            ref = tab.refs.number(world.uid, told.pop("local"))
            return msgspec.convert({**told, "ref": ref, "url": frame.url or tab.url}, Picked)
        origin = await world.call("frameOrigin", owner)
        if inner is None or origin is None:
            break
        x, y = (told["x"] - origin["x"]) / (origin["scaleX"] or 1), (told["y"] - origin["y"]) / (origin["scaleY"] or 1)
        frame = inner
        world = await tab.frames.ready(frame, LOOK_S)
        told = await world.call("pickedAt", x, y, timeout=LOOK_S)
    raise _gone()


def _gone() -> Failure:
    return Failure("not_found", "what the person pointed at is gone", suggestions=["ask them again"])
