"""`/bridge`: the WebSocket of the person's own Chrome. Its extension comes with a secret, or once with a code.

Above: http, which has checked Host and that the Origin is exactly our extension's. Below: guard's pairing (who may
come), providers' link (the browser that the rest of the house sees). All checks are made before the socket is
accepted, and a second connection never takes the place of a first one that still answers.
"""

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse import __version__
from pilothouse.doors import parcel
from pilothouse.doors.parcel import Refused
from pilothouse.doors.person import Record
from pilothouse.errors import Failure
from pilothouse.guard.pairing import Paired, Pairing
from pilothouse.guard.rates import Rates
from pilothouse.providers import frames
from pilothouse.providers.frames import PROTOCOL, Frame, Hello
from pilothouse.providers.link import Link, Links

CHOSEN = f"pilothouse.{PROTOCOL}"
SECRET = "pilothouse.secret."
CODE = "pilothouse.code."
HELLO_S = 5.0
SILENCE_S = 75.0  # an extension says something every 20 s
NEWS_PER_MINUTE = 60_000  # tabs that change; what the debugger says has no such limit
MAX_UNSENT_BYTES = 256 * 1024 * 1024
TRIES_PER_MINUTE = 60

_BAD_FRAME, _TOO_MUCH, _REFUSED = 1007, 1008, 4403
_log = logging.getLogger(__name__)


class BridgeDoor:
    def __init__(self, pairing: Pairing, links: Links, record: Record) -> None:
        self._pairing = pairing
        self._links = links
        self._record = record
        self._tries = Rates(TRIES_PER_MINUTE)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.misfit = ""  # what the last extension was told whose protocol is another one

    def routes(self) -> list[BaseRoute]:
        return [WebSocketRoute("/bridge", self), Route("/bridge", self._tell_why, methods=["POST"])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        try:
            paired = self._known(scope["subprotocols"])
        except Failure as failure:
            await self._deny(socket, failure)
            return
        if paired is None:
            await self._pair(socket)
            return
        async with self._turns[paired.install]:
            try:
                await self._refuse_second(paired)
            except Failure as failure:
                await self._deny(socket, failure)
                return
            await socket.accept(CHOSEN)
            came = await self._greeted(socket, paired)
        if came:
            await came.run()

    def _known(self, offered: list[str]) -> Paired | None:
        """Who it is; None for one that brings a good code."""
        if CHOSEN not in offered:
            raise Failure("bad_request", "this door speaks another protocol", suggestions=[f"offer {CHOSEN}"])
        codes = [one.removeprefix(CODE) for one in offered if one.startswith(CODE)]
        if codes:
            self._pairing.redeem(codes[0])
            return None
        secret = next((one.removeprefix(SECRET) for one in offered if one.startswith(SECRET)), "")
        return self._paired(secret)

    def _paired(self, secret: str) -> Paired:
        found = self._pairing.who(secret) if secret else None
        if found is None:
            hint = "pair it: `pilothouse extension pair` shows a code for the extension's popup"
            raise Failure("unauthorized", "this browser is not paired (any more)", suggestions=[hint])
        return found

    async def _refuse_second(self, paired: Paired) -> None:
        link = self._links.named(paired.name)
        if link and link.connected and await link.ping():
            self._note("bridge_second", paired.name)
            raise Failure("in_use", f"{paired.name} is connected already, and answers", suggestions=["use that one"])

    async def _deny(self, socket: WebSocket, failure: Failure) -> None:
        self._note("bridge_refused", failure.message)
        await socket.send_denial_response(parcel.refusal(Refused(failure.status, failure)))

    def _note(self, kind: str, why: str) -> None:
        """For the log; somebody who tries without end fills no disk."""
        with contextlib.suppress(Failure):
            self._tries.count(kind)
            self._record.note(kind, why=why)

    async def _pair(self, socket: WebSocket) -> None:
        """Its code was good, and is used up. Only its first words tell which browser it is."""
        await socket.accept(CHOSEN)
        hello = await self._hello(socket)
        if hello is None:
            return
        async with self._turns[hello.install]:
            try:
                before = next((one for one in self._pairing.browsers() if one.install == hello.install), None)
                if before:
                    await self._refuse_second(before)
                paired, secret = await asyncio.to_thread(self._pairing.add, hello.install, hello.name)
            except Failure as failure:
                await _refuse(socket, failure.code, failure.message)
                return
            self._record.note("browser_paired", name=paired.name, install=paired.install)
            came = self._arrived(socket, paired, hello, secret)
        await came.run()

    async def _greeted(self, socket: WebSocket, paired: Paired) -> "_Visit | None":
        hello = await self._hello(socket)
        if hello is None:
            return None
        if hello.install != paired.install:
            await _refuse(socket, "unauthorized", "this secret belongs to another browser; pair this one")
            return None
        return self._arrived(socket, paired, hello)

    async def _hello(self, socket: WebSocket) -> Hello | None:
        """The first frame, or None when it was none that fits; then the socket is closed with the reason."""
        try:
            frame = frames.read((await asyncio.wait_for(socket.receive_text(), HELLO_S)).encode())
            protocol = _protocol(frame)
            if protocol != PROTOCOL:
                self.misfit = _misfit(protocol)
                await _refuse(socket, "version", self.misfit)
                return None
            return frames.hello(frame.payload)
        except WebSocketDisconnect:
            return None
        except TimeoutError:
            await _refuse(socket, "timeout", "no hello came")
        except (ValueError, KeyError) as reason:
            await _refuse(socket, "bad_request", f"this is no hello: {str(reason)[:200]}")
        return None

    def _arrived(self, socket: WebSocket, paired: Paired, hello: Hello, secret: str = "") -> "_Visit":
        link = self._links.of(paired.name, paired.install)
        visit = _Visit(socket, link)
        told: dict[str, Any] = {"protocol": PROTOCOL, "version": __version__, "name": paired.name}
        visit.send(frames.encode({"type": "welcome", "payload": told | ({"secret": secret} if secret else {})}))
        self.misfit = ""
        link.arrive(hello, visit)
        return visit

    async def _tell_why(self, request: Request) -> Response:
        """A refused WebSocket tells a browser nothing; here its extension asks what the matter is."""
        secret = request.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            link = self._links.named(self._paired(secret).name)
        except Failure as failure:
            return parcel.refusal(Refused(failure.status, failure))
        data = {"paired": True, "connected": bool(link and link.connected), "version": __version__}
        return parcel.as_json({"success": True, "data": data, "metadata": {"timestamp": int(time.time() * 1000)}})


class _Visit:
    """One socket from hello to its end: the `Wire` of its link."""

    def __init__(self, socket: WebSocket, link: Link) -> None:
        self._socket = socket
        self._link = link
        self._unsent: asyncio.Queue[bytes | tuple[int, str]] = asyncio.Queue()
        self._unsent_bytes = 0
        self._heard = time.monotonic()
        self._news = Rates(NEWS_PER_MINUTE)
        self._over: tuple[int, str] | None = None

    def send(self, frame: bytes) -> None:
        if self._over:
            return
        self._unsent_bytes += len(frame)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self.close(_TOO_MUCH, "it does not read")
            return
        self._unsent.put_nowait(frame)

    def close(self, code: int, reason: str) -> None:
        if self._over is None:
            self._over = (code, reason)
            self._unsent.put_nowait(self._over)

    async def run(self) -> None:
        tasks = [asyncio.create_task(work) for work in (self._read(), self._write(), self._until_silent())]
        why = "the daemon ends"
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            why = done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            self._link.leave(self, why)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(*(self._over or (1000, "")))

    async def _read(self) -> str:
        try:
            while True:
                self._take((await self._socket.receive_text()).encode())
        except WebSocketDisconnect:
            return "the browser closed it"
        except Failure:
            self._over = self._over or (_TOO_MUCH, "it says too much")
        except (ValueError, KeyError) as reason:
            _log.warning("%s sent what is no frame: %s", self._link.name, str(reason)[:200])
            self._over = self._over or (_BAD_FRAME, "this is no frame of the protocol")
        return self._over[1]

    def _take(self, data: bytes) -> None:
        self._heard = time.monotonic()
        frame = frames.read(data)
        if frame.type == "alive":
            self.send(b'{"type":"alive"}')
            return
        if frame.type not in ("response", "cdp"):
            self._news.count("news")
        self._link.take(frame)

    async def _write(self) -> str:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it left while we wrote
            while not isinstance(frame := await self._unsent.get(), tuple):
                await self._socket.send_text(frame.decode())
                self._unsent_bytes -= len(frame)
            return frame[1]
        return "the browser closed it"

    async def _until_silent(self) -> str:
        while True:
            left = self._heard + SILENCE_S - time.monotonic()
            if left <= 0:
                return "it was silent for too long"
            await asyncio.sleep(left)


def _protocol(frame: Frame) -> int:
    if frame.type != "hello":
        raise ValueError(f"the first frame is a {frame.type}")
    return int(frames.parsed(frame.payload)["protocol"])


def _misfit(protocol: int) -> str:
    older = "extension" if protocol < PROTOCOL else "daemon"
    step = "reload it in chrome://extensions" if protocol < PROTOCOL else "update pilothouse and restart its daemon"
    return f"the {older} is older (extension speaks protocol {protocol}, daemon {PROTOCOL}): {step}"


async def _refuse(socket: WebSocket, code: str, message: str) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        refusal = {"type": "refused", "payload": {"code": code, "message": message}}
        await socket.send_text(frames.encode(refusal).decode())
        await socket.close(_REFUSED, code)
