"""F02, F03: the connection comes back by itself, whatever ends; what came too late does not run."""

import asyncio
import contextlib
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.providers import link as link_module
from tests.daemon_here import daemon_here
from tests.own_chrome import OwnChrome, Page
from tests.promises import promise
from tests.server import PageServer

from .conftest import Desk, Refusal

pytestmark = promise("F02", "F03", "F08")

# Three words of the worker's to the daemon that say that it lives.
ALIVE = """new Promise(done => { const say = WebSocket.prototype.send, said = []; WebSocket.prototype.send = function (text) {
  if (this.url.endsWith('/bridge') && text.includes('alive') && said.push(text) === 3) {
    WebSocket.prototype.send = say;
    done(said);
  }
  say.call(this, text);
} })"""


async def back(desk: Desk, boot: str) -> None:
    """The next life of the worker is connected."""
    await desk.until(lambda: desk.link.connected and desk.link.boot != boot, "a new life of the worker")


async def test_a_killed_worker_is_back_within_two_seconds_with_what_it_held(desk: Desk, site: PageServer):
    made = await desk.verb("open", url=site.url("small.html"))
    tab = made["tabId"]
    await desk.loaded(tab)
    target = (await desk.verb("attach", tabId=tab))["targetId"]
    await desk.cdp(tab, "Runtime.evaluate", expression="window.mark = 7")
    link = desk.link
    for _ in range(5):
        boot, began = link.boot, time.monotonic()
        await desk.chrome.kill_worker()
        await back(desk, boot)
        assert time.monotonic() - began < 2
        assert link is desk.link
        assert (link.attached, list(link.tabs), link.tabs[tab].ours) == ({tab: target}, [tab], True)
        told = await desk.cdp(tab, "Runtime.evaluate", expression="window.mark")
        assert told["result"]["value"] == 7
    assert (await desk.state())["mode"] == "active"


async def test_a_worker_that_held_nothing_is_back_too(desk: Desk):
    boot = desk.link.boot
    await desk.chrome.kill_worker()
    began = time.monotonic()
    await back(desk, boot)
    assert time.monotonic() - began < 2


async def test_what_is_under_way_when_the_worker_dies_ends_at_once_and_runs_once(desk: Desk, site: PageServer):
    made = await desk.verb("open", url=site.url("small.html"))
    tab = made["tabId"]
    await desk.loaded(tab)
    await desk.verb("attach", tabId=tab)
    boot = desk.link.boot
    slow = "window.runs = (window.runs || 0) + 1; document.title = 'it runs'; new Promise(() => {})"
    under_way = asyncio.create_task(desk.cdp(tab, "Runtime.evaluate", expression=slow, awaitPromise=True))
    await desk.event("tab", tab, title="it runs")
    await desk.chrome.kill_worker()
    with pytest.raises(Refusal) as caught:
        await under_way
    assert caught.value.code == "browser_gone"
    await back(desk, boot)
    assert (await desk.cdp(tab, "Runtime.evaluate", expression="window.runs"))["result"]["value"] == 1


async def test_what_arrives_after_its_deadline_does_not_run(desk: Desk, site: PageServer):
    """The browser slept, say: commands wait in its socket, and their callers have long given up."""
    made = await desk.verb("open", url="about:blank")
    tab = made["tabId"]
    await desk.verb("attach", tabId=tab)
    desk.chrome.freeze(True)
    try:
        late = site.url("small.html?late")
        calls = [asyncio.create_task(desk.verb("open", timeout=0.3, url=late)) for _ in range(3)]
        calls += [
            asyncio.create_task(
                desk.verb(
                    "cdp", timeout=0.3, tabId=tab, method="Runtime.evaluate", params={"expression": "window.late = 1"}
                )
            )
        ]
        ended = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        desk.chrome.freeze(False)
    assert [one.code for one in ended if isinstance(one, Failure)] == ["timeout"] * 4
    assert (await desk.cdp(tab, "Runtime.evaluate", expression="typeof window.late"))["result"]["value"] == "undefined"
    after = await desk.verb("open", url=site.url("small.html?in-time"))  # tabs open in the order of being asked for
    assert [one["tabId"] for one in (await desk.verb("tabs"))["tabs"]] == [tab, after["tabId"]]
    assert await desk.popup.js("chrome.tabs.query({}).then(all => all.filter(t => t.url.includes('late')).length)") == 0


async def test_the_extension_itself_says_that_it_is_too_late(
    desk: Desk, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    """Of what was sent in time and came late: the clock that the deadline is of stands a minute behind."""
    monkeypatch.setattr(link_module, "time", SimpleNamespace(time=lambda: time.time() - 60))
    answers: asyncio.Queue[Any] = asyncio.Queue()
    wish: dict[str, Any] = {"url": site.url("small.html?late")}
    desk.link._send("open", wish, 5, lambda *told: answers.put_nowait(told), "open")
    data, problem = await asyncio.wait_for(answers.get(), 5)
    assert (data, problem.code) == (None, "too_late")
    with pytest.raises(Failure, match="nothing was done") as caught:
        await desk.verb("open", **wish)
    assert caught.value.code == "timeout"
    monkeypatch.undo()
    made = await desk.verb("open", **wish)  # nothing else is wrong with it
    assert [one["tabId"] for one in (await desk.verb("tabs"))["tabs"]] == [made["tabId"]]


async def test_it_finds_a_restarted_daemon_and_then_lets_go_of_one_that_stays_away(
    chrome: OwnChrome, popup: Page, tmp_path: Path
):
    await chrome.tell(popup, "unpair")
    await chrome.tell(popup, "allow")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with daemon_here(home) as here:
        desk = Desk(chrome, popup, here)
        assert await desk.pair(await desk.code()) == ""
        port = desk.port
        made = await desk.verb("open", url="about:blank")
        await desk.verb("attach", tabId=made["tabId"])
    (home / "daemon.json").unlink(missing_ok=True)
    assert link_module.RETURN_S < 12  # so long the daemon waits for the browser, which waits longer
    async with contextlib.AsyncExitStack() as second:
        here = await second.enter_async_context(daemon_here(home, port=port))
        desk = Desk(chrome, popup, here)
        await desk.until(lambda: any(link.connected for link in here.links), "the browser at the new daemon")
        assert desk.link.name == "work"
        if going := desk.link.let_go(made["tabId"]):  # it was held for the daemon before
            await going
        await desk.verb("attach", tabId=made["tabId"])
        assert await desk.number(made["tabId"]) == 42
        assert (await desk.state())["attachedTabs"] == 1
        kept = await desk.verb("open", url="about:blank")
        await popup.js(f"chrome.tabs.ungroup({kept['tabId']})")  # the person takes it
        await desk.until(lambda: kept["tabId"] not in desk.link.tabs, "it is the person's")
        async with chrome.hastened(12_000, 1_000):
            await second.aclose()
            await popup.until("chrome.runtime.sendMessage({type: 'state'}).then(it => it.attachedTabs === 0)", 15)
    state = await desk.state()
    assert (state["mode"], state["words"]) == ("off", f"No Pilothouse answers on port {port}")
    assert "another port" in state["next"]
    await popup.until(f"chrome.tabs.query({{}}).then(all => all.every(one => one.id !== {made['tabId']}))")
    await popup.js(f"chrome.tabs.remove({kept['tabId']})")  # is there still
    await chrome.tell(popup, "unpair")


async def test_it_says_that_it_is_alive(fresh: Desk):
    """A word every 20 s keeps Chrome from ending the worker, and finds a daemon that is not there any more."""
    async with fresh.chrome.hastened(20_000, 50) as worker:
        words = asyncio.create_task(worker.js(ALIVE))
        assert await fresh.pair(await fresh.code()) == ""
        boot = fresh.link.boot
        assert await words == ['{"type":"alive"}'] * 3
        assert fresh.link.connected
        assert fresh.link.boot == boot
