"""Which of a page's many nodes are in view, or nearest to it: by a few points of the window, not by a look at each.

Above: listeners. Below: frames, cdp. Nodes are numbered as a page makes them: who is near in number is mostly near.
"""

import asyncio
from bisect import bisect_left, bisect_right
from typing import Any

from pilothouse.browser.frames import Frames
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

ANSWER_S = 3.0
_POINTS = [(x, y) for x in (0.2, 0.5, 0.8) for y in (0.02, 0.25, 0.5, 0.75, 0.98)]


async def chosen(frames: Frames, nodes: dict[Channel, list[int]], most: int) -> dict[Channel, set[int]]:
    """The most important ones, `most` of all together. A frame in a process of its own has its share of them by how
    much of the window it takes; the page itself has all the rest, and what it does not need others have."""
    main = frames.main.channel
    order = [main, *(channel for channel in nodes if channel is not main)]
    views = dict(zip(order, await asyncio.gather(*(_in_view(channel) for channel in order)), strict=True))
    shares = {main: 0}
    for channel in order[1:]:
        points = views[main].count(await _holder(frames, channel))
        shares[channel] = min(len(nodes[channel]), most * points // len(_POINTS))
    left = most - sum(shares.values())
    for channel in order:
        more = min(left, len(nodes.get(channel, [])) - shares[channel])
        shares[channel] += more
        left -= more
    return {channel: set(nearest(sorted(nodes[channel]), views[channel], shares[channel])) for channel in nodes}


def nearest(nodes: list[int], seen: list[int], most: int) -> list[int]:
    """Of sorted numbers, as many as are allowed of those that are nearest to some seen ones.

    They lie in stretches around these, which grow until they hold enough: of 20,000 nodes each one's distance to each
    would take 60 ms (M), in which nobody is served.
    """
    if not seen or len(nodes) <= most:
        return nodes[:most]

    def stretches(reach: int) -> list[range]:
        found: list[range] = []
        done = 0
        for one in sorted(seen):
            start, end = max(done, bisect_left(nodes, one - reach)), bisect_right(nodes, one + reach)
            found.append(range(start, end))
            done = max(done, end)
        return found

    def is_too_far(reach: int) -> bool:
        return sum(len(stretch) for stretch in stretches(reach)) > most

    farthest = max(nodes[-1], *seen) + 1
    reach = bisect_left(range(farthest), True, key=is_too_far) - 1
    return [nodes[at] for stretch in stretches(reach) for at in stretch]


async def _in_view(channel: Channel) -> list[int]:
    """The nodes at some points of the window, as often as they are hit; places are those of the document."""
    try:
        view = (await channel.send("Page.getLayoutMetrics", timeout=ANSWER_S))["cssVisualViewport"]
        left, top, width, height = (view[key] for key in ("pageX", "pageY", "clientWidth", "clientHeight"))
        asked = [
            channel.post("DOM.getNodeForLocation", x=int(left + width * x), y=int(top + height * y), timeout=ANSWER_S)
            for x, y in _POINTS
        ]
        found: list[Any] = await asyncio.gather(*asked, return_exceptions=True)
    except (ProtocolError, Failure):
        return []
    return [one["backendNodeId"] for one in found if not isinstance(one, BaseException)]


async def _holder(frames: Frames, channel: Channel) -> int:
    """The element of the page that holds the frame of a channel; 0 if another frame has it."""
    root = next((one for one in frames if one.channel is channel and frames.is_root(one)), None)
    if root is None or root.parent != frames.main.id:
        return 0
    try:
        owner = await frames.main.channel.send("DOM.getFrameOwner", frameId=root.id, timeout=ANSWER_S)
    except (ProtocolError, Failure):
        return 0
    return owner["backendNodeId"]
