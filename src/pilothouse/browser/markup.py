"""The page as it is written: an element with what stands around it, or the whole document as an outline.

Above: tools. Below: locate, world.
"""

from typing import Any

from pilothouse.browser.locate import find, reveal, stale
from pilothouse.browser.tab import Tab

TIMEOUT_S = 15.0


async def around(tab: Tab, target: str | list[str], max_chars: int) -> tuple[str, dict[str, Any]]:
    """The element's ref and its surroundings: tag, ancestors, before, after, html, cut."""
    element = await find(tab, target)
    told = await element.world.call("markup", element.local, {"maxChars": max_chars}, timeout=TIMEOUT_S)
    if told is None:
        raise stale(element.ref, "the element is gone")
    return element.ref, told


async def outline(tab: Tab, max_nodes: int) -> tuple[list[str], int]:
    """The first lines of the current frame's document, and how many there are."""
    await tab.frames.ready(frame := tab.here, TIMEOUT_S)
    await reveal(frame)
    told = await tab.call("outline", {"maxNodes": max_nodes}, timeout=TIMEOUT_S)
    return ["  " * min(depth, 40) + text for depth, text in told["lines"]], told["total"]
