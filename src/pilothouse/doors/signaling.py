"""`/signaling`: where browsers offer tabs for inspection, and clients ask what happens in them.

Above: http has checked Host, and that an Origin is the extension's. Below: the hub; guard's handshake and keys, and the
users' keys, which say whose tabs these are. A browser shows the extension's Origin and the proof of its pairing or a
user's key; a client has no Origin and a key. No key opens the other role: an agent's never speaks for a browser.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.cocoons import LOCAL, Cocoons
from pilothouse.doors import parcel, proof
from pilothouse.doors.address import PROTOCOL
from pilothouse.doors.http import KEY_PROTOCOL, SIGNALING_PATH
from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure
from pilothouse.guard.handshake import Handshake
from pilothouse.guard.rates import Rates
from pilothouse.hub.hub import MAX_FRAME, Hub
from pilothouse.hub.words import (
    ConsoleEntry,
    Follow,
    Followed,
    FromClient,
    GetConsole,
    GetNetwork,
    ListTabs,
    from_client,
)

SILENCE_S = 90.0
LOOK_S = 2.0
MAX_UNSENT = 64 * 1024 * 1024
MAX_ASKED = 32  # of one client at a time
TRIES_PER_MINUTE = 600
_BAD_FRAME = 4400
_CODES = {"unauthorized": 4401, "over_limit": 4429}


class _Guest(NamedTuple):
    """`still` says whether what let it in is good yet. `protocol` is what its socket speaks; a browser that showed a
    proof hears ours, `greeting`, before anything else."""

    user: str
    still: Callable[[], bool]
    protocol: str | None
    greeting: dict[str, Any] | None = None


class SignalingDoor:
    """`who` names the owner of a key of this daemon, as at every door; `handshake` knows its browsers. A hub that is
    alone has neither."""

    def __init__(
        self,
        hub: Hub,
        cocoons: Cocoons,
        who: Callable[[str], str | None] = lambda key: None,
        handshake: Handshake | None = None,
    ) -> None:
        self._hub = hub
        self._cocoons = cocoons
        self._who = who
        self._handshake = handshake
        self._tries = Rates(TRIES_PER_MINUTE)
        self.browsers = 0

    def routes(self) -> list[WebSocketRoute]:
        return [WebSocketRoute(SIGNALING_PATH, self._enter)]

    async def _enter(self, socket: WebSocket) -> None:
        is_browser = "origin" in socket.headers
        try:
            guest = self._welcome(socket, is_browser=is_browser)
        except Failure as failure:
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
            user = self._user(socket, is_browser=is_browser)
            still = lambda: self._user(socket, is_browser=is_browser) == user
            return _Guest(user, still, PROTOCOL if PROTOCOL in offered else None)
        except Failure:
            self._tries.count("signaling")
            raise

    def _user(self, socket: WebSocket, *, is_browser: bool) -> str:
        scheme, _, bearer = socket.headers.get("authorization", "").partition(" ")
        key = _after(KEY_PROTOCOL, socket.scope["subprotocols"]) or (
            bearer.strip() if scheme.lower() == "bearer" else ""
        )
        if key and (user := self._cocoons.user_of(key)):
            return user
        if key and not is_browser and (self._who(key) or "").startswith("agent:"):
            return LOCAL
        hint = "a browser is paired or has its user's key in its options; a client sends its key"
        raise Failure("unauthorized", "the key is missing or wrong", suggestions=[hint])

    async def _browser(self, line: "_Line", user: str) -> None:
        visitor = self._hub.join(user, line.send)
        self.browsers += 1
        try:
            async for frame in line.frames():
                visitor.take(frame)
        finally:
            self.browsers -= 1
            visitor.leave()

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
            is_line = isinstance(what, ConsoleEntry)
            line.send(Followed(asked.request_id, None if is_line else what, what if is_line else None))
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
    """A WebSocket read and written at once; it ends after silence or when `still` says no, and waits for no reader."""

    def __init__(self, socket: WebSocket, still: Callable[[], bool]) -> None:
        self._socket = socket
        self._still = still
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent_bytes = 0
        self._heard = time.monotonic()

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
            self._heard = time.monotonic()
            frame = (message.get("text") or "").encode() or message.get("bytes") or b""
            if len(frame) > MAX_FRAME:
                raise Failure("bad_request", "the frame is too large")
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
        """It was silent for too long, or its key or its pairing is over."""
        silent = False
        while not silent:
            if not self._still():
                raise Failure("unauthorized", "what let it in is not good any more")
            await asyncio.sleep(LOOK_S)
            silent = time.monotonic() - self._heard > SILENCE_S


def _paired(handshake: Handshake, offered: list[str]) -> _Guest:
    proven = proof.proven(handshake, offered, "signaling")
    return _Guest(LOCAL, lambda: handshake.holds(proven), proof.CHOSEN, proof.first_frame(proven))


def _after(prefix: str, offered: list[str]) -> str:
    return next((one.removeprefix(prefix) for one in offered if one.startswith(prefix)), "")
