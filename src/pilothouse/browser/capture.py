"""Pictures of a page: the viewport, the whole page, one element.

Above: tools. Below: locate, input, cdp.
"""

import asyncio
import base64
import math
from typing import Any

import msgspec

from pilothouse.browser.input import raise_if_unfit
from pilothouse.browser.locate import Element, find
from pilothouse.browser.owners import owner_in
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

CAPTURE_TIMEOUT_S = 15.0
DRAWN_MS = 200
# The first frame applies what has changed, the second begins when that is on its way to the screen.
_TWO_FRAMES = """(ms) => new Promise((done) => {
  ph.later(ms).then(done);
  requestAnimationFrame(() => requestAnimationFrame(() => ph.later(0).then(done)));
})"""
MAX_SIDE = 1568  # what models look at; more is scaled down by them anyway
MAX_BYTES = 4_000_000
MAX_PAGE_SIDE = 16_384  # what the browser can draw


class Picture(msgspec.Struct, frozen=True):
    data: bytes
    mime_type: str
    width: int
    height: int
    scale: float


async def screenshot(
    tab: Tab,
    *,
    target: str | list[str] | None,
    full_page: bool,
    image_format: str,
    quality: int,
    marks: bool,
) -> Picture:
    element = await find(tab, target) if target else None
    if not marks:
        return await _shoot(tab, element, full_page, image_format, quality)
    await tab.call("drawMarks", [await _label(tab, one) for one in await tab.call("inView")])
    try:
        return await _shoot(tab, element, full_page, image_format, quality)
    finally:
        await tab.call("clearMarks")


async def _label(tab: Tab, local: int) -> list[Any]:
    world = tab.here.world
    return [local, tab.refs.number(world.uid, local) if world else ""]


async def _shoot(tab: Tab, element: Element | None, full_page: bool, image_format: str, quality: int) -> Picture:
    box = await _box(tab, element, full_page)
    dense = max(tab.guise.scale, 0.1)  # a tab that pretends to have a dense screen is drawn larger than its pixels
    scale = min(1.0, MAX_SIDE / max(box["width"], box["height"], 1)) if not full_page else _page_scale(box)
    options: dict[str, Any] = {"format": image_format, "optimizeForSpeed": True}
    if image_format != "png":
        options["quality"] = quality
    if element or full_page or scale < 1 or dense != 1:
        options |= {"clip": {**box, "scale": scale / dense}, "captureBeyondViewport": bool(element) or full_page}
    await _drawn(tab)
    try:
        reply = await tab.channel.send("Page.captureScreenshot", timeout=CAPTURE_TIMEOUT_S, **options)
    except ProtocolError as error:
        raise Failure("page_error", f"no picture could be taken: {error.reason}") from error
    width, height = round(box["width"] * scale), round(box["height"] * scale)
    return Picture(base64.b64decode(reply["data"]), f"image/{image_format}", width, height, scale)


async def _drawn(tab: Tab) -> None:
    """Frames in processes of their own draw by themselves: the picture is taken when they have caught up (M).

    A frame that is out of sight never draws, so nobody waits long.
    """
    roots = {frame.channel: frame.world for frame in tab.frames if frame.world and tab.frames.is_root(frame)}
    roots.pop(tab.channel, None)
    waiting = [world.run(_TWO_FRAMES, DRAWN_MS, timeout=DRAWN_MS / 500) for world in roots.values() if world]
    await asyncio.gather(*waiting, return_exceptions=True)


def _page_scale(box: dict[str, float]) -> float:
    """A long page is kept readable: its width decides, up to what can be drawn at all."""
    return min(1.0, MAX_SIDE / max(box["width"], 1), MAX_PAGE_SIDE / max(box["height"], 1))


async def _box(tab: Tab, element: Element | None, full_page: bool) -> dict[str, float]:
    if element:
        return await _element_box(tab, element)
    metrics = await tab.channel.send("Page.getLayoutMetrics", timeout=CAPTURE_TIMEOUT_S)
    if full_page:
        size = metrics["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
    view = metrics["cssVisualViewport"]
    return {"x": view["pageX"], "y": view["pageY"], "width": view["clientWidth"], "height": view["clientHeight"]}


async def _element_box(tab: Tab, element: Element) -> dict[str, float]:
    """In whole pixels of the page, frames around it counted in."""
    box = await element.world.call("box", element.local)
    raise_if_unfit(element, box)
    x, y, frame = box["x"], box["y"], element.frame
    while (parent := tab.frames.get(frame.parent)) is not None:
        world = await tab.frames.ready(parent, CAPTURE_TIMEOUT_S)
        origin = await world.call("frameOrigin", await owner_in(tab, frame, parent))
        x, y = origin["x"] + x * origin["scaleX"], origin["y"] + y * origin["scaleY"]
        box["width"], box["height"] = box["width"] * origin["scaleX"], box["height"] * origin["scaleY"]
        frame = parent
    view = (await tab.channel.send("Page.getLayoutMetrics"))["cssVisualViewport"]
    width, height = math.ceil(box["width"] - 0.01), math.ceil(box["height"] - 0.01)
    return {"x": round(x + view["pageX"]), "y": round(y + view["pageY"]), "width": width, "height": height}
