"""D07, F07: a person answers in the dashboard, by mouse and by key, and sees exactly what would happen."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from statistics import median
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.daemon_here import Here, asks_for_writes
from tests.own_chrome import OwnChrome
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.dashboard import WHEN_SEEN, Dashboard

pytestmark = promise("D07", "F07", "F08")

CALM = "document.querySelector('.question[data-calm]')"  # a card takes no answer so soon after it came


@pytest.fixture(autouse=True)
async def anew(here: Here) -> AsyncIterator[None]:
    yield
    for one in here.gate.approvals.pending():
        await here.gate.approvals.answer(one["id"], "deny")
    here.gate.approvals._denials.clear()
    for grant in here.gate.approvals.grants():
        here.gate.approvals.revoke(grant["id"])


async def asked(
    here: Here, dashboard: Dashboard, agent: RestAgent, tool: str, **args: Any
) -> "asyncio.Task[dict[str, Any]]":
    """A call that waits, and its card, which has calmed down."""
    here.decide = asks_for_writes
    call = asyncio.create_task(agent.call(tool, **args))
    async with asyncio.timeout(10):
        while not here.gate.approvals.pending():
            await asyncio.sleep(0.01)
    card = f"#question-{here.gate.approvals.pending()[-1]['id']}[data-calm]"  # the one before may still be there
    await dashboard.page.until(f"document.querySelector('{card}')")
    return call


async def test_what_would_happen_is_shown(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("form.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "click", target="button")
    told = await dashboard.page.js("text('.question')")
    pending = here.gate.approvals.pending()[0]
    for part in (
        "click",
        "medium risk",
        "it changes something",
        pending["aims"][0]["name"],
        "button",
        "form.html",
        pending["domain"],
        "default",
        "rule of the test",
    ):
        assert part in told, part
    # The page's picture comes by itself, with the element marked in it.
    await dashboard.page.until("document.querySelector('.question canvas')")
    assert "marked" in await dashboard.page.js("document.querySelector('.question canvas').getAttribute('aria-label')")
    pink = """(() => { const c = document.querySelector('.question canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        for (let i = 0; i < d.length; i += 4) if (d[i] > 240 && d[i + 1] < 70 && d[i + 2] > 90 && d[i + 2] < 150) return true;
        return false; })()"""
    assert await dashboard.page.js(pink)
    await dashboard.press("Allow once")
    assert (await call)["success"]
    await dashboard.sees("Nothing waits for you")


async def test_by_key(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1 + 1")
    await dashboard.page.js("document.querySelector('.question').focus()")
    await dashboard.key("a")
    assert (await call)["data"]["value"] == 2
    call = await asked(here, dashboard, agent, "evaluate_js", expression="2 + 2")
    await dashboard.page.js("document.querySelector('.question').focus()")
    await dashboard.key("d")
    assert (await call)["error"]["code"] == "approval_denied"


async def test_for_the_session_and_taken_back(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.press("Allow for this session")
    assert (await call)["success"]
    assert (await agent.call("evaluate_js", expression="2"))["success"]  # nobody is asked again
    await dashboard.sees("evaluate_js on all sites")
    await dashboard.press("Take back")
    await dashboard.page.until("!text('main').includes('on all sites')")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="3")
    await dashboard.press("Deny")
    assert (await call)["error"]["code"] == "approval_denied"


async def test_a_card_that_just_came_takes_no_answer(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer
):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    here.decide = asks_for_writes
    # Pressed in the very moment in which it comes.
    pressing = dashboard.page.js("""new Promise((done) => new MutationObserver((_, watcher) => {
        const card = document.querySelector('.question');
        if (!card) return;
        watcher.disconnect();
        card.querySelector('button.main').click();
        done(card.id);
    }).observe(document.body, {subtree: true, childList: true}))""")
    waiting = asyncio.create_task(pressing)
    await dashboard.page.js("1")  # it watches by now
    call = asyncio.create_task(agent.call("evaluate_js", expression="1"))
    await asyncio.wait_for(waiting, 10)
    await dashboard.page.until(CALM)
    assert len(here.gate.approvals.pending()) == 1
    await dashboard.press("Deny")
    assert not (await call)["success"]


async def test_a_card_that_moves_takes_no_answer(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """Whatever moved it: a press that was meant for what stood there before is none."""
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.page.js("""new Promise((done) => {
        const above = document.createElement('p');
        above.textContent = 'something that grew';
        document.querySelector('.questions').before(above);
        requestAnimationFrame(() => requestAnimationFrame(() => {
            document.querySelector('.question button.main').click();
            done();
        }));
    })""")
    assert await dashboard.page.js("!document.querySelector('.question[data-calm]')")
    assert len(here.gate.approvals.pending()) == 1
    await dashboard.page.until(CALM)
    await dashboard.press("Allow once")
    assert (await call)["success"]


async def asked_elsewhere(here: Here, dashboard: Dashboard, agent: RestAgent) -> "tuple[str, str, asyncio.Task[Any]]":
    """A second question, of another session of the same agent: the session, the id, the call that waits."""
    session = (await agent.line.post("/api/tools/open_session", json={})).json()["data"]["session"]
    known = {one["id"] for one in here.gate.approvals.pending()}
    call = asyncio.create_task(agent.line.post(f"/api/browser/{session}/evaluate_js", json={"expression": "'other'"}))
    async with asyncio.timeout(20):
        while not (new := [one["id"] for one in here.gate.approvals.pending() if one["id"] not in known]):
            await asyncio.sleep(0.01)
    return session, new[0], call


async def test_a_key_that_was_meant_for_another_question(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer
):
    """The one that it was meant for went in that moment, and the focus is on the next."""
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    first = here.gate.approvals.pending()[0]["id"]
    session, second, other = await asked_elsewhere(here, dashboard, agent)
    await dashboard.page.until(f"document.querySelector('#question-{second}[data-calm]')")
    await dashboard.page.until(f"document.querySelector('#question-{first}[data-calm]')")
    await dashboard.page.js(f"document.querySelector('#question-{second}').focus()")
    pressing = dashboard.page.js("""new Promise((done) => new MutationObserver((_, watcher) => {
        watcher.disconnect();
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}));
        done(document.activeElement.id);
    }).observe(document.querySelector('.questions'), {childList: true}))""")
    waiting = asyncio.create_task(pressing)
    await dashboard.page.js("1")  # it watches by now
    await here.gate.approvals.answer(second, "deny")
    assert await asyncio.wait_for(waiting, 10) == f"question-{first}"
    await dashboard.page.until(CALM)
    assert [one["id"] for one in here.gate.approvals.pending()] == [first]
    await dashboard.key("a")
    assert (await call)["success"]
    await other
    await here.gate.end_session(session)


async def test_who_comes_back_reads_first(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.page.js(
        "document.dispatchEvent(new Event('visibilitychange')), document.querySelector('.question button.main').click()"
    )
    await dashboard.page.until(CALM)
    assert len(here.gate.approvals.pending()) == 1
    await dashboard.press("Deny")
    assert not (await call)["success"]


async def test_a_script_is_shown_line_by_line(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """What runs after a comment does not look like a part of it; and all of a long one can be read."""
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    script = "// only looks\u2028steal('a')\rsteal('b')\n" + "steal('c');\n" * 1000
    call = await asked(here, dashboard, agent, "evaluate_js", expression=script)
    shown = await dashboard.page.js("document.querySelector('pre.argument').innerText")
    assert shown.splitlines()[:4] == ["// only looks", "steal('a')", "steal('b')", "steal('c');"]
    assert shown.count("steal('c')") == 1000
    sizes = (
        "(() => { const it = document.querySelector('pre.argument'); return [it.scrollHeight, it.clientHeight]; })()"
    )
    whole, seen = await dashboard.page.js(sizes)
    assert seen < 400 < whole
    await dashboard.press("Deny")
    assert not (await call)["success"]
    here.gate.approvals._denials.clear()
    call = await asked(here, dashboard, agent, "evaluate_js", expression="x" * 30_000)
    await dashboard.sees("10,000 more characters, not shown", "pre.argument")
    await dashboard.press("Deny")
    assert not (await call)["success"]


async def test_what_is_denied_is_asked_again(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.press("Deny")
    assert not (await call)["success"]
    await dashboard.sees("evaluate_js", "[aria-label='Denied without asking']")
    await dashboard.press("Ask me again")
    await dashboard.page.until("document.querySelector('[aria-label=\"Denied without asking\"]').hidden")
    assert here.gate.approvals.denied() == []
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.press("Allow once")
    assert (await call)["success"]


async def test_the_picture_moves_no_button(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("form.html"))
    await dashboard.resize(400, 800)
    await dashboard.go("approvals")
    here.decide = asks_for_writes
    top = """(() => { const row = document.querySelector('.question button.main'); return row && row.getBoundingClientRect().top + scrollY; })()"""
    call = asyncio.create_task(agent.call("click", target="button"))
    before = await dashboard.page.until(top)
    await dashboard.page.until("document.querySelector('.question canvas')")
    assert await dashboard.page.js(top) == before
    await dashboard.page.until(CALM)
    await dashboard.press("Deny")
    assert not (await call)["success"]


async def test_on_a_domain_by_key(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.page.js("document.querySelector('.question').focus()")
    await dashboard.key("o")
    assert (await call)["success"]
    assert [one["scope"] for one in here.gate.approvals.grants()] == ["domain"]


async def test_every_view_says_that_something_waits(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer
):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("health")
    call = asyncio.create_task(agent.call("get_page_state"))
    await call
    here.decide = asks_for_writes
    call = asyncio.create_task(agent.call("evaluate_js", expression="1"))
    await dashboard.sees("1 question waits for you: evaluate_js", ".banner")
    await dashboard.page.until("document.title.startsWith('(1)')")
    assert "1" in await dashboard.page.js("text('nav .count')")
    await dashboard.press("Answer", ".banner a")
    await dashboard.page.until("document.querySelector('.question')")
    await dashboard.page.until("document.activeElement.classList.contains('question')")
    await dashboard.page.until(CALM)
    await dashboard.key("d")
    assert not (await call)["success"]
    await dashboard.page.until("document.title === 'Pilothouse'")


async def test_a_notification(here: Here, chrome: OwnChrome, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """For who allowed it and looks elsewhere."""
    await chrome.root.send("Browser.grantPermissions", permissions=["notifications"], origin=here.url)
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.page.js("""{ const Real = Notification; globalThis.noted = [];
        globalThis.Notification = class extends Real { constructor(title, more) { super(title, more); noted.push(title); } };
        document.hasFocus = () => false; }""")
    await dashboard.go("approvals")
    call = await asked(here, dashboard, agent, "evaluate_js", expression="1")
    await dashboard.page.until("noted.length === 1")
    assert (await dashboard.page.js("noted[0]")).startswith("evaluate_js on ")
    await dashboard.press("Deny")
    assert not (await call)["success"]


async def test_an_agent_over_mcp(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """Beside another one that works."""
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    async with mcp_client(here) as client:
        opened = await client.call_tool("navigate", {"url": site.url("form.html")})
        assert not opened.is_error
        here.decide = asks_for_writes
        call = asyncio.create_task(client.call_tool("click", {"target": "button"}))
        await dashboard.page.until("document.querySelector('.question')")
        assert (await agent.call("get_page_title"))["success"]  # the other goes on meanwhile
        await dashboard.page.until(CALM)
        await dashboard.press("Allow once")
        assert not (await call).is_error


@contextlib.asynccontextmanager
async def mcp_client(here: Here) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {here.agent}"}
    line = httpx2.AsyncClient(headers=headers, timeout=60)
    async with line, Client(streamable_http_client(f"{here.url}/mcp", http_client=line), mode="legacy") as one:
        yield one


@pytest.mark.alone
async def test_question_and_answer_are_quick(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """On the wire to visible in 100 ms at most; from Allow to the action in 50: at least every second time."""
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("approvals")
    told: list[float] = []
    unfollow = here.gate.approvals.follow(
        lambda event: told.append(time.time() * 1000) if event["kind"] == "pending" else None
    )
    shown: list[float] = []
    acted: list[float] = []
    try:
        for number in range(9):
            here.decide = asks_for_writes
            await dashboard.page.until("!document.querySelector('.question')")
            await dashboard.page.js(f"globalThis.seen = {WHEN_SEEN}; 0")
            call = asyncio.create_task(agent.call("evaluate_js", expression=f"Date.now() + 0 * {number}"))
            shown.append(await dashboard.page.js("seen") - told[-1])
            await dashboard.page.until(CALM)
            pressed = await dashboard.page.js(
                "(() => { const at = Date.now(); document.querySelector('.question button.main').click(); return at; })()"
            )
            acted.append((await call)["data"]["value"] - pressed)
    finally:
        unfollow()
    print(json.dumps({"shown_ms": shown, "acted_ms": acted}))
    assert median(shown) <= 100
    assert median(acted) <= 50
