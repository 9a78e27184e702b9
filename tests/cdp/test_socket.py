"""The same client, unchanged, over a browser's WebSocket."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilothouse.browser.browser import Browser, Context
from pilothouse.browser.navigate import navigate
from pilothouse.cdp.connection import Connection
from pilothouse.cdp.socket import Socket
from pilothouse.errors import Failure
from pilothouse.guard.sluice import Sluice
from tests.cdp.conftest import Remote
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A03", "A01")


@pytest.fixture
async def connection(remote: Remote) -> AsyncIterator[Connection]:
    one = Connection(await Socket.open(remote.url))
    yield one
    await one.close()


@pytest.fixture
async def context(connection: Connection) -> AsyncIterator[Context]:
    sluice = Sluice({}, set())
    browser = Browser(connection)
    await browser.start()
    one = await browser.open_context(await sluice.open())
    yield one
    await one.close()
    sluice.close()


async def test_a_tab_opens_navigates_and_is_read(context: Context, site: PageServer) -> None:
    tab = await context.open_tab()
    arrival = await navigate(tab, site.url("small.html"), "load", 20)
    assert (arrival.title, arrival.status) == ("Small", 200)
    assert (await tab.call("page"))["url"] == site.url("small.html")


async def test_cross_origin_frames_have_channels_of_their_own(context: Context, site: PageServer) -> None:
    tab = await context.open_tab()
    await navigate(tab, f"{site.url('frames.html')}?other={site.other_origin}", "load", 20)
    assert len({frame.channel.id for frame in tab.frames}) > 1


async def test_many_calls_at_once_keep_their_order(connection: Connection) -> None:
    replies = await asyncio.gather(*(connection.root.send("Target.getTargets") for _ in range(100)))
    assert all("targetInfos" in reply for reply in replies)


async def test_closing_fails_what_is_pending(remote: Remote) -> None:
    connection = Connection(await Socket.open(remote.url))
    call = connection.root.post("Target.getTargets")
    await connection.close()
    with pytest.raises(Failure) as gone:
        await call
    assert gone.value.code == "browser_gone"


async def test_nobody_at_the_address() -> None:
    with pytest.raises(Failure, match="no browser answers") as nobody:
        await Socket.open("ws://127.0.0.1:9/devtools/browser/x")
    assert nobody.value.code == "browser_gone"


async def test_a_server_that_is_no_browser(site: PageServer) -> None:
    with pytest.raises(Failure, match="no browser answers"):
        await Socket.open(site.url("small.html").replace("http:", "ws:"))
