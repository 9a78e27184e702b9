"""A browser that somebody else runs, behind a CDP address that a person wrote into the config.

Above: the daemon hands it to browser.remote. Below: http, cdp. An agent says the name only; what is told of failures
names the endpoint, never its address.
"""

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pilothouse.cdp.connection import Connection, ProtocolError
from pilothouse.cdp.socket import Refused, Socket
from pilothouse.errors import Failure
from pilothouse.options import Endpoint
from pilothouse.providers import http

DISCOVER_S = 10.0
_PLAIN = {"ws": "http", "wss": "https", "http": "http", "https": "https"}
_SOCKET = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}

Reveal = Callable[[str, str], str]
"""A text with the values of the secrets that it names, for an origin that may have them; `Failure` if it may not."""


class _Version(msgspec.Struct):
    webSocketDebuggerUrl: str  # noqa: N815 (CDP's spelling)


class Far:
    """One browser elsewhere: the connection to it, and a folder of its machine (empty: none is known)."""

    def __init__(self, connection: Connection, downloads: str = "") -> None:
        self.connection = connection
        self.downloads = downloads

    async def release(self) -> None:
        await self.connection.close()


class EndpointSource:
    def __init__(self, endpoint: Endpoint, reveal: Reveal) -> None:
        self.name = endpoint.name
        self.share = endpoint.share
        self._endpoint = endpoint
        self._reveal = reveal

    async def connect(self) -> Far:
        address, headers = self.written_out()
        try:
            if urlsplit(address).scheme in ("http", "https"):
                address = await discovered(address, headers)
            socket = await Socket.open(address, headers)
        except http.Unreachable as error:
            raise self._gone(str(error)) from None
        except Refused as refused:
            raise self._gone(refused.why) from None
        return Far(Connection(socket), self._endpoint.downloads)

    async def examined(self) -> str:
        """What is there, in a line; `Failure` if nobody is."""
        far = await self.connect()
        try:
            told = await far.connection.root.send("Browser.getVersion", timeout=DISCOVER_S)
            return str(told.get("product", ""))[:100]
        except ProtocolError:
            return "a browser that does not tell its version"
        finally:
            await far.release()

    async def standing(self) -> str:
        return f"waiting for the endpoint {self.name}"

    def written_out(self) -> tuple[str, dict[str, str]]:
        given, origin = self._endpoint, origin_of(self._endpoint.url)
        headers = {name: self._reveal(value, origin) for name, value in given.headers.items()}
        if any(char in text for item in headers.items() for text in item for char in "\r\n\0"):
            raise Failure("bad_request", f"a header of the endpoint {self.name} has more than one line")
        return self._reveal(given.url, origin), headers

    def _gone(self, why: str) -> Failure:
        return Failure(
            "browser_gone",
            f"the endpoint {self.name} gives no browser: {why}",
            suggestions=["try again", "`pilothouse doctor` looks at every endpoint", 'or use browser="isolated"'],
        )


async def discovered(address: str, headers: Mapping[str, str]) -> str:
    """The browser's own socket, at the address that was asked: what a browser calls its host means it itself."""
    reply = await _version(address, headers)
    if reply.status != 200 and b"Host header" in reply.body:  # Chrome answers to addresses and localhost only (M)
        address = await _by_number(address)
        reply = await _version(address, headers)
    parts = urlsplit(address)
    if reply.status != 200:
        raise http.Unreachable(f"/json/version answers with status {reply.status}")
    try:
        told = urlsplit(msgspec.json.decode(reply.body, type=_Version).webSocketDebuggerUrl)
    except (msgspec.MsgspecError, ValueError):
        raise http.Unreachable("/json/version tells no webSocketDebuggerUrl") from None
    query = told.query or parts.query
    return urlunsplit((_SOCKET[parts.scheme], parts.netloc, told.path or "/", query, ""))


async def _version(address: str, headers: Mapping[str, str]) -> http.Reply:
    parts = urlsplit(address)
    asked = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/json/version"))
    return await http.ask("GET", asked, headers=headers, timeout_s=DISCOVER_S)


async def _by_number(address: str) -> str:
    parts = urlsplit(address)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, parts.port or 80, type=1)
    except OSError as error:
        raise http.Unreachable(http.reason(error)) from None
    number = str(found[0][4][0])
    host = f"[{number}]" if ":" in number else number
    return urlunsplit(parts._replace(netloc=f"{host}:{parts.port}" if parts.port else host))


def origin_of(address: str) -> str:
    """Whose secrets it may have."""
    parts = urlsplit(address)
    return f"{_PLAIN[parts.scheme]}://{parts.netloc.rpartition('@')[2]}"
