"""F07, D07: while a person has the wheel, the agent neither does nor hears anything, whatever was asked and allowed."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilothouse.browser.session import Session
from pilothouse.browser.stream import Wanted
from pilothouse.browser.tab import Tab
from pilothouse.call import Call, Caller
from tests.daemon_here import Here, asks_for_writes
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.line import Line, person_line

pytestmark = promise("F07", "D07")

PAGE = """<!doctype html><title>Wheel</title>
<button id=big onclick="document.title='pressed'">Press</button>"""


@pytest.fixture
async def line(here: Here) -> AsyncIterator[Line]:
    async with person_line(here) as one:
        yield one


def session_of(here: Here, agent: RestAgent) -> Session:
    return next(one for one in here.gate._sessions.every() if one.id == agent.session)


def tab_of(session: Session) -> Tab:
    assert session.current
    return session.current


async def title(tab: Tab) -> str:
    return (await tab.channel.send("Runtime.evaluate", expression="document.title"))["result"]["value"]


async def asked_and_allowed(here: Here, agent: RestAgent, line: Line) -> "asyncio.Task[dict[str, object]]":
    """A click that waits at the wheel, which was taken while its question was open."""
    here.decide = asks_for_writes
    call = asyncio.create_task(agent.call("click", target="#big"))
    question = (await line.next("pending"))["approval"]
    assert (await line.ask("take", session=agent.session))["kind"] == "done"
    assert (await line.ask("answer", approval=question["id"], answer="allow"))["kind"] == "done"
    async with asyncio.timeout(10):
        while not session_of(here, agent).pause.waiting:
            assert not call.done(), call.result()
            await asyncio.sleep(0.01)
    return call


async def test_a_yes_does_not_pass_the_wheel(here: Here, agent: RestAgent, line: Line, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    call = await asked_and_allowed(here, agent, line)
    assert await title(tab_of(session_of(here, agent))) == "Wheel"
    assert (await line.ask("give_back", session=agent.session))["kind"] == "done"
    assert (await call)["success"]
    assert await title(tab_of(session_of(here, agent))) == "pressed"


async def test_a_yes_is_to_the_page_of_then(here: Here, agent: RestAgent, line: Line, site: PageServer):
    """The person left it as another one."""
    await agent.do("navigate", url=site.inline(PAGE))
    call = await asked_and_allowed(here, agent, line)
    tab = tab_of(session_of(here, agent))
    before = tab.document.loader_id
    await tab.channel.send("Page.navigate", url=site.inline(PAGE))
    assert await tab.signal.until(lambda: tab.document.loader_id != before, 10)
    await line.ask("give_back", session=agent.session)
    told = await call
    assert told["error"]["code"] == "stale_ref"  # pyright: ignore[reportIndexIssue]
    async with asyncio.timeout(10):
        while not (found := await title(tab)):  # it is still being read
            pass
    assert found == "Wheel"


async def test_nothing_is_told_meanwhile(here: Here, agent: RestAgent, line: Line, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    session = session_of(here, agent)
    tab, caller = tab_of(session), Caller(*session.owner, door="test")
    heard: list[str] = []
    unfollow = here.gate.follow(lambda key, connection, event: heard.append(event.text))
    stream = here.gate.watch(caller, session.id, Wanted(kinds=["console", "events"]))
    try:
        await line.ask("take", session=session.id)
        await tab.channel.send("Runtime.evaluate", expression="console.error('typed by hand')")
        async with asyncio.timeout(10):
            while not any("typed by hand" in one.text for one in tab.console.lines()):
                await asyncio.sleep(0.01)
        session.report("console_error", tab.name, "typed by hand")
        assert list(stream.take()) == []
        assert here.gate.events(caller, session.id) == []
        assert heard == []
        await line.ask("give_back", session=session.id)
        assert [one["event"] for one in stream.take()] == ["person"]
        assert "a person had the wheel" in heard[0]
    finally:
        unfollow()
        stream.end()


async def test_it_does_not_end_with_its_agent(here: Here, line: Line, site: PageServer):
    """The person goes on in it; when they give the wheel back, it ends."""
    caller = Caller("default", "goes away", "mcp")
    opened = await here.gate.call(Call("navigate", {"url": site.inline(PAGE)}, caller))
    assert not opened.failed, opened.text
    (session,) = [one for one in here.gate._sessions.every() if one.owner == ("default", "goes away")]
    await line.ask("take", session=session.id)
    await here.gate.leave("goes away")
    press = [{"by": "mouse", "kind": kind, "x": 30, "y": 20, "button": "left", "count": 1} for kind in ("down", "up")]
    await line.tell("move", session=session.id, tab=tab_of(session).name, gestures=press)
    async with asyncio.timeout(10):
        while await title(tab_of(session)) != "pressed":
            await asyncio.sleep(0.01)
    assert (await line.ask("give_back", session=session.id))["kind"] == "done"
    async with asyncio.timeout(10):
        while not session.closed:
            await asyncio.sleep(0.01)
    assert session not in here.gate._sessions.every()


async def test_it_is_not_closed_under_their_hands(here: Here, agent: RestAgent, line: Line):
    await line.ask("take", session=agent.session)
    told = (await agent.line.post("/api/tools/close_session", json={"session": agent.session})).json()
    assert told["error"]["code"] == "paused"
    assert not session_of(here, agent).closed
    await line.ask("give_back", session=agent.session)
