"""The door for programs of the same user on this machine: a Unix socket that carries lines.

Above: the stdio bridge and the command line connect. Below: mcp answers (it may still be loading when the first
client comes), or commands. The first line says who speaks: `{"pilothouse": version, "door": "mcp", ...}`; the rest is
its protocol.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Protocol, cast
from uuid import uuid4

import msgspec
from msgspec import Meta

import pilothouse
from pilothouse.call import Caller, Defaults
from pilothouse.doors import wire
from pilothouse.overlong import Ends

HELLO_TIMEOUT_S = 10.0
_log = logging.getLogger(__name__)


class Hello(msgspec.Struct, frozen=True):
    """The first line of a client; what it leaves out has the default of `Defaults`."""

    pilothouse: str
    door: str = "mcp"
    tools: str = ""  # as the daemon was told
    browser: str = "isolated"
    profile: str = ""
    headed: bool = False
    endpoint: str = ""
    again: bool = False
    terminal: Annotated[str, Meta(max_length=200)] = ""  # where a command was typed: its sessions outlive the line

    def caller(self) -> Caller:
        kind, place = ("remote", self.endpoint) if self.browser == "cdp" else (self.browser, self.profile)
        defaults = Defaults(self.tools, kind, place, self.headed, self.endpoint, self.again)
        connection = f"terminal-{self.terminal}" if self.terminal and self.door == "call" else f"local-{uuid4().hex}"
        return Caller(key="default", connection=connection, door=self.door, defaults=defaults)


class Speaker(Protocol):
    """What takes a connection's lines after the first."""

    def feed(self, raw: bytes) -> None: ...

    def close(self) -> None: ...


# The caller, how to send a line, and how many bytes the client has not read yet.
Open = Callable[[Caller, Callable[[bytes], None], Callable[[], int]], Speaker]
# Asked by another version of us whether this daemon may end; the answer goes back as it is.
Stop = Callable[[str], dict[str, Any]]


class LocalDoor:
    """Listens until `close`. `doors` are the protocols spoken here by name; each may be slow to come the first time."""

    def __init__(
        self,
        doors: dict[str, Callable[[], Awaitable[Open]]],
        *,
        stop: Stop,
        on_unknown: Callable[[str], None] = lambda door: None,
    ) -> None:
        self.doors = doors
        self.stop = stop
        self.on_unknown = on_unknown
        self.lines: set[_Line] = set()
        self._server: asyncio.Server | None = None
        self._path: Path | None = None

    async def listen(self, path: Path) -> None:
        listener = _bind(path)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Line(self), sock=listener)
        self._path = path

    @property
    def connections(self) -> int:
        """How many clients are here; the daemon ends itself some time after the last."""
        return len(self.lines)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for line in tuple(self.lines):
            line.end()
        if self._path is not None:
            _unlink(self._path)


def _bind(path: Path) -> socket.socket:
    """Only the owner may connect, from the first moment on."""
    _unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


class _Line(asyncio.Protocol):
    """One client: cuts what comes into lines, and never keeps more than one line of `MAX_BYTES`."""

    def __init__(self, door: LocalDoor) -> None:
        self._door = door
        self._transport: asyncio.Transport
        self._parts: list[bytes] = []
        self._size = 0
        self._ends: Ends | None = None  # of a line that is too long to be kept
        self._speaker: Speaker | None = None
        self._early: list[bytes] = []
        self._greeted = False
        self._opening: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._door.lines.add(self)
        self._timer = asyncio.get_running_loop().call_later(HELLO_TIMEOUT_S, self._refuse, "no first line came")

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.lines.discard(self)
        self._timer.cancel()
        if self._opening is not None:
            self._opening.cancel()
        if self._speaker is not None:
            self._speaker.close()

    def pause_writing(self) -> None:
        """The client does not read its answers: take no more questions until it does."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._collect(first)
        for part in rest:
            self._finish_line()
            self._collect(part)

    def _collect(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > wire.MAX_BYTES:
            self._ends = self._ends or Ends()
            self._ends.add(b"".join(self._parts))
            self._parts.clear()

    def _finish_line(self) -> None:
        raw, ends = b"".join(self._parts), self._ends
        self._parts, self._size, self._ends = [], 0, None
        if ends is not None:
            if refusal := ends.refusal():
                self.send(wire.encode(refusal))
        elif raw.strip():
            self._take(raw)

    def _take(self, raw: bytes) -> None:
        if self._speaker is not None:
            self._speaker.feed(raw)
        elif self._greeted:
            self._early.append(raw)
        else:
            self._greet(raw)

    def _greet(self, raw: bytes) -> None:
        self._timer.cancel()
        self._greeted = True
        try:
            hello = msgspec.json.decode(raw, type=Hello)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as reason:
            self._refuse(f"the first line is not a greeting: {reason}")
            return
        if hello.door == "stop":
            self._reply(self._door.stop(hello.pilothouse))
            self.end()
        elif hello.door not in self._door.doors:
            self._door.on_unknown(hello.door)
            self._refuse(f"there is no door called {hello.door!r}")
        else:
            self._reply({"pilothouse": pilothouse.__version__, "pid": os.getpid()})
            self._transport.pause_reading()
            self._opening = asyncio.get_running_loop().create_task(self._open(hello))

    async def _open(self, hello: Hello) -> None:
        try:
            opener = await self._door.doors[hello.door]()
            self._speaker = opener(hello.caller(), self.send, self._transport.get_write_buffer_size)
        except Exception:  # a client that was greeted waits for answers, and must not wait for ever
            _log.exception("the door %s cannot be opened", hello.door)
            self.send(wire.encode(wire.error(None, wire.INTERNAL_ERROR, "the daemon is broken; see its daemon.log")))
            self.end()
            return
        for raw in self._early:
            self._speaker.feed(raw)
        self._early.clear()
        self._transport.resume_reading()

    def send(self, line: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(line + b"\n")

    def end(self) -> None:
        self._transport.close()

    def _reply(self, message: dict[str, Any]) -> None:
        self.send(msgspec.json.encode(message))

    def _refuse(self, reason: str) -> None:
        self._reply({"error": reason, "pilothouse": pilothouse.__version__})
        self.end()
