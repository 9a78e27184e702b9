"""The floor: plain CDP from Python over one WebSocket, each row with the fewest commands that do it right.

No checks, no waiting beyond what the row itself means, no policy, no log: what remains is Chrome and a socket.
"""

import asyncio
import base64
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import uvloop
from websockets.asyncio.client import ClientConnection, connect

from bench.driver import Driver, Spot
from pilothouse.providers import launch

T = TypeVar("T")

_VIEW = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--window-size=1280,800"]
_WAIT_TEXT = """new Promise(done => {
  const look = () => document.body.innerText.includes(%s) && (watch.disconnect(), done(true));
  const watch = new MutationObserver(look);
  watch.observe(document, { subtree: true, childList: true, characterData: true });
  look();
})"""


def chrome_flags(*, reserve: bool) -> list[str]:
    """The product's own flags, private as they are: another set would be another browser. No pipe, no dead proxy; and
    the renderer in `reserve` that Chrome has unless somebody finds out what it costs a crowd."""
    left_out = ("--remote-debugging-pipe", "--proxy-server", "--proxy-bypass-list")
    flags = [flag for flag in launch._FLAGS if not flag.startswith(left_out)]  # pyright: ignore[reportPrivateUsage]
    off = [launch._FEATURES_OFF, *([] if reserve else [launch._RESERVE])]  # pyright: ignore[reportPrivateUsage]
    flags.append(f"--disable-features={','.join(off)}")
    return [*flags, *_VIEW, *(["--no-sandbox"] if os.geteuid() == 0 else []), "--remote-debugging-port=0"]


class Page:
    """One tab over the shared socket."""

    def __init__(self, bare: "BareCdp", session: str) -> None:
        self._bare = bare
        self._session = session
        self._heard: dict[str, asyncio.Future[None]] = {}

    def post(self, method: str, /, **params: Any) -> asyncio.Future[dict[str, Any]]:
        return self._bare.post(method, session=self._session, **params)

    def hear(self, method: str) -> None:
        waiter = self._heard.pop(method, None)
        if waiter and not waiter.done():
            waiter.set_result(None)

    def next(self, method: str) -> asyncio.Future[None]:
        return self._heard.setdefault(method, asyncio.get_running_loop().create_future())

    async def evaluate(self, expression: str) -> Any:
        answer = await self.post("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    async def navigate(self, url: str) -> None:
        loaded = self.next("Page.loadEventFired")
        await self.post("Page.navigate", url=url)
        await loaded

    async def back(self) -> None:
        history = await self.post("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] - 1]["id"]
        # A restore from the back-forward cache fires no load event, only this one.
        gone = self.next("Page.frameNavigated")
        await self.post("Page.navigateToHistoryEntry", entryId=entry)
        await gone

    async def click(self, selector: str) -> None:
        x, y = await self.evaluate(
            f"(e => {{ e.scrollIntoViewIfNeeded(); const r = e.getBoundingClientRect();"
            f" return [r.x + r.width / 2, r.y + r.height / 2] }})(document.querySelector('{selector}'))"
        )
        mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await asyncio.gather(
            self.post("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y),
            self.post("Input.dispatchMouseEvent", type="mousePressed", **mouse),
            self.post("Input.dispatchMouseEvent", type="mouseReleased", **mouse),
        )

    async def fill(self, selector: str, text: str) -> None:
        await self.evaluate(f"(e => {{ e.focus(); e.select() }})(document.querySelector('{selector}'))")
        await self.post("Input.insertText", text=text)

    async def key(self, key: str) -> None:
        event = {"key": key, "code": f"Key{key.upper()}", "windowsVirtualKeyCode": ord(key.upper())}
        await asyncio.gather(
            self.post("Input.dispatchKeyEvent", type="keyDown", text=key, **event),
            self.post("Input.dispatchKeyEvent", type="keyUp", **event),
        )

    async def tree(self) -> list[Any]:
        return (await self.post("Accessibility.getFullAXTree"))["nodes"]

    async def screenshot(self) -> bytes:
        return base64.b64decode((await self.post("Page.captureScreenshot", format="png"))["data"])


class BareCdp(Driver):
    name = "bare CDP"

    def __init__(self, chrome: str, proxy: str = "", *, reserve: bool = True) -> None:
        """`proxy`: everything goes through it, loopback too."""
        self.chrome = chrome
        self._reserve = reserve
        self._flags = [f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"] if proxy else []
        self._loop = uvloop.new_event_loop()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._encode, self._decode = msgspec.json.encode, msgspec.json.decode

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="bench-chrome-")
        self._process = subprocess.Popen(
            [self.chrome, *chrome_flags(reserve=self._reserve), *self._flags, f"--user-data-dir={self._folder}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.run(self._connect(*self._address()))
        self._page = self.run(self.new_page())

    def close(self) -> None:
        self._listener.cancel()
        with contextlib.suppress(Exception):
            self.run(self._socket.close())
        self._loop.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _address(self) -> list[str]:
        """Port and path, from the file Chrome writes when it listens."""
        port_file = Path(self._folder, "DevToolsActivePort")
        end = time.monotonic() + 20
        while not (port_file.exists() and port_file.read_text().count("\n")):
            if time.monotonic() > end:
                raise TimeoutError("Chrome did not start")
            time.sleep(0.02)
        return port_file.read_text().split("\n")[:2]

    async def _connect(self, port: str, path: str) -> None:
        url = f"ws://127.0.0.1:{port}{path}"
        self._socket: ClientConnection = await connect(
            url, max_size=None, compression=None, ping_interval=None, proxy=None
        )
        self._listener = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for frame in self._socket:
            message = self._decode(frame)
            if "id" in message:
                waiter = self._waiting.pop(message["id"])
                if "error" in message:
                    waiter.set_exception(RuntimeError(message["error"]["message"]))
                else:
                    waiter.set_result(message["result"])
            elif page := self._pages.get(message.get("sessionId", "")):
                page.hear(message["method"])

    def post(self, method: str, /, *, session: str = "", **params: Any) -> asyncio.Future[dict[str, Any]]:
        call_id = next(self._ids)
        waiter = self._waiting[call_id] = self._loop.create_future()
        message = {"id": call_id, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self._loop.create_task(self._socket.send(self._encode(message), text=True))
        return waiter

    async def new_page(self) -> Page:
        context = (await self.post("Target.createBrowserContext"))["browserContextId"]
        target = await self.post("Target.createTarget", url="about:blank", browserContextId=context)
        attached = await self.post("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        # Without it only the front tab draws, and input to the others never answers.
        await asyncio.gather(page.post("Page.enable"), page.post("Emulation.setFocusEmulationEnabled", enabled=True))
        return page

    def navigate(self, url: str) -> None:
        self.run(self._page.navigate(url))

    def watch_network(self) -> None:
        """Be told of every request from now on."""
        self._loop.run_until_complete(self._page.post("Network.enable"))

    @contextlib.contextmanager
    def watching_network(self) -> Generator[None]:
        self.watch_network()
        try:
            yield
        finally:
            self._loop.run_until_complete(self._page.post("Network.disable"))

    def back(self) -> None:
        self.run(self._page.back())

    def evaluate(self, expression: str) -> Any:
        return self.run(self._page.evaluate(expression))

    def find(self, spot: Spot) -> str:
        return spot.selector

    def click(self, handle: str) -> None:
        self.run(self._page.click(handle))

    def fill(self, handle: str, text: str) -> None:
        self.run(self._page.fill(handle, text))

    def fill_many(self, fields: list[tuple[str, str]]) -> None:
        async def each() -> None:
            for handle, text in fields:
                await self._page.fill(handle, text)

        self.run(each())

    def press(self, key: str) -> None:
        self.run(self._page.key(key))

    def snapshot(self, *, full: bool = False) -> str:
        self.run(self._page.tree())
        return ""

    def wait_text(self, text: str) -> None:
        self.run(self._page.evaluate(_WAIT_TEXT % msgspec.json.encode(text).decode()))

    def screenshot(self) -> int:
        return len(self.run(self._page.screenshot()))

    def click_snapshot(self, handle: str) -> str:
        async def both() -> None:
            await self._page.click(handle)
            await self._page.tree()

        self.run(both())
        return ""

    def click_many(self, handle: str, times: int) -> None:
        async def each() -> None:
            for _ in range(times):
                await self._page.click(handle)

        self.run(each())

    def crowd(self, clients: int, laps: int, url: str, spot: Spot) -> float:
        async def walk(page: Page) -> None:
            for _ in range(laps):
                await page.navigate(url)
                await page.click(spot.selector)
            assert await page.evaluate("clicks") == 1

        async def all_at_once() -> float:
            pages = await asyncio.gather(*(self.new_page() for _ in range(clients)))
            await asyncio.gather(*(page.navigate(url) for page in pages))
            began = time.perf_counter()
            await asyncio.gather(*(walk(page) for page in pages))
            took = time.perf_counter() - began
            await asyncio.gather(*(page.post("Page.close") for page in pages))
            return clients * laps / took

        return self.run(all_at_once())
