"""E05: a session followed live: console, network and events of all its tabs, those that open later too."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from pilothouse.browser.console import Console
from pilothouse.browser.console import Line as ConsoleLine
from pilothouse.browser.stream import MAX_WAITING, Line, Stream, Wanted
from pilothouse.errors import Failure
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("E05")


async def opened(agent: Agent, site: PageServer, page: str = "small.html") -> str:
    await agent.call("navigate", url=site.url(page))
    (session,) = agent.gate.session_ids(agent.caller)
    return session


@contextlib.contextmanager
def followed(agent: Agent, session: str, *kinds: Any, **more: Any) -> Iterator[Stream]:
    stream = agent.gate.watch(agent.caller, session, Wanted(list(kinds), **more))
    try:
        yield stream
    finally:
        stream.end()


async def until(stream: Stream, **fields: Any) -> list[Line]:
    """The lines up to the first with these fields, that one included."""
    seen: list[Line] = []
    async with asyncio.timeout(10):
        async for line in stream:
            seen.append(line)
            if fields.items() <= line.items():
                return seen
    raise AssertionError(f"the stream ended before {fields}")


async def test_console_lines_as_they_are_said(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    await agent.js("console.log('before')")
    with followed(agent, session, "console") as stream:
        await agent.js("console.warn('now', 1)")
        (line,) = await until(stream, text="now 1")
    assert (line["kind"], line["tab"], line["level"], line["source"]) == ("console", "t1", "warn", "console")
    assert line["time_ms"] > 1_600_000_000_000


async def test_a_request_is_told_once_when_it_is_over(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "network", type=["fetch"]) as stream:
        asking = "for (const one of ['status/404', 'redirect?to=/echo', 'echo?last']) await (await fetch(one)).text()"
        await agent.js(f"(async () => {{ {asking} }})()")
        seen = await until(stream, url=site.url("echo?last"))
    told = [(one["method"], one["url"].removeprefix(site.origin), one["status"]) for one in seen]
    wanted = ["/status/404", "/redirect?to=/echo", "/echo", "/echo?last"]
    assert told == [("GET", url, status) for url, status in zip(wanted, (404, 302, 200, 200), strict=True)]
    assert all(one["kind"] == "network" and one["tab"] == "t1" and "pending" not in one for one in seen)
    assert all(one["time_ms"] >= one["started_ms"] for one in seen)


async def test_a_request_that_fails_is_told_too(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    await agent.call("block_url", pattern="*/echo*")
    with followed(agent, session, "network", status_min=400) as stream:
        await agent.js("fetch('/small.html').then(() => fetch('/echo')).catch(() => 0)")
        (line,) = await until(stream, status=0)
    assert "rule" in line["failure"] or "block" in line["failure"]


async def test_events_say_which(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "events") as stream:
        await agent.js("setTimeout(() => { throw new Error('broke') })")
        line = (await until(stream, event="console_error"))[-1]
    assert (line["kind"], line["tab"], line["session"]) == ("event", "t1", session)
    assert "broke" in line["text"]


async def test_a_tab_that_opens_later_is_followed(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "console", "events") as said, followed(agent, session, "network") as asked:
        await agent.js("window.open('/console.html?all=1'), 0")
        seen = await until(said, kind="console", tab="t2", text="an error")
        assert any(one.get("event") == "tab_opened" for one in seen)
        await until(asked, tab="t2", url=site.url("console.html?all=1"), status=200)
        await agent.call("close_tab", tab="t2")
        await agent.js("console.log('still here')")
        await until(said, tab="t1", text="still here")
        assert "t2" not in said._ties


async def test_the_past_comes_first_and_nothing_twice(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    await agent.js("[1, 2, 3].forEach(one => console.log('old', one))")
    await agent.call("new_tab", url=site.url("small.html"))
    await agent.js("console.log('other tab')")
    with followed(agent, session, "console", since=0, limit=3) as stream:
        await agent.js("console.log('new')")
        seen = await until(stream, text="new")
    assert [(one["tab"], one["text"]) for one in seen] == [
        ("t1", "old 2"),
        ("t1", "old 3"),
        ("t2", "other tab"),
        ("t2", "new"),
    ]


async def test_what_is_pending_is_not_past(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    await agent.js("fetch('/slow?ms=300'), 0")
    with followed(agent, session, "network", since=0, url_pattern="slow") as stream:
        seen = await until(stream, status=200)
    assert [one["status"] for one in seen] == [200]


async def test_levels_and_patterns_choose(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "console", level=["error", "warn"], pattern="^b") as stream:
        await agent.js("console.log('b log'); console.error('a error'); console.warn('b warn'); console.error('b end')")
        seen = await until(stream, text="b end")
    assert [one["text"] for one in seen] == ["b warn", "b end"]


async def test_secrets_and_what_nobody_sees_do_not_leave(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "console", "network") as stream:
        await agent.js("fetch('/echo?password=hunter22').then(() => console.log('a\\u202eb token=abcdef', '\\ud800'))")
        seen = await until(stream, kind="console")
    said = str(seen)
    assert "hunter22" not in said
    assert "abcdef" not in said
    assert seen[-1]["text"] == "ab token=[redacted] \ufffd"


async def test_a_slow_reader_loses_the_oldest_and_is_told(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "console") as stream, followed(agent, session, "console", pattern="last") as other:
        await agent.js(f"for (let n = 0; n < {MAX_WAITING + 9}; n++) console.log(n); console.log('last')")
        await until(other, text="last")
        seen = await until(stream, text="last")
    assert seen[0] == {"kind": "lost", "count": 10}
    assert seen[1]["text"] == "10"
    assert len(seen) == MAX_WAITING + 1


async def test_the_end_of_the_session_ends_the_stream(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    with followed(agent, session, "console") as stream:
        await agent.js("console.log('last words')")
        await agent.call("close_session", session=session)
        async with asyncio.timeout(10):
            assert [line["text"] async for line in stream] == ["last words"]


async def test_only_the_owner_may(agent: Agent, house: House, site: PageServer) -> None:
    session = await opened(agent, site)
    async with house.agent() as other:
        with pytest.raises(Failure, match="no such session"), followed(other, session, "console"):
            pass


async def test_who_left_costs_nothing(agent: Agent, site: PageServer) -> None:
    session = await opened(agent, site)
    (tab,) = agent.gate.own(agent.caller).get(session).tabs
    with followed(agent, session, "console", "network"):
        assert tab.console._listeners
        assert tab.network._listeners
    assert not tab.console._listeners
    assert not tab.network._listeners
    assert not agent.gate.own(agent.caller).get(session)._streams


def test_a_subscriber_may_leave_while_it_is_told() -> None:
    console = Console(lambda line: None)
    heard: list[str] = []

    def hear(line: ConsoleLine) -> None:
        heard.append(line.text)
        leave()

    leave = console.subscribe(hear)
    for text in ("one", "two"):
        console._logged({"level": "info", "text": text, "source": "other", "timestamp": 1})
    assert heard == ["one"]
