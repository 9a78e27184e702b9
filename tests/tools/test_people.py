"""F05: the person points at an element: what is told of it leads to it alone; no element gets the press, and the page can fake
nothing."""

import asyncio
import io
from typing import Any

import pytest
from PIL import Image

from pilothouse.browser.tab import Tab
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("F05")

PAGE = """<!doctype html><title>Pick</title><style>body{margin:0} .at{position:absolute;width:200px;height:40px}</style>
<button class=at style="top:0" data-testid="save-it" onclick="document.title='heard'">Save</button>
<button class=at style="top:50px">Twin</button><button class=at style="top:100px">Twin</button>
<label class=at style="top:150px;left:300px" for=mail>Your mail</label><input class=at style="top:150px" id=mail>
<div class=at style="top:200px"><i></i><i id=x123456>deep</i></div>
<iframe class=at style="top:300px;height:100px;border:0" srcdoc="<body style='margin:0'><a href=/x id=inner style='display:block;height:80px'>Inside</a>"></iframe>
<script>
setTimeout(() => {
  for (const kind of ['pointermove', 'click', 'keydown']) window.dispatchEvent(new MouseEvent(kind, {clientX: 10, clientY: 10, bubbles: true}));
  for (const one of document.querySelectorAll('div')) one.click?.();
}, 200);
</script>"""


SHOWN = "[...document.documentElement.children].at(-1).style.cursor === 'crosshair'"


async def tab_of(house: House, agent: Agent) -> Tab:
    session = next(one for one in house.sessions.every() if one.owner[1] == agent.caller.connection)
    assert session.current
    return session.current


async def is_asked(tab: Tab, agent: Agent) -> None:
    async with asyncio.timeout(10):
        while not tab.picking or not await agent.js(SHOWN):
            await asyncio.sleep(0.01)


async def point(tab: Tab, x: float, y: float) -> None:
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        more: dict[str, Any] = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        await tab.channel.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)


async def picked(house: House, agent: Agent, site: PageServer, x: float, y: float) -> dict[str, Any]:
    await agent.call("navigate", url=site.inline(PAGE))
    call = asyncio.create_task(agent.call("ask_user_to_pick", prompt="Which one?", timeout_ms=20_000))
    tab = await tab_of(house, agent)
    await is_asked(tab, agent)
    await point(tab, x, y)
    return await call


def by_kind(told: dict[str, Any]) -> dict[str, str]:
    return {one["kind"]: one["selector"] for one in told["selectors"]}


async def test_a_test_id_comes_first(house: House, agent: Agent, site: PageServer):
    told = await picked(house, agent, site, 100, 20)
    assert (told["picked"], told["role"], told["name"]) == (True, "button", "Save")
    assert told["selectors"][0] == {"kind": "test id", "selector": '[data-testid="save-it"]'}
    assert by_kind(told)["role and name"] == 'role=button[name="Save"]'
    assert await agent.js("document.title") == "Pick"  # the button itself heard nothing of the press
    await agent.call("click", target=told["ref"])
    assert await agent.js("document.title") == "heard"


@pytest.mark.parametrize(("x", "y", "kinds"), [
    (100, 120, {"css", "xpath"}),  # one of two that are called the same: its name would lead to both
    (100, 170, {"role and name", "label", "css", "xpath"}),
    (10, 210, {"css", "xpath"}),
])  # fmt: skip
async def test_every_selector_leads_to_it_alone(
    house: House, agent: Agent, site: PageServer, x: int, y: int, kinds: set[str]
):
    told = await picked(house, agent, site, x, y)
    assert set(by_kind(told)) == kinds
    box = "JSON.stringify(element.getBoundingClientRect())"
    wanted = await agent.call("evaluate_js", expression=box, target=told["ref"])
    for selector in by_kind(told).values():
        assert (await agent.call("evaluate_js", expression=box, target=selector))["value"] == wanted["value"]


async def test_inside_a_frame(house: House, agent: Agent, site: PageServer):
    told = await picked(house, agent, site, 50, 320)
    assert (told["role"], told["name"]) == ("link", "Inside")
    assert by_kind(told)["css"] == "#inner"


async def test_escape_and_time(house: House, agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(PAGE))
    call = asyncio.create_task(agent.call("ask_user_to_pick", prompt="Which one?", timeout_ms=20_000))
    tab = await tab_of(house, agent)
    await is_asked(tab, agent)
    await tab.channel.send(
        "Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27
    )
    assert (await call)["picked"] is False
    assert (await agent.call("ask_user_to_pick", prompt="Which one?", timeout_ms=50))["picked"] is False


async def test_highlight(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(PAGE))
    before = (await agent.ask("screenshot")).images[0].data
    told = await agent.call("highlight", target="[data-testid=save-it]", label="here", time_ms=60_000)
    assert told == {"role": "button", "name": "Save"}
    assert (await agent.ask("screenshot")).images[0].data != before
    assert "here" not in await agent.text("get_page_state")  # no snapshot reads it


ABOVE = """<!doctype html><title>Above</title><style>
body { margin: 0; background: white } ::backdrop { background: blue }
dialog, [popover] { margin: 0; inset: 0; width: 600px; height: 300px; border: 0; padding: 0; background: white }
button { position: absolute; left: 100px; top: 100px; width: 200px; height: 40px }
dialog button { background: white; border: 0 }
</style>"""
MODAL = (
    ABOVE
    + """<dialog id=box><button id=it onclick="document.title='heard'">Next</button><input id=field></dialog>
<script>box.showModal(); field.focus()</script>"""
)
POPOVER = (
    ABOVE
    + """<div popover id=box><button id=it onclick="document.title='heard'">Next</button><input id=field></div>
<script>box.showPopover(); field.focus()</script>"""
)


def is_framed(picture: bytes) -> bool:
    """Whether the frame around the button is drawn, in either of its colours."""
    red, green, blue = Image.open(io.BytesIO(picture)).convert("RGB").getpixel((98, 120))  # type: ignore[misc]
    return max(abs(red - 0xC2), abs(green - 0x18), abs(blue - 0x5B)) < 40 or blue > red + 100


async def framed(agent: Agent) -> bool:
    return is_framed((await agent.ask("screenshot", format="png")).images[0].data)


@pytest.mark.parametrize(("page", "is_open"), [(MODAL, ":modal"), (POPOVER, ":popover-open")])
async def test_a_frame_lies_above_everything(agent: Agent, site: PageServer, page: str, is_open: str):
    await agent.call("navigate", url=site.inline(page))
    before = (await agent.call("get_page_state"))["snapshot"]
    assert not await framed(agent)
    await agent.call("highlight", target="#it", label="here", time_ms=60_000)
    assert await framed(agent)
    state = f"[box.matches('{is_open}'), document.activeElement.id, document.querySelectorAll(':modal').length]"
    assert await agent.js(state) == [True, "field", int(is_open == ":modal")]
    assert (await agent.call("get_page_state"))["snapshot"] == before
    await agent.call("click", target="#it")  # it is in nobody's way
    assert await agent.js("document.title") == "heard"


async def test_a_frame_brings_no_backdrop_along(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(ABOVE + "<button id=it>Next</button>"))
    await agent.call("highlight", target="#it", time_ms=60_000)
    shot = Image.open(io.BytesIO((await agent.ask("screenshot", format="png")).images[0].data)).convert("RGB")
    assert shot.getpixel((700, 500)) == (255, 255, 255)


@pytest.mark.parametrize(("page", "is_open"), [(MODAL, ":modal"), (POPOVER, ":popover-open")])
async def test_what_lies_above_the_page_is_pointed_at(
    house: House, agent: Agent, site: PageServer, page: str, is_open: str
):
    """It stays open, and does not hear of it."""
    await agent.call("navigate", url=site.inline(page))
    call = asyncio.create_task(agent.call("ask_user_to_pick", prompt="Which one?", timeout_ms=20_000))
    tab = await tab_of(house, agent)
    await is_asked(tab, agent)
    await tab.channel.send("Input.dispatchMouseEvent", type="mouseMoved", x=200, y=120)
    assert await framed(agent)
    await point(tab, 200, 120)
    told = await call
    assert (told["role"], told["name"]) == ("button", "Next")
    assert await agent.js(f"[box.matches('{is_open}'), document.title, document.activeElement.id]") == [
        True,
        "Above",
        "field",
    ]
