"""The debug proxy's own port: uvicorn in front of the proxy, with WebSockets handed over as they came.

Above: daemon. Below: http (the same bounds on heads and connections), proxy.
"""

import logging
import socket
from functools import partial
from typing import Any, cast

import httptools
import msgspec
from starlette.types import ASGIApp

from pilothouse.cocoons import Cocoons
from pilothouse.doors.http import Http, HttpDoor
from pilothouse.errors import Failure
from pilothouse.guard.address import is_local_name, literal
from pilothouse.guard.token import Signer
from pilothouse.options import Proxy
from pilothouse.proxy.lines import Lines
from pilothouse.proxy.passing import Passing, Redirect
from pilothouse.proxy.rewrite import Visit
from pilothouse.proxy.tunnel import Tunnels

MAX_CONNECTIONS = 1024  # a busy page has some dozens
_log = logging.getLogger(__name__)


def bound(proxy: Proxy) -> tuple[socket.socket, Proxy]:
    """The proxy's port, and its settings with the port that it really is."""
    if not proxy.https and not _is_here(proxy.host):
        hint = "put a TLS proxy in front and set proxy.https, or leave proxy.host at 127.0.0.1"
        message = f"proxy.host = {proxy.host!r} would open the apps behind the proxy to the network, without TLS"
        raise Failure("bad_request", f"{message}; {hint}", suggestions=[hint])
    family = socket.AF_INET6 if ":" in proxy.host else socket.AF_INET
    try:
        listener = socket.create_server((proxy.host, proxy.port), family=family, backlog=128)
    except OSError as error:
        hint = "choose another: proxy.port in config.toml, or PROXY_PORT"
        message = f"the debug proxy cannot listen on {proxy.host}:{proxy.port}: {error.strerror}"
        raise Failure("system", f"{message}; {hint}", suggestions=[hint]) from None
    if not proxy.https and not is_local_name(proxy.base_host):
        _log.warning(
            "the debug proxy is called %s without https: Chrome does not say there what a request is for, so that "
            "no page gets a debug token; put a TLS proxy in front and set proxy.https",
            proxy.base_host,
        )
    return listener, msgspec.structs.replace(proxy, port=listener.getsockname()[1])


def _is_here(host: str) -> bool:
    address = literal(host)
    return is_local_name(host) or (address is not None and address.is_loopback)


class ProxyDoor:
    def __init__(self, cocoons: Cocoons, signer: Signer, lines: Lines) -> None:
        self._lines = lines
        self._tunnels = Tunnels(lines)
        passing = Passing(cocoons, signer, lines)
        self._door = HttpDoor(cast(ASGIApp, passing), _protocol(passing, self._tunnels), dated=False)

    @property
    def connections(self) -> int:
        """Of browsers, WebSockets included."""
        return self._door.connections

    async def listen(self, listener: socket.socket) -> None:
        await self._door.listen(listener)

    async def close(self) -> None:
        self._tunnels.close()
        self._lines.close()
        await self._door.close()


def _protocol(passing: Passing, tunnels: Tunnels) -> type[Http]:
    class Protocol(Http):
        """uvicorn's own, but for WebSockets, which it would read frame by frame."""

        max_connections = MAX_CONNECTIONS

        def handle_websocket_upgrade(self) -> None:
            """It is one of the connections until it ends, and counts as one."""
            scope = cast(dict[str, Any], self.scope)
            accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
            find, on_end = partial(_found, passing, scope, self.url), partial(self.connections.discard, self)
            tunnels.dig(find, self.transport, accept, on_end)

    return Protocol


def _found(passing: Passing, scope: dict[str, Any], url: bytes) -> Visit:
    try:
        parsed = httptools.parse_url(url)
        return passing.visit(scope, parsed.path or b"/", b"?" + parsed.query if parsed.query else b"")
    except Redirect as redirect:
        hint = f"connect to {redirect.location.decode('latin-1')}"
        raise Failure("not_found", "WebSockets are at the app's own address", suggestions=[hint]) from None
    except httptools.HttpParserInvalidURLError:
        raise Failure("bad_request", "this is no address") from None
