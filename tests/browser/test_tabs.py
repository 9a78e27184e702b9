"""Tabs: the current one moves only when told to."""

import asyncio
import time
from typing import Any

import pytest

from pilothouse.browser.screencast import Frame, Screencasts
from pilothouse.browser.tab import Tab
from tests.browser.looking import fails, tab_of
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = pytest.mark.whole("tabs and windows are no part of the engine")


async def names(agent: Agent) -> list[str]:
    return [one["tab"] for one in (await agent.call("list_tabs"))["tabs"]]


async def current(agent: Agent) -> str:
    return next(one["tab"] for one in (await agent.call("list_tabs"))["tabs"] if one["current"])


@promise("A19", "B07", "C10")
@pytest.mark.parametrize(
    "opener",
    [
        "text=New tab",
        "text=New tab with opener",
        "text=New tab without opener",
        "text=Named tab",
        "text=Open window",
        "text=Open without opener",
        "text=Open small window",
        "text=Open later",
    ],
)
async def test_a_tab_that_the_page_opens(agent: Agent, site: PageServer, opener: str) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target=opener.replace("text=", 'text="') + '"')
    opened = await agent.call("wait_for_new_tab")
    assert (opened["tab"], opened["url"]) == ("t2", site.url("small.html"))
    assert await current(agent) == "t1"
    await agent.call("click", target="#go", tab="t2")


@promise("C10")
async def test_the_click_itself_tells_of_the_tab(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    assert "t2" in await agent.text("click", target="text=Open window")


@promise("C10", "B07")
@pytest.mark.parametrize("how", [{"modifiers": ["Control"]}, {"modifiers": ["Shift"]}, {"button": "middle"}])
async def test_a_tab_that_the_way_of_clicking_opens(agent: Agent, site: PageServer, how: dict[str, Any]) -> None:
    """The browser does not say who opened it, and may show its page before we are there."""
    await agent.call("navigate", url=site.inline("<a id=x href=/small.html>Go</a>"))
    assert "\ntab opened: t2 opened by t1 (t1 stays current): " in await agent.text("click", target="#x", **how)
    opened = await agent.call("wait_for_new_tab")
    assert (opened["tab"], opened["url"], opened["title"]) == ("t2", site.url("small.html"), "Small")
    assert f'  t2 {site.url("small.html")} "Small"' in await agent.text("list_tabs")
    assert "Small page" in await agent.text("get_page_state", tab="t2")


@promise("B07")
async def test_a_tab_of_ours_is_nobody_else_s(agent: Agent, site: PageServer) -> None:
    """Also after a click whose tab has not come: one that the page itself prevented."""
    page = "<a id=x href=/small.html onclick='event.preventDefault()'>Go</a>"
    await agent.call("navigate", url=site.inline(page))
    await agent.call("click", target="#x", modifiers=["Control"])
    assert await agent.text("new_tab") == "opened t2"
    await fails(agent, "timeout", "wait_for_new_tab", timeout_ms=50)


@promise("C10", "B12")
async def test_waiting_may_begin_before_the_click(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    waiting = asyncio.create_task(agent.call("wait_for_new_tab"))
    await agent.call("click", target="text=Open window")
    assert (await waiting)["url"] == site.url("small.html")
    await fails(agent, "timeout", "wait_for_new_tab", timeout_ms=200)


@promise("C10")
async def test_tabs_of_older_actions_are_not_waited_for(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    assert "t2" in await agent.text("click", target="text=Open window")
    assert "t3" in await agent.text("click", target='text="New tab"')
    assert await agent.js("1 + 1") == 2  # to look is no action
    assert (await agent.call("wait_for_new_tab"))["tab"] == "t3"
    await fails(agent, "timeout", "wait_for_new_tab", timeout_ms=100)


@promise("C10")
async def test_a_blank_window_that_is_written_to(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target="text=Open blank")
    opened = await agent.call("wait_for_new_tab")
    await agent.call("wait_for", text="Written", tab=opened["tab"])


@promise("B07")
async def test_a_window_that_the_page_closes(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target="text=Open window")
    await agent.call("wait_for_new_tab")
    await agent.call("click", target="text=Close it")
    await agent.call("wait_for", function="made.closed")
    assert await names(agent) == ["t1"]
    await fails(agent, "not_found", "click", target="#go", tab="t2")


async def close_itself(agent: Agent) -> str:
    """The current tab, by script. What the next answer tells of it."""
    tab = tab_of(agent)
    told = await agent.text("evaluate_js", expression="void setTimeout(close)")
    assert await tab.signal.until(lambda: tab.closed, 5)
    return told + await agent.text("get_page_title", tab="t1")


@promise("B07")
async def test_a_current_tab_that_closes_itself_leaves_none_current(agent: Agent, site: PageServer) -> None:
    """A log-in that closes its window: what was meant for it must not happen in the page behind it."""
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target="text=Open window")
    await agent.call("switch_tab", tab="t2")
    await agent.call("new_tab", url=site.url("form.html"), background=True)
    told = await close_itself(agent)
    assert "t2 closed; none is current until switch_tab says which, such as t1" in told
    for tool, args in (("press_key", {"key": "Enter"}), ("get_page_state", {}), ("close_tab", {})):
        failure = await fails(agent, "tab_closed", tool, **args)
        assert failure.suggestions[0] == "switch_tab t1, or name it: tab=t1"
    assert await agent.text("close_tab", tab="t3") == "closed t3; no tab is current"
    await agent.call("get_page_state", tab="t1")
    await fails(agent, "tab_closed", "evaluate_js", expression="1")
    await agent.call("switch_tab", tab="t1")
    assert await agent.js("document.title") == "Popups"
    await agent.call("click", target="text=Open window")
    await agent.call("switch_tab", tab="t4")
    await close_itself(agent)
    await agent.call("close_tab", tab="t1")
    failure = await fails(agent, "not_found", "get_page_state")
    assert failure.suggestions == ["open one with new_tab"]


@promise("B07")
@pytest.mark.parametrize("how", ["asked", "by itself"])
async def test_once_no_tab_is_left_nothing_is_mistaken(agent: Agent, site: PageServer, how: str) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target="text=Open window")
    await agent.call("switch_tab", tab="t2")
    first = next(tab for tab in agent.gate.own(agent.caller).all()[0].tabs if tab.name == "t1")
    await close_itself(agent)
    if how == "asked":
        await agent.call("close_tab", tab="t1")
    else:
        first.channel.post("Page.close")
        assert await first.signal.until(lambda: first.closed, 5)
    assert (await agent.call("navigate", url=site.url("form.html")))["title"] == "Form"


@promise("B07")
async def test_who_goes_somewhere_without_a_tab_gets_a_new_one(agent: Agent, site: PageServer) -> None:
    """Once it has heard that the current one has closed."""
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target="text=Open window")
    await agent.call("switch_tab", tab="t2")
    await close_itself(agent)
    await fails(agent, "tab_closed", "navigate", url=site.url("form.html"))
    await agent.call("navigate", url=site.url("form.html"))
    assert await names(agent) == ["t1", "t3"]
    assert (await agent.call("get_page_title", tab="t1"))["title"] == "Popups"


@promise("A09", "C10")
async def test_a_new_tab_is_waited_for_as_a_page_that_was_led_to(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button onclick=\"window.open('/halting')\">Pick</button>"))
    await agent.call("click", target="text=Pick")
    await agent.call("click", target="text=Choose", tab="t2")
    assert "First half" in await agent.text("get_page_state", tab="t2")


@promise("A09", "A19")
@pytest.mark.parametrize("how", ["form", "at once"])
async def test_a_window_that_closes_when_it_is_done_has_done_it(agent: Agent, site: PageServer, how: str) -> None:
    form = "<form method=post action=/closes><input name=n aria-label=Name><button>Save</button></form>"
    page = form if how == "form" else "<button onclick='window.close()'>Save</button>"
    await agent.call(
        "navigate", url=site.inline(f"<button onclick=\"window.open('{site.inline(page)}')\">Add</button>")
    )
    for number in range(2, 6):
        await agent.call("click", target="text=Add")
        await agent.call("wait_for", text="Save", tab=f"t{number}")
        send = {"tool": "click", "target": "text=Save"}
        if how == "form" and number % 2:
            send = {"tool": "type_text", "target": "label=Name", "text": "Ada", "submit": True}
        answer = await agent.ask(**send, tab=f"t{number}", snapshot="diff")
        assert not answer.failed, answer.text
        told = answer.text + await agent.text("get_page_title", tab="t1")
        assert f"t{number} closed" in told


@promise("B07", "C07")
async def test_a_snapshot_says_which_of_several_tabs_it_is_of(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert not (await agent.text("get_page_state")).startswith("t1")
    await agent.call("new_tab", url=site.url("form.html"), background=True)
    state = await agent.ask("get_page_state")
    assert state.text.startswith("t1 of the tabs t1, t2\n<page ")
    assert state.data["tabs"] == ["t1", "t2"]


@promise("B12")
async def test_a_tab_in_the_background_is_behind_the_other(agent: Agent, site: PageServer) -> None:
    """Focus emulation makes it draw and answer; without, Chrome would tell its page that nobody sees it."""
    await agent.call("navigate", url=site.url("small.html"))
    behind = (await agent.call("new_tab", url=site.url("small.html"), background=True))["tab"]
    front = tab_of(agent)
    other = next(tab for tab in agent.gate.own(agent.caller).all()[0].tabs if tab.name == behind)
    for tab, seen in ((front, "visible"), (other, "hidden")):
        assert await visibility(tab) == "visible"
        await tab.channel.send("Emulation.setFocusEmulationEnabled", enabled=False)
        assert await visibility(tab) == seen


async def visibility(tab: Tab) -> str:
    return (await tab.channel.send("Runtime.evaluate", expression="document.visibilityState"))["result"]["value"]


@promise("B07")
async def test_new_switch_and_close(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    opened = await agent.call("new_tab", url=site.url("form.html"))
    assert opened == {"tab": "t2", "url": site.url("form.html"), "title": "Form"}
    assert await current(agent) == "t2"
    await agent.call("new_tab", url=site.url("table.html"), background=True)
    assert await current(agent) == "t2"
    assert (await agent.call("switch_tab", tab="t1"))["title"] == "Small"
    assert await agent.js("document.title") == "Small"
    await agent.call("close_tab", tab="t2")
    assert await names(agent) == ["t1", "t3"]
    assert await current(agent) == "t1"


@promise("B07")
async def test_the_list_shows_what_is_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("form.html"))
    listed = (await agent.ask("list_tabs")).text.splitlines()
    assert listed == [f'  t1 {site.url("small.html")} "Small"', f'* t2 {site.url("form.html")} "Form"']


@promise("B07")
async def test_the_current_tab_is_closed(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("form.html"))
    assert await agent.text("close_tab") == "closed t2; t1 is current"
    assert await agent.js("document.title") == "Small"
    await agent.call("close_tab")
    await fails(agent, "not_found", "get_page_state")
    await agent.call("new_tab", url=site.url("table.html"))
    assert await agent.js("document.title") == "People"


@promise("B07", "B12")
async def test_what_happens_elsewhere_does_not_move_the_current_tab(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("popup.html"), background=True)
    await agent.call("click", target="text=Open window", tab="t2")
    await agent.call("wait_for_new_tab")
    await agent.call("navigate", url=site.url("form.html"), tab="t3")
    assert await current(agent) == "t1"
    assert await agent.js("document.title") == "Small"


@promise("B07", "C08")
async def test_an_unknown_tab(agent: Agent) -> None:
    missing = await fails(agent, "not_found", "get_page_state", tab="t99")
    assert missing.details["tabs"] == ["t1"]
    await fails(agent, "not_found", "switch_tab", tab="t99")
    await fails(agent, "not_found", "close_tab", tab="t99")


@promise("B07", "C07")
async def test_that_a_new_tab_is_empty_is_no_news(agent: Agent) -> None:
    answer = await agent.ask("click", target="#nothing")
    assert answer.failed
    assert "now at" not in answer.text
    assert "url" not in answer.data


@promise("B08")
async def test_there_is_a_limit(agent: Agent) -> None:
    for _ in range(9):
        await agent.call("new_tab", background=True)
    limit = await fails(agent, "over_limit", "new_tab")
    assert "10 tabs" in limit.message
    await agent.call("close_tab", tab="t10")
    await agent.call("new_tab")


@promise("B07", "C08")
async def test_a_tab_that_could_not_be_opened_is_not_left(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("form.html"))
    await agent.call("switch_tab", tab="t1")
    failure = await fails(agent, "navigation_failed", "new_tab", url=site.dead_origin)
    assert "no tab was opened" in failure.suggestions
    assert (await names(agent), await current(agent)) == (["t1", "t2"], "t1")


@promise("A08")
async def test_the_browser_does_not_try_a_dead_page_again_by_itself(agent: Agent, site: PageServer) -> None:
    await fails(agent, "navigation_failed", "navigate", url=site.dead_origin)
    (session,) = agent.gate.own(agent.caller).all()
    (tab,) = session.tabs
    shown = tab.document
    assert not await tab.signal.until(lambda: tab.route.navigating or tab.document is not shown, 3)


SOON_S = 5.0  # a tab that does not draw takes 15 s for a picture, if it comes, and 7 for a drag


async def draws(agent: Agent, site: PageServer, tab: str) -> None:
    """Pictures, the pointer and a finger all wait for the browser to draw."""
    for page in (site.url("drag.html"), site.url("drag.html", other=True)):  # of another site: in another process
        await agent.call("navigate", url=page, tab=tab)
        for _ in range(2):
            began = time.monotonic()
            assert (await agent.ask("screenshot", tab=tab)).images
            await agent.call("drag", target="#handle", dx=20, tab=tab)
            await agent.call("tap", target="#handle", tab=tab)
            assert time.monotonic() - began < SOON_S


@promise("A09", "A15")
async def test_a_new_tab_draws_behind_the_first(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = (await agent.call("new_tab"))["tab"]
    await draws(agent, site, tab)
    await draws(agent, site, "t1")


@promise("A09", "A15")
@pytest.mark.parametrize("opener", ['text="Open window"', 'text="Open without opener"'])
async def test_a_page_draws_behind_the_tab_that_it_opened(agent: Agent, site: PageServer, opener: str) -> None:
    await agent.call("navigate", url=site.url("popup.html"))
    await agent.call("click", target=opener)
    opened = (await agent.call("wait_for_new_tab"))["tab"]
    await draws(agent, site, "t1")
    await draws(agent, site, opened)


@promise("A09", "F07")
async def test_a_tab_draws_when_nobody_watches_it_any_more(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    name = (await agent.call("new_tab", url=site.url("small.html")))["tab"]
    (session,) = agent.gate.own(agent.caller).all()
    shown: list[Frame] = []
    came = asyncio.Event()

    def show(frame: Frame) -> None:
        shown.append(frame)
        came.set()

    viewer = await Screencasts().join(await session.tab(name), show, session.context.unwatched)
    await asyncio.wait_for(came.wait(), 10)
    viewer.leave()
    assert min(len(frame.data) for frame in shown) > 1000, "a frame that only keeps it drawing"
    await draws(agent, site, name)


@promise("A09", "B02")
async def test_a_tab_draws_beside_those_of_another_session_of_the_profile(house: House, site: PageServer) -> None:
    async with house.agent() as one, house.agent() as other:
        profile = (await one.call("create_profile", name="Drawn"))["profile"]["id"]
        try:
            for agent in (one, other):
                await agent.call("open_session", browser="profile", profile=profile)
                await agent.call("navigate", url=site.url("small.html"))
            for agent in (one, other):
                await draws(agent, site, "t1")
        finally:
            for agent in (one, other):
                await agent.leave()
            await one.call("kill_browser", profile=profile)
            await one.call("delete_profile", profile=profile)
