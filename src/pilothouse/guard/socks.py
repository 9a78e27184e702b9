"""SOCKS5 on the wire: the greeting, the one request of a connection, and the relay after it.

Above: the sluice, which decides and dials. Below: address. Protocols, not streams: after the handshake a chunk costs
one callback and one write. A transport changes its protocol when its part begins (`Visitor` and `Arrival` shake
hands, `End` relays), so the relay has no state to ask about.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import NamedTuple, Protocol, cast

from pilothouse.guard.address import Address

HANDSHAKE_S = 10.0
_EARLY_MAX_BYTES = 65_536
_RELAY_BUFFER_BYTES = 1 << 20

GRANTED, FAILED, NOT_ALLOWED, UNREACHABLE, REFUSED, EXPIRED, NO_COMMAND, NO_ADDRESS = 0, 1, 2, 4, 5, 6, 7, 8


class Request(NamedTuple):
    host: str
    port: int
    size: int


class WireError(Exception):
    """The client does not speak SOCKS5 as we do; `reply` is what to say before hanging up."""

    def __init__(self, reply: bytes) -> None:
        super().__init__(reply)
        self.reply = reply


def reply(code: int) -> bytes:
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))


def reset(transport: asyncio.WriteTransport) -> None:
    """Break a connection off so that the peer sees it broken: after a plain close half an answer looks whole."""
    connection = transport.get_extra_info("socket")
    if connection is not None and not transport.is_closing():
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def read_greeting(data: bytes | bytearray) -> int:
    """Bytes that the greeting takes, 0 if more must come."""
    if data[0] != 5:
        raise WireError(b"")
    if len(data) < 2 or len(data) < 2 + data[1]:
        return 0
    if 0 not in data[2 : 2 + data[1]]:
        raise WireError(b"\x05\xff")
    return 2 + data[1]


def read_request(data: bytes | bytearray) -> Request | None:
    """The host and port to connect to; None if more must come."""
    if len(data) < 5:
        return None
    version, command, _, kind, first = data[:5]
    if version != 5:
        raise WireError(reply(FAILED))
    if command != 1:
        raise WireError(reply(NO_COMMAND))
    lengths = {1: (4, 4), 3: (5, first), 4: (4, 16)}
    if kind not in lengths:
        raise WireError(reply(NO_ADDRESS))
    start, length = lengths[kind]
    end = start + length
    if len(data) < end + 2:
        return None
    host = _host(kind, bytes(data[start:end]))
    return Request(host, struct.unpack_from("!H", data, end)[0], end + 2)


def _host(kind: int, raw: bytes) -> str:
    if kind != 3:
        return str(ip_address(raw))
    if not raw or not raw.isascii() or not raw.decode("ascii").isprintable():
        raise WireError(reply(NO_ADDRESS))
    return raw.decode("ascii")


class Desk(Protocol):
    """What a visitor needs from the sluice."""

    def arrived(self, visitor: "Visitor") -> bool: ...
    def asked(self, visitor: "Visitor", host: str, port: int) -> None: ...
    def left(self, visitor: "Visitor") -> None: ...


class Visitor(asyncio.Protocol):
    """A browser's connection: shakes hands, waits for the far side, then hands both transports to a pair of ends."""

    def __init__(self, desk: Desk) -> None:
        self.host = ""
        self.port = 0
        self.address: Address | None = None  # what it was joined with; None when a proxy knows it
        self._desk = desk
        self._data = bytearray()
        self._read: Callable[[], bool] | None = self._greet
        self._far: asyncio.Transport | None = None
        self._open_ends = 2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._near = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_S, self._near.abort)
        if not self._desk.arrived(self):
            self._near.abort()

    @property
    def peer(self) -> str:
        found = self._near.get_extra_info("peername")
        return str(found[0]) if found else ""

    def data_received(self, data: bytes) -> None:
        self._data += data
        try:
            while self._data and self._read and self._read():
                pass
        except WireError as error:
            self._near.write(error.reply)
            self._near.close()
        if len(self._data) > _EARLY_MAX_BYTES:
            self._near.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._desk.left(self)

    def refuse(self, code: int) -> None:
        self._near.write(reply(code))
        self._near.close()

    def join(self, far: asyncio.Transport, arrival: "Arrival") -> None:
        """Relay from now on. What either side said early is passed on first."""
        self._far = far
        near_end, far_end = End(self._near, self._lost), End(far, self._lost)
        near_end.other, far_end.other = far_end, near_end
        self._near.set_protocol(near_end)
        far.set_protocol(far_end)
        self._near.write(reply(GRANTED) + arrival.early)
        if self._data:
            far.write(bytes(self._data))
        self._near.resume_reading()
        with suppress(RuntimeError):  # it may have ended meanwhile
            far.resume_reading()
        if arrival.ended:
            far_end.eof_received()

    def abort(self) -> None:
        reset(self._near)
        if self._far:
            reset(self._far)

    def _greet(self) -> bool:
        size = read_greeting(self._data)
        if not size:
            return False
        del self._data[:size]
        self._near.write(b"\x05\x00")
        self._read = self._ask
        return True

    def _ask(self) -> bool:
        request = read_request(self._data)
        if request is None:
            return False
        del self._data[: request.size]
        self._timer.cancel()
        self._read = None
        self.host, self.port = request.host, request.port
        self._desk.asked(self, request.host, request.port)
        return False

    def _lost(self) -> None:
        """Gone when both ends are: one may still be handing over what the other said last."""
        self._open_ends -= 1
        if not self._open_ends:
            self._desk.left(self)


class Arrival(asyncio.Protocol):
    """The far side between its connect and the join: keeps what a server says before it is asked, up to a limit."""

    def __init__(self) -> None:
        self.early = b""
        self.ended = False
        self._far: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._far = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.early += data
        if self._far and len(self.early) > _EARLY_MAX_BYTES:
            self._far.pause_reading()

    def eof_received(self) -> bool:
        self.ended = True
        return True


class End(asyncio.Protocol):
    """One end of a relayed connection: what comes in here goes out at the other, no faster than it can."""

    other: "End"

    def __init__(self, transport: asyncio.Transport, lost: Callable[[], None]) -> None:
        self._transport = transport
        self._write = transport.write
        self._lost = lost
        self._ended = False
        transport.set_write_buffer_limits(_RELAY_BUFFER_BYTES)

    def data_received(self, data: bytes) -> None:
        self.other._write(data)

    def eof_received(self) -> bool:
        """A half-close travels on; when both halves are closed, so is the connection."""
        self._ended = True
        far = self.other._transport
        if not far.is_closing():
            with suppress(OSError, RuntimeError):
                far.write_eof()
        return not self.other._ended

    def pause_writing(self) -> None:
        with suppress(RuntimeError):  # the other side may have ended meanwhile, and then has nothing to pause
            self.other._transport.pause_reading()

    def resume_writing(self) -> None:
        with suppress(RuntimeError):
            self.other._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        far = self.other._transport
        if exc is not None:
            reset(far)
        elif not far.is_closing():
            far.close()
        self._lost()
