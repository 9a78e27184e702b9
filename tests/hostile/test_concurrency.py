"""Many at once: sessions do not wait for one another, tabs keep their order, and what must pass passes."""

import asyncio

import pytest

from pilothouse.call import Call, Caller
from tests.hostile.conftest import code, session_of, tab_of, timed, until
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

# Its pages burn all they can get, and our deadlines must hold meanwhile.
pytestmark = pytest.mark.alone


@promise("B12", "B05")
async def test_ten_sessions_at_once(house: House, site: PageServer) -> None:
    async def work(agent: Agent, number: int) -> None:
        async with agent:
            for _ in range(3):
                await agent.call("navigate", url=site.inline(f"<h1>Mine {number}</h1><button onclick='this.textContent = \"Pressed {number}\"'>Go</button>"))  # fmt: skip
                await agent.call("click", target="text=Go")
                state = await agent.text("get_page_state")
                assert f"Mine {number}" in state
                assert f"Pressed {number}" in state

    await asyncio.wait_for(asyncio.gather(*(work(house.agent(), number) for number in range(10))), 60)


@promise("B12")
async def test_calls_in_one_tab_run_in_order(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.js("void (window.seen = [])")
    await asyncio.gather(*(agent.call("evaluate_js", expression=f"void seen.push({n})") for n in range(30)))
    assert await agent.js("seen") == list(range(30))


@promise("B12", "C10")
async def test_reads_and_waits_pass_a_blocked_write(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    blocked = asyncio.ensure_future(agent.ask("evaluate_js", expression="new Promise(r => go = r)", timeout_ms=20_000))
    await until(lambda: tab_of(agent).turn.locked())
    assert "Small page" in (await timed(agent, "get_page_state", limit_s=2)).text
    assert code(await timed(agent, "wait_for", text="Small page", limit_s=2)) == "ok"
    assert code(await timed(agent, "list_tabs", limit_s=1)) == "ok"
    assert not blocked.done()
    await tab_of(agent).channel.send("Runtime.evaluate", expression="go(1)")
    assert code(await blocked) == "ok"


@promise("B12", "A19")
async def test_handle_dialog_passes_a_queue_of_writes(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("void setTimeout(() => alert('now'), 300)")
    writes = [asyncio.ensure_future(agent.ask("evaluate_js", expression="new Promise(() => 0)")) for _ in range(3)]
    tab = tab_of(agent)
    assert await tab.signal.until(lambda: tab.dialog, 5)
    assert code(await timed(agent, "handle_dialog", accept=True, limit_s=3)) == "ok"
    assert code(await writes[0]) == "dialog_open"
    for write in writes:
        write.cancel()


@promise("C11")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("click", {"target": "text=Press"}),
        ("type_text", {"target": "input", "text": "Ada" * 100}),
        ("press_key", {"key": "Control+Shift+a", "count": 50}),
        ("navigate", {"url": "/hang"}),
        ("evaluate_js", {"expression": "new Promise(() => 0)"}),
        ("wait_for", {"text": "never there"}),
    ],
)
async def test_a_cancelled_call_leaves_nothing_pressed(
    agent: Agent, site: PageServer, tool: str, args: dict[str, str]
) -> None:
    """Cut off at every step of the event loop, from the first to one that is past the end."""
    page = """<button>Press</button><input><script>
      held = new Set();
      for (const kind of ["mousedown", "keydown"]) addEventListener(kind, e => held.add(e.key ?? "button"), true);
      for (const kind of ["mouseup", "keyup"]) addEventListener(kind, e => held.delete(e.key ?? "button"), true);
    </script>"""
    await agent.call("navigate", url=site.inline(page))
    if "url" in args:
        args = {"url": site.url(args["url"])}
    for steps in (1, 2, 4, 8, 12, 20):
        task = asyncio.ensure_future(agent.gate.call(Call(tool, dict(args), agent.caller)))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task}, timeout=5)
        assert task.done()
    assert await agent.js("[...held]") == []
    await agent.call("click", target="text=Press")
    assert not tab_of(agent).turn.locked()


@promise("B05")
async def test_sessions_of_others_do_not_exist(house: House, agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    mine = session_of(agent).id
    strangers = [
        house.agent(),
        Agent(house.gate, Caller("default", "", "mcp")),
        Agent(house.gate, Caller("other", agent.caller.connection, "mcp")),
    ]
    for stranger in strangers:
        for tool in ("get_page_state", "list_tabs", "close_session"):
            refused = await stranger.ask(tool, session=mine)
            assert (code(refused), refused.status) == ("not_found", 404)
        assert mine not in (await stranger.ask("list_sessions")).text
        with pytest.raises(Exception, match="no such session"):
            house.gate.events(stranger.caller, mine)
    assert not (await agent.ask("get_page_state")).failed


@promise("B05", "B11")
async def test_closing_a_session_ends_what_runs_in_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    running = [
        asyncio.ensure_future(agent.ask("evaluate_js", expression="new Promise(() => 0)", timeout_ms=20_000)),
        asyncio.ensure_future(agent.ask("wait_for", text="never there", timeout_ms=20_000)),
        asyncio.ensure_future(agent.ask("click", target="text=Go")),  # waits for its turn
    ]
    await until(lambda: session_of(agent).busy == 3)
    assert code(await timed(agent, "close_session", limit_s=3)) == "ok"
    answers = await asyncio.wait_for(asyncio.gather(*running), 3)
    assert {code(one) for one in answers} <= {"tab_closed", "not_found"}
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


@promise("B05")
async def test_first_calls_that_come_together_share_one_session(house: House) -> None:
    async with house.agent() as agent:
        await asyncio.gather(*(agent.call("list_tabs") for _ in range(5)))
        assert len(house.gate.session_ids(agent.caller)) == 1


@promise("B10", "C11")
async def test_a_cancelled_first_call_leaves_no_session(house: House) -> None:
    async with house.agent() as agent:
        task = asyncio.ensure_future(agent.ask("list_tabs"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert house.gate.session_ids(agent.caller) == []
        assert code(await agent.ask("list_tabs")) == "ok"
