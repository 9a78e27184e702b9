"""Another program on the daemon's port: it takes whatever the extension says, and answers as a test wishes."""

import asyncio
import base64
import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

Answer = Callable[[dict[str, Any]], Awaitable[tuple[int, bytes]]]
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_KEY = re.compile(rb"(?i)sec-websocket-key: *(\S+)")
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455


class Stranger:
    """`heard` is every byte that came, `after` those that came over WebSockets, all of which it accepts and greets with
    `greeting`, or with what `greetings` has for their path; `talks` has them apart. `answer` gets the parsed body of a
    POST, and answers status and body."""

    def __init__(self, answer: Answer, greeting: dict[str, Any]) -> None:
        self.port = 0
        self.heard = b""
        self.after = b""
        self.left = asyncio.Event()  # a WebSocket is over
        self.knocks: list[dict[str, Any]] = []
        self.hangs_up = False  # on WebSockets, without a word
        self.greetings: dict[str, list[dict[str, Any]]] = {}
        self.talks: list[tuple[str, bytearray]] = []
        self._greeting = greeting
        self._answer = answer
        self._came = asyncio.Event()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heard += head
            if wanted := _KEY.search(head):
                path = head.split()[1].decode()
                await (writer.wait_closed() if self._hung_up(writer) else self._speak(reader, writer, wanted[1], path))
                return
            found = _LENGTH.search(head)
            body = await reader.readexactly(int(found[1])) if found else b""
            self.heard += body
            status, said = (404, b"") if not body else await self._said(body)
            writer.write(b"HTTP/1.1 %d It\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (status, len(said)))
            writer.write(said)
            await writer.drain()
        writer.close()

    def _hung_up(self, writer: asyncio.StreamWriter) -> bool:
        if self.hangs_up:
            writer.close()
        return self.hangs_up

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes, path: str) -> None:
        accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())
        head = (
            b"HTTP/1.1 101 It\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: pilothouse.1\r\n"
        )
        writer.write(head + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        for one in self.greetings.get(path, [self._greeting]):
            frame = json.dumps(one).encode()
            writer.write(bytes([0x81, len(frame)]) + frame)
        talk = bytearray()
        self.talks.append((path, talk))
        while piece := await reader.read(65536):
            self.after += piece
            talk += piece
            self.heard += piece
            if piece[0] & 0x0F == 8:  # it says goodbye
                break
        writer.close()
        self.left.set()

    async def _said(self, body: bytes) -> tuple[int, bytes]:
        knock = json.loads(body)
        answer = await self._answer(knock)
        self.knocks.append(knock)
        self._came.set()
        return answer

    async def asked(self, times: int = 1) -> None:
        async with asyncio.timeout(20):
            while len(self.knocks) < times:
                self._came.clear()
                await self._came.wait()


@contextlib.asynccontextmanager
async def stranger(port: int, answer: Answer, greeting: dict[str, Any] | None = None) -> AsyncIterator[Stranger]:
    one = Stranger(answer, greeting or {})
    server = await asyncio.start_server(one.take, "127.0.0.1", port)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()


def said(data: dict[str, Any], status: int = 200) -> tuple[int, bytes]:
    return status, json.dumps({"success": True, "data": data}).encode()
