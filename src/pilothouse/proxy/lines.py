"""Connections to targets: names become addresses here, each is checked, and that very address is connected to.

Above: passing, tunnel. Below: line; guard's resolver and its list of addresses that nobody may reach.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from pilothouse.errors import Failure
from pilothouse.guard.address import Address, authority, forbidden, is_loopback, is_metadata_name
from pilothouse.guard.resolve import Resolver, UnknownHost
from pilothouse.proxy.line import Line

CONNECT_S = 10.0
IDLE_S = 4.0  # Node's servers close after five
MAX_IDLE = 64  # for each target
_HINT = "is the app running, and is the target of the cocoon right? `pilothouse cocoon list` tells it"


class _Idle(NamedTuple):
    line: Line
    since: float


class Lines:
    """`forbidden_ports` are this machine's own: the daemon's, the proxy's."""

    def __init__(self, resolver: Resolver, forbidden_ports: Collection[int]) -> None:
        self._resolver = resolver
        self._forbidden_ports = forbidden_ports
        self._idle: dict[str, list[_Idle]] = {}
        self._tls = ssl.create_default_context()
        self._sweeping: asyncio.TimerHandle | None = None

    def idle(self, target: str) -> Line | None:
        """A connection that was used before, or none."""
        kept = self._idle.get(target, [])
        while kept:
            line, since = kept.pop()
            if line.reusable and time.monotonic() - since < IDLE_S:
                return line
            line.close()
        return None

    def give_back(self, target: str, line: Line) -> None:
        kept = self._idle.setdefault(target, [])
        if line.reusable and len(kept) < MAX_IDLE:
            kept.append(_Idle(line, time.monotonic()))
            self._sweeping = self._sweeping or asyncio.get_running_loop().call_later(IDLE_S, self._sweep)
        else:
            line.close()

    def _sweep(self) -> None:
        """What nobody has used for so long is closed, also when nobody asks any more."""
        self._sweeping = None
        now = time.monotonic()
        for target, kept in list(self._idle.items()):
            for one in [one for one in kept if now - one.since >= IDLE_S or not one.line.reusable]:
                kept.remove(one)
                one.line.close()
            if not kept:
                del self._idle[target]
        if self._idle:
            self._sweeping = asyncio.get_running_loop().call_later(IDLE_S, self._sweep)

    async def open(self, target: str) -> Line:
        """A new connection; `navigation_failed`, `timeout` or `denied` with the reason."""
        host, port = authority(target)
        tls = self._tls if target.startswith("https:") else None
        try:
            async with asyncio.timeout(CONNECT_S):
                addresses = await self._addresses(host, port)
                return await self._first(host, port, addresses, tls)
        except TimeoutError:
            raise Failure("timeout", f"{host}:{port} does not answer", suggestions=[_HINT]) from None
        except UnknownHost:
            raise Failure("navigation_failed", f"there is no host {host}", suggestions=[_HINT]) from None

    def close(self) -> None:
        if self._sweeping:
            self._sweeping.cancel()
        for kept in self._idle.values():
            for one in kept:
                one.line.close()
        self._idle.clear()

    async def _addresses(self, host: str, port: int) -> tuple[Address, ...]:
        if is_metadata_name(host):
            raise _never(f"{host} is a cloud metadata service")
        addresses = await self._resolver.look_up(host)
        for address in addresses:
            if why := forbidden(address):
                raise _never(why)
            if is_loopback(address) and port in self._forbidden_ports:
                raise _never(f"port {port} of this machine is Pilothouse itself")
        return addresses

    async def _first(self, host: str, port: int, addresses: tuple[Address, ...], tls: ssl.SSLContext | None) -> Line:
        problem: OSError | None = None
        make: Callable[[], Line] = Line
        loop = asyncio.get_running_loop()
        for address in addresses:
            try:
                name = host if tls else None
                _, line = await loop.create_connection(make, str(address), port, ssl=tls, server_hostname=name)
                return line
            except OSError as error:
                problem = error
        why = "its certificate is not trusted" if isinstance(problem, ssl.SSLError) else "nothing answers there"
        raise Failure("navigation_failed", f"{host}:{port}: {why}", suggestions=[_HINT])


def _never(why: str) -> Failure:
    return Failure("denied", why, details={"rule": "built in"}, suggestions=["give the cocoon another target"])
