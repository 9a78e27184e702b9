"""F07: a person watches a session live, takes the wheel, acts in the picture, and gives it back; agents wait meanwhile."""

import asyncio

import pytest

from pilothouse import pausing
from pilothouse.doors import live, outbox
from tests.daemon_here import Here
from tests.own_chrome import OwnChrome
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.dashboard import Dashboard
from tests.ui.line import person_line

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
    state = await agent.call("evaluate_js", expression="document.querySelector('#name').value")
    assert state["data"]["value"] == "Ada"
    await agent.do("wait_for", function="scrollY > 0")  # a wheel's turn is drawn over some frames
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
    hint = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText"
    assert "Shift+Escape" in await dashboard.page.js(hint)
    # Chrome has a use of its own for it, which is prevented.
    await dashboard.page.js(
        "globalThis.kept = [], onkeydown = onkeyup = (event) => kept.push(event.defaultPrevented), 0"
    )
    for kind in ("keyDown", "keyUp"):
        await dashboard.page.channel.send("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape", modifiers=8)
        await dashboard.page.js("document.querySelector('.stage canvas').focus()")
    assert await dashboard.page.js("kept") == [True, True]
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


async def test_a_dialog_is_answered_once(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """A second press, or an answer that comes late, does not answer the next one, whatever it says."""
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.sees("You have the wheel")
    tab = next(one for one in here.gate._sessions.every() if one.id == agent.session).current
    assert tab
    twice = "setTimeout(() => { document.title = `${confirm('Go on?')} ${confirm('Go on?')}` })"
    await tab.channel.send("Runtime.evaluate", expression=twice)
    ok = "find('.notice button', 'OK')"
    await dashboard.page.until(f"{ok} && !{ok}.disabled")
    first = tab.dialog
    assert first
    await dashboard.page.js(f"globalThis.before = {ok}, before.click(), 0")
    # The next one stands in the same place, and the person presses on.
    pressed = f"{ok} && {ok} !== before && ({ok}.click(), before.click(), {ok}.disabled)"
    assert await dashboard.page.until(pressed)
    async with person_line(here) as line:
        told = await line.ask("dialog", session=agent.session, tab=tab.name, number=first.number, accept=True)
    assert told["error"]["code"] == "not_found"
    assert tab.dialog
    assert tab.dialog.message == first.message
    await dashboard.press("Cancel", ".notice button")
    await is_called(here, agent, "true false")
    await dashboard.press("Give the wheel back")
    await dashboard.sees("You are watching")


async def test_the_focus_is_nobody_elses(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """Another page of the person's takes the wheel: who writes here goes on writing."""
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    await dashboard.page.js("find('button', 'End session').focus()")
    async with person_line(here) as line:
        assert (await line.ask("take", session=agent.session))["kind"] == "done"
        await dashboard.sees("You have the wheel")
        await dashboard.page.until("document.querySelector('.stage canvas').tabIndex === 0")
        assert await dashboard.page.js("document.activeElement.textContent") == "End session"
        assert (await line.ask("give_back", session=agent.session))["kind"] == "done"
    await dashboard.sees("You are watching")


async def test_what_is_held_is_let_go(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """A key that is down when the person looks at something else does not stay down in the page."""
    await agent.do("navigate", url=site.inline(PAGE))
    await agent.do(
        "evaluate_js", expression="addEventListener('keyup', (event) => { document.title = `up ${event.key}` })"
    )
    await at_picture(dashboard, agent)
    await dashboard.press("Take the wheel")
    await dashboard.page.until("document.activeElement === document.querySelector('.stage canvas')")
    await dashboard.page.channel.send("Input.dispatchKeyEvent", type="keyDown", key="Shift", code="ShiftLeft")
    # Without a blur: the picture itself goes while the key is down.
    await dashboard.page.js(
        "document.querySelector('.stage canvas').addEventListener('blur', (e) => e.stopImmediatePropagation(), true)"
    )
    await dashboard.go("health")
    await is_called(here, agent, "up Shift")
    await dashboard.go(f"session/{agent.session}")
    await dashboard.press("Give the wheel back")
    await dashboard.sees("You are watching")


async def test_a_picture_that_stands_still_says_so(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    await agent.do("navigate", url=site.inline(PAGE))
    await at_picture(dashboard, agent)
    still = "document.querySelector('.screen-still')"
    assert await dashboard.page.js(f"{still}.hidden")
    seen = asyncio.create_task(
        dashboard.page.js(
            f"new Promise((done) => new MutationObserver((_, watcher) => {still}.hidden || (watcher.disconnect(), done({still}.innerText)))"
            f".observe({still}, {{attributes: true}}))"
        )
    )
    await dashboard.page.js("1")
    monkeypatch.setattr(outbox, "MAX_UNREAD", 0)  # everybody is too slow now, and sent away
    here.gate._audit.note("the_break", name="sends it away")
    assert "stands still" in await asyncio.wait_for(seen, 10)
    monkeypatch.undo()
    await dashboard.page.until(f"{still}.hidden", 20)


async def test_tabs_keep_focus_and_press(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """Those of the session and those of its lines: by keys, and while titles and counts change."""
    await agent.do("navigate", url=site.inline(PAGE))
    await agent.do("new_tab", url=site.url("small.html"))
    await at_picture(dashboard, agent)
    row = "document.querySelector('[aria-label=Tabs]')"
    await dashboard.page.until(f"{row}.children.length === 2 && {row}.children[1].ariaSelected === 'true'")
    assert await dashboard.page.js(
        "document.getElementById(find('[role=tab]', 'Wheel').getAttribute('aria-controls')) !== null"
    )
    await dashboard.page.js(f"{row}.children[1].focus()")
    await dashboard.key("ArrowRight", "ArrowRight", 39)
    await dashboard.page.until(f"document.activeElement === {row}.children[0]")
    await dashboard.page.channel.send(
        "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
    )
    await dashboard.page.channel.send("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter")
    await dashboard.page.until(f"{row}.children[0].ariaSelected === 'true'")
    assert await dashboard.page.js(f"document.activeElement === {row}.children[0]")
    await agent.do("navigate", url=site.inline("<!doctype html><title>Another name</title>"))
    await dashboard.page.until(f"{row}.children[1].textContent.includes('Another name')")
    assert await dashboard.page.js(f"document.activeElement === {row}.children[0]")
    await agent.do("switch_tab", tab="t1")
    network = "find('.lines-card .tab', 'Network')"
    await dashboard.page.js(f"globalThis.held = {network}, held.focus(), 0")
    before = await dashboard.page.js("held.textContent")
    await agent.do("evaluate_js", expression="fetch('/small.html').then((one) => one.status)")
    await dashboard.page.until(f"held.textContent !== {before!r}")
    assert await dashboard.page.js(f"document.activeElement === held && held === {network}")


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
