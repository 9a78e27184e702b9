"""Proxies that tests put behind the sluice: HTTP CONNECT, SOCKS5, SOCKS4a, on loopback, with names of their own."""

import asyncio
import base64
import struct
from contextlib import suppress
from ipaddress import ip_address

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Reaches every name at 127.0.0.1. `pieces` sends its answers byte by byte; `early` follows them at once."""

    def __init__(self, kind: str, *, user: str = "", password: str = "", pieces: bool = False) -> None:
        self.kind = kind
        self.asked: list[tuple[str, int]] = []
        self.answer = 0  # another code than success
        self.early = b""
        self.port = 0
        self._secret = (user, password)
        self._pieces = pieces
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def url(self, credentials: str = "") -> str:
        return f"{self.kind}://{credentials}{'@' if credentials else ''}127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        shake = {"http": self._http, "socks5": self._socks5, "socks4": self._socks4}[self.kind]
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if place := await shake(reader, writer):
                self.asked.append(place)
                await relay((reader, writer), place[1])
        writer.close()

    async def _say(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if not self._pieces:
            writer.write(data)
            return
        for byte in data:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        host, _, port = head.split(" ")[1].rpartition(":")
        secret = base64.b64encode(":".join(self._secret).encode()).decode()
        if self._secret[0] and f"Proxy-Authorization: Basic {secret}\r\n" not in head:
            await self._say(writer, b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return None
        if self.answer:
            await self._say(writer, f"HTTP/1.1 {self.answer} No\r\nX-More: yes\r\n\r\n".encode())
            return None
        await self._say(writer, b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n" + self.early)
        return host.strip("[]"), int(port)

    async def _socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self._secret[0] else 0
        await self._say(writer, bytes([5, wanted if wanted in methods else 255]))
        if wanted not in methods:
            return None
        if wanted:
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            password = await reader.readexactly((await reader.readexactly(1))[0])
            good = (user.decode(), password.decode()) == self._secret
            await self._say(writer, bytes([1, 0 if good else 1]))
            if not good:
                return None
        *_, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        bound = b"\x03\x04here\x00\x00"  # a name where most send an address
        await self._say(writer, bytes([5, self.answer, 0]) + bound + (b"" if self.answer else self.early))
        return None if self.answer else (host, port)

    async def _socks4(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        _, _, port, address = struct.unpack("!BBH4s", await reader.readexactly(8))
        user = (await reader.readuntil(b"\0"))[:-1].decode()
        named = address[:3] == b"\0\0\0" and address[3]
        host = (await reader.readuntil(b"\0"))[:-1].decode() if named else str(ip_address(address))
        good = not self.answer and user == self._secret[0]
        await self._say(writer, bytes([0, 90 if good else 91, 0, 0, 0, 0, 0, 0]) + (self.early if good else b""))
        return (host, port) if good else None


async def relay(near: Streams, port: int) -> None:
    far = await asyncio.open_connection("127.0.0.1", port)

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    await asyncio.gather(pour(near[0], far[1]), pour(far[0], near[1]))
    far[1].close()
