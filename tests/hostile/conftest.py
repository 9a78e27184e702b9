"""What hostile tests share: clocks, a look behind the curtain, and a house that may be burnt down."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab
from pilothouse.call import Answer
from tests.house import Agent, House

QUOTA = 400_000
LATE_S = 1.0  # by how much a call may outlive its deadline


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    """A house with a Chromium of its own, for tests that kill it."""
    one = House(tmp_path)
    yield one
    await one.close()


@pytest.fixture
async def other(house: House) -> AsyncIterator[Agent]:
    """A second agent in the same browser."""
    async with house.agent() as one:
        yield one


@pytest.fixture
async def thrifty(own_house: House) -> AsyncIterator[Agent]:
    """An agent whose sessions may keep little."""
    own_house.sessions.terms = msgspec.structs.replace(own_house.sessions.terms, quota_bytes=QUOTA)
    async with own_house.agent() as one:
        yield one


def kept(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def session_of(agent: Agent) -> Session:
    (session,) = agent.gate.own(agent.caller).all()
    return session


def tab_of(agent: Agent) -> Tab:
    tab = session_of(agent).current
    assert tab
    return tab


def code(answer: Answer) -> str:
    return answer.data["error"]["code"] if answer.failed else "ok"


async def timed(agent: Agent, tool: str, *, limit_s: float, **args: object) -> Answer:
    """The answer, which must come before `limit_s` and a second are over."""
    began = time.monotonic()
    answer = await agent.ask(tool, **args)
    assert time.monotonic() - began < limit_s + LATE_S, answer.text
    return answer


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """For what no event tells."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def p95_ms(agent: Agent, during: "asyncio.Future[Answer] | None" = None) -> float:
    """How long calls of an agent take, usually or while something else goes on."""
    times: list[float] = []
    while len(times) < 40 or (during and not during.done()):
        began = time.monotonic()
        assert await agent.js("1 + 1") == 2
        times.append((time.monotonic() - began) * 1000)
    return sorted(times)[int(len(times) * 0.95)]
