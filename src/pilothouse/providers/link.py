"""A browser of the person's, connected through its extension: commands out, answers and events in.

Above: relay and sessions, which see one object however often the socket breaks. Below: frames, and a socket that the
bridge's door hands in. Nothing is queued while the browser is away, and nothing is ever sent twice.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from pilothouse.cdp.decode import decode, mend
from pilothouse.errors import Failure
from pilothouse.providers import frames, leftovers
from pilothouse.providers.frames import Frame, Hello, Problem, TabInfo

ARRIVAL_S = 5.0  # in which a browser finds a daemon that has just begun; most need 1 to 3 (M)
WAKING_S = 30.0
RETURN_S = 10.0  # a browser that is away for longer is gone
PING_S = 1.0
EARLIER_MS = 5  # than here it is too late there: our timers may fire a hair early, and what was given up must not run
STOP_S = 3.0  # a person waits for the answer; what holds does not depend on it

Reply = Callable[[msgspec.Raw | None, Failure | Problem | None], None]
OnEvent = Callable[[str, int, msgspec.Raw], None]
OnState = Callable[[str], None]

_log = logging.getLogger(__name__)
# What may be asked of a browser whose person stopped everything.
_HARMLESS = {"ping", "stop", "reload", "panel", "waiting"}
_NOTHING = msgspec.Raw(b"{}")
_REPLACED = 4409


class Wire(Protocol):
    """One socket: `send` never waits; `close` says why."""

    def send(self, frame: bytes) -> None: ...

    def close(self, code: int, reason: str) -> None: ...


class _Pending(msgspec.Struct):
    reply: Reply
    what: str
    timer: asyncio.TimerHandle


class Link:
    """One paired browser. It outlives its sockets: the same install that returns gets the same link.

    `on_event` hears every event after the link has taken note of it; the payload is raw JSON. `on_state` hears
    "connected", "away" (the socket broke), "gone" (it did not return in time), "stopped" (the person stopped it).
    """

    def __init__(self, name: str, install: str) -> None:
        self.name = name
        self.install = install
        self.version = ""
        self.boot = ""
        self.agent = ""
        self.share = "group"
        self.tabs: dict[int, TabInfo] = {}
        self.attached: dict[int, str] = {}  # what the extension held at its last hello, by tab
        self.state = "gone"
        self.since = time.time()
        self._wire: Wire | None = None
        self._pending: dict[int, _Pending] = {}
        self._numbers = itertools.count(1)
        self._leaving: asyncio.TimerHandle | None = None
        self._going: dict[int, asyncio.Future[None]] = {}  # tabs that are being let go of
        self.stopping = False  # the person said stop, and the browser has not said yet that it knows
        self._hear_event: list[OnEvent] = []
        self._hear_state: list[OnState] = []

    @property
    def connected(self) -> bool:
        return self._wire is not None

    @property
    def stopped(self) -> bool:
        """The person stopped everything here, and has not allowed it again."""
        return self.state == "stopped"

    def on_event(self, hear: OnEvent) -> Callable[[], None]:
        """Subscribe; the answer unsubscribes."""
        self._hear_event.append(hear)
        return lambda: self._hear_event.remove(hear) if hear in self._hear_event else None

    def on_state(self, hear: OnState) -> Callable[[], None]:
        self._hear_state.append(hear)
        return lambda: self._hear_state.remove(hear) if hear in self._hear_state else None

    def post(self, kind: str, payload: dict[str, Any], *, timeout: float) -> asyncio.Future[dict[str, Any]]:
        """Ask the extension to do something; a `Failure` when it cannot, at once when it is away."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_heard)

        def reply(data: msgspec.Raw | None, problem: Failure | Problem | None) -> None:
            if future.done():
                return
            if problem is None:
                future.set_result(decode(data or _NOTHING))
            else:
                future.set_exception(problem if isinstance(problem, Failure) else failure_of(problem))

        self._send(kind, payload, timeout, reply, kind)
        return future

    def post_raw(
        self,
        tab_id: int,
        method: str,
        params: msgspec.Raw | dict[str, Any],
        *,
        session_id: str = "",
        timeout: float,
        reply: Reply,
    ) -> None:
        """One CDP command. `reply` is called once, in the order of what the browser said: with the raw result, or with
        the extension's `Problem` or our own `Failure`. It may be called before this returns, when the browser is away.
        """
        payload: dict[str, Any] = {"tabId": tab_id, "method": method, "params": params}
        if session_id:
            payload["sessionId"] = session_id
        self._send("cdp", payload, timeout, reply, method)

    def _send(self, kind: str, payload: dict[str, Any], timeout: float, reply: Reply, what: str) -> None:
        if self._wire is None or (self.stopped and kind not in _HARMLESS):
            reply(None, self._unavailable())
            return
        number = next(self._numbers)
        deadline = int((time.time() + timeout) * 1000) - EARLIER_MS
        frame = _encoded({"id": number, "type": kind, "deadline": deadline, "payload": payload})
        timer = asyncio.get_running_loop().call_later(max(timeout, 0), self._expire, number, timeout)
        self._pending[number] = _Pending(reply, what, timer)
        self._wire.send(frame)

    def _unavailable(self) -> Failure:
        if self.stopped:
            return Failure(
                "denied",
                f"the person stopped everything in {self.name}",
                suggestions=["ask the person; they allow it again in the extension's popup"],
            )
        return Failure(
            "browser_gone",
            f"{self.name} is not connected",
            suggestions=["is Chrome running? its extension connects by itself", "`pilothouse doctor` tells its state"],
        )

    async def stop(self) -> None:
        """What the button in the popup does: nothing is let through from now on, whether the browser answers or not."""
        self.halt()
        await self.tell_stop()

    def halt(self) -> None:
        """Refuse everything, at once, until the browser has heard of it and its person allows agents again."""
        self.stopping = True
        self.tabs.clear()
        self._become("stopped")

    async def tell_stop(self) -> bool:
        """Whether the browser answered. One that does not, or is away, is told again until it does."""
        if not self.connected:
            return False
        try:
            await self._posted_stop()
        except Failure as failure:
            _log.warning("%s is stopped here, but its extension has not heard of it: %s", self.name, failure.message)
            return False
        return True

    def _posted_stop(self) -> asyncio.Future[dict[str, Any]]:
        wire, loop = self._wire, asyncio.get_running_loop()

        def answered(done: asyncio.Future[dict[str, Any]]) -> None:
            if done.cancelled() or done.exception():
                loop.call_later(STOP_S, self._remind, wire)

        posted = self.post("stop", {}, timeout=STOP_S)
        posted.add_done_callback(answered)
        return posted

    def _remind(self, wire: Wire | None) -> None:
        if self.stopping and self.connected and wire is self._wire:
            self._posted_stop()

    async def ping(self, timeout: float = PING_S) -> bool:
        """Whether somebody is really there."""
        try:
            await self.post("ping", {}, timeout=timeout)
        except Failure:
            return False
        return True

    # What the door tells.

    def arrive(self, hello: Hello, wire: Wire) -> None:
        """A socket of this browser's was accepted and has said hello."""
        if (old := self._wire) is not None:
            old.close(_REPLACED, "it connected anew")
            self.leave(old, "it connected anew")
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        was_gone = self.state == "gone"
        self.version, self.boot, self.agent, self.share = hello.version, hello.boot, hello.agent, hello.share
        self.tabs = {tab.tab_id: tab for tab in hello.tabs}
        self.attached = {one.tab_id: one.target_id for one in hello.attached}
        self._wire = wire
        self.stopping = self.stopping and not hello.stopped
        self._become("stopped" if hello.stopped or self.stopping else "connected")
        if self.stopping:
            self._posted_stop()
        for tab_id in tuple(self.attached) if was_gone else ():
            self.let_go(tab_id)  # it was held for a daemon before us, or for sessions that have given it up

    def let_go(self, tab_id: int) -> "asyncio.Future[None] | None":
        """End the debugger's session in a tab that was held at the last hello: one that began before us tells nothing
        of the frames and worlds that are there (M). The answer is done when it is over; None: there is none."""
        if self.attached.pop(tab_id, None) is not None:
            going = self._going[tab_id] = asyncio.ensure_future(leftovers.let_go(self, tab_id))
            going.add_done_callback(lambda _: self._going.pop(tab_id, None))
        return self._going.get(tab_id)

    def leave(self, wire: Wire, why: str) -> None:
        """The socket is gone. What was under way may have run; nobody will know, and nothing is repeated."""
        if wire is not self._wire:
            return
        self._wire = None
        for number in tuple(self._pending):
            what = self._pending[number].what
            self._settle(number, None, _broken(self.name, what, why))
        self._leaving = asyncio.get_running_loop().call_later(RETURN_S, self._give_up)
        if not self.stopping:
            self._become("away")

    def end(self, why: str) -> None:
        """The person forgot this browser, or the house closes."""
        self.stopping = False
        if wire := self._wire:
            wire.close(1000, why)
            self.leave(wire, why)
        if self._leaving is not None:
            self._leaving.cancel()
            self._give_up()

    def is_through(self, wire: Wire) -> bool:
        """Whether this socket is the one that speaks for the browser now."""
        return wire is self._wire

    def take(self, frame: Frame, wire: Wire) -> None:
        """Whatever the extension says; `ValueError` when it is not what the protocol allows. A socket that was replaced
        says nothing any more."""
        if not self.is_through(wire):
            return
        if frame.type == "response":
            self._settle(frame.id, None if frame.error else frame.data, frame.error)
        elif frame.type == "cdp":
            self._tell(frame)
        else:
            self._note(frame)
            self._tell(frame)

    def _note(self, frame: Frame) -> None:
        if frame.type in ("shared", "tab"):
            info = frames.tab_info(frame.payload)
            has_room = frame.type == "shared" and len(self.tabs) < frames.MAX_TABS
            if has_room or info.tab_id in self.tabs:
                self.tabs[info.tab_id] = info
        elif frame.type == "unshared":
            self.tabs.pop(frame.tab_id, None)
        elif frame.type == "stopped":
            self.tabs.clear()
            self.stopping = False
            if not self.stopped:
                self._become("stopped")
        elif frame.type == "allowed" and not self.stopping:
            self._become("connected")
        elif frame.type == "share":
            self.share = str(frames.parsed(frame.payload).get("share", self.share))[:10]

    def _tell(self, frame: Frame) -> None:
        for hear in tuple(self._hear_event):
            try:
                hear(frame.type, frame.tab_id, frame.payload)
            except Exception:  # one listener's mistake must not cost everybody the browser
                _log.exception("a listener of the extension's %s failed", frame.type)

    def _become(self, state: str) -> None:
        self.state, self.since = state, time.time()
        _log.info("%s is %s", self.name, state)
        for hear in tuple(self._hear_state):
            try:
                hear(state)
            except Exception:
                _log.exception("a listener of %s failed", self.name)

    def _give_up(self) -> None:
        self._leaving = None
        self.tabs.clear()
        if not self.stopping:
            self._become("gone")

    def _expire(self, number: int, timeout: float) -> None:
        what = self._pending[number].what
        _log.debug("%s: no answer to %s within %g s", self.name, what, timeout)
        message = f"{self.name} did not answer within {timeout:g} s"
        self._settle(number, None, Failure("timeout", message, suggestions=["look at the page before you try again"]))

    def _settle(self, number: int, data: msgspec.Raw | None, problem: Failure | Problem | None) -> None:
        pending = self._pending.pop(number, None)
        if pending is not None:
            pending.timer.cancel()
            pending.reply(data, problem)


class Links:
    """All paired browsers that connected since the daemon began, by name."""

    def __init__(self) -> None:
        self._links: dict[str, Link] = {}
        self._awaited: set[str] = set()
        self._lost: dict[str, str] = {}  # those that look for a daemon at another port
        self._awaited_until = 0.0
        self._news = asyncio.Event()
        self._hear: list[Callable[[Link], None]] = []
        self._hear_forgotten: list[Callable[[str], None]] = []

    def __iter__(self) -> Iterator[Link]:
        return iter(tuple(self._links.values()))

    @property
    def connected(self) -> int:
        return sum(link.connected for link in self._links.values())

    def on_new(self, hear: Callable[[Link], None]) -> None:
        """Told of each link once, when it is made."""
        self._hear.append(hear)

    def expect(self, paired: Mapping[str, int], port: int) -> None:
        """The daemon has just begun: browsers that are paired come by themselves, in their own time, if they were
        paired at its port (0: nobody knows at which)."""
        self._awaited = {name for name, at in paired.items() if at in (0, port)}
        self._lost = {
            name: f"at port {at}, and Pilothouse is at {port}" for name, at in paired.items() if at not in (0, port)
        }
        self._awaited_until = asyncio.get_running_loop().time() + ARRIVAL_S

        def follow(link: Link) -> None:
            link.on_state(lambda _: self._moved(link))

        self.on_new(follow)

    def _moved(self, link: Link) -> None:
        if link.state != "gone":
            self._awaited.discard(link.name)
            self._lost.pop(link.name, None)
        self._news.set()

    def is_open(self, name: str) -> bool:
        """It is there, and nothing in it is stopped."""
        link = self._links.get(name)
        return link is not None and link.connected and not link.stopped

    async def arrivals(self, name: str = "") -> None:
        """In the daemon's first seconds, until this browser is there; without a name, until all are: who takes the
        first of two takes any."""
        loop = asyncio.get_running_loop()
        while self._is_awaited(name) and (left := self._awaited_until - loop.time()) > 0:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), left)

    def _elsewhere(self, name: str) -> list[str]:
        lost = [f"{one} looks for Pilothouse {where}" for one, where in self._lost.items() if not name or one == name]
        return [f"{one}: ask the person; `pilothouse doctor` says how to mend it" for one in lost]

    def _patience(self, name: str) -> list[str]:
        """An extension that sleeps looks for us twice a minute."""
        is_new = asyncio.get_running_loop().time() < self._awaited_until + WAKING_S
        return ["the daemon has just begun: try again in half a minute"] if is_new and self._is_awaited(name) else []

    def _is_awaited(self, name: str) -> bool:
        there = {link.name for link in self._links.values() if link.state != "gone"}
        return bool(self._awaited & ({name} if name else self._awaited) - there)

    def on_stopped(self, hear: Callable[[str], None]) -> None:
        """Told the name of a browser in which the person stopped everything, whether anybody works there or not."""

        def follow(link: Link) -> None:
            link.on_state(lambda state: hear(link.name) if state == "stopped" else None)

        self.on_new(follow)

    def on_forgotten(self, hear: Callable[[str], None]) -> None:
        """Told the name of a browser that is not paired any more, before its connection ends."""
        self._hear_forgotten.append(hear)

    def named(self, name: str) -> Link | None:
        return self._links.get(name)

    def of(self, name: str, install: str) -> Link:
        """The link of a paired browser, made at its first connection."""
        link = self._links.get(name)
        if link is not None and link.install != install:  # another browser had that name
            self.forget(name, link.install)
            link = None
        if link is None:
            link = self._links[name] = Link(name, install)
            for hear in tuple(self._hear):
                hear(link)
        return link

    def forget(self, name: str, install: str) -> None:
        """What agents do there ends too: the next browser of that name is another one."""
        link = self._links.get(name)
        if link is None or link.install != install:
            return
        del self._links[name]
        self._awaited.discard(name)
        for hear in tuple(self._hear_forgotten):
            hear(name)
        link.end("the person forgot this browser")

    def find(self, name: str = "") -> Link:
        """The only connected one, or the named; `not_found` says what to do."""
        there = [link for link in self._links.values() if link.state != "gone"]
        fitting = [link for link in there if not name or link.name == name]
        if len(fitting) == 1:
            return fitting[0]
        known = ", ".join(link.name for link in there)
        if fitting:
            raise Failure("not_found", "several browsers are connected", suggestions=[f"name one of them: {known}"])
        if there:
            raise Failure("not_found", f"no browser {name} is connected", suggestions=[f"connected: {known}"])
        raise Failure(
            "not_found",
            "no Chrome of the person's is connected",
            suggestions=[
                *self._elsewhere(name),
                *self._patience(name),
                "ask the person to open Chrome with the Pilothouse extension",
                "a new one is paired by `pilothouse extension pair`; `pilothouse doctor` tells more",
            ],
        )

    def close(self) -> None:
        for link in tuple(self._links.values()):
            link.end("the daemon ends")


def failure_of(problem: Problem) -> Failure:
    """The extension's words as one of our errors."""
    if problem.code == "ended":
        return _broken("the browser", "the command", problem.message)
    code, steps = _CODES.get(problem.code, ("system", ["`pilothouse doctor` tells whether extension and daemon fit"]))
    return Failure(code, problem.message or problem.code, suggestions=steps)


_CODES: dict[str, tuple[str, list[str]]] = {
    "tab_closed": ("tab_closed", ["list the tabs"]),
    "not_attached": ("tab_closed", ["list the tabs; the tab may have gone to a page that nobody may debug"]),
    "not_shared": ("denied", ["ask the person to share the tab: the extension's popup, or the tab group Pilothouse"]),
    "refused": ("denied", ["choose another page; Chrome's own pages and the Web Store stay closed to agents"]),
    "unsupported": ("unsupported", ['use a session of another kind: open_session(browser="isolated")']),
    "too_late": ("timeout", ["nothing was done; try again"]),
    "stopped": ("denied", ["ask the person; they allow it again in the extension's popup"]),
}


def _broken(name: str, what: str, why: str) -> Failure:
    return Failure(
        "browser_gone",
        f"the connection to {name} broke during {what}, which may have run ({why})",
        details={"may_have_run": True},
        suggestions=["look at the page before you repeat anything"],
        retryable=False,
    )


def _heard(future: asyncio.Future[dict[str, Any]]) -> None:
    """What nobody awaits may fail quietly."""
    if not future.cancelled():
        future.exception()


def _encoded(command: dict[str, Any]) -> bytes:
    try:
        return frames.encode(command)
    except UnicodeEncodeError:  # callers may send lone surrogates
        return frames.encode(mend(command))
