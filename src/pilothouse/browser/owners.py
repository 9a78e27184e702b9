"""Which element of a page holds a frame, and nodes that the browser has numbered, as objects of our world.

Above: input, aim, locate, reading, capture, snapshot. Below: tab, frames, world.
"""

from pilothouse.browser.frames import Frame
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World

READY_S = 8.0


async def owner_in(tab: Tab, frame: Frame, parent: Frame) -> int:
    """The local ref, in the parent's world, of the element that holds a frame."""
    world = await tab.frames.ready(parent, READY_S)
    if frame.owner and frame.owner[0] == world.uid:
        return frame.owner[1]
    node = await parent.channel.send("DOM.getFrameOwner", frameId=frame.id)
    local: int = await world.call_with("refOf", await node_in(world, node["backendNodeId"]))
    frame.owner = (world.uid, local)
    return local


async def node_in(world: World, node: int) -> str:
    """What the browser calls by a number of its own, as an object of the world."""
    found = await world.channel.send("DOM.resolveNode", backendNodeId=node, executionContextId=world.context_id)
    return found["object"]["objectId"]
