"""`pilothouse browser-debug network|console HANDLE --follow`: the past, then what comes, until the tab is gone."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection

from pilothouse.hub.hub import Hub, Tab
from tests.command_line import CommandLine
from tests.daemon_here import ALLOW
from tests.hub.test_signaling import ANN, Hubbed, announce, ask, hubbed
from tests.processes import PILOTHOUSE
from tests.promises import promise

__all__ = ["hubbed"]

pytestmark = promise("G07", "E05")


class Terminal:
    """A command that goes on, in this event loop, where the daemon is too."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def read(self) -> str:
        assert self.process.stdout
        return (await asyncio.wait_for(self.process.stdout.readline(), 20)).decode().rstrip("\n")

    async def end(self) -> tuple[int, str]:
        assert self.process.stderr
        said = (await asyncio.wait_for(self.process.stderr.read(), 20)).decode()
        return await asyncio.wait_for(self.process.wait(), 20), said


@contextlib.asynccontextmanager
async def terminal(hubbed: Hubbed, *arguments: str) -> AsyncIterator[Terminal]:
    process = await asyncio.create_subprocess_exec(
        PILOTHOUSE,
        "browser-debug",
        *arguments,
        env=CommandLine(hubbed.here.home).environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Terminal(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def prints(browser: ClientConnection, token: str, at: int, message: str, level: str = "log") -> None:
    entry = {"timestamp": at, "level": level, "message": message}
    await browser.send(json.dumps({"type": "browser_debug_console_event", "token": token, "entry": entry}))


async def requests(browser: ClientConnection, token: str, number: int, status: int, **last: Any) -> None:
    shared = {"request_id": str(number), "timestamp": number}
    events = (
        ("request", {"method": "GET", "url": f"http://x.test/{number}"}),
        ("response", {"status": status}),
        ("finished", {"duration_ms": 3, **last}),
    )
    for event, data in events:
        said = {"type": "browser_debug_network_event", "token": token, "event": event, "data": {**shared, **data}}
        await browser.send(json.dumps(said))


async def heard(browser: ClientConnection) -> None:
    await browser.send('{"type":"alive"}')
    await browser.recv()


def tab_of(hubbed: Hubbed) -> Tab:
    hub = hubbed.here.gate.hub
    assert isinstance(hub, Hub)
    return hub.tab("local", hub.tabs("local")[0].token)


async def test_the_console_goes_on_after_its_past(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        await prints(browser, token, 1, "old")
        await heard(browser)
        async with terminal(hubbed, "console", tab_of(hubbed).handle, "--follow") as shown:
            assert await shown.read() == "log: old"
            await prints(browser, token, 2, "new", "error")
            assert await shown.read() == "error: new"
            await browser.send(json.dumps({"type": "browser_debug_tab_closed", "token": token}))
            assert await shown.end() == (0, "pilothouse: the tab is gone\n")


async def test_a_line_reads_the_same_whether_it_is_followed_or_not(hubbed: Hubbed):
    """What is masked in its address takes nothing of its place along."""
    hubbed.here.decide = lambda question: ALLOW
    line = "error: no password=[redacted] (http://x.test/late?token=[redacted]:1)"
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        entry = {"timestamp": 1, "level": "error", "message": "no password=hunter2-hunter2", "line": 1}
        entry["source"] = "http://x.test/late?token=hunter2-hunter2"
        await browser.send(json.dumps({"type": "browser_debug_console_event", "token": token, "entry": entry}))
        await heard(browser)
        for more in ([], ["--follow"]):
            async with terminal(hubbed, "console", tab_of(hubbed).handle, *more) as shown:
                shown_lines = [await shown.read() for _ in range(1 if more else 3)]
                assert line in shown_lines


async def test_the_network_goes_on_with_what_fits(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        await requests(browser, token, 1, 500)
        await heard(browser)
        arguments = ("network", tab_of(hubbed).handle, "-f", "--status-min", "400", "--json")
        async with terminal(hubbed, *arguments) as shown:
            assert json.loads(await shown.read())["url"] == "http://x.test/1"
            await prints(browser, token, 1, "a line")
            await requests(browser, token, 2, 200)
            await requests(browser, token, 3, 404, body="not here")
            told = json.loads(await shown.read())
            assert (told["url"], told["status"], told["response_body"]) == ("http://x.test/3", 404, "not here")
            shown.process.send_signal(signal.SIGINT)
            assert (await shown.end())[0] == 130
        async with asyncio.timeout(10):
            while tab_of(hubbed).listeners:
                await asyncio.sleep(0.01)


async def test_what_cannot_be_followed_is_told(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    async with terminal(hubbed, "network", "nothing", "--follow") as shown:
        code, said = await shown.end()
        assert code == 4
        assert "no such tab" in said
    async with terminal(hubbed, "network", "--follow") as shown:
        assert (await shown.end())[0] == 2


async def test_a_client_of_the_hub_follows(hubbed: Hubbed):
    async with hubbed.browser(ANN) as browser, hubbed.client() as client:
        token = await announce(browser, hubbed, "anns")
        handle = (await ask(client, "list_tabs"))["tabs"][0]["token"]
        await client.send(json.dumps({"type": "browser_debug_follow", "request_id": "f", "token": handle}))
        assert (await ask(client, "list_tabs", request_id="2"))["request_id"] == "2"  # it listens by now
        await prints(browser, token, 1, "hello")
        told = json.loads(await asyncio.wait_for(client.recv(), 10))
        assert (told["type"], told["request_id"]) == ("browser_debug_followed", "f")
        assert told["entry"]["message"] == "hello"
        await requests(browser, token, 1, 200)
        told = json.loads(await asyncio.wait_for(client.recv(), 10))
        assert (told["request"]["status"], told["request"]["duration_ms"]) == (200, 3)
        await browser.send(json.dumps({"type": "browser_debug_tab_closed", "token": token}))
        assert json.loads(await asyncio.wait_for(client.recv(), 10))["closed"]
        told = await ask(client, "follow", request_id="g", token=handle)
        assert (told["request_id"], told["error"]["code"]) == ("g", "not_found")
