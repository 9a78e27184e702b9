"""A person's own proxy behind the sluice: HTTP CONNECT, SOCKS5 and SOCKS4a, with user and password.

Above: the sluice, which dials the proxy and decides what may pass. Below: socks. The proxy gets the host's name:
what it resolves to is its own affair. Answers are read to the byte, because what follows belongs to the browser.
"""

import asyncio
import base64
import re
import struct
from urllib.parse import unquote

import ada_url
import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import literal
from pilothouse.guard.resolve import canonical
from pilothouse.guard.socks import Arrival
from pilothouse.options import PROXY_HINT, proxy_fault

_PORTS = {"http": 80, "socks5": 1080, "socks4": 1080}
_ALIASES = {"socks": "socks5", "socks5h": "socks5", "socks4a": "socks4"}
_ENDS_WITH_80 = re.compile(r":0*80/?$")
_MAX_HEAD_BYTES = 65_536
_MAX_CHARS = 2_048
_SOCKS5_SAID = {
    1: "failed", 2: "does not allow it", 3: "cannot reach its network", 4: "cannot reach it", 5: "was refused by it",
    6: "waited for it in vain", 7: "cannot do that", 8: "does not know such addresses",
}  # fmt: skip


class ProxyRefused(Exception):
    """What the proxy said, as the end of a sentence that begins with it."""


class Upstream(msgspec.Struct, frozen=True):
    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def shown(self) -> str:
        """Its address for people to read, without the password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    async def ask(self, far: asyncio.Transport, line: "Line", host: str, port: int) -> None:
        """Over a connection to the proxy: go on to that host. `ProxyRefused` if it does not."""
        if self.scheme == "http":
            await _ask_http(self, far, line, host, port)
        elif self.scheme == "socks5":
            await _ask_socks5(self, far, line, host, port)
        else:
            await _ask_socks4(self, far, line, host, port)


class Line(Arrival):
    """The connection to the proxy while it is talked to; what it says too early stays for the browser."""

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._news.set()

    def eof_received(self) -> bool:
        self._news.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._news.set()

    async def read(self, size: int) -> bytes:
        while len(self.early) < size:
            await self._more()
        return self._take(size)

    async def read_head(self) -> bytes:
        """Up to the empty line that ends the head of an HTTP answer."""
        while (end := self.early.find(b"\r\n\r\n")) < 0:
            if len(self.early) > _MAX_HEAD_BYTES:
                raise ProxyRefused("gave an answer without end")
            await self._more()
        return self._take(end + 4)

    def _take(self, size: int) -> bytes:
        taken, self.early = self.early[:size], self.early[size:]
        return taken

    async def _more(self) -> None:
        if self.ended:
            raise ProxyRefused("hung up")
        self._news.clear()
        await self._news.wait()


def read_upstream(url: str) -> Upstream:
    """A proxy's address, such as `socks5://user:password@proxy.example:1080`; `bad_request` if it is none."""
    if fault := "it is too long" if len(url) > _MAX_CHARS else proxy_fault(url):
        raise _no_proxy(fault)
    scheme, colon, rest = url.strip().partition("://")
    if not colon:
        scheme, rest = "http", url.strip()
    scheme = _ALIASES.get(scheme.lower(), scheme.lower())
    try:
        parsed = ada_url.URL(f"http://{rest}")
    except ValueError:
        raise _no_proxy("it cannot be read") from None
    if not parsed.hostname or parsed.pathname != "/" or parsed.search or parsed.hash:
        raise _no_proxy("it is more or less than a host and a port")
    # The parser leaves out port 80, which is a port like any other here.
    port = int(parsed.port or (80 if _ENDS_WITH_80.search(rest) else _PORTS[scheme]))
    user, password = unquote(parsed.username), unquote(parsed.password)
    if max(len(user.encode()), len(password.encode())) > 255 or ":" in user or "\0" in user:
        raise _no_proxy("its user name or password is not one that a proxy takes")
    return Upstream(scheme, canonical(parsed.hostname), port, user, password)


def _no_proxy(why: str) -> Failure:
    """The address itself is not repeated: it may hold a password."""
    return Failure("bad_request", f"proxy: {why}", suggestions=[PROXY_HINT])


async def _ask_http(proxy: Upstream, far: asyncio.Transport, line: Line, host: str, port: int) -> None:
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}", "Proxy-Connection: keep-alive"]
    if proxy.user:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    far.write("\r\n".join([*lines, "", ""]).encode())
    head = await line.read_head()
    status = head.split(b"\r\n", 1)[0].split(b" ")[1:2]
    if not head.startswith(b"HTTP/") or not status or not status[0].isdigit():
        raise ProxyRefused("does not speak HTTP")
    code = int(status[0])
    if code == 407:
        raise ProxyRefused("asks for a user name and a password, or refused the one given (407)")
    if not 200 <= code < 300:
        raise ProxyRefused(f"answered {code} for {place}")


async def _ask_socks5(proxy: Upstream, far: asyncio.Transport, line: Line, host: str, port: int) -> None:
    far.write(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await line.read(2)
    if version != 5:
        raise ProxyRefused("does not speak SOCKS5")
    if method == 2 and proxy.user:
        user, password = proxy.user.encode(), proxy.password.encode()
        far.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if (await line.read(2))[1] != 0:
            raise ProxyRefused("refused the user name or the password")
    elif method != 0:
        raise ProxyRefused("asks for a user name and a password")
    address = literal(host)
    if address is not None:
        named = (b"\x01" if address.version == 4 else b"\x04") + address.packed
    else:
        named = b"\x03" + bytes([len(host)]) + host.encode("ascii")
    far.write(b"\x05\x01\x00" + named + struct.pack("!H", port))
    _, code, _, kind = await line.read(4)
    if code:
        raise ProxyRefused(f"{_SOCKS5_SAID.get(code, f'answered {code}')} ({host}:{port})")
    length = {1: 4, 4: 16}.get(kind) or (await line.read(1))[0]
    await line.read(length + 2)


async def _ask_socks4(proxy: Upstream, far: asyncio.Transport, line: Line, host: str, port: int) -> None:
    address = literal(host)
    if address is not None and address.version == 6:
        raise ProxyRefused(f"speaks SOCKS4, which knows no IPv6 address ({host})")
    # 0.0.0.1 means that the name follows (SOCKS4a).
    packed, name = (address.packed, b"") if address else (b"\0\0\0\x01", host.encode("ascii") + b"\0")
    far.write(b"\x04\x01" + struct.pack("!H", port) + packed + proxy.user.encode() + b"\0" + name)
    _, code, *_ = await line.read(8)
    if code != 90:
        raise ProxyRefused(f"answered {code} for {host}:{port}")
