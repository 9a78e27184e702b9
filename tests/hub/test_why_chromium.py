"""No line to the hub: the extension's options say which of the causes it is, and what to do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.server import ServerConnection, serve

from tests import own_chrome
from tests.hub.test_far_hub import Town, tls_proxy, town
from tests.hub.viewers import OPTIONS, Viewer, staged, viewer
from tests.own_chrome import Page
from tests.promises import promise

__all__ = ["town"]

pytestmark = promise("G05", "G08")

NOBODY = "127.0.0.1:9"  # the port of `discard`, where no one listens


async def says(page: Page, words: str, step: str) -> None:
    shown = "document.getElementById('words').textContent + '\\n' + document.getElementById('next').textContent"
    try:
        await page.until(f"({shown}).includes({words!r}) && ({shown}).includes({step!r})", 20)
    except AssertionError:
        raise AssertionError(f"never: {words} {step}; it says: {await page.js(shown)}") from None


@contextlib.asynccontextmanager
async def options(browser: Viewer) -> AsyncIterator[Page]:
    page = await browser.chrome.open("about:blank")
    often = "const every = setInterval; setInterval = (look, ms) => every(look, ms / 20)"  # it looks once a second
    await page.channel.send("Page.addScriptToEvaluateOnNewDocument", source=often)
    await browser.chrome.go(page, OPTIONS)
    yield page
    await browser.chrome.close(page)


async def leaves(line: ServerConnection) -> None:
    """A server of WebSockets that is no hub."""
    await line.close()


async def test_each_cause_has_its_words_and_its_next_step(town: Town):
    key = town.keys["ann"]
    async with viewer() as browser, options(browser) as page:
        await says(page, "Not paired.", "type its code into the popup, or write a hub’s address below.")
        for url, given, words, step in (
            (f"ws://{NOBODY}/signaling", key, f"Nobody answers at {NOBODY}.", "“pilothouse hub”"),
            (town.url.replace("signaling", "hub"), key, "but no hub at /hub.", "ends with /signaling"),
            (town.url, "wrong", "does not know this key.", "“pilothouse user add NAME”"),
            (town.url, "", "asks for a key.", "“pilothouse user add NAME”"),
            (town.url, key, "Connected.", ""),
        ):
            assert await browser.save(page, url, given) == ""
            await says(page, words, step)
        await asyncio.to_thread(town.stop)
        await says(page, f"Nobody answers at 127.0.0.1:{town.port}.", "when it starts")
        await town.start()
        await says(page, "Connected.", "")
        async with serve(leaves, "127.0.0.1", 0, subprotocols=["pilothouse"]) as other:  # type: ignore[list-item]
            port = other.sockets[0].getsockname()[1]
            await browser.save(page, f"ws://127.0.0.1:{port}/signaling", key)
            await says(page, f"127.0.0.1:{port} does not speak as a hub", "one of both is older")


async def test_a_page_that_the_hub_refuses(town: Town):
    """It is named with the next step, until it is offered."""
    async with viewer() as browser, options(browser) as page:
        await browser.save(page, town.url, town.keys["ben"])
        await says(page, "Connected.", "")
        url = f"{town.proxy.origin('anns')}/quiet"
        shown = await browser.chrome.open(url)
        refused = "document.getElementById('refused').textContent"
        step = "(`pilothouse cocoon list` on the hub's machine says who owns which)"
        await page.until(f'{refused} === "Not offered: {url}: this user owns no such cocoon {step}"')
        text = town.proxy.file.read_text()
        town.proxy.file.write_text(text.replace('owner = "ann"', 'owner = "ben"'))
        await browser.chrome.go(shown, url)
        await says(page, "are offered for inspection: 1 now.", "")
        await page.until(f"{refused} === ''")


async def test_a_certificate_that_nobody_vouches_for(town: Town, tmp_path: Path):
    async with viewer() as browser, options(browser) as page, tls_proxy(tmp_path, lambda: town.port) as port:
        await browser.save(page, f"wss://localhost:{port}/signaling", town.keys["ann"])
        await says(page, f"Nobody answers at localhost:{port}.", f"Open https://localhost:{port}/ in a tab")


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Chromium for which our certificate is as good as any."""
    monkeypatch.setattr(own_chrome, "FLAGS", [*own_chrome.FLAGS, "--ignore-certificate-errors"])


@pytest.mark.usefixtures("trusting")
async def test_a_hub_behind_tls(town: Town, tmp_path: Path):
    """What answers at an address that the extension may not read can still be told from nobody."""
    async with viewer() as browser, options(browser) as page, tls_proxy(tmp_path, lambda: town.port) as port:
        await browser.save(page, f"wss://localhost:{port}/hub", town.keys["ann"])
        await says(page, f"Somebody answers at localhost:{port}, but no hub at /hub.", "ends with /signaling")
        await browser.save(page, f"wss://localhost:{port}/signaling", town.keys["ann"])
        names = f'"localhost", "localhost:{port}"'  # as the front passes it on, which the extension cannot know
        await says(page, f"does not know itself as localhost:{port}", f"Write {names} into allowed_hosts")
        await asyncio.to_thread(town.stop)
        text = town.proxy.file.read_text()
        town.proxy.file.write_text(f"[server]\nallowed_hosts = [{names}]\n\n{text}")
        await town.start()
        await says(page, "Connected.", "")


async def test_a_pairing_that_is_over(home: Path):
    async with staged(home) as stage, options(stage.person) as page:
        await says(page, "Connected.", "")
        headers = {"authorization": f"Bearer {stage.here.person}"}
        async with httpx.AsyncClient(base_url=stage.here.url, headers=headers) as client:
            (await client.delete("/api/extension/browsers/work")).raise_for_status()
        await says(
            page, "does not know this browser", "“pilothouse extension pair” in a terminal and type its code into"
        )


async def test_everything_is_stopped(home: Path):
    """As Cancel on Chrome's bar does it too: the hub answers, and no page is offered any more."""
    async with staged(home) as stage, options(stage.person) as page:
        shown, _ = await stage.show("/quiet")
        await stage.person.chrome.tell(stage.person.popup, "stop")
        await says(
            page, "Everything is stopped in this browser: no page is offered.", "Press “Allow again” in the popup"
        )
        await stage.person.chrome.tell(stage.person.popup, "allow")
        await stage.person.chrome.go(shown, stage.url("/quiet"))
        await says(page, "are offered for inspection: 1 now.", "")


async def test_a_line_that_stood_and_was_closed_says_nothing_of_the_key():
    """As a hub does it to a browser that does not read."""
    lines: list[ServerConnection] = []
    over = asyncio.Event()

    async def hub(line: ServerConnection) -> None:
        lines.append(line)
        await line.recv()
        if len(lines) > 1:
            await over.wait()  # the second time it has no answer
        await line.send('{"type": "browser_debug_hub", "proxy": "http://localhost:8081"}')
        await line.close(4429, "it does not read")

    async with (
        serve(hub, "127.0.0.1", 0, subprotocols=["pilothouse"]) as server,  # type: ignore[list-item]
        viewer() as browser,
        options(browser) as page,
    ):
        port = server.sockets[0].getsockname()[1]
        await browser.save(page, f"ws://127.0.0.1:{port}/signaling", "key")
        try:
            await says(page, f"The line to the hub at 127.0.0.1:{port} broke.", "made anew by itself")
        finally:
            over.set()
