"""Waiting for a browser of a Grid: who waits is told, who is told nothing is served too, and no browser is lost."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse import reporting
from pilothouse.browser import queue
from pilothouse.call import Call
from pilothouse.options import Grid
from tests.house import Agent, House
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.stub import stub_grid

pytestmark = promise("H01", "C11")


async def until(condition: Callable[[], object]) -> None:
    """For what another task does."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


class Listener:
    """Its connection may be over: then it fails as a closed response does."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.is_over = False

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        if self.is_over:
            raise RuntimeError("the response is complete")
        self.told.append(message)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "ASK_EVERY_S", 0.1)
    monkeypatch.setattr(reporting, "FIRST_S", 0.2)
    monkeypatch.setattr(queue, "SPARE_S", 0.1)


def asked(house: House, agent: Agent, listener: Listener | None, tool: str = "open_session") -> "asyncio.Task[bool]":
    async def ask() -> bool:
        return not (await house.gate.call(Call(tool, {}, agent.caller, listener))).failed

    return asyncio.create_task(ask())


async def test_who_cannot_be_told_is_served_all_the_same(tmp_path: Path) -> None:
    async with stub_grid(0) as grid:
        house, listener = furnished(tmp_path, grid=Grid(grid.url)), Listener()
        listener.is_over = True
        async with house.agent() as agent:
            call = asked(house, agent, listener)
            await until(lambda: grid.counted)
            grid.places.release()
            assert await call
            assert len(grid.sessions) == 1
        await until(lambda: not grid.sessions)
        assert house.remotes.places() == []
        await house.close()


async def test_a_node_that_dies_is_told_to_the_call_that_waits_now(tmp_path: Path) -> None:
    """Not to the one that once opened the session: that is over, and must not cost anybody a browser."""
    async with stub_grid(1) as grid:
        house, first, second = furnished(tmp_path, grid=Grid(grid.url)), Listener(), Listener()
        async with house.agent() as agent:
            assert await asked(house, agent, first)
            first.is_over = True
            (browser,) = house.remotes._every
            await grid.cut()
            await grid.places.acquire()  # somebody else has the place
            await browser.connection.closed
            call = asked(house, agent, second, "get_page_state")
            await until(lambda: second.told)
            grid.places.release()
            await until(lambda: grid.sessions)
            assert first.told == []
            assert "1 wait" in second.told[0]
            call.cancel()  # it would look at a page, and there is none
            await asyncio.wait([call])
        await until(lambda: not grid.sessions)
        await house.close()


async def test_the_first_call_of_an_implied_session_is_told_too(tmp_path: Path) -> None:
    async with stub_grid(0) as grid:
        house, listener = furnished(tmp_path, grid=Grid(grid.url)), Listener()
        async with house.agent() as agent:
            call = asyncio.create_task(house.gate.call(Call("list_tabs", {}, agent.caller, listener)))
            await until(lambda: listener.told)
            grid.places.release()
            answer = await call
            assert "in the Grid's queue: 1 wait" in listener.told[0]
            assert "runs elsewhere" in answer.text
            assert "runs elsewhere" in answer.data["limits"]
            (listed,) = (await agent.call("list_sessions"))["sessions"]
            assert listed["limits"] == house.gate.every_session()[0]["limits"] == answer.data["limits"]
        await house.close()


async def test_the_grid_is_asked_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "ASK_EVERY_S", reporting.FIRST_S)
    async with stub_grid(0) as grid:
        house, listeners = furnished(tmp_path, grid=Grid(grid.url)), [Listener() for _ in range(20)]
        agents = [house.agent() for _ in listeners]
        calls = [asked(house, agent, listener) for agent, listener in zip(agents, listeners, strict=True)]
        await until(lambda: all(len(one.told) >= 2 for one in listeners))
        assert grid.counted <= max(len(one.told) for one in listeners) + 1
        await house.close()
        assert await asyncio.gather(*calls) == [False] * 20


async def test_nobody_is_asked_for_nobody(tmp_path: Path) -> None:
    async with stub_grid(0) as grid:
        house = furnished(tmp_path, grid=Grid(grid.url))
        silent, other = house.agent(), house.agent()
        calls = [asked(house, silent, None)]
        await until(lambda: grid.waiting == 1)
        await asyncio.wait(calls, timeout=queue.ASK_EVERY_S * 6)
        assert grid.counted == 0
        calls.append(asked(house, other, Listener()))
        await until(lambda: grid.counted)
        await house.close()
        assert await asyncio.gather(*calls) == [False, False]


async def test_a_house_that_closes_keeps_no_place_in_the_queue(tmp_path: Path) -> None:
    async with stub_grid(0) as grid:
        house = furnished(tmp_path, grid=Grid(grid.url))
        agents = [house.agent() for _ in range(5)]
        calls = [asyncio.create_task(agent.ask("open_session")) for agent in agents]
        await until(lambda: grid.waiting == 5)
        await house.close()
        answers = await asyncio.gather(*calls)
        assert {one.data["error"]["code"] for one in answers} == {"browser_gone"}
        assert house.remotes.places() == []
        (waiting,) = house.remotes._queues.values()
        assert waiting.idle


async def test_sources_that_are_no_more_are_forgotten(tmp_path: Path) -> None:
    async with stub_grid(5) as grid:
        house = furnished(tmp_path, grid=Grid(grid.url))
        for keep_alive_s in (10, 20, 30):
            house.elsewhere.configure([], Grid(grid.url, keep_alive_s=keep_alive_s))
            async with house.agent() as agent:
                await agent.call("open_session")
        assert len(house.remotes._queues) == 1
        await house.close()
