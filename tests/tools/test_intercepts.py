"""Requests that the session blocks or answers itself: everywhere it browses, and never longer than it says."""

import asyncio
import base64
import json
from typing import Any

import pytest

from pilothouse.browser.border import Border
from pilothouse.browser.intercept import MAX_RULES, Answer, Asker, Intercept, Rules
from pilothouse.errors import Failure
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.border import Borders
from tests.browser.looking import fails
from tests.guard.views import ByHand
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A18", "C01")

GET = (
    "return await fetch(args[0], args[1] || {}).then(async r => ({status: r.status, text: await r.text(), url: r.url, \
    headers: Object.fromEntries(r.headers)}), e => 'failed')"
)


async def get(agent: Agent, url: str, **options: Any) -> Any:
    """What the page's own fetch comes to."""
    return (await agent.call("evaluate_js", expression=GET, args=[url, options])).get("value")


async def logged(agent: Agent, pattern: str, **options: Any) -> list[dict[str, Any]]:
    return (await agent.call("get_network_log", url_pattern=pattern, **options))["requests"]


@pytest.fixture
async def page(agent: Agent, site: PageServer) -> Agent:
    await agent.call("navigate", url=site.url("small.html"))
    return agent


# Blocking


@pytest.mark.parametrize("pattern", ["/echo?x", "http://*/echo?x=*", "*x=1", "{origin}/echo*"])
async def test_a_blocked_request_fails_and_says_by_what(page: Agent, site: PageServer, pattern: str) -> None:
    pattern = pattern.format(origin=site.origin)
    ruled = await page.call("block_url", pattern=pattern)
    assert ruled["rule"] == "b1"
    assert await get(page, "/echo?x=1") == "failed"
    assert (await get(page, "/status/200"))["status"] == 200
    (one,) = await logged(page, "/echo")
    assert one["failure"] == f"blocked by b1 ({pattern})"
    assert "blocked by b1" in await page.text("get_network_log", url_pattern="/echo")


async def test_a_question_mark_is_a_question_mark(page: Agent) -> None:
    await page.call("block_url", pattern="*/echo?a=*")
    assert (await get(page, "/echo/a=1"))["status"] == 404
    assert await get(page, "/echo?a=1") == "failed"


async def test_only_some_types(page: Agent, site: PageServer) -> None:
    await page.call("block_url", pattern="/echo", type=["image"])
    assert (await get(page, "/echo?fetch"))["status"] == 200
    picture = (
        "return await new Promise(done => {const i = new Image(); i.onerror = () => done(1); i.src = '/echo?image'})"
    )
    await page.js(picture)
    assert (await logged(page, "?image"))[0]["failure"] == "blocked by b1 (/echo)"
    await page.call("block_url", pattern="/echo", type=["Fetch"])  # which is XHR to the browser, and the reverse
    assert await get(page, "/echo?fetch") == "failed"
    code = "return await new Promise(done => {const x = new XMLHttpRequest(); x.onloadend = () => done(x.status); \
        x.open('GET', '/echo?xhr'); x.send()})"
    assert await page.js(code) == 0
    problem = await fails(page, "bad_request", "block_url", pattern="*", type=["Picture"])
    assert "Stylesheet" in problem.suggestions[0]


async def test_navigating_to_what_is_blocked_names_the_rule(page: Agent, site: PageServer) -> None:
    pattern = f"{site.origin}/form.html*"
    await page.call("block_url", pattern=pattern)
    problem = await fails(page, "navigation_failed", "navigate", url=site.url("form.html#part"))
    assert f"blocked by b1 ({pattern})" in problem.message
    assert "clear_intercepts" in problem.suggestions[0]
    redirected = await fails(page, "navigation_failed", "navigate", url=site.url("redirect?to=/form.html"))
    assert f"{site.url('form.html')}: blocked by b1" in redirected.message
    await page.call("clear_intercepts")
    assert (await page.call("navigate", url=site.url("form.html")))["status"] == 200


async def test_what_is_blocked_is_no_news(page: Agent) -> None:
    await page.call("block_url", pattern="/echo")
    await get(page, "/echo")
    assert "ERR_BLOCKED" not in (await page.ask("get_page_state")).text


async def test_sockets_are_refused_as_a_pattern(page: Agent) -> None:
    problem = await fails(page, "unsupported", "block_url", pattern="wss://a.test/*")
    assert "allowed_domains" in problem.suggestions[0]


# Mocking


async def test_an_answer_in_the_servers_place(page: Agent, site: PageServer) -> None:
    body = '{"name": "Ada ✓"}'
    await page.call("mock_url", pattern="*/api/user", body=body, status=201, headers={"X-Made": "up"})
    found = await get(page, "/api/user")
    assert (found["status"], found["text"]) == (201, body)
    assert found["headers"]["x-made"] == "up"
    assert found["headers"]["content-type"] == "application/json; charset=utf-8"
    (one,) = await logged(page, "/api/user")
    assert one["mocked"] == "mocked by m1 (*/api/user)"
    whole = (await page.call("get_network_request", id=one["id"]))["request"]
    assert (whole["status"], whole["response_body"]) == (201, body)


async def test_bytes(page: Agent) -> None:
    raw = bytes(range(256))
    await page.call("mock_url", pattern="/raw", body_base64=base64.b64encode(raw).decode(), content_type="image/x-own")
    code = "const r = await fetch('/raw'); return [r.headers.get('content-type'), [...new Uint8Array(await r.arrayBuffer())]]"
    assert await page.js(code) == ["image/x-own", list(raw)]
    await fails(page, "bad_request", "mock_url", pattern="x", body_base64="no!")
    await fails(page, "bad_request", "mock_url", pattern="x", body="a", body_base64="YQ==")


@pytest.mark.parametrize("headers", [{"Bad Name": "x"}, {"X": "a\r\nSet-Cookie: b=1"}, {"X": "ü"}])
async def test_headers_that_cannot_be_sent(page: Agent, headers: dict[str, str]) -> None:
    await fails(page, "bad_request", "mock_url", pattern="x", headers=headers)


async def test_methods_and_heads(page: Agent) -> None:
    await page.call("mock_url", pattern="/echo", method="post", body="made up")
    assert (await get(page, "/echo", method="POST", body="sent"))["text"] == "made up"
    assert json.loads((await get(page, "/echo"))["text"])["method"] == "GET"
    await page.call("mock_url", pattern="/heads", body="four")
    head = await get(page, "/heads", method="HEAD")
    assert (head["status"], head["text"], head["headers"]["content-length"]) == (200, "", "4")
    for status in (204, 304):
        await page.call("mock_url", pattern="/nothing", status=status, body="ignored")
        assert (await get(page, "/nothing"))["text"] == ""


async def test_so_many_times_and_the_newest_first(page: Agent) -> None:
    await page.call("mock_url", pattern="/echo", body="always")
    await page.call("mock_url", pattern="/echo", body="twice", times=2)
    said = [(await get(page, "/echo"))["text"] for _ in range(4)]
    assert said == ["twice", "twice", "always", "always"]
    assert (await page.call("clear_intercepts", rule="m1"))["cleared"] == 1
    assert json.loads((await get(page, "/echo"))["text"])["method"] == "GET"
    await fails(page, "not_found", "clear_intercepts", rule="m1")


async def test_late_answers(page: Agent) -> None:
    """The one time is used up at once, and its answer still comes."""
    await page.call("mock_url", pattern="/late", body="late", delay_ms=150, times=1)
    took = "const t = performance.now(); const r = await fetch('/late'); return [await r.text(), performance.now() - t]"
    text, ms = await page.js(took)
    assert text == "late"
    assert ms >= 145
    assert (await get(page, "/late"))["status"] == 404


async def test_taking_a_rule_back_lets_go_of_what_waits_for_it(page: Agent) -> None:
    await page.call("mock_url", pattern="/echo?slow", body="never", delay_ms=60_000)
    await page.js("window.waiting = fetch('/echo?slow').then(r => r.json()); return 0")
    await page.call("clear_intercepts")
    assert (await page.js("return (await window.waiting).query")) == "slow"


async def test_redirects(page: Agent, site: PageServer) -> None:
    await page.call("mock_url", pattern="/moved", status=302, headers={"Location": "/echo?there"})
    found = await get(page, "/moved")
    assert (found["status"], found["url"]) == (200, site.url("echo?there"))
    first, second = await logged(page, "*", type=["Fetch"])
    assert (first["status"], first["mocked"], second.get("mocked")) == (302, "mocked by m1 (/moved)", None)
    assert (await page.call("navigate", url=site.url("moved")))["url"] == site.url("echo?there")
    await page.call("mock_url", pattern="echo?there", body="<title>Mine</title>")  # the end of a real redirect
    assert (await get(page, "/redirect?to=/echo?there"))["text"] == "<title>Mine</title>"


async def test_a_page_that_does_not_exist(page: Agent) -> None:
    await page.call("mock_url", pattern="http://nowhere.invalid/*", body="<title>Made up</title><h1>Hello</h1>")
    arrived = await page.call("navigate", url="http://nowhere.invalid/page")
    assert (arrived["status"], arrived["title"]) == (200, "Made up")
    assert 'heading "Hello"' in await page.text("get_page_state")


async def test_other_origins_may_read_what_is_mocked_for_them(page: Agent, site: PageServer) -> None:
    url = site.url("api", other=True)
    await page.call("mock_url", pattern="/api", body="yours", times=2)
    simple = await get(page, url)
    assert simple["text"] == "yours"
    options = {"method": "PUT", "headers": {"X-Own": "1", "Content-Type": "application/json"}, "body": "{}"}
    assert (await get(page, url, credentials="include", **options))["text"] == "yours"
    await page.call(
        "mock_url", pattern="/api", body="not yours", headers={"Access-Control-Allow-Origin": "http://a.test"}
    )
    assert await get(page, url) == "failed"


async def test_the_settings_of_a_rule_are_bounded(page: Agent) -> None:
    await fails(page, "bad_request", "mock_url", pattern="x", status=101)
    await fails(page, "bad_request", "mock_url", pattern="x", delay_ms=60_001)
    await fails(page, "bad_request", "block_url", pattern="")
    rules = Rules()
    for n in range(MAX_RULES):
        rules.add(f"p{n}")
    with pytest.raises(Failure, match="rules"):
        rules.add("one more")


# Everywhere


def script(site: PageServer, body: str) -> str:
    return site.inline(body, type="text/javascript", headers={"Service-Worker-Allowed": "/"})


ASK = "fetch('/echo?asked').then(r => r.text(), () => 'failed')"
PLACES = {
    "worker": (
        f"onmessage = () => {ASK}.then(postMessage)",
        "window.w = window.w || new Worker(args[0]); w.onmessage = e => done(e.data); w.postMessage(1)",
    ),
    "shared_worker": (
        f"onconnect = e => {ASK}.then(t => e.ports[0].postMessage(t))",
        "const w = new SharedWorker(args[0]); w.port.onmessage = e => done(e.data); w.port.start()",
    ),
    "service_worker": (
        f"onmessage = e => e.waitUntil({ASK}.then(t => e.source.postMessage(t)))",
        "navigator.serviceWorker.onmessage = e => done(e.data); navigator.serviceWorker.register(args[0]).then(r => \
            (r.installing || r.waiting || r.active).postMessage(1))",
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("early", [True, False])
async def test_workers_are_held_to_it(page: Agent, site: PageServer, place: str, early: bool) -> None:
    """Whether the rule or the worker is there first."""
    source, start = PLACES[place]
    if early:
        await page.call("mock_url", pattern="?asked", body="mocked")
    run = f"return await new Promise(done => {{ {start} }})"
    url = script(site, source)
    first = (await page.call("evaluate_js", expression=run, args=[url]))["value"]
    assert (first == "mocked") is early
    if not early:
        await page.call("block_url", pattern="?asked")
        assert (await page.call("evaluate_js", expression=run, args=[url]))["value"] == "failed"
    (*_, one) = await logged(page, "?asked")
    assert one["worker"] == place
    assert (one.get("mocked") or one["failure"]) == ("mocked by m1 (?asked)" if early else "blocked by b1 (?asked)")


async def test_popups_and_new_tabs_are_held_to_it(page: Agent, site: PageServer) -> None:
    await page.call("mock_url", pattern="/echo?popup", body="<title>Mocked</title>")
    await page.js("window.open('/echo?popup'); return 0")
    tab = (await page.call("wait_for_new_tab"))["tab"]
    await page.call("wait_for", tab=tab, function="document.title === 'Mocked'")
    opened = await page.call("new_tab", url=site.url("echo?popup=2"))
    assert (await page.call("list_tabs"))["tabs"][-1]["title"] == "Mocked", opened


async def test_frames_of_other_origins_are_held_to_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    await agent.call("block_url", pattern="from=afar")
    code = "fetch('/echo?from=afar').then(() => 1, () => 2)"
    found = await agent.call("evaluate_js", target="text=Cross button", expression=code)
    assert found["value"] == 2
    (one,) = await logged(agent, "from=afar")
    assert one["failure"] == "blocked by b1 (from=afar)"


async def test_a_tab_that_is_not_in_front(page: Agent) -> None:
    await page.call("new_tab")
    await page.call("mock_url", pattern="/echo", body="mocked")
    found = await page.call("evaluate_js", tab="t1", expression=GET, args=["/echo"])
    assert found["value"]["text"] == "mocked"


async def test_other_sessions_are_not_touched(page: Agent, house: House, site: PageServer) -> None:
    await page.call("block_url", pattern="*")
    async with house.agent() as other:
        assert (await other.call("navigate", url=site.url("small.html")))["status"] == 200


async def test_a_new_browser_keeps_the_rules(page: Agent, house: House, site: PageServer) -> None:
    await page.call("mock_url", pattern="/echo", body="mocked")
    session = house.sessions.of((page.caller.key, page.caller.connection))[0]
    await session.context.close()
    session.context.browser.forget(session.context)
    session._context = None  # as if the browser had died
    await page.call("navigate", url=site.url("small.html"))
    assert (await get(page, "/echo"))["text"] == "mocked"


# Never for ever


async def test_a_request_is_answered_while_a_dialog_is_open(page: Agent) -> None:
    await page.call("mock_url", pattern="/echo", body="mocked", delay_ms=50)
    await page.call(
        "evaluate_js", expression="window.got = fetch('/echo').then(r => r.text()); setTimeout(alert, 5); 0"
    )
    answer = await page.ask("get_page_state")
    while not answer.failed:
        answer = await page.ask("get_page_state")
    assert answer.data["error"]["code"] == "dialog_open"
    await page.call("handle_dialog", accept=True)
    assert await page.js("return await window.got") == "mocked"


async def test_a_crash_leaves_nothing_waiting(page: Agent, house: House, site: PageServer) -> None:
    await page.call("mock_url", pattern="/echo", body="mocked", delay_ms=100)
    await page.js("fetch('/echo'); return 0")
    session = house.sessions.of((page.caller.key, page.caller.connection))[0]
    assert session.current
    session.current.channel.post("Page.crash")
    await session.current.signal.until(lambda: session.current and session.current.crashed, 10)
    await page.call("navigate", url=site.url("small.html"))
    assert (await get(page, "/echo"))["text"] == "mocked"


class Channel:
    """A target whose events we make up."""

    def __init__(self) -> None:
        self.id = "x"
        self.gone = None
        self.handlers: dict[str, Any] = {}
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def on(self, method: str, handler: Any) -> None:
        self.handlers[method] = handler

    def post(self, method: str, **params: Any) -> "asyncio.Future[dict[str, Any]]":
        self.sent.append((method, params))
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        reply.set_result({})
        return reply

    def pauses(self, url: str) -> str:
        """The command that a stopped request was answered with."""
        request = {"url": url, "method": "GET", "headers": {}}
        self.handlers["Fetch.requestPaused"]({"requestId": "1", "request": request, "resourceType": "Fetch"})
        return self.sent[-1][0]


class Broken(Rules):
    def find(self, asked: object) -> None:
        raise ValueError("a bug")


def joined(rules: Rules, border: Border | None = None) -> tuple[Intercept, Channel]:
    intercept, channel = Intercept(), Channel()
    intercept.rules, intercept.border = rules, border
    asker = Asker(lambda *_, **__: None, lambda: ["http://page.test/"])
    intercept.join(channel, asker)  # type: ignore[arg-type]
    return intercept, channel


async def test_a_rule_that_breaks_lets_nothing_pass_and_nothing_wait(caplog: pytest.LogCaptureFixture) -> None:
    _, channel = joined(Broken())
    assert channel.pauses("http://a.test/") == "Fetch.failRequest"
    assert "a bug" in caplog.text


async def test_what_no_rule_means_goes_on() -> None:
    rules = Rules()
    rules.add("other")
    _, channel = joined(rules)
    assert channel.pauses("http://a.test/") == "Fetch.continueRequest"


async def test_the_policy_is_asked_first_and_stays_when_rules_go() -> None:
    """What the policy blocks, no mock of the session opens; clearing the session's rules leaves it in force."""
    view, own = ByHand(resources={"page.test": ["b.test"]}), Rules()
    own.add("a.test", answer=Answer(200, (), b"mocked"))
    border = Borders(lambda browser, mode: view, Approvals().ask)
    intercept, channel = joined(own, border.open("s1", caller="k", browser="isolated", mode="auto"))
    assert channel.sent[-1] == ("Fetch.enable", {"patterns": [{"urlPattern": "*"}], "handleAuthRequests": True})
    assert channel.pauses("http://a.test/") == "Fetch.failRequest"
    assert channel.pauses("http://b.test/") == "Fetch.continueRequest"
    own.remove()
    await intercept.apply()
    assert channel.pauses("http://a.test/") == "Fetch.failRequest"
    view.become()
    await intercept.apply()
    assert channel.sent[-1][0] == "Fetch.disable"


async def test_fetch_is_off_without_rules() -> None:
    _, channel = joined(Rules())
    assert channel.sent == []


async def test_a_password_is_not_waited_for(page: Agent) -> None:
    await page.call("block_url", pattern="*/never/*")
    await page.call("mock_url", pattern="*/never-either/*")
    await page.call("block_url", pattern="/basic-auth", type=["Image"])
    await page.call("mock_url", pattern="/basic-auth", method="DELETE")
    assert (await get(page, "/basic-auth"))["status"] == 401


async def test_a_session_without_a_tab_has_rules_for_the_next_one(page: Agent, site: PageServer) -> None:
    await page.call("close_tab")
    await page.call("mock_url", pattern="/echo", body="<title>Mocked</title>")
    await page.call("new_tab", url=site.url("echo"))
    assert (await page.call("list_tabs"))["tabs"][0]["title"] == "Mocked"
