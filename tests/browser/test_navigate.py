"""Going somewhere and knowing when one has arrived."""

import pytest

from pilothouse.errors import Failure
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
