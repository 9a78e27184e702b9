"""Pages that burn a core, seen and unseen: who still answers is left alone, who does not is broken off and told."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilothouse.browser import warden as warden_module
from pilothouse.browser.warden import Bounds
from tests.hostile.conftest import session_of, until
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

# A burning core is what is judged.
pytestmark = [promise("B08"), pytest.mark.alone]

BUSY_S = 0.8


@pytest.fixture
async def watched(own_house: House) -> AsyncIterator[Agent]:
    own_house.sessions.warden.bounds = Bounds(busy_s=BUSY_S)
    async with own_house.agent() as one:
        await one.call("list_tabs")
        yield one


def told(agent: Agent) -> str:
    return "\n".join(f"{event.tab} {event.text}" for event in session_of(agent).watch.recent() if event.kind == "limit")


async def test_a_page_in_the_background_that_nobody_calls(watched: Agent, site: PageServer) -> None:
    await watched.call("navigate", url=site.url("small.html"))
    await watched.call("new_tab", url=site.url("small.html", other=True), background=True)
    await watched.call("evaluate_js", tab="t2", expression="void setTimeout(() => { while (1); }, 500)")
    await until(lambda: told(watched), 20)
    assert told(watched) == f"t2 the page kept a core busy for {BUSY_S:g} s: its script was broken off"
    assert "limit in t2: the page kept a core busy" in await watched.text("get_page_state")
    answer = await watched.ask("evaluate_js", tab="t2", expression="document.title")
    assert answer.data["value"] == "Small"


async def test_a_frame_of_another_site(watched: Agent, site: PageServer) -> None:
    spin = site.inline("<script>setTimeout(() => { while (1); }, 500)</script><h1>Inner</h1>", other=True)
    await watched.call("navigate", url=site.inline(f"<h1>Outer</h1><iframe src='{spin}'></iframe>"))
    await until(lambda: told(watched), 20)
    assert told(watched).startswith("t1 ")
    assert "Inner" in await watched.text("get_page_state")


async def test_a_page_that_works_hard_and_answers_is_left_alone(watched: Agent, site: PageServer) -> None:
    work = "const end = performance.now() + 15; while (performance.now() < end); n++; requestAnimationFrame(frame)"
    await watched.call("navigate", url=site.inline(f"<script>let n = 0; (function frame() {{ {work} }})()</script>"))
    watching = session_of(watched).context.browser
    rounds = [0]
    look = warden_module.processes

    async def counted(browser: object, *, elsewhere: bool) -> object:
        rounds[0] += 1
        return await look(watching)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warden_module, "processes", counted)
        await until(lambda: rounds[0] > 12, 30)  # three times as long as it takes to be broken off
    assert told(watched) == ""
    before = await watched.js("n")
    await until_more(watched, before)


async def until_more(agent: Agent, before: int) -> None:
    async with asyncio.timeout(10):
        while await agent.js("n") <= before:
            pass


async def test_a_page_that_waits_while_another_burns_is_left_alone(own_house: House, site: PageServer) -> None:
    """It does not answer, and somebody burns a core; but it is not the one, whoever sees it first."""
    warden = own_house.sessions.warden
    async with own_house.agent() as busy, own_house.agent() as waiting:
        work = "const end = performance.now() + 60; while (performance.now() < end); setTimeout(work, 1)"
        await busy.call("navigate", url=site.inline(f"<script>(function work() {{ {work} }})()</script>"))
        ask = f"request.open('GET', '{site.url('slow?ms=6000', other=True)}', false); request.send(); said = 'came'"
        await waiting.call("navigate", url=site.inline("<h1>Waits</h1>", other=True))
        await waiting.js(f"void setTimeout(() => {{ const request = new XMLHttpRequest(); {ask} }}, 10)")
        warden.bounds = Bounds(busy_s=BUSY_S)
        looks = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - looks < BUSY_S * 4:
            await warden.look()
        assert told(waiting) == ""
        assert told(busy) == ""
        await waiting.call("wait_for", function="() => window.said === 'came'", timeout_ms=20_000)
        assert "Waits" in await waiting.text("get_page_state")


async def test_a_page_that_no_interruption_reaches_is_ended(watched: Agent, site: PageServer) -> None:
    """Every interruption is followed by more of the same."""
    await watched.call("navigate", url=site.url("small.html"))
    tab = session_of(watched).tabs[0]
    post = tab.channel.post

    def deaf(method: str, **params: Any) -> Any:
        return (
            post("Runtime.evaluate", expression="1")
            if method == "Runtime.terminateExecution"
            else post(method, **params)
        )

    tab.channel.post = deaf  # type: ignore[method-assign]
    await until(lambda: tab.channel in watched.gate._sessions.warden._pids, 20)
    await watched.js("void setTimeout(() => { while (1); }, 500)")
    await until(lambda: "the page was ended" in told(watched), 30)
    await until(lambda: tab.url == "about:blank", 20)


async def test_nothing_is_broken_off_when_that_is_switched_off(own_house: House, site: PageServer) -> None:
    warden = own_house.sessions.warden
    warden.bounds = Bounds(busy_s=0, every_s=0.05)
    async with own_house.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        spin = "const end = Date.now() + 700; while (Date.now() < end); 'through'"
        assert await agent.js(spin) == "through"
        assert told(agent) == ""
