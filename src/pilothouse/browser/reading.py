"""The text of a page as a person reads it, frames included.

Above: tools. Below: locate, input (which element holds a frame), world.
"""

import asyncio

from pilothouse.browser import unreached, viewer
from pilothouse.browser.frames import Frame
from pilothouse.browser.locate import optional_scope, stale
from pilothouse.browser.owners import owner_in
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

READ_TIMEOUT_S = 10.0
FRAME_TIMEOUT_S = 3.0
_LIES_IN = "(inner, outer) => ph.holds(ph.element(outer), ph.element(inner))"


async def read(tab: Tab, target: str | list[str] | None) -> str:
    """The text of an element, or of the current frame, and of the frames that can be seen in it."""
    frame, local = await optional_scope(tab, target)
    if told := unreached.line(tab, frame) or viewer.line(tab, frame):
        return told
    world = await tab.frames.ready(frame, READ_TIMEOUT_S)
    said = await world.call("text", {"scope": local, "marks": True}, timeout=READ_TIMEOUT_S)
    if not isinstance(said, str):
        raise stale("target", "the element is gone")
    return "\n\n".join([said, *await _inside(tab, frame, local)]).strip()


async def _inside(tab: Tab, frame: Frame, within: int = 0) -> list[str]:
    texts = await asyncio.gather(*(_inner(tab, frame, child, within) for child in tab.frames.children(frame)))
    return [text for one in texts for text in one]


async def _inner(tab: Tab, parent: Frame, child: Frame, within: int) -> list[str]:
    """What one inner frame says, if it lies `within` that element; nothing if it is hidden or does not answer."""
    if parent.world is None:
        return []
    try:
        owner = await owner_in(tab, child, parent)
        if within and not await parent.world.run(_LIES_IN, owner, within, timeout=FRAME_TIMEOUT_S):
            return []
        holder = await parent.world.call("describe", owner, timeout=FRAME_TIMEOUT_S)
        if not holder["visible"]:
            return []
        if told := unreached.line(tab, child) or viewer.line(tab, child):
            return [told]
        world = await tab.frames.ready(child, FRAME_TIMEOUT_S)
        said = await world.call("text", {"marks": True}, timeout=FRAME_TIMEOUT_S)
        return [one for one in [said, *await _inside(tab, child)] if one]
    except (Failure, ProtocolError, WorldGone):
        return []
