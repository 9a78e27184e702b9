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
        await desk.verb("rules", tabIds=[agents], rules=[{"action": {"type": "nonsense"}, "condition": {}}])
    assert await reach(desk, agents, site.url("echo")) == "refused"
    await desk.chrome.tell(desk.popup, "stop")
    assert await desk.popup.js("chrome.declarativeNetRequest.getSessionRules()") == []


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
