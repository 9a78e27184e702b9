"""A session followed live: a WebSocket that sends what its tabs say and ask for and what happens in them.

Above: rest routes to it; http has checked Host, Origin and key. Below: gate. One JSON object a message; a client that
reads too slowly loses the oldest and is told how many.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.browser.stream import Stream, Wanted
from pilothouse.call import Caller
from pilothouse.doors import parcel, places, wire
from pilothouse.doors.http import KEY_PROTOCOL
from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure
from pilothouse.gate import Gate

PROTOCOL = "pilothouse"


class Follower:
    def __init__(self, gate: Gate, caller: Callable[[Scope], Caller]) -> None:
        self._gate = gate
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        try:
            caller = self._caller(scope)
            session = places.own_session(self._gate, caller, scope["path_params"]["session"])
            protocol = chosen_protocol(scope["subprotocols"])
            # Before anything is awaited: nothing between then and now is missed.
            stream = self._gate.watch(caller, session, _wanted(socket))
        except Refused as refused:
            await socket.send_denial_response(parcel.refusal(refused))
            return
        except Failure as failure:
            await socket.send_denial_response(parcel.refusal(Refused(failure.status, failure)))
            return
        try:
            await socket.accept(protocol)
            await _talk(socket, stream)
        finally:
            stream.end()


async def _talk(socket: WebSocket, stream: Stream) -> None:
    writer = asyncio.create_task(_write(socket, stream))
    reader = asyncio.create_task(_until_left(socket))
    try:
        done, _ = await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        writer.cancel()
        reader.cancel()


async def _write(socket: WebSocket, stream: Stream) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it left while we wrote
        async for line in stream:
            await socket.send_text(wire.encode(line).decode())
        await socket.close(1000, "the session is closed")


async def _until_left(socket: WebSocket) -> None:
    """A follower only listens: what it says is not read."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def chosen_protocol(offered: list[str]) -> str | None:
    """A browser insists that one of those it offered is chosen, and the one that carries the key is not repeated."""
    if PROTOCOL in offered:
        return PROTOCOL
    if any(one.startswith(KEY_PROTOCOL) for one in offered):
        hint = f"offer {PROTOCOL} besides the key"
        raise Failure("bad_request", "the only protocol offered is a key", suggestions=[hint])
    return None


def _wanted(socket: WebSocket) -> Wanted:
    """The query: `kinds=console,network&level=error&since=0`. Without kinds, events; lists have commas."""
    asked: dict[str, Any] = {"kinds": "events"} | dict(socket.query_params)
    given = {name: asked[name] for name in Wanted.__struct_fields__ if name in asked}
    for name in given.keys() & {"kinds", "level", "method", "type"}:
        given[name] = given[name].split(",")
    try:
        return msgspec.convert(given, Wanted, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as reason:
        hints = ["kinds: console, network, events", "since: the number of an event, or epoch ms"]
        raise Failure("bad_request", f"the query is not understood: {reason}", suggestions=hints) from None
