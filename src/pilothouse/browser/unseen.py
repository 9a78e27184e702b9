"""What script in a page cannot see, handed to the walker: closed shadow roots.

Above: snapshot, listeners. Below: world, cdp.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator

from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError

MAX_HOSTS = 64  # looked at in one snapshot; more wait for the next one
_groups = itertools.count(1)


async def open_roots(world: World, hosts: list[int]) -> bool:
    """Hand over the closed shadow roots of hosts not looked at before; True if there was one."""
    fresh = [local for local in hosts if local not in world.opened][:MAX_HOSTS]
    world.opened |= set(fresh)
    try:
        return any([await _open_root(world, local) for local in fresh])
    except ProtocolError as error:
        raise WorldGone(error.reason) from error


async def _open_root(world: World, local: int) -> bool:
    handle = await world.handle(local)
    node = (await world.channel.send("DOM.describeNode", objectId=handle, depth=1, pierce=True))["node"]
    closed = [root for root in node.get("shadowRoots", []) if root.get("shadowRootType") == "closed"]
    async with resolved(world, [root["backendNodeId"] for root in closed]) as roots:
        for root in roots:
            await world.call_with("adopt", handle, root)
    return bool(closed)


@contextlib.asynccontextmanager
async def resolved(world: World, nodes: list[int]) -> AsyncGenerator[list[str]]:
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
