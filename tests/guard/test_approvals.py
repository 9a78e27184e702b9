"""The rules of asking a person: to what an answer is bound, who may give it, how long it holds, when silence denies."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from pilothouse.doing import HEARD, Doing
from pilothouse.errors import Failure
from pilothouse.guard import approvals as room
from pilothouse.guard.approvals import MAX_PENDING_PER_KEY, REPEAT_S, TIMEOUT_S, UNANSWERED_S, Approvals, Approved
from pilothouse.guard.pending import Pending
from pilothouse.guard.policy import Aim, Decision, Policy, Question
from pilothouse.guard.question import CHANGES
from pilothouse.guard.rules import read_rules
from pilothouse.tool import Access
from tests.promises import promise

pytestmark = promise("D07", "D08", "D10")

QUESTION = Question(
    caller="default",
    session="s1",
    tool="click",
    access=Access.WRITE,
    args={"target": "e1"},
    urls=("https://shop.test/cart",),
    tab="t1",
    document="L1",
    aims=(Aim(role="button", name="Buy"),),
)
ASK = Decision(verdict="ask", rule="rule 1", risk="medium")
HIGH = Decision(verdict="ask", rule="rule 1", risk="high")
NEW_DOMAIN = Decision(verdict="ask", rule="mode ask", risk="low", once_for="shop.test")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Recorded:
    """The log, in memory; `broken` cannot be written."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.broken = False
        self.gate: asyncio.Event | None = None

    def note(self, kind: str, **fields: Any) -> None:
        self.lines.append((kind, fields))

    async def decree(self, kind: str, **fields: Any) -> int:
        if self.gate:
            await self.gate.wait()
        if self.broken:
            raise Failure("system", "the log cannot be written")
        self.note(kind, **fields)
        return len(self.lines)

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.lines]


def other(question: Question = QUESTION, **changed: Any) -> Question:
    return msgspec.structs.replace(question, **changed)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
async def approvals(clock: Clock, recorded: Recorded) -> AsyncIterator[Approvals]:
    made = Approvals(clock=clock)
    made.record_in(recorded)
    yield made
    made.close()


async def asked(approvals: Approvals, *questions: Question, decision: Decision = ASK, **more: Any) -> list[Any]:
    """Calls that wait, each as a task, all of them heard."""
    tasks = [asyncio.ensure_future(approvals.ask(one, decision, **more)) for one in questions]
    await asyncio.sleep(0)
    return tasks


def only(approvals: Approvals) -> dict[str, Any]:
    (one,) = approvals.pending()
    return one


async def denied(task: Any, what: str = "not approved") -> Failure:
    with pytest.raises(Failure, match=what) as caught:
        await task
    assert caught.value.code == "approval_denied"
    return caught.value


async def pending_error(approvals: Approvals, question: Question = QUESTION, decision: Decision = ASK) -> Failure:
    with pytest.raises(Failure) as caught:
        await approvals.ask(question, decision, patience_s=0)
    assert caught.value.code == "approval_pending"
    return caught.value


async def test_what_is_allowed_asks_nobody(approvals: Approvals):
    assert not await approvals.ask(QUESTION, Decision(verdict="allow", rule="any"))
    assert approvals.pending() == []


async def test_a_yes_lets_it_go_on_and_is_used_up(approvals: Approvals, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow")
    assert await call is True
    assert recorded.kinds == ["approval_asked", "approval_allowed"]
    (again,) = await asked(approvals, QUESTION)
    assert len(approvals.pending()) == 1
    again.cancel()


async def test_a_no_denies_at_once_and_for_five_minutes(approvals: Approvals, clock: Clock, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "deny")
    await denied(call, "a person said no")
    await denied(approvals.ask(QUESTION, ASK), "not asked again for 300 s")
    await denied(approvals.ask(other(document="L2"), ASK))  # the page was loaded again
    clock.now += REPEAT_S - 1
    await denied(approvals.ask(QUESTION, ASK))
    assert approvals.pending() == []
    clock.now += 1
    (call,) = await asked(approvals, QUESTION)
    assert only(approvals)
    call.cancel()
    assert recorded.kinds.count("approval_denied") == 1


async def test_another_act_after_a_denial_is_asked_about(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "deny")
    await denied(call)
    for question in (other(tool="type_text"), other(aims=(Aim(role="link", name="Help"),)), other(session="s2")):
        (call,) = await asked(approvals, question)
        assert len(approvals.pending()) == 1
        call.cancel()
        await asyncio.wait([call])


async def test_silence_denies(approvals: Approvals, clock: Clock):
    (call,) = await asked(approvals, QUESTION)
    clock.now += TIMEOUT_S - 0.1
    assert only(approvals)["expires_in_s"] == 0.1
    clock.now += 0.1
    approvals.sweep()
    await denied(call, "nobody answered")
    with pytest.raises(Failure, match="expired"):
        await approvals.answer(approvals.recent()[0]["id"], "allow")


async def test_silence_denies_by_itself():
    made = Approvals(timeout_s=0.02)
    async with asyncio.timeout(5):
        await denied(made.ask(QUESTION, ASK), "nobody answered")


async def test_the_first_answer_wins(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    ident = only(approvals)["id"]
    await approvals.answer(ident, "deny", by="cli")
    with pytest.raises(Failure, match="denied by cli"):
        await approvals.answer(ident, "allow", by="panel")
    await denied(call)


async def test_two_answers_at_the_same_moment(approvals: Approvals, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    ident = only(approvals)["id"]
    recorded.gate = asyncio.Event()
    first = asyncio.ensure_future(approvals.answer(ident, "allow", by="cli"))
    await asyncio.sleep(0)
    with pytest.raises(Failure, match="over"):
        await approvals.answer(ident, "deny", by="panel")
    recorded.gate.set()
    await first
    assert await call is True


async def test_a_yes_that_cannot_be_recorded_is_none(approvals: Approvals, recorded: Recorded, clock: Clock):
    (call,) = await asked(approvals, QUESTION)
    recorded.broken = True
    with pytest.raises(Failure, match="log"):
        await approvals.answer(only(approvals)["id"], "allow", "session")
    assert not call.done()
    assert approvals.grants() == []
    await approvals.answer(only(approvals)["id"], "deny")
    await denied(call)


@pytest.mark.parametrize(
    "changed",
    [
        {"session": "s2"},
        {"caller": "other"},
        {"tool": "type_text"},
        {"args": {"target": "e2"}},
        {"args": {"target": "e1", "count": 2}},
        {"tab": "t2"},
        {"document": "L2"},
        {"urls": ("https://evil.test/cart",)},
        {"urls": ("http://shop.test/cart",)},
        {"aims": (Aim(role="button", name="Buy ten"),)},
        {"aims": (Aim(role="button", name="Buy", leads_to="https://evil.test/"),)},
        {"browser": "extension"},
    ],
)
async def test_a_yes_is_bound_to_what_was_shown(approvals: Approvals, changed: dict[str, Any]):
    ident = (await pending_error(approvals)).details["approval"]
    await approvals.answer(ident, "allow")
    other_id = (await pending_error(approvals, other(**changed))).details["approval"]
    assert other_id != ident
    assert not await approvals.ask(QUESTION, ASK)


async def test_a_yes_to_one_risk_is_none_to_a_higher(approvals: Approvals):
    ident = (await pending_error(approvals)).details["approval"]
    await approvals.answer(ident, "allow")
    assert (await pending_error(approvals, decision=HIGH)).details["approval"] != ident


async def test_who_must_not_wait_comes_again(approvals: Approvals):
    told = await pending_error(approvals)
    ident = told.details["approval"]
    assert told.details["rule"] == "rule 1"
    assert (await pending_error(approvals)).details["approval"] == ident
    assert len(approvals.pending()) == 1
    await approvals.answer(ident, "allow")
    assert not await approvals.ask(QUESTION, ASK)
    assert (await pending_error(approvals)).details["approval"] != ident


async def test_a_yes_nobody_fetches_ends(approvals: Approvals, clock: Clock):
    ident = (await pending_error(approvals)).details["approval"]
    await approvals.answer(ident, "allow")
    clock.now += TIMEOUT_S
    assert (await pending_error(approvals)).details["approval"] != ident


async def test_who_comes_again_too_late_was_denied(approvals: Approvals, clock: Clock):
    await pending_error(approvals)
    clock.now += TIMEOUT_S + 1
    await denied(approvals.ask(QUESTION, ASK, patience_s=0), "nobody answered")


async def test_coming_again_does_not_renew_the_time(approvals: Approvals, clock: Clock):
    await pending_error(approvals)
    clock.now += TIMEOUT_S - 1
    assert (await pending_error(approvals)).details["expires_in_s"] == 1


async def test_identical_calls_ask_one_question_and_one_yes_is_for_one(approvals: Approvals):
    calls = await asked(approvals, QUESTION, QUESTION, QUESTION)
    first = only(approvals)
    assert first["calls"] == 3
    await approvals.answer(first["id"], "allow")
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    assert [call.done() for call in calls] == [True, False, False]
    second = only(approvals)
    assert second["id"] != first["id"]
    await approvals.answer(second["id"], "deny")
    await denied(calls[1])
    await denied(calls[2])


async def test_a_new_page_takes_the_place_of_the_old_question(approvals: Approvals):
    (old,) = await asked(approvals, QUESTION)
    (new,) = await asked(approvals, other(document="L2"))
    await denied(old, "another")
    await approvals.answer(only(approvals)["id"], "allow")
    assert await new


async def test_parallel_calls_to_a_new_domain_ask_once(approvals: Approvals):
    visit = other(tool="navigate", access=Access.VISIT, args={"url": "https://shop.test/"})
    calls = await asked(approvals, visit, QUESTION, other(tool="get_text", access=Access.READ), decision=NEW_DOMAIN)
    shown = only(approvals)
    assert (shown["domain"], shown["scopes"][0]) == ("shop.test", "domain")
    await approvals.answer(shown["id"], "allow")
    assert await asyncio.gather(*calls) == [True, True, True]
    (grant,) = approvals.grants()
    assert (grant["scope"], grant["domain"], grant["session"]) == ("domain", "shop.test", "s1")
    assert not await approvals.ask(other(args={"target": "e9"}, document="L7"), NEW_DOMAIN)


async def test_a_denied_domain_is_denied_to_every_call(approvals: Approvals):
    calls = await asked(approvals, QUESTION, other(args={"target": "e2"}), decision=NEW_DOMAIN)
    await approvals.answer(only(approvals)["id"], "deny")
    for call in calls:
        await denied(call)
    await denied(approvals.ask(other(tool="navigate"), NEW_DOMAIN))


async def test_what_is_asked_once_for_a_domain_is_answered_for_it(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION, decision=NEW_DOMAIN)
    for scope in ("once", "session"):
        with pytest.raises(Failure) as caught:
            await approvals.answer(only(approvals)["id"], "allow", scope)
        assert caught.value.code == "bad_request"
    call.cancel()


async def test_of_changes_on_a_domain_one_can_be_allowed_alone(approvals: Approvals):
    changes = msgspec.structs.replace(NEW_DOMAIN, once_for=f"shop.test{CHANGES}")
    (call,) = await asked(approvals, QUESTION, decision=changes)
    assert only(approvals)["scopes"] == ["domain", "once"]
    await approvals.answer(only(approvals)["id"], "allow", "once")
    assert await call
    assert approvals.grants() == []
    (again,) = await asked(approvals, QUESTION, decision=changes)
    assert only(approvals)
    again.cancel()


async def test_silence_is_a_no_for_a_minute_and_can_be_lifted(approvals: Approvals, clock: Clock, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    ident = only(approvals)["id"]
    clock.now += TIMEOUT_S
    approvals.sweep()
    await denied(call, "nobody answered in time")
    await denied(approvals.ask(QUESTION, ASK), "not asked again for 60 s")
    assert [(one["id"], one["left_s"]) for one in approvals.denied()] == [(ident, UNANSWERED_S)]
    approvals.lift(ident)
    assert (approvals.denied(), recorded.kinds[-1]) == ([], "denial_lifted")
    with pytest.raises(Failure):
        approvals.lift(ident)
    (call,) = await asked(approvals, QUESTION)
    assert only(approvals)
    call.cancel()


async def test_a_question_is_not_answered_for_a_call_that_was_not_shown(approvals: Approvals):
    calls = await asked(approvals, QUESTION, other(args={"target": "e2"}), decision=NEW_DOMAIN)
    first = only(approvals)["id"]
    calls[0].cancel()
    await asyncio.wait([calls[0]])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert only(approvals)["args"] == {"target": "e2"}
    with pytest.raises(Failure):
        await approvals.answer(first, "allow")
    calls[1].cancel()


async def test_for_this_session_is_the_tool_and_the_rule_up_to_the_risk(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "session")
    assert await call
    assert not await approvals.ask(other(args={"target": "e5"}, urls=("https://else.test/",)), ASK)
    for question, decision in [
        (other(tool="type_text"), ASK),
        (other(session="s2"), ASK),
        (other(caller="other"), ASK),
        (QUESTION, HIGH),
        (QUESTION, Decision(verdict="ask", rule="rule 2", risk="low")),
    ]:
        await pending_error(approvals, question, decision)


async def test_for_this_domain_is_what_is_on_it_and_no_more(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "domain")
    assert await call
    assert not await approvals.ask(other(tool="type_text"), ASK)
    for question in (
        other(access=Access.SENSITIVE),
        other(urls=("https://else.test/",)),
        other(urls=("https://shop.test/", "https://else.test/")),
        other(urls=()),
        other(session="s2"),
    ):
        await pending_error(approvals, question)


async def test_high_risk_is_approved_call_by_call(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION, decision=HIGH)
    shown = only(approvals)
    assert shown["scopes"] == ["once"]
    for scope in ("session", "domain", "for ever"):
        with pytest.raises(Failure) as caught:
            await approvals.answer(shown["id"], "allow", scope)
        assert caught.value.code == "bad_request"
    assert not call.done()
    call.cancel()


def said(rules: str, question: Question) -> Decision:
    return Policy(read_rules(rules)).weigh(question)[0]


async def test_one_answer_for_a_domain_covers_every_button_there(approvals: Approvals):
    careful = 'template = "careful"\n[[rules]]\nhost = "shop.test"\n'
    next_one, save = (other(args={"target": name}, aims=(Aim(role="button", name=name),)) for name in ("Next", "Save"))
    first, second = said(careful, next_one), said(careful, save)
    assert (first.risk, second.risk, first.once_for) == ("none", "low", second.once_for)
    calls = [*await asked(approvals, next_one, decision=first), *await asked(approvals, save, decision=second)]
    await approvals.answer(only(approvals)["id"], "allow")
    assert await asyncio.gather(*calls) == [True, True]
    assert not await approvals.ask(save, second)
    await pending_error(approvals, save, msgspec.structs.replace(second, risk="medium"))


async def test_a_tool_for_the_session_opens_no_new_domain(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "session")
    await call
    assert not await approvals.ask(other(document="L2"), ASK)
    await pending_error(approvals, other(document="L2"), msgspec.structs.replace(ASK, once_for="evil.test"))


async def test_a_domain_is_one_port(approvals: Approvals):
    here, there = (other(urls=(f"http://localhost:{port}/",)) for port in (3000, 9999))
    (call,) = await asked(approvals, here)
    assert only(approvals)["domain"] == "localhost:3000"
    await approvals.answer(only(approvals)["id"], "allow", "domain")
    await call
    assert not await approvals.ask(other(here, urls=("about:blank", "http://localhost:3000/x")), ASK)
    await pending_error(approvals, there)
    await pending_error(approvals, other(here, urls=(*here.urls, "file:///etc/passwd")))


async def test_grants_are_revoked(approvals: Approvals, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "session")
    await call
    (grant,) = approvals.grants()
    approvals.revoke(grant["id"])
    assert approvals.grants() == []
    await pending_error(approvals)
    with pytest.raises(Failure, match="no such grant"):
        approvals.revoke(grant["id"])
    assert "grant_revoked" in recorded.kinds


async def test_everything_ends_with_the_session(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "session")
    await call
    ticket = await pending_error(approvals, other(tool="type_text"))
    await approvals.answer(ticket.details["approval"], "allow")
    (waiting,) = await asked(approvals, other(tool="press_key"))
    kept = await pending_error(approvals, other(tool="drag"))
    (grant,), told = approvals.grants(), list[dict[str, Any]]()
    approvals.follow(told.append)
    approvals.session_closed("s1")
    assert {"kind": "revoked", "id": grant["id"]} in told
    await denied(waiting, "session was closed")
    assert (approvals.grants(), approvals.pending()) == ([], [])
    with pytest.raises(Failure):
        await approvals.answer(kept.details["approval"], "allow")
    await pending_error(approvals, other(tool="type_text"))


async def test_everything_ends_with_the_key(approvals: Approvals):
    placeless = other(session="", tool="create_profile")
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "session")
    await call
    ticket = await pending_error(approvals, placeless)
    await approvals.answer(ticket.details["approval"], "allow")
    (waiting,) = await asked(approvals, other(tool="press_key"))
    approvals.key_revoked("another")
    assert (len(approvals.grants()), len(approvals.pending())) == (1, 1)
    (grant,), told = approvals.grants(), list[dict[str, Any]]()
    approvals.follow(told.append)
    approvals.key_revoked("default")
    assert {"kind": "revoked", "id": grant["id"]} in told
    await denied(waiting, "key was revoked")
    assert (approvals.grants(), approvals.pending()) == ([], [])
    await pending_error(approvals, placeless)


async def test_who_leaves_is_denied(approvals: Approvals, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    ident = only(approvals)["id"]
    call.cancel()
    await asyncio.wait([call])
    assert approvals.pending() == []
    with pytest.raises(Failure, match="withdrawn"):
        await approvals.answer(ident, "allow")
    assert recorded.kinds == ["approval_asked", "approval_withdrawn"]


async def test_who_leaves_while_the_yes_is_written_down_gets_nothing(approvals: Approvals, recorded: Recorded):
    (call,) = await asked(approvals, QUESTION)
    recorded.gate = asyncio.Event()
    answer = asyncio.ensure_future(approvals.answer(only(approvals)["id"], "allow"))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])
    recorded.gate.set()
    with pytest.raises(Failure, match="over"):
        await answer
    await pending_error(approvals)


async def test_the_end_of_the_daemon_denies(approvals: Approvals):
    (call,) = await asked(approvals, QUESTION)
    approvals.close()
    await denied(call, "ending")


async def test_a_key_cannot_ask_without_end(approvals: Approvals):
    for number in range(MAX_PENDING_PER_KEY):
        await pending_error(approvals, other(args={"target": f"e{number}"}))
    with pytest.raises(Failure) as caught:
        await approvals.ask(other(args={"target": "one more"}), ASK, patience_s=0)
    assert caught.value.code == "over_limit"
    await pending_error(approvals, other(caller="other"))


async def test_nor_can_all_keys_together(approvals: Approvals, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "MAX_PENDING", 3)
    for number in range(3):
        await pending_error(approvals, other(caller=f"key{number}"))
    with pytest.raises(Failure) as caught:
        await approvals.ask(QUESTION, ASK, patience_s=0)
    assert caught.value.code == "over_limit"


async def test_who_hears_of_the_call_is_told_that_it_waits_for_a_person(approvals: Approvals):
    told: list[str] = []
    heard = Doing(on_person=lambda: told.append(heard.words))
    token = HEARD.set(heard)
    try:
        (call,) = await asked(approvals, QUESTION)
    finally:
        HEARD.reset(token)
    ident = approvals.pending()[0]["id"]
    assert told == [f"waiting for approval of click ({ident}), 60 s left"]
    call.cancel()


async def test_what_a_person_is_shown_is_redacted_and_clean(approvals: Approvals):
    page = Aim(
        role="button", name="Buy\x1b[2Jnow\u202e", kind="submit", leads_to="https://shop.test/?token=abcdefghijkl"
    )
    typed = other(tool="type_text", args={"target": "#p", "text": "hunter2"}, aims=(Aim(kind="password"),))
    calls = await asked(approvals, other(aims=(page,)), typed)
    first, second = approvals.pending()
    assert first["aims"][0]["name"] == "Buynow"
    assert "abcdefghijkl" not in first["aims"][0]["leads_to"]
    assert second["args"] == {"target": "#p", "text": "(7 characters)"}
    for call in calls:
        call.cancel()


def big(**args: Any) -> Pending:
    return Pending("a1", other(args=args), ASK, now=0, timeout_s=60)


@pytest.mark.alone
async def test_much_is_shown_quickly_and_not_kept(approvals: Approvals):
    many = ["password=hunter2"] * 200_000
    for args in ({"text": "Zm9v" * 1_000_000}, {"files": [{"data": "Zm9v" * 1_000_000}]}, {"args": many}):
        pending = big(**args)
        began = time.process_time()
        shown = pending.shown(0)
        assert time.process_time() - began < 0.5
        assert len(json.dumps(shown)) < 10_000
        assert "hunter2" not in json.dumps(shown)
    (call,) = await asked(approvals, other(args={"text": "x" * 100_000}))
    await approvals.answer(only(approvals)["id"], "deny")
    await denied(call)
    assert approvals._recent[-1].question.args == {}
    assert approvals.recent()[0]["args"]["text"].startswith("xxx")


def test_a_secret_that_is_cut_is_redacted_first():
    token = f"ghp_{'a1B2' * 9}"
    assert token[:20] not in json.dumps(big(text="x" * 1990 + f" {token}").shown(0))


def test_a_script_is_shown_as_it_runs():
    """Line breaks that only script knows are seen, a long one is shown whole, and what is cut is counted."""
    shown = big(expression="// looks\rsteal()", function="x" * 20_000, text="y" * 9_000).shown(0)["args"]
    assert shown["expression"] == "// looks\nsteal()"
    assert shown["function"] == "x" * 20_000
    assert shown["text"] == "y" * 2_000 + "… (7,000 more characters, not shown)"
    steps = [{"tool": "evaluate_js", "args": {"expression": "z" * 20_000}}]
    assert big(steps=steps).shown(0)["args"]["steps"] == steps


def test_which_secret_would_be_typed_is_shown():
    password = (Aim(kind="password"),)
    fields = [{"target": "#u", "value": "ada"}, {"target": "#p", "value": "secret:pw"}]
    for args, seen in (
        ({"target": "#p", "text": "secret:pw"}, {"target": "#p", "text": "secret:pw"}),
        ({"fields": fields}, {"fields": [{"target": "#u", "value": "(3 characters)"}, fields[1]]}),
        ({"values": ["secret:pw", "hunter2"]}, {"values": ["secret:pw", "(7 characters)"]}),
    ):
        question = other(args=args, aims=password)
        assert Pending("a1", question, ASK, now=0, timeout_s=60).shown(0)["args"] == seen


async def test_listeners_hear_of_everything(approvals: Approvals, clock: Clock):
    heard: list[str] = []
    unfollow = approvals.follow(lambda event: heard.append(event["kind"]))
    (call,) = await asked(approvals, QUESTION)
    await approvals.answer(only(approvals)["id"], "allow", "session")
    await call
    approvals.revoke(approvals.grants()[0]["id"])
    await pending_error(approvals)
    clock.now += TIMEOUT_S
    approvals.sweep()
    unfollow()
    await pending_error(approvals, other(session="s2"))
    assert heard == ["pending", "granted", "answered", "revoked", "pending", "expired"]


# Answers through the agent's own client, which whoever has the agent's key could forge


def saying(answer: str) -> Any:
    async def dialog(shown: dict[str, Any]) -> str:
        return answer

    return dialog


async def test_a_clients_answer_counts_never_by_default(approvals: Approvals, recorded: Recorded):
    low = Decision(verdict="ask", rule="rule 1", risk="none")
    (call,) = await asked(approvals, QUESTION, decision=low, dialog=saying("allow"))
    ident = only(approvals)["id"]
    assert not await approvals.client_answer(ident, "allow", "default")
    assert not call.done()
    assert recorded.kinds[-1] == "answer_ignored"
    call.cancel()


@pytest.mark.parametrize(
    ("most", "risk", "counts"),
    [
        ("never", "none", False),
        ("low", "none", True),
        ("low", "low", True),
        ("low", "medium", False),
        ("medium", "low", True),
        ("medium", "medium", True),
        ("medium", "high", False),
    ],
)
async def test_a_clients_answer_counts_up_to_the_configured_risk(
    approvals: Approvals, most: str, risk: Any, counts: bool
):
    approvals.adjust(timeout_s=60, client_answers=most)
    decision = Decision(verdict="ask", rule="rule 1", risk=risk)
    told = await pending_error(approvals, decision=decision)
    assert told.details["client_may_answer"] is counts
    assert await approvals.client_answer(told.details["approval"], "allow", "default") is counts
    assert approvals.grants() == []
    if counts:
        assert not await approvals.ask(QUESTION, decision)
    else:
        await pending_error(approvals, decision=decision)


async def test_a_client_answers_only_its_own_questions(approvals: Approvals, recorded: Recorded):
    approvals.adjust(timeout_s=60, client_answers="medium")
    told = await pending_error(approvals)
    assert not await approvals.client_answer(told.details["approval"], "allow", "other")
    assert not await approvals.client_answer("a000000", "allow", "default")
    assert not await approvals.client_answer(told.details["approval"], "", "default")
    assert recorded.kinds.count("answer_ignored") == 2
    await pending_error(approvals)


@pytest.mark.parametrize(("said", "outcome"), [("allow", "allowed"), ("deny", "denied")])
async def test_a_dialog_is_one_more_way_to_answer(approvals: Approvals, said: str, outcome: str):
    approvals.adjust(timeout_s=60, client_answers="medium")
    (call,) = await asked(approvals, QUESTION, dialog=saying(said))
    if said == "allow":
        assert await call
    else:
        await denied(call)
    assert approvals.recent()[0]["outcome"] == outcome
    assert approvals.recent()[0]["by"] == "client of default"


async def test_a_client_allows_a_new_domain_for_the_session(approvals: Approvals):
    """A question for a domain knows no "once"."""
    approvals.adjust(timeout_s=60, client_answers="medium")
    (call,) = await asked(approvals, QUESTION, decision=NEW_DOMAIN, dialog=saying("allow"))
    assert await call is True
    assert [one["scope"] for one in approvals.grants()] == ["domain"]
    there = msgspec.structs.replace(NEW_DOMAIN, once_for="other.test")
    told = await pending_error(approvals, decision=there)
    assert await approvals.client_answer(told.details["approval"], "allow", "default")
    assert not await approvals.ask(QUESTION, there)


async def test_a_dialog_that_breaks_or_is_closed_leaves_the_question_open(approvals: Approvals):
    approvals.adjust(timeout_s=60, client_answers="medium")

    async def broken(shown: dict[str, Any]) -> str:
        raise RuntimeError

    for dialog in (broken, saying(""), saying("whatever")):
        (call,) = await asked(approvals, QUESTION, dialog=dialog)
        await asyncio.sleep(0.01)
        await approvals.answer(only(approvals)["id"], "allow")
        assert await call


async def test_another_answer_closes_the_dialog(approvals: Approvals):
    approvals.adjust(timeout_s=60, client_answers="medium")
    closed, opened = asyncio.Event(), asyncio.Event()

    async def dialog(shown: dict[str, Any]) -> str:
        opened.set()
        try:
            await asyncio.sleep(60)
        finally:
            closed.set()
        return "allow"

    (call,) = await asked(approvals, QUESTION, dialog=dialog)
    await opened.wait()
    await approvals.answer(only(approvals)["id"], "deny")
    await denied(call)
    await asyncio.wait_for(closed.wait(), 5)


async def test_a_call_that_two_rules_ask_about_runs_after_two_answers(approvals: Approvals):
    """Its caller does not wait: it comes again after each answer, and what was said before is still said."""
    rules = [ASK, msgspec.structs.replace(ASK, rule="another rule")]

    async def tried() -> str:
        allowed: list[Approved] = []
        try:
            for rule in rules:
                await approvals.ask(QUESTION, rule, patience_s=0.0, approved=allowed.append)
        except Failure:
            approvals.give_back(allowed)
            return only(approvals)["rule"]
        return "done"

    for rule in rules:
        assert await tried() == rule.rule
        await approvals.answer(only(approvals)["id"], "allow", "once")
    assert await tried() == "done"
    assert await tried() == ASK.rule, "it was once"
