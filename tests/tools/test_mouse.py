"""Clicks of every kind, and what they led to."""

import asyncio
import time

import pytest

from pilothouse.browser import input as hand
from tests.browser.looking import fails
from tests.browser.test_input import RECORD, recorded
from tests.hostile.conftest import code
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "A09")

REQUIRED = """<form onsubmit="event.preventDefault(); document.title = 'sent'">
<label>Mail <input id=mail type=email value=nobody></label> <label>Age <input id=age required></label>
<button>Send</button></form>"""


async def test_a_double_click(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    assert await agent.text("double_click", target="#go") == 'double-clicked button "Go"'
    assert len(await recorded(agent, "dblclick")) == 1
    assert [one[2] for one in await recorded(agent, "click")] == [1, 2]


async def test_a_right_click(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    await agent.call("right_click", selector="#go")
    assert await recorded(agent, "mousedown") == [[2, 2, 1, ""]]
    assert len(await recorded(agent, "contextmenu")) == 1


async def test_a_point(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    x, y = await agent.js("const r = go.getBoundingClientRect(); return [r.x + 5, r.y + 5]")
    done = await agent.text("click_at", x=x, y=y, count=2)
    assert done.startswith('clicked button "Go" at')
    assert [one[2:] for one in await recorded(agent, "click")] == [[1, ""], [2, ""]]
    await agent.call("click_at", x=x, y=y, button="right")
    assert len(await recorded(agent, "contextmenu")) == 1
    assert "Clicks" in await agent.text("click_at", x=x, y=y, snapshot="full")


@pytest.mark.parametrize(("x", "y"), [(-1, 5), (5, -1), (1280, 5), (5, 5000)])
async def test_a_point_outside_the_window(agent: Agent, site: PageServer, x: int, y: int) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    refused = await fails(agent, "bad_request", "click_at", x=x, y=y)
    assert "1280 x 800" in refused.message


@promise("A21")
async def test_a_point_in_a_frame_of_another_site(agent: Agent, site: PageServer) -> None:
    frame = site.inline(
        "<body style='margin:0'><button id=in onclick='this.textContent = `hit`'>Inside</button>", other=True
    )
    await agent.call(
        "navigate",
        url=site.inline(
            f'<body style="margin:0"><div style="height:100px"></div><iframe style="border:0" src="{frame}"></iframe>'
        ),
    )
    await agent.call("wait_for_element", target="#in")
    await agent.call("click_at", x=10, y=110)
    await agent.call("wait_for_text", text="hit")


async def test_what_is_not_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    for tool in ("double_click", "right_click"):
        await fails(agent, "not_found", tool, target="#nowhere")
        await fails(agent, "not_found", tool, target="#go", tab="t9")
    await fails(agent, "bad_request", "click_at", x=1)


async def test_in_a_tab_that_is_not_in_front(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    x, y = await agent.js("const r = go.getBoundingClientRect(); return [r.x + 5, r.y + 5]")
    await agent.call("new_tab")
    await agent.call("click_at", x=x, y=y, tab="t1")
    await agent.call("double_click", target="#go", tab="t1")
    assert (await agent.call("evaluate_js", tab="t1", expression="clicks"))["value"] == 3


async def test_a_form_that_the_browser_does_not_send_says_why(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(REQUIRED))
    answer = await agent.ask("click", target="text=Send")
    assert 'not valid: textbox "Mail", textbox "Age"' in answer.text
    assert "fill out" in answer.data["invalid"][1]["message"]
    assert "@" in answer.data["invalid"][0]["message"]
    await agent.call("type_text", target="#mail", text="ada@example.com")
    answer = await agent.ask("type_text", target="#age", text="", submit=True)
    assert [one["field"] for one in answer.data["invalid"]] == ['textbox "Age"']
    answer = await agent.ask("fill_form", fields=[{"target": "#mail", "value": "x"}], submit=True)
    assert len(answer.data["invalid"]) == 2
    await agent.call("type_text", target="#mail", text="ada@example.com")
    answer = await agent.ask("press_key", key="Enter")
    assert [one["field"] for one in answer.data["invalid"]] == ['textbox "Age"']
    answer = await agent.ask("type_text", target="#age", text="36", submit=True)
    assert "invalid" not in answer.data
    assert await agent.js("document.title") == "sent"


@promise("A21")
async def test_a_form_in_a_frame_that_is_not_sent(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f'<iframe src="{site.inline(REQUIRED, other=True)}"></iframe>'))
    await agent.call("wait_for_element", target="#age")
    assert 'textbox "Age"' in (await agent.ask("click", target="text=Send")).text
    answer = await agent.ask("type_text", target="#age", text="", submit=True)
    assert len(answer.data["invalid"]) == 2


async def test_a_form_in_a_shadow_root_that_is_not_sent(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<div id=host></div>"))
    await agent.call(
        "evaluate_js", expression="host.attachShadow({ mode: 'open' }).innerHTML = args[0]; return 0", args=[REQUIRED]
    )
    assert 'textbox "Age"' in await agent.text("click", target="text=Send")


async def test_a_page_that_checks_its_fields_at_every_key_is_left_alone(agent: Agent, site: PageServer) -> None:
    page = REQUIRED.replace("id=age", "id=age oninput='this.form.checkValidity()'")
    await agent.call("navigate", url=site.inline(page))
    answer = await agent.ask("type_text", target="#age", text="36")
    assert "not valid" not in answer.text


@pytest.mark.parametrize("status", [404, 500])
async def test_a_click_to_a_page_that_is_not_there(agent: Agent, site: PageServer, status: int) -> None:
    await agent.call("navigate", url=site.inline(f"<a href=/status/{status}>Go</a> <a href=/small.html>Fine</a>"))
    answer = await agent.ask("click", target="text=Go")
    assert f"the server answered {status}" in answer.text
    assert answer.data["status"] == status
    await agent.call("go_back")
    assert "answered" not in await agent.text("click", target="text=Fine")
    assert "answered" not in await agent.text("click", target="#go")


@promise("A05", "A06")
async def test_a_click_that_hangs_the_page_is_given_up_early(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hand.TAKEN_S <= 10
    monkeypatch.setattr(hand, "TAKEN_S", 1.5)
    await agent.call("navigate", url=site.url("hang.html"))
    began = time.monotonic()
    answer = await agent.ask("click", target="text=Hang now")
    assert time.monotonic() - began < 15  # of 30 s
    assert code(answer) == "timeout"
    assert "broken off" in answer.text
    assert "Hang now" in await agent.text("get_page_state")


@promise("A06")
async def test_a_click_on_a_page_that_is_only_slow(agent: Agent, site: PageServer) -> None:
    page = (
        "<button onclick='const e = Date.now() + 2500; while (Date.now() < e); this.textContent = `Done`'>Work</button>"
    )
    await agent.call("navigate", url=site.inline(page))
    async with asyncio.timeout(8):
        assert code(await agent.ask("click", target="text=Work")) == "ok"
    assert "Done" in await agent.text("get_page_text")
