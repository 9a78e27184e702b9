"""Network: every request with what was sent and what came back."""

import json
import re
from typing import Any

import pytest

from pilothouse.browser.network import RING, Network
from pilothouse.cdp.connection import Channel, Connection
from tests.browser.looking import fails, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A17")


async def pressed(agent: Agent, site: PageServer, button: str, **options: Any) -> dict[str, Any]:
    """The last request after a button was pressed."""
    await agent.call("navigate", url=site.url("network.html"))
    since = (await agent.call("get_network_log"))["next"]
    await agent.call("click", target=f'role=button[name="{button}"]')
    await agent.call("wait_for", function="document.getElementById('out')?.textContent !== ''")
    (*_, last) = (await agent.call("get_network_log", since=since, **options))["requests"]
    return last


async def detail(agent: Agent, one: dict[str, Any], **options: Any) -> dict[str, Any]:
    return (await agent.call("get_network_request", id=one["id"], **options))["request"]


@pytest.mark.parametrize(("button", "kind"), [("Fetch", "Fetch"), ("XHR", "XHR")])
async def test_a_request_and_its_answer(agent: Agent, site: PageServer, button: str, kind: str) -> None:
    one = await pressed(agent, site, button)
    assert (one["type"], one["status"], one["method"]) == (kind, 200, "GET")
    whole = await detail(agent, one)
    assert json.loads(whole["response_body"])["query"] == f"kind={kind.lower()}"
    assert whole["mime_type"] == "application/json"
    assert whole["response_headers"]["content-type"] == "application/json"
    assert "user-agent" in {name.lower() for name in whole["request_headers"]}
    assert whole["timing"]
    assert "network.html" in whole["initiator"]
    assert whole["duration_ms"] > 0


async def test_bodies_that_were_sent(agent: Agent, site: PageServer) -> None:
    posted = await detail(agent, await pressed(agent, site, "Post JSON"))
    assert posted["request_body"] == '{"hello":"world"}'
    assert posted["request_headers"]["X-Test"] == "yes"
    assert json.loads(posted["response_body"])["body"] == '{"hello":"world"}'
    assert (await detail(agent, await pressed(agent, site, "Post form")))["request_body"] == "a=1&b=two"


async def test_parts(agent: Agent, site: PageServer) -> None:
    one = await pressed(agent, site, "Post JSON")
    request = await detail(agent, one, part="request")
    assert "request_body" in request
    assert "response_body" not in request
    response = await detail(agent, one, part="response")
    assert "response_body" in response
    assert "request_body" not in response
    await fails(agent, "not_found", "get_network_request", id="r4711")


async def test_filters(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    for button in ("Fetch", "XHR", "Post JSON", "Server error", "Not found"):
        await agent.call("click", target=f'role=button[name="{button}"]')

    async def urls(**options: Any) -> list[str]:
        found = (await agent.call("get_network_log", **options))["requests"]
        return [one["url"].removeprefix(site.origin) for one in found]

    assert await urls(status_min=400) == ["/status/500", "/status/404"]
    assert await urls(status_min=400, status_max=499) == ["/status/404"]
    await fails(agent, "bad_request", "get_network_log", status_min=500, status_max=400)
    unknown = await fails(agent, "bad_request", "get_network_log", type=["xhr", "Bogus"])
    assert (unknown.message, "WebSocket" in unknown.suggestions[0]) == ("there is no type 'Bogus'", True)
    assert await urls(method=["post"]) == ["/echo"]
    assert await urls(type=["XHR"]) == ["/echo?kind=xhr"]
    assert await urls(url_pattern="kind=") == ["/echo?kind=fetch", "/echo?kind=xhr"]
    assert await urls(url_pattern="http://*/status/*") == ["/status/500", "/status/404"]
    assert await urls(type=["document"]) == ["/network.html"]
    newest = await agent.call("get_network_log", limit=1)
    assert [one["url"] for one in newest["requests"]] == [site.url("status/404")]
    assert newest["total"] == len(await urls())
    assert await urls(since=newest["next"]) == []
    said = await agent.text("get_network_log", limit=1)
    assert said.startswith(f"1 of {newest['total']} requests, next: {newest['next']}\n")
    assert await agent.text("get_network_log", since=newest["next"]) == "no requests"
    assert await urls(since=newest["requests"][0]["started_ms"]) == ["/status/404"]


async def test_failures_say_why(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    await agent.js(f"await show(fetch('{site.dead_origin}/'))")
    (refused,) = (await agent.call("get_network_log", url_pattern=site.dead_origin))["requests"]
    assert "refused" in refused["failure"].lower()
    assert "SOCKS" not in refused["failure"]
    aborted = await pressed(agent, site, "Aborted")
    assert aborted["failure"] == "canceled"


async def test_a_chain_of_redirects(agent: Agent, site: PageServer) -> None:
    await pressed(agent, site, "Redirected")
    first, second = (await agent.call("get_network_log", type=["Fetch"]))["requests"]
    assert (first["status"], second["status"]) == (302, 200)
    hop = await detail(agent, first)
    assert hop["redirected_to"] == site.url("echo?redirected=1")
    assert hop["response_headers"]["location"] == "/echo?redirected=1"
    assert "location" not in (await detail(agent, second))["response_headers"]


async def test_bodies_outlive_their_page(agent: Agent, site: PageServer) -> None:
    one = await pressed(agent, site, "Post JSON")
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.url("form.html", other=True))
    assert json.loads((await detail(agent, one))["response_body"])["method"] == "POST"
    assert tab_of(agent).network.durable  # the browser has kept it, not we


async def test_bodies_outlive_their_page_in_an_older_browser(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that passes over the argument without a word, and refuses the command."""
    post = Connection.post

    def old(self: Connection, channel: Channel, method: str, params: dict[str, Any], *rest: Any) -> Any:
        known = {name: one for name, one in params.items() if name != "enableDurableMessages"}
        return post(self, channel, method.replace("configureDurable", "unheardOf"), known, *rest)

    monkeypatch.setattr(Connection, "post", old)
    one = await pressed(agent, site, "Post JSON")
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.url("form.html", other=True))
    assert json.loads((await detail(agent, one))["response_body"])["method"] == "POST"


async def test_a_posted_page_that_leaves_at_once_can_still_be_read(agent: Agent, site: PageServer) -> None:
    """The page that said what was wrong is gone before anybody could look."""
    await agent.call(
        "navigate", url=site.inline(f"<form method=post action='{site.url('wrong')}'><button>Send</button>")
    )
    await agent.call("click", target="text=Send")
    await agent.call("wait_for", text="Small page")
    (posted,) = (await agent.call("get_network_log", method=["POST"]))["requests"]
    assert posted["status"] == 422
    assert "the card was refused" in (await detail(agent, posted))["response_body"]


async def test_a_post_that_redirects(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    await agent.call("click", target="text=Post and redirect")
    (posted,) = (await agent.call("get_network_log", method=["POST"]))["requests"]
    assert posted["status"] == 303
    assert (await detail(agent, posted))["request_body"] == "secret=[redacted]"


@pytest.mark.parametrize("asked", [False, True], ids=["asks_its_own_origin", "asks_another_origin"])
@pytest.mark.parametrize("gone_to", [False, True], ids=["stays_at_its_origin", "goes_to_another_origin"])
async def test_an_answer_is_kept_when_the_page_leaves_at_once(
    agent: Agent, site: PageServer, asked: bool, gone_to: bool
) -> None:
    sent = f"fetch('{site.url('echo', other=asked)}', {{ method: 'POST', body: JSON.stringify({{ hello: 'world' }}) }})"
    then = f"location = '{site.url('small.html', other=gone_to)}'"
    script = f"{sent}.then((answer) => answer.json()).then(() => {{ {then} }})"
    await agent.call("navigate", url=site.inline(f'<button onclick="{script}">Send</button>'))
    await agent.call("click", target="text=Send")
    await agent.call("wait_for_url", url="small.html")
    (posted,) = (await agent.call("get_network_log", method=["POST"]))["requests"]
    assert posted["status"] == 200
    assert json.loads((await detail(agent, posted))["response_body"])["body"] == '{"hello":"world"}'


async def test_a_big_body_is_cut_with_a_mark(agent: Agent, site: PageServer) -> None:
    answer = await agent.ask("get_network_request", id=(await pressed(agent, site, "Big"))["id"])
    body = answer.data["request"]["response_body"]
    assert 100 * 1024 <= len(body) < 100 * 1024 + 100
    assert "(cut: " in body[-60:]
    assert len(answer.text) < 15_000


async def test_a_websocket(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    await agent.call("click", target="text=WebSocket")
    await agent.call("wait_for", text="ws tick")
    (socket,) = (await agent.call("get_network_log", type=["WebSocket"]))["requests"]
    assert (socket["status"], socket["pending"]) == (101, True)
    assert socket["messages"] >= 2
    assert re.search(r" 101 WebSocket open for [1-9]\d* ms, \d+ messages", await agent.text("get_network_log"))
    frames = (await detail(agent, socket, part="frames"))["frames"]
    said = [(one["direction"], one["data"]) for one in frames if one["kind"] == "text"]
    assert said[0] == ("sent", "hello")
    assert ("received", "echo hello") in said
    assert [one["direction"] for one in frames if one["kind"] == "binary"] == ["sent", "received"]
    assert "tick" in await agent.text("get_network_request", id=socket["id"])


async def test_server_sent_events(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    await agent.call("click", target="text=Event stream")
    await agent.call("wait_for", text='sse {"n": 5}')
    (stream,) = (await agent.call("get_network_log", type=["EventSource"]))["requests"]
    frames = (await detail(agent, stream, part="frames"))["frames"]
    assert [json.loads(one["data"])["n"] for one in frames] == [1, 2, 3, 4, 5]
    assert frames[0]["kind"] == "tick"
    assert re.search(r" 200 EventSource .*\d ms, 5 messages", await agent.text("get_network_log"))


async def test_events_of_a_stream_that_script_reads(agent: Agent, site: PageServer) -> None:
    """As chats do: with fetch, because EventSource cannot send anything."""
    await agent.call("navigate", url=site.inline("<p>x</p>"))
    await agent.js(
        """const answer = await fetch("/sse?count=4&ms=20", { method: "POST", body: "hello" });
        const reader = answer.body.getReader();
        globalThis.rest = (async () => { while (!(await reader.read()).done); })();
        return 0"""
    )
    (stream,) = (await agent.call("get_network_log", url_pattern="/sse"))["requests"]
    assert "frames" in await detail(agent, stream, part="frames")  # and while it goes on
    await agent.js("await rest; return 0")
    await agent.call("wait_for", idle=True)
    frames = (await detail(agent, stream, part="frames"))["frames"]
    assert [(one["kind"], json.loads(one["data"])["n"]) for one in frames] == [("tick", n) for n in (1, 2, 3, 4)]
    assert 'received tick: {"n": 4}' in await agent.text("get_network_request", id=stream["id"])
    whole = await detail(agent, stream)
    assert whole["response_body"].count("event: tick") == 4  # the page had it all, too


@promise("A01")
async def test_requests_of_a_frame_of_another_origin(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    await agent.call("evaluate_js", target="text=Cross button", expression="fetch('/echo?from=afar').then(() => 1)")
    (one,) = (await agent.call("get_network_log", url_pattern="from=afar"))["requests"]
    assert one["url"] == site.url("echo?from=afar", other=True)
    assert json.loads((await detail(agent, one))["response_body"])["query"] == "from=afar"


async def test_a_beacon(agent: Agent, site: PageServer) -> None:
    one = await pressed(agent, site, "Beacon")
    assert (one["type"], one["method"]) == ("Ping", "POST")


async def test_what_is_under_way_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    await agent.js("fetch('/hang'); return 0")
    (one,) = (await agent.call("get_network_log", url_pattern="/hang"))["requests"]
    assert one["pending"] is True
    assert one["status"] == 0


class Line:
    """A channel whose events we make up."""

    def __init__(self, network: Network) -> None:
        self.handlers: dict[str, Any] = {}
        network.follow(self)  # type: ignore[arg-type]

    def on(self, method: str, handler: Any) -> None:
        self.handlers[method] = handler

    def sends(self, request_id: str, url: str = "http://a.test/") -> None:
        request = {"url": url, "method": "GET", "headers": {}}
        self.handlers["Network.requestWillBeSent"]({"requestId": request_id, "request": request, "type": "Fetch"})

    def tells(self, request_id: str, **headers: str) -> None:
        self.handlers["Network.requestWillBeSentExtraInfo"]({"requestId": request_id, "headers": headers})


async def test_requests_end_with_their_frame_or_worker() -> None:
    network = Network(lambda url: "")
    page, worker = Line(network), Line(network)
    page.sends("1")
    worker.sends("2")
    network.ended(worker)  # type: ignore[arg-type]
    assert [one.browser_id for one in network.in_flight()] == ["1"]
    gone = network.get("r2")
    assert gone
    assert gone.done
    assert "is gone" in gone.failure


def test_headers_whose_request_never_comes_are_dropped_oldest_first() -> None:
    network = Network(lambda url: "")
    line = Line(network)
    for n in range(RING + 10):
        line.tells(f"x{n}", a="1")
    for n in range(9):
        line.tells("last", **{f"h{n}": "1"})
    assert len(network._extra) == RING
    line.sends("last")
    newest = network.requests()[-1]
    assert sorted(newest.request_headers) == ["h5", "h6", "h7", "h8"]


def test_a_long_address_is_cut_for_showing_and_whole_for_matching() -> None:
    network = Network(lambda url: "")
    line = Line(network)
    line.sends("1", "http://a.test/" + "x" * 10_000 + "?end")
    line.sends("2", "http://a.test/" + "x" * 100_000)
    first, second = network.requests()
    assert len(first.url) == len(second.url) == 2_048
    assert first.whole_url.endswith("?end")
    assert len(second.whole_url) == 65_536
