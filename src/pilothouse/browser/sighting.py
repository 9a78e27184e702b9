"""A picture of what a call points at, for the person who is asked: the page around it, and where in it the things are.

Above: wheel. Below: locate's elements, capture, cdp. Nothing is drawn into the page and nothing is scrolled: the page
is not told that somebody looks.
"""

import base64
import math
from typing import Any

import msgspec

from pilothouse.browser.locate import Element
from pilothouse.browser.owners import owner_in
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

LOOK_S = 4.0
MAX_ELEMENTS = 10
MAX_SIDE = 1280
QUALITY = 75
AROUND_POINT = 12.0
UNSEEN = "what it points at is not in view: it would be scrolled to first"

Box = dict[str, float]


class Sighting(msgspec.Struct, frozen=True):
    """`boxes` are in pixels of the picture; `note` tells why there is none of something that is pointed at."""

    data: bytes
    width: int
    height: int
    boxes: list[Box]
    note: str = ""


async def sighted(tab: Tab, elements: list[Element], point: tuple[float, float] | None = None) -> Sighting:
    """What is there now, around the first of them, or with a point of the window marked."""
    tab.check_open()
    tab.check_dialog()
    try:
        view = (await tab.channel.send("Page.getLayoutMetrics", timeout=LOOK_S))["cssVisualViewport"]
        found = [await _box(tab, one) for one in elements[:MAX_ELEMENTS]]
        boxes = [box for box in found if box] + ([_around_point(*point)] if point else [])
        clip = _around(view, boxes[0] if boxes else None)
        beyond = (clip["x"], clip["y"]) != (view["pageX"], view["pageY"])
        scale = min(1.0, MAX_SIDE / max(clip["width"], clip["height"], 1))
        shot = await tab.channel.send(
            "Page.captureScreenshot",
            format="jpeg",
            quality=QUALITY,
            optimizeForSpeed=True,
            clip={**clip, "scale": scale},
            captureBeyondViewport=beyond,
            timeout=LOOK_S,
        )
    except (ProtocolError, WorldGone) as error:
        raise Failure("page_error", f"no picture could be taken: {error}") from error
    shown = [_within(box, view, clip, scale) for box in boxes]
    size = round(clip["width"] * scale), round(clip["height"] * scale)
    return Sighting(base64.b64decode(shot["data"]), *size, shown, UNSEEN if None in found else "")


async def _box(tab: Tab, element: Element) -> Box | None:
    """What of it is not hidden by boxes and frames around it, in the window of the page."""
    frame, parent = element.frame, tab.frames.get(element.frame.parent)
    box: Box | None = await element.world.call("inSight", element.local, None, parent is not None, timeout=LOOK_S)
    while box and parent is not None:
        world = await tab.frames.ready(parent, LOOK_S)
        owner = await owner_in(tab, frame, parent)
        origin: dict[str, Any] | None = await world.call("frameOrigin", owner, timeout=LOOK_S)
        if origin is None:
            return None
        outer = {
            "x": origin["x"] + box["x"] * origin["scaleX"],
            "y": origin["y"] + box["y"] * origin["scaleY"],
            "width": box["width"] * origin["scaleX"],
            "height": box["height"] * origin["scaleY"],
        }
        frame, parent = parent, tab.frames.get(parent.parent)
        box = await world.call("inSight", owner, outer, parent is not None, timeout=LOOK_S)
    return box


def _around_point(x: float, y: float) -> Box:
    return {"x": x - AROUND_POINT, "y": y - AROUND_POINT, "width": 2 * AROUND_POINT, "height": 2 * AROUND_POINT}


def _around(view: dict[str, float], box: Box | None) -> Box:
    """The window as it stands, or as far down or to the side as the thing is."""
    clip = {"x": view["pageX"], "y": view["pageY"], "width": view["clientWidth"], "height": view["clientHeight"]}
    if box is None:
        return clip
    for place, size in (("x", "width"), ("y", "height")):
        if box[place] < 0 or box[place] + box[size] > clip[size]:
            middle = clip[place] + box[place] + box[size] / 2 - clip[size] / 2
            clip[place] = max(math.floor(middle), 0)
    return clip


def _within(box: Box, view: dict[str, float], clip: Box, scale: float) -> Box:
    return {
        "x": round((box["x"] + view["pageX"] - clip["x"]) * scale, 1),
        "y": round((box["y"] + view["pageY"] - clip["y"]) * scale, 1),
        "width": round(box["width"] * scale, 1),
        "height": round(box["height"] * scale, 1),
    }
