"""CDP over a launched Chrome's `--remote-debugging-pipe`: NUL-separated frames on a socket pair.

Above: providers.launch makes it. Below: the event loop. A socket pair serves both directions; when our end closes,
even by `kill -9`, Chrome reads end-of-file and ends by itself.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import cast

MAX_FRAME_BYTES = 512 * 1024 * 1024
_BUFFER_BYTES = 1024 * 1024


class Pipe(asyncio.Protocol):
    def __init__(self, transport_socket: socket.socket) -> None:
        transport_socket.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            transport_socket.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
        self._socket = transport_socket
        self._chunks: list[bytes] = []
        self._outgoing: list[bytes] = []
        self._size = 0
        self._transport: asyncio.Transport | None = None
        self._on_frame: Callable[[bytes], None] = lambda frame: None
        self._on_close: Callable[[str], None] | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self, sock=self._socket)

    def start(self, on_frame: Callable[[bytes], None], on_close: Callable[[str], None]) -> None:
        self._on_frame, self._on_close = on_frame, on_close

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of asyncio's, so a cast and not a check.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Partial frames are kept as they came and joined once, so a large one costs one copy."""
        head, separator, rest = data.partition(b"\0")
        self._chunks.append(head)
        self._size += len(head)
        if self._size > MAX_FRAME_BYTES:
            self._end("the browser sent a frame over the limit")
            return
        if not separator:
            return
        frame = b"".join(self._chunks)
        *whole, last = rest.split(b"\0")
        self._chunks, self._size = [last], len(last)
        self._on_frame(frame)
        for frame in whole:
            self._on_frame(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(str(exc) if exc else "the browser closed its end")

    def send(self, frame: bytes, timeout: float = 0) -> None:
        """What is sent in one turn of the loop travels together: every write wakes the browser (M: 60 µs each)."""
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outgoing += (frame, b"\0")

    def _flush(self) -> None:
        frames, self._outgoing = self._outgoing, []
        if self._transport is not None:
            self._transport.write(b"".join(frames))

    async def close(self) -> None:
        self._end("closed")

    def _end(self, reason: str) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close(reason)
