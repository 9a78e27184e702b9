"""F02, D04: what the extension does for the daemon besides CDP: network rules of agents' tabs, downloads."""

from typing import Any

import pytest

from pilothouse.errors import Failure
from tests.promises import promise
from tests.server import PageServer

from .conftest import Desk

pytestmark = promise("F02", "D04", "F08")


def block(host: str) -> dict[str, Any]:
    kinds = ["main_frame", "sub_frame", "script", "image", "xmlhttprequest", "websocket", "ping", "other"]
    return {"action": {"type": "block"}, "condition": {"requestDomains": [host], "resourceTypes": kinds}}


async def reach(desk: Desk, tab: int, url: str) -> str:
    expression = f"fetch('{url}').then(it => 'reached', () => 'refused')"
    told = await desk.cdp(tab, "Runtime.evaluate", expression=expression, awaitPromise=True)
    return told["result"]["value"]


async def test_rules_hold_in_the_agents_tabs_only(desk: Desk, site: PageServer):
    address = site.url("echo")
    agents = (await desk.verb("open", url=site.url("small.html")))["tabId"]
    await desk.loaded(agents)
    await desk.verb("attach", tabId=agents)
    page, _ = await desk.tab(site.url("small.html"))
    assert await desk.verb("rules", tabIds=[agents], rules=[block("127.0.0.1")]) == {"rules": 1}
    assert await reach(desk, agents, address) == "refused"
    assert await page.js(f"fetch('{address}').then(it => 'reached', () => 'refused')") == "reached"
    boot = desk.link.boot
    await desk.chrome.kill_worker()
    await desk.until(lambda: desk.link.connected and desk.link.boot != boot, "a new life of the worker")
    assert await reach(desk, agents, address) == "refused"  # Chrome holds them, not the worker
    assert await desk.verb("rules", tabIds=[agents], rules=[block("elsewhere.test"), block("nowhere.test")]) == {
        "rules": 2
    }
    assert await reach(desk, agents, address) == "reached"
    assert await desk.verb("rules", tabIds=[], rules=[block("127.0.0.1")]) == {"rules": 0}
    assert await desk.popup.js("chrome.declarativeNetRequest.getSessionRules()") == []


async def test_rules_that_chrome_refuses_change_nothing(desk: Desk, site: PageServer):
    agents = (await desk.verb("open", url=site.url("small.html")))["tabId"]
    await desk.loaded(agents)
    await desk.verb("attach", tabId=agents)
    await desk.verb("rules", tabIds=[agents], rules=[block("127.0.0.1")])
    with pytest.raises(Failure):
        await desk.verb("rules", tabIds=[agents], rules=[block("127.0.0.1") | {"condition": {"regexFilter": "("}}])
    assert await reach(desk, agents, site.url("echo")) == "refused"
    await desk.chrome.tell(desk.popup, "stop")
    assert await desk.popup.js("chrome.declarativeNetRequest.getSessionRules()") == []


RULES = "chrome.declarativeNetRequest.getSessionRules()"


async def test_rules_reach_shared_tabs_only_and_only_block_or_allow(desk: Desk, site: PageServer):
    agents = (await desk.verb("open", url="about:blank"))["tabId"]
    _, persons = await desk.tab(site.url("small.html"))
    rule = block("127.0.0.1")
    rule["condition"]["tabIds"] = [agents, persons]
    assert await desk.verb("rules", tabIds=[agents, persons], rules=[rule]) == {"rules": 1}
    (held,) = await desk.popup.js(RULES)
    assert held["condition"]["tabIds"] == [agents]
    assert await desk.verb("rules", tabIds=[persons], rules=[block("127.0.0.1")]) == {"rules": 0}
    for action in ({"type": "redirect", "redirect": {"url": site.url("form.html")}}, {"type": "allowAllRequests"}):
        with pytest.raises(Failure, match="blocks or allows"):
            await desk.verb("rules", tabIds=[agents], rules=[block("127.0.0.1") | {"action": action}])


QUICK = """{ const real = setTimeout; globalThis.setTimeout = (work, ms, ...more) =>
real(work, ms > 10_000 && ms < 20_000 ? 0 : ms, ...more) }"""  # its patience with a daemon that is away


async def test_the_agents_own_tabs_are_closed_when_the_daemon_is_gone_and_rules_end_with_them(
    desk: Desk, site: PageServer
):
    own = (await desk.verb("open", url="about:blank"))["tabId"]
    _, persons = await desk.tab(site.url("small.html"))
    await desk.chrome.tell(desk.popup, "shareTab", tabId=persons)
    await desk.event("shared", persons)
    await desk.verb("rules", tabIds=[own, persons], rules=[block("127.0.0.1")])
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(QUICK)
    desk.link._wire.close(1000, "go")  # pyright: ignore
    ruled = f"{RULES}.then(all => JSON.stringify(all.flatMap(rule => rule.condition.tabIds)))"
    await desk.popup.until(f"{ruled}.then(it => it === '[]')")
    await desk.popup.until(f"chrome.tabs.query({{}}).then(all => all.every(one => one.id !== {own}))")
    assert await desk.popup.js(f"chrome.tabs.get({persons}).then(tab => tab.id)") == persons
    await desk.chrome.kill_worker()


HOLDS_ON = """{ globalThis.order = []; const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (text) { order.push(JSON.parse(text).type); send.call(this, text) };
const detach = chrome.debugger.detach.bind(chrome.debugger), real = setTimeout;
chrome.debugger.detach = async (it) => { await new Promise(done => real(done, 1000)); order.push('gone'); await detach(it) } }"""


async def test_who_comes_back_while_it_lets_go_says_hello_afterwards(desk: Desk):
    """Else it would undo what the daemon has just set up."""
    tab = (await desk.verb("open", url="about:blank"))["tabId"]
    await desk.verb("attach", tabId=tab)
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(HOLDS_ON)
    await worker.js(QUICK)
    desk.link._wire.close(1000, "go")  # pyright: ignore
    await worker.until("order.includes('hello')")
    assert [one for one in await worker.js("order") if one in ("gone", "hello")][:2] == ["gone", "hello"]
    await desk.until(lambda: desk.link.connected, "it is back")
    assert desk.link.attached == {}
    boot = desk.link.boot
    await desk.chrome.kill_worker()  # with what was changed in it
    await desk.until(lambda: desk.link.connected and desk.link.boot != boot, "a new life of the worker")


async def test_downloads_of_agents_are_told_and_the_persons_are_not(desk: Desk, site: PageServer):
    agents = (await desk.verb("open", url=site.url("download.html")))["tabId"]
    await desk.loaded(agents)
    await desk.verb("attach", tabId=agents)
    await desk.cdp(agents, "Page.enable")
    page, _ = await desk.tab(site.url("small.html"))
    await page.js(
        "const a = document.createElement('a'); a.href = 'data:text/plain,mine'; a.download = 'mine.txt'; a.click()"
    )
    await desk.popup.until("chrome.downloads.search({}).then(all => all.length === 1 && all[0].state === 'complete')")
    link = "const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob(['agent']));"
    link += "a.download = 'agents.txt'; document.body.append(a); a.click()"
    await desk.cdp(agents, "Runtime.evaluate", expression=link, userGesture=True)
    done = await desk.event("download", agents, state="complete")
    assert (done["path"].endswith("agents.txt"), done["totalBytes"]) == (True, 5)
    told = {(one[1], one[2]["downloadId"]) for one in desk.events if one[0] == "download"}
    assert told <= {(agents, done["downloadId"])}
    assert await desk.verb("download_cancel", downloadId=-1) == {"canceled": False}
