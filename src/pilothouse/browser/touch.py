"""Fingers on the page: taps and swipes, as touch and pointer events that the browser makes gestures of.

Above: tools. Below: input, locate, settle, cdp. For the gesture the page has a touch screen; afterwards what it had.
"""

import contextlib
import math
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from pilothouse.browser import input as hand
from pilothouse.browser.frames import Frame
from pilothouse.browser.input import Point
from pilothouse.browser.locate import Element
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure

STEPS = 10
LEAST_PX = 30  # on the screen: twice as far as a finger may slip in a tap (M)
REST_MS = 4000  # the longest throw takes two seconds, on a busy machine more; most rest long before (`scrollend`)
EDGE_PX = 2
SHARE = 0.6  # of the window that a swipe covers unless told otherwise
_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Swiped(msgspec.Struct, frozen=True):
    """How far the page of the frame is scrolled now."""

    x: int
    y: int
    changed: bool
    note: str = ""


async def tap(tab: Tab, element: Element) -> hand.Aim:
    where = await hand.aim(tab, element, on_page=True)
    mark = hand.marked(tab, element.frame)
    async with _touch_screen(tab):
        await _touch(tab, [(where.x, where.y)])
    await settle(tab, mark)
    return where


async def swipe(tab: Tab, element: Element | None, direction: str, distance: float | None) -> Swiped:
    """The finger goes in the direction; what lies under it follows."""
    aim = await hand.aim(tab, element, enabled=False, on_page=True) if element else None
    frame = element.frame if element else tab.frames.main
    world = await tab.frames.ready(frame, hand.CHECK_TIMEOUT_S)
    await world.call("watchScroll")
    window = await (await tab.frames.ready(tab.frames.main, hand.CHECK_TIMEOUT_S)).call("at", 0, 0)
    size = (window["width"], window["height"])
    mark = Mark(tab, frame)
    way = _WAYS[direction]
    length = distance or SHARE * (size[0] if way[0] else size[1])
    start = (aim.x, aim.y) if aim else (size[0] / 2 - way[0] * length / 2, size[1] / 2 - way[1] * length / 2)
    line = _line(_inside(start, size), _inside(_end(start, way, length), size))
    _check_long(line, direction, least=LEAST_PX / min(window["scale"], 1))
    async with _touch_screen(tab):
        await _touch(tab, line)
    rest = await _rest(tab, frame)
    effect = await settle(tab, mark)
    return Swiped(rest["x"], rest["y"], effect, aim.note if aim else "")


def _end(start: Point, way: tuple[int, int], length: float) -> Point:
    return start[0] + way[0] * length, start[1] + way[1] * length


def _inside(point: Point, size: Point) -> Point:
    x, y = (min(max(part, EDGE_PX), edge - EDGE_PX) for part, edge in zip(point, size, strict=True))
    return x, y


def _line(start: Point, end: Point) -> list[Point]:
    return [
        (start[0] + (end[0] - start[0]) * step / STEPS, start[1] + (end[1] - start[1]) * step / STEPS)
        for step in range(STEPS + 1)
    ]


def _check_long(line: list[Point], direction: str, *, least: float) -> None:
    """To the browser, a finger that hardly moves has tapped, and nobody has judged a tap."""
    moved = math.dist(line[0], line[-1])
    if moved < least:
        raise Failure(
            "bad_request",
            f"{moved:.0f} px {direction} is too short for a swipe: below {least:.0f} px it may be a tap",
            suggestions=["give a longer distance, or another direction if the window ends there", "or use tap"],
        )


async def _rest(tab: Tab, frame: Frame) -> dict[str, Any]:
    """A page that was thrown goes on for a while; whoever presses next must not press on something that moves."""
    nowhere = {"x": 0, "y": 0}
    if tab.hindrance() or frame.world is None:
        return nowhere
    return await hand.told_after(frame.world, "scrollRest", REST_MS, otherwise=nowhere)


async def _touch(tab: Tab, points: list[Point]) -> None:
    """One finger down, along, up. It never stays down."""
    lifted = False
    try:
        for index, (x, y) in enumerate(points):
            await _finger(tab, "touchMove" if index else "touchStart", [{"x": x, "y": y}])
        lifted = True
        await _finger(tab, "touchEnd", [])
    finally:
        if not lifted:
            tab.channel.post("Input.dispatchTouchEvent", type="touchCancel", touchPoints=[], steadfast=True)


async def _finger(tab: Tab, kind: str, points: list[dict[str, float]]) -> None:
    await hand.deliver(
        [tab.channel.post("Input.dispatchTouchEvent", timeout=hand.TAKEN_S, type=kind, touchPoints=points)]
    )


@contextlib.asynccontextmanager
async def _touch_screen(tab: Tab) -> AsyncGenerator[None]:
    """Frames in processes of their own have to be told, too."""
    channels = tab.page_channels()
    switched = [
        channel.post("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=tab.touch_points or 1)
        for channel in channels
    ]
    try:
        await hand.deliver(switched)
        yield
    finally:
        if not tab.touch_points:
            for channel in channels:
                channel.post("Emulation.setTouchEmulationEnabled", enabled=False, steadfast=True)
