"""The corridor: every call of every door walks through `Gate.call`, in this order and no other.

    find -> parse -> place -> aim -> decide -> ask -> decide again -> count -> record
         -> run -> look again -> complete -> redact -> record

Above: doors. Below: permitting has guard decide (aim to decide again, and look again), telling completes and redacts,
timing bounds it all, browser acts.
"""

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.aiming import pointing, spelled
from pilothouse.browser.again import AGAIN
from pilothouse.browser.aim import glance
from pilothouse.browser.lifecycle import OwnBrowsers
from pilothouse.browser.locate import HELD
from pilothouse.browser.session import Options, Session
from pilothouse.browser.sessions import OwnSessions, Sessions
from pilothouse.browser.stream import Stream, Wanted
from pilothouse.browser.stuck import excuse, knock
from pilothouse.browser.tab import Tab
from pilothouse.browser.watch import Event
from pilothouse.browser.world import WorldGone
from pilothouse.call import Answer, Call, Caller, Visit
from pilothouse.cdp.connection import ProtocolError
from pilothouse.cocoons import LOCAL
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.guard.address import authority, check_url
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.budget import Budget
from pilothouse.guard.domains import read_domains
from pilothouse.guard.patterns import LISTABLE
from pilothouse.guard.policy import Policy, Question
from pilothouse.guard.rates import Rates
from pilothouse.guard.redact import redact_text, redact_tree
from pilothouse.hub.own import Offers, OwnDebug
from pilothouse.metrics import UNKNOWN, Metrics, Sample
from pilothouse.pausing import until_free
from pilothouse.permitting import Permits, early_question, replaced
from pilothouse.reporting import reported, stage
from pilothouse.result import Result, clean, clean_tree
from pilothouse.telling import completed, failed
from pilothouse.timing import GRACE_S, PROBE_S, Timing, shortened
from pilothouse.tool import Registry, Step, Tool

log = logging.getLogger(__name__)


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
        self.timing = Timing(timeout_ms)
        self.permits = Permits(policy, approvals, self.timing)
        self._forbidden_ports = forbidden_ports or set()
        self._come_back: set[str] = set()
        self._rates = rates or Rates()
        self._budget = budget or Budget()
        self.metrics = Metrics()
        self.hub: Offers | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self.on_done: Callable[[Visit, str], None] = lambda visit, outcome: None  # a call has ended

    async def call(self, call: Call) -> Answer:
        """Always an answer; only a cancelled call raises."""
        visit = Visit(call)
        if call.progress is None:
            return await self._answered(visit)
        async with reported(visit, functools.partial(self.timing.expected_s, visit)):
            return await self._answered(visit)

    async def _answered(self, visit: Visit) -> Answer:
        call = visit.call
        visit.comes_back = self._comes_back(call.caller)
        try:
            with doing(lambda: stage(visit)):
                answer = await self._walk(visit)
        except Failure as failure:
            self._refused(visit, failure)
            answer = self._failed(visit, failure)
        except (ProtocolError, WorldGone) as error:
            answer = self._failed(visit, _translated(error))
        except asyncio.CancelledError:
            self._note(visit, "cancelled", visit.elapsed_ms)
            if visit.comes_back:  # nobody reads the answer: the next one tells it
                self._come_back.discard(call.caller.connection)
            raise
        except Exception:
            log.exception("%s failed", call.tool[:80])
            answer = self._failed(visit, Failure("system", "Pilothouse failed; its log says why"))
        error = answer.data["error"] if answer.failed else {"code": "ok", "category": "", "message": ""}
        why = error["message"] if error["category"] == "security" else ""
        # Recorded when the answer is on its way: nobody's next call is read before that.
        asyncio.get_running_loop().call_soon(self._note, visit, error["code"], visit.elapsed_ms, why)
        return answer

    def foresee(self, caller: Caller, name: str, given: dict[str, Any]) -> None:
        """A call has come that its door has yet to read. If it leaves a page, that one is asked at once whether it
        answers, and if it is a key, what has the focus: it takes longer to do so than the door and the judges to come
        to their end (M)."""
        tool = self.registry.get(name)
        if tool is None or not (tool.leaves or "key" in tool.takes):
            return
        session = given.get("session")
        own = self._sessions.of((caller.key, caller.connection))
        found = [one for one in own if one.id == session] if session else own
        # A tab of the person's is attached when it is used, and not before.
        if len(found) != 1 or not (tab := found[0].current) or found[0].options.browser == "extension":
            return
        if tool.leaves:
            knock(tab)
        elif not given.get("tab") and not found[0].forbids(tab.url):
            glance(tab, given.get("key"))

    def _failed(self, visit: Visit, failure: Failure) -> Answer:
        self.permits.hide(visit)
        return failed(visit, failure)

    async def _walk(self, visit: Visit) -> Answer:
        call = visit.call
        visit.tool = tool = self._found(call)
        visit.args = args = self._addresses(tool, _parsed(tool, call.args))
        visit.pointing = pointing(tool, args)
        args = spelled(visit.pointing, args)
        if tool.runner_name:
            self._check_steps(args)
        place = await self._placed(visit, args)
        if visit.tab and tool.leaves and knock(visit.tab):
            await asyncio.sleep(0)  # that it is on its way: the page answers while the call is judged
        args = _named(visit, args)
        _check_domains(visit, tool, args)
        await until_free(visit)
        await self.permits.touch(visit, place, args)
        async with self._turn(visit, args):
            await until_free(visit)  # the wheel may have been taken while the call waited for its turn
            question = await self.permits.permitted(visit, args)
            self._count(visit, question)
            visit.record = await self._audit.before(question, visit.decision, visit.approved)
            seen = visit.session.watch.newest if visit.session else 0
            visit.stood = {tab.name: tab.url for tab in visit.session.tabs} if visit.session else {}
            try:
                result = await self._run(visit, place, args, question)
            except (Failure, ProtocolError, WorldGone):
                await self.permits.look_again(visit, question, seen)  # what went wrong is told in words of the page
                raise
            await self.permits.look_again(visit, question, seen, result)
        self.permits.hide(visit)
        return completed(visit, result)

    # find, parse, place

    def _found(self, call: Call) -> Tool:
        """Every call counts against its key: that of an unknown tool, each step of a batch and the batch itself."""
        self._rates.count(call.caller.key)
        return self.registry.find(call.tool)

    def _check_steps(self, args: Any) -> None:
        """What is known to be wrong with a step is told before the first one runs."""
        for number, step in enumerate(args.steps, 1):
            try:
                found = self.registry.find(step.tool)
                if found.alone:
                    raise Failure("bad_request", found.alone)
                _parsed(found, step.args)
            except Failure as failure:
                failure.message = f"step {number} of {len(args.steps)} ({step.tool[:80]}): {failure.message}"
                failure.details["step"] = number
                failure.suggestions.append("no step was run")
                raise

    def _addresses(self, tool: Tool, args: msgspec.Struct) -> msgspec.Struct:
        """Addresses in their canonical form; what may never be opened ends here."""
        given = {name: getattr(args, name) for name in tool.url_names}
        for name in tool.input_schema.get("required", []):
            if given.get(name) == "":
                hint = "give a whole address, such as https://example.com"
                raise Failure("bad_request", f"{tool.name}: {name} is empty", suggestions=[hint])
        checked = {name: check_url(url, self._forbidden_ports, LISTABLE) for name, url in given.items() if url}
        return msgspec.structs.replace(args, **checked) if checked else args

    async def _placed(self, visit: Visit, args: msgspec.Struct) -> Any:
        """Placing may start a browser: it and the run share one deadline. Being asked about is a person's time."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(None) as limit:
                return await self._place(visit, args, limit)
        except TimeoutError:
            raise await self.timing.too_late(visit, self.timing.deadline_ms(visit, args) / 1000) from None
        finally:
            visit.placing_s = time.monotonic() - began

    async def _place(self, visit: Visit, args: msgspec.Struct, limit: asyncio.Timeout) -> Any:
        assert visit.tool
        own = self.own(visit.call.caller)
        if not visit.tool.needs_session:
            if visit.tool.scope == "OwnDebug":
                return self.offered()
            return own if visit.tool.scope == "OwnSessions" else OwnBrowsers(self._sessions, own)
        began = asyncio.get_running_loop().time()
        limit.reschedule(began + self.timing.deadline_ms(visit, args) / 1000 + GRACE_S)
        visit.session, visit.is_new = await own.find(getattr(args, "session", ""))
        limit.reschedule(
            began + self.timing.deadline_ms(visit, args) / 1000 + GRACE_S
        )  # the session's own, now it is known
        if visit.tool.scope == "Session":
            return visit.session
        visit.tab = await visit.session.tab(getattr(args, "tab", ""), opens=visit.tool.opens)
        return visit.tab

    def offered(self) -> OwnDebug:
        """Agents here are its user's. A cocoon may be on a private network, as for browsers of our own: a person put it
        there."""
        if self.hub is None:
            raise Failure("unsupported", "this daemon has no signaling hub")
        return OwnDebug(self.hub, LOCAL, lambda url: self._policy.forbids("isolated", url))

    @contextlib.asynccontextmanager
    async def _turn(self, visit: Visit, args: msgspec.Struct) -> AsyncGenerator[None]:
        """A call that has to wait for others in its tab is judged when its turn has come, on the page as it is then."""
        tab, session = visit.tab, visit.session
        if session:
            session.busy += 1
        try:
            if tab and visit.tool and visit.tool.queued:
                await self.timing.bounded(visit, args, tab.turn.take(visit.tool.name))
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

    # count

    def _count(self, visit: Visit, question: Question) -> None:
        """A tool made of steps counts its steps."""
        if visit.session and visit.tool and not visit.tool.runner_name:
            hourly = self._policy.hourly(question.urls)
            budget = self._policy.rules.step_budget
            self._budget.count(question.caller, visit.session.id, step_budget=budget, hourly=hourly)

    # run

    async def _run(self, visit: Visit, place: Any, args: msgspec.Struct, question: Question) -> Result[Any]:
        tool, tab = visit.tool, visit.tab
        assert tool
        timeout_s = self.timing.deadline_ms(visit, args) / 1000
        left_s = max(timeout_s - visit.placing_s, 0)
        if visit.placing_s > GRACE_S / 2:
            args = shortened(args, tool, left_s)
        try:
            # A tool made of steps has no deadline of its own: each step has one.
            async with asyncio.timeout(None if tool.runner_name else left_s + self.timing.grace_s(args)):
                if tab is None:
                    self.permits.hide(visit)
                    return await self._handle(visit, place, args)
                return await self._on_page(visit, tab, args, left_s, question)
        except TimeoutError:
            raise await self.timing.too_late(visit, timeout_s) from None
        except Failure as failure:
            if failure.code == "timeout" and visit.session and (absence := visit.session.absence):
                raise absence from None
            unexplained = failure.code == "timeout" and "given_up" not in failure.details
            if unexplained and tab and (why := await excuse(tab, PROBE_S)) and why not in failure.message:
                failure.message += f"; {why}"
            raise

    async def _on_page(
        self, visit: Visit, tab: Tab, args: msgspec.Struct, timeout_s: float, question: Question
    ) -> Result[Any]:
        assert visit.tool
        if visit.tool.live:
            await tab.ready(timeout_s, revives=visit.tool.revives)
        else:
            tab.check_open()
        judge = functools.partial(self.permits.decide_again, visit, tab, question, args)
        judge()
        token = AGAIN.set(judge)  # for tools that act on more than one document, or on the next one
        try:
            return await self._handle(visit, tab, args)
        finally:
            AGAIN.reset(token)

    async def _handle(self, visit: Visit, place: Any, args: msgspec.Struct) -> Result[Any]:
        tool = visit.tool
        assert tool
        extra: dict[str, Any] = {}
        if tool.progress_name:
            extra[tool.progress_name] = visit.count or _no_progress
        if tool.runner_name:
            extra[tool.runner_name] = self._runner(visit)
        token = HELD.set(visit.held)
        visit.acting = True
        try:
            return await tool.handler(place, **_given_to(tool, args), **extra)
        finally:
            HELD.reset(token)

    def _runner(self, visit: Visit) -> Callable[[str, dict[str, Any]], Any]:
        async def run(name: str, args: dict[str, Any]) -> Step:
            assert visit.session
            tool = self.registry.find(name)
            if tool.needs_session:
                args = tool.placed_in(visit.session.id, args)
            call = visit.call
            step = Call(name, args, call.caller, dialog=call.dialog, patience_s=call.patience_s)
            answer = await self.call(step)
            await asyncio.sleep(0)  # how it ended is recorded before the next one begins
            return Step(answer.text, answer.data, answer.failed, answer.images)

        return run

    def _refused(self, visit: Visit, failure: Failure) -> None:
        """What a rule, a person or a limit kept from happening stands in the log too."""
        if visit.record:
            return
        if failure.category == "security" or failure.code == "unknown_tool":
            question = visit.question or early_question(visit)
            self._audit.refused(question, outcome=failure.code, why=failure.message, decision=visit.decision)
        elif failure.code == "over_limit":
            question = visit.question or early_question(visit)
            self._audit.limited(question.caller, failure.message, tool=question.tool, session=question.session)

    def _note(self, visit: Visit, outcome: str, took_ms: float, why: str = "") -> None:
        tool = visit.tool.name if visit.tool else UNKNOWN
        self.metrics.called(tool, outcome, took_ms / 1000)
        log.debug("%s by %s: %s, %.1f ms, record %d", tool, visit.call.caller.door, outcome, took_ms, visit.record)
        if visit.record:
            self._audit.after(visit.record, outcome=outcome, duration_ms=took_ms, why=why)
        self.on_done(visit, outcome)

    # what doors ask besides calls

    def own(self, caller: Caller) -> OwnSessions:
        defaults = Options(
            browser=caller.defaults.browser,
            profile=caller.defaults.profile,
            headless=not caller.defaults.headed,
            timeout_ms=self.timing.timeout_ms,
        )
        return OwnSessions(self._sessions, (caller.key, caller.connection), defaults)

    def session_ids(self, caller: Caller) -> list[str]:
        return [session.id for session in self.own(caller).all()]

    def every_session(self) -> list[dict[str, Any]]:
        """Those of all callers, for the person."""
        return [_told_of(one) for one in self._sessions.every()]

    async def end_session(self, ident: str) -> str:
        """For the person: whoever it belongs to."""
        found = [one for one in self._sessions.every() if one.id == ident]
        if not found:
            raise Failure("not_found", "there is no such session", suggestions=["`pilothouse sessions` lists them"])
        self._audit.note("session_ended", session=ident, caller=found[0].owner[0], by="person")
        await self._sessions.close(found[0])
        return ident

    def session_id(self, caller: Caller, name: str) -> str:
        """The handle of a session that may be called by another name too."""
        return self.own(caller).get(name).id

    def reach(self, key: str, name: str) -> Session | None:
        """A session of any connection of that key, by its handle or its connection."""
        return self._sessions.reached(key, name)

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
        """Whether a person has the wheel, or a tab is at a page that may not be read."""
        return session.pause.taken or any(one.name == tab and session.forbids(one.url) for one in session.tabs)

    async def samples(self) -> list[Sample]:
        """What the rooms below know, in numbers."""
        seen = await self._sessions.census()
        each = [
            Sample(name, getattr(one, field), told, (("browser", one.name),), kind)
            for name, field, told, kind in _OF_A_BROWSER
            for one in seen.browsers
        ]
        elsewhere = [
            Sample(name, getattr(one, field), told, (("endpoint", one.name),))
            for name, field, told in _OF_A_PLACE
            for one in seen.places
        ]
        return [
            Sample("sessions", seen.sessions, "Open sessions."),
            Sample("tabs", seen.tabs, "Open tabs."),
            Sample("calls_waiting", seen.waiting, "Calls that wait for their turn in a tab."),
            Sample("calls_refused_total", self._rates.refused, "Calls above the rate of their key.", kind="counter"),
            Sample("browsers", len(seen.browsers), "Running browsers on this machine."),
            *each,
            *elsewhere,
        ]

    def _comes_back(self, caller: Caller) -> bool:
        """Once for each connection that outlived a daemon."""
        is_first = caller.defaults.again and caller.connection not in self._come_back
        if is_first:
            self._come_back.add(caller.connection)
        return is_first

    def leave(self, connection: str) -> "asyncio.Task[None]":
        """A connection is gone: its sessions end."""
        self._come_back.discard(connection)
        task = asyncio.create_task(self._sessions.close_connection(connection))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return task

    async def close(self) -> None:
        self.approvals.close()
        for task in self._leaving:
            task.cancel()
        await self._sessions.shut()
        await asyncio.sleep(0)  # what has just ended is recorded
        self._audit.close()


_OF_A_BROWSER = [
    ("browser_memory_bytes", "memory_bytes", "Memory of a browser with all its processes.", "gauge"),
    ("browser_cpu_seconds", "cpu_s", "CPU time of a browser's living processes.", "gauge"),
    ("browser_processes", "processes", "Processes of a browser.", "gauge"),
]
_OF_A_PLACE = [
    ("endpoint_browsers", "browsers", "Browsers that an endpoint or the Grid has given."),
    ("endpoint_waiting", "waiting", "Browsers that were asked for there and have not come."),
]


def _told_of(session: Session) -> dict[str, Any]:
    return redact_tree({
        "session": session.id,
        "caller": session.owner[0],
        "connection": session.owner[1].partition("-")[0],
        "browser": session.options.browser,
        "profile": session.options.profile,
        "mode": session.options.mode,
        "limits": session.limits,
        "tabs": [clean(tab.url) for tab in session.tabs],
        "age_s": int(time.time() - session.opened_at),
    })  # fmt: skip


def _tidied(event: Event) -> Event:
    text, after = redact_text(clean(event.text)), redact_text(clean(event.after))
    return msgspec.structs.replace(event, text=text, after=after)


def _parsed(tool: Tool, args: dict[str, Any]) -> msgspec.Struct:
    try:
        return tool.parse(args)
    except UnicodeEncodeError:
        raise Failure("bad_request", f"{tool.name}: a name among the arguments is no Unicode text") from None


def _named(visit: Visit, args: msgspec.Struct) -> msgspec.Struct:
    """A tool that is grave for some tabs means, without a name, the one that is current now: so it is judged, asked
    about and done. To others no name may mean all of them."""
    tool, session = visit.tool, visit.session
    current = session.current if session and tool and tool.grave else None
    if current is None or current.closed or getattr(args, "tab", ""):
        return args
    return msgspec.structs.replace(args, tab=current.name)


def _check_domains(visit: Visit, tool: Tool, args: msgspec.Struct) -> None:
    """The network would refuse it too; here it is told before anything happens."""
    allowed = visit.session.options.allowed_domains if visit.session else ()
    for name in tool.url_names if allowed else ():
        url = getattr(args, name)
        if url and url != "about:blank" and (why := read_domains(allowed).refusal(*authority(url))):
            hint = "this session was opened so; for other hosts open_session another one, with them in allowed_domains"
            told = {"rule": "allowed_domains", "allowed": list(allowed)}
            raise Failure("denied", why, details=told, suggestions=[hint])


def _given_to(tool: Tool, args: msgspec.Struct) -> dict[str, Any]:
    """What the handler takes; `session` and `tab` have found their place already."""
    return {name: getattr(args, name) for name in args.__struct_fields__ if name in tool.takes}


async def _no_progress(done: float, total: float | None, message: str) -> None:
    return None


def _translated(error: Exception) -> Failure:
    """The browser refused a command. Most often the page was replaced under it."""
    if isinstance(error, WorldGone):
        return replaced("during the call")
    return Failure("page_error", f"the browser refused: {error}")
