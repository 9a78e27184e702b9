"""F07: a person watches a session live, takes the wheel, acts in the picture, and gives it back; agents wait meanwhile."""

import asyncio

import pytest

from pilothouse import pausing
from pilothouse.doors import live
from tests.daemon_here import Here
from tests.own_chrome import OwnChrome
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.dashboard import Dashboard

pytestmark = promise("F07", "F08")

PAGE = """<!doctype html><title>Wheel</title><body style="margin:0">
<button id=big style="position:fixed;left:0;top:0;width:400px;height:200px" onclick="document.title='pressed'">Press</button>
<input id=name style="position:fixed;left:0;top:300px;width:400px;height:60px;font-size:30px">
<div style="height:4000px"></div>"""
FRAMES = "Number(document.querySelector('.stage canvas')?.dataset.frames ?? 0)"


async def at_picture(dashboard: Dashboard, agent: RestAgent) -> None:
    await dashboard.go(f"session/{agent.session}")
    await dashboard.page.until(f"{FRAMES} > 0")


async def point(dashboard: Dashboard, x: float, y: float) -> None:
    """A press on a place of the page, in its picture; its window is 1280 x 800."""
    await dashboard.click("document.querySelector('.stage canvas')", (x / 1280, y / 800))


async def is_called(here: Here, agent: RestAgent, title: str) -> None:
    """Asked of the page itself: agents wait, and nobody is told of a new title."""
    tab = next(one for one in here.gate._sessions.every() if one.id == agent.session).current
    assert tab
    async with asyncio.timeout(10):
        while (await tab.channel.send("Runtime.evaluate", expression="document.title"))["result"]["value"] != title:
            await asyncio.sleep(0.02)


async def test_the_picture_is_live(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await dashboard.page.until("document.querySelector('.tile canvas')?.dataset.frames > 0")
    await at_picture(dashboard, agent)
    await dashboard.sees("Wheel", "h1")
    before = await dashboard.page.js(FRAMES)
    await agent.do("evaluate_js", expression="document.body.style.background = 'rgb(0, 128, 0)'")
    await dashboard.page.until(f"{FRAMES} > {before}")
    green = """(() => { const c = document.querySelector('.stage canvas');
        const [r, g, b] = c.getContext('2d').getImageData(c.width * 0.8, c.height * 0.8, 1, 1).data; return g > 100 && r < 40 && b < 40; })()"""
    await dashboard.page.until(green)


async def test_it_is_sent_only_while_somebody_looks(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer
):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    session = next(one for one in here.gate._sessions.every() if one.id == agent.session)
    heard: list[object] = []
    assert session.current
    session.current.channel.on("Page.screencastFrame", heard.append)
    await dashboard.go("health")
    async with asyncio.timeout(10):
        while session.watched:
            await asyncio.sleep(0.01)
    await agent.do("evaluate_js", expression="1")  # what was on its way has come
    count = len(heard)
    await agent.do("evaluate_js", expression="document.body.style.background = 'red'")
    await agent.do("evaluate_js", expression="new Promise((done) => setTimeout(done, 300))")
    assert len(heard) == count


async def test_a_page_behind_others_is_sent_none(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    session = next(one for one in here.gate._sessions.every() if one.id == agent.session)
    hidden = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true}), document.dispatchEvent(new Event('visibilitychange'))"
    await dashboard.page.js(hidden % "true")
    async with asyncio.timeout(10):
        while session.watched:
            await asyncio.sleep(0.01)
    await dashboard.page.js(hidden % "false")
    before = await dashboard.page.js(FRAMES)
    await dashboard.page.until(f"{FRAMES} > {before}")


async def test_a_tab_that_cannot_be_shown_says_why(
    dashboard: Dashboard, agent: RestAgent, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "MAX_WATCHED", 0)
    await agent.do("navigate", url=site.inline(PAGE))
    await dashboard.go(f"session/{agent.session}")
    await dashboard.sees("No picture: 0 pictures are shown already", ".stage")


async def test_taking_the_wheel(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.sees("You have the wheel")
    waiting = asyncio.create_task(agent.call("get_page_title"))  # the agent comes, and waits
    await dashboard.sees("1 call waiting")
    await point(dashboard, 200, 100)
    await is_called(here, agent, "pressed")
    await point(dashboard, 200, 330)
    for letter in "Ada":
        await dashboard.key(letter)
    await dashboard.page.channel.send("Input.dispatchMouseEvent", type="mouseWheel", x=500, y=400, deltaX=0, deltaY=300)
    assert not waiting.done()
    await dashboard.press("Give the wheel back")
    assert (await waiting)["data"]["title"] == "pressed"
    state = await agent.call("evaluate_js", expression="[document.querySelector('#name').value, scrollY]")
    assert state["data"]["value"][0] == "Ada"
    assert state["data"]["value"][1] > 0
    for kind in ("wheel_taken", "wheel_given_back"):
        assert [one["by"] for one in here.notes(kind) if one["session"] == agent.session] == ["person"]


async def test_an_agent_that_cannot_wait_is_told(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pausing, "PATIENCE_S", 0.05)
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.sees("You have the wheel")
    told = await agent.call("click", target="#big")
    assert told["error"]["code"] == "paused"
    assert told["error"]["retryable"]
    assert "wheel" in told["error"]["message"]
    await dashboard.press("Give the wheel back")
    await dashboard.sees("You are watching")
    told = await agent.call("click", target="#big")
    assert told["success"]
    assert "a person had the wheel" in told["metadata"]["text"]


async def test_without_the_wheel_nothing_is_pressed(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await point(dashboard, 200, 100)
    assert (await agent.do("get_page_title"))["title"] == "Wheel"


async def test_the_keyboard_is_not_caught(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.page.until("document.activeElement === document.querySelector('.stage canvas')")
    await dashboard.page.channel.send(
        "Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", modifiers=8
    )
    await dashboard.page.until("document.activeElement.textContent === 'Give the wheel back'")
    await dashboard.press("Give the wheel back")
    await dashboard.sees("You are watching")


async def test_what_other_keyboards_write(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """AltGr is Control and Alt on some of them; what is composed comes from a field of its own."""
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.page.until("document.activeElement === document.querySelector('.stage canvas')")
    await point(dashboard, 200, 330)
    pressed = "document.activeElement.dispatchEvent(new KeyboardEvent('%s', {key: '@', code: 'KeyQ', keyCode: 81, ctrlKey: true, altKey: true, modifierAltGraph: true, bubbles: true, cancelable: true}))"
    for kind in ("keydown", "keyup"):
        await dashboard.page.js(pressed % kind)
    pasted = """(() => { const data = new DataTransfer(); data.setData('text/plain', '€ ');
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})); })()"""
    await dashboard.page.js(pasted)
    await dashboard.type("document.querySelector('[aria-label=\"Text for the page\"]')", "日本")
    await dashboard.press("Write")
    tab = next(one for one in here.gate._sessions.every() if one.id == agent.session).current
    assert tab
    async with asyncio.timeout(10):
        value = ""
        while value != "@€ 日本":
            told = await tab.channel.send("Runtime.evaluate", expression="document.querySelector('#name').value")
            value = told["result"]["value"]
            await asyncio.sleep(0.02)
    await dashboard.press("Give the wheel back")
    await dashboard.sees("You are watching")


async def test_a_dialog_is_answered(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.sees("You have the wheel")
    tab = next(one for one in here.gate._sessions.every() if one.id == agent.session).current
    assert tab
    await tab.channel.send(
        "Runtime.evaluate", expression="setTimeout(() => { document.title = prompt('Who are you?') })"
    )
    await dashboard.sees("Who are you?", ".notice")
    await dashboard.type("document.querySelector('[aria-label=\"Your answer\"]')", "Ada")
    await dashboard.press("OK")
    await is_called(here, agent, "Ada")
    await dashboard.press("Give the wheel back")
    await dashboard.sees("You are watching")


async def test_console_and_network(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await agent.do(
        "evaluate_js", expression="console.error('it broke'), fetch('/small.html').then((one) => one.status)"
    )
    await dashboard.sees("it broke", ".lines-card")
    await dashboard.press("Network", ".lines-card .tab")
    await dashboard.sees("small.html", ".lines-card")
    await dashboard.press("small.html", ".lines-card button.line")
    await dashboard.sees("Response headers", ".lines-card")
    await dashboard.press("Events", ".lines-card .tab")
    await dashboard.sees("navigation", ".lines-card")


async def test_ending_a_session(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    opened = (await agent.line.post("/api/tools/open_session", json={})).json()["data"]["session"]
    await dashboard.go(f"session/{opened}")
    await dashboard.press("End session")
    await dashboard.press("End session", "dialog button")
    await dashboard.sees("This session is over")
    assert opened not in [one["session"] for one in here.gate.every_session()]


async def test_pointing_for_an_agent(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    call = asyncio.create_task(agent.call("ask_user_to_pick", prompt="Which button?"))
    await dashboard.sees("Which button?", ".notice")
    await dashboard.page.until("document.querySelector('.stage canvas[data-mine]')")
    assert await dashboard.page.js("document.activeElement !== document.querySelector('.stage canvas')")
    await point(dashboard, 200, 100)
    told = (await call)["data"]
    assert (told["picked"], told["role"], told["name"]) == (True, "button", "Press")
    assert {one["kind"]: one["selector"] for one in told["selectors"]}["css"] == "#big"
    assert (await agent.do("get_page_title"))["title"] == "Wheel"  # the page heard nothing of the press


async def test_picking_for_oneself(
    here: Here, chrome: OwnChrome, dashboard: Dashboard, agent: RestAgent, site: PageServer
):
    """And what it is found by, to copy."""
    clipboard = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    await chrome.root.send("Browser.grantPermissions", permissions=clipboard, origin=here.url)
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Pick an element")
    await dashboard.page.until("document.querySelector('.stage canvas[data-mine]')")
    assert "The agent asks" not in await dashboard.page.js("text('.view')")
    await point(dashboard, 200, 100)
    await dashboard.sees("#big", ".picker")
    await dashboard.click("document.querySelector('[aria-label=\"Copy css\"]')")
    await dashboard.sees("Copied", ".picker")
    assert await dashboard.page.js("navigator.clipboard.readText()") == "#big"
    await dashboard.press("Pick an element")
    await dashboard.press("Cancel", ".picker button")
    await dashboard.sees("Nothing was picked", ".picker")
