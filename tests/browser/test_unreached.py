"""Pages that could not be loaded: whoever is led to one hears that, and why."""

import pytest

from tests.browser.looking import fails, look
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A08", "C08")

ENGINES = pytest.mark.parametrize(
    "engine", ["shell", pytest.param("whole", marks=pytest.mark.whole("its page about it has words of its own"))]
)


def why(site: PageServer) -> str:
    return f"connection refused by {site.dead_origin.partition('//')[2]}"


@ENGINES
async def test_a_click_that_leads_there_says_so(agent: Agent, site: PageServer, engine: str) -> None:
    await agent.call("navigate", url=site.inline(f"<a href={site.dead_origin}/x>Dead</a>"))
    answer = await agent.ask("click", target="text=Dead")
    assert answer.text.splitlines() == [
        'clicked link "Dead"',
        f"now at {site.dead_origin}/x, which could not be loaded: {why(site)}",
    ]
    assert (answer.data["url"], answer.data["not_loaded"]) == (f"{site.dead_origin}/x", why(site))
    assert "not_loaded" not in (await agent.ask("evaluate_js", expression="1")).data, "it is told once"


@ENGINES
async def test_the_browser_s_own_page_about_it_is_not_shown(agent: Agent, site: PageServer, engine: str) -> None:
    await agent.call("navigate", url=site.inline(f"<a href={site.dead_origin}/x>Dead</a>"))
    await agent.call("click", target="text=Dead")
    seen = await agent.call("get_page_state")
    line = f"(this page could not be loaded: {why(site)})"
    assert seen["url"] == f"{site.dead_origin}/x"
    assert seen["snapshot"].splitlines()[1:] == [line]
    assert (await agent.call("get_page_text"))["text"] == line
    assert (await agent.call("find", text="ERR_"))["total"] == 0
    assert f"{site.dead_origin}/x, which could not be loaded: {why(site)}" in await agent.text("list_tabs")
    await agent.call("navigate", url=site.url("small.html"))
    assert "Small page" in await look(agent)
    assert "could not" not in await agent.text("list_tabs")


async def test_a_frame_says_it_for_itself(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1><iframe src={site.dead_origin}/f></iframe>"))
    assert f"(this frame could not be loaded: {why(site)})" in await look(agent)
    assert f"(this frame could not be loaded: {why(site)})" in await agent.text("get_page_text")


async def test_a_server_that_redirects_without_end(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<a href=/redirect-loop>Loop</a>"))
    answer = await agent.ask("click", target="text=Loop")
    assert "which could not be loaded: the server redirects without end" in answer.text


async def test_the_same_page_that_is_gone_meanwhile(agent: Agent, site: PageServer) -> None:
    """The address is where it was; what is new is that nothing came."""
    await agent.call("navigate", url=site.inline("<button onclick='location.reload()'>Again</button>"))
    await agent.call("emulate", offline=True)
    assert "could not be loaded: the tab is offline" in await agent.text("click", target="text=Again")
    await agent.call("emulate", offline=False)


async def test_a_tab_that_a_page_opens(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<a href={site.dead_origin}/x target=_blank>Dead</a>"))
    await agent.call("click", target="text=Dead")
    for tool, args in (("wait_for_new_tab", {}), ("switch_tab", {"tab": "t2"})):
        assert await agent.text(tool, **args) == f"t2: {site.dead_origin}/x, which could not be loaded: {why(site)}"


@pytest.mark.whole("the shell shows an empty page")
async def test_a_server_that_answers_with_an_error_and_nothing_else(agent: Agent, site: PageServer) -> None:
    """What the browser's own page complains of comes late, and is no news of the next page."""
    await agent.call("mock_url", pattern=site.url("empty"), status=500, body="")
    failure = await fails(agent, "navigation_failed", "navigate", url=site.url("empty"))
    assert "the server answered 500 and sent no page" in failure.message
    assert "console error" not in await agent.text("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.inline("<a href=/empty>Empty</a>"))
    told = await agent.text("click", target="text=Empty")
    assert "could not be loaded: the server answered 500 and sent no page" in told
    assert "chrome-error" not in told
