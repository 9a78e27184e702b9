"""Dialogs: told at once, never in the way of calls that do not need the page."""

import asyncio

import pytest

from tests.browser.looking import fails, look
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = [
    promise("A19"),
    pytest.mark.whole("the shell keeps a tab with a dialog, and has its own way with all of them"),
]


async def out(agent: Agent) -> str:
    return await agent.js("document.getElementById('out').textContent")


@pytest.mark.parametrize(
    ("button", "kind", "message", "answer", "outcome"),
    [
        ("Alert", "alert", "Hello", {"accept": True}, "alert closed"),
        ("Confirm", "confirm", "Sure?", {"accept": True}, "confirm true"),
        ("Confirm", "confirm", "Sure?", {"accept": False}, "confirm false"),
        ("Prompt", "prompt", "Your name?", {"accept": True, "text": "Ada"}, "prompt Ada"),
        ("Prompt", "prompt", "Your name?", {"accept": False}, "prompt null"),
        ("Prompt", "prompt", "Your name?", {"accept": True}, "prompt nobody"),
        ("Prompt", "prompt", "Your name?", {"accept": True, "text": ""}, "prompt "),
    ],
)
async def test_the_action_tells_of_its_dialog(
    agent: Agent, site: PageServer, button: str, kind: str, message: str, answer: dict[str, object], outcome: str
) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    said = await agent.text("click", target=f'role=button[name="{button}"]')
    assert f'dialog: {kind} "{message}"' in said
    handled = await agent.call("handle_dialog", **answer)
    assert (handled["kind"], handled["message"], handled["accepted"]) == (kind, message, answer["accept"])
    assert await out(agent) == outcome


async def test_a_prompt_tells_what_it_proposes(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    said = await agent.text("click", target='role=button[name="Prompt"]')
    assert 'dialog: prompt "Your name?", default "nobody"' in said
    refused = await fails(agent, "dialog_open", "click", target="h1")
    assert refused.details["default"] == "nobody"
    await agent.call("handle_dialog", accept=False)


@promise("A05")
async def test_other_calls_answer_at_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target='role=button[name="Alert"]')
    for tool, args in (
        ("click", {"target": "h1"}),
        ("get_page_state", {}),
        ("evaluate_js", {"expression": "1"}),
        ("type_text", {"target": "h1", "text": "x"}),
        ("screenshot", {}),
        ("wait_for", {"text": "x"}),
        ("navigate", {"url": site.url("small.html")}),
        ("press_key", {"key": "Enter"}),
    ):
        refused = await fails(agent, "dialog_open", tool, **args)
        assert refused.details == {"kind": "alert", "message": "Hello"}
    assert "(dialog)" in await agent.text("list_tabs")
    await agent.call("get_console_logs")
    await agent.call("get_network_log")
    await agent.call("new_tab", url=site.url("small.html"))
    await agent.call("click", target="#go")
    await agent.call("handle_dialog", accept=True, tab="t1")
    await agent.call("switch_tab", tab="t1")
    assert await out(agent) == "alert closed"


async def test_a_timer_s_alert_is_in_the_next_result(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Alert later")
    answer = await agent.ask("get_page_state")
    assert answer.data["error"]["code"] == "dialog_open"
    assert 'it says "Late"\nit came after clicked button "Alert later"' in answer.text
    await agent.call("handle_dialog", accept=True)
    assert await out(agent) == "late closed"


async def test_one_dialog_after_another(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    assert "Loop 0" in await agent.text("click", target="text=Alert loop")
    for number in range(1, 4):
        assert f"Loop {number}" in await agent.text("handle_dialog", accept=True)


async def test_no_dialog_to_handle(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    none = await fails(agent, "not_found", "handle_dialog", accept=True)
    assert "go on" in none.suggestions[0]


async def test_leaving_a_guarded_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Guard leaving")
    refused = await agent.ask("navigate", url=site.url("small.html"))
    assert refused.data["error"]["code"] == "dialog_open"
    assert refused.text.endswith("\nit asks whether to leave the page")
    assert '""' not in refused.text
    await agent.call("handle_dialog", accept=False)
    assert await agent.js("document.title") == "Dialogs"
    assert "dialog: beforeunload, which asks whether to leave the page" in await agent.text(
        "click", target="text=Leave"
    )
    left = await agent.ask("handle_dialog", accept=True)
    assert left.data["url"] == site.url("small.html")
    assert await agent.js("document.title") == "Small"


async def test_a_dialog_while_filling(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.js("document.getElementById('text').oninput = () => alert('Careful'); return 0")
    said = await agent.text("type_text", target="#text", text="x")
    assert "Careful" in said
    await agent.call("handle_dialog", accept=True)
    refused = await fails(
        agent,
        "dialog_open",
        "fill_form",
        fields=[{"target": "#text", "value": "y"}, {"target": "#email", "value": "z"}],
    )
    assert refused.details["message"] == "Careful"
    await agent.call("handle_dialog", accept=True)
    assert await agent.js("values().email") == ""


async def test_a_dialog_by_script(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await fails(agent, "dialog_open", "evaluate_js", expression="alert('From script')")
    await agent.call("handle_dialog", accept=True)
    assert await agent.js("1") == 1


@promise("C07")
async def test_a_dialog_that_a_call_fails_at_is_told_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    answer = await agent.ask("evaluate_js", expression="prompt('Who?', 'nobody')")
    assert answer.text.splitlines() == [
        "dialog_open: tab t1 shows a prompt dialog",
        "- answer it: handle_dialog(accept=true) or handle_dialog(accept=false)",
        'it says "Who?", default "nobody"',
    ]
    assert [one["kind"] for one in answer.data["events"]] == ["dialog"]
    await agent.call("handle_dialog", accept=True)


async def test_a_dialog_in_a_frame(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    await agent.call(
        "evaluate_js", target="text=Cross button", expression="element.onclick = () => alert('Far'); return 0"
    )
    assert "Far" in await agent.text("click", target="text=Cross button")
    await agent.call("handle_dialog", accept=True)
    assert "Cross button" in await look(agent)


async def test_the_page_s_own_modal_is_no_dialog(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Modal")
    seen = await look(agent)
    assert "A modal of the page" in seen
    assert "behind the dialog" in seen
    await fails(agent, "not_actionable", "click", target='role=button[name="Alert"]')
    await agent.call("click", target="text=Close")
    assert await out(agent) == "modal closed"


@pytest.mark.parametrize("button", ["Alert", "Confirm", "Prompt"])
async def test_closing_a_tab_with_a_dialog(agent: Agent, site: PageServer, button: str) -> None:
    await agent.call("new_tab", url=site.url("dialogs.html"))
    await agent.call("click", target=f'role=button[name="{button}"]')
    assert await agent.text("close_tab") == "closed t2; t1 is current"
    assert [one["tab"] for one in (await agent.call("list_tabs"))["tabs"]] == ["t1"]


@promise("B07", "A05")
@pytest.mark.parametrize("way", ["navigate", "reload"])
async def test_closing_a_tab_that_asks_whether_it_may_be_left(agent: Agent, site: PageServer, way: str) -> None:
    """It is closed at once, or not at all: never by the answer to a question about something else."""
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("dialogs.html"))
    await agent.call("click", target="text=Guard leaving")
    args = {"url": site.url("form.html")} if way == "navigate" else {}
    await fails(agent, "dialog_open", way, **args)
    assert await agent.text("close_tab") == "closed t2; t1 is current"
    assert [one["tab"] for one in (await agent.call("list_tabs"))["tabs"]] == ["t1"]
    await fails(agent, "not_found", "handle_dialog", accept=False)


@promise("A05", "A19")
async def test_a_page_that_is_not_left_after_all_answers_at_once(agent: Agent, site: PageServer) -> None:
    """A click was to leave it: nobody waits for the page that will not come."""
    ask = "<script>onbeforeunload = (e) => { if (i.value) e.preventDefault() }</script>"
    await agent.call("navigate", url=site.inline(f"<input id=i aria-label=Text><a href=/small.html>Leave</a>{ask}"))
    await agent.call("type_text", target="#i", text="half a letter")
    assert "beforeunload" in await agent.text("click", target="text=Leave")
    began = asyncio.get_running_loop().time()
    await agent.call("handle_dialog", accept=False)
    assert await agent.js("i.value") == "half a letter"
    assert 'textbox "Text"' in await agent.text("get_page_state")
    assert asyncio.get_running_loop().time() - began < 5
