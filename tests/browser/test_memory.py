"""Memory: what a session uses is known, what is too much is ended, and no session is added to a full house."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pilothouse.browser import usage, warden
from pilothouse.browser.session import Session
from pilothouse.browser.usage import memory_of, pid_of, processes
from pilothouse.browser.warden import Bounds
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B08")

MB = 1_000_000
FAT = (
    "<h1>Fat</h1><script>const held = []; for (let i = 0; i < 60; i++) held.push(new Uint8Array(5e6).fill(7))</script>"
)


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    one = House(tmp_path)
    yield one
    await one.close()


def session_of(agent: Agent) -> Session:
    (session,) = agent.gate.own(agent.caller).all()
    return session


async def until(condition: Callable[[], object]) -> None:
    """For what tells nobody when it happens: what the warden knows, and the end of an object."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


async def told(session: Session, text: str) -> None:
    """Until an event of the session, its kind in front, says so."""
    heard = asyncio.Event()
    says = lambda event: text in f"{event.kind}: {event.text}"
    leave = session.watch.subscribe(lambda event: heard.set() if says(event) else None)
    try:
        if not any(map(says, session.watch.recent())):
            await asyncio.wait_for(heard.wait(), 30)
    finally:
        leave()


async def test_which_process_a_page_is_in(agent: Agent, site: PageServer) -> None:
    """Sites are apart, sessions are apart; a page that forbids everything tells it too."""
    strict = {"Content-Security-Policy": "default-src 'none'; sandbox"}
    addresses = [site.url("small.html"), site.url("small.html", other=True), site.inline("<h1>x", headers=strict)]
    for address in addresses:
        await agent.call("new_tab", url=address)
    session = session_of(agent)
    pids = [await pid_of(await tab.frames.ready(tab.frames.main, 5)) for tab in session.tabs[1:]]
    renderers = {one.pid: one for one in await processes(session.context.browser) if one.kind == "renderer"}
    assert len(pids) == 3
    assert len(set(pids)) > 1
    assert set(pids) <= renderers.keys()
    assert all(1 * MB < renderers[pid].memory_bytes < 1000 * MB for pid in pids)
    log = (await agent.call("get_network_log", tab="t2"))["requests"]
    assert not [one for one in log if one["url"].startswith("data:")], "asking leaves no trace"


async def test_a_page_that_does_not_answer_is_in_no_process(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "ASK_S", 0.2)
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("void setTimeout(() => { const end = Date.now() + 1000; while (Date.now() < end); }, 20)")
    world = session_of(agent).tabs[0].frames.main.world
    assert world
    while await pid_of(world):
        pass


def test_processes_of_others_are_not_measured() -> None:
    assert memory_of(1, [1]) == {}


async def test_a_session_that_is_too_big_loses_its_heaviest_page(house: House, agent: Agent, site: PageServer) -> None:
    async with house.agent() as other:
        await other.call("navigate", url=site.url("small.html"))
        await agent.call("navigate", url=site.url("small.html"))
        await agent.call("new_tab", url=site.inline(FAT, other=True))
        warden = house.sessions.warden
        before = warden.bounds
        warden.bounds = Bounds(session_memory_bytes=250 * MB)
        try:
            await warden.look()
        finally:
            warden.bounds = before
        tab = session_of(agent).tabs[1]
        await tab.signal.until(lambda: tab.url == "about:blank", 10)
        told = await agent.text("list_tabs")
        assert "limit: the session used" in told
        assert "of the 250 MB it may use: a page was ended" in told
        assert [one["url"] for one in (await agent.call("list_tabs"))["tabs"]] == [
            site.url("small.html"),
            "about:blank",
        ]
        assert await agent.js("6 * 7") == 42
        assert "limit" not in await other.text("get_page_state")
        assert "Small page" in await other.text("get_page_state")


async def test_a_frame_that_is_too_big_goes_alone(house: House, agent: Agent, site: PageServer) -> None:
    frame = site.inline(FAT, other=True)
    await agent.call("navigate", url=site.inline(f"<h1>Outer</h1><iframe src='{frame}'></iframe>"))
    warden = house.sessions.warden
    before = warden.bounds
    warden.bounds = Bounds(session_memory_bytes=250 * MB)
    try:
        await warden.look()
    finally:
        warden.bounds = before
    session = session_of(agent)
    await told(session, "a frame was ended")
    await told(session, "crash: ")
    assert "Outer" in await agent.text("get_page_state")


async def test_a_page_that_grows_and_never_answers(
    own_house: House, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can ask it for its process, so its script is broken off first; what it holds goes with the next look."""
    for asker in (usage, warden):
        monkeypatch.setattr(asker, "ASK_S", 1.0)
    async with own_house.agent() as agent:
        own_house.sessions.warden.bounds = Bounds(session_memory_bytes=250 * MB, every_s=0.2)
        await agent.call("list_tabs")
        grow = "globalThis.held = []; while (1) if (held.length < 100) held.push(new Uint8Array(5e6).fill(7))"
        session = session_of(agent)
        arriving = asyncio.ensure_future(
            agent.ask("navigate", url=site.inline(f"<h1>x</h1><script>{grow}</script>"), timeout_ms=60_000)
        )
        await told(session, "did not answer: its script was broken off")
        await told(session, "a page was ended")
        await asyncio.wait_for(arriving, 30)
        tab = session.tabs[0]
        assert await tab.signal.until(lambda: tab.url == "about:blank", 30)


async def test_no_session_is_added_to_a_full_house(own_house: House, site: PageServer) -> None:
    own_house.sessions.warden.bounds = Bounds(memory_bytes=60 * MB, every_s=0.05)
    async with own_house.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        await until(lambda: own_house.sessions.warden.costs)
        full = await agent.ask("open_session")
        assert full.data["error"]["code"] == "over_limit"
        assert full.data["error"]["details"]["retry_after_s"] == 1
        assert "MB of the 60 MB" in full.text
        assert "Small page" in await agent.text("get_page_state"), "those that are open go on"
        await agent.call("close_session")
        await until(lambda: not own_house.sessions.warden.costs)
        assert not (await agent.ask("open_session")).failed


async def test_nobody_is_watched_while_nothing_is_open(own_house: House) -> None:
    warden = own_house.sessions.warden
    warden.bounds = Bounds(every_s=0.02)
    assert warden._watching is None
    async with own_house.agent() as agent:
        await agent.call("list_tabs")
        assert warden._watching
        await agent.call("close_session")
        await until(lambda: warden._watching is None)
        await agent.call("list_tabs")
        assert warden._watching


async def test_sessions_that_are_closed_are_not_kept(own_house: House, site: PageServer) -> None:
    own_house.sessions.warden.bounds = Bounds(every_s=0.5)
    async with own_house.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        tab = weakref.ref(session_of(agent).tabs[0])
        await until(lambda: own_house.sessions.warden._open)
        gc.disable()
        try:
            await agent.call("close_session")
            await until(lambda: tab() is None)
        finally:
            gc.enable()


async def test_a_system_that_does_not_tell_is_named_once(
    own_house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own_house.sessions.warden.bounds = Bounds(memory_bytes=1, session_memory_bytes=1)
    async with own_house.agent() as agent:
        await agent.call("list_tabs")
        assert own_house.pool.running
        ours, tell = own_house.pool.running[0].pid, usage.memory_of  # other tests' browsers are looked at, too
        monkeypatch.setattr(usage, "memory_of", lambda main, pids: {} if main == ours else tell(main, pids))
        for _ in range(3):
            await own_house.sessions.warden.look()
        await agent.call("open_session")
    assert [one.message for one in caplog.records].count(
        "this system does not tell the memory of a browser: limits of memory do not hold for it"
    ) == 1
