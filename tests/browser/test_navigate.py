"""Going somewhere and knowing when one has arrived."""

import asyncio
from typing import Any

import pytest

from pilothouse.browser import navigate
from pilothouse.browser.resync import find_again
from pilothouse.browser.tab import STANDS_S, Tab
from pilothouse.errors import Failure
from tests.browser.looking import fails, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer, stumbling

pytestmark = pytest.mark.whole("only all of Chromium keeps pages to come back to")


@promise("A08")
async def test_navigate_answers_url_title_and_status(agent: Agent, site: PageServer) -> None:
    arrived = await agent.call("navigate", url=site.url("small.html"))
    assert arrived["url"] == site.url("small.html")
    assert arrived["title"] == "Small"
    assert arrived["status"] == 200


@promise("A08")
async def test_a_refused_connection_says_so(agent: Agent, site: PageServer) -> None:
    with pytest.raises(Failure) as refused:
        await agent.call("navigate", url=site.dead_origin)
    assert refused.value.code == "navigation_failed"
    assert "refused" in refused.value.message
    assert "SOCKS" not in refused.value.message


@pytest.fixture
async def goes(agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where the tab has been sent: every try of ours, and none of the browser's own."""
    await agent.call("navigate", url=site.url("small.html"))
    channel, sent = tab_of(agent).channel, list[str]()
    send = channel.send

    async def noted(method: str, **params: Any) -> dict[str, Any]:
        if method == "Page.navigate":
            sent.append(params["url"])
        return await send(method, **params)

    monkeypatch.setattr(channel, "send", noted)
    return sent


@promise("A08")
async def test_a_network_that_fails_once_is_tried_again_and_that_is_told(agent: Agent, goes: list[str]) -> None:
    async with stumbling(lambda: len(goes) < 2) as url:
        answer = await agent.ask("navigate", url=url)
        assert not answer.failed, answer.text
        assert (answer.data["url"], answer.data["title"], answer.data["status"]) == (url, "Steady", 200)
        assert "the first try failed on the network; the second worked" in answer.text
        assert goes == [url] * 2
        assert "Steady page" in await agent.text("get_page_state")


@promise("A08")
async def test_a_network_that_fails_twice_is_not_tried_again(agent: Agent, site: PageServer, goes: list[str]) -> None:
    async with stumbling(lambda: True) as url:
        failure = await fails(agent, "navigation_failed", "navigate", url=url)
        assert failure.message.endswith(" (tried twice)")
        assert goes == [url] * 2
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


@promise("A08")
@pytest.mark.parametrize("wait_until", ["load", "domcontentloaded", "networkidle"])
async def test_every_kind_of_waiting(agent: Agent, site: PageServer, wait_until: str) -> None:
    arrived = await agent.call("navigate", url=site.url("small.html"), wait_until=wait_until)
    assert arrived["title"] == "Small"


@promise("A08")
async def test_who_waits_for_the_document_waits_for_no_picture(agent: Agent, site: PageServer) -> None:
    page = site.inline(f"<title>Slow</title><p>Here<img src='{site.url('hang')}'>")
    arrived = await agent.call("navigate", url=page, wait_until="domcontentloaded", timeout_ms=5000)
    assert arrived["title"] == "Slow"
    for wait_until in ("load", "networkidle"):
        await fails(agent, "timeout", "navigate", url=page, wait_until=wait_until, timeout_ms=700)


@promise("C08")
async def test_an_empty_address_is_refused_before_anything_happens(agent: Agent) -> None:
    answer = await agent.ask("navigate", url="")
    assert answer.text.startswith("bad_request: navigate: url is empty")
    assert (await agent.call("list_sessions"))["sessions"] == []


@promise("A08")
async def test_a_page_that_never_comes_ends_with_the_deadline(agent: Agent, site: PageServer) -> None:
    await agent.call("get_current_url")  # to open a session takes time of its own
    with pytest.raises(Failure) as late:
        await agent.call("navigate", url=site.url("hang"), timeout_ms=400)
    assert late.value.code == "timeout"
    assert late.value.message.endswith("and was given up; the tab is still at about:blank")
    assert late.value.suggestions == ["try a longer timeout_ms"]
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


@promise("A08", "A21")
@pytest.mark.parametrize("origin", ["same", "other"])
async def test_a_step_back_may_be_one_of_a_frame(agent: Agent, site: PageServer, origin: str) -> None:
    inner = site.inline("<a href='?two'>on</a>") if origin == "same" else f"{site.other_origin}/frame.html"
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.inline(f"<iframe name=inner src='{inner}'></iframe>"))
    page = tab_of(agent).document
    await agent.call("switch_frame", frame="inner")
    await agent.js("new Promise(done => { location.hash = 'two'; setTimeout(done, 0) })")
    back = await agent.call("go_back", timeout_ms=5000)
    assert tab_of(agent).document is page, back
    assert not next(one for one in tab_of(agent).frames if one.name == "inner").url.endswith("#two")
    await agent.call("go_back", timeout_ms=5000)
    assert tab_of(agent).url == site.url("small.html")


@promise("A08")
async def test_a_reload_that_is_given_up_does_not_come_later(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("slow?ms=1500"))
    before = tab_of(agent).document
    late = await fails(agent, "timeout", "reload", timeout_ms=600)
    assert "was given up; the tab is still at" in late.message
    # Longer than the server takes to answer what was given up.
    await agent.call("evaluate_js", expression="fetch('/slow?ms=1600').then(() => 0)")
    assert tab_of(agent).document is before


def response_of(tab: Tab, url: str) -> asyncio.Event:
    answered = asyncio.Event()
    tab.channel.on("Network.responseReceived", lambda p: answered.set() if p["response"]["url"] == url else None)
    return answered


@promise("A08")
async def test_what_is_given_up_is_stopped_before_that_is_told(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    post, answers = tab.channel.post, list[asyncio.Future[Any]]()

    def held(method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        if method != "Page.stopLoading":
            return post(method, **params)
        post(method, **params)
        answers.append(asyncio.get_running_loop().create_future())
        return answers[-1]

    monkeypatch.setattr(tab.channel, "post", held)
    monkeypatch.setattr(navigate, "STOP_S", 0.5)
    going = asyncio.ensure_future(agent.ask("navigate", url=site.url("hang"), timeout_ms=2000))
    assert await tab.signal.until(lambda: answers and not tab.route.navigating, 5)
    assert not going.done()
    answers[-1].set_result({})
    assert "was given up" in (await going).text
    # A browser that takes long to stop it, as one far away may: nobody waits for longer than was asked for.
    late = await fails(agent, "timeout", "navigate", url=site.url("hang?again"), timeout_ms=1000)
    assert late.details == {"given_up": site.url("hang?again")}, late.message


@promise("A08")
async def test_what_is_given_up_does_not_come_after_a_page_that_was_about_to(agent: Agent, site: PageServer) -> None:
    """Chrome refuses to stop anything just then: the page before is busy, and the next one has been answered."""
    leaves = f"location = '{site.url('slow?ms=200')}'"
    busy = "for (const end = Date.now() + 1500; Date.now() < end;);"
    await agent.call(
        "navigate",
        url=site.inline(f"<script>const go = () => {{ {leaves}; setTimeout(() => {{ {busy} }}, 60) }}</script>"),
    )
    tab = tab_of(agent)
    answered = response_of(tab, site.url("slow?ms=200"))
    tab.channel.post("Runtime.evaluate", expression="go()")
    await asyncio.wait_for(answered.wait(), 5)
    await fails(agent, "timeout", "navigate", url=site.url("hang"), timeout_ms=600)
    assert await tab.signal.until(lambda: tab.url == site.url("slow?ms=200"), 5)
    assert await tab.signal.until(lambda: not tab.network.in_flight(), 5)
    (given_up,) = [one for one in tab.network.requests() if one.url == site.url("hang")]
    assert given_up.failure == "canceled"
    assert "Slow page" in await agent.text("get_page_state")


@promise("A08")
async def test_a_page_that_is_stopped_half_way_leaves_no_request_open(agent: Agent, site: PageServer) -> None:
    """Chrome does not tell how its own request ended; who waits for an idle network would wait for ever."""
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    tab.channel.post("Page.navigate", url=site.url("half"))
    assert await tab.signal.until(lambda: tab.url == site.url("half"), 5)
    # One that has only just begun is not stopped (M).
    drawn = (
        "new Promise(done => { const look = () => document.querySelector('h1') ? done() : setTimeout(look); look() })"
    )
    await tab.channel.send("Runtime.evaluate", expression=drawn, awaitPromise=True)
    tab.channel.post("Page.stopLoading")
    assert await tab.signal.until(lambda: not tab.network.in_flight(), 5)
    request = tab.network.by_loader(tab.document.loader_id)
    assert request
    assert request.failure
    await agent.call("wait_for", idle=True)


@promise("A09")
async def test_a_page_that_came_by_itself_is_not_read_half(agent: Agent, site: PageServer) -> None:
    """Nobody acts here: it goes on by a timer of its own, after the window of the last action."""
    await agent.call("navigate", url=site.inline("<script>setTimeout(() => { location = '/halting' }, 700)</script>"))
    await agent.call("get_page_state")  # what the navigation started has been waited for
    tab = tab_of(agent)
    assert await tab.signal.until(lambda: tab.url == site.url("halting"), 5)
    state = await agent.text("get_page_state")
    assert "First half" in state
    assert "Choose" in state


@promise("A09", "A19")
@pytest.mark.parametrize("way", ["by itself", "click", "navigate"])
async def test_a_page_that_asks_half_way_is_not_read_half_afterwards(agent: Agent, site: PageServer, way: str) -> None:
    url = site.url("halting?ms=1000&asks=1")
    opener = f"<button onclick='location = `{url}`'>Go</button>"
    timer = f"<script>setTimeout(() => {{ location = `{url}` }}, 700)</script>"
    await agent.call("navigate", url=site.inline(timer if way == "by itself" else opener))
    await agent.call("get_page_state")  # what the navigation started has been waited for
    tab = tab_of(agent)
    if way == "navigate":
        await fails(agent, "dialog_open", "navigate", url=url)
    elif way == "click":
        await agent.call("click", target="text=Go")
    assert await tab.signal.until(lambda: tab.dialog, 5)
    await agent.call("handle_dialog", accept=True)
    assert "Choose" in await agent.text("get_page_state")


@promise("A09")
async def test_a_page_that_goes_on_half_way_is_not_read_half(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<script>setTimeout(() => { location = '/half' }, 700)</script>"))
    await agent.call("get_page_state")
    tab = tab_of(agent)
    assert await tab.signal.until(lambda: tab.url == site.url("half"), 5)
    asked = asyncio.ensure_future(agent.text("get_page_state"))
    on = asyncio.get_running_loop().call_later(
        STANDS_S * 0.8,
        lambda: tab.channel.post("Runtime.evaluate", expression="location = '/halting?ms=700'"),
    )
    assert "Choose" in await asked
    on.cancel()


@promise("A09")
async def test_a_page_that_never_ends_is_waited_for_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<script>setTimeout(() => { location = '/half' }, 700)</script>"))
    await agent.call("get_page_state")  # what the navigation started has been waited for
    tab = tab_of(agent)
    assert await tab.signal.until(lambda: tab.url == site.url("half"), 5)
    began = asyncio.get_running_loop().time()
    assert "Half a page" in await agent.text("get_page_state")
    again = asyncio.get_running_loop().time()
    assert STANDS_S * 0.9 < again - began < STANDS_S + 1
    await agent.text("get_page_state")
    assert asyncio.get_running_loop().time() - again < STANDS_S / 2


@promise("A08")
async def test_a_move_within_the_page_does_not_end_the_way_to_another(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    # By itself, because Chrome holds back what we would say to it.
    tab.channel.post("Runtime.evaluate", expression="setTimeout(() => history.pushState(0, '', '#part'), 300)")
    tab.channel.post("Page.navigate", url=site.url("hang"))
    assert await tab.signal.until(lambda: tab.route.bound_for, 5)
    assert await tab.signal.until(lambda: tab.route.moves, 5)
    assert (tab.route.navigating, tab.route.bound_for) == (True, site.url("hang"))


@promise("B10")
async def test_what_ended_while_nobody_listened_is_not_waited_for(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    tab.channel.post("Page.navigate", url=site.url("hang"))
    assert await tab.signal.until(lambda: tab.route.bound_for, 5)
    with monkeypatch.context() as deaf:
        deaf.setattr(tab.channel, "dispatch", lambda *_: None)
        await tab.channel.send("Page.stopLoading")
        await tab.channel.send("Page.navigate", url=site.url("form.html"))
    await find_again(tab)
    await agent.call("wait_for", idle=True, timeout_ms=5000)
    assert tab.url == site.url("form.html")


@promise("A08")
async def test_a_page_that_comes_late_takes_nothing_from_the_one_after_it(agent: Agent, site: PageServer) -> None:
    """The page before it was busy; meanwhile the tab was sent on."""
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    answered, came = response_of(tab, site.url("form.html")), list[tuple[str, bool, str]]()
    tab.channel.on("Page.frameNavigated", lambda _: came.append((tab.url, tab.route.navigating, tab.route.bound_for)))
    tab.channel.post("Runtime.evaluate", expression="for (const end = Date.now() + 500; Date.now() < end;);")
    tab.channel.post("Page.navigate", url=site.url("form.html"))
    await asyncio.wait_for(answered.wait(), 5)
    tab.channel.post("Page.navigate", url=(last := site.url("slow?ms=1500")))
    assert await tab.signal.until(lambda: tab.url == site.url("form.html"), 5)
    assert "Slow page" in await agent.text("get_page_state")
    assert came == [(site.url("form.html"), True, last), (last, False, "")]
    assert (brought := tab.network.by_loader(tab.document.loader_id))
    assert (brought.status, brought.failure) == (200, "")


@promise("A08", "C08")
async def test_an_answer_without_a_page_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    said = await agent.text("navigate", url=site.url("status/204"))
    assert "the server answered 204 and sent no page; the tab stayed where it was" in said
    asked = await agent.call("get_network_log", url_pattern="status/204")
    assert len(asked["requests"]) == 1, "who asks a server again does again what it did there"
    assert (await agent.call("get_current_url"))["url"] == site.url("small.html")


@promise("A08")
async def test_back_and_forward(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.url("form.html"))
    assert (await agent.call("go_back"))["title"] == "Small"
    assert (await agent.call("go_forward"))["title"] == "Form"


@promise("A08")
async def test_a_page_that_comes_back_is_called_what_it_was_called_when_it_was_left(
    agent: Agent, site: PageServer
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("evaluate_js", expression="document.title = 'Smaller'")
    await agent.call("navigate", url=site.url("form.html"))
    assert (await agent.call("go_back"))["title"] == "Smaller"
    await agent.call("evaluate_js", expression="onpageshow = () => { document.title = 'Seen again' }")
    await agent.call("go_forward")
    await agent.call("go_back")
    assert (await agent.call("get_page_title"))["title"] == "Seen again"


@promise("A08")
async def test_nowhere_to_go_back_to(agent: Agent, site: PageServer) -> None:
    await fails(agent, "not_found", "go_back")
    await agent.call("navigate", url=site.url("small.html"))
    assert "there is no page to go back to" in (await fails(agent, "not_found", "go_back")).message
    assert (await agent.call("get_current_url"))["url"] == site.url("small.html"), "not the blank one it began with"


@promise("A08")
async def test_a_long_address_is_not_told_whole(agent: Agent, site: PageServer):
    tail = "x" * 30_000
    cases = [
        (f"http://127.0.0.1:9/{tail}", 20_000, "navigation_failed"),
        (site.url(f"hang?{tail}"), 500, "timeout"),
    ]
    for url, timeout_ms, code in cases:
        answer = await agent.ask("navigate", url=url, timeout_ms=timeout_ms)
        error = answer.data["error"]
        assert error["code"] == code
        assert url[:100] in error["message"]
        assert len(error["message"]) < 1000
        assert len(str(error["details"])) < 500


@promise("A08")
async def test_the_title_follows_a_single_page_app(agent: Agent, site: PageServer) -> None:
    """As soon as the page has said it: nobody asks for it anew."""
    go = "history.pushState({}, '', '/inline?a'); document.title = 'A'"
    back = "addEventListener('popstate', () => { document.title = 'Back' })"
    html = f'<title>Start</title><script>{back}</script><button onclick="{go}">Go</button>'
    await agent.call("navigate", url=site.inline(html))
    assert '"A"' in await agent.text("click", target="text=Go")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "A"
    assert (await agent.call("go_back"))["title"] == "Back"
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Back"
    await agent.js("document.head.querySelector('title').firstChild.data = 'By text'; 0")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "By text"
    await agent.js("document.head.remove(); document.documentElement.prepend(document.createElement('head')); 0")
    await agent.js("document.title = 'Anew'; 0")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Anew"


@promise("A08", "C08")
async def test_back_to_what_a_form_brought(agent: Agent, site: PageServer) -> None:
    form = f"<form method=post action='{site.url('echo?unkept=1')}'><button>Send</button></form>"
    await agent.call("navigate", url=site.inline(form))
    await agent.call("click", target="text=Send")
    await agent.call("navigate", url=site.url("small.html"))
    failure = await fails(agent, "navigation_failed", "go_back")
    assert "a form brought this page" in failure.message
    assert "send the form anew" in failure.suggestions[0]
    assert "error page" in failure.suggestions[1]


@promise("A08", "C08", "A20")
async def test_an_offline_tab_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("emulate", offline=True)
    failure = await fails(agent, "navigation_failed", "navigate", url=site.url("form.html"))
    assert "the tab is offline" in failure.message
    assert "offline=false" in failure.suggestions[0]
