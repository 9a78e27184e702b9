"""D07, D08: a call that a person is asked about, through the corridor and a real Chromium."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from pilothouse.call import Answer, Call
from pilothouse.guard.policy import Decision, Question
from tests.daemon_here import ALLOW, asks_for_writes, policy_says
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D07", "D08")

COUNTER = "<button onclick='document.title = ++window.n'>Add</button><script>window.n = 0</script>"


@pytest.fixture
async def asking(house: House, agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """An agent at a page, whose writes are asked about."""
    await agent.call("navigate", url=site.inline(COUNTER))
    policy_says(monkeypatch, asks_for_writes)
    return agent


async def asked(house: House) -> dict[str, Any]:
    """The question that has come up."""
    async with asyncio.timeout(10):
        while not (found := house.gate.approvals.pending()):
            await asyncio.sleep(0.005)
    return found[0]


async def clicks(agent: Agent, **args: Any) -> "asyncio.Task[Answer]":
    return asyncio.create_task(agent.ask("click", target="button", **args))


def code(answer: Answer) -> str:
    return answer.data["error"]["code"] if answer.failed else "ok"


async def count(agent: Agent) -> str:
    return (await agent.call("get_page_state"))["title"]


async def test_nothing_happens_before_the_yes(house: House, asking: Agent):
    call = await clicks(asking)
    question = await asked(house)
    assert (question["tool"], question["args"], question["risk"]) == ("click", {"target": "button"}, "medium")
    assert question["urls"][0].startswith("http://")
    assert await count(asking) == ""
    await house.gate.approvals.answer(question["id"], "allow")
    assert code(await call) == "ok"
    assert await count(asking) == "1"


@promise("D13")
async def test_the_log_says_who_approved_and_how(house: House, asking: Agent):
    for scope in ("once", "session"):
        call = await clicks(asking)
        ident = (await asked(house))["id"]
        await house.gate.approvals.answer(ident, "allow", scope)
        assert code(await call) == "ok"
        assert approved(house) == [{"by": "person", "scope": scope, "id": ident}]
    assert code(await (await clicks(asking))) == "ok"
    (grant,) = [one for one in house.gate.approvals.grants() if one["session"] == asking_session(house, asking)]
    assert approved(house) == [{"by": "person", "scope": "session", "id": grant["id"]}]


def asking_session(house: House, agent: Agent) -> str:
    return house.gate.session_ids(agent.caller)[0]


def approved(house: House) -> list[dict[str, str]]:
    """By the newest line of a click."""
    records = [json.loads(line) for line in (house.home / "audit.jsonl").read_text().splitlines()]
    return [one for one in records if one.get("tool") == "click"][-1]["approved"]


async def test_a_no_is_told_and_nothing_happens(house: House, asking: Agent):
    call = await clicks(asking)
    await house.gate.approvals.answer((await asked(house))["id"], "deny")
    answer = await call
    assert code(answer) == "approval_denied"
    assert "a person said no" in answer.text
    assert code(await asking.ask("click", target="button")) == "approval_denied"
    assert await count(asking) == ""


async def test_the_deadline_stands_still(house: House, asking: Agent):
    session = house.sessions.of((asking.caller.key, asking.caller.connection))[0]
    session.options = msgspec.structs.replace(session.options, timeout_ms=1500)
    call = await clicks(asking)
    question = await asked(house)
    await asyncio.sleep(2)  # a person's time
    await house.gate.approvals.answer(question["id"], "allow")
    assert code(await call) == "ok"


async def test_an_approval_ends_with_its_page(house: House, asking: Agent, site: PageServer):
    call = await clicks(asking)
    question = await asked(house)
    await asking.call("navigate", url=site.inline(COUNTER + "another"))
    await house.gate.approvals.answer(question["id"], "allow")
    answer = await call
    assert code(answer) == "stale_ref"
    assert "while a person was asked" in answer.text
    assert await count(asking) == ""


async def test_a_page_replaced_while_the_call_waits_for_its_turn(house: House, asking: Agent, site: PageServer):
    session = house.sessions.of((asking.caller.key, asking.caller.connection))[0]
    tab = session.tabs[0]
    call = await clicks(asking)
    question = await asked(house)
    await tab.turn.acquire()
    await house.gate.approvals.answer(question["id"], "allow")
    async with asyncio.timeout(5):
        while not tab.turn.waiting:
            await asyncio.sleep(0.005)
    before = tab.document.loader_id
    await asyncio.gather(tab.channel.send("Page.reload"))
    async with asyncio.timeout(5):
        while tab.document.loader_id == before:
            await asyncio.sleep(0.005)
    tab.turn.release()
    assert code(await call) == "stale_ref"
    assert await count(asking) == ""


async def test_the_end_of_the_session_denies(house: House, asking: Agent):
    call = await clicks(asking)
    await asked(house)
    await asking.leave()
    assert code(await call) == "approval_denied"
    assert house.gate.approvals.pending() == []


async def test_a_caller_that_leaves_is_denied(house: House, asking: Agent):
    call = await clicks(asking)
    question = await asked(house)
    call.cancel()
    await asyncio.wait([call])
    assert house.gate.approvals.pending() == []
    assert house.gate.approvals.recent()[0]["id"] == question["id"]
    assert await count(asking) == ""


async def test_who_must_not_wait_repeats_the_call(house: House, asking: Agent):
    async def click() -> Answer:
        return await house.gate.call(Call("click", {"target": "button"}, asking.caller, patience_s=0))

    first, second = await click(), await click()
    assert (code(first), code(second)) == ("approval_pending", "approval_pending")
    assert first.status == 202
    ident = first.data["error"]["details"]["approval"]
    assert second.data["error"]["details"]["approval"] == ident
    await house.gate.approvals.answer(ident, "allow")
    assert code(await click()) == "ok"
    assert await count(asking) == "1"
    assert code(await click()) == "approval_pending"
    assert await count(asking) == "1"


async def test_for_this_session_asks_no_more_on_any_page(house: House, asking: Agent, site: PageServer):
    call = await clicks(asking)
    await house.gate.approvals.answer((await asked(house))["id"], "allow", "session")
    await call
    await asking.call("navigate", url=site.inline(COUNTER + "another"))
    assert code(await asking.ask("click", target="button")) == "ok"
    (grant,) = house.gate.approvals.grants()
    await asking.leave()
    assert grant not in house.gate.approvals.grants()


async def test_no_grant_lifts_a_denial(house: House, asking: Agent, monkeypatch: pytest.MonkeyPatch):
    call = await clicks(asking)
    await house.gate.approvals.answer((await asked(house))["id"], "allow", "session")
    await call

    def denies(question: Question) -> Decision:
        said = asks_for_writes(question)
        return msgspec.structs.replace(said, verdict="deny") if said.verdict == "ask" else said

    policy_says(monkeypatch, denies)
    assert code(await asking.ask("click", target="button")) == "denied"
    assert await count(asking) == "1"


async def test_parallel_identical_clicks_are_one_question_and_one_click(house: House, asking: Agent):
    calls = [await clicks(asking), await clicks(asking)]
    first = await asked(house)
    async with asyncio.timeout(5):
        while (await asked(house))["calls"] < 2:
            await asyncio.sleep(0.005)
    await house.gate.approvals.answer(first["id"], "allow")
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await house.gate.approvals.answer((await asked(house))["id"], "deny")
    assert sorted([code(await one) for one in calls]) == ["approval_denied", "ok"]
    assert await count(asking) == "1"


async def test_each_step_of_a_batch_is_asked_about(house: House, asking: Agent):
    steps = [{"tool": "click", "args": {"target": "button"}}]
    with pytest.MonkeyPatch.context() as patch:
        policy_says(patch, lambda question: asks_for_writes(question) if question.tool == "click" else ALLOW)
        call = asyncio.create_task(asking.ask("batch", steps=steps))
        question = await asked(house)
        assert question["tool"] == "click"
        await house.gate.approvals.answer(question["id"], "deny")
        assert "approval_denied" in (await call).text
    assert await count(asking) == ""


async def test_the_log_tells_who_was_asked_and_what_came_of_it(house: House, asking: Agent):
    call = await clicks(asking)
    question = await asked(house)
    await house.gate.approvals.answer(question["id"], "allow")
    await call
    lines = house.gate._audit.tail(20)
    told = [(one.get("kind") or one["event"], one.get("told", {}).get("id", "")) for one in lines]
    asked_at = told.index(("approval_asked", question["id"]))
    allowed_at = told.index(("approval_allowed", question["id"]))
    assert asked_at < allowed_at < len(told) - 2
    assert [one["event"] for one in lines[allowed_at + 1 :]] == ["before", "after"]
