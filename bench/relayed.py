"""What the way through the extension adds to a call: the same house, an isolated page and one in a person's Chrome."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tests.extension.neighbour import neighbour
from tests.house import Agent

CALLS = 60


def extension_ms(url: str) -> float:
    """Of a call that is one command in the page; what the gate does is in both."""
    return asyncio.run(_measured(url))


async def _measured(url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with neighbour(Path(folder)) as person, person.house.agent() as direct, person.agent() as relayed:
            both = (direct, relayed)
            taken: dict[Agent, list[float]] = {one: [] for one in both}
            for one in both:
                await one.call("navigate", url=url)
            for _ in range(CALLS):
                for one in both:
                    taken[one].append(await _timed(one))
            # The quickest tenth: what else the machine does makes calls slower, and never faster.
            quick = {one: statistics.quantiles(times, n=10)[0] for one, times in taken.items()}
            return max(quick[relayed] - quick[direct], 0.01)


async def _timed(agent: Agent) -> float:
    await asyncio.sleep(0.05)
    began = time.perf_counter()
    await agent.js("1+1")
    return (time.perf_counter() - began) * 1000
