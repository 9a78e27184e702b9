"""Which element of a page holds a frame, and nodes that the browser has numbered, as objects of our world.

Above: input, aim, locate, reading, capture, snapshot. Below: tab, frames, world.
"""

import asyncio

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


def known_holders(tab: Tab, frame: Frame, world: World) -> list[int]:
    """The local refs of those elements in it that are known to hold a page that can be read. A picture or a PDF is a
    document to the browser, too."""
    owners = [one.owner for one in tab.frames.children(frame) if _is_page(one)]
    return sorted(owner[1] for owner in owners if owner and owner[0] == world.uid)


async def holders(tab: Tab, frame: Frame, world: World) -> list[int]:
    """The same of all that are there; each is asked about once."""
    asked = (owner_in(tab, child, frame) for child in tab.frames.children(frame) if _is_page(child))
    await asyncio.gather(*asked, return_exceptions=True)  # one that goes meanwhile holds nothing
    return known_holders(tab, frame, world)


def _is_page(frame: Frame) -> bool:
    kind = frame.mime_type
    return bool(kind) and kind != "application/pdf" and not kind.startswith("image/")


async def node_in(world: World, node: int) -> str:
    """What the browser calls by a number of its own, as an object of the world."""
    found = await world.channel.send("DOM.resolveNode", backendNodeId=node, executionContextId=world.context_id)
    return found["object"]["objectId"]
