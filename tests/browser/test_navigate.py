"""Going somewhere and knowing when one has arrived."""

import asyncio

import pytest

from pilothouse.errors import Failure
from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

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


@promise("A08")
@pytest.mark.parametrize("wait_until", ["load", "domcontentloaded", "networkidle"])
async def test_every_kind_of_waiting(agent: Agent, site: PageServer, wait_until: str) -> None:
    arrived = await agent.call("navigate", url=site.url("small.html"), wait_until=wait_until)
    assert arrived["title"] == "Small"


@promise("C08")
async def test_an_empty_address_is_refused_before_anything_happens(agent: Agent) -> None:
    answer = await agent.ask("navigate", url="")
    assert answer.text.startswith("bad_request: navigate: url is empty")
    assert (await agent.call("list_sessions"))["sessions"] == []


@promise("A08")
async def test_a_page_that_never_comes_ends_with_the_deadline(agent: Agent, site: PageServer) -> None:
    with pytest.raises(Failure) as late:
        await agent.call("navigate", url=site.url("hang"), timeout_ms=400)
    assert late.value.code == "timeout"
    assert late.value.message.endswith("and was given up; the tab is still at about:blank")
    assert late.value.suggestions == ["try a longer timeout_ms"]
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


@promise("A08")
async def test_a_page_that_comes_late_takes_nothing_from_the_one_after_it(agent: Agent, site: PageServer) -> None:
    """The page before it was busy; meanwhile the tab was sent on."""
    await agent.call("navigate", url=site.url("small.html"))
    (session,) = agent.gate.own(agent.caller).all()
    tab = session.current
    assert tab
    answered, came = asyncio.Event(), list[tuple[str, bool, str]]()
    tab.channel.on("Network.responseReceived", lambda _: answered.set())
    tab.channel.on("Page.frameNavigated", lambda _: came.append((tab.url, tab.navigating, tab.bound_for)))
    tab.channel.post("Runtime.evaluate", expression="for (const end = Date.now() + 500; Date.now() < end;);")
    tab.channel.post("Page.navigate", url=site.url("form.html"))
    await asyncio.wait_for(answered.wait(), 5)
    tab.channel.post("Page.navigate", url=(last := site.url("slow?ms=1500")))
    assert await tab.signal.until(lambda: tab.url == last and tab.document.loaded, 10)
    assert came == [(site.url("form.html"), True, last), (last, False, "")]
    assert (brought := tab.network.by_loader(tab.document.loader_id))
    assert (brought.status, brought.failure) == (200, "")


@promise("A08", "C08")
async def test_an_answer_without_a_page_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    said = await agent.text("navigate", url=site.url("status/204"))
    assert "the server answered 204 and sent no page; the tab stayed where it was" in said
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
async def test_nowhere_to_go_back_to(agent: Agent) -> None:
    with pytest.raises(Failure) as nowhere:
        await agent.call("go_back")
    assert nowhere.value.code == "not_found"


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
