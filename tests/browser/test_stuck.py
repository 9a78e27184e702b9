"""Leaving a page: it is asked ahead whether it answers, by whoever may leave it and by nobody else."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pilothouse.browser import aim, stuck
from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, source
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer


async def at_home(agent: Agent, site: PageServer) -> tuple[Session, Tab]:
    await agent.call("navigate", url=site.url("small.html"))
    (session,) = agent.gate.own(agent.caller).all()
    assert session.current
    return session, session.current


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who has been asked whether it answers, by the id of its channel."""
    found: list[str] = []
    real = stuck._asked

    def noted(channel: Any, patience_s: float) -> Any:
        found.append(channel.id)
        return real(channel, patience_s)

    monkeypatch.setattr(stuck, "_asked", noted)
    monkeypatch.setattr(stuck, "KNOCK_S", 10.0)  # however busy the machine is
    return found


@promise("A06")
async def test_a_page_is_asked_when_a_call_that_leaves_it_is_foreseen(
    agent: Agent, site: PageServer, asked: list[str]
) -> None:
    session, tab = await at_home(agent, site)
    asked.clear()
    for tool in ("click", "no_such_tool", "open_session"):
        agent.gate.foresee(agent.caller, tool, {})
    agent.gate.foresee(agent.caller, "navigate", {"session": "no such session"})
    assert asked == []
    for name in ("", session.id):
        tab.knocked = (0.0, {})
        agent.gate.foresee(agent.caller, "browser.goto", {"session": name})
        agent.gate.foresee(agent.caller, "navigate", {"session": name})  # somebody has just asked
    assert asked == [tab.channel.id] * 2
    await agent.call("navigate", url=site.url("small.html"))
    assert asked == [tab.channel.id] * 2


@promise("B05")
async def test_nobody_asks_a_page_of_others(agent: Agent, site: PageServer, asked: list[str]) -> None:
    session, _ = await at_home(agent, site)
    asked.clear()
    other = msgspec.structs.replace(agent.caller, connection="another")
    agent.gate.foresee(other, "navigate", {"session": session.id})
    assert asked == []


@promise("F02")
async def test_a_tab_of_the_persons_is_not_asked_ahead(agent: Agent, site: PageServer, asked: list[str]) -> None:
    """It is attached when it is used, and not before."""
    session, _ = await at_home(agent, site)
    asked.clear()
    session.options = msgspec.structs.replace(session.options, browser="extension")
    agent.gate.foresee(agent.caller, "navigate", {})
    assert asked == []


@promise("B06")
async def test_of_two_sessions_neither_is_meant(agent: Agent, site: PageServer, asked: list[str]) -> None:
    """The call itself is told so; whoever names one means it."""
    first, tab = await at_home(agent, site)
    await agent.call("open_session")
    asked.clear()
    agent.gate.foresee(agent.caller, "navigate", {})
    assert asked == []
    agent.gate.foresee(agent.caller, "navigate", {"session": first.id})
    assert asked == [tab.channel.id]


@promise("A06")
async def test_the_walker_that_was_broken_off_on_its_way_in_comes_again(agent: Agent, site: PageServer) -> None:
    """Whatever had run of it by then."""
    _, tab = await at_home(agent, site)
    made = await tab.channel.send("Page.createIsolatedWorld", frameId=tab.target_id, worldName="another")
    context = {"contextId": made["executionContextId"]}
    last = "Object.defineProperty(globalThis"
    broken = source().replace(last, f"throw new Error('broken off'); {last}")
    for script, fails in ((broken, True), (source(), False)):
        reply = await tab.channel.send("Runtime.evaluate", expression=script, **context)
        assert ("exceptionDetails" in reply) == fails
    there = await tab.channel.send("Runtime.evaluate", expression="typeof ph.snapshot", **context)
    assert there["result"]["value"] == "function"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """At what has the focus, as pages are asked for it."""
    found: list[dict[str, Any]] = []
    call = World.call

    async def noted(world: World, function: str, *args: Any, **options: Any) -> Any:
        if function == "focusAim":
            found.append(args[0])
        return await call(world, function, *args, **options)

    monkeypatch.setattr(World, "call", noted)
    monkeypatch.setattr(aim, "GLANCE_S", 10.0)  # however busy the machine is
    return found


@promise("D03")
async def test_what_has_the_focus_is_asked_when_a_key_is_foreseen(
    agent: Agent, site: PageServer, looks: list[dict[str, Any]], say: Callable[[str], None]
) -> None:
    _, tab = await at_home(agent, site)
    before = await agent.js("keys")
    for given in (
        {"key": "a"},
        {"key": "nothing like it"},
        {"key": 5},
        {"key": "a" * 500},
        {"key": "a", "tab": "t1"},
        {},
    ):
        agent.gate.foresee(agent.caller, "press_key", given)
    await agent.call("press_key", key="a")
    assert looks == [{"enter": False}]
    await agent.call("press_key", key="a")  # one look is for one key
    assert looks == [{"enter": False}] * 2
    agent.gate.foresee(agent.caller, "press_key", {"key": "a"})
    await agent.call("press_key", key="Enter")  # of which more has to be known
    assert looks == [{"enter": False}] * 3 + [{"enter": True}] * (len(looks) - 3)
    assert len(looks) > 3
    assert await agent.js("keys") == before + 3
    say('[[rules]]\nhost = "127.0.0.1"\nread = false\n')
    seen = len(looks)
    agent.gate.foresee(agent.caller, "press_key", {"key": "a"})
    assert tab.glance is None
    assert len(looks) == seen
