"""What the way through the extension adds to a CDP call: the same tab, asked by it and by the browser's own socket."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from pilothouse.cdp.connection import Channel
from tests.extension.neighbour import Neighbour, neighbour

CALLS = 200


def command_ms(url: str) -> float:
    return asyncio.run(_added(url))


async def _added(url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with neighbour(Path(folder)) as person, person.agent() as agent:
            await agent.call("navigate", url=url)
            both = await _both_ways(person)
            taken: dict[Channel, list[float]] = {one: [] for one in both}
            for _ in range(CALLS):
                for one in both:
                    taken[one].append(await _timed(one))
            # The quickest tenth: what else the machine does makes calls slower, and never faster.
            direct, relayed = (statistics.quantiles(taken[one], n=10)[0] for one in both)
            return max(relayed - direct, 0.01)


async def _both_ways(person: Neighbour) -> tuple[Channel, Channel]:
    (browser,) = person.house.shared.running()
    tab = browser.seats[0].tabs[0]
    return (await person.chrome.page(tab.target_id)).channel, tab.channel


async def _timed(channel: Channel) -> float:
    await asyncio.sleep(0.01)
    began = time.perf_counter()
    await channel.send("Runtime.evaluate", expression="1+1", returnByValue=True)
    return (time.perf_counter() - began) * 1000
