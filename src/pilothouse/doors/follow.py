"""A session followed live: a WebSocket that sends what happens in it, one JSON object a message.

Above: rest routes to it; http has checked Host, Origin and key. Below: gate. A client that reads too slowly loses the
oldest messages and is told how many.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.browser.watch import Event
from pilothouse.doors import notices, parcel, wire
from pilothouse.doors.http import KEY_PROTOCOL
from pilothouse.doors.parcel import Refused
from pilothouse.doors.places import OWN
from pilothouse.errors import Failure
from pilothouse.gate import Caller, Gate

PROTOCOL = "pilothouse"
KINDS = ("events",)
MAX_WAITING = 1000
CHECK_S = 10.0  # how soon a follower learns that its session is over

Line = dict[str, Any]


class Follower:
    def __init__(self, gate: Gate, caller: Callable[[Scope], Caller]) -> None:
        self._gate = gate
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        try:
            caller = self._caller(scope)
            session = self._session(caller, scope["path_params"]["session"])
            since = _since(socket)
            _check_kinds(socket)
            protocol = _protocol(scope["subprotocols"])
            past = self._gate.events(caller, session)
        except Refused as refused:
            await socket.send_denial_response(parcel.refusal(refused))
            return
        except Failure as failure:
            await socket.send_denial_response(parcel.refusal(Refused(failure.status, failure)))
            return
        lines = _Lines(event for event in past if since is not None and event.number > since)
        await self._serve(socket, caller, session, lines, protocol)

    def _session(self, caller: Caller, named: str) -> str:
        """The handle, whatever it was called by: events carry that."""
        if named not in OWN:
            return self._gate.session_id(caller, named)
        own = self._gate.session_ids(caller)
        if len(own) != 1:
            hint = "open one with open_session" if not own else "put its handle into the address"
            message = f"{len(own)} sessions are open: name one"
            raise Failure("not_found", message, details={"sessions": own}, suggestions=[hint])
        return own[0]

    async def _serve(
        self, socket: WebSocket, caller: Caller, session: str, lines: "_Lines", protocol: str | None
    ) -> None:
        def hear(key: str, connection: str, event: Event) -> None:
            if event.session == session and (key, connection) == (caller.key, caller.connection):
                lines.add(event)

        unfollow = self._gate.follow(hear)  # before anything is awaited: nothing between then and now is missed
        try:
            await socket.accept(protocol)
            await self._talk(socket, caller, session, lines)
        finally:
            unfollow()

    async def _talk(self, socket: WebSocket, caller: Caller, session: str, lines: "_Lines") -> None:
        writer = asyncio.create_task(self._write(socket, caller, session, lines))
        reader = asyncio.create_task(_until_left(socket))
        try:
            done, _ = await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            writer.cancel()
            reader.cancel()

    async def _write(self, socket: WebSocket, caller: Caller, session: str, lines: "_Lines") -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it left while we wrote
            while True:
                for line in lines.take():
                    await socket.send_text(wire.encode(line).decode())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(lines.stirred.wait(), CHECK_S)
                if session not in self._gate.session_ids(caller):
                    await socket.close(1000, "the session is closed")
                    return


class _Lines:
    """What waits to be sent."""

    def __init__(self, past: Iterable[Event]) -> None:
        self._waiting: deque[Line] = deque(map(_line, past), maxlen=MAX_WAITING)
        self._lost = 0
        self.stirred = asyncio.Event()

    def add(self, event: Event) -> None:
        self._lost += len(self._waiting) == MAX_WAITING
        self._waiting.append(_line(event))
        self.stirred.set()

    def take(self) -> Iterator[Line]:
        if self._lost:
            yield {"kind": "lost", "count": self._lost}
            self._lost = 0
        while self._waiting:
            yield self._waiting.popleft()
        self.stirred.clear()


def _line(event: Event) -> Line:
    return {"number": event.number, **notices.data_of(event)}


async def _until_left(socket: WebSocket) -> None:
    """A follower only listens: what it says is not read."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _protocol(offered: list[str]) -> str | None:
    """A browser insists that one of those it offered is chosen, and the one that carries the key is not repeated."""
    if PROTOCOL in offered:
        return PROTOCOL
    if any(one.startswith(KEY_PROTOCOL) for one in offered):
        hint = f"offer {PROTOCOL} besides the key"
        raise Failure("bad_request", "the only protocol offered is a key", suggestions=[hint])
    return None


def _since(socket: WebSocket) -> int | None:
    """Events after that number are told first; without it, only what happens from now on."""
    given = socket.query_params.get("since")
    if given is not None and not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise Failure("bad_request", "since is the number of an event")
    return None if given is None else int(given)


def _check_kinds(socket: WebSocket) -> None:
    kinds = socket.query_params.get("kinds", "events").split(",")
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise Failure("bad_request", f"unknown kinds: {', '.join(unknown)[:200]}", suggestions=[f"kinds: {KINDS}"])
