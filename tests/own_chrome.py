"""A person's own Chromium with the real extension, and a person who clicks: pairs, shares, stops, opens tabs.

The person's hands are CDP over a port of that Chromium; agents know nothing of it.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from pilothouse.cdp.connection import Channel, Connection, ProtocolError
from pilothouse.cdp.socket import Socket
from pilothouse.guard.pairing import ORIGIN

EXTENSION = Path(__file__).parent.parent / "extension"
POPUP = f"{ORIGIN}/popup.html"
START_S = 30.0
SEE_S = 10.0

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=1000,800",
]
# Two renderers that nobody sees, for the address bar of each window. (One in reserve stays, as people have it: without it
# a new window takes much longer to come.) Chrome takes the last such list alone, so there is one.
UNSEEN = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")


class Page:
    """A page as the person sees it."""

    def __init__(self, channel: Channel, target_id: str) -> None:
        self.channel = channel
        self.target_id = target_id

    async def js(self, expression: str, **more: Any) -> Any:
        told = await self.channel.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, **more
        )
        if "exceptionDetails" in told:
            raise AssertionError(told["exceptionDetails"]["exception"].get("description", told["exceptionDetails"]))
        return told["result"].get("value")

    async def until(self, expression: str, seconds: float = SEE_S) -> Any:
        """Wait for an expression to be true, in the page's own time."""
        waiting = f"""new Promise((done, fail) => {{
            const end = Date.now() + {seconds * 1000};
            const look = async () => {{
                const value = await ({expression});
                if (value) done(value);
                else if (Date.now() > end) fail(new Error("never: " + {json.dumps(expression)}));
                else setTimeout(look, 20);
            }};
            look();
        }})"""
        async with asyncio.timeout(seconds + SEE_S):
            while True:
                try:
                    return await self.js(waiting)
                except ProtocolError as error:  # a page that goes elsewhere takes what was waited for in it along
                    if "navigated" not in str(error):
                        raise


class OwnChrome:
    def __init__(self, process: asyncio.subprocess.Process, connection: Connection) -> None:
        self.process = process
        self.connection = connection
        self.root = connection.root

    async def open(self, url: str) -> Page:
        """A tab of the person's, loaded."""
        page = await self.page((await self.root.send("Target.createTarget", url="about:blank"))["targetId"])
        if url != "about:blank":
            await self.go(page, url)
        return page

    async def go(self, page: Page, url: str) -> None:
        loaded = asyncio.Event()
        leave = page.channel.on("Page.loadEventFired", lambda _: loaded.set())
        await page.channel.send("Page.enable")
        await page.channel.send("Page.navigate", url=url)
        await asyncio.wait_for(loaded.wait(), START_S)
        leave()

    async def page(self, target_id: str) -> Page:
        told = await self.root.send("Target.attachToTarget", targetId=target_id, flatten=True)
        return Page(self.connection.channel(told["sessionId"]), target_id)

    async def close(self, page: Page) -> None:
        await self.root.send("Target.closeTarget", targetId=page.target_id)

    async def popup(self) -> Page:
        """The extension's popup, as a tab of its own."""
        async with asyncio.timeout(START_S):
            while not await self.worker():  # the extension may still be loading
                await asyncio.sleep(0.02)
        return await self.open(POPUP)

    async def tell(self, page: Page, kind: str, **more: Any) -> Any:
        """What a button of the popup does."""
        return await page.js(f"chrome.runtime.sendMessage({json.dumps({'type': kind, **more})})")

    async def tab_id(self, page: Page, popup: Page) -> int:
        """Chrome's number of a tab, which only extensions know."""
        found = f"chrome.debugger.getTargets().then(all => all.find(one => one.id === '{page.target_id}')?.tabId)"
        return int(await popup.until(found))

    async def worker(self) -> str:
        """The target of the extension's service worker; empty when it does not run."""
        told = await self.root.send("Target.getTargets", filter=[{"type": "service_worker"}])
        mine = [one for one in told["targetInfos"] if one["url"].startswith(ORIGIN)]
        return mine[0]["targetId"] if mine else ""

    async def kill_worker(self) -> None:
        await self.root.send("Target.closeTarget", targetId=await self.worker())

    @contextlib.asynccontextmanager
    async def hastened(self, ms: int, to_ms: int) -> AsyncIterator[Page]:
        """Whatever the extension's worker begins to wait `ms` for meanwhile, it waits `to_ms` for. Answers the worker."""
        worker = await self.page(await self.worker())
        quick = f"(done, ms, ...more) => wait(done, ms === {ms} ? {to_ms} : ms, ...more)"
        await worker.js(f"globalThis.wait = setTimeout, globalThis.setTimeout = {quick}, 0")
        try:
            yield worker
        finally:
            await worker.js("globalThis.setTimeout = wait, 0")

    def freeze(self, frozen: bool) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP if frozen else signal.SIGCONT)


@contextlib.asynccontextmanager
async def own_chrome(*more_extensions: Path, profile: Path | None = None) -> AsyncIterator[OwnChrome]:
    with tempfile.TemporaryDirectory(prefix="pilothouse-own-", ignore_cleanup_errors=True) as made:
        folder = profile or Path(made)
        loaded = ",".join(map(str, [EXTENSION, *more_extensions]))
        chrome = os.environ.get("PILOTHOUSE_CHROME") or shutil.which("chromium") or shutil.which("google-chrome") or ""
        (folder / "DevToolsActivePort").unlink(missing_ok=True)
        _set_up(folder)
        process = await asyncio.create_subprocess_exec(
            chrome,
            *FLAGS,
            f"--user-data-dir={folder}",
            f"--load-extension={loaded}",
            f"--disable-features={','.join((*UNSEEN, 'DisableLoadExtensionCommandLineSwitch'))}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            # Without pings: a browser that stands still for a while is not gone.
            socket = await connect(
                await _address(folder), ping_interval=None, max_size=None, compression=None, proxy=None
            )
            connection = Connection(Socket(socket))
            yield OwnChrome(process, connection)
            await connection.close()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _set_up(folder: Path) -> None:
    """The switch of chrome://extensions: without it an unpacked extension does not survive a reload (M). And downloads
    stay in the profile."""
    preferences = folder / "Default" / "Preferences"
    if not preferences.exists():
        preferences.parent.mkdir(parents=True, exist_ok=True)
        wanted: dict[str, Any] = {"extensions": {"ui": {"developer_mode": True}}}
        wanted["download"] = {"default_directory": str(folder / "downloads"), "prompt_for_download": False}
        preferences.write_text(json.dumps(wanted))


async def _address(folder: Path) -> str:
    """Chrome writes its port into its profile when it listens."""
    async with asyncio.timeout(START_S):
        while True:
            with contextlib.suppress(FileNotFoundError, ValueError):
                port, path = (folder / "DevToolsActivePort").read_text().split("\n")[:2]
                return f"ws://127.0.0.1:{int(port)}{path}"
            await asyncio.sleep(0.02)
