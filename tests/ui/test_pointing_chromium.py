"""F05: what a person points at is what they saw framed; pointing in the picture reaches neither the page nor the keyboard."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilothouse.browser.tab import Tab
from pilothouse.call import Call, Caller
from tests.daemon_here import Here
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.line import Line, person_line

pytestmark = promise("F05", "F07")

# Its listener was there before ours: it hears of the press first, and puts another thing in the place.
SLY = """<!doctype html><title>Sly</title><body style="margin:0">
<script>
globalThis.heard = [];
for (const kind of ['pointermove', 'pointerdown', 'mousedown', 'click', 'keydown'])
  addEventListener(kind, (event) => { heard.push(kind); if (event.isTrusted && kind === 'pointerdown') swap(); }, true);
function swap() { SWAP }
</script>
<button id=one style="position:fixed;left:0;top:0;width:400px;height:200px">Cancel</button>
<button id=two style="position:fixed;left:0;top:0;width:400px;height:200px;z-index:-1">Pay everything</button>"""
OVERLAY = "[...document.documentElement.children].at(-1).style.cursor === 'crosshair'"


@pytest.fixture
async def line(here: Here) -> AsyncIterator[Line]:
    async with person_line(here) as one:
        yield one


def tab_of(here: Here, agent: RestAgent) -> Tab:
    found = next(one for one in here.gate._sessions.every() if one.id == agent.session).current
    assert found
    return found


async def js(tab: Tab, expression: str) -> Any:
    told = await tab.channel.send("Runtime.evaluate", expression=expression, returnByValue=True)
    return told["result"].get("value")


async def asked(here: Here, agent: RestAgent) -> "asyncio.Task[dict[str, Any]]":
    call = asyncio.create_task(agent.call("ask_user_to_pick", prompt="Which one?"))
    await drawn(tab_of(here, agent), True)
    return call


async def drawn(tab: Tab, is_there: bool) -> None:
    async with asyncio.timeout(10):
        while await js(tab, OVERLAY) is not is_there:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("swap", "name"),
    [("two.style.zIndex = 9", "Cancel"), ("one.style.left = '700px'", "Cancel"), ("one.remove()", "")],
)
async def test_what_was_framed_counts(here: Here, agent: RestAgent, site: PageServer, swap: str, name: str):
    await agent.do("navigate", url=site.inline(SLY.replace("SWAP", swap)))
    call, tab = await asked(here, agent), tab_of(here, agent)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        more: dict[str, Any] = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        await tab.channel.send("Input.dispatchMouseEvent", type=kind, x=200, y=100, **more)
    told = await call
    if name:
        assert told["data"]["name"] == name
    else:
        assert told["error"]["code"] == "not_found"


async def test_in_the_picture_nothing_reaches_the_page(here: Here, agent: RestAgent, line: Line, site: PageServer):
    await agent.do("navigate", url=site.inline(SLY.replace("SWAP", "")))
    place = {"session": agent.session, "tab": tab_of(here, agent).name}
    call = await asked(here, agent)
    mouse = {"by": "mouse", "kind": "down", "x": 200, "y": 100, "button": "left", "buttons": 1, "count": 1}
    assert (await line.ask("move", **place, gestures=[mouse]))["error"]["code"] == "bad_request"
    assert (await line.ask("point", **place, x=200, y=100))["kind"] == "done"
    assert (await line.ask("point", **place, x=200, y=100, presses=True))["kind"] == "done"
    assert (await call)["data"]["name"] == "Cancel"
    assert await js(tab_of(here, agent), "heard") == []
    failed = await line.ask("point", **place, x=200, y=100, presses=True)  # nobody asks any more
    assert failed["error"]["code"] == "not_found"


async def test_rather_not(here: Here, agent: RestAgent, line: Line, site: PageServer):
    await agent.do("navigate", url=site.inline(SLY.replace("SWAP", "")))
    call = await asked(here, agent)
    assert (await line.ask("end_pick", session=agent.session, tab=tab_of(here, agent).name))["kind"] == "done"
    assert (await call)["data"]["picked"] is False
    assert not await js(tab_of(here, agent), OVERLAY)


async def test_who_asks_no_more_leaves_nothing_over_the_page(here: Here, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(SLY.replace("SWAP", "")))
    tab = tab_of(here, agent)
    owner = next(one for one in here.gate._sessions.every() if one.id == agent.session).owner
    given_up = Call("ask_user_to_pick", {"prompt": "Which one?", "session": agent.session}, Caller(*owner, "mcp"))
    call = asyncio.create_task(here.gate.call(given_up))
    await drawn(tab, True)
    call.cancel()
    await asyncio.wait([call])
    await drawn(tab, False)


async def test_who_asks_says_what_for(agent: RestAgent):
    """Without words, the person's pages would not know that somebody asks."""
    told = await agent.call("ask_user_to_pick", prompt="")
    assert told["error"]["code"] == "bad_request"
