"""Sessions: they end when they must, a call's deadline covers its browser's start, and nothing grows for ever."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pilothouse.browser import session as session_module
from pilothouse.browser import sessions as sessions_module
from pilothouse.browser.downloads import FINISHED_KEPT, Downloads
from pilothouse.browser.intercept import Intercept
from pilothouse.browser.refs import Numbers
from pilothouse.browser.session import Options
from pilothouse.browser.sessions import OwnSessions, Sessions
from pilothouse.browser.terms import Terms
from pilothouse.call import Caller
from pilothouse.errors import Failure
from tests.house import Agent, House
from tests.processes import ENGINE
from tests.promises import promise

OWNER = ("key", "connection")


class FakeContext:
    def __init__(self) -> None:
        self.browser = SimpleNamespace(alive=True)
        self.tabs: list[Any] = []
        self.intercept = Intercept()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.closed = False

    def keep_files_in(self, folder: Path) -> None:
        return None

    def count_on(self, numbers: Numbers) -> None:
        return None

    def foremost(self) -> None:
        return None

    async def present(self) -> None:
        return None

    async def close(self) -> None:
        await self.may_close.wait()
        self.closed = True


class FakePool:
    def __init__(self) -> None:
        self.contexts: list[FakeContext] = []

    async def take(self) -> FakeContext:
        self.contexts.append(FakeContext())
        return self.contexts[-1]

    async def close(self) -> None:
        return None


@pytest.fixture
def pool() -> FakePool:
    return FakePool()


@pytest.fixture
async def sessions(pool: FakePool, tmp_path: Path) -> AsyncIterator[Sessions]:
    pools: Any = {True: pool}
    one = Sessions(pools, tmp_path / "s", max_sessions=5, idle_s=0.05, terms=Terms())
    yield one
    await one.shut()


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    one = House(tmp_path, chrome=ENGINE)
    yield one
    await one.close()


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@promise("B05")
async def test_a_close_that_is_given_up_goes_on(sessions: Sessions, pool: FakePool) -> None:
    session = await sessions.open(OWNER, Options())
    session.busy = 1
    pool.contexts[0].may_close.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(sessions.close(session), 0.01)
    pool.contexts[0].may_close.set()
    await until(lambda: pool.contexts[0].closed)


@promise("B05")
async def test_a_session_that_cannot_be_dressed_leaves_no_context(sessions: Sessions, pool: FakePool) -> None:
    sessions._folder.write_text("a file where a folder should be")
    with pytest.raises(NotADirectoryError):
        await sessions.open(OWNER, Options())
    await until(lambda: pool.contexts[0].closed)


@promise("B08")
async def test_the_sweep_outlives_a_folder_it_cannot_read(
    sessions: Sessions, pool: FakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> Any:
        raise PermissionError(folder)

    monkeypatch.setattr(Path, "iterdir", refused)
    for n in (1, 2):
        await sessions.open(OWNER, Options())
        await until(lambda n=n: len(pool.contexts) == n and pool.contexts[-1].closed and not sessions.of(OWNER))
    assert not sessions._sweeper.done()


@promise("F07")
async def test_what_a_person_has_in_hand_does_not_fall_idle(sessions: Sessions) -> None:
    """As long as they look at it: a wheel that somebody forgot ends too."""
    held = await sessions.open(OWNER, Options())
    held.pause.take()
    held.watched = 1
    other = await sessions.open(OWNER, Options())
    await until(lambda: other not in sessions.of(OWNER))
    assert held in sessions.of(OWNER)
    held.watched = 0
    await until(lambda: held not in sessions.of(OWNER))


@promise("F07")
async def test_nobody_closes_a_session_under_a_persons_hands(sessions: Sessions) -> None:
    held = await sessions.open(OWNER, Options())
    held.pause.take()
    held.watched = 1
    with pytest.raises(Failure) as refused:
        await OwnSessions(sessions, OWNER, Options()).close(held)
    assert refused.value.code == "paused"
    assert not held.closed


@promise("F07")
async def test_what_a_person_has_in_hand_outlives_its_agent(sessions: Sessions) -> None:
    """Until they give it back, or leave it alone."""
    held, left, other = [await sessions.open(OWNER, Options()) for _ in range(3)]
    for one in (held, left):
        one.pause.take()
        one.watched = 1
    await sessions.close_connection(OWNER[1])
    assert sessions.every() == [held, left]
    assert (held.closed, left.closed, other.closed) == (False, False, True)
    held.pause.give_back()
    assert sessions.every() == [left]
    left.watched = 0
    await until(lambda: not sessions.every())
    await until(lambda: held.closed and left.closed)


@promise("B08")
async def test_the_sweep_outlives_a_session_it_cannot_close(
    sessions: Sessions, pool: FakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: Path) -> None:
        raise RuntimeError(folder)

    monkeypatch.setattr(sessions_module, "_remove_if_empty", broken)
    await sessions.open(OWNER, Options())
    await until(lambda: not sessions.of(OWNER))
    await sessions.open(OWNER, Options())
    await until(lambda: pool.contexts[-1].closed)


@promise("C10")
async def test_an_old_popup_is_not_the_next_tab(sessions: Sessions, pool: FakePool) -> None:
    session = await sessions.open(OWNER, Options())
    first, second = (SimpleNamespace(opener="T0", name="", target_id=n, expect_page=list) for n in ("T1", "T2"))
    session.opened(first)  # type: ignore[arg-type]
    session._popups["t1"] -= 2 * session_module.POPUP_FRESH_S  # as if it had been opened that long ago
    session.opened(second)  # type: ignore[arg-type]
    assert await session.next_tab(0.01) is second
    assert await session.next_tab(0.01) is None


@promise("D09")
async def test_the_start_of_a_browser_is_within_the_deadline(own_house: House) -> None:
    start, slow = own_house.pool._start, asyncio.Event()

    async def slowly() -> Any:
        await slow.wait()
        return await start()

    own_house.pool._start = slowly
    async with own_house.agent() as agent, asyncio.timeout(20):
        late = await agent.ask("navigate", url="about:blank", timeout_ms=300)
        assert late.data["error"]["code"] == "timeout", late.text
        assert "did not end within 0.3 s" in late.text
        assert not agent.gate.session_ids(agent.caller)
        slow.set()  # the start went on, and the next call has the browser
        assert (await agent.call("navigate", url="about:blank"))["url"] == "about:blank"


@promise("D09")
async def test_placing_takes_its_share_of_the_deadline(own_house: House) -> None:
    take = own_house.pool.take
    await own_house.pool.take()  # so that a start is no part of what is measured

    async def slowly() -> Any:
        await asyncio.sleep(2)
        return await take()

    own_house.pool.take = slowly  # type: ignore[method-assign]
    async with own_house.agent() as agent:
        began = asyncio.get_running_loop().time()
        late = await agent.ask("wait_for", text="never there", timeout_ms=2500)
        assert late.data["error"]["code"] == "timeout"
        assert asyncio.get_running_loop().time() - began < 4.2  # of 4.5


@promise("B09")
async def test_the_option_of_a_session_is_no_deadline_of_its_opening(agent: Agent) -> None:
    opened = await agent.call("open_session", timeout_ms=1)
    assert opened["session"] in agent.gate.session_ids(agent.caller)


def ended(downloads: Downloads, n: int, state: str) -> None:
    downloads.begin({"guid": f"g{n}", "suggestedFilename": "f", "url": "u"}, "t1")
    downloads.move({"guid": f"g{n}", "state": state, "receivedBytes": 10, "totalBytes": 10})


@promise("B05")
async def test_the_session_of_another_caller_is_not_to_be_found(agent: Agent, house: House) -> None:
    ident = (await agent.call("open_session"))["session"]
    async with house.agent() as other:
        assert (await other.call("list_sessions"))["sessions"] == []
        for tool in ("list_tabs", "get_page_state", "close_session", "get_cookies"):
            with pytest.raises(Failure) as refused:
                await other.call(tool, session=ident)
            assert refused.value.code == "not_found"
        looks: list[Callable[[Caller, str], object]] = [house.gate.events, house.gate.folder, house.gate.session_id]
        for look in looks:
            assert look(agent.caller, ident) is not None
            with pytest.raises(Failure, match="session"):
                look(other.caller, ident)
    assert [one["session"] for one in (await agent.call("list_sessions"))["sessions"]] == [ident]


@promise("A19")
def test_finished_downloads_are_kept_up_to_a_limit() -> None:
    downloads = Downloads()
    downloads.begin({"guid": "slow", "suggestedFilename": "f", "url": "u"}, "t1")
    for n in range(FINISHED_KEPT + 30):
        ended(downloads, n, "canceled" if n < 10 else "completed")
    assert len(downloads.all()) == FINISHED_KEPT + 1
    assert downloads.has("slow")
    assert not downloads.has("g29")
    assert downloads.has("g30")
    downloads.move({"guid": "slow", "state": "inProgress", "receivedBytes": 7, "totalBytes": 10})
    assert downloads.coming() == (7, {"slow"})
