"""People with Chromiums whose extension offers pages of the debug proxy, and an app whose pages do what is looked for."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from pilothouse.cdp.connection import ProtocolError
from pilothouse.hub.hub import Hub
from pilothouse.hub.words import ConsoleEntry, ConsoleFilters, NetworkFilters, NetworkRequest, TabInfo
from pilothouse.options import Config, Proxy
from tests.daemon_here import ALLOW, Here, daemon_here
from tests.own_chrome import ORIGIN, OwnChrome, Page, own_chrome
from tests.proxy.apps import App, running

OPTIONS = f"{ORIGIN}/debug-options.html"
SEE_S = 10.0

PAGE = """<!doctype html><title>Shop</title><link rel=icon href="data:,"><h1>Shop</h1>
<script>
console.log('inline', {a: 1}, [1, 2]);
console.warn('%s is %d', 'answer', 42);
</script>
<script src=/app.js></script>
<script>
fetch('/api/items', {method: 'POST', headers: {'content-type': 'application/json'}, body: '{"q": "tea"}'});
fetch('/api/broken');
setTimeout(() => { throw new Error('boom') }, 0);
</script>"""
WORKER = """self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()))
self.addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))"""

# What fails while the page, its first, still loads, and what fails after that.
TARDY = """<!doctype html><title>Tardy</title><link rel=icon href="data:,"><script>
fetch('/api/tardy?ms=0', {method: 'POST', body: 'x'});
fetch('/api/tardy?ms=400', {method: 'POST', body: 'x'});
fetch('/nowhere');
</script>"""
# A router's first act.
MOVES = """<!doctype html><head><script>history.replaceState({}, '', '/moved?on=1')</script><title>Moves</title>
<link rel=icon href="data:,">"""
# What no hub takes: an address without end, times that are none, a status that is none, names without end.
FORGES = """<!doctype html><title>Forges</title><link rel=icon href="data:,"><script>
const forged = [1e300, 1e999, -1, NaN].map((at) => ({name: '/forged', startTime: at, duration: at, responseStatus: 70_000}));
performance.getEntriesByType = () => forged.concat({name: location.origin + '/x', startTime: 1, duration: 1, responseStatus: 70_000});
history.pushState({}, '', '/forges#' + 'x'.repeat(70_000));
const deep = {['k'.repeat(300_000)]: () => { console.trace('deep', {['p'.repeat(300_000)]: 1}) }};
deep['k'.repeat(300_000)]();
fetch('/data', {headers: Object.fromEntries(Array.from({length: 300}, (_, n) => [`x-${n}`, 'v'.repeat(60_000)]))}).catch(() => {});
</script>"""

HELD = """(async () => {
  const tabs = await chrome.tabs.query({});
  const asked = tabs.map(({ id }) => chrome.debugger.sendCommand({ tabId: id }, 'Target.getTargetInfo').then(() => 1, () => 0));
  return (await Promise.all(asked)).reduce((sum, one) => sum + one, 0);
})()"""


class Shop(App):
    """`asked`: paths and what they were asked for (Sec-Fetch-Dest)."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        own = [
            Route("/shop", self._page),
            Route(
                "/quiet", lambda request: HTMLResponse("<!doctype html><title>Quiet</title><link rel=icon href=data:,>")
            ),
            Route("/empty", lambda request: Response(status_code=204)),
            Route("/health", lambda request: HTMLResponse("<!doctype html><title>Health</title>")),
            Route("/app.js", lambda request: Response("console.info('app')", media_type="text/javascript")),
            Route("/api/items", self._items, methods=["POST"]),
            Route("/api/broken", lambda request: JSONResponse({"error": "no tea"}, 500)),
            Route("/long", lambda request: PlainTextResponse("é" * 200_000)),
            Route("/worker.js", lambda request: Response(WORKER, media_type="text/javascript")),
            Route("/tardy", lambda request: HTMLResponse(TARDY)),
            Route("/api/tardy", self._tardy, methods=["POST"]),
            Route("/moves", lambda request: HTMLResponse(MOVES)),
            Route("/forges", lambda request: HTMLResponse(FORGES)),
            Route("/framed", lambda request: HTMLResponse("<title>Framed</title><iframe src=/quiet></iframe>")),
        ]
        self.asgi = Starlette(routes=[*own, *self.asgi.routes])

    async def _page(self, request: Request) -> Response:
        self.asked.append((request.url.path, request.headers.get("sec-fetch-dest", "")))
        return HTMLResponse(PAGE)

    async def _tardy(self, request: Request) -> Response:
        await asyncio.sleep(int(request.query_params["ms"]) / 1000)
        return JSONResponse({"error": "too late"}, 500)

    async def _items(self, request: Request) -> Response:
        return JSONResponse({"found": await request.json()})


class Viewer:
    """A person's Chromium with the extension."""

    def __init__(self, chrome: OwnChrome, popup: Page) -> None:
        self.chrome = chrome
        self.popup = popup

    async def use_hub(self, url: str, key: str) -> None:
        """In the page of settings, as a person does it."""
        page = await self.chrome.open(OPTIONS)
        assert (
            await self.save(page, url.replace("ws:", "http:"), key)
            == "It begins with wss://, or with ws://127.0.0.1: for one on this machine."
        )
        assert await self.save(page, url, "a key") == "This is no key of Pilothouse."
        assert await self.save(page, url, key) == ""
        await self.connected()
        await page.until("document.getElementById('words').textContent.startsWith('Connected.')")
        await self.chrome.close(page)

    async def save(self, page: Page, url: str, key: str) -> str:
        await page.until("document.getElementById('size').value")
        typed = "".join(f"{name}.value = {json.dumps(text)};" for name, text in (("url", url), ("key", key)))
        await page.js(f"{typed} document.querySelector('form button').click()")
        return await page.js("document.getElementById('wrong').textContent")

    async def pair(self, here: Here) -> None:
        headers = {"authorization": f"Bearer {here.person}", "content-type": "application/json"}
        async with httpx.AsyncClient(base_url=here.url, headers=headers) as client:
            made = (await client.post("/api/extension/pair")).json()["data"]
        told = await self.chrome.tell(self.popup, "pair", code=f"{made['port']}-{made['code']}", name="work")
        assert told["problem"] == ""
        await self.connected()

    async def connected(self) -> None:
        await self.popup.until("chrome.runtime.sendMessage({type: 'debug'}).then((told) => told.connected)")

    async def browser_id(self) -> str:
        return await self.popup.js("chrome.storage.local.get('install').then((kept) => kept.install)")

    async def held_tabs(self) -> int:
        """Of pages of the proxy: those that answer the extension's own debugger."""
        return await self.popup.js(HELD)


@contextlib.asynccontextmanager
async def viewer(*more_extensions: Path) -> AsyncIterator[Viewer]:
    async with own_chrome(*more_extensions) as chrome:
        yield Viewer(chrome, await chrome.popup())


class Stage:
    """A daemon with its proxy, the app behind it as the cocoon `shop`, and a person's Chromium that is paired."""

    def __init__(self, here: Here, shop: App, person: Viewer) -> None:
        self.here = here
        self.shop = shop
        self.person = person
        self._pages: list[Page] = []

    @property
    def hub(self) -> Hub:
        assert isinstance(self.here.gate.hub, Hub)
        return self.here.gate.hub

    def url(self, path: str, cocoon: str = "shop") -> str:
        return f"http://{cocoon}.localhost:{self.here.cocoons.proxy.port}{path}"

    async def until(self, look: Callable[[], Any], what: str, seconds: float = SEE_S) -> Any:
        """Of what has no event: the hub's own lists."""
        end = time.monotonic() + seconds
        while not (found := look()):
            assert time.monotonic() < end, f"never: {what}"
            await asyncio.sleep(0.01)
        return found

    async def until_held(self, count: int) -> None:
        """How many of the proxy's tabs Chrome's debugger holds for the extension."""
        end = time.monotonic() + SEE_S
        while (held := await self.person.held_tabs()) != count:
            assert time.monotonic() < end, f"{held} tabs are held, not {count}"
            await asyncio.sleep(0.02)

    async def offered(self, path: str) -> TabInfo:
        def look() -> TabInfo | None:
            return next((one for one in self.hub.tabs("local") if one.url == self.url(path)), None)

        return await self.until(look, f"{path} is offered")

    async def open(self, url: str) -> Page:
        page = await self.person.chrome.open(url)
        self._pages.append(page)
        return page

    async def show(self, path: str) -> tuple[Page, TabInfo]:
        page = await self.open(self.url(path))
        return page, await self.offered(path)

    async def clear(self) -> None:
        """The curtain: what was opened is closed."""
        pages, self._pages = self._pages, []
        for page in pages:
            with contextlib.suppress(ProtocolError):  # it is closed already
                await self.person.chrome.close(page)
        await self.until(lambda: not self.hub.tabs("local"), "no tab is offered any more")

    async def requests(self, tab: TabInfo, **filters: Any) -> list[NetworkRequest]:
        return await self.hub.network("local", tab.token, NetworkFilters(**{"limit": 10_000, **filters}))

    async def lines(self, tab: TabInfo, **filters: Any) -> list[str]:
        return [one.message for one in await self.entries(tab, **filters)]

    async def entries(self, tab: TabInfo, **filters: Any) -> list[ConsoleEntry]:
        return await self.hub.console("local", tab.token, ConsoleFilters(**{"limit": 20_000, **filters}))

    async def printed(self, tab: TabInfo, message: str, *, part: bool = False) -> None:
        """Wait for a line, and so for everything that was said before it."""
        end = time.monotonic() + SEE_S
        while not any(message in one if part else message == one for one in await self.lines(tab)):
            assert time.monotonic() < end, f"never printed: {message}; {(await self.lines(tab))[-5:]}"
            await asyncio.sleep(0.01)

    async def done(self, tab: TabInfo, pattern: str) -> NetworkRequest:
        end = time.monotonic() + SEE_S
        while True:
            found = [one for one in await self.requests(tab, url_pattern=pattern) if one.duration_ms is not None]
            if found:
                return found[-1]
            assert time.monotonic() < end, f"never done: {pattern}"
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def staged(home: Path, app: App | None = None, *more_extensions: Path) -> AsyncIterator[Stage]:
    # Agents in a person's own Chrome reach this machine only where a rule says so.
    (home / "policy.toml").write_text('[[rules]]\nhost = "*.localhost"\nread = true\nwrite = true\n')
    async with (
        running(app or Shop()) as shop,
        daemon_here(home, Config(proxy=Proxy(enabled=True, port=0))) as here,
        viewer(*more_extensions) as person,
    ):
        here.decide = lambda question: ALLOW
        here.cocoons.add({"id": "shop", "target": shop.url})
        await person.pair(here)
        yield Stage(here, shop, person)
