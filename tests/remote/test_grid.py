"""Sessions on a real Selenium Grid: a hub and two nodes, on this machine."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pilothouse.browser import queue, remote
from pilothouse.browser.remote import Remotes
from pilothouse.call import Call
from pilothouse.errors import Failure
from pilothouse.options import Grid
from pilothouse.providers.elsewhere import Elsewhere
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.hub import Hub, grid
from tests.server import PageServer

pytestmark = promise("H01", "B01")

SEE_S = 20


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with grid(tmp_path_factory.mktemp("grid"), nodes=2, slots=1) as one:
        yield one


@pytest.fixture(scope="module")
async def afield(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> AsyncIterator[House]:
    house = furnished(tmp_path_factory.mktemp("afield"), grid=hub.config())
    yield house
    await house.close()


async def until(hub: Hub, sessions: int) -> None:
    await asyncio.to_thread(hub.until, lambda: len(hub.sessions()) == sessions, SEE_S)


async def test_a_session_is_one_of_the_grid_s_and_is_given_back(afield: House, hub: Hub, site: PageServer) -> None:
    async with afield.agent() as agent:
        assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"
        await until(hub, 1)
        await agent.call("close_session")
        await until(hub, 0)


async def test_who_waits_in_the_queue_is_told_and_served(
    afield: House, hub: Hub, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "ASK_EVERY_S", 0.1)
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append(message)

    async with afield.agent() as one, afield.agent() as two, afield.agent() as three:
        await asyncio.gather(*(agent.call("open_session") for agent in (one, two)))
        waiting = asyncio.create_task(afield.gate.call(Call("open_session", {}, three.caller, progress)))
        while not told:
            await asyncio.wait([waiting], timeout=0.05)
        await one.call("close_session")
        assert not (await waiting).failed
        assert "1 wait, 2 of 2 places are taken on 2 nodes" in told[0]
        assert (await three.call("navigate", url=site.url("small.html")))["title"] == "Small"
    await until(hub, 0)


async def test_who_stops_waiting_keeps_the_place_for_the_next(afield: House, hub: Hub, site: PageServer) -> None:
    async with afield.agent() as one, afield.agent() as two, afield.agent() as three:
        await asyncio.gather(*(agent.call("open_session") for agent in (one, two)))
        waiting = asyncio.create_task(three.call("open_session"))
        await asyncio.to_thread(hub.until, lambda: afield.remotes.places()[0].waiting == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await one.call("close_session")
        await three.call("open_session")
        assert (await three.call("navigate", url=site.url("small.html")))["title"] == "Small"
        await until(hub, 2)
    await until(hub, 0)


async def test_one_browser_for_all_by_option(afield: House, hub: Hub, site: PageServer) -> None:
    sources = Elsewhere(afield.secrets.written_out)
    sources.configure([], hub.config(share=True))
    before, afield.sessions.remotes = afield.sessions.remotes, Remotes(sources.sources)
    try:
        async with afield.agent() as one, afield.agent() as two:
            for agent in (one, two):
                await agent.call("navigate", url=site.url("small.html"))
            await one.call("set_cookie", name="who", value="one", url=site.url(""))
            assert await two.js("document.cookie") == ""
            assert len(hub.sessions()) == 1
        await afield.sessions.remotes.close()
        await until(hub, 0)
    finally:
        afield.sessions.remotes = before


async def test_what_the_grid_cannot_give(afield: House, hub: Hub) -> None:
    afield.elsewhere.configure([], hub.config(capabilities={"browserName": "netscape"}, queue_s=0.5))
    try:
        async with afield.agent() as agent:
            failure = await fails(agent, "over_limit", "open_session")
            assert "grid.queue_s" in failure.message or "no place" in failure.message
    finally:
        afield.elsewhere.configure([], hub.config())


async def test_a_node_that_dies(afield: House, hub: Hub, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its session is told, the other goes on, and the next call has a browser again."""
    monkeypatch.setattr(remote, "PULSE_S", 0.2)
    monkeypatch.setattr(remote, "SILENCE_S", 3.0)
    async with afield.agent() as one, afield.agent() as two:
        for agent in (one, two):
            await agent.call("navigate", url=site.url("small.html"))
        waiting = {
            asyncio.create_task(_code(agent, "wait_for", text="never", timeout_ms=60_000)): agent
            for agent in (one, two)
        }
        hub.kill(hub.nodes[0])
        hub.add_node(1)
        (told,), (still,) = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert told.result() == "browser_gone"
        lost, other = waiting[told], waiting[still]
        assert (await other.call("get_page_state"))["title"] == "Small"
        assert not still.done()
        still.cancel()
        answer = await _patient(lost, site.url("small.html"))
        assert "started anew" in answer
        assert (await other.call("get_page_state"))["title"] == "Small"


async def _code(agent: Agent, tool: str, **args: Any) -> str:
    try:
        await agent.call(tool, **args)
    except Failure as failure:
        return failure.code
    return "ok"


async def _patient(agent: Agent, url: str) -> str:
    said = ""
    for _ in range(5):
        answer = await agent.ask("navigate", url=url)
        if not answer.failed:
            return answer.text
        said = answer.text
    raise AssertionError(said)


async def test_a_grid_that_starts_anew(afield: House, hub: Hub, site: PageServer) -> None:
    """Who worked in it is told at once; nobody gets a browser while it is away, and everybody does when it is back."""
    async with afield.agent() as one, afield.agent() as two:
        await one.call("navigate", url=site.url("small.html"))
        waiting = asyncio.create_task(_code(one, "wait_for", text="never", timeout_ms=15_000))
        await asyncio.wait([waiting], timeout=0.1)
        hub.stop_hub()
        assert await waiting == "browser_gone"
        assert "connection refused" in (await fails(two, "browser_gone", "open_session")).message
        await asyncio.to_thread(hub.start)
        await two.call("open_session")
        assert (await two.call("navigate", url=site.url("small.html")))["title"] == "Small"


async def test_no_grid_there(afield: House) -> None:
    afield.elsewhere.configure([], Grid("http://127.0.0.1:9"))
    async with afield.agent() as agent:
        failure = await fails(agent, "browser_gone", "open_session")
        assert "connection refused" in failure.message
