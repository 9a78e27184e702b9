"""The whole browser dies: pending calls are told, the next one works in a new browser, and it does not go on for ever."""

import asyncio
import os
import signal

import pytest

from pilothouse.browser.circuit import FAILURES, PAUSE_S, WINDOW_S, Circuit
from pilothouse.errors import Failure
from tests.hostile.conftest import code, until
from tests.house import House
from tests.promises import promise
from tests.server import PageServer


async def kill(house: House) -> None:
    chrome = house.pool._chrome
    assert chrome
    os.killpg(getattr(chrome, "pid"), signal.SIGKILL)  # noqa: B009
    await asyncio.wait_for(asyncio.shield(chrome.connection.closed), 5)


@promise("A06", "A05")
async def test_every_kind_of_pending_call_is_told_and_the_next_works(own_house: House, site: PageServer) -> None:
    agents = [own_house.agent() for _ in range(4)]
    for one in agents:
        await one.call("navigate", url=site.url("small.html"))
    pending = [
        asyncio.ensure_future(agents[0].ask("wait_for", text="never there", timeout_ms=20_000)),
        asyncio.ensure_future(agents[1].ask("evaluate_js", expression="new Promise(() => 0)", timeout_ms=20_000)),
        asyncio.ensure_future(agents[2].ask("navigate", url=site.url("half"), timeout_ms=20_000)),
        asyncio.ensure_future(agents[3].ask("wait_for", url="*never*", timeout_ms=20_000)),
    ]
    await agents[0].call("get_page_state")
    await kill(own_house)
    answers = await asyncio.wait_for(asyncio.gather(*pending), 5)
    assert [code(one) for one in answers] == ["browser_gone"] * 4
    again = await agents[0].ask("navigate", url=site.url("small.html"))
    assert again.data["title"] == "Small"
    assert "started anew" in again.text
    assert "started anew" not in (await agents[0].ask("get_page_state")).text


@promise("A06")
async def test_other_sessions_find_the_new_browser_too(own_house: House, site: PageServer) -> None:
    one, two = own_house.agent(), own_house.agent()
    await one.call("navigate", url=site.url("small.html"))
    await two.call("navigate", url=site.url("small.html"))
    await kill(own_house)
    answers = await asyncio.gather(*(agent.ask("get_page_state") for agent in (one, two)))
    assert all("started anew" in answer.text for answer in answers)


@promise("A06", "B11")
async def test_a_browser_that_keeps_dying_is_left_alone_for_a_while(own_house: House, site: PageServer) -> None:
    agent = own_house.agent()
    for _ in range(FAILURES - 2):
        own_house.pool._circuit.failed()
    for _ in range(2):
        await agent.call("navigate", url=site.url("small.html"))
        await kill(own_house)
    paused = await agent.ask("get_page_state")
    assert code(paused) == "browser_gone"
    assert 0 < paused.data["error"]["details"]["retry_after_s"] <= PAUSE_S
    assert "try again in" in paused.text


@promise("B11")
def test_the_circuit() -> None:
    now = [100.0]
    circuit = Circuit("it", lambda: now[0])
    for _ in range(FAILURES - 1):
        circuit.failed()
        circuit.check()
    circuit.failed()
    with pytest.raises(Failure, match="the next try is in 30 s"):
        circuit.check()
    now[0] += PAUSE_S + 1
    circuit.check()
    circuit.failed()  # the trial
    with pytest.raises(Failure):
        circuit.check()
    now[0] += PAUSE_S + WINDOW_S + 1
    circuit.check()
    circuit.failed()
    circuit.check()


@promise("B11")
def test_failures_far_apart_break_nothing() -> None:
    now = [0.0]
    circuit = Circuit("it", lambda: now[0])
    for _ in range(20):
        now[0] += WINDOW_S / (FAILURES - 1) + 1
        circuit.failed()
        circuit.check()


@promise("A06")
async def test_a_session_whose_browser_died_can_be_closed(own_house: House, site: PageServer) -> None:
    agent = own_house.agent()
    await agent.call("navigate", url=site.url("small.html"))
    await kill(own_house)
    assert code(await agent.ask("close_session")) == "ok"
    assert agent.gate.session_ids(agent.caller) == []


@promise("A06")
async def test_closing_the_house_ends_what_is_under_way(own_house: House, site: PageServer) -> None:
    agent = own_house.agent()
    await agent.call("navigate", url=site.url("small.html"))
    pending = asyncio.ensure_future(agent.ask("wait_for", text="never there", timeout_ms=20_000))
    await until(lambda: agent.gate.own(agent.caller).all()[0].busy)
    await own_house.sessions.shut()
    assert code(await asyncio.wait_for(pending, 3)) == "browser_gone"
