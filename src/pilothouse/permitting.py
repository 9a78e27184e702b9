"""What may happen: what a call points at, what the policy says of it, who is asked, and what may be told afterwards.

    aim -> decide -> ask -> decide again … run … -> look again

Above: the gate. Below: guard decides and asks, aiming and browser look, timing bounds it.
"""

import asyncio
import functools
import time
from collections.abc import Coroutine
from typing import Any

import msgspec

from pilothouse.aiming import aimed, as_aims
from pilothouse.browser.aim import Sight
from pilothouse.browser.tab import Tab
from pilothouse.call import Visit
from pilothouse.errors import Failure
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.pending import bound_to
from pilothouse.guard.policy import Aim, Decision, Policy, Question, denial
from pilothouse.pausing import until_free
from pilothouse.result import Result
from pilothouse.timing import Timing
from pilothouse.tool import Access, Tool


class Permits:
    def __init__(self, policy: Policy, approvals: Approvals, timing: Timing) -> None:
        self._policy = policy
        self.approvals = approvals
        self._timing = timing
        # The calls that a person is asked about now, by what an answer is bound to; and those that did not wait for it.
        self._asking: dict[str, list[Visit]] = {}
        self._left: dict[str, Visit] = {}
        approvals.follow(lambda event: self._forget_answered())

    # aim, decide

    async def permitted(self, visit: Visit, args: msgspec.Struct) -> Question:
        """What may happen now. Whoever was asked has said yes to the page of then: it must still be there.

        Nobody looks at what a call points at in a page that may not be read.
        """
        visit.question = question = self._question(visit, args)
        if visit.tool and visit.tool.runner_name:  # it does nothing itself: each step is asked about
            return question
        weighed = self._policy.weigh(question)
        if weighed[-1].verdict != "deny":
            await self._aim(visit, args, at_once=weighed[-1].verdict == "allow")
            if (now := self._question(visit, args)) != question:  # by what it points at, or a page that came meanwhile
                visit.question = question = now
                weighed = self._policy.weigh(question)
        visit.decision = weighed[-1]
        granted = [one for one in weighed if one.verdict == "ask" and self.approvals.is_granted(question, one)]
        was_asked = any([await self._asked(visit, question, said) for said in weighed])
        was_held = await until_free(visit)  # the wheel may have been taken since: a yes is none to go between
        if was_asked or was_held:
            now = self._question(visit, args)
            if bound_to(now) != bound_to(question):
                raise replaced("while a person had the wheel" if was_held else "while a person was asked")
            for said in self._policy.weigh(now):
                if said.verdict == "deny":
                    raise denial(said, now.tool)
            if not all(self.approvals.is_granted(now, one) for one in granted):
                raise Failure("approval_denied", f"{now.tool}: what a person had allowed was taken back meanwhile")
        if visit.tool and visit.tool.scope == "Tab" and not visit.tool.leaves:
            assert visit.tab
            self._check_frames(visit.tab, question)
        if visit.held:
            visit.held.judge = functools.partial(self._judge_late, question)
        return question

    async def touch(self, visit: Visit, place: Any, args: msgspec.Struct) -> None:
        """What a tool of a session touches beside pages: addresses as they are, domains by rules that guard them."""
        tool, session = visit.tool, visit.session
        if tool is None or tool.places is None or session is None:
            return
        options = session.options
        told: list[str] = await self._timing.bounded(visit, args, tool.places(place, args))
        urls = [[one] if "://" in one else self._policy.guarded(options.browser, options.mode, one) for one in told]
        visit.touches = tuple(dict.fromkeys(url for some in urls for url in some))

    async def _aim(self, visit: Visit, args: msgspec.Struct, *, at_once: bool) -> None:
        """What it points at, if that matters to the policy."""
        tab, session = visit.tab, visit.session
        if tab and session and self._policy.wants_aims(session.options.browser, session.options.mode):
            await self._timing.bounded(visit, args, self._look(visit, tab, args, at_once=at_once))

    async def _look(self, visit: Visit, tab: Tab, args: msgspec.Struct, *, at_once: bool) -> None:
        assert visit.tool
        if visit.pointing is None:
            return
        if visit.tool.live:
            await tab.ready(self._timing.left_s(visit, args))
        visit.held = await aimed(tab, visit.tool, visit.pointing, at_once=at_once)

    def _question(self, visit: Visit, args: msgspec.Struct) -> Question:
        assert visit.tool
        session, tab, given = visit.session, visit.tab, _given(args)
        aims = as_aims(visit.held.sights) if visit.held else ()
        return Question(
            caller=visit.call.caller.key,
            session=session.id if session else "",
            tool=visit.tool.name,
            access=_access(visit, args, given),
            args=given,
            browser=session.options.browser if session else "isolated",
            mode=session.options.mode if session else "auto",
            urls=(*_urls(visit.tool, tab, args, aims), *visit.touches),
            is_wide=visit.tool.places is not None,
            tab=tab.name if tab else "",
            document=tab.document.loader_id if tab else "",
            aims=aims,
            presses=not visit.pointing or visit.pointing.presses,
        )

    def _check_frames(self, tab: Tab, question: Question) -> None:
        urls = [frame.url for frame in tab.frames if frame.url]
        if said := self._policy.refused_frame(question.browser, question.mode, urls):
            raise denial(said, f"{question.tool}: a frame of the page is of another place")

    def _judge_late(self, question: Question, sights: tuple[Sight, ...]) -> None:
        """A field that another one brought to light. Nobody can be asked now: half of the form is filled."""
        question = msgspec.structs.replace(question, aims=as_aims(sights))
        for decision in self._policy.weigh(question):
            granted = decision.verdict == "ask" and self.approvals.is_granted(question, decision)
            if decision.verdict == "allow" or granted:
                continue
            raise Failure(
                "denied" if decision.verdict == "deny" else "approval_denied",
                decision.why
                or f"{decision.rule} does not allow it unasked, and it was not there when the call was judged",
                details={"rule": decision.rule, "risk": decision.risk},
                suggestions=["do it in a call of its own"],
            )

    # ask

    async def _asked(self, visit: Visit, question: Question, decision: Decision) -> bool:
        """The call's deadline stands still meanwhile, and others may use its tab: what they change is noticed."""
        if decision.verdict == "allow":
            return False
        if decision.verdict == "ask" and (yes := self.approvals.granted(question, decision)):  # it lifts no denial
            visit.approved.append(yes)
            return False
        began, call = time.monotonic(), visit.call
        has_turn, visit.has_turn = visit.has_turn, False
        if has_turn and visit.tab:
            visit.tab.turn.release()
        self._asking.setdefault(bound := bound_to(question), []).append(visit)
        try:
            asking = self.approvals.ask(
                question,
                decision,
                dialog=call.dialog,
                patience_s=call.patience_s,
                approved=visit.approved.append,
            )
            asked = await (_while_open(visit.tab, asking) if visit.tab else asking)
        except Failure as failure:
            if failure.code == "approval_pending":
                self._left[bound] = visit
                self.approvals.give_back(visit.approved)
            raise
        finally:
            self._asking[bound].remove(visit)
            if not self._asking[bound]:
                del self._asking[bound]
            visit.asking_s += time.monotonic() - began
        if has_turn and visit.tab:
            await self._take_turn_again(visit, visit.tab)
        return asked

    def asked_about(self, question: Question) -> Visit | None:
        """The call that an open question is about, also when it did not wait for the answer."""
        bound = bound_to(question)
        return self._asking[bound][-1] if bound in self._asking else self._left.get(bound)

    def _forget_answered(self) -> None:
        self._left = {bound: visit for bound, visit in self._left.items() if self.approvals.is_asked(bound)}

    async def _take_turn_again(self, visit: Visit, tab: Tab) -> None:
        limit_s = (visit.session.options.timeout_ms if visit.session else self._timing.timeout_ms) / 1000
        try:
            await asyncio.wait_for(tab.turn.take(visit.tool.name if visit.tool else visit.call.tool), limit_s)
        except TimeoutError:
            raise await self._timing.too_late(visit, limit_s) from None
        visit.has_turn = True

    # decide again, look again

    def decide_again(self, visit: Visit, tab: Tab, question: Question, args: msgspec.Struct) -> None:
        """Its turn has come, and the page may have become another one while the call waited for it."""
        assert visit.tool
        if (tab.document.loader_id, _urls(visit.tool, tab, args, question.aims)) == (question.document, question.urls):
            return
        now = self._question(visit, args)
        for said in self._policy.weigh(now):
            if said.verdict == "deny":
                raise denial(said, question.tool)
            if said.verdict == "ask" and not self.approvals.is_granted(now, said):
                raise replaced("while the call waited for its turn")

    async def look_again(self, visit: Visit, question: Question, seen: int, result: Result[Any] | None = None) -> None:
        """Nothing is told of a page that may not be read: the one that is there now, or one that came by meanwhile."""
        session, tab = visit.session, visit.tab_of(result)
        if session is None or tab is None or tab.closed:
            return
        was_read = bool(result and getattr(result.data, "snapshot", ""))
        came = [one.text for one in session.watch.recent(seen) if one.kind == "navigation" and one.tab == tab.name]
        if was_read and visit.tab is None:  # nobody has judged yet what was there before
            came = [visit.stood.get(tab.name, tab.url), *came]
        try:
            for url in dict.fromkeys((*came, tab.url)):
                said = self._policy.decide_document(question.browser, question.mode, url)
                if said.verdict == "deny":
                    raise _withheld(said, question.tool)
                asked = msgspec.structs.replace(question, access=Access.VISIT, urls=(url,), aims=())
                await self._asked(visit, asked, said)
            if was_read or (visit.tab and visit.tool and not visit.tool.leaves):
                self._check_frames(tab, question)
        except Failure:
            tab.title = ""
            tab.seen.begin(None)  # what is withheld was not seen: the next look shows it whole
            raise
        if was_read and result and session.pause.taken:
            result.data.snapshot, result.page = "", ""
            result.text += " (a person has the wheel: the page beside it is not shown)"

    def hide(self, visit: Visit) -> None:
        """Titles and events are told besides: not those of pages that may not be read."""
        if (session := visit.session) is None:
            return
        refused = [tab for tab in session.tabs if self._policy.forbids(session.options.browser, tab.url)]
        for tab in refused:
            tab.title = ""
        visit.hidden = frozenset(tab.name for tab in refused)


async def _while_open(tab: Tab, asking: Coroutine[Any, Any, bool]) -> bool:
    """A question ends with the tab that it is about."""
    answer, gone = asyncio.ensure_future(asking), asyncio.ensure_future(tab.signal.until(lambda: tab.closed))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            tab.check_open()
        return await answer
    finally:
        answer.cancel()
        gone.cancel()


def _access(visit: Visit, args: msgspec.Struct, given: dict[str, Any]) -> Access:
    tool, session = visit.tool, visit.session
    assert tool
    grave = tool.grave is not None and session is not None and tool.grave(session, args)
    return Access.SENSITIVE if grave or tool.sensitive & given.keys() else tool.access


def _urls(tool: Tool, tab: Tab | None, args: msgspec.Struct, aims: tuple[Aim, ...] = ()) -> tuple[str, ...]:
    """The live document, the frames that are worked in, and the addresses among the arguments.

    Who leaves a page needs no leave of that page.
    """
    there: list[str] = []
    if tab and not tool.leaves:
        there = [tab.url, *tab.frames.addresses(tab.frames.main)[1:]]
        there += tab.frames.addresses(tab.frame) if tab.frame else []
    given = [getattr(args, name) for name in tool.url_names]
    return tuple(dict.fromkeys(url for url in (*there, *given, *(aim.url for aim in aims)) if url))


def _withheld(decision: Decision, tool: str) -> Failure:
    failure = denial(decision, f"{tool} was run, and the page that is there now may not be read")
    failure.details["ran"] = True
    return failure


def replaced(when: str) -> Failure:
    return Failure(
        "stale_ref",
        f"the page was replaced {when}",
        suggestions=["take a new snapshot and repeat the step"],
        retryable=True,
    )


def _given(args: msgspec.Struct) -> dict[str, Any]:
    """The arguments that differ from their defaults, as plain data, for the policy and the log."""
    defaults = dict(zip(args.__struct_fields__[::-1], args.__struct_defaults__[::-1], strict=False))
    given = {name: getattr(args, name) for name in args.__struct_fields__}
    return msgspec.to_builtins({name: value for name, value in given.items() if value != defaults.get(name, object())})


def early_question(visit: Visit) -> Question:
    """What is refused before anything was asked has no more than a name and addresses."""
    tool, given = visit.tool, visit.call.args
    urls = [given.get(name) for name in (tool.url_names if tool else ())]
    return Question(
        caller=visit.call.caller.key,
        session=visit.session.id if visit.session else "",
        tool=tool.name if tool else visit.call.tool[:80],
        access=tool.access if tool else Access.READ,
        args={},
        urls=tuple(url for url in urls if isinstance(url, str)),
    )
