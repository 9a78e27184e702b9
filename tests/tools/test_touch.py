"""Fingers: taps and swipes as pages with touch handlers hear them."""

import asyncio
from typing import Any

import pytest

from pilothouse.browser import input as hand
from pilothouse.browser import touch
from tests.browser.looking import fails
from tests.hostile.conftest import tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A22", "C01")

EARS = """<script>window.seen = []; for (const kind of ["touchstart", "touchmove", "touchend", "touchcancel",
  "pointerdown", "pointerup", "click"]) addEventListener(kind, e => seen.push(kind + (e.pointerType || "")), true)</script>"""
PAGE = f"<body style='margin:0; height:4000px'><button id=go onclick='this.textContent = `Hit`'>Go</button>{EARS}"
CAROUSEL = """<div id=car style='touch-action:none; width:600px; height:200px'>Cards</div><script>
let from = 0; car.onpointerdown = e => { from = e.clientX; car.setPointerCapture(e.pointerId) };
car.onpointerup = e => { document.title = e.clientX < from - 50 ? "next" : e.clientX > from + 50 ? "back" : "none" };</script>"""


async def heard(agent: Agent, target: str, expression: str = "seen") -> Any:
    return (await agent.call("evaluate_js", target=target, expression=expression))["value"]


async def test_a_tap_is_a_touch_and_a_click(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    assert await agent.text("tap", target="#go") == 'tapped button "Go"'
    assert await agent.js("seen") == ["pointerdowntouch", "touchstart", "pointeruptouch", "touchend", "clicktouch"]
    assert await agent.js("go.textContent") == "Hit"


async def test_the_touch_screen_is_there_for_the_gesture_only(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    await agent.js("go.addEventListener('touchstart', () => { window.points = navigator.maxTouchPoints }); return 0")
    before = await agent.js("navigator.maxTouchPoints")
    await agent.call("tap", target="#go")
    assert await agent.js("[points, navigator.maxTouchPoints]") == [1, before]
    await agent.call("emulate", touch=True)
    await agent.call("tap", target="#go")
    assert await agent.js("[points, navigator.maxTouchPoints]") == [5, 5]


async def test_the_touch_screen_goes_when_the_gesture_is_given_up_before_it_began(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.inline(PAGE))

    async def gives_up(sent: list[asyncio.Future[dict[str, Any]]]) -> None:
        await asyncio.gather(*sent)
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(hand, "deliver", gives_up)
        with pytest.raises(asyncio.CancelledError):
            async with touch._touch_screen(tab_of(agent)):
                pass
    assert await agent.js("navigator.maxTouchPoints") == 0


async def test_a_swipe_scrolls_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    await agent.call("swipe", direction="up")
    down = await agent.js("scrollY")
    assert down > 300
    assert await agent.js("scrollY") == down
    assert {"touchstart", "touchmove", "touchend"} <= set(await agent.js("seen"))
    await agent.call("swipe", direction="down", distance=100)
    assert await agent.js("scrollY") < down


@pytest.mark.parametrize(("direction", "title"), [("left", "next"), ("right", "back")])
async def test_a_carousel(agent: Agent, site: PageServer, direction: str, title: str) -> None:
    await agent.call("navigate", url=site.inline(CAROUSEL))
    await agent.call("swipe", target="#car", direction=direction, distance=150)
    assert await agent.js("document.title") == title


async def test_a_swipe_that_moves_nothing_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<h1>Short</h1>"))
    assert "unchanged" in await agent.text("swipe", direction="up")


@promise("A21")
@pytest.mark.parametrize("other", [True, False])
async def test_in_a_frame(agent: Agent, site: PageServer, other: bool) -> None:
    frame = site.inline(PAGE, other=other)
    await agent.call("navigate", url=site.inline(f'<h1>Page</h1><iframe height=400 src="{frame}"></iframe>'))
    await agent.call("wait_for_element", target="#go")
    await agent.call("tap", target="#go")
    assert await heard(agent, "#go") == ["pointerdowntouch", "touchstart", "pointeruptouch", "touchend", "clicktouch"]
    await agent.call("swipe", target="#go", direction="down", distance=100)
    assert "touchmove" in await heard(agent, "#go")


async def test_in_a_tab_that_is_not_in_front(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    await agent.call("new_tab")
    await agent.call("tap", tab="t1", target="#go")
    await agent.call("swipe", tab="t1", direction="up")
    assert (await agent.call("evaluate_js", tab="t1", expression="[go.textContent, scrollY > 100]"))["value"] == [
        "Hit",
        True,
    ]


async def test_a_tap_that_opens_a_dialog(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button id=go onclick='alert(1)'>Go</button>"))
    assert "dialog" in await agent.text("tap", target="#go")
    await agent.call("handle_dialog", accept=True)
    assert await agent.js("1") == 1


async def test_what_cannot_be_touched(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button id=off disabled>Off</button><p id=gone hidden>x</p>"))
    await fails(agent, "not_found", "tap", target="#nowhere")
    await fails(agent, "not_actionable", "tap", target="#off")
    await fails(agent, "not_actionable", "swipe", target="#gone", direction="up")
    await fails(agent, "bad_request", "swipe", direction="sideways")
