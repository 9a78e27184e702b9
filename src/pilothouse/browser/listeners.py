"""Who listens for clicks: script in a page cannot see it, so the walker is told.

Above: snapshot, navigate. Below: unseen (nodes as objects), world, cdp. To tell of one element costs 0.1 ms (M). A look
at the view therefore waits for those in it and near it; where a page has more, the others are told afterwards.
"""

import asyncio
import contextlib
from typing import Any

from pilothouse.browser.frames import Frame
from pilothouse.browser.tab import Tab
from pilothouse.browser.unseen import resolved
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

_CLICKS = {"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "touchend"}
IN_VIEW = 500  # elements that a look at the view waits for
MOST = 20_000  # of one document
AT_ONCE = 250
MAX_FRAMES = 20
AHEAD_S = 0.05
FRAME_S = 3.0
_POINTS = [(x, y) for x in (0.2, 0.5, 0.8) for y in (0.02, 0.25, 0.5, 0.75, 0.98)]

Fresh = list[tuple[Frame, list[int]]]


def look_ahead(tab: Tab) -> None:
    """A page that has arrived is asked for its listeners while its agent still thinks, and the walker rehearses, so
    that the first snapshot need not; unless something else is under way."""

    def start() -> None:
        if tab.document is document and not tab.turn.locked() and not tab.hindrance():
            document.ahead = asyncio.ensure_future(_quietly(tab))

    document = tab.document
    document.ahead = asyncio.get_running_loop().call_later(AHEAD_S, start)


async def _quietly(tab: Tab) -> None:
    # Whoever looks at the page next will say what is wrong.
    with contextlib.suppress(Failure, ProtocolError, WorldGone):
        world = await tab.frames.ready(tab.frames.main, FRAME_S)  # a page that is being drawn gets it late
        await _tell(tab, IN_VIEW)
        await world.call("rehearse", timeout=FRAME_S)


def told_ahead(tab: Tab) -> bool:
    ahead = tab.document.ahead
    return isinstance(ahead, asyncio.Future) and ahead.done()


async def tell_listeners(tab: Tab, *, all_of_them: bool = False) -> bool:
    """True if the walker has learnt of any."""
    ahead = tab.document.ahead
    if isinstance(ahead, asyncio.Future):
        await asyncio.wait({ahead})
    elif ahead is not None:
        ahead.cancel()
    tab.document.ahead = None
    return await _tell(tab, MOST if all_of_them else IN_VIEW)


async def _tell(tab: Tab, most: int) -> bool:
    """Mark the elements that have come to listen for clicks since the last time."""
    document = tab.document
    if document.telling:
        document.telling.cancel()
    fresh = await _fresh(tab)
    now, later = await _parted(fresh, most)
    for frame, nodes in now:
        await _mark(tab, frame, nodes)
    if any(nodes for _, nodes in later):
        document.telling = asyncio.ensure_future(_go_on(tab, later))
    return any(nodes for _, nodes in now)


async def _fresh(tab: Tab) -> Fresh:
    """Inner frames first: the world is shared by all frames of a process, and whoever resolves a node first decides
    whose prototypes it gets, so a frame's nodes must be its own before a parent, which sees them too, asks."""
    frames = [frame for frame in tab.frames if frame.world][:MAX_FRAMES]
    found = await asyncio.gather(*(_listening(frame) for frame in frames))
    taken = set(tab.document.told)
    fresh: Fresh = []
    for frame, nodes in reversed(list(zip(frames, found, strict=True))):
        new = sorted({(frame.channel.id, node) for node in nodes} - taken)[: MOST - len(taken)]
        taken.update(new)
        fresh.append((frame, [node for _, node in new]))
    return fresh


async def _parted(fresh: Fresh, most: int) -> tuple[Fresh, Fresh]:
    """Those who are told now, and those who are told later."""
    if sum(len(nodes) for _, nodes in fresh) <= most:
        return fresh, []
    now: Fresh = []
    later: Fresh = []
    for frame, nodes in fresh:
        seen = await _in_view(frame.channel)
        nearest = sorted(nodes, key=lambda node: min((abs(node - one) for one in seen), default=node))
        now.append((frame, sorted(nearest[:most])))
        later.append((frame, nearest[most:]))
        most -= len(now[-1][1])
    return now, later


async def _in_view(channel: Channel) -> list[int]:
    """Some nodes that are in view. They are numbered as a page makes them: who is near in number is mostly near."""
    try:
        view = (await channel.send("Page.getLayoutMetrics", timeout=FRAME_S))["cssVisualViewport"]
        width, height = view["clientWidth"], view["clientHeight"]
        asked = [
            channel.post("DOM.getNodeForLocation", x=int(width * x), y=int(height * y), timeout=FRAME_S)
            for x, y in _POINTS
        ]
        found: list[Any] = await asyncio.gather(*asked, return_exceptions=True)
    except (ProtocolError, Failure):
        return []
    return [one["backendNodeId"] for one in found if not isinstance(one, BaseException)]


async def _go_on(tab: Tab, fresh: Fresh) -> None:
    with contextlib.suppress(ProtocolError):
        for frame, nodes in fresh:
            await _mark(tab, frame, nodes)


async def _mark(tab: Tab, frame: Frame, nodes: list[int]) -> None:
    document, world = tab.document, frame.world
    for start in range(0, len(nodes), AT_ONCE):
        some = nodes[start : start + AT_ONCE]
        if world and frame.world is world and await _marked(world, some):
            document.told |= {(frame.channel.id, node) for node in some}


async def _marked(world: World, nodes: list[int]) -> bool:
    try:
        async with resolved(world, nodes) as elements:
            await world.call_with("markClickable", *elements)
    except (WorldGone, Failure):
        return False  # its successor is told next time
    return True


async def _listening(frame: Frame) -> set[int]:
    """Nodes with click listeners.

    The document must be the page's own world's: with one of an isolated world the handlers are wrapped across worlds,
    and Chromium 156's renderer crashes soon after (M). It belongs to no object group, or every handler would be
    wrapped, and kept, each time.
    """
    if frame.document is None:
        return set()
    try:
        handle = (await asyncio.shield(frame.document))["result"]["objectId"]
        found = await frame.channel.send(
            "DOMDebugger.getEventListeners", objectId=handle, depth=-1, pierce=True, timeout=FRAME_S
        )
    except (ProtocolError, Failure):
        return set()  # replaced, crashed or stuck meanwhile: an inner frame's trouble is not the page's
    return {one["backendNodeId"] for one in found["listeners"] if one["type"] in _CLICKS and "backendNodeId" in one}
