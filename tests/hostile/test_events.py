"""What happens unasked is told once in the next result, kept in the log, and heard live."""

from collections.abc import AsyncIterator

import pytest

from pilothouse.browser.watch import Event
from tests.hostile.conftest import session_of, tab_of, until
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("E05")


@pytest.fixture
async def live(house: House, agent: Agent) -> AsyncIterator[list[Event]]:
    """What a follower hears of this agent's sessions."""
    heard: list[Event] = []

    def listen(key: str, connection: str, event: Event) -> None:
        if (key, connection) == (agent.caller.key, agent.caller.connection):
            heard.append(event)

    stop = house.gate.follow(listen)
    yield heard
    stop()


CAUSES = {
    "console_error": "setTimeout(() => { throw new Error('thrown later') }, 1)",
    "dialog": "setTimeout(() => alert('shown later'), 1)",
    "tab_opened": "setTimeout(() => open('about:blank'), 1)",
    "download": "setTimeout(() => location.href = '/download', 1)",
    "navigation": "setTimeout(() => location.hash = 'elsewhere', 1)",
}


@pytest.mark.parametrize("kind", [*CAUSES, "crash"])
async def test_every_kind(agent: Agent, site: PageServer, live: list[Event], kind: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    since = len(live)
    if kind == "crash":
        tab_of(agent).channel.post("Page.crash")
    else:
        tab_of(agent).channel.post("Runtime.evaluate", expression=CAUSES[kind], userGesture=True)
    await until(lambda: [event for event in live[since:] if event.kind == kind])
    kept = agent.gate.events(agent.caller, session_of(agent).id)
    # A download that has ended is told once: its beginning is forgotten.
    numbers, heard = ([event.number for event in events if event.kind == kind] for events in (kept, live))
    assert numbers == heard[-len(numbers) :]
    first = await agent.ask("list_tabs")
    again = await agent.ask("list_tabs")
    if kind != "navigation":
        told = [event["kind"] for event in first.data["events"]]
        assert kind in told
        assert kind.replace("_", " ") in first.text
        assert kind not in [event["kind"] for event in again.data.get("events", [])]


async def test_a_flood_of_errors_is_a_few_lines(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("void (() => { for (let n = 0; n < 2000; n++) console.error('bad ' + n) })()")
    answer = await agent.ask("get_page_text")
    assert answer.text.count("console error") <= 8
    assert len(answer.text) < 4000


async def test_errors_that_are_not_told_are_counted(agent: Agent, site: PageServer, live: list[Event]) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("void (() => { for (let n = 0; n < 12; n++) console.error('bad ' + n) })()")

    def errors() -> int:
        """One each, or as many as the line says."""
        counts = {"console_error": lambda text: 1, "limit": lambda text: int(text.partition(" more ")[0])}
        return sum(counts[event.kind](event.text) for event in live if event.kind in counts)

    await until(lambda: errors() == 12)


async def test_a_tab_that_is_still_loading_is_told_by_where_it_goes(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<a target=_blank href='{site.url('hang')}'>Go</a>"))
    press = "document.querySelector('a').click()"
    tab_of(agent).channel.post("Runtime.evaluate", expression=press, userGesture=True)
    await until(lambda: any(tab.route.bound_for for tab in session_of(agent).tabs))
    assert f"tab opened: t2 opened by t1 (t1 stays current): {site.url('hang')}" in await agent.text("get_current_url")


async def test_events_of_one_agent_are_not_anothers(agent: Agent, other: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await other.call("navigate", url=site.url("small.html"))
    await agent.js("void setTimeout(() => { throw new Error('mine only') })")
    await until(lambda: "mine only" in str(agent.gate.events(agent.caller, session_of(agent).id)))
    assert "mine only" not in str(other.gate.events(other.caller, session_of(other).id))
    assert "mine only" not in (await other.ask("get_page_state")).text


async def test_secrets_in_events_are_redacted(agent: Agent, site: PageServer, live: list[Event]) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("void console.error('Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789')")
    await until(lambda: [event for event in live if event.kind == "console_error"])
    assert "abcdefghijklmnop" not in str(live)
