"""A house with a bridge, and a person's Chromium that is paired with it: agents work in it through the real extension.

The policy of the person's own Chrome would ask a person about everything; tests of tools are not tests of that, so it
says what a sandbox says, unless a test wants the real one.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pilothouse.browser import sessions
from pilothouse.call import Defaults
from pilothouse.cdp.connection import ProtocolError
from pilothouse.doors.bridge import BridgeDoor
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.guard.pairing import ORIGIN, Pairing
from pilothouse.guard.rules import read_rules
from pilothouse.providers.link import Link
from tests.house import Agent, House
from tests.own_chrome import OwnChrome, Page, own_chrome

SEE_S = 15.0
SANDBOX = 'template = "sandbox"'


class Neighbour:
    """`chrome` is the person's; `popup` their hand on the extension."""

    def __init__(self, house: House, chrome: OwnChrome, popup: Page, pairing: Pairing, port: int) -> None:
        self.house = house
        self.chrome = chrome
        self.popup = popup
        self.port = port
        self._pairing = pairing
        self.visited: set[str] = set()  # origins that shared tabs have been at
        self.link.on_event(self._note)

    @property
    def link(self) -> Link:
        return next(iter(self.house.links))

    def agent(self, name: str = "") -> Agent:
        """Its first call opens a session in the person's Chrome."""
        return self.house.agent(Defaults(browser="extension", profile=name))

    async def pair(self, chrome: OwnChrome, name: str) -> Page:
        """Another Chrome of the person's; answers its popup."""
        return await paired(chrome, self._pairing, self.port, name)

    async def share(self, url: str) -> Page:
        """The person opens a page and shares its tab."""
        page = await self.chrome.open(url)
        await _loaded(page, url)
        tab_id = await self.chrome.tab_id(page, self.popup)
        await self.chrome.tell(self.popup, "shareTab", tabId=tab_id)
        await self.until(lambda: tab_id in self.link.tabs)
        return page

    async def tab_id(self, page: Page) -> int:
        return await self.chrome.tab_id(page, self.popup)

    async def attached(self) -> int:
        """How many tabs the extension's debugger holds."""
        return int((await self.chrome.tell(self.popup, "state"))["attachedTabs"])

    async def tidy(self) -> None:
        """Cookies and storage of one Chrome are one world; the next test begins with none, and with no tabs."""
        told = await self.chrome.root.send("Target.getTargets", filter=[{"type": "page"}])
        for target in told["targetInfos"]:
            if target["targetId"] != self.popup.target_id:
                await self.chrome.root.send("Target.closeTarget", targetId=target["targetId"])
        await self.until(lambda: not self.link.tabs)
        await self.chrome.root.send("Storage.clearCookies")
        for origin in self.visited:
            await self.popup.channel.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all")

    def _note(self, kind: str, tab_id: int, payload: object) -> None:
        if (info := self.link.tabs.get(tab_id)) and info.url.startswith("http"):
            parts = urlsplit(info.url)
            self.visited.add(f"{parts.scheme}://{parts.netloc}")

    async def until(self, condition: object, seconds: float = SEE_S) -> None:
        assert callable(condition)
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"never; shared are {list(self.link.tabs.values())}") from None


async def paired(chrome: OwnChrome, pairing: Pairing, port: int, name: str = "") -> Page:
    popup = await chrome.popup()
    told = await chrome.tell(popup, "pair", code=f"{port}-{pairing.new_code()}", name=name)
    assert not told["problem"], told
    return popup


async def _loaded(page: Page, url: str) -> None:
    """The blank page that a tab begins with may be replaced while it is asked."""
    for _ in range(3):
        with contextlib.suppress(ProtocolError):
            await page.until(f"location.href === {url!r} && document.readyState === 'complete'")
            return
    raise AssertionError(f"{url} did not come")


@contextlib.asynccontextmanager
async def in_own_chrome(home: Path) -> AsyncIterator[House]:
    """A house whose agents work in the person's Chrome, in pages of the size that tests expect."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "AS_IT_IS", (1280, 800))
        async with living_next_door(home) as one:
            one.house.defaults = Defaults(browser="extension")
            one.house.tidy = one.tidy
            yield one.house


@contextlib.asynccontextmanager
async def living_next_door(home: Path) -> AsyncIterator["Neighbour"]:
    """In a task of its own: the two halves of a fixture may run in different ones."""
    started: asyncio.Future[Neighbour] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def live() -> None:
        async with neighbour(home) as one:
            started.set_result(one)
            await over.wait()

    living = asyncio.create_task(live())
    await asyncio.wait([started, living], return_when=asyncio.FIRST_COMPLETED)
    if living.done():
        living.result()
    yield started.result()
    over.set()
    await living


@contextlib.asynccontextmanager
async def neighbour(home: Path, policy: str = SANDBOX) -> AsyncIterator[Neighbour]:
    house = House(home)
    house.policy.replace(read_rules(policy))
    pairing = Pairing(home)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        bridge = BridgeDoor(pairing, house.links, house.audit, port=port)

        async def no_mcp() -> object:
            raise AssertionError("nobody calls by MCP here")

        app = build_app(no_mcp, lambda key: None, port=port, routes=bridge.routes(), extension=ORIGIN)  # type: ignore[arg-type]
        http = HttpDoor(app)
        await http.listen(listener)
        try:
            async with own_chrome() as chrome:
                yield Neighbour(house, chrome, await paired(chrome, pairing, port), pairing, port)
                await house.close()
        finally:
            house.links.close()
            await http.close()
