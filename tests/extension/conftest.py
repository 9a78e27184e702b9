"""One person's Chromium with the real extension, paired with a real daemon in this process, for all tests of a run."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pilothouse.browser import shared
from pilothouse.errors import Failure
from pilothouse.providers.frames import Problem
from pilothouse.providers.link import Link
from tests.daemon_here import Here, daemon_here
from tests.extension.neighbour import Neighbour, living_next_door
from tests.own_chrome import OwnChrome, Page, own_chrome

INTRUDER = Path(__file__).parent / "intruder"
WAIT_S = 10.0


class Refusal(Exception):
    def __init__(self, problem: Problem | Failure) -> None:
        super().__init__(problem.message)
        self.code = problem.code


class Desk:
    """What the person and the daemon have before them."""

    def __init__(self, chrome: OwnChrome, popup: Page, here: Here) -> None:
        self.chrome = chrome
        self.popup = popup
        self.here = here
        self.events: list[tuple[str, int, dict[str, Any]]] = []
        self._news = asyncio.Event()

    @property
    def port(self) -> int:
        return int(self.here.url.rpartition(":")[2])

    @property
    def link(self) -> Link:
        return self.here.links.find()

    async def person(self, method: str, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.here.person}", "content-type": "application/json"}
        async with httpx.AsyncClient(base_url=self.here.url, headers=headers) as client:
            told = (await client.request(method, path)).json()
        assert told["success"], told
        return told["data"]

    async def code(self) -> str:
        made = await self.person("POST", "/api/extension/pair")
        return f"{made['port']}-{made['code']}"

    async def pair(self, code: str, name: str = "work") -> str:
        """As a person does it, in the popup; answers what went wrong."""
        told = await self.chrome.tell(self.popup, "pair", code=code, name=name)
        return told["problem"]

    async def state(self) -> dict[str, Any]:
        return await self.chrome.tell(self.popup, "state")

    def listen(self) -> None:
        """Follow the one browser's events from now on."""

        def hear(kind: str, tab: int, raw: Any) -> None:
            self.events.append((kind, tab, json.loads(bytes(raw))))
            self._news.set()

        self.link.on_event(hear)

    async def event(self, kind: str, tab: int | None = None, **fields: Any) -> dict[str, Any]:
        """The next event of that kind, and it is taken."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for one in self.events:
                    fits = one[0] == kind and tab in (None, one[1]) and fields.items() <= one[2].items()
                    if fits:
                        self.events.remove(one)
                        return one[2]
                self._news.clear()
                await self._news.wait()

    async def verb(self, kind: str, timeout: float = WAIT_S, **payload: Any) -> dict[str, Any]:
        return await self.link.post(kind, payload, timeout=timeout)

    async def cdp(self, tab: int, method: str, *, session: str = "", **params: Any) -> dict[str, Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.link.post_raw(
            tab, method, params, session_id=session, timeout=WAIT_S, reply=lambda *told: answer.set_result(told)
        )
        data, problem = await answer
        if problem is not None:
            raise Refusal(problem)
        return json.loads(bytes(data))

    async def number(self, tab: int) -> Any:
        told = await self.cdp(tab, "Runtime.evaluate", expression="40+2", returnByValue=True)
        return told["result"]["value"]

    async def until(self, look: Any, what: str) -> None:
        """Wait for something of the daemon's that has no event."""
        try:
            async with asyncio.timeout(WAIT_S):
                while not look():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"never: {what}") from None

    async def loaded(self, tab: int) -> None:
        """Its page is there; it may have been when the tab was told of."""
        await self.until(lambda: tab in self.link.tabs and self.link.tabs[tab].status == "complete", "it has loaded")

    async def tab(self, url: str) -> tuple[Page, int]:
        """A tab the person opens; it is not shared."""
        page = await self.chrome.open(url)
        return page, await self.chrome.tab_id(page, self.popup)


@pytest.fixture(scope="session")
async def chrome() -> AsyncIterator[OwnChrome]:
    async with own_chrome(INTRUDER) as one:
        yield one


@pytest.fixture(scope="session")
async def popup(chrome: OwnChrome) -> Page:
    return await chrome.popup()


@pytest.fixture(scope="session")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    home = tmp_path_factory.mktemp("own-chrome-home")
    home.chmod(0o700)
    started, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def live() -> None:  # a task of its own: the fixture's two halves may run in different ones
        async with daemon_here(home) as one:
            one.decide = lambda _: None  # it lives on beside other tests, whose policies are their own
            started.set_result(one)
            await over.wait()

    living = asyncio.create_task(live())
    yield await started
    over.set()
    await living


@pytest.fixture
async def fresh(chrome: OwnChrome, popup: Page, here: Here) -> AsyncIterator[Desk]:
    """A browser that is not paired, and a daemon that knows none."""
    await chrome.tell(popup, "unpair")
    await chrome.tell(popup, "allow")
    await chrome.tell(popup, "share", mode="group")
    desk = Desk(chrome, popup, here)
    yield desk
    await chrome.tell(popup, "unpair")
    async with asyncio.timeout(WAIT_S):
        while left := (await desk.person("GET", "/api/extension/browsers"))["browsers"]:
            with contextlib.suppress(AssertionError):  # its own word that it forgot us may come first
                await desk.person("DELETE", f"/api/extension/browsers/{left[0]['name']}")


@pytest.fixture
async def desk(fresh: Desk) -> AsyncIterator[Desk]:
    """Paired and connected; no tab is shared yet. What a test leaves open is closed."""
    assert await fresh.pair(await fresh.code()) == ""
    fresh.listen()
    before = await _pages(fresh.chrome)
    yield fresh
    for target in await _pages(fresh.chrome) - before:
        with contextlib.suppress(Exception):
            await fresh.chrome.root.send("Target.closeTarget", targetId=target)


async def _pages(chrome: OwnChrome) -> set[str]:
    told = await chrome.root.send("Target.getTargets", filter=[{"type": "page"}])
    return {one["targetId"] for one in told["targetInfos"]}


@pytest.fixture(scope="session")
async def next_door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Neighbour]:
    """A house whose agents may work in the person's Chrome next door."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "LOOK_EVERY_S", 0.1)
        async with living_next_door(tmp_path_factory.mktemp("next-door")) as one:
            yield one


@pytest.fixture
async def person(next_door: Neighbour) -> AsyncIterator[Neighbour]:
    """The person's Chrome with nothing shared, and agents allowed."""
    await next_door.tidy()
    yield next_door
    await next_door.chrome.tell(next_door.popup, "allow")
