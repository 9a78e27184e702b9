"""A Chrome behind the extension as a CDP transport: to the engine it is a browser like any other, in flatten mode.

Above: cdp's connection. Below: link carries commands to `chrome.debugger`; browserwide answers what that refuses.
Each shared tab has a session of ours; it is attached in Chrome only while somebody uses it, and what the engine set up
is told again then. Sessions of frames and workers keep the ids that Chrome gave them.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from pilothouse.cdp.connection import OWN_WORDS
from pilothouse.cdp.decode import decode
from pilothouse.errors import Failure
from pilothouse.providers import link as link_module
from pilothouse.providers import nulls
from pilothouse.providers.breakoff import SET_UP, BreakOff
from pilothouse.providers.browserwide import CONTEXT, Browserwide, no_tab
from pilothouse.providers.forbidden import is_forbidden
from pilothouse.providers.frames import Problem, TabInfo
from pilothouse.providers.ledger import Entry, Ledger
from pilothouse.providers.link import Link, failure_of
from pilothouse.providers.unsupported import refusal_of

log = logging.getLogger(__name__)

ATTACH_S = 10.0
DETACH_S = 5.0
# Nobody above listens to these, and a page may cause thousands.
_NOISE = {
    "Page.screencastVisibilityChanged",
    "Debugger.scriptParsed",
    "Debugger.scriptFailedToParse",
    "Debugger.resumed",
}
_NOTHING = msgspec.Raw(b"{}")
_DONE = msgspec.Raw(b'{"identifier":"asleep"}')


class Command(msgspec.Struct):
    """What the connection above sends; its parameters stay raw."""

    id: int
    method: str
    sessionId: str = ""  # noqa: N815 (CDP's spelling)
    params: msgspec.Raw = _NOTHING


class _Event(msgspec.Struct):
    method: str
    sessionId: str = ""  # noqa: N815
    params: msgspec.Raw = _NOTHING


class _Child(msgspec.Struct):
    sessionId: str  # noqa: N815
    targetInfo: dict[str, Any] = {}  # noqa: N815


class Held:
    """One tab that was announced to the engine. `awake`: attached in Chrome."""

    def __init__(self, info: TabInfo, target_id: str, session: str) -> None:
        self.tab_id = info.tab_id
        self.target_id = target_id
        self.incognito = info.incognito
        self.session = session
        self.awake = False
        self.lives = 0
        self.ledger = Ledger()
        self.children: set[str] = set()
        self.waiting: list[Callable[[Failure | None], None]] | None = None  # for it to wake


_command = msgspec.json.Decoder(Command).decode
_event = msgspec.json.Decoder(_Event).decode
_child = msgspec.json.Decoder(_Child).decode
_encode = msgspec.json.Encoder().encode


class Relay:
    """`on_presence` hears "connected" (again: look at every tab anew), "away", "gone" and "stopped"; `on_file`, given a
    guid and a path, where a download lies."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.on_presence: Callable[[str], None] = lambda state: None
        self.on_file: Callable[[str, str], None] = lambda guid, path: None
        self.announcing = False
        self.targets: dict[int, str] = {}  # Chrome's names of the tabs, once they are known
        self._tabs: dict[int, Held] = {}
        self._by_session: dict[str, Held] = {}
        self._parents: dict[str, Held] = {}  # of sessions of frames and workers
        self._coming: dict[int, asyncio.Task[Held]] = {}
        self._is_ruled = True  # perhaps, by a daemon that was here before
        self._numbers = itertools.count(1)
        self._on_frame: Callable[[bytes], None] = lambda frame: None
        self._on_close: Callable[[str], None] | None = None
        self._break_off = BreakOff(self._tell)
        self._browserwide = Browserwide(self)
        self._deaf = [link.on_event(self._heard), link.on_state(self._became)]

    @property
    def name(self) -> str:
        return self.link.name

    @property
    def return_s(self) -> float:
        """How long it may be away; after that it is gone."""
        return link_module.RETURN_S

    @property
    def shares_all(self) -> bool:
        return self.link.share == "all"

    def is_front(self, target_id: str) -> bool:
        return any(info.active and self.target_of(info) == target_id for info in self.link.tabs.values())

    async def hold(self, rules: list[tuple[list[str], dict[str, Any]]], timeout: float) -> None:
        """These network rules, each in its own tabs; they take the place of all that held before."""
        numbers = {held.target_id: held.tab_id for held in self.held()}
        every: set[int] = set()
        told: list[dict[str, Any]] = []
        for targets, rule in rules:
            if tabs := [numbers[one] for one in targets if one in numbers]:
                every.update(tabs)
                told.append(rule | {"condition": rule["condition"] | {"tabIds": tabs}})
        if told or self._is_ruled:
            await self.link.post("rules", {"tabIds": sorted(every), "rules": told}, timeout=timeout)
            self._is_ruled = bool(told)

    # The transport

    def start(self, on_frame: Callable[[bytes], None], on_close: Callable[[str], None]) -> None:
        self._on_frame, self._on_close = on_frame, on_close

    def send(self, frame: bytes, timeout: float = ATTACH_S) -> None:
        command = _command(frame)
        if not command.sessionId:
            self._browserwide.answer(command, timeout)
        elif held := self._by_session.get(command.sessionId):
            self._to_tab(held, command, timeout)
        elif held := self._parents.get(command.sessionId):
            self._to_child(held, command, timeout)
        else:
            self.refuse(command.id, {"code": -32001, "message": "Session with given id not found."})

    async def close(self) -> None:
        """Let go of everything; the browser is the person's and stays."""
        going = [self.link.post("detach", {"tabId": one.tab_id}, timeout=DETACH_S) for one in self.held() if one.awake]
        if going:
            await asyncio.wait(going, timeout=DETACH_S)
        self._end("closed")

    def _end(self, reason: str) -> None:
        for deaf in self._deaf:
            deaf()
        for coming in self._coming.values():
            coming.cancel()
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close(reason)

    # Commands

    def _to_tab(self, held: Held, command: Command, timeout: float) -> None:
        if command.method == "Runtime.terminateExecution":
            self._break_off.ask(held.session)
            self.reply(command.id, _NOTHING)
        elif command.method == "Browser.getVersion":
            self._browserwide.answer(command, timeout)
        elif command.method == "Page.navigate" and is_forbidden(msgspec.json.decode(command.params).get("url", "")):
            self.refuse_for(command.id, _closed_to_agents())
        else:
            self._on_its_way(held, command, timeout)

    def _on_its_way(self, held: Held, command: Command, timeout: float) -> None:
        entry = held.ledger.note(command.method, bytes(command.params))
        if held.awake:
            self._post(held, command, timeout, entry)
        elif entry:
            self.reply(command.id, _DONE)
        elif command.method == "Page.screencastFrameAck":  # the cast that it was for is over: no reason to wake
            self.reply(command.id, _NOTHING)
        else:
            due = asyncio.get_running_loop().time() + timeout
            self._when_awake(held, partial(self._late, held, command, due))

    def _late(self, held: Held, command: Command, due: float, failure: Failure | None) -> None:
        left = due - asyncio.get_running_loop().time()
        if failure:
            self.refuse_for(command.id, failure)
        elif left > 0:  # else nobody waits for it any more, and it must not run
            self._post(held, command, left, None)

    def _to_child(self, held: Held, command: Command, timeout: float) -> None:
        if command.method == "Runtime.terminateExecution":
            self._break_off.ask(command.sessionId)
            self.reply(command.id, _NOTHING)
        else:
            self._post(held, command, timeout, None)

    def _post(self, held: Held, command: Command, timeout: float, entry: Entry | None) -> None:
        child = "" if command.sessionId == held.session else command.sessionId
        params = nulls.kept(command.params) if command.method == nulls.CALL else command.params
        due = asyncio.get_running_loop().time() + timeout
        said = partial(self._said, held, held.lives, command, entry, due)
        self.link.post_raw(held.tab_id, command.method, params, session_id=child, timeout=timeout, reply=said)

    def _said(
        self,
        held: Held,
        life: int,
        command: Command,
        entry: Entry | None,
        due: float,
        result: msgspec.Raw | None,
        problem: Failure | Problem | None,
    ) -> None:
        if problem is None:
            if entry:
                entry.heard = True
            self.reply(command.id, result or _NOTHING)
        elif isinstance(problem, Failure):
            self.refuse_for(command.id, problem)
        elif problem.code == "not_attached" and command.sessionId == held.session:
            self._was_asleep(held, life, command, entry, due)
        elif problem.cdp is None:
            self.refuse_for(command.id, failure_of(problem))
        elif refusal := refusal_of(command.method, problem.cdp):
            self.refuse_for(command.id, refusal)
        else:
            self.refuse(command.id, problem.cdp)

    def _was_asleep(self, held: Held, life: int, command: Command, entry: Entry | None, due: float) -> None:
        """The extension has let go of it and we had not heard; nothing was done."""
        if held.lives == life:
            self._sleeps(held)
        if entry:  # told when it wakes
            self.reply(command.id, _DONE)
        elif held.awake:  # again, meanwhile
            self._late(held, command, due, None)
        else:
            self._when_awake(held, partial(self._late, held, command, due))

    def _tell(
        self,
        session: str,
        method: str,
        params: msgspec.Raw,
        timeout: float = ATTACH_S,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Something of our own; whatever is answered, it is over `then`."""
        held = self._by_session.get(session) or self._parents.get(session)
        if held and held.awake:
            child = "" if session == held.session else session
            self.link.post_raw(
                held.tab_id, method, params, session_id=child, timeout=timeout, reply=lambda data, problem: then()
            )

    # Answers

    def reply(self, number: int, result: msgspec.Raw | dict[str, Any]) -> None:
        self._on_frame(_encode({"id": number, "result": result}))

    def refuse(self, number: int, error: dict[str, Any]) -> None:
        self._on_frame(_encode({"id": number, "error": error}))

    def refuse_for(self, number: int, failure: Failure) -> None:
        told = {
            "code": failure.code,
            "message": failure.message,
            "details": failure.details,
            "suggestions": failure.suggestions,
            "retryable": failure.retryable,
        }
        self.refuse(number, {"message": failure.message, OWN_WORDS: told})

    def say(self, method: str, params: Any, session: str = "") -> None:
        """An event."""
        told = {"method": method, "params": params}
        self._on_frame(_encode(told | {"sessionId": session} if session else told))

    # Tabs

    def held(self) -> list[Held]:
        return list(self._tabs.values())

    def held_as(self, session: str) -> Held | None:
        return self._by_session.get(session)

    def announce(self, info: TabInfo) -> Held:
        """Tell the engine of a tab; nothing is attached before somebody uses it."""
        if there := self._tabs.get(info.tab_id):
            return there
        held = self._hold(info)
        for method, params in SET_UP:
            held.ledger.note(method, params)
        self._present(held, info)
        return held

    def _hold(self, info: TabInfo) -> Held:
        held = Held(info, self.target_of(info), f"tab{info.tab_id}.{next(self._numbers)}")
        self._tabs[held.tab_id] = self._by_session[held.session] = held
        return held

    def target_of(self, info: TabInfo) -> str:
        return info.target_id or self.targets.get(info.tab_id, "")

    def _present(self, held: Held, info: TabInfo) -> None:
        self.say(
            "Target.attachedToTarget",
            {"sessionId": held.session, "targetInfo": self.described(info), "waitingForDebugger": False},
        )

    async def bring(self, info: TabInfo) -> Held:
        """A tab that has just been opened: attached first, so that what the engine sets up reaches it at once."""
        if there := self._tabs.get(info.tab_id):
            return there
        coming = self._coming.get(info.tab_id)
        if coming is None:
            coming = self._coming[info.tab_id] = asyncio.create_task(self._brought(info))
            coming.add_done_callback(lambda done: self._came(info.tab_id, done))
        return await asyncio.shield(coming)

    async def _brought(self, info: TabInfo) -> Held:
        told = await self._attach(info.tab_id)
        self.targets[info.tab_id] = info.target_id = str(told.get("targetId", ""))
        if info.tab_id not in self.link.tabs:
            raise no_tab()
        held = self._hold(info)
        held.awake, held.lives = True, 1
        for method, params in SET_UP:
            if entry := held.ledger.note(method, params):
                self._again(held, entry)
        self._present(held, info)
        return held

    def _came(self, tab_id: int, done: "asyncio.Task[Held]") -> None:
        self._coming.pop(tab_id, None)
        if not done.cancelled() and (error := done.exception()):
            log.info("a tab that was opened cannot be used: %s", error)

    def described(self, info: TabInfo) -> dict[str, Any]:
        opener = self._tabs.get(info.opener_tab_id)
        told: dict[str, Any] = {
            "targetId": self.target_of(info),
            "type": "page",
            "title": info.title,
            "url": info.url,
            "attached": info.tab_id in self._tabs,
            "browserContextId": CONTEXT,
        }
        told |= {"ours": True} if info.ours else {}  # no word of CDP's: whoever comes back knows what agents opened
        return told | {"openerId": opener.target_id} if opener else told

    async def let_go(self, held: Held) -> None:
        """The engine is done with it; the tab stays as it is, and is others' when this returns."""
        is_held = held.awake and self.link.connected
        going = self.link.post("detach", {"tabId": held.tab_id}, timeout=DETACH_S) if is_held else None
        self._forget(held)
        if going:
            await asyncio.wait([going])

    def _forget(self, held: Held, why: str = "") -> None:
        self._sleeps(held)
        if self._tabs.get(held.tab_id) is held:
            del self._tabs[held.tab_id]
        if self._by_session.pop(held.session, None):
            told = {"sessionId": held.session, "targetId": held.target_id}
            # No word of CDP's: a tab that the person took back is not closed.
            self.say("Target.detachedFromTarget", told | ({"why": why} if why else {}))

    # Waking and sleeping

    def sleep(self, session: str) -> None:
        """Detach a tab that nobody uses, until somebody does."""
        held = self._by_session.get(session)
        if held and held.awake and self.link.connected:
            self.link.post("detach", {"tabId": held.tab_id}, timeout=DETACH_S)
            self._sleeps(held)

    def is_awake(self, session: str) -> bool:
        held = self._by_session.get(session)
        return held is not None and held.awake

    def life(self, session: str) -> int:
        held = self._by_session.get(session)
        return held.lives if held and held.awake else 0

    def _sleeps(self, held: Held) -> None:
        if held.awake:
            self.link.attached.pop(held.tab_id, None)
        held.awake = False
        held.ledger.forget_heard()
        self._break_off.forget(held.session)
        for child in tuple(held.children):
            self._child_left(held, child)
            self.say("Target.detachedFromTarget", {"sessionId": child}, held.session)

    def _when_awake(self, held: Held, then: Callable[[Failure | None], None]) -> None:
        if held.waiting is not None:
            held.waiting.append(then)
            return
        held.waiting = [then]
        self._attach(held.tab_id).add_done_callback(partial(self._woke, held))

    def _attach(self, tab_id: int) -> "asyncio.Future[dict[str, Any]]":
        if going := self.link.let_go(tab_id):
            return asyncio.ensure_future(self._attach_after(going, tab_id))
        return self.link.post("attach", {"tabId": tab_id}, timeout=ATTACH_S)

    async def _attach_after(self, going: "asyncio.Future[None]", tab_id: int) -> dict[str, Any]:
        await asyncio.wait([going])
        return await self.link.post("attach", {"tabId": tab_id}, timeout=ATTACH_S)

    def _woke(self, held: Held, attached: "asyncio.Future[dict[str, Any]]") -> None:
        waiting, held.waiting = held.waiting or [], None
        failure = _failure(attached)
        if failure is None and self._by_session.get(held.session) is not held:
            self.link.post("detach", {"tabId": held.tab_id}, timeout=DETACH_S)  # the engine has let go of it meanwhile
            failure = no_tab()
        elif failure is None:
            held.awake, held.lives = True, held.lives + 1
            for entry in held.ledger:
                self._again(held, entry)
        for then in waiting:
            then(failure)

    def _again(self, held: Held, entry: Entry) -> None:
        def said(data: msgspec.Raw | None, problem: Failure | Problem | None) -> None:
            entry.heard = problem is None

        self.link.post_raw(held.tab_id, entry.method, msgspec.Raw(entry.params), timeout=ATTACH_S, reply=said)

    # Events

    def _heard(self, kind: str, tab_id: int, payload: msgspec.Raw) -> None:
        if kind == "cdp":
            self._event(tab_id, _event(payload))
        elif kind == "shared":
            if info := self.link.tabs.get(tab_id):
                self._shared(info)
        elif kind == "tab" and (info := self.link.tabs.get(tab_id)):
            self.say("Target.targetInfoChanged", {"targetInfo": self.described(info)})
        elif kind == "download":
            self._browserwide.downloaded(payload)
        elif kind == "unshared":
            self.targets.pop(tab_id, None)
            if held := self._tabs.get(tab_id):
                self._forget(held, _why_of(payload))
        elif kind == "detached" and (held := self._tabs.get(tab_id)):
            self._sleeps(held)

    def _shared(self, info: TabInfo) -> None:
        """One that a page or the engine opened is wanted at once; others when somebody asks for them."""
        if not self.announcing or info.tab_id in self._tabs:
            return
        if info.ours or info.opener_tab_id in self._tabs:
            asyncio.ensure_future(self.bring(info)).add_done_callback(_noted)
        else:
            task = asyncio.ensure_future(self._welcome(info))
            task.add_done_callback(_noted)

    async def _welcome(self, info: TabInfo) -> None:
        await self._browserwide.learn_targets(ATTACH_S)
        if self.announcing and self.link.tabs.get(info.tab_id) and self.target_of(info):
            self.announce(info)

    def _event(self, tab_id: int, event: _Event) -> None:
        held = self._tabs.get(tab_id)
        if held is None or event.method in _NOISE:
            return
        session = event.sessionId or held.session
        if event.method == "Debugger.paused":
            self._break_off.paused(session)
            return
        if event.method == "Target.attachedToTarget":
            self._child_came(held, _child(event.params))
        elif event.method == "Target.detachedFromTarget":
            self._child_left(held, _child(event.params).sessionId)
        elif event.method in ("Page.downloadWillBegin", "Page.downloadProgress"):
            self.say(f"Browser.{event.method.removeprefix('Page.')}", event.params)
            self._browserwide.download_moves(event.method, event.params)
        self.say(event.method, event.params, session)

    def _child_came(self, held: Held, child: _Child) -> None:
        held.children.add(child.sessionId)
        self._parents[child.sessionId] = held
        if child.targetInfo.get("type") == "iframe":
            for method, params in SET_UP:
                self._tell(child.sessionId, method, msgspec.Raw(params))

    def _child_left(self, held: Held, session: str) -> None:
        held.children.discard(session)
        self._parents.pop(session, None)
        self._break_off.forget(session)

    # Presence

    def _became(self, state: str) -> None:
        if state == "connected":
            self._reconcile()
        self.on_presence(state)
        if state in ("gone", "stopped"):
            self._end(_WHY[state])

    def _reconcile(self) -> None:
        """The extension is back, in another life perhaps: what it holds now is what counts."""
        for held in self.held():
            info = self.link.tabs.get(held.tab_id)
            if info is None or (info.target_id and info.target_id != held.target_id):
                self._forget(held)
            elif held.tab_id not in self.link.attached:
                self._sleeps(held)
            else:
                self._cast_anew(held)
                for entry in held.ledger.unheard():
                    self._again(held, entry)
        for info in self.link.tabs.values():
            self._shared(info)

    def _cast_anew(self, held: Held) -> None:
        """Frames that were lost on the way are acknowledged by nobody, and hold up those that would follow."""
        if cast := held.ledger.cast:
            self._tell(held.session, "Page.stopScreencast", _NOTHING)
            cast.heard = False


_WHY = {
    "gone": "the person's Chrome has not come back",
    "stopped": "the person stopped all agents in this browser",
}


def _closed_to_agents() -> Failure:
    return Failure(
        "denied",
        "Chrome's own pages, extensions' pages and the Web Store are closed to agents",
        details={"rule": "built in"},
        suggestions=["choose another page"],
    )


def _why_of(payload: msgspec.Raw) -> str:
    """Whatever it says, the tab is shared no more."""
    try:
        return str(decode(payload).get("why", ""))[:40]
    except (ValueError, AttributeError, RecursionError):
        return ""


def _noted(done: "asyncio.Future[Any]") -> None:
    if not done.cancelled() and (error := done.exception()):
        log.info("a shared tab cannot be used: %s", error)


def _failure(done: "asyncio.Future[dict[str, Any]]") -> Failure | None:
    if done.cancelled():
        return Failure("browser_gone", "the connection to the browser ended", suggestions=["list the tabs, try again"])
    error = done.exception()
    return error if isinstance(error, Failure) or error is None else _unforeseen(error)


def _unforeseen(error: BaseException) -> Failure:
    return Failure("system", str(error), suggestions=["`pilothouse doctor` tells whether extension and daemon fit"])
