"""Waiting for pages, knowing where one is, and a tab for who has none."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.looking import fails
from tests.hostile.conftest import tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = [promise("C01"), pytest.mark.whole("only all of Chromium keeps pages to come back to")]

LATE = "<title>Start</title><button id=go onclick='setTimeout(() => { location = `/small.html` }, 300)'>Go</button>"


async def test_the_page_that_the_last_click_brought(agent: Agent, site: PageServer) -> None:
    """A client that makes one call at a time asks when it is over already."""
    await agent.call("navigate", url=site.inline("<a href=/small.html>Go</a>"))
    await agent.call("click", target="text=Go")
    arrived = await agent.call("wait_for_navigation", timeout_ms=2000)
    assert (arrived["title"], arrived["status"]) == ("Small", 200)
    await fails(agent, "timeout", "wait_for_navigation", timeout_ms=50)


async def test_a_page_that_the_last_click_has_begun(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<a href='/slow?ms=1500'>Go</a>"))
    tab = tab_of(agent)
    click = asyncio.ensure_future(agent.ask("click", target="text=Go"))
    await tab.signal.until(lambda: tab.route.bound_for, 5)
    late = await fails(agent, "timeout", "wait_for_navigation", timeout_ms=50)
    assert "answer" in late.message
    await agent.call("navigate", url=site.url("small.html"))
    await click


async def test_a_page_that_comes_later(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(LATE))
    await agent.call("click", target="#go")
    assert (await agent.call("wait_for_navigation"))["title"] == "Small"


async def test_an_older_page_is_not_the_next_one(agent: Agent, site: PageServer) -> None:
    """What an action before the last one brought has been seen."""
    await agent.call("navigate", url=site.inline("<a href='/small.html'>First</a>"))
    await agent.call("click", target="text=First")
    await agent.js("go.onclick = () => setTimeout(() => { location = '/form.html' }, 300); return 0")
    await agent.call("click", target="#go")
    assert (await agent.call("wait_for_navigation"))["title"] == "Form"


async def posted(agent: Agent) -> list[dict[str, Any]]:
    return (await agent.call("get_network_log", method=["POST"]))["requests"]


@promise("D06")
@pytest.mark.parametrize("policy", ["", '[[rules]]\nhost = "https://denied.test"\nread = false'])  # documents are held
async def test_what_was_sent_is_not_sent_again(
    agent: Agent, site: PageServer, policy: str, say: Callable[[str], None]
) -> None:
    say(f'template = "sandbox"\n{policy}')
    page = site.inline("<form method=post action=/echo><button>Go</button></form>")
    await agent.call("navigate", url=page)
    await agent.call("click", target="text=Go")
    await agent.call("clear_network_log")
    assert "send the form again" in (await fails(agent, "denied", "reload")).message
    await agent.call("go_back")
    assert (await agent.call("reload"))["url"] == page
    await agent.ask("go_forward")  # from its cache, or not at all
    assert "send the form again" in (await fails(agent, "denied", "reload")).message
    assert all(one["from_cache"] for one in await posted(agent))
    await agent.call("navigate", url=site.url("echo"))
    await agent.call("reload")


async def test_a_form_that_was_answered_by_a_redirect_is_behind_it(agent: Agent, site: PageServer) -> None:
    await agent.call(
        "navigate", url=site.inline("<form method=post action='/redirect?to=/small.html'><button>Go</button></form>")
    )
    await agent.call("click", target="text=Go")
    assert (await agent.call("reload"))["title"] == "Small"
    assert len(await posted(agent)) == 1


async def test_a_move_within_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("go.onclick = () => history.pushState({}, '', '?2'); return 0")
    await agent.call("click", target="#go")
    assert (await agent.call("wait_for_navigation"))["url"].endswith("?2")


async def test_a_page_that_cannot_be_loaded(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(LATE.replace("/small.html", "http://127.0.0.1:9/")))
    await agent.call("click", target="#go")
    answer = await agent.ask("wait_for_navigation")
    if answer.data["error"]["code"] == "approval_pending":  # in the person's own Chrome, where they have not said yet
        answer = await agent.ask("wait_for_navigation")
    assert answer.data["error"]["code"] == "navigation_failed"


async def test_a_wait_without_a_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    nowhere = await fails(agent, "timeout", "wait_for_navigation", timeout_ms=50)
    assert "went nowhere" in nowhere.message
    await agent.js("void setTimeout(() => alert(1), 20)")
    await fails(agent, "dialog_open", "wait_for_navigation", timeout_ms=5000)


async def test_another_tab_may_be_waited_for(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(LATE))
    await agent.call("click", target="#go")
    await agent.call("new_tab")
    assert (await agent.call("wait_for_navigation", tab="t1"))["title"] == "Small"


async def test_address_and_title(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert await agent.text("get_current_url") == site.url("small.html")
    assert await agent.text("get_page_title") == '"Small"'
    await agent.js("document.title = 'Other'; history.pushState({}, '', '#here')")
    assert (await agent.call("get_page_title"))["title"] == "Other"
    assert (await agent.call("get_current_url"))["url"].endswith("#here")
    await agent.call("new_tab")
    assert "has no title" in await agent.text("get_page_title")
    assert await agent.text("get_page_title", tab="t1") == '"Other"'
    await fails(agent, "not_found", "get_current_url", tab="t7")


async def test_address_and_title_while_a_dialog_is_open(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.ask("evaluate_js", expression="void setTimeout(() => alert(1))")
    await agent.ask("wait_for_text", text="never", timeout_ms=1000)
    assert (await agent.call("get_current_url"))["url"] == site.url("small.html")
    assert (await agent.call("get_page_title"))["title"] == "Small"


async def test_forward_and_again(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("go_back")
    assert (await agent.call("go_forward"))["title"] == "Form"
    await agent.js("document.title = 'Changed'; return 0")
    assert (await agent.call("reload"))["title"] == "Form"
    await fails(agent, "not_found", "go_forward")


@promise("C02")
async def test_the_names_of_the_founding_documents(agent: Agent, site: PageServer) -> None:
    assert (await agent.call("browser.goto", url=site.url("small.html"), waitUntil="load"))["title"] == "Small"
    assert (await agent.call("browser_navigate", url=site.url("form.html"), timeout=9000))["title"] == "Form"


async def test_going_somewhere_without_a_tab_opens_one(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("close_tab")
    await fails(agent, "not_found", "click", target="#go")
    await fails(agent, "not_found", "navigate", url=site.url("small.html"), tab="t1")
    assert (await agent.call("navigate", url=site.url("form.html")))["title"] == "Form"
    tabs = (await agent.call("list_tabs"))["tabs"]
    assert [(one["tab"], one["current"]) for one in tabs] == [("t2", True)]
