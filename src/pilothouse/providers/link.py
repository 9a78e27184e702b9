"""A browser of the person's, connected through its extension: commands out, answers and events in.

Above: relay and sessions, which see one object however often the socket breaks. Below: frames, and a socket that the
bridge's door hands in. Nothing is queued while the browser is away, and nothing is ever sent twice.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from pilothouse.cdp.decode import decode, mend
from pilothouse.errors import Failure
from pilothouse.providers import frames
from pilothouse.providers.frames import Frame, Hello, Problem, TabInfo

RETURN_S = 10.0  # a browser that is away for longer is gone
PING_S = 1.0
STOP_S = 10.0

Reply = Callable[[msgspec.Raw | None, Failure | Problem | None], None]
OnEvent = Callable[[str, int, msgspec.Raw], None]
OnState = Callable[[str], None]

_log = logging.getLogger(__name__)
# What may be asked of a browser whose person stopped everything.
_HARMLESS = {"ping", "stop", "reload", "panel", "waiting"}
_NOTHING = msgspec.Raw(b"{}")


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
        self._stopping = False  # the person said stop while it was away
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
        deadline = int((time.time() + timeout) * 1000)
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
        """What the button in the popup does. A browser that is away hears of it when it comes back."""
        if self.connected:
            await self.post("stop", {}, timeout=STOP_S)
        else:
            self._stopping = True
            self._become("stopped")

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
        if self._wire is not None:
            self.leave(self._wire, "it connected anew")
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        self.version, self.boot, self.agent, self.share = hello.version, hello.boot, hello.agent, hello.share
        self.tabs = {tab.tab_id: tab for tab in hello.tabs}
        self.attached = {one.tab_id: one.target_id for one in hello.attached}
        self._wire = wire
        self._become("stopped" if hello.stopped or self._stopping else "connected")
        if self._stopping:
            self._stopping = False
            self.post("stop", {}, timeout=STOP_S)

    def leave(self, wire: Wire, why: str) -> None:
        """The socket is gone. What was under way may have run; nobody will know, and nothing is repeated."""
        if wire is not self._wire:
            return
        self._wire = None
        for number in tuple(self._pending):
            what = self._pending[number].what
            self._settle(number, None, _broken(self.name, what, why))
        self._leaving = asyncio.get_running_loop().call_later(RETURN_S, self._give_up)
        self._become("away")

    def end(self, why: str) -> None:
        """The person forgot this browser, or the house closes."""
        if wire := self._wire:
            wire.close(1000, why)
            self.leave(wire, why)
        if self._leaving is not None:
            self._leaving.cancel()
            self._give_up()

    def take(self, frame: Frame) -> None:
        """Whatever the extension says; `ValueError` when it is not what the protocol allows."""
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
            if frame.type == "shared" or info.tab_id in self.tabs:
                self.tabs[info.tab_id] = info
        elif frame.type == "unshared":
            self.tabs.pop(frame.tab_id, None)
        elif frame.type == "stopped":
            self.tabs.clear()
            self._become("stopped")
        elif frame.type == "allowed":
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
        self._become("gone")

    def _expire(self, number: int, timeout: float) -> None:
        what = self._pending[number].what
        message = f"{self.name} did not answer {what} within {timeout:g} s"
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
        self._hear: list[Callable[[Link], None]] = []

    def __iter__(self) -> Iterator[Link]:
        return iter(tuple(self._links.values()))

    @property
    def connected(self) -> int:
        return sum(link.connected for link in self._links.values())

    def on_new(self, hear: Callable[[Link], None]) -> None:
        """Told of each link once, when it is made."""
        self._hear.append(hear)

    def on_stopped(self, hear: Callable[[str], None]) -> None:
        """Told the name of a browser in which the person stopped everything, whether anybody works there or not."""

        def follow(link: Link) -> None:
            link.on_state(lambda state: hear(link.name) if state == "stopped" else None)

        self.on_new(follow)

    def named(self, name: str) -> Link | None:
        return self._links.get(name)

    def of(self, name: str, install: str) -> Link:
        """The link of a paired browser, made at its first connection."""
        link = self._links.get(name)
        if link is None or link.install != install:
            link = self._links[name] = Link(name, install)
            for hear in tuple(self._hear):
                hear(link)
        return link

    def forget(self, name: str) -> None:
        if link := self._links.pop(name, None):
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
    "unsupported": ("unsupported", []),
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
