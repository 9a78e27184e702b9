"""Dragging: press, carry, let go. Native drags (dataTransfer) and those that pages make of pointer events.

Above: tools. Below: input, locate, settle, cdp. Chrome hands a native drag over to us while it is intercepted (M);
from then on it goes by drag events. A drag that does not come to its end lets go where it began. A drag is no click,
wherever it ends.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from pilothouse.browser import input as hand
from pilothouse.browser.input import Point
from pilothouse.browser.locate import Element
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World
from pilothouse.errors import Failure

STEPS = 10
NUDGE_PX = 8.0  # beyond what Chrome and most pages take for a click
LIFT_S = 2.0
LET_GO_S = 0.5
# Down and up on one element would be a click on it, also where a drag is broken off; a count of 0 makes none (M).
_LEFT: dict[str, Any] = {"button": "left", "clickCount": 0}
_HELD: dict[str, Any] = {"button": "left", "buttons": 1}


class Dragged(msgspec.Struct, frozen=True):
    role: str
    name: str
    onto_role: str = ""
    onto_name: str = ""
    note: str = ""
    hint: str = ""  # of what has no name
    onto_hint: str = ""


async def drag(tab: Tab, source: Element, target: Element | None, by: Point) -> Dragged:
    """Onto the middle of the target, or by so many pixels."""
    # A target that cannot be reached is refused before anything is pressed.
    goal = await hand.aim(tab, target, enabled=False, on_page=True) if target else None
    start = await hand.aim(tab, source, on_page=True)
    mark = Mark(tab, source.frame)
    worlds = list({one.world.uid: one.world for one in (source, target) if one}.values())
    async with _intercepting(tab) as data:
        grip = _Grip(tab, (start.x, start.y), data)
        try:
            await _ask(worlds, "watchDrag")
            await grip.press(_toward((start.x, start.y), by))
            if any(await _ask(worlds, "dragLifted")):
                await asyncio.wait([data], timeout=LIFT_S)
            await grip.carry(await hand.middle(tab, target) if target else (start.x + by[0], start.y + by[1]))
            await grip.release()
        except BaseException:
            await grip.let_go()
            raise
    taken = bool(tab.hindrance()) or any(await _ask(worlds, "dragEnded"))
    effect = await settle(tab, mark)
    if data.done() and not taken:
        raise _not_taken(start, apart=target is not None and target.frame.channel is not source.frame.channel)
    notes = [start.note, goal.note if goal else "", "" if effect or data.done() else "the page did not change"]
    onto, onto_hint = ((goal.role, goal.name), goal.hint) if goal else (("", ""), "")
    note = "; ".join(note for note in notes if note)
    return Dragged(start.role, start.name, *onto, note, start.hint, onto_hint)


def _not_taken(start: hand.Aim, *, apart: bool) -> Failure:
    return Failure(
        "not_actionable",
        # Chrome forbids it, to people as well (M).
        "the browser carries nothing between frames of different sites"
        if apart
        else f"{start.role} was dragged there, but nothing takes a drop at that place",
        details={"reason": "other_site" if apart else "no_drop", "role": start.role, "name": start.name},
        suggestions=["drop it on another target: get_page_state shows what is there"],
    )


async def _ask(worlds: list[World], function: str) -> list[object]:
    """One that cannot answer has reacted."""
    return await asyncio.gather(*(hand.told_after(world, function, otherwise=True) for world in worlds))


@contextlib.asynccontextmanager
async def _intercepting(tab: Tab) -> "AsyncGenerator[asyncio.Future[dict[str, Any]]]":
    """The data of a native drag, as soon as one begins in any frame."""
    data: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def begun(params: dict[str, Any]) -> None:
        if not data.done():
            data.set_result(params["data"])

    channels = tab.page_channels()
    deaf = [channel.on("Input.dragIntercepted", begun) for channel in channels]
    try:
        await hand.deliver([channel.post("Input.setInterceptDrags", enabled=True) for channel in channels])
        yield data
    finally:
        for forget in deaf:
            forget()
        for channel in channels:
            channel.post("Input.setInterceptDrags", enabled=False, steadfast=True)


def _toward(start: Point, by: Point) -> Point:
    sign = [-1 if part < 0 else 1 for part in by]
    return start[0] + sign[0] * NUDGE_PX, start[1] + sign[1] * NUDGE_PX


class _Grip:
    """The pressed button, and where it is."""

    def __init__(self, tab: Tab, start: Point, data: "asyncio.Future[dict[str, Any]]") -> None:
        self._tab = tab
        self._start = self._at = start
        self._data = data
        self._entered = False

    async def press(self, nudged: Point) -> None:
        await self._mouse("mouseMoved", self._at)
        await self._mouse("mousePressed", self._at, **_LEFT)
        x, y = self._at
        for part in (0.5, 1.0):
            await self._move((x + (nudged[0] - x) * part, y + (nudged[1] - y) * part))

    async def carry(self, end: Point) -> None:
        (x, y), (to_x, to_y) = self._at, end
        for step in range(1, STEPS + 1):
            await self._move((x + (to_x - x) * step / STEPS, y + (to_y - y) * step / STEPS))
        await self._move(end)  # a place that reacts to being entered may take the drop only now

    async def release(self) -> None:
        if self._data.done():
            await self._drag("drop", self._at)
        await self._mouse("mouseReleased", self._at, **_LEFT)

    async def let_go(self) -> None:
        """Back where it began, so that nothing is dropped. Also for a call that is cancelled, hence short."""
        moved = self._mouse_post("mouseMoved", self._start, **_HELD)
        await asyncio.wait([moved], timeout=LET_GO_S)  # by now a native drag has begun, or never will
        if self._data.done():
            self._drag_post("dragEnter", self._start)
            self._drag_post("dragCancel", self._start)
        await asyncio.wait([self._mouse_post("mouseReleased", self._start, **_LEFT)], timeout=LET_GO_S)

    async def _move(self, to: Point) -> None:
        self._tab.check_dialog()
        self._at = to
        if not self._data.done():
            await self._mouse("mouseMoved", to, **_HELD)
        elif self._entered:
            await self._drag("dragOver", to)
        else:
            self._entered = True
            await self._drag("dragEnter", to)

    async def _mouse(self, kind: str, at: Point, **options: Any) -> None:
        await hand.deliver([self._mouse_post(kind, at, **options)])

    async def _drag(self, kind: str, at: Point) -> None:
        await hand.deliver([self._drag_post(kind, at)])

    def _mouse_post(self, kind: str, at: Point, **options: Any) -> asyncio.Future[dict[str, Any]]:
        channel, (x, y) = self._tab.channel, at
        return channel.post("Input.dispatchMouseEvent", timeout=hand.TAKEN_S, type=kind, x=x, y=y, **options)

    def _drag_post(self, kind: str, at: Point) -> asyncio.Future[dict[str, Any]]:
        channel, (x, y), data = self._tab.channel, at, self._data.result()
        return channel.post("Input.dispatchDragEvent", timeout=hand.TAKEN_S, type=kind, x=x, y=y, data=data)
