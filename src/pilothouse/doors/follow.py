"""A session followed live: a WebSocket that sends what its tabs say and ask for and what happens in them.

Above: rest routes to it; http has checked Host, Origin and key. Below: gate. One JSON object a message; a client that
reads too slowly loses the oldest and is told how many.
"""

import asyncio
import contextlib
from collections.abc import Callable, Generator
from typing import Any

import msgspec
from starlette.types import Scope
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.browser.stream import Stream, Wanted
from pilothouse.call import Caller
from pilothouse.doors import places, wire
from pilothouse.doors.address import LiveAddress
from pilothouse.errors import Failure
from pilothouse.gate import Gate


class Follower:
    def __init__(self, gate: Gate, caller: Callable[[Scope], Caller]) -> None:
        self._gate = gate
        self._caller = caller

    def address(self) -> LiveAddress[Stream]:
        return LiveAddress(self._enter, _talk)

    @contextlib.contextmanager
    def _enter(self, socket: WebSocket) -> Generator[Stream]:
        """Nothing is awaited meanwhile: nothing between the question and the stream is missed."""
        caller = self._caller(socket.scope)
        session = places.own_session(self._gate, caller, socket.path_params["session"])
        stream = self._gate.watch(caller, session, _wanted(socket))
        try:
            yield stream
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
