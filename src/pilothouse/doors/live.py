"""`/api/live`: everything a person's page shows, as it happens, over one WebSocket; and what they do there.

Above: http; person lets the person in and nobody else. Below: wishes, outbox, wheel, guard's approvals and log.
First all that is so (`state`), then each thing as it comes, with `?shots` that a picture was taken of a write. Records
of the log are numbered, so that a page sees a gap and reads it from `/api/activity`. Pictures travel as binary
messages: the length of a JSON head, the head, a JPEG. Who reads too slowly gets fewer pictures and lines.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import pilothouse
from pilothouse.browser.stream import Stream, Wanted
from pilothouse.doors.address import LiveAddress
from pilothouse.doors.outbox import Outbox
from pilothouse.doors.person import PERSON, PersonOnly
from pilothouse.doors.wishes import (
    Answer,
    AnswerDialog,
    End,
    EndPick,
    Follow,
    GiveBack,
    Look,
    Move,
    Pick,
    Point,
    Take,
    Told,
    Unfollow,
    Unwatch,
    Watch,
    parsed,
)
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard.audit import Audit
from pilothouse.guard.policy import Policy
from pilothouse.metrics import Sample, process_samples
from pilothouse.wheel import Frame, Viewer, Wheel

MAX_WATCHED = 12
MAX_FOLLOWED = 4
LOOK_S = 0.5  # how often sessions are looked at for what no event tells of
HEALTH_S = 2.0
SLOW_S = 0.5
log = logging.getLogger(__name__)

Shown = dict[str, Any]


class LiveDoor:
    def __init__(self, gate: Gate, wheel: Wheel, audit: Audit, policy: Policy, person: PersonOnly) -> None:
        self.gate = gate
        self.wheel = wheel
        self.audit = audit
        self.policy = policy
        self._person = person

    def routes(self) -> list[WebSocketRoute]:
        return [WebSocketRoute("/api/live", LiveAddress(self._person.entering, self._talk))]

    async def _talk(self, socket: WebSocket, given: None) -> None:
        await _Visitor(self, socket).stay()

    def state(self) -> Shown:
        approvals = self.gate.approvals
        return {
            "kind": "state",
            "version": pilothouse.__version__,
            "sessions": self.wheel.sessions(),
            "pending": approvals.pending(),
            "recent": approvals.recent(),
            "grants": approvals.grants(),
            "last": self.audit.number,
        }

    async def health(self) -> Shown:
        calls, failed, seconds = self.gate.metrics.totals()
        samples = [*process_samples(), *await self.gate.samples()]
        numbers = {one.name: one.value for one in samples if not one.labels}
        numbers |= {"calls_total": calls, "failures_total": failed, "call_seconds_total": seconds}
        return {
            "kind": "health",
            "numbers": numbers,
            "browsers": _by_label(samples, "browser"),
            "endpoints": _by_label(samples, "endpoint"),
        }


class _Visitor:
    """One open page."""

    def __init__(self, door: LiveDoor, socket: WebSocket) -> None:
        self._door = door
        self._socket = socket
        self._outbox = Outbox()
        self._viewers: dict[tuple[str, str], Viewer] = {}
        self._looked_at: set[tuple[str, str]] = set()  # also what is only about to be shown
        self._streams: dict[tuple[str, str], tuple[Stream, asyncio.Task[None]]] = {}
        self._stirred = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()

    async def stay(self) -> None:
        door, outbox = self._door, self._outbox
        state = door.state()
        outbox.say(state)
        ties = [
            door.gate.approvals.follow(outbox.say),
            door.audit.follow(lambda record: outbox.say({"kind": "record", "record": record})),
            door.policy.on_change(lambda: outbox.say({"kind": "policy"})),
            door.wheel.on_event(self._stirred.set),
        ]
        if "shots" in self._socket.query_params:  # they cost the agent's browser some of its time
            ties.append(door.wheel.follow_shots(outbox.say))
        tasks = [
            asyncio.create_task(one)
            for one in (self._write(), self._read(), self._watch_sessions(state["sessions"]), self._tell_health())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            for untie in ties:
                untie()
            for task in (*tasks, *self._work):
                task.cancel()
            self._leave()

    def _leave(self) -> None:
        for stream, task in self._streams.values():
            stream.end()
            task.cancel()
        for viewer in self._viewers.values():
            viewer.leave()

    async def _write(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it left while we wrote
            await self._outbox.deliver(self._socket)

    async def _watch_sessions(self, seen: list[Shown]) -> None:
        """At once when something happens, else now and then: that a call began, or a title came, nobody tells."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stirred.wait(), LOOK_S)
            self._stirred.clear()
            if (now := self._door.wheel.sessions()) != seen:
                seen = now
                self._outbox.say({"kind": "sessions", "sessions": now})

    async def _tell_health(self) -> None:
        while True:
            self._outbox.say(await self._door.health())
            await asyncio.sleep(HEALTH_S)

    # What the page says

    async def _read(self) -> None:
        while (message := await self._socket.receive())["type"] != "websocket.disconnect":
            raw = message.get("text") or ""
            try:
                command = parsed(raw)
            except Failure as failure:
                self._outbox.say({"kind": "failed", "id": 0, "error": failure.to_dict()})
                continue
            if isinstance(command, Move):
                self._move(command)  # at once: gestures have an order
            else:
                self._begin(command)

    def _begin(self, command: Told) -> None:
        task = asyncio.create_task(self._answer(command))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _move(self, command: Move) -> None:
        try:
            self._door.wheel.move(command.session, command.tab, command.gestures)
        except Failure as failure:
            self._outbox.say({"kind": "failed", "id": command.id, "error": failure.to_dict()})

    async def _answer(self, command: Told) -> None:
        try:
            data = await self._deed(command)
        except Failure as failure:
            self._outbox.say({"kind": "failed", "id": command.id, "error": failure.to_dict()})
        except Exception:  # a page that asks is always answered
            log.exception("%s failed", type(command).__name__)
            failure = Failure("system", "Pilothouse failed; its log says why")
            self._outbox.say({"kind": "failed", "id": command.id, "error": failure.to_dict()})
        else:
            self._outbox.say({"kind": "done", "id": command.id, "data": data})
            self._stirred.set()

    def _deed(self, command: Any) -> Awaitable[Any]:
        wheel = self._door.wheel
        deeds: dict[type, Callable[[], Awaitable[Any]]] = {
            Answer: lambda: self._answered(command),
            Watch: lambda: self._watch(command),
            Unwatch: lambda: self._unwatch((command.session, command.tab)),
            Follow: lambda: self._follow(command),
            Unfollow: lambda: self._unfollow((command.session, command.tab)),
            Look: lambda: wheel.request(command.session, command.tab, command.request),
            Take: lambda: wheel.take(command.session),
            GiveBack: lambda: wheel.give_back(command.session),
            AnswerDialog: lambda: wheel.answer_dialog(
                command.session, command.tab, command.number, command.accept, command.text
            ),
            Pick: lambda: wheel.pick(command.session, command.tab),
            Point: lambda: wheel.point(command.session, command.tab, command.x, command.y, presses=command.presses),
            EndPick: lambda: wheel.end_pick(command.session, command.tab),
            End: lambda: self._door.gate.end_session(command.session),
        }
        return deeds[type(command)]()

    async def _answered(self, command: Answer) -> Shown:
        approvals = self._door.gate.approvals
        ended = await approvals.answer(command.approval, command.answer, command.scope, by=PERSON)
        return {"approval": command.approval, "outcome": ended["outcome"]}

    async def _watch(self, command: Watch) -> None:
        place = (command.session, command.tab)
        if place in self._viewers:
            return
        if len(self._viewers) >= MAX_WATCHED:
            raise Failure("over_limit", f"{MAX_WATCHED} pictures are shown already")
        self._looked_at.add(place)
        self._outbox.look(place, SLOW_S if command.slow else 0)
        shown: list[Viewer] = []

        def show(frame: Frame) -> None:
            self._outbox.show(place, frame, shown[0] if shown else None)

        try:
            viewer = await self._door.wheel.watch(command.session, command.tab, show)
        except Failure:
            await self._unwatch(place)
            raise
        shown.append(viewer)
        viewer.taken()
        if place in self._viewers or place not in self._looked_at:  # asked for twice at once, or no longer
            viewer.leave()
        else:
            self._viewers[place] = viewer

    async def _unwatch(self, place: tuple[str, str]) -> None:
        self._looked_at.discard(place)
        self._outbox.drop(place)
        if viewer := self._viewers.pop(place, None):
            viewer.leave()

    async def _follow(self, command: Follow) -> None:
        place = (command.session, command.tab)
        if place in self._streams:
            return
        if len(self._streams) >= MAX_FOLLOWED:
            raise Failure("over_limit", f"{MAX_FOLLOWED} tabs are followed already")
        wanted = Wanted(kinds=["console", "network", "events"], since=0)
        stream = self._door.wheel.follow(command.session, command.tab, wanted)
        self._streams[place] = (stream, asyncio.create_task(self._pass_on(place, stream)))

    async def _pass_on(self, place: tuple[str, str], stream: Stream) -> None:
        async for line in stream:
            await self._outbox.tell({"kind": "line", "session": place[0], "of": place[1], "line": line})

    async def _unfollow(self, place: tuple[str, str]) -> None:
        if found := self._streams.pop(place, None):
            found[0].end()
            found[1].cancel()


def _by_label(samples: list[Sample], label: str) -> dict[str, Shown]:
    """Of each thing of that kind, its numbers by their names."""
    found: dict[str, Shown] = {}
    for one in samples:
        if name := dict(one.labels).get(label):
            found.setdefault(name, {})[one.name.removeprefix(f"{label}_")] = one.value
    return found
