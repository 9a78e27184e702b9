"""What script in a page cannot see, handed to the walker: closed shadow roots, and who listens for clicks.

Above: snapshot. Below: world, cdp.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator

from pilothouse.browser.frames import Frame
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

_CLICKS = {"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "touchend"}
MAX_NEW = 64  # listeners or hosts looked at in one snapshot; more wait for the next one
MAX_FRAMES = 20
AHEAD_S = 0.05
FRAME_S = 3.0
_groups = itertools.count(1)


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
        await _tell_listeners(tab)
        await world.call("rehearse", timeout=FRAME_S)


def told_ahead(tab: Tab) -> bool:
    ahead = tab.document.ahead
    return isinstance(ahead, asyncio.Future) and ahead.done()


async def tell_listeners(tab: Tab) -> bool:
    """True if the walker has learnt of any."""
    ahead = tab.document.ahead
    if isinstance(ahead, asyncio.Future):
        await asyncio.wait({ahead})
    elif ahead is not None:
        ahead.cancel()
    tab.document.ahead = None
    return await _tell_listeners(tab)


async def _tell_listeners(tab: Tab) -> bool:
    """Mark the elements that have come to listen for clicks since the last time.

    Inner frames first: the world is shared by all frames of a process, and whoever resolves a node first decides
    whose prototypes it gets, so a frame's nodes must be its own before a parent, which sees them too, asks.
    """
    frames = [frame for frame in tab.frames if frame.world][:MAX_FRAMES]
    found = await asyncio.gather(*(_listening(frame) for frame in frames))
    learnt = False
    for frame, nodes in reversed(list(zip(frames, found, strict=True))):
        fresh = sorted({(frame.channel.id, node) for node in nodes} - tab.document.told)[:MAX_NEW]
        if fresh and frame.world:
            tab.document.told |= set(fresh)
            await _mark(frame.world, [node for _, node in fresh])
            learnt = True
    return learnt


async def _mark(world: World, nodes: list[int]) -> None:
    with contextlib.suppress(WorldGone, Failure):  # its successor is told next time
        async with _resolved(world, nodes) as elements:
            await world.call_with("markClickable", *elements)


async def open_roots(world: World, hosts: list[int]) -> bool:
    """Hand over the closed shadow roots of hosts not looked at before; True if there was one."""
    fresh = [local for local in hosts if local not in world.opened][:MAX_NEW]
    world.opened |= set(fresh)
    try:
        return any([await _open_root(world, local) for local in fresh])
    except ProtocolError as error:
        raise WorldGone(error.reason) from error


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


async def _open_root(world: World, local: int) -> bool:
    handle = await world.handle(local)
    node = (await world.channel.send("DOM.describeNode", objectId=handle, depth=1, pierce=True))["node"]
    closed = [root for root in node.get("shadowRoots", []) if root.get("shadowRootType") == "closed"]
    async with _resolved(world, [root["backendNodeId"] for root in closed]) as roots:
        for root in roots:
            await world.call_with("adopt", handle, root)
    return bool(closed)


@contextlib.asynccontextmanager
async def _resolved(world: World, nodes: list[int]) -> AsyncGenerator[list[str]]:
    """Nodes as objects of the isolated world, let go afterwards, or they would never die. What is gone is left out."""
    group = f"pilothouse-{next(_groups)}"
    sent = [
        world.channel.post(
            "DOM.resolveNode", backendNodeId=node, executionContextId=world.context_id, objectGroup=group
        )
        for node in nodes
    ]
    try:
        replies = await asyncio.gather(*sent, return_exceptions=True)
        found = [reply["object"].get("objectId", "") for reply in replies if not isinstance(reply, BaseException)]
        yield [one for one in found if one]
    finally:
        world.channel.post("Runtime.releaseObjectGroup", objectGroup=group)
