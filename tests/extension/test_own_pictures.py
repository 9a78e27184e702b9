"""F07: the live picture of a tab of the person's own Chrome goes on while somebody looks; else no frame leaves the browser."""

import asyncio
import json
from typing import Any

import pytest

from pilothouse.browser.screencast import Frame
from pilothouse.wheel import Wheel
from tests.extension.neighbour import Neighbour
from tests.house import Agent
from tests.own_chrome import Page
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("F07", "F02")

LOOK_S = 10.0
FRAME = "Page.screencastFrame"
PAINT = """new Promise(done => { document.documentElement.style.background = '%s';
requestAnimationFrame(() => requestAnimationFrame(() => done(1))) })"""


class Watcher:
    """One who looks, and takes each frame as it comes."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.taken: Any = lambda: None
        self._news = asyncio.Event()

    def show(self, frame: Frame) -> None:
        self.frames.append(frame.data)
        self._news.set()
        self.taken()

    async def another(self, than: bytes) -> bytes:
        async with asyncio.timeout(LOOK_S):
            while self.frames[-1:] in ([], [than]):
                self._news.clear()
                await self._news.wait()
        return self.frames[-1]


@pytest.fixture
def wheel(person: Neighbour) -> Wheel:
    house = person.house
    return Wheel(house.sessions, house.gate.permits, house.audit)


@pytest.fixture
def over_the_bridge(person: Neighbour) -> list[int]:
    """How many characters each frame had that came through the extension."""
    sizes: list[int] = []

    def hear(kind: str, _: int, payload: Any) -> None:
        told = json.loads(bytes(payload)) if kind == "cdp" else {}
        if told.get("method") == FRAME:
            sizes.append(len(told["params"]["data"]))

    person.link.on_event(hear)
    return sizes


async def watched(person: Neighbour, wheel: Wheel, watcher: Watcher) -> Any:
    session = person.house.sessions.every()[0]
    viewer = await wheel.watch(session.id, "", watcher.show)
    watcher.taken = viewer.taken
    viewer.taken()
    return viewer


async def repainted(page: Page, watcher: Watcher, *colours: str) -> None:
    for colour in colours:
        before = watcher.frames[-1]
        await page.js(PAINT % colour)
        await watcher.another(before)


async def painted_over(page: Page, agent: Agent) -> None:
    """What frames there are of it came before the picture that was asked for last."""
    for colour in ("red", "green", "blue", "black"):
        await page.js(PAINT % colour)
        await agent.call("screenshot")


async def test_the_picture_of_ones_own_tab_is_live(
    person: Neighbour, wheel: Wheel, site: PageServer, over_the_bridge: list[int]
) -> None:
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        await agent.js("1")
        watcher = Watcher()
        viewer = await watched(person, wheel, watcher)
        await watcher.another(b"")
        # More than the browser sends without being told that they came.
        await repainted(page, watcher, "red", "green", "blue", "black", "white", "red")
        assert min(map(len, watcher.frames)) > 1000, "none of those that only keep it drawing"
        viewer.leave()
        await agent.js("1")  # what was on its way has come
        count = len(over_the_bridge)
        await painted_over(page, agent)
        assert len(over_the_bridge) == count


async def test_what_nobody_looks_at_sends_no_frames(
    person: Neighbour, site: PageServer, over_the_bridge: list[int]
) -> None:
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        await agent.js("1")
        await painted_over(page, agent)
        assert over_the_bridge == []


async def test_it_goes_on_when_the_extension_was_away(person: Neighbour, wheel: Wheel, site: PageServer) -> None:
    """Frames that nobody could take hold the browser's picture up: it is begun anew."""
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        await agent.js("1")
        watcher = Watcher()
        viewer = await watched(person, wheel, watcher)
        await watcher.another(b"")
        back = asyncio.Event()
        deaf = person.link.on_state(lambda state: back.set() if state == "connected" else None)
        await person.chrome.kill_worker()
        for colour in ("red", "green", "blue", "black"):
            await page.js(PAINT % colour)
        await person.popup.js("chrome.runtime.sendMessage({type: 'state'}).then(() => 1)")  # whoever asks wakes it
        await asyncio.wait_for(back.wait(), LOOK_S)
        deaf()
        await repainted(page, watcher, "orange", "red", "green", "blue")
        viewer.leave()
