"""Dragging: native drags and those of pointer events, across frames, and never a button left pressed."""

import asyncio

import pytest

from tests.browser.looking import fails, put
from tests.hostile.conftest import tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "A09")

STATUS = "document.getElementById('status').textContent"
BUTTONS = "addEventListener('mousemove', e => { window.buttons = e.buttons }, true); 0"
SORTABLE = """<style>li { height: 40px; width: 200px }</style>
<ul id=list><li id=a>Alpha</li><li id=b>Beta</li><li id=c>Gamma</li></ul>
<script>
  let held = null;
  list.onpointerdown = e => { held = e.target; list.setPointerCapture(e.pointerId); };
  list.onpointermove = e => {
    if (!held) return;
    const over = document.elementsFromPoint(e.clientX, e.clientY).find(el => el.tagName === "LI" && el !== held);
    if (over) over.after(held);
  };
  list.onpointerup = () => { held = null; };
</script>"""
CARD = "<p id=card draggable=true style='width:100px' ondragstart='event.dataTransfer.setData(`text/plain`, `from a frame`)'>Card</p>"
BIN = "<div id=bin style='height:80px' ondragover='event.preventDefault()' ondrop='event.preventDefault(); bin.textContent = event.dataTransfer.getData(`text/plain`)'>Bin</div>"


async def no_button_is_pressed(agent: Agent) -> None:
    await agent.js(BUTTONS)
    await agent.call("hover", target="h1")
    assert await agent.js("window.buttons") == 0


async def test_a_native_drag_brings_its_data(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    assert await agent.text("drag", target="#one", to="#bin") == 'dragged draggable "Card one" onto list "Bin"'
    assert await agent.js(STATUS) == "dropped one"
    assert await agent.js("bin.children[0].id") == "one"
    await agent.call("drag", target="text=Card two", to="#bin")
    assert await agent.js("[...bin.children].map(one => one.id)") == ["one", "two"]
    await no_button_is_pressed(agent)


async def test_a_handle_by_pixels(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    assert "by 120, 0" in await agent.text("drag", target="#handle", dx=120)
    assert await agent.js(STATUS) == "handle at 120"
    await agent.call("drag", target="#handle", dx=-50)
    assert await agent.js(STATUS) == "handle at 70"


async def test_a_list_sorted_by_pointer_events(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(SORTABLE))
    await agent.call("drag", target="#a", to="#c")
    assert await agent.js("[...list.children].map(one => one.id).join('')") == "bca"


async def test_a_page_that_prevents_the_native_drag(agent: Agent, site: PageServer) -> None:
    page = SORTABLE.replace("<li id=a>", "<li id=a draggable=true ondragstart='event.preventDefault()'>")
    await agent.call("navigate", url=site.inline(page))
    await agent.call("drag", target="#a", to="#c")
    assert await agent.js("[...list.children].map(one => one.id).join('')") == "bca"


async def test_a_place_that_takes_no_drop_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    refused = await fails(agent, "not_actionable", "drag", target="#one", to="h1")
    assert refused.details["reason"] == "no_drop"
    refused = await fails(agent, "not_actionable", "drag", target="#one", dx=500)
    assert "nothing takes a drop" in refused.message
    await no_button_is_pressed(agent)
    await agent.call("drag", target="#one", to="#bin")
    assert await agent.js(STATUS) == "dropped one"


async def test_a_drag_that_nothing_notices_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<h1 style='user-select:none'>Still</h1>"))
    assert "did not change" in (await agent.call("drag", target="h1", dx=50))["note"]


async def test_a_target_far_below_is_scrolled_to(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await agent.js("bin.style.marginTop = '3000px'; return 0")
    await agent.call("drag", target="#one", to="#bin")
    assert await agent.js(STATUS) == "dropped one"


@promise("A21")
async def test_from_a_frame_of_another_site_into_the_page_chrome_carries_nothing(
    agent: Agent, site: PageServer
) -> None:
    frame = site.inline(CARD, other=True)
    await agent.call("navigate", url=site.inline(f'<h1>Page</h1><iframe src="{frame}"></iframe>{BIN}'))
    await agent.call("wait_for_element", target="#card")
    refused = await fails(agent, "not_actionable", "drag", target="#card", to="#bin")
    assert refused.details["reason"] == "other_site"
    await no_button_is_pressed(agent)


@promise("A21")
async def test_from_a_frame_into_the_page(agent: Agent, site: PageServer) -> None:
    frame = site.inline(CARD)
    await agent.call("navigate", url=site.inline(f'<h1>Page</h1><iframe src="{frame}"></iframe>{BIN}'))
    await agent.call("wait_for_element", target="#card")
    await agent.call("drag", target="#card", to="#bin")
    assert await agent.js("bin.textContent") == "from a frame"


@promise("A21")
async def test_within_a_frame_of_another_site(agent: Agent, site: PageServer) -> None:
    frame = site.inline(CARD + BIN, other=True)
    await agent.call("navigate", url=site.inline(f'<h1 style="height:300px">Page</h1><iframe src="{frame}"></iframe>'))
    await agent.call("wait_for_element", target="#card")
    await agent.call("drag", target="#card", to="#bin")
    assert (await agent.call("evaluate_js", target="#bin", expression="element.textContent"))["value"] == "from a frame"


async def test_a_call_that_is_cancelled_lets_go(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await agent.js("window.downs = 0; handle.addEventListener('pointermove', e => { downs += e.buttons }); return 0")
    tab = tab_of(agent)
    call = asyncio.ensure_future(agent.ask("drag", target="#handle", dx=200))
    while not (await tab.channel.send("Runtime.evaluate", expression="downs"))["result"]["value"]:
        pass
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await agent.call("wait_for", function="document.getElementById('status').textContent.startsWith('handle at')")
    assert await agent.js("handle.onpointermove") is None
    await no_button_is_pressed(agent)


async def test_a_native_drag_that_is_cancelled_lets_go(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await agent.js("window.lifted = 0; addEventListener('dragstart', () => { lifted = 1 }); return 0")
    tab = tab_of(agent)
    call = asyncio.ensure_future(agent.ask("drag", target="#one", to="#bin"))
    while not (await tab.channel.send("Runtime.evaluate", expression="lifted"))["result"]["value"]:
        pass
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await no_button_is_pressed(agent)
    assert await agent.js("bin.children.length") == 0
    await agent.call("drag", target="#one", to="#bin")
    assert await agent.js(STATUS) == "dropped one"


async def test_a_target_that_goes_while_it_is_dragged_to(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await agent.js("addEventListener('dragstart', () => bin.remove()); return 0")
    await fails(agent, "stale_ref", "drag", target="#one", to="#bin")
    await no_button_is_pressed(agent)


async def test_a_dialog_in_the_drop(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await agent.js("bin.addEventListener('drop', () => alert('dropped')); return 0")
    answer = await agent.ask("drag", target="#one", to="#bin")
    assert not answer.failed, answer.text
    assert "dialog" in answer.text
    await agent.call("handle_dialog", accept=True)
    assert await agent.js(STATUS) == "dropped one"
    await no_button_is_pressed(agent)


async def test_in_a_tab_that_is_not_in_front(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await agent.call("new_tab", url=site.url("small.html"))
    await agent.call("drag", tab="t1", target="#one", to="#bin")
    assert (await agent.call("evaluate_js", tab="t1", expression=STATUS))["value"] == "dropped one"


async def test_what_cannot_be_dragged(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("drag.html"))
    await fails(agent, "not_found", "drag", target="#nowhere", to="#bin")
    await fails(agent, "not_found", "drag", target="#one", to="#nowhere")
    await fails(agent, "bad_request", "drag", target="#one")
    await fails(agent, "bad_request", "drag", target="#one", to="#bin", dx=5)
    await put(agent, "<p id=a>a</p><p id=b hidden>b</p>")
    await fails(agent, "not_actionable", "drag", target="#a", to="#b")
