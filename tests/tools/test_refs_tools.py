"""Elements by their refs."""

import pytest

from tests.browser.looking import fails, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "C02")


async def test_click_type_focus(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    name, go = await ref(agent, 'textbox "Name"'), await ref(agent, 'button "Go"')
    assert await agent.text("click_ref", ref_id=go) == 'clicked button "Go"'
    assert await agent.text("focus_ref", ref=name) == 'textbox "Name" has the focus'
    assert await agent.js("document.activeElement.id") == "name"
    assert await agent.text("type_ref", ref_id=name, text="Ada") == 'typed into textbox "Name"'
    assert await agent.js("document.getElementById('name').value + clicks") == "Ada1"
    await agent.call("type_ref", ref=f"@{name}", text=" L", clear=False)
    assert "Ada L" in await agent.text("focus_ref", target=go, snapshot="full")


@pytest.mark.parametrize("tool", ["click_ref", "type_ref", "focus_ref"])
async def test_a_selector_is_no_ref(agent: Agent, site: PageServer, tool: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    more = {"text": "x"} if tool == "type_ref" else {}
    refused = await fails(agent, "bad_request", tool, ref="#go", **more)
    assert "no ref" in refused.message
    await fails(agent, "not_found", tool, ref="e999", **more)
    await fails(agent, "bad_request", tool, **more)


async def test_a_ref_of_a_page_that_was_left(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    go = await ref(agent, 'button "Go"')
    await agent.call("navigate", url=site.url("form.html"))
    for tool, more in (("click_ref", {}), ("type_ref", {"text": "x"}), ("focus_ref", {})):
        await fails(agent, "stale_ref", tool, ref=go, **more)


async def test_what_takes_no_focus(agent: Agent, site: PageServer) -> None:
    await agent.call(
        "navigate", url=site.inline("<button id=a>A</button><div role=button>Text</div><button disabled>Off</button>")
    )
    text = await ref(agent, 'button "Text"')
    refused = await fails(agent, "not_actionable", "focus_ref", ref=text)
    assert refused.details["reason"] == "no_focus"


@promise("A21")
async def test_in_a_frame_and_in_a_tab_that_is_not_in_front(agent: Agent, site: PageServer) -> None:
    frame = site.inline("<input id=in aria-label=Inside>", other=True)
    await agent.call("navigate", url=site.inline(f'<iframe src="{frame}"></iframe>'))
    await agent.call("wait_for_element", target="#in")
    inside = await ref(agent, 'textbox "Inside"')
    await agent.call("new_tab")
    await agent.call("focus_ref", tab="t1", ref=inside)
    await agent.call("press_key", tab="t1", key="a")
    assert (await agent.call("evaluate_js", tab="t1", target="#in", expression="element.value"))["value"] == "a"
