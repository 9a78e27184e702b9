"""What script in a page cannot see, handed to the walker: closed shadow roots, and who listens for clicks.

Above: snapshot. Below: world, cdp.
"""

import asyncio

from pilothouse.browser.frames import Frame
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError

_CLICKS = {"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "touchend"}
MAX_NEW = 64  # listeners or hosts looked at in one snapshot; more wait for the next one
MAX_FRAMES = 20
GROUP = "pilothouse"


async def tell_listeners(tab: Tab) -> None:
    """Mark the elements that have come to listen for clicks since the last time.

    Inner frames first: the world is shared by all frames of a process, and whoever resolves a node first decides
    whose prototypes it gets, so a frame's nodes must be its own before a parent, which sees them too, asks.
    """
    for frame in reversed([one for one in tab.frames if one.world][:MAX_FRAMES]):
        try:
            await _tell(tab, frame)
        except (ProtocolError, WorldGone):
            continue  # this document was replaced; its successor is told next time


async def _tell(tab: Tab, frame: Frame) -> None:
    world, told = frame.world, tab.document.told
    nodes = {(frame.channel.id, node) for node in await _listening(frame)}
    fresh = sorted(nodes - told)[:MAX_NEW]
    if fresh and world:
        told |= set(fresh)
        elements = [one for one in await _resolve(world, [node for _, node in fresh]) if one]
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
    """Nodes with click listeners. The document must be the page's own world's: with one of an isolated world the
    handlers are wrapped across worlds, and Chromium 156's renderer crashes soon after (M)."""
    if frame.page_context is None:
        return set()
    send = frame.channel.send
    document = await send(
        "Runtime.evaluate", expression="document", uniqueContextId=frame.page_context[0], objectGroup=GROUP
    )
    found = await send("DOMDebugger.getEventListeners", objectId=document["result"]["objectId"], depth=-1, pierce=True)
    frame.channel.post("Runtime.releaseObjectGroup", objectGroup=GROUP)
    return {one["backendNodeId"] for one in found["listeners"] if one["type"] in _CLICKS and "backendNodeId" in one}


async def _open_root(world: World, local: int) -> bool:
    handle = await world.handle(local)
    node = (await world.channel.send("DOM.describeNode", objectId=handle, depth=1, pierce=True))["node"]
    closed = [root for root in node.get("shadowRoots", []) if root.get("shadowRootType") == "closed"]
    for inner in await _resolve(world, [root["backendNodeId"] for root in closed]):
        await world.call_with("adopt", handle, inner)
    return bool(closed)


async def _resolve(world: World, nodes: list[int]) -> list[str]:
    """Remote object ids in the isolated world; empty for a node that is gone or belongs to another document."""
    sent = [
        world.channel.post("DOM.resolveNode", backendNodeId=node, executionContextId=world.context_id) for node in nodes
    ]
    replies = await asyncio.gather(*sent, return_exceptions=True)
    return ["" if isinstance(reply, BaseException) else reply["object"].get("objectId", "") for reply in replies]
