"""Asking a person before something happens.

Above: the gate, with a decision of the policy; the person's doors, with answers. Below: pending (one question), grants,
policy, errors. Nothing is kept in a file: with the daemon, every question and every permission ends. No yes is
effective before it is written in the log.
"""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.guard.grants import Grant, Grants
from pilothouse.guard.pending import RISKS, Key, Pending, Scope, Waiter, bound_to, same_act, same_call, same_domain
from pilothouse.guard.policy import Approved, Decision, Question, Risk, denial
from pilothouse.tool import Dialog

TIMEOUT_S = 60.0
REPEAT_S = 300.0  # so long what a person denied is denied again without asking
UNANSWERED_S = 60.0  # so long what nobody answered is: they may be back by then
MAX_PENDING_PER_KEY = 16
MAX_PENDING = 128
MAX_DENIALS = 5_000
RECENT = 50
log = logging.getLogger(__name__)

Shown = dict[str, Any]
Listener = Callable[[Shown], None]


class Record(Protocol):
    """What this needs of the audit log."""

    def note(self, kind: str, **fields: Any) -> None: ...

    async def decree(self, kind: str, **fields: Any) -> int: ...


class Denied(NamedTuple):
    """What is kept of a no, so that nobody is asked the same again."""

    caller: str
    session: str
    id: str
    tool: str
    rule: str
    risk: Risk
    why: str
    until: float = 0.0


class Approvals:
    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        client_answers: str = "never",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.adjust(timeout_s=timeout_s, client_answers=client_answers)
        self._clock = clock
        self._record: Record | None = None
        self._open: dict[Key, Pending] = {}
        self._by_id: dict[str, Pending] = {}
        self._grants = Grants()
        self._tickets: dict[tuple[str, str, str], tuple[float, Pending]] = {}  # said yes to, and nobody waited for it
        self._denials: dict[Key, Denied] = {}
        self._recent: deque[Pending] = deque(maxlen=RECENT)
        self._listeners: set[Listener] = set()
        self._timer: asyncio.TimerHandle | None = None

    def adjust(self, *, timeout_s: float, client_answers: str) -> None:
        """What may change while the daemon runs; open questions keep their time."""
        self._timeout_s = timeout_s
        self._client_answers = client_answers

    def record_in(self, record: Record) -> None:
        self._record = record

    # Asked by the gate

    async def ask(
        self,
        question: Question,
        decision: Decision,
        *,
        dialog: Dialog | None = None,
        patience_s: float | None = None,
        approved: Callable[[Approved], None] = lambda yes: None,
    ) -> bool:
        """False: the call may go on. True: a person was asked and said yes to it; the page may be another by now.

        `approved` hears whose yes it is. Otherwise `denied` or `approval_denied`; or, after `patience_s`,
        `approval_pending`: the same call, made again, finds the answer.
        """
        if decision.verdict == "allow":
            return False
        if decision.verdict == "deny":
            raise denial(decision, question.tool)
        if yes := self._covering(question, decision):
            approved(yes)
            return False
        while True:
            self._refuse_repeat(question, decision)
            pending = self._opened(question, decision)
            told = await self._heard(pending, bound_to(question), dialog, patience_s)
            if told == "deny":
                raise _denied(_no_to(pending))
            if yes := _yes_of(pending) if told == "allow" else self._covering(question, decision):
                approved(yes)
                return True

    def granted(self, question: Question, decision: Decision) -> Approved | None:
        """What a person has allowed for longer than one call."""
        grant = self._grants.covering(question, decision)
        return Approved(grant.by, grant.scope, grant.id) if grant else None

    def is_granted(self, question: Question, decision: Decision) -> bool:
        return self.granted(question, decision) is not None

    def _covering(self, question: Question, decision: Decision) -> Approved | None:
        if yes := self.granted(question, decision):
            return yes
        self.sweep()
        ticket = self._tickets.pop(_ticket(bound_to(question), decision), None)
        return _yes_of(ticket[1]) if ticket else None

    def give_back(self, yes: list[Approved]) -> None:
        """The call has to come again for another answer: what it was allowed once is not used up."""
        once = {one.id for one in yes if one.scope == "once"}
        for pending in [one for one in self._recent if one.id in once]:
            self._keep_for_later(pending)

    def _keep_for_later(self, pending: Pending) -> None:
        """Somebody said yes, and the call has not been done."""
        self._tickets[_ticket(pending.bound, pending.decision)] = (self._clock() + self._timeout_s, pending)

    def _refuse_repeat(self, question: Question, decision: Decision) -> None:
        denial = self._denials.get(same_act(question, decision))
        if denial and denial.until > self._clock():
            raise _denied(denial, again_in_s=denial.until - self._clock())

    def _opened(self, question: Question, decision: Decision) -> Pending:
        """The open question that this one is part of, or a new one."""
        key = _merged(question, decision)
        found = self._open.get(key)
        if found and (decision.once_for or (found.bound == bound_to(question) and _is_same(found.decision, decision))):
            return found
        if found:
            self._end(found, "withdrawn", why="the page is another by now", told="deny")
        self._refuse_crowd(question.caller)
        pending = Pending(self._new_id(), question, decision, now=self._clock(), timeout_s=self._timeout_s)
        self._note("approval_asked", pending)
        self._open[key] = self._by_id[pending.id] = pending
        self._tell({"kind": "pending", "approval": pending.shown(self._clock())})
        self._arm()
        return pending

    def _refuse_crowd(self, caller: str) -> None:
        own = sum(one.question.caller == caller for one in self._open.values())
        if own >= MAX_PENDING_PER_KEY or len(self._open) >= MAX_PENDING:
            raise Failure(
                "over_limit",
                f"{own} questions of this key wait for a person already",
                suggestions=["wait until the user has answered them"],
            )

    def _new_id(self) -> str:
        while (ident := f"a{secrets.token_hex(3)}") in self._by_id:
            pass
        return ident

    async def _heard(self, pending: Pending, bound: str, dialog: Dialog | None, patience_s: float | None) -> str:
        waiter = Waiter(bound)
        pending.waiters.append(waiter)
        conversation: asyncio.Task[None] | None = None
        if dialog and self.client_may(pending.decision.risk):
            patience_s = None  # its user is looking at the question
            conversation = asyncio.create_task(self._converse(pending, dialog))
        try:
            with doing(lambda: self._told_of(pending), is_persons=True):
                async with asyncio.timeout(patience_s):
                    return await waiter.told
        except TimeoutError:
            pending.is_kept = pending.is_kept or bound == pending.bound
            raise self._waits(pending) from None
        finally:
            if conversation:
                conversation.cancel()
            pending.waiters.remove(waiter)
            self._left(pending)

    def _left(self, pending: Pending) -> None:
        """A call stopped waiting. A question whose own call is gone is no longer one; others ask theirs anew."""
        if pending.outcome or pending.is_kept or any(one.bound == pending.bound for one in pending.waiters):
            return
        self._end(pending, "withdrawn", why="nobody waits for it any more")

    def _told_of(self, pending: Pending) -> str:
        left_s = max(pending.ends_at - self._clock(), 0)
        return f"waiting for approval of {pending.question.tool} ({pending.id}), {left_s:.0f} s left"

    async def _converse(self, pending: Pending, dialog: Dialog) -> None:
        try:
            said = await dialog(pending.shown(self._clock()))
            await self.client_answer(pending.id, said, pending.question.caller)
        except Exception as error:  # a client that breaks leaves the question to the others who can answer
            log.debug("the client's dialog: %s", type(error).__name__)

    def _waits(self, pending: Pending) -> Failure:
        left_s = max(pending.ends_at - self._clock(), 0)
        return Failure(
            "approval_pending",
            f"{pending.question.tool} waits for a person's approval ({pending.decision.rule})",
            details={
                "approval": pending.id,
                "rule": pending.decision.rule,
                "risk": pending.decision.risk,
                "why": pending.shown(self._clock())["why"],
                "expires_in_s": round(left_s, 1),
                "retry_after_s": 2,
                "client_may_answer": self.client_may(pending.decision.risk),
            },
            suggestions=[
                "tell the user that Pilothouse waits for their answer: `pilothouse approvals`, or the dashboard",
                "then repeat exactly this call",
            ],
        )

    # Asked and answered by people

    def pending(self) -> list[Shown]:
        self.sweep()
        return [one.shown(self._clock()) for one in self._open.values()]

    def find(self, ident: str) -> Shown | None:
        """An open question."""
        return self._by_id[ident].shown(self._clock()) if ident in self._by_id else None

    def question(self, ident: str) -> Question | None:
        """What an open question asks, for those who look at its page."""
        return self._by_id[ident].question if ident in self._by_id else None

    def is_asked(self, bound: str) -> bool:
        """Whether a question that an answer would be bound to by that is open."""
        return any(one.bound == bound for one in self._open.values())

    def recent(self) -> list[Shown]:
        """The last ones that ended, newest first."""
        return [one.shown(self._clock()) for one in reversed(self._recent)]

    async def answer(self, ident: str, verdict: str, scope: str = "", *, by: str = "person") -> Shown:
        """The first answer wins. `scope` is one of those the question names; empty is its usual one."""
        pending = self._answerable(ident)
        if verdict == "deny":
            self._end(pending, "denied", by=by, why="a person said no")
            return pending.shown(self._clock())
        if verdict != "allow":
            raise Failure("bad_request", "an answer is allow or deny")
        reach = _reach(pending, scope)
        await self._decreed(pending, reach, by)
        self._allow(pending, reach, by)
        return pending.shown(self._clock())

    def _answerable(self, ident: str) -> Pending:
        self.sweep()
        found = self._by_id.get(ident)
        if found is not None and not found.is_claimed:
            return found
        ended = found or next((one for one in self._recent if one.id == ident), None)
        if ended is None:
            raise Failure("not_found", "there is no such question", suggestions=["`pilothouse approvals` lists them"])
        raise Failure("not_found", f"it is over: {ended.outcome or 'answered'} {ended.by and f'by {ended.by}'}".strip())

    async def _decreed(self, pending: Pending, scope: Scope, by: str) -> None:
        """A yes that is not in the log is none. While it is being written, nobody else answers, and time stands."""
        pending.is_claimed = True
        try:
            if self._record:
                await self._record.decree("approval_allowed", **_facts(pending), scope=scope, by=by)
        finally:
            pending.is_claimed = False
        if pending.outcome:
            raise Failure("not_found", f"it is over: {pending.why}")

    def _allow(self, pending: Pending, scope: Scope, by: str) -> None:
        if scope != "once":
            grant = self._grants.add(pending, scope, by)
            self._tell({"kind": "granted", "id": grant.id, "grant": grant.shown()})
        first = next((one for one in pending.waiters if one.bound == pending.bound), None) if scope == "once" else None
        self._end(pending, "allowed", scope=scope, by=by, first=first)
        if scope == "once" and first is None:
            self._keep_for_later(pending)

    def client_may(self, risk: Risk) -> bool:
        """Whether an answer counts that came through an agent's own client, which whoever has its key could forge."""
        most = self._client_answers
        return most != "never" and RISKS.index(risk) <= RISKS.index("low" if most == "low" else "medium")

    async def client_answer(self, ident: str, said: str, caller: str) -> bool:
        """An answer through the client that asked. True if it counted; if not, the log says that it was tried."""
        pending = self._by_id.get(ident)
        if pending and pending.question.caller == caller and self.client_may(pending.decision.risk):
            if said in ("allow", "deny"):
                await self.answer(ident, said, by=f"client of {caller}")
            return said in ("allow", "deny")
        if self._record:
            risk = pending.decision.risk if pending else "unknown"
            self._record.note("answer_ignored", id=ident[:40], said=said[:20], caller=caller, risk=risk)
        return False

    def grants(self) -> list[Shown]:
        return self._grants.shown()

    def denied(self) -> list[Shown]:
        """What is denied without being asked about, and for how long."""
        self.sweep()
        told = [{**one._asdict(), "left_s": round(one.until - self._clock(), 1)} for one in self._denials.values()]
        return [{name: value for name, value in one.items() if name != "until"} for one in told]

    def lift(self, ident: str) -> Shown:
        """Let what was denied be asked about again at once."""
        found = [key for key, one in self._denials.items() if one.id == ident]
        if not found:
            hint = "pilothouse approvals lists what is denied without asking"
            raise Failure("not_found", "nothing is denied by that name", suggestions=[hint])
        for key in found:
            no = self._denials.pop(key)
            if self._record:
                self._record.note("denial_lifted", id=no.id, caller=no.caller, session=no.session, tool=no.tool)
        return {"id": ident}

    def revoke(self, ident: str) -> Shown:
        grant = self._grants.revoke(ident)
        if self._record:
            self._record.note("grant_revoked", id=grant.id, session=grant.session, scope=grant.scope)
        self._tell({"kind": "revoked", "id": grant.id, "grant": grant.shown()})
        return {"id": grant.id}

    def follow(self, listener: Listener) -> Callable[[], None]:
        """Hear of every question, answer and grant as it comes; the result ends it."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    # How questions end

    def sweep(self) -> None:
        """Silence denies; what was said holds for its time."""
        now = self._clock()
        for pending in [one for one in self._open.values() if one.ends_at <= now and not one.is_claimed]:
            self._end(pending, "expired", why="nobody answered in time")
        self._tickets = {key: one for key, one in self._tickets.items() if one[0] > now}
        self._denials = {key: one for key, one in self._denials.items() if one.until > now}

    def session_closed(self, session: str) -> None:
        self._drop(lambda one: one.session == session, "its session was closed")

    def key_revoked(self, caller: str) -> None:
        self._drop(lambda one: one.caller == caller, "its key was revoked")

    def _drop(self, ends: Callable[[Question | Grant | Denied], bool], why: str) -> None:
        for pending in [one for one in self._open.values() if ends(one.question)]:
            self._end(pending, "withdrawn", why=why, told="deny")
        for grant in self._grants.end(ends):
            # Only by its name: its session ends too, and pages that stay are not to be judged anew for that.
            self._tell({"kind": "revoked", "id": grant.id})
        self._tickets = {key: one for key, one in self._tickets.items() if not ends(one[1].question)}
        self._denials = {key: one for key, one in self._denials.items() if not ends(one)}

    def close(self) -> None:
        for pending in tuple(self._open.values()):
            self._end(pending, "withdrawn", why="Pilothouse is ending", told="deny")
        if self._timer:
            self._timer.cancel()

    def _end(
        self,
        pending: Pending,
        outcome: str,
        *,
        scope: str = "",
        by: str = "",
        why: str = "",
        first: Waiter | None = None,
        told: str = "",
    ) -> None:
        """`first` is the one call that a single yes is for."""
        pending.outcome, pending.scope, pending.by, pending.why = outcome, scope, by, why
        del self._by_id[pending.id], self._open[_merged(pending.question, pending.decision)]
        self._recent.append(pending)
        if outcome in ("denied", "expired"):
            self._remember_denial(pending)
        told = told or {"denied": "deny", "expired": "deny", "withdrawn": "again"}.get(outcome, "allow")
        for waiter in pending.waiters:
            waiter.tell("again" if outcome == "allowed" and scope == "once" and waiter is not first else told)
        if outcome != "allowed":
            self._note(f"approval_{outcome}", pending)
        self._tell({"kind": "answered" if by else outcome, "approval": pending.shown(self._clock())})
        pending.forget()

    def _remember_denial(self, pending: Pending) -> None:
        if len(self._denials) >= MAX_DENIALS:
            del self._denials[next(iter(self._denials))]
        for_s = REPEAT_S if pending.outcome == "denied" else UNANSWERED_S
        no = _no_to(pending)._replace(until=self._clock() + for_s)
        self._denials[same_act(pending.question, pending.decision)] = no

    def _arm(self) -> None:
        """One timer, for the question that ends next."""
        if self._timer:
            self._timer.cancel()
        if self._open:
            left_s = min(one.ends_at for one in self._open.values()) - self._clock()
            self._timer = asyncio.get_running_loop().call_later(max(left_s, 0.001), self._on_time)

    def _on_time(self) -> None:
        self.sweep()
        self._arm()

    def _note(self, kind: str, pending: Pending) -> None:
        if self._record:
            by = {"by": pending.by} if pending.by else {}
            self._record.note(kind, **_facts(pending), **by)

    def _tell(self, event: Shown) -> None:
        for listener in tuple(self._listeners):
            listener(event)


def _reach(pending: Pending, scope: str) -> Scope:
    for one in pending.scopes:
        if not scope or one == scope:
            return one
    hint = f"this one can be allowed for: {', '.join(pending.scopes)}"
    raise Failure("bad_request", f"it cannot be allowed for {scope[:20]!r}", suggestions=[hint])


def _merged(question: Question, decision: Decision) -> Key:
    return same_domain(question, decision) if decision.once_for else same_call(question)


def _is_same(one: Decision, other: Decision) -> bool:
    """A yes to one rule and risk is none to another."""
    return (one.rule, one.risk) == (other.rule, other.risk)


def _ticket(bound: str, decision: Decision) -> tuple[str, str, str]:
    return bound, decision.rule, decision.risk


def _facts(pending: Pending) -> dict[str, Any]:
    """For the log: what was asked; the arguments are in the digest, and in the line of the call itself."""
    question, decision = pending.question, pending.decision
    return {
        "id": pending.id,
        "caller": question.caller,
        "session": question.session,
        "tool": question.tool,
        "rule": decision.rule,
        "risk": decision.risk,
        "domain": pending.domain,
        "bound": pending.bound[:16],
    }


def _yes_of(pending: Pending) -> Approved:
    return Approved(pending.by, pending.scope, pending.id)


def _no_to(pending: Pending) -> Denied:
    question, decision = pending.question, pending.decision
    why = pending.why or "a person said no"
    return Denied(question.caller, question.session, pending.id, question.tool, decision.rule, decision.risk, why)


def _denied(no: Denied, again_in_s: float = 0) -> Failure:
    """Why, and never by which door: the caller has no use for it."""
    again = f"; the same is not asked again for {again_in_s:.0f} s" if again_in_s else ""
    return Failure(
        "approval_denied",
        f"{no.tool} was not approved: {no.why}{again}",
        details={"approval": no.id, "rule": no.rule, "risk": no.risk},
        suggestions=["do not repeat it; ask the user how to go on"],
    )
