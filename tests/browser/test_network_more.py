"""Network, the corners: workers, bodies of every kind, streams that fail, chains, rings, and what comes too late."""

import json
from itertools import pairwise
from typing import Any

import pytest

from pilothouse.browser.network import RING, Network
from tests.browser.test_network import Line, detail
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A17")


async def logged(agent: Agent, part: str = "", **options: Any) -> list[dict[str, Any]]:
    return (await agent.call("get_network_log", url_pattern=part, **options))["requests"]


async def whole(agent: Agent, part: str, **options: Any) -> dict[str, Any]:
    (one,) = await logged(agent, part, **options)
    return await detail(agent, one)


@pytest.fixture
async def page(agent: Agent, site: PageServer) -> Agent:
    await agent.call("navigate", url=site.url("small.html"))
    return agent


# Workers


def script(site: PageServer, body: str) -> str:
    return site.inline(body, type="text/javascript", headers={"Service-Worker-Allowed": "/"})


STARTS = {
    "worker": "const w = new Worker(args[0]); w.onmessage = e => done(e.data); w.postMessage(1)",
    "shared_worker": "const w = new SharedWorker(args[0]); w.port.onmessage = e => done(e.data); w.port.start()",
    "service_worker": "navigator.serviceWorker.onmessage = e => done(e.data); \
        navigator.serviceWorker.register(args[0], {scope: '/'}).then(r => \
        (r.installing || r.waiting || r.active).postMessage(1))",
}
ASKS = {
    "worker": "onmessage = () => {}.then(postMessage)",
    "shared_worker": "onconnect = e => {}.then(t => e.ports[0].postMessage(t))",
    "service_worker": "onmessage = e => e.waitUntil({}.then(t => e.source.postMessage(t)))",
}


async def works(agent: Agent, site: PageServer, kind: str, what: str) -> Any:
    """What a worker of that kind answers."""
    source = script(site, ASKS[kind].replace("{}", what))
    run = f"return await new Promise(done => {{ {STARTS[kind]} }})"
    return (await agent.call("evaluate_js", expression=run, args=[source])).get("value")


async def test_a_shared_worker_out_of_a_blob_belongs_to_the_page_that_made_it(page: Agent, site: PageServer) -> None:
    """Or what it asks for would be told of in another tab, and be waited for in vain in this one."""
    (made_in,) = (tab["tab"] for tab in (await page.call("list_tabs"))["tabs"])
    await page.call("new_tab", url=f"{site.other_origin}/small.html")
    asks = ASKS["shared_worker"].replace("{}", f"fetch('{site.url('echo?blob')}').then(r => r.text())")
    blob = f"args[0] = URL.createObjectURL(new Blob([{json.dumps(asks)}]))"
    run = f"{blob}; return await new Promise(done => {{ {STARTS['shared_worker']} }})"
    await page.call("evaluate_js", expression=run, args=[""], tab=made_in)
    asked = {one["url"]: one["status"] for one in (await page.call("get_network_log", tab=made_in))["requests"]}
    assert asked[site.url("echo?blob")] == 200
    assert [status for url, status in asked.items() if url.startswith("blob:")] == [200]


@pytest.mark.parametrize("kind", STARTS)
async def test_requests_of_workers(page: Agent, site: PageServer, kind: str) -> None:
    what = "fetch('/echo?asked', {method: 'POST', body: 'from afar'}).then(r => r.status)"
    assert await works(page, site, kind, what) == 200
    found = await whole(page, "?asked")
    assert (found["worker"], found["status"], found["method"]) == (kind, 200, "POST")
    assert json.loads(found["response_body"])["body"] == found["request_body"] == "from afar"
    assert found["response_headers"]["content-type"] == "application/json"
    (own,) = await logged(page, "inline")
    assert own["status"] == 200, "the worker's own script has come"


@pytest.mark.parametrize("kind", STARTS)
async def test_a_worker_does_not_keep_the_network_from_resting(agent: Agent, site: PageServer, kind: str) -> None:
    source = script(site, ASKS[kind].replace("{}", "Promise.resolve(1)"))
    start = STARTS[kind].replace("args[0]", json.dumps(source)).replace("</", "<\\/")
    html = f"<title>Works</title><script>const done = () => {{}}; {start}</script>"
    arrived = await agent.call("navigate", url=site.inline(html), wait_until="networkidle", timeout_ms=8000)
    assert arrived["title"] == "Works"
    assert not [one for one in await logged(agent) if one.get("pending")]


async def test_a_shared_worker_outlives_the_tab_that_kept_its_requests(page: Agent, site: PageServer) -> None:
    what = "fetch('/echo?asked=' + Math.random()).then(r => r.status)"
    await works(page, site, "shared_worker", what)
    await page.call("new_tab", url=site.url("form.html"))
    assert await works(page, site, "shared_worker", what) == 200
    await page.call("close_tab", tab="t1")
    assert await works(page, site, "shared_worker", what) == 200
    (one,) = await logged(page, "/echo?asked")
    assert (one["worker"], one["status"]) == ("shared_worker", 200)


async def test_a_worker_of_a_closed_page_ends_its_requests(page: Agent, site: PageServer) -> None:
    await page.js(f"new Worker({json.dumps(script(site, 'fetch(`/hang`)'))}); return 0")
    await page.call("wait_for", function="performance.now() > 0")
    await page.call("navigate", url=site.url("form.html"))
    for one in await logged(page, "/hang"):
        assert not one.get("pending")
        assert one["failure"]


# Bodies


async def test_a_big_body_that_was_sent_outlives_its_page(page: Agent, site: PageServer) -> None:
    await page.js("await fetch('/echo', {method: 'POST', body: 'x'.repeat(90_000)}); return 0")
    (one,) = await logged(page, "/echo")
    await page.call("navigate", url=site.url("form.html", other=True))
    assert (await detail(page, one))["request_body"] == "x" * 90_000


async def test_a_huge_body_that_was_sent_is_cut_with_a_mark(page: Agent) -> None:
    await page.js("await fetch('/echo', {method: 'POST', body: 'x'.repeat(300_000)}); return 0")
    body = (await whole(page, "/echo"))["request_body"]
    assert body.startswith("x" * 102_400)
    assert body.endswith("… (cut: 300000 bytes in all)")


async def test_forms_with_files(page: Agent) -> None:
    code = (
        "const f = new FormData(); f.append('who', 'ada'); f.append('file', new Blob(['content'], {type: 'text/plain'}), \
        'a.txt'); await fetch('/echo', {method: 'POST', body: f}); return 0"
    )
    await page.js(code)
    found = await whole(page, "/echo")
    assert 'name="who"' in found["request_body"]
    assert "ada" in found["request_body"]


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("image/png", "iVBORw0KGgoAAAANSUhEUg==", "(16 bytes of image/png)"),
        ("text/plain; charset=utf-8", "Z3LDvMOfZQ==", "grüße"),
        ("application/json", "eyJhIjoi4pyTIn0=", '{"a":"✓"}'),
        ("application/octet-stream", "AAEC", "(3 bytes of application/octet-stream)"),
    ],
)
async def test_bodies_by_kind(page: Agent, kind: str, body: str, shown: str) -> None:
    await page.call("mock_url", pattern="/made", body_base64=body, content_type=kind)
    await page.js("await (await fetch('/made')).arrayBuffer(); return 0")
    found = await whole(page, "/made")
    assert (found["response_body"], found["mime_type"]) == (shown, kind.partition(";")[0])


async def test_the_document_itself(page: Agent, site: PageServer) -> None:
    found = await whole(page, "small.html")
    assert found["type"] == "Document"
    assert "<h1" in found["response_body"]
    assert found["initiator"] == "other"


async def test_bodies_outlive_ten_pages(page: Agent, site: PageServer) -> None:
    await page.js("await fetch('/echo?first'); return 0")
    (one,) = await logged(page, "?first")
    for n in range(10):
        await page.call("navigate", url=site.url("small.html" if n % 2 else "form.html", other=n % 3 == 0))
    assert json.loads((await detail(page, one))["response_body"])["query"] == "first"


# How it ended


async def test_what_cors_forbids_is_said(page: Agent, site: PageServer) -> None:
    url = site.url("status/200", other=True)
    await page.js(f"await fetch('{url}').catch(() => 0); return 0")
    (one,) = await logged(page, url)
    assert "CORS" in one["failure"]
    assert "MissingAllowOriginHeader" in one["failure"]


async def test_what_the_pages_own_policy_forbids_is_said(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("x", headers={"Content-Security-Policy": "connect-src 'none'"}))
    await agent.js(f"await fetch('{site.url('echo')}').catch(() => 0); return 0")
    for one in await logged(agent, "/echo"):
        assert one["failure"] == "csp"


GIVEN_UP = {
    "script": "const s = document.createElement('script'); s.src = '/status/404'; document.head.append(s)",
    "module": "const s = document.createElement('script'); s.type = 'module'; s.src = '/status/404'; \
        document.head.append(s)",
    "stylesheet": "const s = document.createElement('link'); s.rel = 'stylesheet'; s.href = '/status/404'; \
        document.head.append(s)",
    "font": "new FontFace('x', 'url(/status/404)').load().catch(() => 0)",
    "worker": "new Worker('/status/404')",
}


@pytest.mark.parametrize("kind", GIVEN_UP)
async def test_what_chrome_gives_up_for_its_status_has_that_status(page: Agent, kind: str) -> None:
    await page.js(GIVEN_UP[kind])
    await page.call("wait_for", idle=True)
    (one,) = await logged(page, "/status/404", status_min=400)
    assert (one["status"], "failure" in one, "pending" in one) == (404, False, False)
    assert "/status/404 404 " in await page.text("get_network_log", url_pattern="/status/404")


@pytest.mark.parametrize("leaves", [False, True])
async def test_what_is_broken_off_after_its_headers_says_so_beside_its_status(
    page: Agent, site: PageServer, leaves: bool
) -> None:
    await page.js("window.off = new AbortController(); await fetch('/sse', {signal: off.signal}); return 0")
    if leaves:
        await page.call("navigate", url=site.url("form.html"))
    else:
        await page.js("off.abort(); await new Promise((done) => setTimeout(done, 50)); return 0")
    (one,) = await logged(page, "/sse")
    assert (one["status"], one["failure"]) in ((200, "canceled"), (200, "the page was left"))
    assert f"/sse 200, {one['failure']} Fetch " in await page.text("get_network_log", url_pattern="/sse")


async def test_a_fetch_that_is_broken_off_is_no_script_that_was_not_found(page: Agent) -> None:
    await page.js(
        "const off = new AbortController(); fetch('/hang', {signal: off.signal}).catch(() => 0); \
        setTimeout(() => off.abort(), 50); await new Promise((done) => setTimeout(done, 150)); return 0"
    )
    (one,) = await logged(page, "/hang", status_min=400)
    assert (one["status"], one["failure"]) == (0, "canceled")


async def test_leaving_a_page_ends_its_requests(page: Agent, site: PageServer) -> None:
    await page.js("fetch('/hang'); return 0")
    await page.call("navigate", url=site.url("form.html"))
    (one,) = await logged(page, "/hang")
    assert one["failure"]
    assert "pending" not in one


async def test_a_socket_that_is_refused(page: Agent, site: PageServer) -> None:
    address = site.dead_origin.replace("http", "ws")
    await page.js(f"await new Promise(done => {{ const s = new WebSocket('{address}'); s.onclose = () => done(1) }})")
    (one,) = await logged(page, address)
    assert one["type"] == "WebSocket"
    assert "refused" in one["failure"]
    assert "SOCKS" not in one["failure"]


async def test_a_socket_that_is_no_socket(page: Agent) -> None:
    code = "return await new Promise(done => { const s = new WebSocket(`ws://${location.host}/small.html`); \
        s.onclose = () => done(1) })"
    await page.js(code)
    (one,) = await logged(page, "ws://")
    assert one["failure"]
    assert "pending" not in one


async def test_sockets_keep_their_frames_when_the_page_is_gone(page: Agent, site: PageServer) -> None:
    code = "return await new Promise(done => { const s = new WebSocket(`ws://${location.host}/ws`); \
        s.onopen = () => s.send('hello'); s.onmessage = e => done(e.data) })"
    assert await page.js(code) == "echo hello"
    (one,) = await logged(page, "/ws")
    await page.call("navigate", url=site.url("form.html"))
    found = await detail(page, one)
    assert [frame["data"] for frame in found["frames"]] == ["hello", "echo hello"]
    assert "pending" not in found
    assert {name.lower() for name in found["response_headers"]} >= {"upgrade"}


async def test_a_socket_of_a_worker(page: Agent, site: PageServer) -> None:
    what = "new Promise(done => { const s = new WebSocket(`ws://${location.host}/ws`); \
        s.onopen = () => s.send('hello'); s.onmessage = e => done(e.data) })"
    assert await works(page, site, "worker", what) == "echo hello"
    (one,) = await logged(page, "/ws")
    assert one["worker"] == "worker"
    assert len((await detail(page, one))["frames"]) == 2


async def test_many_frames_keep_the_newest_and_count_the_rest(page: Agent) -> None:
    code = "return await new Promise(done => { let n = 0; const s = new WebSocket(`ws://${location.host}/ws`); \
        s.onopen = () => { for (let i = 0; i < 150; i++) s.send('m' + i) }; s.onmessage = () => ++n === 150 && done(n) })"
    assert await page.js(code) == 150
    (one,) = await logged(page, "/ws")
    found = await detail(page, one, part="frames")
    assert (len(found["frames"]), found["frames_dropped"]) == (200, 100)
    assert found["frames"][-1]["data"] == "echo m149"


async def test_a_stream_that_the_page_reads_itself(page: Agent) -> None:
    await page.js("const r = await fetch('/sse?count=3&ms=1'); return (await r.text()).length")
    found = await whole(page, "/sse")
    assert found["mime_type"] == "text/event-stream"
    assert found["response_body"].count("event: tick") == 3


async def test_what_comes_from_the_cache_says_so(page: Agent, site: PageServer) -> None:
    url = site.inline("body", type="text/plain", headers={"Cache-Control": "max-age=600"})
    await page.js(f"await (await fetch('{url}')).text(); await (await fetch('{url}')).text(); return 0")
    first, second = await logged(page, "max-age")
    assert "from_cache" not in first
    assert second["from_cache"] is True
    assert (await detail(page, second))["response_body"] == "body"


# Chains, rings, times


async def test_every_hop_has_its_own_headers(page: Agent, site: PageServer) -> None:
    await page.js("await fetch('/redirect?times=4&to=/echo'); return 0")
    hops = [await detail(page, one) for one in await logged(page, type=["Fetch"])]
    assert [hop["status"] for hop in hops] == [302, 302, 302, 302, 200]
    for hop, after in pairwise(hops):
        assert hop["redirected_to"] == after["url"]
        assert after["url"].endswith(hop["response_headers"]["location"].removeprefix(site.origin))
    assert "location" not in hops[-1]["response_headers"]
    assert all("Host" in hop["request_headers"] or "host" in hop["request_headers"] for hop in hops)


async def test_a_navigation_shows_its_hops(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("redirect?times=2&to=/small.html"))
    found = await logged(agent, type=["Document"])
    assert [one["status"] for one in found] == [302, 302, 200]


async def test_tabs_have_rings_of_their_own(page: Agent, site: PageServer) -> None:
    await page.call("new_tab", url=site.url("form.html"))
    assert await logged(page, "small.html") == []
    assert await logged(page, "form.html", tab="t1") == []
    assert len(await logged(page, "small.html", tab="t1")) == 1


async def test_times_are_the_browsers(page: Agent) -> None:
    await page.js("await fetch('/slow?ms=300'); return 0")
    found = await whole(page, "/slow")
    assert 295 <= found["duration_ms"] < 3000
    assert 290 <= found["timing"]["wait"] <= found["duration_ms"] + 5
    assert abs(found["started_ms"] - await page.js("Date.now()")) < 60_000


def test_a_ring_forgets_the_oldest() -> None:
    network = Network(lambda url: "")
    line = Line(network)
    for n in range(RING + 5):
        line.sends(str(n))
    assert len(network.requests()) == RING
    assert network.get("r5") is None
    assert network.get("r6") is not None
    assert len(network.in_flight()) == RING


def test_headers_that_come_after_the_next_hop_go_to_theirs() -> None:
    network = Network(lambda url: "")
    line = Line(network)
    line.sends("1", "http://a.test/one")
    redirect = {"status": 302, "headers": {}, "mimeType": ""}
    request = {"url": "http://a.test/two", "method": "GET", "headers": {}}
    line.handlers["Network.requestWillBeSent"](
        {
            "requestId": "1",
            "request": request,
            "type": "Fetch",
            "redirectResponse": redirect,
            "redirectHasExtraInfo": True,
        }
    )
    late = line.handlers["Network.responseReceivedExtraInfo"]
    late({"requestId": "1", "statusCode": 302, "headers": {"location": "/two", "set-cookie": "a=1"}})
    late({"requestId": "1", "statusCode": 200, "headers": {"x-end": "1"}})
    one, two = network.requests()
    assert set(one.response_headers) == {"location", "set-cookie"}
    assert set(two.response_headers) == {"x-end"}


async def test_closing_a_tab_forgets_its_worker_channels(page: Agent, house: House, site: PageServer) -> None:
    await works(page, site, "shared_worker", "Promise.resolve(1)")
    session = house.sessions.of((page.caller.key, page.caller.connection))[0]
    await page.call("new_tab")
    await page.call("close_tab", tab="t1")
    workers = session.context.workers
    await session.tabs[0].signal.until(lambda: not workers._known, 1)
    left = [channel.id for channel, *_ in workers._known.values()] + [tab.channel.id for tab in session.tabs]
    assert sorted(session.context.intercept._channels) == sorted(left)
