"""Renderers that die: told at once, revived by the next call, and nobody else notices."""

import asyncio

import pytest

from pilothouse.browser.tab import Tab
from tests.hostile.conftest import code, session_of, tab_of, timed
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A06")


async def crash(tab: Tab) -> None:
    tab.channel.post("Page.crash")
    assert await tab.signal.until(lambda: tab.crashed, 10)


async def test_a_crash_is_told_and_the_tab_revived(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await crash(tab_of(agent))
    told = await timed(agent, "get_page_state", limit_s=5)
    assert code(told) == "tab_crashed"
    assert "its state is new" in told.text
    assert "Small page" in await agent.text("get_page_state")
    await agent.call("click", target="text=Go")


async def test_a_crash_during_a_call_ends_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    waiting = asyncio.ensure_future(agent.ask("wait_for", text="never there", timeout_ms=20_000))
    script = asyncio.ensure_future(agent.ask("evaluate_js", expression="new Promise(() => 0)", timeout_ms=20_000))
    await agent.call("get_page_state")
    await crash(tab_of(agent))
    answers = await asyncio.wait_for(asyncio.gather(waiting, script), 3)
    assert [code(one) for one in answers] == ["tab_crashed", "tab_crashed"]
    assert all("reload: the page comes anew" in one.text for one in answers)


async def test_a_crash_while_loading_ends_navigate(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    going = asyncio.ensure_future(agent.ask("navigate", url=site.url("half"), timeout_ms=20_000))
    tab = tab_of(agent)
    assert await tab.signal.until(lambda: "half" in tab.url, 10)
    await crash(tab)
    assert code(await asyncio.wait_for(going, 3)) == "tab_crashed"
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


async def test_navigate_goes_straight_on_from_a_crashed_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await crash(tab_of(agent))
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"
    visited = [event.text for event in session_of(agent).watch.recent() if event.kind == "navigation"]
    assert len([one for one in visited if "form.html" in one]) == 1


@pytest.mark.parametrize("tool", ["close_tab", "list_tabs", "get_console_logs", "get_network_log"])
async def test_what_needs_no_page_works_on_a_crashed_one(agent: Agent, site: PageServer, tool: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await crash(tab_of(agent))
    answer = await timed(agent, tool, limit_s=5)
    assert code(answer) == "ok", answer.text


REVIVED = "the tab's renderer had crashed; it was revived, its state is new"


async def test_reload_revives_a_crashed_page_and_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("evaluate_js", expression="window.before = 1")
    await crash(tab_of(agent))
    told = await timed(agent, "reload", limit_s=5)
    assert code(told) == "ok", told.text
    assert REVIVED in told.text
    assert (told.data["title"], told.data["status"], told.data["note"]) == ("Small", 200, REVIVED)
    assert await agent.js("window.before === undefined && clicks === 0")
    await agent.call("click", target="text=Go")
    assert await agent.js("clicks") == 1
    assert "note" not in await agent.call("reload"), "it is told once"
    visited = [event.text for event in session_of(agent).watch.recent() if event.kind == "navigation"]
    assert len([one for one in visited if "small.html" in one]) == 3, "a crashed page was loaded twice"


@pytest.mark.parametrize(("tool", "title"), [("go_back", "Small"), ("go_forward", "People")])
async def test_history_revives_a_crashed_tab_and_says_so(agent: Agent, site: PageServer, tool: str, title: str) -> None:
    for page in ("small.html", "form.html", "table.html"):
        await agent.call("navigate", url=site.url(page))
    await agent.call("go_back")
    await crash(tab_of(agent))
    told = await timed(agent, tool, limit_s=5)
    assert code(told) == "ok", told.text
    assert (told.data["title"], told.data["note"]) == (title, REVIVED)
    assert title in await agent.text("get_page_state")


async def test_back_in_a_crashed_single_page_app_loads_it_anew(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("history.pushState(0, '', '?second')")
    await crash(tab_of(agent))
    told = await timed(agent, "go_back", limit_s=5)
    assert code(told) == "ok", told.text
    assert told.data["url"] == site.url("small.html")
    assert told.data["note"] == REVIVED
    await agent.call("click", target="text=Go")
    assert await agent.js("clicks") == 1


async def test_navigate_says_that_the_tab_had_crashed(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await crash(tab_of(agent))
    await agent.call("list_tabs")  # which has told of the crash; who comes next still has to know
    assert (await agent.call("navigate", url=site.url("small.html")))["note"] == REVIVED


async def test_a_page_that_a_form_brought_is_not_sent_again_by_a_crash(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("login"))
    await agent.call("click", target="role=button[name='Log in']")
    await crash(tab_of(agent))
    assert code(await timed(agent, "reload", limit_s=5)) == "denied"
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


@pytest.mark.parametrize("path", ["hang", "status/204", "download"])
async def test_who_does_not_arrive_with_a_crashed_tab_leaves_it_crashed(
    agent: Agent, site: PageServer, path: str
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await crash(tab_of(agent))
    await timed(agent, "navigate", limit_s=1, url=site.url(path), timeout_ms=1000)
    told = await timed(agent, "get_page_state", limit_s=5)
    assert code(told) == "tab_crashed", told.text
    assert "Small page" in await agent.text("get_page_state")


async def test_refs_of_a_crashed_page_are_stale(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("get_page_state")
    await crash(tab_of(agent))
    await agent.ask("get_page_state")
    assert code(await agent.ask("click", target="e1")) == "stale_ref"


async def test_a_cross_origin_frame_that_crashes_is_told_and_the_page_lives(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=f"{site.url('frames.html')}?other={site.other_origin}")
    tab = tab_of(agent)
    frame = next(one for one in tab.frames if one.channel is not tab.channel)
    frame.channel.post("Page.crash")
    assert await tab.signal.until(lambda: frame.world is None, 10)
    state = await timed(agent, "get_page_state", limit_s=5)
    assert code(state) == "ok"
    assert "Top button" in state.text
    assert "did not answer: the frame's renderer has crashed" in state.text  # which nobody waits for
    assert "crash: " in state.text
    await agent.call("click", target="text=Top button")


async def test_a_frame_that_crashes_while_the_page_is_looked_at_costs_only_the_frame(
    agent: Agent, site: PageServer
) -> None:
    await agent.call("navigate", url=f"{site.url('frames.html')}?other={site.other_origin}")
    tab = tab_of(agent)
    frame = next(one for one in tab.frames if one.channel is not tab.channel)
    frame.channel.post("Page.crash")
    state = await timed(agent, "get_page_state", limit_s=10)
    assert code(state) == "ok"
    assert "Top button" in state.text


async def test_a_crash_in_one_session_is_nothing_to_another(agent: Agent, other: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await other.call("navigate", url=site.url("form.html"))
    await crash(tab_of(agent))
    assert not (await other.ask("get_page_state")).failed
    assert "crash" not in (await other.ask("get_page_state")).text
