"""A WebSocket through the proxy: the handshake is read, and after it bytes go both ways as they are.

Above: the proxy's door, which hands over the browser's connection. Below: lines, rewrite, pages. Frames are nobody's
business here, so compression and everything else that two ends agree on stays theirs.
"""

import asyncio
from collections.abc import Callable

from pilothouse.errors import Failure
from pilothouse.proxy import pages
from pilothouse.proxy.line import Head, Line, Lost
from pilothouse.proxy.lines import Lines
from pilothouse.proxy.rewrite import Visit, request_head, response_headers

HANDSHAKE_S = 30.0
_SWITCHING = 101


class Pipe(asyncio.Protocol):
    """One end of a tunnel: what comes in here goes out there, no faster than it is taken."""

    def __init__(self, transport: asyncio.Transport, on_end: Callable[[], None]) -> None:
        self.transport = transport
        self._other: asyncio.Transport | None = None
        self._on_end = on_end

    def join(self, other: "Pipe") -> None:
        self._other = other.transport

    def data_received(self, data: bytes) -> None:
        if self._other is not None:
            self._other.write(data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._other is not None:
            self._other.close()
        self._on_end()

    def pause_writing(self) -> None:
        if self._other is not None and not self._other.is_closing():
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None and not self._other.is_closing():
            self._other.resume_reading()


class Tunnels:
    """Those that are open, so that they end with the proxy."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._open: set[Pipe] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def dig(
        self, find: Callable[[], Visit], client: asyncio.Transport, accept: bytes, on_end: Callable[[], None]
    ) -> None:
        """Take over a browser's connection whose request asks for an upgrade. `on_end`: it is over."""

        def ended() -> None:
            self._open.discard(pipe)
            on_end()

        client.pause_reading()
        pipe = Pipe(client, ended)
        client.set_protocol(pipe)
        task = asyncio.get_running_loop().create_task(self._dig(find, pipe, accept))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for pipe in list(self._open):
            pipe.transport.abort()

    async def _dig(self, find: Callable[[], Visit], pipe: Pipe, accept: bytes) -> None:
        line: Line | None = None
        try:
            visit = find()
            async with asyncio.timeout(HANDSHAKE_S):
                line = await self._lines.open(visit.place.target)
                line.ask(request_head(visit, upgrade=True), bodiless=False)
                head = await line.head()
            if head.status == _SWITCHING and line.upgraded:
                self._connect(visit, pipe, line, head)
                line = None  # it is the tunnel's now
            else:
                await self._say_no(visit, pipe, line, head)
        except (Failure, Lost, TimeoutError) as problem:
            told = problem if isinstance(problem, Failure) else Failure("navigation_failed", "no WebSocket came about")
            self._refuse(pipe, *pages.told(told, accept, told.details.get("status", 0)))
        finally:
            if line is not None:
                line.close()

    def _connect(self, visit: Visit, pipe: Pipe, line: Line, head: Head) -> None:
        upgrade = next((value for name, value in head.headers if name == b"upgrade"), b"websocket")
        kept = [(b"connection", b"Upgrade"), (b"upgrade", upgrade), *response_headers(visit, head.headers)]
        far = Pipe(line.transport, lambda: None)
        pipe.join(far)
        far.join(pipe)
        line.transport.set_protocol(far)
        self._open.add(pipe)
        if pipe.transport.is_closing():
            line.transport.abort()
            self._open.discard(pipe)
            return
        pipe.transport.write(_head(_SWITCHING, kept) + line.rest)
        pipe.transport.resume_reading()

    async def _say_no(self, visit: Visit, pipe: Pipe, line: Line, head: Head) -> None:
        """The target's own refusal, after which the connection ends."""
        status = head.status if 200 <= head.status < 600 else 502
        kept = [one for one in response_headers(visit, head.headers) if one[0] != b"content-length"]
        pipe.transport.write(_head(status, [*kept, (b"connection", b"close")]))
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                while chunk := await line.chunk():
                    pipe.transport.write(chunk)
        except (Lost, TimeoutError):
            pass
        pipe.transport.close()

    def _refuse(self, pipe: Pipe, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        pipe.transport.write(_head(status, [*headers, (b"connection", b"close")]) + body)
        pipe.transport.close()


def _head(status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
    words = b"Switching Protocols" if status == _SWITCHING else b"Refused"
    lines = [b"HTTP/1.1 %d %b" % (status, words), *(name + b": " + value for name, value in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"
