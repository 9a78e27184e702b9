"""One HTTP request to whoever keeps browsers: a debugging port, a Selenium Grid.

Above: endpoint, grid. Below: asyncio, httptools. A connection for each request: a place in a Grid's queue is held by
one for minutes, and a thread each would be too dear. What is told of a failure never repeats the address, which may
hold a password.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httptools  # pyright: ignore[reportMissingTypeStubs]

MAX_BODY_BYTES = 8_000_000
CONNECT_S = 10.0
_CHUNK_BYTES = 65_536


class Unreachable(Exception):
    """Nobody there, or nobody who speaks HTTP. The text says how it showed."""


class Late(Unreachable):
    """Somebody may be there, and had not answered when the time was over."""


class Reply(NamedTuple):
    status: int
    body: bytes


class _Reading:
    """What the parser tells. An interim answer (100, 103) is none."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.done = False
        self.lasts_till_the_end = True  # of the connection: nobody has said how long it is
        self.parser = httptools.HttpResponseParser(self)

    @property
    def is_interim(self) -> bool:
        return self.parser.get_status_code() < 200

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self.lasts_till_the_end = False

    def on_body(self, body: bytes) -> None:
        if len(self.body) <= MAX_BODY_BYTES:
            self.body += body

    def on_message_complete(self) -> None:
        self.done = not self.is_interim


async def ask(
    method: str, url: str, *, timeout_s: float, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> Reply:
    try:
        async with asyncio.timeout(timeout_s):
            return await _asked(method, url, headers or {}, body)
    except TimeoutError as error:
        if error.errno:  # of the socket, which died
            raise Unreachable(reason(error)) from None
        raise Late(f"no answer in {timeout_s:g} s") from None
    except ssl.SSLError as error:
        raise Unreachable(f"no trust: {error.reason or 'TLS failed'}") from None
    except OSError as error:
        raise Unreachable(reason(error)) from None
    except httptools.HttpParserError:
        raise Unreachable("what answers there does not speak HTTP") from None


def reason(error: OSError) -> str:
    """Why there is no connection, without the address."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return (error.strerror or type(error).__name__).lower()


async def _asked(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(
                parts.hostname, parts.port or (443 if secure else 80), ssl=True if secure else None
            )
    except TimeoutError:
        raise Unreachable(f"it cannot be connected to in {CONNECT_S:g} s") from None
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        writer.write(_head(method, target, parts.netloc, headers, body) + (body or b""))
        await writer.drain()
        return await _read(reader)
    finally:
        writer.close()


def _head(method: str, target: str, host: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", "Accept: application/json"]
    if body is not None:
        # Without the charset a Grid refuses it (M).
        lines += ["Content-Type: application/json; charset=utf-8", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


async def _read(reader: asyncio.StreamReader) -> Reply:
    reading = _Reading()
    while not reading.done:
        chunk = await reader.read(_CHUNK_BYTES)
        if not chunk:
            if reading.lasts_till_the_end and reading.body:
                break
            raise Unreachable("the connection ended before the answer")
        reading.parser.feed_data(chunk)
        if len(reading.body) > MAX_BODY_BYTES:
            raise Unreachable("it answers with more than anybody would read")
    return Reply(reading.parser.get_status_code(), bytes(reading.body))
