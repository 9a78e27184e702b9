"""Pages that never let go: every call ends with its deadline, the page is freed, and nobody else waits."""

import asyncio

import pytest

from pilothouse.browser.stuck import free
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from tests.hostile.conftest import code, p95_ms, tab_of, timed
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

SPIN = "<h1>Spin</h1><script>while (1);</script>"
P95_MS = 150  # above what the machine needs for the same without a hung page

# Its pages burn all they can get, and our deadlines must hold meanwhile.
pytestmark = pytest.mark.alone


async def hang(agent: Agent, site: PageServer) -> None:
    """Bring the tab to a page that hangs now, without a call that waits for it."""
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("void setTimeout(() => { while (1); }, 100)")
    while await answers(tab_of(agent)):
        pass


async def answers(tab: Tab) -> bool:
    try:
        await tab.channel.send("Runtime.evaluate", expression="0", timeout=0.2)
    except Failure:
        return False
    return True


@promise("A05", "A06")
async def test_a_page_that_hangs_while_loading(agent: Agent, site: PageServer) -> None:
    await agent.call("list_tabs")
    late = await timed(agent, "navigate", url=site.inline(SPIN), timeout_ms=800, limit_s=0.8)
    assert code(late) == "timeout"
    assert "broken off" in late.text
    assert "Spin" in await agent.text("get_page_state")


@promise("A05", "A06")
async def test_script_of_the_caller_that_hangs(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    late = await timed(agent, "evaluate_js", expression="while (1);", timeout_ms=500, limit_s=0.5)
    assert code(late) == "timeout"
    assert await agent.js("6 * 7") == 42


@promise("A05", "A06")
async def test_a_click_that_hangs_the_page(agent: Agent, site: PageServer) -> None:
    opened = await agent.call("open_session", timeout_ms=1000)
    here = {"session": opened["session"]}
    await agent.call("navigate", url=site.url("hang.html"), **here)
    late = await timed(agent, "click", target="text=Hang now", limit_s=1, **here)
    assert code(late) == "timeout"
    assert "Hang now" in await agent.text("get_page_state", **here)


@promise("A05", "A06")
async def test_a_timer_that_hangs_the_page_later(agent: Agent, site: PageServer) -> None:
    await hang(agent, site)
    answers = [await timed(agent, "evaluate_js", expression="1", timeout_ms=700, limit_s=0.7) for _ in range(2)]
    assert [code(one) for one in answers] == ["timeout", "ok"]


@promise("A06")
async def test_a_page_that_hangs_as_soon_as_it_has_loaded_has_arrived(agent: Agent, site: PageServer) -> None:
    page = site.inline("<title>Spin</title><script>onload = () => setTimeout(() => { while (1); })</script>")
    await agent.call("list_tabs")
    arrived = await timed(agent, "navigate", url=page, limit_s=4)
    assert arrived.data["url"] == page


@promise("A06")
async def test_a_cross_origin_frame_that_hangs_is_freed(agent: Agent, site: PageServer) -> None:
    frame = site.inline("<button onclick='while (1);'>Spin</button>", other=True)
    opened = await agent.call("open_session", timeout_ms=1000)
    here = {"session": opened["session"]}
    await agent.call("navigate", url=site.inline(f"<h1>Outer</h1><iframe src='{frame}'></iframe>"), **here)
    late = await timed(agent, "click", target="text=Spin", limit_s=1, **here)
    assert code(late) == "timeout"
    assert "broken off" in late.text
    assert "Spin" in await agent.text("get_page_state", **here)


@promise("A06")
async def test_leaving_a_hung_page(agent: Agent, site: PageServer) -> None:
    await hang(agent, site)
    arrived = await timed(agent, "navigate", url=site.url("small.html"), timeout_ms=10_000, limit_s=5)
    assert arrived.data["title"] == "Small"


@promise("A06")
async def test_closing_a_hung_tab(agent: Agent, site: PageServer) -> None:
    await hang(agent, site)
    assert code(await timed(agent, "close_tab", limit_s=4)) == "ok"
    assert (await agent.call("list_tabs"))["tabs"] == []


@promise("A06")
async def test_a_worker_that_works_hard_is_left_alone(agent: Agent, site: PageServer) -> None:
    """It keeps nobody from answering; breaking it off would only break the page."""
    worker = "let n = 0; const end = Date.now() + 900; while (Date.now() < end) n++; postMessage('done')"
    page = f"<script>new Worker(URL.createObjectURL(new Blob([`{worker}`]))).onmessage = e => document.title = e.data</script>"
    await agent.call("navigate", url=site.inline(page))
    await timed(agent, "wait_for", text="never there", timeout_ms=100, limit_s=0.1)
    assert code(await agent.ask("wait_for", function="document.title === 'done'", timeout_ms=5000)) == "ok"


@promise("A06", "B12")
@pytest.mark.parametrize("how", ["load", "click", "script"])
async def test_a_hung_page_delays_no_other_session(agent: Agent, other: Agent, site: PageServer, how: str) -> None:
    await other.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.url("hang.html"))
    usual = await p95_ms(other)
    hung = {
        "load": agent.ask("navigate", url=site.inline(SPIN), timeout_ms=800),
        "click": agent.ask("click", target="text=Hang now"),
        "script": agent.ask("evaluate_js", expression="while (1);", timeout_ms=800),
    }
    task = asyncio.ensure_future(hung.pop(how))
    for unused in hung.values():
        unused.close()
    if how == "click":
        asyncio.get_running_loop().call_later(0.8, lambda: asyncio.ensure_future(free(tab_of(agent), 0.1)))
    assert await p95_ms(other, task) < usual + P95_MS
    await task


@promise("A06", "B12")
async def test_a_hung_tab_delays_no_other_tab_of_its_session(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("hang.html"))
    await agent.call("new_tab", url=site.url("small.html", other=True))
    usual = await p95_ms(agent)
    hung = asyncio.ensure_future(agent.ask("evaluate_js", tab="t1", expression="while (1);", timeout_ms=800))
    assert await p95_ms(agent, hung) < usual + P95_MS
    assert code(await hung) == "timeout"


@promise("A05", "A06")
async def test_a_link_to_a_server_that_never_answers(agent: Agent, site: PageServer) -> None:
    """Chrome is deaf for the old page meanwhile: the call says what it waits for, and another address helps."""
    here = {"session": (await agent.call("open_session", timeout_ms=1000))["session"]}
    await agent.call("navigate", url=site.inline("<a href=/hang>Hang</a>"), **here)
    await timed(agent, "click", target="text=Hang", limit_s=1, **here)
    waiting = await timed(agent, "get_page_state", limit_s=1, **here)
    assert code(waiting) == "timeout"
    assert f"waits for {site.url('hang')}" in waiting.text
    assert "broken off" not in waiting.text
    assert (await agent.call("navigate", url=site.url("small.html"), **here))["title"] == "Small"
