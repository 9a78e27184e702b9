"""`/signaling`: where browsers offer tabs for inspection, and clients ask what happens in them.

Above: http has checked Host, and that an Origin is the extension's. Below: the hub; guard's handshake, and the users'
keys, which say whose tabs these are. A browser shows the extension's Origin and the proof of its pairing or a user's
key; a client has no Origin and a user's key. An agent's key opens nothing here: agents have the tools, which the policy
judges and the log tells of.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.cocoons import LOCAL, Cocoons
from pilothouse.doors import parcel, proof
from pilothouse.doors.address import PROTOCOL
from pilothouse.doors.http import SIGNALING_PATH, bearer, turn_away
from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure
from pilothouse.guard.handshake import Handshake
from pilothouse.guard.rates import Rates
from pilothouse.hub.hub import Hub
from pilothouse.hub.visitor import Visitor
from pilothouse.hub.words import (
    ConsoleEntry,
    Follow,
    Followed,
    FromClient,
    GetConsole,
    GetNetwork,
    ListTabs,
    Missed,
    from_client,
)

LOOK_S = 2.0
MAX_UNSENT = 64 * 1024 * 1024
MAX_ASKED = 32  # of one client at a time
TRIES_PER_MINUTE = 600
_BAD_FRAME = 4400
_CODES = {"unauthorized": 4401, "over_limit": 4429}
_log = logging.getLogger(__name__)


class _Guest(NamedTuple):
    """`still` says whether what let it in is good yet. `protocol` is what its socket speaks; a browser that showed a
    proof hears ours, `greeting`, before anything else."""

    user: str
    still: Callable[[], bool]
    protocol: str | None
    greeting: dict[str, Any] | None = None


class SignalingDoor:
    """`handshake` knows the browsers of this daemon; a hub that is alone has none. `on_refused` hears with which key
    somebody was turned away."""

    def __init__(
        self,
        hub: Hub,
        cocoons: Cocoons,
        handshake: Handshake | None = None,
        on_refused: Callable[[str], None] = lambda key: None,
    ) -> None:
        self._hub = hub
        self._cocoons = cocoons
        self._handshake = handshake
        self._on_refused = on_refused
        self._tries = Rates(TRIES_PER_MINUTE)
        self._visitors: set[Visitor] = set()

    @property
    def idle_browsers(self) -> int:
        """Those that are connected and offer nothing."""
        return sum(not one.tabs for one in self._visitors)

    def routes(self) -> list[WebSocketRoute]:
        return [WebSocketRoute(SIGNALING_PATH, self._enter)]

    async def _enter(self, socket: WebSocket) -> None:
        is_browser = "origin" in socket.headers
        try:
            guest = self._welcome(socket, is_browser=is_browser)
        except Failure as failure:
            if is_browser:
                await turn_away(socket, failure.status, failure.message)
            else:
                await socket.send_denial_response(parcel.refusal(Refused(failure.status, failure)))
            return
        await socket.accept(guest.protocol)
        line = _Line(socket, guest.still)
        if guest.greeting:
            line.send(guest.greeting)
        await line.run(self._browser(line, guest.user) if is_browser else self._client(line, guest.user))

    def _welcome(self, socket: WebSocket, *, is_browser: bool) -> _Guest:
        """Only those who are not let in are counted: nobody can use up the others' turns."""
        offered: list[str] = socket.scope["subprotocols"]
        try:
            if is_browser and proof.is_shown(offered) and self._handshake:
                return _paired(self._handshake, offered)
            user = self._user(socket)
            still = lambda: self._cocoons.user_of(bearer(socket.scope)) == user
            return _Guest(user, still, PROTOCOL if PROTOCOL in offered else None)
        except Failure:
            self._on_refused(bearer(socket.scope))
            self._tries.count("signaling")
            raise

    def _user(self, socket: WebSocket) -> str:
        key = bearer(socket.scope)
        if key and (user := self._cocoons.user_of(key)):
            return user
        raise Failure(
            "unauthorized",
            "the key of a user of this hub is missing or wrong",
            suggestions=[
                "a browser is paired or has its user's key in its options; `pilothouse user add` makes one",
                "agents have browser_debug_list_tabs and its sisters, programs `pilothouse browser-debug … --follow`",
            ],
        )

    async def _browser(self, line: "_Line", user: str) -> None:
        visitor = Visitor(self._hub, user, line.send)
        self._visitors.add(visitor)
        _log.info("a browser of %s is here", user)
        try:
            async for frame in line.frames():
                visitor.take(frame)
        finally:
            self._visitors.discard(visitor)
            visitor.leave()
            _log.info("a browser of %s has left", user)

    async def _client(self, line: "_Line", user: str) -> None:
        tasks: set[asyncio.Task[None]] = set()
        try:
            async for frame in line.frames():
                if len(tasks) >= MAX_ASKED:
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                task = asyncio.create_task(self._answer(line, user, frame))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            for task in tasks:
                task.cancel()

    async def _answer(self, line: "_Line", user: str, frame: bytes) -> None:
        try:
            asked: FromClient = from_client.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            failure = Failure("bad_request", f"this is nothing that a client asks: {str(error)[:200]}")
            line.send({"type": "browser_debug_error", "error": failure.to_dict()})
            return
        try:
            if isinstance(asked, Follow):
                await self._tell_all(line, user, asked)
            else:
                line.send(await self._told(user, asked))
        except Failure as failure:
            line.send({"type": "browser_debug_error", "request_id": asked.request_id, "error": failure.to_dict()})

    async def _tell_all(self, line: "_Line", user: str, asked: Follow) -> None:
        async for what in self._hub.followed(user, asked.token):
            match what:
                case ConsoleEntry():
                    line.send(Followed(asked.request_id, entry=what))
                case Missed():
                    line.send(Followed(asked.request_id, missed=what.missed))
                case _:
                    line.send(Followed(asked.request_id, what))
        line.send(Followed(asked.request_id, closed=True))

    async def _told(self, user: str, asked: ListTabs | GetNetwork | GetConsole) -> dict[str, Any]:
        told: dict[str, Any] = {"request_id": asked.request_id} if asked.request_id else {}
        match asked:
            case ListTabs():
                return {"type": "browser_debug_tabs", **told, "tabs": self._hub.tabs(user)}
            case GetNetwork():
                found = await self._hub.network(user, asked.token, asked.filters)
                return {"type": "browser_debug_network_data", **told, "requests": found}
            case GetConsole():
                entries = await self._hub.console(user, asked.token, asked.filters)
                return {"type": "browser_debug_console_data", **told, "entries": entries}


class _Line:
    """A WebSocket read and written at once; it ends when `still` says no, and waits for no reader. The server's own
    pings find out whether the other end is there yet."""

    def __init__(self, socket: WebSocket, still: Callable[[], bool]) -> None:
        self._socket = socket
        self._still = still
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent_bytes = 0

    def send(self, message: Any) -> None:
        data = msgspec.json.encode(message)
        self._unsent_bytes += len(data)
        if self._unsent_bytes <= MAX_UNSENT:
            self._unsent.put_nowait(data)

    async def frames(self) -> AsyncIterator[bytes]:
        """What the other end says; `{"type": "alive"}` is answered here."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            frame = (message.get("text") or "").encode() or message.get("bytes") or b""
            if frame == b'{"type":"alive"}':
                self.send({"type": "alive"})
            else:
                yield frame

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        tasks = [asyncio.create_task(one) for one in (work, self._write(), self._until_over())]
        code, reason = 1000, ""
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except Failure as failure:
            code, reason = _CODES.get(failure.code, _BAD_FRAME), failure.message[:100]
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(code, reason)

    async def _write(self) -> None:
        while self._unsent_bytes <= MAX_UNSENT:
            data = await self._unsent.get()
            await self._socket.send_text(data.decode())
            self._unsent_bytes -= len(data)
        raise Failure("over_limit", "it does not read")

    async def _until_over(self) -> None:
        """Its key or its pairing is over."""
        while self._still():  # noqa: ASYNC110 - nobody tells of a key that is not good any more
            await asyncio.sleep(LOOK_S)
        raise Failure("unauthorized", "what let it in is not good any more")


def _paired(handshake: Handshake, offered: list[str]) -> _Guest:
    proven = proof.proven(handshake, offered, "signaling")
    return _Guest(LOCAL, lambda: handshake.holds(proven), proof.CHOSEN, proof.first_frame(proven))
