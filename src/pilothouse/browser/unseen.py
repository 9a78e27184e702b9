"""What script in a page cannot see, handed to the walker: closed shadow roots, and who listens for clicks.

Above: snapshot. Below: world, cdp.
"""

import asyncio
import weakref

from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError

_CLICKS = {"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "touchend"}
MAX_NEW = 64  # listeners looked at in one snapshot; more wait for the next one
GROUP = "pilothouse"

_known: "weakref.WeakKeyDictionary[World, _Known]" = weakref.WeakKeyDictionary()


class _Known:
    def __init__(self) -> None:
        self.document = ""
        self.listeners: set[int] = set()
        self.hosts: set[int] = set()


async def uncover(world: World, hosts: list[int] | None = None) -> bool:
    """Hand over what is new since the last time; True if the picture has changed by it."""
    known = _known.setdefault(world, _Known())
    try:
        if hosts is None:
            return await _listeners(world, known)
        return await _closed_roots(world, known, [one for one in hosts if one not in known.hosts])
    except ProtocolError as error:
        raise WorldGone(error.reason) from error


async def _listeners(world: World, known: _Known) -> bool:
    if not known.document:
        reply = await world.channel.send(
            "Runtime.evaluate", expression="document", uniqueContextId=world.uid, objectGroup=GROUP
        )
        known.document = reply["result"]["objectId"]
    found = await world.channel.send("DOMDebugger.getEventListeners", objectId=known.document, depth=-1, pierce=True)
    nodes = {one["backendNodeId"] for one in found["listeners"] if one["type"] in _CLICKS and "backendNodeId" in one}
    fresh = sorted(nodes - known.listeners)[:MAX_NEW]
    if not fresh:
        return False
    known.listeners |= set(fresh)
    elements = [one for one in await _resolve(world, fresh) if one]
    return bool(elements) and bool(await world.call_with("markClickable", *elements))


async def _closed_roots(world: World, known: _Known, hosts: list[int]) -> bool:
    changed = False
    for local in hosts[:MAX_NEW]:
        known.hosts.add(local)
        handle = await world.handle(local)
        node = (await world.channel.send("DOM.describeNode", objectId=handle, depth=1, pierce=True))["node"]
        for root in node.get("shadowRoots", []):
            if root.get("shadowRootType") == "closed":
                (inner,) = await _resolve(world, [root["backendNodeId"]])
                changed = changed or (bool(inner) and bool(await world.call_with("adopt", handle, inner)))
    return changed


async def _resolve(world: World, nodes: list[int]) -> list[str]:
    """Remote object ids in the isolated world; empty for a node that is gone."""
    sent = [
        world.channel.post(
            "DOM.resolveNode", backendNodeId=node, executionContextId=world.context_id, objectGroup=GROUP
        )
        for node in nodes
    ]
    replies = await asyncio.gather(*sent, return_exceptions=True)
    return ["" if isinstance(reply, BaseException) else reply["object"].get("objectId", "") for reply in replies]
