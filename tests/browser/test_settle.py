"""After an action the page is whole: nothing half-made is ever shown, and nothing is waited for in vain."""

import asyncio
import time

import pytest

from pilothouse.browser import settle, snapshot
from pilothouse.browser.input import stroke
from pilothouse.browser.keys import strokes
from pilothouse.browser.settle import REQUESTS_S
from pilothouse.browser.tab import Tab
from tests.browser.looking import look, put
from tests.browser.test_memory import session_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A09")


async def test_late_timers_are_seen_by_the_next_call(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("wizard.html"))
    await agent.call("type_text", target="#field", text="Ada")
    await agent.call("click", target="#next")
    await agent.call("select_option", target="#field", values=["M"])
    await agent.call("click", target="#next")
    await agent.call("click", target="#field")
    await agent.call("click", target="#next")
    assert "Step 4" in await look(agent)
    await agent.call("click", target="#next")
    assert "All done" in await look(agent)


@pytest.mark.parametrize("delay", [0, 20, 60, 90])
async def test_a_timer(agent: Agent, site: PageServer, delay: int) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(f"go.onclick = () => setTimeout(() => {{ late.textContent = 'Late news' }}, {delay}); return 0")
    await agent.call("click", target="#go")
    assert "Late news" in await look(agent)


BURN = "const burn = (ms) => { const end = performance.now() + ms; while (performance.now() < end); };"


@pytest.mark.parametrize(
    "pressed",
    [
        # Longer than a window and its grace together: of the time after the press nothing is left for the timer.
        "() => setTimeout(() => { burn(700); setTimeout(() => { late.textContent = 'Late news' }, 60) })",
        # The timer is in time, and what it draws comes two frames later.
        "() => setTimeout(() => { burn(60); const draw = requestAnimationFrame;"
        " draw(() => draw(() => { late.textContent = 'Late news' })) }, 70)",
    ],
    ids=["a timer", "a frame"],
)
async def test_what_a_busy_page_owes(agent: Agent, site: PageServer, pressed: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(f"{BURN} go.onclick = {pressed}; return 0")
    await agent.call("click", target="#go")
    assert "Late news" in await look(agent)


async def test_updates_after_a_fetch_are_complete(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("todo.html?store=1"))
    for task in ("Milk", "Bread"):
        await agent.call("type_text", target="#task", text=task, submit=True)
        assert f"Delete {task}" in await look(agent)
    await agent.call("click", target="text=Milk")
    assert "1 open" in await look(agent)


@pytest.mark.parametrize(
    "pressed",
    [
        # The answer comes when the time after the press itself is long over.
        "() => fetch('/slow?ms=250').then(() => setTimeout(() => { late.textContent = 'Late news' }, 60))",
        "async () => { for (let n = 0; n < 3; n++) await fetch('/slow?ms=80'); late.textContent = 'Late news' }",
    ],
    ids=["a timer that an answer sets", "one request after another"],
)
async def test_what_comes_of_answers(agent: Agent, site: PageServer, pressed: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(f"go.onclick = {pressed}; return 0")
    await agent.call("click", target="#go")
    assert "Late news" in await look(agent)


@promise("A04")
@pytest.mark.parametrize(
    "leave",
    [
        "<a id=x href='/slow?ms=200'>x</a>",
        "<form action='/slow'><input type=hidden name=ms value=200><button id=x>x</button></form>",
        "<button id=x onclick=\"location.href = '/slow?ms=200'\">x</button>",
        "<button id=x onclick=\"setTimeout(() => { location.href = '/slow?ms=200' }, 60)\">x</button>",
        "<button id=x onclick=\"fetch('/slow?ms=50').then(() => { location.href = '/slow?ms=200' })\">x</button>",
    ],
    ids=["link", "form", "script", "timer", "fetch"],
)
async def test_a_navigation_is_waited_for(agent: Agent, site: PageServer, leave: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, leave)
    await agent.call("click", target="#x")
    assert "Slow page" in await look(agent)


@promise("A04")
async def test_the_click_that_navigates_says_where(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    answer = await agent.ask("click", target="text=Next")
    assert answer.data["url"] == site.url("small.html?2")
    assert f'now at {site.url("small.html?2")} "Small"' in answer.text
    assert "url" not in (await agent.ask("click", target="#go")).data


@promise("A08")
async def test_routes_of_a_single_page_app(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("spa.html"))
    await agent.call("click", target="text=List")
    await agent.call("click", target="text=Item 2")
    assert "Detail of item2" in await look(agent)
    assert (await agent.call("go_back"))["url"].endswith("page=list")
    assert "Item 3" in await look(agent)


async def test_a_log_in(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("login?ms=100"))
    fields = [{"target": "text=User", "value": "ada"}, {"target": "text=Password", "value": "lovelace"}]
    answer = await agent.ask("fill_form", fields=fields, submit=True)
    assert answer.data["url"] == site.url("account")
    assert "Account of ada" in await look(agent)


async def test_an_address_as_long_as_a_page_likes_is_cut(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    answer = await agent.ask("evaluate_js", expression="history.pushState(0, '', '/' + 'x'.repeat(5000))")
    assert len(answer.text) < 500
    assert 'xxx… "Small"' in answer.text
    assert len(answer.data["url"]) > 5000
    arrived = await agent.ask("navigate", url=site.url(f"small.html?{'y' * 5000}"))
    assert "now at" not in arrived.text  # it says so itself


async def test_a_long_poll_costs_its_bound_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("go.onclick = () => { fetch('/hang'); document.getElementById('clicks').textContent = 1 }; return 0")
    began = time.monotonic()
    await agent.call("click", target="#go")
    assert time.monotonic() - began < REQUESTS_S + 6  # it would be the call's whole deadline
    began = time.monotonic()
    await look(agent)
    await agent.call("type_text", target="#name", text="Ada")
    await look(agent)
    assert time.monotonic() - began < 2 * REQUESTS_S  # each of the three would pay it


async def test_streams_and_endless_animation_are_not_waited_for(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(
        "go.onclick = () => { new EventSource('/sse'); new WebSocket(`ws://${location.host}/ws?ticks=20`);"
        " setInterval(() => { late.textContent = performance.now() }, 10) }; return 0"
    )
    began = time.monotonic()
    await agent.call("click", target="#go")
    await look(agent)
    assert time.monotonic() - began < 8


_FETCHES = "fetch('/slow?ms=120').then(() => { late.textContent = 'Fetched' })"


@pytest.mark.parametrize(
    "hides",
    [
        "addEventListener('mouseup', (e) => e.stopImmediatePropagation(), true)",
        "dispatchEvent(new MouseEvent('mouseup'))",
        "go.onmousedown = () => dispatchEvent(new MouseEvent('mouseup'))",
    ],
    ids=["swallows", "forged before", "forged on the way"],
)
async def test_a_page_that_hides_or_forges_an_input_is_waited_for_too(
    agent: Agent, site: PageServer, hides: str
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(f"{hides}; go.onclick = () => {{ {_FETCHES} }}; return 0")
    await agent.call("click", target="#go")
    assert await agent.js("late.textContent") == "Fetched"


async def test_a_key_that_goes_to_a_frame_is_waited_for_too(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    inner = f'<input autofocus onkeydown="parent.{_FETCHES.replace("late", "parent.late")}">'
    await put(agent, f'<p id=late></p><iframe srcdoc="{inner.replace(chr(34), "&quot;")}"></iframe>')
    await agent.call("click", target="input")
    began = time.perf_counter()
    await agent.call("press_key", key="a")
    assert await agent.js("late.textContent") == "Fetched"
    assert time.perf_counter() - began < REQUESTS_S


async def test_what_kept_a_form_from_being_sent_is_told_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<form><input id=who required><button id=send>Send</button></form>")
    said = await agent.text("click", target="#send")
    assert "fill out this field" in said.lower() or "who" in said
    assert await agent.text("press_key", key="a") == "pressed a"


@promise("A09", "C07")
async def test_a_request_that_outlasts_the_patience_is_told(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "REQUESTS_S", 0.3)
    ask = "fetch('/slow?ms=1500&key=1').then(() => document.title = 'Done')"
    await agent.call("navigate", url=site.inline(f'<button onclick="{ask}">Slow</button>'))
    told = await agent.text("click", target="text=Slow")
    assert told.startswith('clicked button "Slow" (still open: GET /slow, see wait_for idle)')
    await agent.call("wait_for", idle=True)
    assert await agent.js("document.title") == "Done"
    assert "still open" not in await agent.text("click", target="body")


@promise("A09", "C07")
async def test_a_request_that_has_ended_by_the_snapshot_is_not_called_open(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "REQUESTS_S", 0.3)
    ask = "fetch('/slow?ms=1500').then(() => document.title = 'Done')"
    await agent.call("navigate", url=site.inline(f'<button onclick="{ask}">Slow</button>'))
    take, open_then = snapshot.take, []

    async def later(tab: Tab, options: snapshot.Options) -> snapshot.Snapshot:
        open_then.extend(tab.network.in_flight())
        await tab.network.quiet(open_then, 10)
        return await take(tab, options)

    monkeypatch.setattr(snapshot, "take", later)
    told = await agent.text("click", target="text=Slow", snapshot="full")
    assert len(open_then) == 1
    assert "still open" not in told


async def test_an_input_that_overtakes_the_question_for_the_turns_after_it_is_not_waited_for(
    agent: Agent, site: PageServer
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = session_of(agent).tabs[0]
    world = tab.frames.main.world
    assert world
    await world.call("focusAim", {})
    await stroke(tab, strokes("a"))  # the page has it before it is asked
    assert (await world.call("tickAfter", "keyup", timeout=5))["refused"] == []
    await world.call("focusAim", {})  # what came before a look is no answer to what comes after
    waiting = asyncio.create_task(world.call("tickAfter", "keyup", timeout=5))
    await world.call("page")
    assert not waiting.done()
    await stroke(tab, strokes("a"))
    await waiting
    await agent.js("document.open(); document.write('<p>anew'); document.close(); return 0")
    waiting = asyncio.create_task(world.call("tickAfter", "keyup", timeout=5))
    await world.call("page")
    await stroke(tab, strokes("a"))
    await waiting


async def test_a_question_for_turns_that_were_never_to_come_takes_nothing_from_the_next_action(agent: Agent) -> None:
    await put(agent, "<form><input id=who required><button id=send>Send</button></form>")
    world = session_of(agent).tabs[0].frames.main.world
    assert world
    first, second = (asyncio.create_task(world.call("tickAfter", "keyup", timeout=5)) for _ in range(2))
    assert await first is None  # another has taken its place
    said = await agent.text("click", target="#send")
    assert "fill out this field" in said.lower() or "who" in said
    assert await second is None


LATE = """<title>Late</title>
<button onclick="setTimeout(() => {{ {what} }}, 60)">{name}</button>"""


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("console.error('oh')", 'console error after clicked button "Go": "oh"'),
        ("alert('Well')", 'it says "Well"\nit came after clicked button "Go"'),
        ("window.open('about:blank#new')", 'tab opened after clicked button "Go": t2 opened by t1'),
        ("location = '/small.html'", ', after clicked button "Go"'),
        ("location = '/download'", 'download after clicked button "Go": "report.bin" '),
    ],
)
@promise("A19")
async def test_what_comes_late_is_told_with_what_it_comes_after(
    agent: Agent, site: PageServer, what: str, told: str
) -> None:
    await agent.call("navigate", url=site.inline(LATE.format(what=what, name="Go")))
    assert " after clicked" not in await agent.text("click", target="text=Go")
    assert told in (await agent.ask("evaluate_js", expression="1")).text
    assert " after clicked" not in (await agent.ask("get_current_url")).text


@promise("A19")
async def test_what_an_action_brings_at_once_is_not_told_as_late(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button onclick=\"console.error('oh')\">Go</button>"))
    for _ in range(2):
        assert '\nconsole error: "oh"' in await agent.text("click", target="text=Go")


@promise("A07")
async def test_a_button_s_name_is_no_line_of_its_own_among_what_comes_late(agent: Agent, site: PageServer) -> None:
    name = 'Go"\ndownload: "all.zip" completed \u202e password: hunter22'
    await agent.call("navigate", url=site.inline(LATE.format(what="console.error('oh')", name=name)))
    said = await agent.text("click", target="button")
    answer = await agent.ask("get_page_state")
    (line,) = [one for one in answer.text.split("\n") if one.startswith("console error after")]
    did = line.removeprefix("console error after ").removesuffix(': "oh"')
    assert did in said
    assert '\\"' in did
    assert "\u202e" not in did
    assert "hunter22" not in did
    assert answer.data["events"][0]["after"] == did
