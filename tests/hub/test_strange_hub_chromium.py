"""A hub that is not ours says where its proxy is: it cannot have the debugger put on pages that the person did not allow."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator

from websockets.asyncio.server import ServerConnection, serve

from pilothouse.doors.http import HttpDoor
from tests.hub.viewers import OPTIONS, Shop, Viewer, viewer
from tests.promises import promise

pytestmark = promise("G05", "G08")

STATUS = "chrome.runtime.sendMessage({type: 'debug'})"
# Whatever the debugger says is said to every page of the extension.
LISTEN = "window.heard = []; chrome.debugger.onEvent.addListener((source, method) => window.heard.push(method))"


class StrangeHub:
    """It greets every browser and names a proxy of its own choice."""

    def __init__(self) -> None:
        self.proxy: object = ""
        self.url = ""
        self._greeted = asyncio.Event()
        self._lines: set[ServerConnection] = set()

    async def serve(self, line: ServerConnection) -> None:
        self._lines.add(line)
        async for frame in line:
            said = json.loads(frame)
            if isinstance(said, dict) and said["type"] == "browser_debug_hello":
                await line.send(json.dumps({"type": "browser_debug_hub", "proxy": self.proxy}))
                self._greeted.set()
            elif isinstance(said, dict) and said["type"] == "alive":
                await line.send('{"type":"alive"}')

    async def name(self, proxy: object, browser: Viewer) -> None:
        """The browser comes again, and hears another."""
        self.proxy = proxy
        self._greeted.clear()
        lines, self._lines = self._lines, set()
        for line in lines:
            await line.close()
        await asyncio.wait_for(self._greeted.wait(), 10)
        await browser.popup.until(f"{STATUS}.then((told) => told.connected)")


@contextlib.asynccontextmanager
async def strange_hub() -> AsyncIterator[StrangeHub]:
    hub = StrangeHub()
    async with serve(hub.serve, "127.0.0.1", 0, subprotocols=["pilothouse"]) as server:  # type: ignore[list-item]
        hub.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/signaling"
        yield hub


@contextlib.asynccontextmanager
async def elsewhere() -> AsyncIterator[str]:
    """An app at an address that the extension may not see."""
    with socket.create_server(("127.0.0.2", 0)) as listener:
        door = HttpDoor(Shop().asgi)
        await door.listen(listener)
        yield f"http://127.0.0.2:{listener.getsockname()[1]}"
        await door.close()


async def test_it_sees_nothing_that_chrome_does_not_show():
    async with strange_hub() as hub, elsewhere() as app, viewer() as browser:
        await browser.use_hub(hub.url, "key")
        await browser.popup.js(LISTEN)
        for nonsense in ("com", "javascript:1", "file:///etc", 7, None):
            await hub.name(nonsense, browser)
            told = await browser.popup.until(f"{STATUS}.then((told) => told.proxy === '' && told)")
            assert told["connected"]
        await hub.name(app, browser)
        told = await browser.popup.until(f"{STATUS}.then((told) => told.proxy && told)")
        assert (told["proxy"], told["allowed"]) == (app, False)
        page = await browser.chrome.open(f"{app}/shop")
        await page.until("document.title === 'Shop'")
        options = await browser.chrome.open(OPTIONS)
        await options.until("document.getElementById('words').textContent.includes('does not let us see')")
        assert await browser.popup.js("window.heard") == []
