"""Dialogs that a page uses to keep its visitor."""

import pytest

from tests.hostile.conftest import code, timed
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A19", "A05")


async def test_an_alert_in_a_loop_shows_the_next_one_each_time(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    assert "Loop 0" in await agent.text("click", target="text=Alert loop")
    for n in range(1, 6):
        assert f"Loop {n}" in await agent.text("handle_dialog", accept=True)
    assert code(await agent.ask("click", target="text=Confirm")) == "dialog_open"
    assert code(await agent.ask("navigate", url=site.url("small.html"))) == "dialog_open"
    assert code(await timed(agent, "close_tab", limit_s=2)) == "ok"
    assert (await agent.call("list_tabs"))["tabs"] == []


async def test_an_alert_while_loading_answers_navigate_at_once(agent: Agent, site: PageServer) -> None:
    page = site.inline("<script>alert('first'); alert('second')</script><h1>Past them</h1>")
    met = await timed(agent, "navigate", url=page, limit_s=3)
    assert code(met) == "dialog_open"
    assert "first" in met.text
    assert "second" in await agent.text("handle_dialog", accept=True)
    await agent.call("handle_dialog", accept=True)
    assert "Past them" in await agent.text("get_page_state")


async def test_reads_and_waits_are_refused_while_a_dialog_is_open_and_work_after(
    agent: Agent, site: PageServer
) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Prompt")
    for tool, args in (
        ("get_page_state", {}),
        ("screenshot", {}),
        ("evaluate_js", {"expression": "1"}),
        ("wait_for", {"text": "Dialogs"}),
        ("press_key", {"key": "Enter"}),
        ("go_back", {}),
        ("reload", {}),
    ):
        assert code(await timed(agent, tool, limit_s=1, **args)) == "dialog_open", tool
    await agent.call("handle_dialog", accept=True, text="Ada")
    assert "prompt Ada" in await agent.text("get_page_text")


async def test_a_dialog_during_a_wait_ends_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Alert much later")
    met = await timed(agent, "wait_for", text="never there", timeout_ms=10_000, limit_s=3)
    assert code(met) == "dialog_open"


@pytest.mark.parametrize("tool", ["navigate", "reload", "go_back"])
async def test_a_guarded_page_asks_before_it_is_left(agent: Agent, site: PageServer, tool: str) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Guard leaving")
    args = {"url": site.url("small.html")} if tool == "navigate" else {}
    asked = await timed(agent, tool, limit_s=2, **args)
    assert code(asked) == "dialog_open"
    assert "beforeunload" in asked.text
    await agent.call("handle_dialog", accept=False)
    assert "guarded" in await agent.text("get_page_text")
    assert code(await agent.ask(tool, **args)) == "dialog_open"
    await agent.call("handle_dialog", accept=True)
    assert "guarded" not in await agent.text("get_page_text")


async def test_closing_a_guarded_tab_asks_nobody(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Guard leaving")
    assert code(await timed(agent, "close_tab", limit_s=2)) == "ok"
    assert (await agent.call("list_tabs"))["tabs"] == []


@pytest.mark.parametrize("tool", ["navigate", "reload", "close_tab", "go_back"])
async def test_a_beforeunload_that_takes_thirty_seconds_is_cut_short(agent: Agent, site: PageServer, tool: str) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("navigate", url=site.url("dialogs.html?slow=30000"))
    await agent.call("click", target="text=Guard leaving")
    args = {"url": site.url("small.html")} if tool == "navigate" else {}
    assert code(await timed(agent, tool, limit_s=5, **args)) == "ok"


async def test_one_that_a_press_has_begun_is_broken_off(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html?slow=30000"))
    await agent.call("click", target="text=Guard leaving")
    pressed = await timed(agent, "click", limit_s=13, target="text=Leave")
    assert code(pressed) == "timeout"
    assert "did not answer and was broken off" in pressed.text
    assert "Small page" in (await timed(agent, "get_page_state", limit_s=2)).text


async def test_a_dialog_in_one_tab_leaves_the_others_alone(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Alert loop")
    await agent.call("new_tab", url=site.url("small.html"))
    assert "Small page" in await agent.text("get_page_state")
    assert code(await agent.ask("get_page_state", tab="t1")) == "dialog_open"
    await agent.call("close_tab", tab="t1")
