"""Typing key by key."""

import asyncio
import re

import pytest

from pilothouse.call import Answer, Call
from tests.browser.looking import fails
from tests.hostile.conftest import tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "A09")

LISTEN = """window.heard = []; for (const kind of ["keydown", "keyup"])
  addEventListener(kind, e => heard.push(kind + " " + e.key), true); 0"""


async def test_every_key_is_pressed_and_let_go(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(LISTEN)
    assert await agent.text("slow_type", target="#name", text="Ab", delay_ms=5) == 'typed into textbox "Name"'
    assert (await agent.js("heard"))[-4:] == ["keydown A", "keyup A", "keydown b", "keyup b"]
    assert await agent.js("document.getElementById('name').value") == "Ab"


async def test_text_is_replaced_or_added_to(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("slow_type", target="#text", text="one", delay_ms=0)
    await agent.call("slow_type", target="#text", text="two", delay_ms=0, clear=False)
    await agent.call("slow_type", target="#notes", text="a\nb ü 😀", delay=0)
    assert await agent.js("document.getElementById('text').value + notes.value") == "onetwoa\nb ü 😀"
    await agent.call("slow_type", target="#text", text="", delay_ms=0)
    assert await agent.js("document.getElementById('text').value") == ""


async def test_what_the_page_makes_of_it_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    assert "12345" in (await agent.call("slow_type", target="#limited", text="1234567", delay_ms=0))["note"]


async def test_progress_is_told_while_it_takes_long(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append(message)

    args = {"target": "#name", "text": "x" * 26, "delay_ms": 50}
    answer: Answer = await agent.gate.call(Call("slow_type", args, agent.caller, progress))
    assert not answer.failed
    assert re.fullmatch(r"typing: \d+ of 26 keys pressed", told[0])


async def test_a_call_that_is_cancelled_leaves_no_key_down(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(LISTEN)
    tab = tab_of(agent)
    call = asyncio.ensure_future(agent.ask("slow_type", target="#name", text="x" * 500, delay_ms=20))
    while (await tab.channel.send("Runtime.evaluate", expression="heard.length"))["result"]["value"] < 10:
        pass
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    keys = await agent.js("heard")
    assert keys.count("keydown x") == keys.count("keyup x")
    count = len(await agent.js("document.getElementById('name').value"))
    await agent.call("wait", time_ms=100)
    assert len(await agent.js("document.getElementById('name').value")) == count


async def test_a_dialog_in_between(agent: Agent, site: PageServer) -> None:
    page = "<input id=name oninput='if (this.value.length === 3) alert(1)'>"
    await agent.call("navigate", url=site.inline(page))
    refused = await fails(agent, "dialog_open", "slow_type", target="#name", text="abcdef", delay_ms=5)
    assert "3 of 6" in refused.message
    await agent.call("handle_dialog", accept=True)
    assert await agent.js("document.getElementById('name').value") == "abc"


async def test_a_page_that_leaves_in_between(agent: Agent, site: PageServer) -> None:
    page = "<input id=name oninput='if (this.value.length === 3) location = `/small.html`'>"
    await agent.call("navigate", url=site.inline(page))
    refused = await fails(agent, "page_error", "slow_type", target="#name", text="abcdef" * 20, delay_ms=20)
    assert refused.details["typed"] < 120
    assert await agent.js("document.getElementById('name').value") == ""


@promise("A21")
async def test_in_a_frame_and_in_a_tab_that_is_not_in_front(agent: Agent, site: PageServer) -> None:
    frame = site.inline("<input id=name>", other=True)
    await agent.call("navigate", url=site.inline(f'<iframe src="{frame}"></iframe>'))
    await agent.call("wait_for_element", target="#name")
    await agent.call("new_tab")
    await agent.call("slow_type", tab="t1", target="#name", text="frame", delay_ms=1)
    value = await agent.call("evaluate_js", tab="t1", target="#name", expression="element.value")
    assert value["value"] == "frame"


async def test_what_cannot_be_typed(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await fails(agent, "not_found", "slow_type", target="#nowhere", text="x")
    await fails(agent, "bad_request", "slow_type", target="#check", text="x")
    await fails(agent, "not_actionable", "slow_type", target="#disabled", text="x")
    refused = await fails(agent, "bad_request", "slow_type", target="#text", text="x" * 100, delay_ms=5000)
    assert "longer" in refused.message
