"""Who listens for clicks: script in a page cannot see it, so the walker is told.

Above: snapshot, navigate. Below: inview, unseen (nodes as objects), world, cdp. To tell of one element costs 0.1 ms
(M). A look at the view therefore waits for those in it and near it; where a page has more, the others are told
afterwards, while nobody needs the page.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

from pilothouse.browser.document import Document
from pilothouse.browser.frames import Frame
from pilothouse.browser.inview import chosen
from pilothouse.browser.tab import Tab
from pilothouse.browser.unseen import resolved
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

_CLICKS = {"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "touchend"}
IN_VIEW = 500  # elements that a look at the view waits for
MOST = 20_000  # of one document
AT_ONCE = 250
IN_PASSING = 50  # at once, while nobody waits: a click that comes then has to wait for them
EVERYTHING = 60  # listeners of one element: a framework's, which listens at its root to whatever happens below
MAX_FRAMES = 20
AHEAD_S = 0.05
FRAME_S = 3.0
PAGE_S = 10.0  # a page that is busy for longer will not be read soon, either


class _Fresh:
    """Nodes of a frame that have come to listen."""

    def __init__(self, frame: Frame, world: World, nodes: list[int]) -> None:
        self.frame, self.world, self.nodes = frame, world, nodes


def look_ahead(tab: Tab) -> None:
    """A page that has arrived is asked for its listeners while its agent still thinks, and the walker rehearses, so
    that the first snapshot need not."""
    document = tab.document
    if document.ahead:  # it has come again, as by an address within it
        document.ahead.cancel()
    document.ahead_began = False
    document.ahead = asyncio.ensure_future(_ahead(tab, document))


async def _ahead(tab: Tab, document: Document) -> None:
    await tab.turn.free_for(AHEAD_S)
    if tab.document is document and not tab.hindrance():
        document.ahead_began = True
        # Whoever looks at the page next will say what is wrong.
        with contextlib.suppress(Failure, ProtocolError, WorldGone):
            world = await tab.frames.ready(tab.frames.main, FRAME_S)  # a page that is being drawn gets it late
            await _tell(tab, IN_VIEW, PAGE_S)
            await world.call("rehearse", timeout=FRAME_S)


def told_ahead(tab: Tab) -> bool:
    document = tab.document
    return document.ahead_began and document.ahead is not None and document.ahead.done()


async def tell_listeners(tab: Tab, *, all_of_them: bool = False) -> bool:
    """True if the walker has learnt of any. Should the page be too busy to say, its document remembers that. Who looks
    waits no longer for it because it was asked ahead, too."""
    document = tab.document
    loop = asyncio.get_running_loop()
    end = loop.time() + PAGE_S
    if ahead := document.ahead:
        if document.ahead_began:
            await asyncio.wait({ahead}, timeout=PAGE_S)
        ahead.cancel()
        document.ahead = None
    return await _tell(tab, MOST if all_of_them else IN_VIEW, max(end - loop.time(), 0))


async def _tell(tab: Tab, most: int, patience_s: float) -> bool:
    """Mark the elements that have come to listen for clicks since the last time."""
    document = tab.document
    if document.telling:
        document.telling.cancel()
    fresh = await _fresh(tab, patience_s)
    now, later = await _parted(tab, fresh, most)
    for one in now:
        for nodes in _portions(one.nodes, AT_ONCE):
            await _mark(document, one, nodes)
    if any(one.nodes for one in later):
        document.telling = asyncio.ensure_future(_go_on(tab, later))
    return any(one.nodes for one in now)


async def _fresh(tab: Tab, patience_s: float) -> list[_Fresh]:
    """Inner frames first: the world is shared by all frames of a process, and whoever resolves a node first decides
    whose prototypes it gets, so a frame's nodes must be its own before a parent, which sees them too, asks."""
    main = tab.frames.main
    await _entered(tab, min(FRAME_S, patience_s))
    frames = [(frame, frame.world) for frame in tab.frames if frame.world][:MAX_FRAMES]
    asked = [_listening(frame, patience_s if frame is main else min(FRAME_S, patience_s)) for frame, _ in frames]
    found = await asyncio.gather(*asked)
    document = tab.document
    document.untold = any(frame is main and nodes is None for (frame, _), nodes in zip(frames, found, strict=True))
    taken: set[tuple[str, int]] = set()
    fresh: list[_Fresh] = []
    room = MOST - len(document.told)
    for (frame, world), nodes in reversed(list(zip(frames, found, strict=True))):
        own = {node for node in nodes or () if (frame.channel.id, node) not in taken}
        new = sorted(node for node in own if (world.uid, node) not in document.told)[: max(room, 0)]
        taken |= {(frame.channel.id, node) for node in own}
        room -= len(new)
        fresh.append(_Fresh(frame, world, new))
    return fresh


async def _entered(tab: Tab, timeout: float) -> None:
    """A frame whose document is there has our world as well: what is in it would be told to the page's otherwise."""
    late = [one for one in tab.frames if one.world is None and one.page_context][:MAX_FRAMES]
    await asyncio.gather(*(tab.frames.ready(one, timeout) for one in late), return_exceptions=True)


async def _parted(tab: Tab, fresh: list[_Fresh], most: int) -> tuple[list[_Fresh], list[_Fresh]]:
    """Those who are told now, and those who are told later."""
    if sum(len(one.nodes) for one in fresh) <= most:
        return fresh, []
    nodes: dict[Channel, list[int]] = {}
    for one in fresh:
        nodes.setdefault(one.frame.channel, []).extend(one.nodes)
    first = await chosen(tab.frames, nodes, most)

    def those(*, first_ones: bool) -> list[_Fresh]:
        return [
            _Fresh(one.frame, one.world, [n for n in one.nodes if (n in first[one.frame.channel]) is first_ones])
            for one in fresh
        ]

    return those(first_ones=True), those(first_ones=False)


async def _go_on(tab: Tab, fresh: list[_Fresh]) -> None:
    document = tab.document
    with contextlib.suppress(ProtocolError):
        for one in fresh:
            for nodes in _portions(one.nodes, IN_PASSING):
                await tab.turn.free_for(AHEAD_S)
                await _mark(document, one, nodes)


def _portions(nodes: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(nodes), size):
        yield nodes[start : start + size]


async def _mark(document: Document, fresh: _Fresh, nodes: list[int]) -> None:
    if fresh.frame.world is not fresh.world:
        return  # its successor is told next time
    with contextlib.suppress(WorldGone, Failure):
        async with resolved(fresh.world, nodes) as elements:
            await fresh.world.call_with("markClickable", *elements)
        document.told |= {(fresh.world.uid, node) for node in nodes}


async def _listening(frame: Frame, timeout: float) -> set[int] | None:
    """Nodes with click listeners; None if it was too busy to answer.

    The document must be the page's own world's: with one of an isolated world the handlers are wrapped across worlds,
    and Chromium 156's renderer crashes soon after (M). It belongs to no object group, or every handler would be
    wrapped, and kept, each time.
    """
    if frame.document is None:
        return set()
    try:
        async with asyncio.timeout(timeout):
            handle = (await asyncio.shield(frame.document))["result"]["objectId"]
            found = await frame.channel.send("DOMDebugger.getEventListeners", objectId=handle, depth=-1, pierce=True)
    except TimeoutError:
        return None
    except (ProtocolError, Failure):
        return set()  # replaced, crashed or stuck meanwhile: an inner frame's trouble is not the page's
    listeners = [one for one in found["listeners"] if "backendNodeId" in one]
    counts = Counter(one["backendNodeId"] for one in listeners)
    return {node for one in listeners if one["type"] in _CLICKS and counts[node := one["backendNodeId"]] < EVERYTHING}
