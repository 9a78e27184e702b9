"""F06: the person stops everything at once, in the popup or on Chrome's own bar, and it stays stopped until they say so."""

import asyncio
import time
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.providers import link as link_module
from tests.promises import promise
from tests.server import PageServer

from .conftest import Desk, Refusal

pytestmark = promise("F06", "F08")


async def badge(desk: Desk) -> str:
    return await desk.popup.js("chrome.action.getBadgeText({})")


async def working(desk: Desk, site: PageServer) -> list[int]:
    tabs = [(await desk.verb("open", url=site.url("small.html")))["tabId"] for _ in range(2)]
    for tab in tabs:
        await desk.verb("attach", tabId=tab)
        assert await desk.number(tab) == 42
    await desk.popup.until("chrome.action.getBadgeText({}).then(text => text === '●')")
    return tabs


async def is_stopped(desk: Desk, tabs: list[int]) -> None:
    await desk.until(lambda: desk.link.stopped, "the daemon knows that everything is stopped")
    assert desk.link.tabs == {}
    await desk.popup.until("chrome.action.getBadgeText({}).then(text => text === '■')")
    await desk.popup.until("chrome.runtime.sendMessage({type: 'state'}).then(now => now.attachedTabs === 0)")
    state = await desk.state()
    assert (state["mode"], state["sharedTabs"]) == ("stopped", 0)
    for tab in tabs:
        with pytest.raises(Failure) as caught:
            await desk.verb("attach", tabId=tab)
        assert caught.value.code == "denied"
    with pytest.raises(Failure):
        await desk.verb("open", url="about:blank")


async def test_stop_in_the_popup_ends_everything_at_once(desk: Desk, site: PageServer):
    tabs = await working(desk, site)
    began = time.monotonic()
    await desk.popup.js("document.getElementById('stop').click()")
    assert await desk.event("stopped") == {"by": "popup"}
    assert time.monotonic() - began < 1
    await is_stopped(desk, tabs)


async def test_a_page_that_hangs_is_let_go_as_fast(desk: Desk, site: PageServer):
    tabs = await working(desk, site)
    hung = asyncio.create_task(desk.cdp(tabs[0], "Runtime.evaluate", expression="document.title = 'hung'; while (1);"))
    await desk.event("tab", tabs[0], title="hung")
    began = time.monotonic()
    await desk.chrome.tell(desk.popup, "stop")
    assert time.monotonic() - began < 1.5
    await is_stopped(desk, tabs)
    with pytest.raises(Refusal):
        await hung


async def test_cancel_on_chromes_bar_means_the_same(desk: Desk, site: PageServer):
    """Chrome tells extensions of it as a reason; here it is told as Chrome would."""
    tabs = await working(desk, site)
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(f"chrome.debugger.onDetach.dispatch({{tabId: {tabs[0]}}}, 'canceled_by_user')")
    assert await desk.event("detached", tabs[0]) == {"reason": "canceled_by_user"}
    assert await desk.event("stopped") == {"by": "bar"}
    await is_stopped(desk, tabs)
    assert "debugging bar" in (await desk.state())["words"]


async def test_the_person_stops_it_from_the_command_line(desk: Desk, site: PageServer):
    tabs = await working(desk, site)
    assert await desk.person("POST", "/api/extension/browsers/work/stop") == {"stopped": "work", "told": True}
    await is_stopped(desk, tabs)


async def test_it_stays_stopped_over_the_death_of_the_worker_until_it_is_allowed(desk: Desk, site: PageServer):
    tabs = await working(desk, site)
    await desk.chrome.tell(desk.popup, "stop")
    boot = desk.link.boot
    await desk.chrome.kill_worker()
    await desk.until(lambda: desk.link.connected and desk.link.boot != boot, "a new life of the worker")
    await is_stopped(desk, tabs)
    await desk.popup.until("!document.getElementById('allow').hidden")
    await desk.popup.js("document.getElementById('allow').click()")
    await desk.event("allowed")
    assert desk.link.state == "connected"
    made = await desk.verb("open", url="about:blank")
    await desk.verb("attach", tabId=made["tabId"])
    assert await desk.number(made["tabId"]) == 42


IN_GROUP = "chrome.tabs.get(%d).then(tab => tab.groupId !== chrome.tabGroups.TAB_GROUP_ID_NONE)"


async def test_tabs_that_agents_opened_stay_open_and_are_not_shared_again(desk: Desk, site: PageServer):
    tabs = await working(desk, site)
    _, own = await desk.tab(site.url("small.html"))
    await desk.chrome.tell(desk.popup, "shareTab", tabId=own)
    await desk.event("shared", own)
    opening = f"void window.open('{site.url('form.html')}')"
    await desk.cdp(tabs[0], "Runtime.evaluate", expression=opening, userGesture=True)
    opened = (await desk.event("shared", openerTabId=tabs[0]))["tabId"]
    assert await desk.popup.js(IN_GROUP % tabs[0])
    await desk.chrome.tell(desk.popup, "stop")
    for tab in (*tabs, opened):
        await desk.popup.until(f"{IN_GROUP % tab}.then(is => !is)")
    assert await desk.popup.js(IN_GROUP % own), "what the person put there stays there"
    await desk.chrome.tell(desk.popup, "allow")
    await desk.event("allowed")
    await desk.until(lambda: own in desk.link.tabs, "the person's own tab is shared again")
    assert [one["tabId"] for one in (await desk.verb("tabs"))["tabs"]] == [own]


async def test_the_extension_itself_refuses_while_it_is_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    """Whatever a daemon asks that has not heard of it, also of what was under way."""
    monkeypatch.setattr(link_module, "_HARMLESS", {"ping", "open", "rules", "tabs"})
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(
        "{ const create = chrome.tabs.create.bind(chrome.tabs); chrome.tabs.create = async (wish) => {"
        " const tab = await create(wish); globalThis.made = tab.id;"
        " await new Promise(go => { globalThis.go = go }); chrome.tabs.create = create; return tab } }"
    )
    opening = asyncio.create_task(desk.verb("open", url="about:blank"))
    tab = await worker.until("globalThis.made")
    await desk.chrome.tell(desk.popup, "stop")
    await worker.until("globalThis.go")
    await worker.js("go()")
    with pytest.raises(Failure, match="stopped all agents"):
        await opening
    await desk.popup.until(f"chrome.tabs.query({{}}).then(all => all.every(one => one.id !== {tab}))")
    count = await desk.popup.js("chrome.tabs.query({}).then(all => all.length)")
    asked: list[tuple[str, dict[str, Any]]] = [("open", {}), ("rules", {"tabIds": [], "rules": []}), ("tabs", {})]
    for kind, payload in asked:
        with pytest.raises(Failure, match="stopped all agents"):
            await desk.verb(kind, **payload)
    assert await desk.popup.js("chrome.tabs.query({}).then(all => all.length)") == count
    assert await desk.verb("ping") == {}


async def test_the_badge_tells_the_true_state(desk: Desk):
    await desk.popup.until("chrome.action.getBadgeText({}).then(text => text === 'on')")
    made = await desk.verb("open", url="about:blank")
    await desk.verb("attach", tabId=made["tabId"])
    await desk.popup.until("chrome.action.getBadgeText({}).then(text => text === '●')")
    assert "agent is at work" in await desk.popup.js("chrome.action.getTitle({})")
    await desk.verb("detach", tabId=made["tabId"])
    await desk.popup.until("chrome.action.getBadgeText({}).then(text => text === 'on')")
    await desk.chrome.tell(desk.popup, "unpair")
    await desk.popup.until("chrome.action.getBadgeText({}).then(text => text === 'off')")
