"""The policy in the person's own Chrome: careful by default, held by Chrome itself in the tabs that agents use."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilothouse.call import Call
from pilothouse.errors import Failure
from pilothouse.guard.rules import read_rules
from tests.extension.neighbour import SANDBOX, Neighbour
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D02", "D04")

FETCH = "fetch('%s', {mode: 'no-cors'}).then(() => 'came', () => 'blocked')"
RULES = "chrome.declarativeNetRequest.getSessionRules().then(all => all.length)"


@pytest.fixture
async def strict(person: Neighbour, site: PageServer) -> AsyncIterator[Neighbour]:
    """Careful, as it is by default; pages of 127.0.0.1 are listed, those of localhost are forbidden."""
    person.house.policy.replace(
        read_rules('[[rules]]\nhost = "127.0.0.1"\nwrite = true\n[[rules]]\nhost = "localhost"\nread = false')
    )
    yield person
    person.house.policy.replace(read_rules(SANDBOX))


def elsewhere(site: PageServer) -> str:
    return site.url("/small.html?other").replace("127.0.0.1", "localhost")


async def fails(agent: Agent, code: str, tool: str, **args: Any) -> Failure:
    with pytest.raises(Failure) as raised:
        await agent.call(tool, **args)
    assert raised.value.code == code, raised.value
    return raised.value


async def test_a_forbidden_host_is_not_reached_from_an_agents_tab(strict: Neighbour, site: PageServer) -> None:
    page = await strict.chrome.open(site.url("/small.html"))
    async with strict.agent() as agent:
        await agent.call("navigate", url=site.url("/small.html"))
        said = await fails(agent, "denied", "navigate", url=elsewhere(site))
        assert said.details["rule"] == "rule localhost"
        tab_id = next(one.tab_id for one in strict.link.tabs.values() if one.ours)
        own = await strict.popup.js(f"chrome.debugger.getTargets().then(all => all.find(t => t.tabId === {tab_id}).id)")
        inside = await strict.chrome.page(own)
        assert await inside.js(FETCH % elsewhere(site)) == "blocked"
        assert await page.js(FETCH % elsewhere(site)) == "came", "the person goes where they like"
        await inside.js(f"void (location.href = '{elsewhere(site)}')")
        await inside.until("location.protocol === 'chrome-error:'")
        told = await agent.ask("get_page_text")
        assert told.failed, "nothing is told of where it did not get"
    await strict.popup.until(f"{RULES}.then(number => number === 0)")


async def test_a_change_of_the_policy_holds_at_once(person: Neighbour, site: PageServer) -> None:
    async with person.agent() as agent:
        await agent.call("navigate", url=site.url("/small.html"))
        before = await person.popup.js(RULES)
        try:
            person.house.policy.replace(read_rules(f'{SANDBOX}\n[[rules]]\nhost = "localhost"\nread = false'))
            await person.popup.until(f"{RULES}.then(number => number > {before})")
        finally:
            person.house.policy.replace(read_rules(SANDBOX))
        await person.popup.until(f"{RULES}.then(number => number === {before})")


async def test_a_session_that_was_narrowed(person: Neighbour, site: PageServer) -> None:
    async with person.agent() as agent:
        await agent.call("open_session", browser="extension", allowed_domains=["127.0.0.1"])
        await agent.call("navigate", url=site.url("/small.html"))
        assert (await agent.call("evaluate_js", expression=FETCH % elsewhere(site)))["value"] == "blocked"
        await fails(agent, "denied", "navigate", url=elsewhere(site))


async def test_who_is_new_is_asked_about(strict: Neighbour, site: PageServer) -> None:
    strict.house.approvals.adjust(timeout_s=1, client_answers="never")
    async with strict.agent() as agent:
        said = await fails(agent, "approval_denied", "navigate", url="https://new.example/")
        assert "new.example" in said.message or said.suggestions


async def test_a_tab_of_the_persons_is_not_closed_unasked(strict: Neighbour, site: PageServer) -> None:
    strict.house.approvals.adjust(timeout_s=60, client_answers="never")
    page = await strict.share(site.url("/small.html"))
    async with strict.agent() as agent:
        tab = (await agent.call("list_tabs"))["tabs"][0]["tab"]
        answer = await agent.gate.call(Call("close_tab", {}, agent.caller, patience_s=0))
        assert answer.data["error"]["code"] == "approval_pending"
        own = agent.gate.session_ids(agent.caller)
        (question,) = [one for one in strict.house.approvals.pending() if one["session"] in own]
        assert "closes a tab of the person's" in question["why"]
        assert question["args"]["tab"] == tab
        assert await page.js("document.title") == "Small"
        await strict.house.approvals.answer(question["id"], "deny")
        await fails(agent, "approval_denied", "close_tab", tab=tab)
        mine = (await agent.call("new_tab"))["tab"]
        assert (await agent.call("close_tab", tab=mine))["tab"] == mine
    assert await page.js("document.title") == "Small"


async def test_a_question_ends_with_the_tab_that_is_taken_back(strict: Neighbour, site: PageServer) -> None:
    strict.house.approvals.adjust(timeout_s=60, client_answers="never")
    page = await strict.share(site.url("/form.html"))
    async with strict.agent() as agent:
        asking = asyncio.ensure_future(agent.ask("evaluate_js", expression="1"))
        await strict.until(strict.house.approvals.pending)
        await strict.chrome.tell(strict.popup, "unshareTab", tabId=await strict.tab_id(page))
        error = (await asyncio.wait_for(asking, 10)).data["error"]
        assert (error["code"], "back" in error["message"]) == ("denied", True)
        assert strict.house.approvals.pending() == []


async def test_no_rule_is_suggested_where_none_helps(strict: Neighbour) -> None:
    async with strict.agent() as agent:
        said = await fails(agent, "denied", "navigate", url="chrome://settings")
        assert "line" not in said.details
        assert "Chrome's own pages" in said.message


async def test_the_limits_are_told(person: Neighbour) -> None:
    async with person.agent() as agent:
        told = await agent.text("open_session", browser="extension")
        assert "workers" in told


async def test_a_change_is_told_once_and_not_after_the_session(strict: Neighbour, site: PageServer) -> None:
    async with strict.agent() as agent:
        await agent.call("navigate", url=site.url("/small.html"))
        (ident,) = agent.gate.session_ids(agent.caller)
        border = strict.house.borders.of(ident)
        assert border
        assert len(border._followers) == 1
    assert not border._followers
