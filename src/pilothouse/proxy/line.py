"""One connection to a target: a request goes out, the answer comes back piece by piece, no faster than it is read.

Above: lines, passing, tunnel. Below: httptools, which reads HTTP; asyncio.
"""

import asyncio
from collections import deque
from typing import NamedTuple, cast

import httptools

MAX_BUFFERED = 256 * 1024
MAX_HEAD = 256 * 1024

Headers = list[tuple[bytes, bytes]]


class Head(NamedTuple):
    status: int
    headers: Headers


class Lost(Exception):
    """The connection ended before the answer did. `untouched`: not one byte of the answer had come."""

    def __init__(self, why: str, *, untouched: bool = False) -> None:
        super().__init__(why)
        self.untouched = untouched


class Line(asyncio.Protocol):
    """Exchanges one after the other. After one that did not end well it is `spoilt`: nobody can say what comes next."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.spoilt = False
        self.upgraded = False
        self.rest = b""  # what came after a head that upgrades
        self._parser = httptools.HttpResponseParser(self)
        self._lost: Exception | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._waiter: asyncio.Future[None] | None = None
        self._begin()

    def _begin(self) -> None:
        self._headers: Headers = []
        self._head: Head | None = None
        self._chunks: deque[bytes] = deque()
        self._buffered = self._head_size = 0
        self._complete = self._paused = self._heard = False
        self._bodiless = self._ends_with_line = False

    # What is asked

    def ask(self, head: bytes, *, bodiless: bool) -> None:
        """`bodiless`: the answer has none, whatever its head says (HEAD)."""
        self._begin()
        self._bodiless = bodiless
        self.transport.write(head)

    async def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)
            await self._room.wait()

    # What is answered

    async def head(self) -> Head:
        while self._head is None:
            self._check()
            await self._news()
        return self._head

    async def chunk(self) -> bytes:
        """The next piece of the body; empty at its end."""
        while not self._chunks:
            if self._complete:
                return b""
            self._check()
            await self._news()
        data = b"".join(self._chunks) if len(self._chunks) > 1 else self._chunks[0]
        self._chunks.clear()
        self._buffered = 0
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return data

    @property
    def whole(self) -> bool:
        """Whether the whole answer is here already, read or not."""
        return self._complete

    @property
    def reusable(self) -> bool:
        return self._complete and not self.spoilt and not self.transport.is_closing() and not self._chunks

    def close(self) -> None:
        self.spoilt = True
        self.transport.abort()

    def _check(self) -> None:
        if self._lost:
            raise self._lost

    async def _news(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by name

    def data_received(self, data: bytes) -> None:
        if self._complete:  # nobody asked
            self.close()
            return
        self._heard = True
        if self._head is None:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.upgraded, self.rest = True, data[upgrade.args[0] :]
        except (httptools.HttpParserError, httptools.HttpParserCallbackError):
            self._fail("the target does not speak HTTP")
        if self._head is None and self._head_size > MAX_HEAD:
            self._fail("the target's answer has too long a head")
        self._wake()

    def _fail(self, why: str) -> None:
        self._lost = self._lost or Lost(why)
        self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.spoilt = True
        if self._head is not None and self._ends_with_line and exc is None:
            self._complete = True
        self._lost = self._lost or Lost("the target hung up", untouched=not self._heard)
        self._room.set()
        self._wake()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    # httptools

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._headers = []
            return
        names = dict(self._headers)
        chunked = b"chunked" in names.get(b"transfer-encoding", b"").lower()
        self._ends_with_line = b"content-length" not in names and not chunked
        self.spoilt = self.spoilt or not self._parser.should_keep_alive()
        self._head = Head(status, self._headers)
        if self._bodiless:
            self._complete = True
            self.spoilt = True  # the parser waits for a body that does not come

    def on_body(self, body: bytes) -> None:
        if self._bodiless:
            return
        self._chunks.append(body)
        self._buffered += len(body)
        if self._buffered > MAX_BUFFERED and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._head is not None:
            self._complete = True
