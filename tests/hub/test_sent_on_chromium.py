"""Requests of a tab's first page that were redirected before, while and after Chrome let the extension listen."""

import asyncio
import shutil
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests import own_chrome
from tests.hub.viewers import staged
from tests.promises import promise
from tests.proxy.apps import App, running

pytestmark = promise("G05", "G07")

PAGE = """<!doctype html><title>Sent on</title><link rel=icon href="data:,"><script>
fetch('/hop/before', {method: 'POST'}).then((answer) => answer.text()).then(() => fetch('/seen'));
fetch('/hop/between', {method: 'POST'});
fetch('/hop/after', {method: 'POST'});
fetch('/first/twice', {method: 'POST'});
</script>"""
TAKES = "async function take(tabId, one) {\n"


class Relay(App):
    """Nobody listens before it says so (`/gate`), and some answers wait until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = {path: asyncio.Event() for path in ("/seen", "/hop/after", "/landed/between", "/hop/twice")}
        self.released = {path: asyncio.Event() for path in self.asked if path != "/seen"}
        self.asgi = Starlette(
            routes=[
                Route("/sent", lambda request: HTMLResponse(PAGE)),
                Route("/first/{name}", self._first, methods=["POST"]),
                Route("/hop/{name}", self._hop, methods=["POST"]),
                Route("/landed/{name}", self._landed),
                Route("/seen", self._seen),
                Route("/gate", self._gate),
            ]
        )

    async def _first(self, request: Request) -> Response:
        return RedirectResponse(f"/hop/{request.path_params['name']}", 307)

    async def _hop(self, request: Request) -> Response:
        await self._noted(request.url.path)
        return RedirectResponse(f"/landed/{request.path_params['name']}", 303)

    async def _landed(self, request: Request) -> Response:
        await self._noted(request.url.path)
        return JSONResponse({"error": "not here either"}, 404)

    async def _seen(self, request: Request) -> Response:
        self.asked["/seen"].set()
        return Response()

    async def _noted(self, path: str) -> None:
        if path in self.released:
            self.asked[path].set()
            await asyncio.wait_for(self.released[path].wait(), 20)

    async def _gate(self, request: Request) -> Response:
        for one in self.asked.values():
            await asyncio.wait_for(one.wait(), 20)
        return Response()


@pytest.fixture
def late_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """It asks at a gate before it takes a tab, as if Chrome had let it wait."""
    copy = shutil.copytree(own_chrome.EXTENSION, tmp_path / "extension")
    monkeypatch.setattr(own_chrome, "EXTENSION", copy)
    return copy / "debug-hold.js"


async def test_each_address_is_told_once_with_its_own_status(home: Path, late_extension: Path):
    async with running(Relay()) as relay:
        assert isinstance(relay, Relay)
        text = late_extension.read_text()
        assert TAKES in text
        late_extension.write_text(text.replace(TAKES, f"{TAKES}  await fetch('{relay.url}/gate');\n"))
        async with staged(home, relay) as stage:
            page = await stage.open("chrome://newtab")
            number = await stage.person.chrome.tab_id(page, stage.person.popup)
            url = stage.url("/sent")
            await stage.person.popup.js(f"chrome.tabs.update({number}, {{url: {url!r}}}).then(() => true)")
            tab = await stage.offered("/sent")
            await stage.until_held(1)
            for name, release in (("before", ""), ("between", "/landed/between"), ("after", "/hop/after")):
                if release:
                    relay.released[release].set()
                landed, hop = await stage.done(tab, f"/landed/{name}$"), await stage.done(tab, f"/hop/{name}$")
                assert (landed.status, hop.status) == (404, 303), name
                assert hop.method in ("POST", ""), name
                assert landed.method in ("GET", ""), name
            relay.released["/hop/twice"].set()  # sent on once before anybody listened, and once more now
            hops = [(await stage.done(tab, f"/{one}/twice$")).status for one in ("landed", "hop", "first")]
            assert hops == [404, 303, 307]
            await stage.done(tab, "/seen$")
            await page.js("console.log('and no more')")
            await stage.printed(tab, "and no more")
            told = [one.url for one in await stage.requests(tab)]
            assert len(told) == len(set(told)) == 11, told
