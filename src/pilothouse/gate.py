"""The corridor: every call of every door walks through `Gate.call`, in this order and no other.

    find -> parse -> place -> aim -> decide -> ask -> decide again -> count -> record
         -> run -> look again -> complete -> redact -> record

Above: doors. Below: guard decides, browser acts.
"""

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.aiming import aimed, as_aims, pointing
from pilothouse.browser.aim import Sight
from pilothouse.browser.lifecycle import OwnBrowsers
from pilothouse.browser.locate import HELD
from pilothouse.browser.session import Options, Session
from pilothouse.browser.sessions import OwnSessions, Sessions
from pilothouse.browser.stream import Stream, Wanted
from pilothouse.browser.stuck import excuse
from pilothouse.browser.tab import Tab
from pilothouse.browser.watch import Event
from pilothouse.browser.world import WorldGone
from pilothouse.call import Answer, Call, Caller, Visit
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure
from pilothouse.guard.address import authority, check_url
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.budget import Budget
from pilothouse.guard.domains import read_domains
from pilothouse.guard.patterns import LISTABLE
from pilothouse.guard.pending import bound_to
from pilothouse.guard.policy import Aim, Decision, Policy, Question, denial
from pilothouse.guard.rates import Rates
from pilothouse.guard.redact import redact_text, redact_tree
from pilothouse.metrics import UNKNOWN, Metrics, Sample
from pilothouse.result import Result, clean, clean_tree
from pilothouse.telling import completed, failed
from pilothouse.tool import Access, Registry, Step, Tool

log = logging.getLogger(__name__)

GRACE_S = 0.2  # a tool may end its own wait first, with the better error
PROBE_S = 0.4  # a page that takes longer to say anything is stuck; both together stay below a second


class Gate:
    def __init__(
        self,
        registry: Registry,
        sessions: Sessions,
        policy: Policy,
        approvals: Approvals,
        audit: Audit,
        *,
        timeout_ms: int = 30_000,
        forbidden_ports: set[int] | None = None,
        rates: Rates | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.registry = registry
        self._sessions = sessions
        self._policy = policy
        self.approvals = approvals
        self._audit = audit
        self.timeout_ms = timeout_ms
        self._forbidden_ports = forbidden_ports or set()
        self._rates = rates or Rates()
        self._budget = budget or Budget()
        self.metrics = Metrics()
        self._leaving: set[asyncio.Task[None]] = set()

    async def call(self, call: Call) -> Answer:
        """Always an answer; only a cancelled call raises."""
        visit = Visit(call)
        try:
            answer = await self._walk(visit)
        except Failure as failure:
            self._refused(visit, failure)
            self._hide(visit)
            answer = failed(visit, failure)
        except (ProtocolError, WorldGone) as error:
            answer = failed(visit, _translated(error))
        except asyncio.CancelledError:
            self._note(visit, "cancelled")
            raise
        except Exception:
            log.exception("%s failed", call.tool[:80])
            answer = failed(visit, Failure("system", "Pilothouse failed; its log says why"))
        self._note(visit, answer.data["error"]["code"] if answer.failed else "ok")
        return answer

    async def _walk(self, visit: Visit) -> Answer:
        call = visit.call
        visit.tool = tool = self._found(call)
        args = self._addresses(tool, _parsed(tool, call.args))
        place = await self._placed(visit, args)
        _check_domains(visit, tool, args)
        async with self._turn(visit, args):
            question = await self._permitted(visit, args)
            self._count(visit, question)
            visit.record = await self._audit.before(question, visit.decision)
            seen = visit.session.watch.newest if visit.session else 0
            try:
                result = await self._run(visit, place, args, question)
            except (Failure, ProtocolError, WorldGone):
                await self._look_again(visit, question, seen)  # what went wrong is told in words of the page
                raise
            await self._look_again(visit, question, seen, result)
        self._hide(visit)
        return completed(visit, result)

    # find, parse, place

    def _found(self, call: Call) -> Tool:
        """Every call counts against its key, that of an unknown tool too; a tool made of steps counts its steps."""
        try:
            tool = self.registry.find(call.tool)
        except Failure:
            self._rates.count(call.caller.key)
            raise
        if not tool.runner_name:
            self._rates.count(call.caller.key)
        return tool

    def _addresses(self, tool: Tool, args: msgspec.Struct) -> msgspec.Struct:
        """Addresses in their canonical form; what may never be opened ends here."""
        given = {name: getattr(args, name) for name in tool.url_names}
        checked = {name: check_url(url, self._forbidden_ports, LISTABLE) for name, url in given.items() if url}
        return msgspec.structs.replace(args, **checked) if checked else args

    async def _placed(self, visit: Visit, args: msgspec.Struct) -> Any:
        """Placing may start a browser: it and the run share one deadline. Being asked about is a person's time."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(None) as limit:
                return await self._place(visit, args, limit)
        except TimeoutError:
            raise await self._too_late(visit, self._deadline(visit, args) / 1000) from None
        finally:
            visit.placing_s = time.monotonic() - began

    async def _place(self, visit: Visit, args: msgspec.Struct, limit: asyncio.Timeout) -> Any:
        assert visit.tool
        own = self.own(visit.call.caller)
        if not visit.tool.needs_session:
            return own if visit.tool.scope == "OwnSessions" else OwnBrowsers(self._sessions, own)
        began = asyncio.get_running_loop().time()
        limit.reschedule(began + self._deadline(visit, args) / 1000 + GRACE_S)
        visit.session, visit.is_new = await own.find(getattr(args, "session", ""))
        limit.reschedule(began + self._deadline(visit, args) / 1000 + GRACE_S)  # the session's own, now it is known
        if visit.tool.scope == "Session":
            return visit.session
        visit.tab = await visit.session.tab(getattr(args, "tab", ""), opens=visit.tool.opens)
        return visit.tab

    @contextlib.asynccontextmanager
    async def _turn(self, visit: Visit, args: msgspec.Struct) -> AsyncGenerator[None]:
        """A call that has to wait for others in its tab is judged when its turn has come, on the page as it is then."""
        tab, session = visit.tab, visit.session
        if session:
            session.busy += 1
        try:
            if tab and visit.tool and visit.tool.queued:
                await self._bounded(visit, args, tab.turn.acquire())
                visit.has_turn = True
                try:
                    yield
                finally:
                    if visit.has_turn:
                        tab.turn.release()
            else:
                yield
        finally:
            if session:
                session.busy -= 1
                session.used_at = asyncio.get_running_loop().time()

    # aim, decide, ask, count

    async def _aim(self, visit: Visit, args: msgspec.Struct) -> bool:
        """What it points at, if that matters to the policy; whether anything was found."""
        tab, session = visit.tab, visit.session
        if tab is None or session is None or not self._policy.wants_aims(session.options.browser, session.options.mode):
            return False
        await self._bounded(visit, args, self._look(visit, tab, args))
        return visit.held is not None

    async def _look(self, visit: Visit, tab: Tab, args: msgspec.Struct) -> None:
        assert visit.tool
        if pointing(visit.tool, args) is None:
            return
        if visit.tool.live:
            await tab.ready(self._left_s(visit, args))
        visit.held = await aimed(tab, visit.tool, args)

    async def _bounded(self, visit: Visit, args: msgspec.Struct, work: Awaitable[Any]) -> Any:
        """What comes before the run shares its deadline."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._left_s(visit, args) + GRACE_S):
                return await work
        except TimeoutError:
            raise await self._too_late(visit, self._deadline(visit, args) / 1000) from None
        finally:
            visit.placing_s += time.monotonic() - began

    def _judge_late(self, question: Question, sights: tuple[Sight, ...]) -> None:
        """A field that another one brought to light. Nobody can be asked now: half of the form is filled."""
        decision = self._policy.decide(msgspec.structs.replace(question, aims=as_aims(sights)))
        if decision.verdict != "allow":
            raise Failure(
                "denied" if decision.verdict == "deny" else "approval_denied",
                decision.why
                or f"{decision.rule} does not allow it unasked, and it was not there when the call was judged",
                details={"rule": decision.rule, "risk": decision.risk},
                suggestions=["fill it in a call of its own"],
            )

    def _left_s(self, visit: Visit, args: msgspec.Struct) -> float:
        return max(self._deadline(visit, args) / 1000 - visit.placing_s, 0)

    async def _permitted(self, visit: Visit, args: msgspec.Struct) -> Question:
        """What may happen now. Whoever was asked has said yes to the page of then: it must still be there.

        Nobody looks at what a call points at in a page that may not be read.
        """
        visit.question = question = self._question(visit, args)
        if visit.tool and visit.tool.runner_name:  # it does nothing itself: each step is asked about
            return question
        weighed = self._policy.weigh(question)
        if weighed[-1].verdict != "deny" and await self._aim(visit, args):
            visit.question = question = self._question(visit, args)
            weighed = self._policy.weigh(question)
        visit.decision = weighed[-1]
        if any([await self._asked(visit, question, said) for said in weighed]):
            now = self._question(visit, args)
            if bound_to(now) != bound_to(question):
                raise _replaced("while a person was asked")
            for said in self._policy.weigh(now):
                if said.verdict == "deny":
                    raise denial(said, now.tool)
        if visit.tool and visit.tool.scope == "Tab" and not visit.tool.leaves:
            self._check_frames(visit, question)
        if visit.held:
            visit.held.judge = functools.partial(self._judge_late, question)
        return question

    async def _asked(self, visit: Visit, question: Question, decision: Decision) -> bool:
        """The call's deadline stands still meanwhile, and others may use its tab: what they change is noticed."""
        if decision.verdict == "allow":
            return False
        if decision.verdict == "ask" and self.approvals.is_granted(question, decision):  # a denial no grant can lift
            return False
        began, call = time.monotonic(), visit.call
        has_turn, visit.has_turn = visit.has_turn, False
        if has_turn and visit.tab:
            visit.tab.turn.release()
        try:
            asked = await self.approvals.ask(
                question, decision, progress=call.progress, dialog=call.dialog, patience_s=call.patience_s
            )
        finally:
            visit.asking_s += time.monotonic() - began
        if has_turn and visit.tab:
            await self._take_turn_again(visit, visit.tab)
        return asked

    async def _take_turn_again(self, visit: Visit, tab: Tab) -> None:
        limit_s = (visit.session.options.timeout_ms if visit.session else self.timeout_ms) / 1000
        try:
            await asyncio.wait_for(tab.turn.acquire(), limit_s)
        except TimeoutError:
            raise await self._too_late(visit, limit_s) from None
        visit.has_turn = True

    def _question(self, visit: Visit, args: msgspec.Struct) -> Question:
        assert visit.tool
        session, tab, given = visit.session, visit.tab, _given(args)
        aims = as_aims(visit.held.sights) if visit.held else ()
        return Question(
            caller=visit.call.caller.key,
            session=session.id if session else "",
            tool=visit.tool.name,
            access=_access(visit.tool, given),
            args=given,
            browser=session.options.browser if session else "isolated",
            mode=session.options.mode if session else "auto",
            urls=_urls(visit.tool, tab, args, aims),
            tab=tab.name if tab else "",
            document=tab.document.loader_id if tab else "",
            aims=aims,
        )

    def _check_frames(self, visit: Visit, question: Question) -> None:
        assert visit.tab
        urls = [frame.url for frame in visit.tab.frames if frame.url]
        if said := self._policy.refused_frame(question.browser, question.mode, urls):
            raise denial(said, f"{question.tool}: a frame of the page is of another place")

    def _count(self, visit: Visit, question: Question) -> None:
        """A tool made of steps counts its steps."""
        if visit.session and visit.tool and not visit.tool.runner_name:
            hourly = self._policy.hourly(question.urls)
            budget = self._policy.rules.step_budget
            self._budget.count(question.caller, visit.session.id, step_budget=budget, hourly=hourly)

    def _decide_again(self, visit: Visit, tab: Tab, question: Question, args: msgspec.Struct) -> None:
        """Its turn has come, and the page may have become another one while the call waited for it."""
        assert visit.tool
        if (tab.document.loader_id, _urls(visit.tool, tab, args, question.aims)) == (question.document, question.urls):
            return
        now = self._question(visit, args)
        for said in self._policy.weigh(now):
            if said.verdict == "deny":
                raise denial(said, question.tool)
            if said.verdict == "ask" and not self.approvals.is_granted(now, said):
                raise _replaced("while the call waited for its turn")

    # look again

    async def _look_again(self, visit: Visit, question: Question, seen: int, result: Result[Any] | None = None) -> None:
        """Nothing is told of a page that may not be read: the one that is there now, or one that came by meanwhile."""
        session = visit.session
        tab = visit.tab or (_tab_told_of(session, result) if session else None)
        if session is None or tab is None or tab.closed:
            return
        came = [one.text for one in session.watch.recent(seen) if one.kind == "navigation" and one.tab == tab.name]
        try:
            for url in dict.fromkeys((*came, tab.url)):
                said = self._policy.decide_document(question.browser, question.mode, url)
                if said.verdict == "deny":
                    raise _withheld(said, question.tool)
                asked = msgspec.structs.replace(question, access=Access.VISIT, urls=(url,), aims=())
                await self._asked(visit, asked, said)
            if visit.tab and visit.tool and not visit.tool.leaves:
                self._check_frames(visit, question)
        except Failure:
            tab.title = ""
            raise

    def _hide(self, visit: Visit) -> None:
        """Titles and events are told besides: not those of pages that may not be read."""
        if (session := visit.session) is None:
            return
        refused = [tab for tab in session.tabs if self._policy.forbids(session.options.browser, tab.url)]
        for tab in refused:
            tab.title = ""
        visit.hidden = frozenset(tab.name for tab in refused)

    # run

    async def _run(self, visit: Visit, place: Any, args: msgspec.Struct, question: Question) -> Result[Any]:
        tool, tab = visit.tool, visit.tab
        assert tool
        timeout_s = self._deadline(visit, args) / 1000
        left_s = max(timeout_s - visit.placing_s, 0)
        if visit.placing_s > GRACE_S / 2:
            args = _shortened(args, tool, left_s)
        try:
            # A tool made of steps has no deadline of its own: each step has one.
            async with asyncio.timeout(None if tool.runner_name else left_s + GRACE_S):
                if tab is None:
                    self._hide(visit)
                    return await self._handle(visit, place, args)
                return await self._on_page(visit, tab, args, left_s, question)
        except TimeoutError:
            raise await self._too_late(visit, timeout_s) from None
        except Failure as failure:
            if failure.code == "timeout" and tab and (why := await excuse(tab, PROBE_S)):
                failure.message += f"; {why}"
            raise

    async def _on_page(
        self, visit: Visit, tab: Tab, args: msgspec.Struct, timeout_s: float, question: Question
    ) -> Result[Any]:
        assert visit.tool
        if visit.tool.live:
            await tab.ready(timeout_s)
        else:
            tab.check_open()
        self._decide_again(visit, tab, question, args)
        return await self._handle(visit, tab, args)

    async def _handle(self, visit: Visit, place: Any, args: msgspec.Struct) -> Result[Any]:
        tool = visit.tool
        assert tool
        extra: dict[str, Any] = {}
        if tool.progress_name:
            extra[tool.progress_name] = visit.call.progress or _no_progress
        if tool.runner_name:
            extra[tool.runner_name] = self._runner(visit)
        token = HELD.set(visit.held)
        try:
            return await tool.handler(place, **_given_to(tool, args), **extra)
        finally:
            HELD.reset(token)

    def _runner(self, visit: Visit) -> Callable[[str, dict[str, Any]], Any]:
        async def run(name: str, args: dict[str, Any]) -> Step:
            assert visit.session
            if self.registry.find(name).needs_session:
                args = {"session": visit.session.id, **args}
            step = Call(name, args, visit.call.caller, visit.call.progress, visit.call.dialog, visit.call.patience_s)
            answer = await self.call(step)
            return Step(answer.text, answer.data, answer.failed)

        return run

    def _deadline(self, visit: Visit, args: msgspec.Struct) -> int:
        """What the call or its tool says (some tools declare a default, which is then the one), else the session."""
        asked = getattr(args, "timeout_ms", None) if _times_itself(visit.tool) else None
        return _meant_ms(args) + (asked or (visit.session.options.timeout_ms if visit.session else self.timeout_ms))

    async def _too_late(self, visit: Visit, timeout_s: float) -> Failure:
        if visit.session and (absence := visit.session.absence):
            return absence
        what = f"{visit.call.tool} did not end within {timeout_s:g} s"
        if visit.tab and (why := await excuse(visit.tab, PROBE_S)):
            what += f"; {why}"
        looking = "look at the page (get_page_state), then decide"
        hint = looking if visit.session else "try again: the browser may still be starting"
        return Failure("timeout", what, suggestions=[hint])

    def _refused(self, visit: Visit, failure: Failure) -> None:
        """What a rule, a person or a limit kept from happening stands in the log too."""
        if visit.record:
            return
        if failure.category == "security" or failure.code == "unknown_tool":
            question = visit.question or _early_question(visit)
            self._audit.refused(question, outcome=failure.code, why=failure.message, decision=visit.decision)
        elif failure.code == "over_limit":
            self._audit.limited(visit.call.caller.key, failure.message)

    def _note(self, visit: Visit, outcome: str) -> None:
        tool, took_ms = visit.tool.name if visit.tool else UNKNOWN, visit.elapsed_ms
        self.metrics.called(tool, outcome, took_ms / 1000)
        log.debug("%s by %s: %s, %.1f ms, record %d", tool, visit.call.caller.door, outcome, took_ms, visit.record)
        if visit.record:
            self._audit.after(visit.record, outcome=outcome, duration_ms=took_ms)

    # what doors ask besides calls

    def own(self, caller: Caller) -> OwnSessions:
        defaults = Options(
            browser=caller.defaults.browser,
            profile=caller.defaults.profile,
            headless=not caller.defaults.headed,
            timeout_ms=self.timeout_ms,
        )
        return OwnSessions(self._sessions, (caller.key, caller.connection), defaults)

    def session_ids(self, caller: Caller) -> list[str]:
        return [session.id for session in self.own(caller).all()]

    def session_id(self, caller: Caller, name: str) -> str:
        """The handle of a session that may be called by another name too."""
        return self.own(caller).get(name).id

    def folder(self, caller: Caller, session: str) -> Path:
        """Where a session keeps its files."""
        return self.own(caller).get(session).folder

    def events(self, caller: Caller, session: str) -> list[Event]:
        found = self.own(caller).get(session)
        return [_tidied(event) for event in found.watch.recent() if not self._withholds(found, event.tab)]

    def follow(self, listener: Callable[[str, str, Event], None]) -> Callable[[], None]:
        """Events as they happen, with the key and connection of the session's owner."""

        def tell(session: Session, event: Event) -> None:
            if not self._withholds(session, event.tab):
                listener(*session.owner, _tidied(event))

        return self._sessions.follow(tell)

    def watch(self, caller: Caller, session: str, wanted: Wanted) -> Stream:
        """A session followed live: its console, network and events, as clean as all that leaves."""
        found = self.own(caller).get(session)

        def tidy(line: dict[str, Any]) -> dict[str, Any]:
            return {} if self._withholds(found, line.get("tab", "")) else redact_tree(clean_tree(line))

        return found.follow(wanted, tidy)

    def _withholds(self, session: Session, tab: str) -> bool:
        """Whether a tab is at a page that may not be read."""
        return any(one.name == tab and session.forbids(one.url) for one in session.tabs)

    async def samples(self) -> list[Sample]:
        """What the rooms below know, in numbers."""
        seen = await self._sessions.census()
        each = [
            Sample(name, getattr(one, field), told, (("browser", one.name),), kind)
            for name, field, told, kind in _OF_A_BROWSER
            for one in seen.browsers
        ]
        return [
            Sample("sessions", seen.sessions, "Open sessions."),
            Sample("tabs", seen.tabs, "Open tabs."),
            Sample("calls_waiting", seen.waiting, "Calls that wait for their turn in a tab."),
            Sample("calls_refused_total", self._rates.refused, "Calls above the rate of their key.", kind="counter"),
            Sample("browsers", len(seen.browsers), "Running browsers."),
            *each,
        ]

    def leave(self, connection: str) -> "asyncio.Task[None]":
        """A connection is gone: its sessions end."""
        task = asyncio.create_task(self._sessions.close_connection(connection))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return task

    async def close(self) -> None:
        self.approvals.close()
        for task in self._leaving:
            task.cancel()
        await self._sessions.shut()
        self._audit.close()


_OF_A_BROWSER = [
    ("browser_memory_bytes", "memory_bytes", "Memory of a browser with all its processes.", "gauge"),
    ("browser_cpu_seconds", "cpu_s", "CPU time of a browser's living processes.", "gauge"),
    ("browser_processes", "processes", "Processes of a browser.", "gauge"),
]


def _tidied(event: Event) -> Event:
    return msgspec.structs.replace(event, text=redact_text(clean(event.text)))


def _parsed(tool: Tool, args: dict[str, Any]) -> msgspec.Struct:
    try:
        return tool.parse(args)
    except UnicodeEncodeError:
        raise Failure("bad_request", f"{tool.name}: a name among the arguments is no Unicode text") from None


def _early_question(visit: Visit) -> Question:
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


def _check_domains(visit: Visit, tool: Tool, args: msgspec.Struct) -> None:
    """The network would refuse it too; here it is told before anything happens."""
    allowed = visit.session.options.allowed_domains if visit.session else ()
    for name in tool.url_names if allowed else ():
        url = getattr(args, name)
        if url and url != "about:blank" and (why := read_domains(allowed).refusal(*authority(url))):
            raise Failure("denied", why, details={"rule": "allowed_domains", "allowed": list(allowed)})


def _access(tool: Tool, given: dict[str, Any]) -> Access:
    return Access.SENSITIVE if tool.sensitive & given.keys() else tool.access


def _urls(tool: Tool, tab: Tab | None, args: msgspec.Struct, aims: tuple[Aim, ...] = ()) -> tuple[str, ...]:
    """The live document, the frames that are worked in, and the addresses among the arguments.

    Who leaves a page needs no leave of that page.
    """
    there = [tab.url, tab.frame.url if tab.frame else ""] if tab and not tool.leaves else []
    given = [getattr(args, name) for name in tool.url_names]
    return tuple(dict.fromkeys(url for url in (*there, *given, *(aim.url for aim in aims)) if url))


def _tab_told_of(session: Session, result: Result[Any] | None) -> Tab | None:
    """Some tools of a session answer about one tab of it."""
    name = getattr(result.data, "tab", "") if result else ""
    return next((tab for tab in session.tabs if tab.name == name), None)


def _withheld(decision: Decision, tool: str) -> Failure:
    failure = denial(decision, f"{tool} was run, and the page that is there now may not be read")
    failure.details["ran"] = True
    return failure


def _replaced(when: str) -> Failure:
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


def _given_to(tool: Tool, args: msgspec.Struct) -> dict[str, Any]:
    """What the handler takes; `session` and `tab` have found their place already."""
    return {name: getattr(args, name) for name in args.__struct_fields__ if name in tool.takes}


def _times_itself(tool: Tool | None) -> bool:
    """What open_session calls `timeout_ms` is an option of the session that it opens."""
    return tool is not None and tool.needs_session


def _meant_ms(args: msgspec.Struct) -> int:
    """A wait that was asked for in so many words is no lateness."""
    return int(getattr(args, "time_ms", 0) + getattr(args, "seconds", 0) * 1000)


def _shortened(args: msgspec.Struct, tool: Tool, left_s: float) -> msgspec.Struct:
    """A tool that ends its own wait must know what placing has left of it, or its better error comes too late."""
    if not _times_itself(tool) or not getattr(args, "timeout_ms", None):
        return args
    return msgspec.structs.replace(args, timeout_ms=max(int(left_s * 1000), 1))


async def _no_progress(done: float, total: float | None, message: str) -> None:
    return None


def _translated(error: Exception) -> Failure:
    """The browser refused a command. Most often the page was replaced under it."""
    if isinstance(error, WorldGone):
        return _replaced("during the call")
    return Failure("page_error", f"the browser refused: {error}")
