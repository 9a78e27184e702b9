"""The pool: whatever became of the warm context, the next caller gets one, and none is left behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser.browser import Context
from pilothouse.browser.pool import Pool
from pilothouse.errors import Failure
from tests.browser.looking import tab_of
from tests.house import Agent, House
from tests.processes import ENGINE
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B10")


class FakeGateway:
    port = 1

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class FakeContext:
    def __init__(self, browser: "FakeBrowser", gateway: FakeGateway) -> None:
        self.browser = browser
        self.gateway = gateway
        self.tabs: list[str] = []

    async def open_tab(self) -> None:
        await self.browser.gate.wait()
        if self.browser.trouble:
            raise self.browser.trouble
        self.tabs.append("t")

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.gateway.close()


class FakeBrowser:
    alive = True

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.trouble: BaseException | None = None
        self.contexts: list[FakeContext] = []

    async def open_context(self, gateway: FakeGateway) -> FakeContext:
        self.contexts.append(FakeContext(self, gateway))
        return self.contexts[-1]


def make_pool() -> tuple[Any, FakeBrowser]:
    async def gateway() -> FakeGateway:
        return FakeGateway()

    async def start() -> Any:
        raise AssertionError("there is one")

    pool: Any = Pool(start, gateway)  # type: ignore[arg-type]
    pool._browser = browser = FakeBrowser()
    return pool, browser


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("trouble", [OSError("no more files"), Failure("timeout", "slow"), RuntimeError()])
async def test_a_warm_one_that_failed_is_made_anew(trouble: Exception) -> None:
    pool, browser = make_pool()
    browser.trouble = trouble
    pool.warm_up()
    await settled()
    browser.trouble = None
    assert (await pool.take()).tabs
    assert browser.contexts[0].gateway.closed


async def test_a_warm_one_that_was_cancelled_is_made_anew() -> None:
    pool, browser = make_pool()
    browser.gate.clear()
    pool.warm_up()
    await settled()
    pool._warm.cancel()
    await settled()
    browser.gate.set()
    assert (await pool.take()).tabs
    assert browser.contexts[0].gateway.closed


async def test_who_stops_waiting_leaves_it_to_the_next() -> None:
    pool, browser = make_pool()
    browser.gate.clear()
    taking = asyncio.create_task(pool.take())
    await settled()
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    browser.gate.set()
    assert await pool.take() is browser.contexts[0]


async def test_a_context_without_a_tab_is_closed() -> None:
    pool, browser = make_pool()
    closed: list[FakeContext] = []
    close = FakeContext.close

    async def noted(self: FakeContext) -> None:
        closed.append(self)
        await close(self)

    browser.trouble = Failure("timeout", "the browser did not open a tab in time")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeContext, "close", noted)
        with pytest.raises(Failure, match="did not open a tab"):
            await pool.take()
        await settled()
    assert closed == browser.contexts


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    """Nobody else takes what is warm in it."""
    one = House(tmp_path, chrome=ENGINE)
    yield one
    await one.close()


async def warm_in(house: House) -> Context:
    assert house.pool._warm
    return await asyncio.wait_for(asyncio.shield(house.pool._warm), 20)


def context_of(agent: Agent) -> Context:
    (session,) = agent.gate.own(agent.caller).all()
    return session.context


KEPT = "return [document.cookie, localStorage.getItem('who'), sessionStorage.getItem('who')]"


async def test_the_warm_one_of_a_real_browser_is_one_sessions_own(own_house: House, site: PageServer) -> None:
    own_house.pool.warm_up()
    warm = await warm_in(own_house)
    (waiting,) = warm.tabs
    async with own_house.agent() as first, own_house.agent() as second:
        await first.call("navigate", url=site.url("set-cookie?who=first"))
        assert context_of(first) is warm
        assert tab_of(first) is waiting
        await first.js("localStorage.who = sessionStorage.who = 'first'")
        assert await first.js(KEPT) == ["who=first", "first", "first"]
        next_one = await warm_in(own_house)
        assert next_one is not warm
        assert next_one.id != warm.id
        await second.call("navigate", url=site.url("small.html"))
        assert context_of(second) is next_one
        assert await second.js(KEPT) == ["", None, None]
        assert await warm_in(own_house) not in (warm, next_one)
