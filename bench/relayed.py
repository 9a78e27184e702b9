"""What the way through the extension adds: the same house, an isolated page and one in a person's Chrome."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.extension.neighbour import neighbour
from tests.house import Agent

CALLS = 100

Work = Callable[[Agent], Awaitable[Any]]


def command_ms(url: str) -> float:
    """To one CDP command."""
    return asyncio.run(_added(url, _command))


def click_ms(url: str) -> float:
    """To a tool that is several commands: it looks, checks, presses and waits."""
    return asyncio.run(_added(url, lambda agent: agent.call("click", target="#go")))


async def _command(agent: Agent) -> None:
    session = agent.gate.reach(agent.caller.key, agent.gate.session_ids(agent.caller)[0])
    assert session
    await session.tabs[0].channel.send("Runtime.evaluate", expression="1+1", returnByValue=True)


async def _added(url: str, work: Work) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with neighbour(Path(folder)) as person, person.house.agent() as direct, person.agent() as relayed:
            return await _between((direct, relayed), url, work)


async def _between(both: tuple[Agent, Agent], url: str, work: Work) -> float:
    taken: dict[Agent, list[float]] = {one: [] for one in both}
    for one in both:
        await one.call("navigate", url=url)
    for _ in range(CALLS):
        for one in both:
            await asyncio.sleep(0.02)
            began = time.perf_counter()
            await work(one)
            taken[one].append((time.perf_counter() - began) * 1000)
    # The quickest tenth: what else the machine does makes calls slower, and never faster.
    direct, relayed = (statistics.quantiles(taken[one], n=10)[0] for one in both)
    return max(relayed - direct, 0.01)
