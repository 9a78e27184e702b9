"""What gets no token and what is not offered: frames, service workers, copies, other origins, and whoever stole one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.hub.viewers import Stage, staged
from tests.promises import promise
from tests.proxy.apps import App, running
from tests.proxy.conftest import NAVIGATES, ProxyHere

pytestmark = promise("G02", "G05")


class Thief(App):
    """Another server of this machine, whose pages come with a token that somebody else was given."""

    def __init__(self) -> None:
        super().__init__()
        self.token = ""
        self.framed = ""
        routes = [Route("/quiet", self._page), Route("/frames", self._frames)]
        self.asgi = Starlette(routes=routes)

    async def _page(self, request: Request) -> Response:
        headers = {"x-adi-debug-token": self.token, "cache-control": "max-age=1000"}
        return HTMLResponse("<!doctype html><title>Thief</title>", headers=headers)

    async def _frames(self, request: Request) -> Response:
        return HTMLResponse(f"<!doctype html><title>Frames</title><iframe src='{self.framed}'></iframe>")


@pytest.fixture
async def stage(home: Path) -> AsyncIterator[Stage]:
    async with staged(home) as one:
        yield one


async def stolen(stage: Stage, path: str) -> str:
    """A good token that nobody has used."""
    proxy = ProxyHere(stage.here.cocoons.proxy.port, stage.here.cocoons, stage.here.home / "config.toml")
    async with proxy.client("shop") as client:
        return (await client.get(path, headers=NAVIGATES)).headers["x-adi-debug-token"]


async def test_nothing_but_the_tabs_own_page_is_offered(stage: Stage):
    chrome = stage.person.chrome
    async with running(Thief()) as thief:
        assert isinstance(thief, Thief)
        port = thief.url.rpartition(":")[2]

        # Another origin that shows a stolen token, by its own name and by the cocoon's.
        for host in ("thief.localhost", "shop.localhost", "localhost"):
            thief.token = await stolen(stage, "/quiet")
            page = await chrome.open(f"http://{host}:{port}/quiet")
            assert await page.js("document.title") == "Thief"
            # Not even the copy of it that the browser keeps.
            await chrome.go(page, "about:blank")
            await chrome.go(page, f"http://{host}:{port}/quiet")
            await chrome.close(page)

        # An app behind the proxy that shows one of another cocoon: it gets its own instead.
        stage.here.cocoons.add({"id": "thief", "target": thief.url})
        thief.token = await stolen(stage, "/quiet")
        page = await chrome.open(stage.url("/quiet", "thief"))
        await stage.until(lambda: stage.hub.tabs("local"), "it is offered, as itself")
        assert [one.cocoon_id for one in stage.hub.tabs("local")] == ["thief"]
        await chrome.close(page)
        await stage.until(lambda: not stage.hub.tabs("local"), "it is gone")

        # A page of the proxy in a frame of another origin, and of its own.
        thief.framed = stage.url("/quiet")
        outer = await chrome.open(f"http://localhost:{port}/frames")
        own = await chrome.open(stage.url("/framed"))
        await stage.offered("/framed")
        assert [one.url for one in stage.hub.tabs("local")] == [stage.url("/framed")]
        for one in (outer, own):
            await chrome.close(one)
        await stage.until(lambda: not stage.hub.tabs("local"), "it is gone")


async def test_a_page_that_a_service_worker_serves_is_not_offered(stage: Stage):
    page, _ = await stage.show("/quiet")
    await page.js(
        "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
    )
    await page.until("navigator.serviceWorker.controller !== null")
    await stage.person.chrome.go(page, stage.url("/shop"))
    await page.until("document.title === 'Shop'")
    await stage.until(lambda: not stage.hub.tabs("local"), "the page before is gone")
    await stage.until_held(0)
    # It comes from the app itself where the worker has nothing to say.
    await page.js("navigator.serviceWorker.getRegistration().then((one) => one.unregister()).then(() => 1)")
    await stage.person.chrome.go(page, "about:blank")
    await stage.person.chrome.go(page, stage.url("/shop"))
    await stage.offered("/shop")


async def test_back_is_offered_again(stage: Stage):
    """Under its handle if Chrome shows the page as it was left, under another if it asks the proxy once more."""
    page, first = await stage.show("/shop")
    await page.js("window.same = true")
    await stage.person.chrome.go(page, stage.url("/quiet"))
    await stage.offered("/quiet")
    await page.js("history.back()")
    again = await stage.offered("/shop")
    assert (again.token == first.token) == await page.js("window.same === true")
    await page.js("console.log('back')")
    await stage.printed(again, "back")
    assert len(stage.hub.tabs("local")) == 1
