"""Leaving a page: who is asleep is not waited for, who may hang is asked ahead, and who hangs is broken off."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pilothouse.browser import stuck
from pilothouse.browser.stuck import _sleeps, open_up
from pilothouse.browser.tab import Tab
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

NO_PROCESS = 4_194_305  # one more than Linux has


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def quiet(agent: Agent, site: PageServer, more: str = "") -> Tab:
    """A page whose process is known, by a request of its own, and asleep."""
    await agent.call("navigate", url=site.inline(f"<title>Quiet</title><img src='{site.url('pixel.gif')}'>{more}"))
    await agent.call("get_page_state")
    (session,) = agent.gate.own(agent.caller).all()
    tab = session.current
    assert tab
    await until(lambda: tab.document.pid)
    return tab


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who has been asked whether it answers, by the id of its channel."""
    found: list[str] = []
    real = stuck._asked

    def noted(channel: Any, patience_s: float) -> Any:
        found.append(channel.id)
        return real(channel, patience_s)

    monkeypatch.setattr(stuck, "_asked", noted)
    return found


@promise("A06")
async def test_a_page_that_sleeps_is_not_waited_for(agent: Agent, site: PageServer, asked: list[str]) -> None:
    tab = await quiet(agent, site)
    await until(lambda: _sleeps(tab))
    asked.clear()
    await open_up(tab)
    assert asked == []


@promise("A06")
@pytest.mark.parametrize("why", ["process unknown", "process gone", "frame elsewhere"])
async def test_one_of_which_that_is_not_known_is_asked(
    agent: Agent, site: PageServer, asked: list[str], why: str
) -> None:
    inner = site.inline("<p>Inner", other=True)
    tab = await quiet(agent, site, f"<iframe src='{inner}'></iframe>" if why == "frame elsewhere" else "")
    if why != "frame elsewhere":
        tab.document.pid = NO_PROCESS if why == "process gone" else 0
    asked.clear()
    await open_up(tab)
    assert asked == [channel.id for channel in tab.page_channels()]


@promise("A06")
async def test_one_that_hangs_is_broken_off_and_the_next_is_sent_for_once(agent: Agent, site: PageServer) -> None:
    """Also where its process is known."""
    tab = await quiet(agent, site)
    await agent.js("void setTimeout(() => { while (1); })")
    await until(lambda: not _sleeps(tab))
    arrived = await agent.call("navigate", url=site.url("small.html"), timeout_ms=10_000)
    assert arrived["title"] == "Small"
    found = await agent.call("get_network_log", url_pattern="small.html")
    assert len(found["requests"]) == 1


@promise("A06")
async def test_a_page_is_asked_when_a_call_that_leaves_it_is_foreseen(
    agent: Agent, site: PageServer, asked: list[str]
) -> None:
    tab = await quiet(agent, site)
    (session,) = agent.gate.own(agent.caller).all()
    asked.clear()
    for tool in ("click", "no_such_tool", "open_session"):
        agent.gate.foresee(agent.caller, tool, "")
    agent.gate.foresee(agent.caller, "navigate", "no such session")
    assert asked == []
    for name in ("", session.id):
        tab.knocked = (0.0, {})
        agent.gate.foresee(agent.caller, "browser.goto", name)
        agent.gate.foresee(agent.caller, "navigate", name)  # somebody has just asked
    assert asked == [tab.channel.id] * 2
    await agent.call("navigate", url=site.url("small.html"))
    assert asked == [tab.channel.id] * 2


@promise("B05")
async def test_nobody_asks_a_page_of_others(agent: Agent, site: PageServer, asked: list[str]) -> None:
    await quiet(agent, site)
    (session,) = agent.gate.own(agent.caller).all()
    asked.clear()
    other = msgspec.structs.replace(agent.caller, connection="another")
    agent.gate.foresee(other, "navigate", session.id)
    assert asked == []


@promise("F02")
async def test_a_tab_of_the_persons_is_not_asked_ahead(agent: Agent, site: PageServer, asked: list[str]) -> None:
    """It is attached when it is used, and not before."""
    await quiet(agent, site)
    (session,) = agent.gate.own(agent.caller).all()
    asked.clear()
    session.options = msgspec.structs.replace(session.options, browser="extension")
    agent.gate.foresee(agent.caller, "navigate", "")
    assert asked == []
