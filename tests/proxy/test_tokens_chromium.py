"""In a real Chromium: script, frames, workers and other origins cannot obtain a token; the tab's own page has one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.house import Agent
from tests.promises import promise
from tests.proxy.apps import App, running
from tests.proxy.conftest import proxy_here

pytestmark = promise("G02")

WORKER = """
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()))
self.addEventListener('fetch', (event) => event.respondWith((async () => {
  const answer = await fetch(event.request)
  const copy = new Headers(answer.headers)
  copy.set('x-seen', answer.headers.get('x-adi-debug-token') ?? 'none')
  return new Response(await answer.blob(), {status: answer.status, headers: copy})
})()))
"""
# What the browser loads ahead for a worker. It keeps what it saw in a cache, for the page to read.
EAGER = """
const TOKEN = 'x-adi-debug-token'
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil((async () => {
  await self.registration.navigationPreload.enable()
  if (location.search === '?named') await self.registration.navigationPreload.setHeaderValue('')
  await clients.claim()
})()))
const note = async (kind, answer) => {
  const cache = await caches.open('seen')
  await cache.put('/seen/' + kind, new Response(answer?.headers.get(TOKEN) ?? 'none'))
}
self.addEventListener('fetch', (event) => {
  if (event.request.mode !== 'navigate') return
  event.respondWith((async () => {
    const preloaded = await event.preloadResponse
    await note('preload', preloaded)
    const answer = preloaded ?? await fetch(event.request)
    await note('fetch', answer)
    return answer
  })())
})
"""
SEEN = """(async () => {
  const cache = await caches.open('seen')
  const said = async (kind) => (await cache.match('/seen/' + kind))?.text()
  return [await said('preload'), await said('fetch')]
})()"""
TRIES = """(async () => {
  const seen = {}
  const token = (answer) => answer.headers.get('x-adi-debug-token')
  const headers = {'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document'}
  seen.fetch = token(await fetch('/page'))
  seen.forged = token(await fetch('/page', {headers}))
  seen.sameOrigin = token(await fetch('/page', {mode: 'same-origin'}))
  seen.navigate = await fetch('/page', {mode: 'navigate'}).then(token, (error) => 'refused')
  seen.reuse = await fetch(new Request('/page', {cache: 'force-cache'})).then(token)
  const xhr = new XMLHttpRequest()
  xhr.open('GET', '/page', false)
  try { xhr.setRequestHeader('Sec-Fetch-Mode', 'navigate') } catch {}
  xhr.send()
  seen.xhr = xhr.getResponseHeader('x-adi-debug-token')
  return seen
})()"""


class WithWorker(App):
    """It also knows which kinds of requests for its page came in, and serves a worker that reads what it can."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        own = [
            Route("/worker.js", self.worker),
            Route("/eager.js", self.eager),
            Route("/page", self.seen_page),
            Route("/frame", self.frame),
        ]
        self.asgi = Starlette(routes=[*own, *self.asgi.routes])

    async def worker(self, request: Request) -> Response:
        return Response(WORKER, media_type="text/javascript")

    async def eager(self, request: Request) -> Response:
        return Response(EAGER, media_type="text/javascript")

    async def seen_page(self, request: Request) -> Response:
        self.asked.append(request.headers.get("sec-fetch-dest", ""))
        return HTMLResponse("<title>page</title>")

    async def frame(self, request: Request) -> Response:
        return HTMLResponse("<title>frame</title><iframe src=/page></iframe>")


@pytest.fixture
async def worked() -> AsyncIterator[WithWorker]:
    app = WithWorker()
    async with running(app):
        yield app


async def last_token(agent: Agent, url: str) -> str | None:
    """What the browser got as a header of the newest request for this address."""
    listed = (await agent.call("get_network_log", url_pattern=url))["requests"]
    detail = (await agent.call("get_network_request", id=listed[-1]["id"], part="response"))["request"]
    return {name.lower(): value for name, value in detail["response_headers"].items()}.get("x-adi-debug-token")


async def test_only_the_tabs_own_page_gets_one(tmp_path: Path, worked: WithWorker, agent: Agent):
    async with proxy_here(tmp_path, {"shop": {"target": worked.url}}) as proxy:
        url = f"{proxy.origin('shop')}/page"
        await agent.call("navigate", url=url)
        assert await last_token(agent, url)
        seen = await agent.js(TRIES)
        assert seen == {
            "fetch": None, "forged": None, "sameOrigin": None, "navigate": "refused", "reuse": None, "xhr": None,
        }  # fmt: skip
        assert worked.asked[0] == "document"
        assert set(worked.asked[1:]) == {"empty"}


async def test_a_frame_gets_none(tmp_path: Path, worked: WithWorker, agent: Agent):
    async with proxy_here(tmp_path, {"shop": {"target": worked.url}}) as proxy:
        await agent.call("navigate", url=f"{proxy.origin('shop')}/frame", wait_until="load")
        assert await last_token(agent, f"{proxy.origin('shop')}/frame")
        assert await last_token(agent, f"{proxy.origin('shop')}/page") is None
        assert worked.asked == ["iframe"]


async def test_a_service_worker_sees_none(tmp_path: Path, worked: WithWorker, agent: Agent):
    async with proxy_here(tmp_path, {"shop": {"target": worked.url}}) as proxy:
        url = f"{proxy.origin('shop')}/page"
        await agent.call("navigate", url=url)
        await agent.js(
            "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
        )
        seen = "fetch('/page').then((answer) => answer.headers.get('x-seen'))"
        async with asyncio.timeout(10):
            while await agent.js(seen) is None:
                await asyncio.sleep(0.05)
        assert await agent.js(seen) == "none"
        await agent.call("navigate", url=f"{url}?through")
        listed = (await agent.call("get_network_log", url_pattern="*?through", type=["Document"]))["requests"]
        detail = (await agent.call("get_network_request", id=listed[-1]["id"], part="response"))["request"]
        told = {name.lower(): value for name, value in detail["response_headers"].items()}
        assert told["x-seen"] == "none"
        assert "x-adi-debug-token" not in told
        assert worked.asked.count("document") == 1


@pytest.mark.parametrize("how", ["", "named"])
async def test_a_service_worker_reads_none_in_what_is_loaded_ahead(
    tmp_path: Path, worked: WithWorker, agent: Agent, how: str
):
    async with proxy_here(tmp_path, {"shop": {"target": worked.url}}) as proxy:
        url = f"{proxy.origin('shop')}/page"
        await agent.call("navigate", url=url)
        await agent.js(
            f"navigator.serviceWorker.register('/eager.js?{how}').then(() => navigator.serviceWorker.ready).then(() => 1)"
        )
        async with asyncio.timeout(10):
            while not await agent.js("navigator.serviceWorker.controller?.state === 'activated'"):
                await asyncio.sleep(0.05)
        await agent.call("navigate", url=f"{url}?through")
        assert await agent.js(SEEN) == ["none", "none"]
        assert worked.asked.count("document") == 2


async def test_another_origin_reads_none(tmp_path: Path, worked: WithWorker, agent: Agent):
    cocoons = {"shop": {"target": worked.url}, "evil": {"target": worked.url, "owner": "ben"}}
    async with proxy_here(tmp_path, cocoons) as proxy:
        await agent.call("navigate", url=f"{proxy.origin('evil')}/page")
        opaque = (
            f"fetch('{proxy.origin('shop')}/page', {{mode: 'no-cors'}}).then((answer) => [...answer.headers].length)"
        )
        assert await agent.js(opaque) == 0
        blocked = f"fetch('{proxy.origin('shop')}/page').then(() => 'read', () => 'blocked')"
        assert await agent.js(blocked) == "blocked"
