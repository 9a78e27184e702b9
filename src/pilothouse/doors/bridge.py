"""`/bridge`: the WebSocket of the person's own Chrome. Its extension has a secret, or for the first time a code.

Above: http, which has checked Host and that the Origin is exactly our extension's. Below: guard's handshake (who may
come, and that we are who we are), providers' link (the browser that the rest of the house sees). A POST begins; all
checks are made before the socket is accepted, and a second connection never takes the place of a first one that still
answers.
"""

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse import __version__
from pilothouse.doors import parcel, proof
from pilothouse.doors.http import BRIDGE_PATH
from pilothouse.doors.parcel import Refused
from pilothouse.doors.person import Record
from pilothouse.errors import Failure
from pilothouse.guard.handshake import Handshake, Proven
from pilothouse.guard.pairing import Paired, Pairing
from pilothouse.guard.rates import Rates
from pilothouse.providers import frames
from pilothouse.providers.frames import Hello
from pilothouse.providers.link import Link, Links

HELLO_S = 5.0
CLOSE_S = 2.0  # in which a socket that is closed may still be told why
SILENCE_S = 75.0  # an extension says something every 20 s
NEWS_PER_MINUTE = 60_000  # tabs that change; what the debugger says has no such limit
MAX_UNSENT_BYTES = 256 * 1024 * 1024
TRIES_PER_MINUTE = 60
MISFIT_S = 600.0  # an extension that does not fit asks again every minute

_NO_MORE = {"connection": "close"}  # a question is no client that a daemon has to stay for
_BAD_FRAME, _TOO_MUCH, _REFUSED = 1007, 1008, 4403
_log = logging.getLogger(__name__)


class BridgeDoor:
    def __init__(self, pairing: Pairing, links: Links, record: Record, *, port: int) -> None:
        self._pairing = pairing
        self.handshake = Handshake(pairing, port)
        self._port = port
        self._links = links
        self._record = record
        self._tries = Rates(TRIES_PER_MINUTE)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._keeping: set[asyncio.Future[None]] = set()
        self._misfits: dict[str, tuple[str, float]] = {}  # by install: what did not fit, and when

    def routes(self) -> list[BaseRoute]:
        return [WebSocketRoute(BRIDGE_PATH, self), Route(BRIDGE_PATH, self._meet, methods=["POST"])]

    @property
    def misfit(self) -> str:
        """What is to be said of paired browsers whose extension spoke another protocol a while ago."""
        oldest = time.monotonic() - MISFIT_S
        each = [(one.name, *self._misfits.get(one.install, ("", 0.0))) for one in self._pairing.browsers()]
        return "; ".join(f"{name}: {what}" for name, what, when in each if what and when >= oldest)

    def _misfits_at(self, install: object, what: str) -> None:
        """Anybody may knock; only what a paired browser says is worth a person's while."""
        if isinstance(install, str) and self._pairing.of(install):
            self._misfits[install] = (what, time.monotonic())

    async def _meet(self, request: Request) -> Response:
        """An extension asks for our proof before it gives its own; a WebSocket could not tell it why it is refused."""
        try:
            data = self._answer(await request.body())
        except Failure as failure:
            self._note("bridge_refused", failure.message)
            return parcel.refusal(Refused(failure.status, failure, _NO_MORE))
        metadata = {"timestamp": int(time.time() * 1000)}
        return parcel.as_json({"success": True, "data": data, "metadata": metadata}, headers=_NO_MORE)

    def _answer(self, body: bytes) -> dict[str, Any]:
        try:
            version, knock = frames.knock(body)
        except ValueError as reason:
            hint = "say protocol, install, nonce and by"
            raise Failure("bad_request", f"this is no knock: {str(reason)[:200]}", suggestions=[hint]) from None
        if knock is None:
            what = _misfit(version.protocol)
            self._misfits_at(version.install, what)
            hint = "the older of the two is to be updated"
            raise Failure("bad_request", what, details={"protocol": frames.PROTOCOL}, suggestions=[hint])
        answer = self.handshake.answer(knock.by, knock.install, knock.nonce)
        paired = self._pairing.of(knock.install)
        link = self._links.named(paired.name) if paired else None
        told: dict[str, Any] = msgspec.to_builtins(answer)
        return told | {"connected": bool(link and link.connected)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        try:
            proven = proof.proven(self.handshake, scope["subprotocols"], "bridge")
        except Failure as failure:
            await self._deny(socket, failure)
            return
        if proven.paired is None:
            await self._pair(socket, proven)
            return
        async with self._turns[proven.install]:
            try:
                await self._refuse_second(proven.paired)
            except Failure as failure:
                await self._deny(socket, failure)
                return
            hello = await self._greeted(socket, proven)
            came = await self._admitted(socket, proven.paired, hello) if hello else None
        if came:
            await self._stay(came, proven.paired)

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

    async def _pair(self, socket: WebSocket, proven: Proven) -> None:
        """Its code was good, and is used up."""
        hello = await self._greeted(socket, proven)
        if hello is None:
            return
        async with self._turns[hello.install]:
            try:
                before = self._pairing.of(hello.install)
                if before:
                    await self._refuse_second(before)
                paired, secret = await asyncio.to_thread(self._pairing.add, hello.install, hello.name, self._port)
            except Failure as failure:
                await _refuse(socket, failure.code, failure.message)
                return
            if before and before.name != paired.name:
                self._links.forget(before.name, before.install)  # nobody goes on under a name that is no more
            self._record.note("browser_paired", name=paired.name, install=paired.install)
            if before and before.name != paired.name:
                self._links.forget(before.name, before.install)
            came = await self._admitted(socket, paired, hello, secret)
        if came:
            await self._stay(came, paired)

    async def _greeted(self, socket: WebSocket, proven: Proven) -> Hello | None:
        """Our first words prove that this socket is ours; only then does an extension tell of its tabs. None when what
        it said was no hello of its own; then the socket is closed with the reason."""
        await socket.accept(proof.CHOSEN)
        try:
            await socket.send_text(frames.encode(proof.first_frame(proven)).decode())
            frame = frames.read((await asyncio.wait_for(socket.receive_text(), HELLO_S)).encode())
            if frame.type != "hello":
                raise ValueError(f"it is a {frame.type}")
            hello = frames.hello(frame.payload)
        except (WebSocketDisconnect, RuntimeError):
            return None
        except TimeoutError:
            await _refuse(socket, "timeout", "no hello came")
            return None
        except (ValueError, KeyError) as reason:
            await _refuse(socket, "bad_request", f"this is no hello: {str(reason)[:200]}")
            return None
        if hello.install != proven.install:
            await _refuse(socket, "unauthorized", "this proof belongs to another browser; pair this one")
            return None
        return hello

    async def _admitted(self, socket: WebSocket, paired: Paired, hello: Hello, secret: str = "") -> "_Visit | None":
        """Looks once more: since its proof the person may have forgotten this browser, or paired it anew."""
        if self._pairing.of(paired.install) is not paired:
            self._note("bridge_refused", "it was forgotten, or paired anew, while it came in")
            await _refuse(socket, "unauthorized", "this browser is not paired any more; pair it again")
            return None
        return self._arrived(socket, paired, hello, secret)

    async def _stay(self, visit: "_Visit", paired: Paired) -> None:
        """Until its socket ends, and with the pairing if that is what the browser said last."""
        await visit.run()
        if not visit.forgotten:
            return
        try:
            if await asyncio.to_thread(self._pairing.drop, paired):
                self._record.note("browser_forgotten", name=paired.name, by="browser")
                self._links.forget(paired.name, paired.install)
        except Failure as failure:  # its own half of the pairing is gone: nobody comes with it any more
            _log.warning("%s", failure.message)

    async def _heard_stop(self, link: Link) -> None:
        try:
            await asyncio.to_thread(self._pairing.owe_stop, link.install, False)
            if link.stopping:  # the person said it once more meanwhile
                await asyncio.to_thread(self._pairing.owe_stop, link.install, True)
        except Failure as failure:  # then it is told again, which does no harm
            _log.warning("%s", failure.message)

    def _keep_true(self, link: Link) -> None:
        """A stop that the browser knows of need not be kept for it any longer."""
        if not link.stopping and self._pairing.owes_stop(link.install):
            task = asyncio.ensure_future(self._heard_stop(link))
            self._keeping.add(task)
            task.add_done_callback(self._keeping.discard)

    def _arrived(self, socket: WebSocket, paired: Paired, hello: Hello, secret: str) -> "_Visit":
        link = self._links.of(paired.name, paired.install)
        link.stopping = link.stopping or self._pairing.owes_stop(paired.install)
        visit = _Visit(socket, link, lambda: self._keep_true(link))
        told: dict[str, Any] = {"protocol": frames.PROTOCOL, "version": __version__, "name": paired.name}
        visit.send(frames.encode({"type": "welcome", "payload": told | ({"secret": secret} if secret else {})}))
        self._misfits.pop(paired.install, None)
        link.arrive(hello, visit)
        self._keep_true(link)
        return visit


class _Visit:
    """One socket from hello to its end: the `Wire` of its link."""

    def __init__(self, socket: WebSocket, link: Link, on_stopped: Callable[[], None]) -> None:
        self._socket = socket
        self._link = link
        self._on_stopped = on_stopped
        self.forgotten = False  # the person dropped the pairing in the browser
        self._closing = asyncio.Event()
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
            self._closing.set()

    async def run(self) -> None:
        tasks = [
            asyncio.create_task(work)
            for work in (self._read(), self._write(), self._until_closed(), self._until_silent())
        ]
        why = "the daemon ends"
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            why = done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            self._link.leave(self, why)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._socket.close(*(self._over or (1000, "")))

    async def _read(self) -> str:
        try:
            while not self.forgotten:
                self._take((await self._socket.receive_text()).encode())
            return "its person forgot the pairing"
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
        if frame.type == "forgotten":
            self.forgotten = self._link.is_through(self)
            return
        self._link.take(frame, self)
        if frame.type == "stopped":
            self._on_stopped()

    async def _write(self) -> str:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it left while we wrote
            while not isinstance(frame := await self._unsent.get(), tuple):
                await self._socket.send_text(frame.decode())
                self._unsent_bytes -= len(frame)
            return frame[1]
        return "the browser closed it"

    async def _until_closed(self) -> str:
        """Who does not read is not waited for."""
        await self._closing.wait()
        await asyncio.sleep(CLOSE_S)
        return self._over[1] if self._over else ""

    async def _until_silent(self) -> str:
        while True:
            left = self._heard + SILENCE_S - time.monotonic()
            if left <= 0:
                return "it was silent for too long"
            await asyncio.sleep(left)


def _misfit(protocol: int) -> str:
    older = "extension" if protocol < frames.PROTOCOL else "daemon"
    step = (
        "reload it in chrome://extensions" if protocol < frames.PROTOCOL else "update pilothouse and restart its daemon"
    )
    return f"the {older} is older (extension speaks protocol {protocol}, daemon {frames.PROTOCOL}): {step}"


async def _refuse(socket: WebSocket, code: str, message: str) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        refusal = {"type": "refused", "payload": {"code": code, "message": message}}
        await socket.send_text(frames.encode(refusal).decode())
        await socket.close(_REFUSED, code)
