"""Agents in the person's own Chrome: what is the person's stays, what is the agent's goes, and nobody gets mixed up."""

import asyncio
import re
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.providers import link
from tests.extension.neighbour import Neighbour
from tests.house import Agent
from tests.own_chrome import own_chrome
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("F02", "B01", "A03")

FORM = """document.body.innerHTML = '<input id=name aria-label=Name><button id=go onclick="hits++">Go</button>';
window.hits = 0"""


async def names(agent: Agent) -> dict[str, str]:
    """Addresses by the names of the tabs."""
    return {one["tab"]: one["url"] for one in (await agent.call("list_tabs"))["tabs"]}


async def fails(agent: Agent, code: str, tool: str, **args: Any) -> Failure:
    with pytest.raises(Failure) as raised:
        await agent.call(tool, **args)
    assert raised.value.code == code, raised.value
    return raised.value


async def test_a_shared_tab_is_worked_in_and_stays(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    await page.js(FORM)
    async with person.agent() as agent:
        assert list((await names(agent)).values()) == [site.url("/small.html")]
        await agent.call("type_text", target="#name", text="Ada")
        await agent.call("click", target="#go")
        assert await person.attached() == 1
    await page.until("document.querySelector('#name').value === 'Ada' && hits === 1")
    assert await person.attached() == 0
    assert await person.tab_id(page) in person.link.tabs


async def test_tabs_that_the_agent_opened_are_closed(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    tab_id = await person.tab_id(page)
    async with person.agent() as agent:
        await agent.call("new_tab", url=site.url("/small.html?mine"))
        assert len(await names(agent)) == 2
        await person.until(lambda: sum(one.ours for one in person.link.tabs.values()) == 1)
    await person.until(lambda: list(person.link.tabs) == [tab_id])
    assert await page.js("document.title") == "Small"


async def test_without_a_shared_tab_it_begins_in_one_of_its_own(person: Neighbour, site: PageServer) -> None:
    front = await person.chrome.open(site.url("/small.html?front"))
    async with person.agent() as agent:
        await agent.call("navigate", url=site.url("/small.html?mine"))
        assert await agent.js("document.hasFocus() && document.visibilityState") == "visible"
        assert (await agent.call("screenshot"))["width"] > 0
        seen = await person.popup.js(
            "chrome.tabs.query({active: true, url: '*://*/*'}).then(all => all.map(t => t.url))"
        )
        assert site.url("/small.html?mine") not in seen, "it came to the front"
    await person.until(lambda: not person.link.tabs)
    assert await front.js("location.search") == "?front"


async def test_a_window_that_a_shared_page_opens_belongs_to_the_session(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    other = site.url("/small.html?popup")
    async with person.agent() as agent:
        await agent.js(f"void (document.body.onclick = () => window.open({other!r}))")
        await agent.call("click", target="body")
        opened = await agent.call("wait_for_new_tab")
        assert opened["url"] == other
        assert await agent.call("evaluate_js", expression="location.search", tab=opened["tab"])
        assert len(await names(agent)) == 2
    assert len(person.link.tabs) == 2, "what the person's page opened is the person's"
    assert await page.js("document.title") == "Small"


async def test_a_tab_is_told_of_that_the_person_takes_back(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        assert await agent.js("1") == 1
        number = await person.tab_id(page)
        await person.chrome.tell(person.popup, "unshareTab", tabId=number)
        await person.until(lambda: number not in person.link.tabs)
        said = await fails(agent, "denied", "evaluate_js", expression="1")
        assert said.message == "the person took t1 back"
    assert await page.js("document.title") == "Small"


async def test_nothing_happens_in_another_tab_than_the_one_that_was_taken_back(
    person: Neighbour, site: PageServer
) -> None:
    await person.share(site.url("/small.html?stays"))
    page = await person.share(site.url("/small.html?goes"))
    async with person.agent() as agent:
        by_url = {url: name for name, url in (await names(agent)).items()}
        stays, goes = by_url[site.url("/small.html?stays")], by_url[site.url("/small.html?goes")]
        await agent.call("switch_tab", tab=goes)
        number = await person.tab_id(page)
        await person.chrome.tell(person.popup, "unshareTab", tabId=number)
        await person.until(lambda: number not in person.link.tabs)
        told = await agent.ask("click", target="body")
        assert (told.failed, told.data["error"]["message"]) == (True, f"the person took {goes} back")
        assert f"browser: the person took {goes} back" in told.text.replace(f" in {goes}", "")
        assert "tab closed" not in told.text
        assert (await fails(agent, "denied", "get_page_state", tab=goes)).suggestions
        assert (await fails(agent, "denied", "close_tab")).message == f"the person took {goes} back"
        assert list(await names(agent)) == [stays]
        assert not [one for one in (await agent.call("list_tabs"))["tabs"] if one["current"]]
        assert (await agent.call("switch_tab", tab=stays))["title"] == "Small"
        assert await agent.js("location.search") == "?stays"
    assert await page.js("document.title") == "Small"


async def test_who_goes_elsewhere_after_that_gets_a_tab_of_their_own(person: Neighbour, site: PageServer) -> None:
    await person.share(site.url("/small.html?stays"))
    page = await person.share(site.url("/small.html?goes"))
    async with person.agent() as agent:
        by_url = {url: name for name, url in (await names(agent)).items()}
        await agent.call("switch_tab", tab=by_url[site.url("/small.html?goes")])
        number = await person.tab_id(page)
        await person.chrome.tell(person.popup, "unshareTab", tabId=number)
        await person.until(lambda: number not in person.link.tabs)
        await fails(agent, "denied", "navigate", url=site.url("/small.html?mine"))
        await agent.call("navigate", url=site.url("/small.html?mine"))
        assert site.url("/small.html?stays") in (await names(agent)).values()
        assert sum(one.ours for one in person.link.tabs.values()) == 1


async def test_a_call_that_is_under_way_hears_that_its_tab_was_taken_back(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        script = "document.title = 'it runs', new Promise(() => {})"
        waiting = asyncio.ensure_future(agent.ask("evaluate_js", expression=script, timeout_ms=20_000))
        await page.until("document.title === 'it runs'")
        await person.chrome.tell(person.popup, "unshareTab", tabId=await person.tab_id(page))
        error = (await asyncio.wait_for(waiting, 10)).data["error"]
        assert (error["code"], "the person took t1 back" in error["message"]) == ("denied", True)


async def test_a_tab_that_is_closed_is_closed(person: Neighbour, site: PageServer) -> None:
    """Also when the agent closes it itself, and when it is taken out of its group by that."""
    await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        mine = (await agent.call("new_tab", url=site.url("/small.html?mine")))["tab"]
        told = await agent.text("close_tab")
        assert f"closed {mine}; t1 is current" in told
        assert await agent.js("location.search") == ""


async def test_sessions_do_not_reach_each_others_tabs(person: Neighbour, site: PageServer) -> None:
    async with person.agent() as one, person.agent() as two:
        for number, agent in enumerate((one, two)):
            await agent.call("navigate", url=site.url(f"/small.html?{number}"))
        await person.share(site.url("/small.html?person"))
        for number, agent in enumerate((one, two)):
            tabs = await names(agent)
            assert site.url(f"/small.html?{number}") in tabs.values()
            assert site.url(f"/small.html?{1 - number}") not in tabs.values()
            assert await agent.js("location.search") == f"?{number}"
        tabs = await asyncio.gather(names(one), names(two))
        shared = [site.url("/small.html?person") in each.values() for each in tabs]
        assert shared == [True, False], "it goes to the session that has been there longest"


@promise("F02")
async def test_an_idle_tab_is_let_go_and_found_again(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    await page.js(FORM)
    async with person.agent() as agent:
        told = await agent.text("find", text="Go")
        found = re.search(r"\be\d+\b", told)
        assert found, told
        ref = found[0]
        browser = person.house.shared.running()[0]
        for seat in browser.seats:
            for tab in seat.tabs:
                browser.relay.sleep(tab.channel.id)
        async with asyncio.timeout(10):
            while await person.attached():  # it is only asked to let go
                await asyncio.sleep(0.01)
        await page.js("history.replaceState(null, '', '?moved')")
        await agent.call("click", target=ref)
        assert await page.js("hits") == 1, "the ref means the element still"
        assert await person.attached() == 1
        assert list((await names(agent)).values()) == [site.url("/small.html?moved")]


@promise("F02")
async def test_a_tab_falls_asleep_by_itself(
    person: Neighbour, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        await agent.js("1")
        assert await person.popup.js("chrome.action.getBadgeText({})") == "●"
        monkeypatch.setattr(person.house.shared.running()[0], "nap_after_s", 0.05)
        await person.popup.until("chrome.action.getBadgeText({}).then(badge => badge === 'on')", 15)
        assert await agent.js("1+1") == 2


@promise("F06")
async def test_the_person_stops_everything(person: Neighbour, site: PageServer) -> None:
    await person.share(site.url("/small.html"))
    agent = person.agent()
    session = (await agent.call("open_session", browser="extension"))["session"]
    waiting = asyncio.ensure_future(agent.ask("wait_for", text="never", timeout_ms=20_000))
    await person.until(lambda: person.link.tabs)
    await agent.js("1")
    await person.chrome.tell(person.popup, "stop")
    ended = (await asyncio.wait_for(waiting, 5)).data["error"]
    assert (ended["code"], ended["retryable"]) == ("denied", False)
    assert ended["message"] == f"the person stopped everything in {person.link.name}"
    assert "ask the person" in ended["suggestions"][0]
    said = await fails(agent, "denied", "get_page_state", session=session)
    assert "stopped everything" in said.message
    assert (await fails(agent, "denied", "navigate", url=site.url("/small.html"))).suggestions
    assert await person.attached() == 0
    noted = [one for one in person.house.audit.tail(50) if one.get("kind") == "agents_stopped"]
    assert noted[-1]["told"]["sessions"] == [session]
    await person.chrome.tell(person.popup, "allow")
    await person.until(lambda: not person.link.stopped)
    async with person.agent() as again:
        assert await again.js("1+1") == 2


@promise("F06")
async def test_who_was_stopped_is_moved_into_no_other_browser(person: Neighbour, site: PageServer) -> None:
    """Also a client whose sessions are private ones by default."""
    await person.share(site.url("/small.html"))
    async with person.house.agent() as agent:
        session = (await agent.call("open_session", browser="extension", mode="ask"))["session"]
        assert len(await names(agent)) == 1
        await person.chrome.tell(person.popup, "stop")
        await person.until(lambda: person.link.stopped)
        for tool, more in (
            ("list_tabs", {}),
            ("navigate", {"url": "about:blank"}),
            ("list_tabs", {"session": session}),
        ):
            said = await fails(agent, "denied", tool, **more)
            assert said.message == f"the person stopped everything in {person.link.name}"
            assert "popup" in said.suggestions[0]
        assert (await agent.call("list_sessions"))["sessions"] == []
        await person.chrome.tell(person.popup, "allow")
        await person.until(lambda: not person.link.stopped)
        told = await agent.ask("list_tabs")
        assert "this is a new session" in told.text
        (there,) = (await agent.call("list_sessions"))["sessions"]
        assert there["browser"] == "extension"


@promise("D05")
@pytest.mark.parametrize("url", ["chrome://settings", "chrome-extension://abc/popup.html", "devtools://devtools"])
async def test_pages_that_stay_closed(person: Neighbour, site: PageServer, url: str) -> None:
    async with person.agent() as agent:
        await fails(agent, "denied", "navigate", url=url)
        await fails(agent, "denied", "new_tab", url=url)
        await agent.call("navigate", url=site.url("/small.html"))
        with pytest.raises(Failure):
            await agent.call("navigate", url="https://chromewebstore.google.com/category/extensions", timeout_ms=5000)


async def test_a_browser_is_named(person: Neighbour) -> None:
    async with person.agent() as agent:
        await agent.call("open_session", browser="extension", profile=person.link.name)
        listed = (await agent.call("list_sessions"))["sessions"]
        assert [(one["browser"], one["profile"]) for one in listed] == [("extension", person.link.name)]
        said = await fails(agent, "not_found", "open_session", browser="extension", profile="another")
        assert person.link.name in "".join(said.suggestions)


async def test_two_browsers_are_told_apart(
    person: Neighbour, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with own_chrome() as other:
        await person.pair(other, "second")
        chromes = {person.link.name: person.chrome, "second": other}
        agents = {name: person.agent(name) for name in chromes}
        said = await fails(person.agent(), "not_found", "open_session", browser="extension")
        assert "second" in "".join(said.suggestions)
        for number in range(5):
            works = [one.call("navigate", url=site.url(f"/small.html?{number}{name}")) for name, one in agents.items()]
            await asyncio.gather(*works)
        for name, chrome in chromes.items():
            told = await chrome.root.send("Target.getTargets", filter=[{"type": "page"}])
            queries = [one["url"].partition("?")[2] for one in told["targetInfos"] if "?" in one["url"]]
            assert queries == [f"4{name}"]
        await agents[person.link.name].call("close_session")
        monkeypatch.setattr(link, "RETURN_S", 0.5)
    gone = await agents["second"].ask("get_page_state")
    assert gone.data["error"]["code"] == "browser_gone"
    ended = person.house.sessions.every()
    second = person.house.links.named("second")
    assert second
    person.house.links.forget("second", second.install)
    assert ended
    assert all(one.closed for one in ended)  # none of them moves into the next browser of that name
    await person.until(lambda: not person.house.sessions.every())


async def test_what_cannot_be_done_says_what_to_do_instead(person: Neighbour, site: PageServer) -> None:
    async with person.agent() as agent:
        await agent.call("navigate", url=site.url("/small.html"))
        assert (await fails(agent, "unsupported", "save_state", name="x")).suggestions
        assert (await fails(agent, "unsupported", "open_session", browser="extension", proxy="http://p:1")).suggestions
