"""Names to addresses, for the sluice: ours to do, so that the address we check is the address we connect to.

Above: the sluice. Below: address. The order of authority: `[network] hosts`, a literal address, `localhost`, DNS.
"""

import asyncio
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address

from pilothouse.guard.address import Address, is_local_name, literal

_TIMEOUT_S = 10.0
_KEEP_S = 15.0
_KEEP = 512
_AT_A_TIME = 32
_LOOPBACK: tuple[Address, ...] = (ip_address("::1"), ip_address("127.0.0.1"))


class UnknownHost(Exception):
    """The name has no address."""


class Resolver:
    """Answers are kept for some seconds: Chrome opens six connections to a host at once and asks again for each."""

    def __init__(self, hosts: Mapping[str, str]) -> None:
        self._hosts = {canonical(name): canonical(address) for name, address in hosts.items()}
        self._known: OrderedDict[str, tuple[float, tuple[Address, ...]]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[tuple[Address, ...]]] = {}
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    def at_once(self, host: str) -> tuple[Address, ...] | None:
        """The addresses of a host that needs no question to anyone; None if one must be asked."""
        if found := self.given(host):
            return found
        kept = self._known.get(self._hosts.get(host, host))
        return kept[1] if kept and kept[0] > asyncio.get_running_loop().time() else None

    def given(self, host: str) -> tuple[Address, ...]:
        """The addresses that a host spells out, or that a person or the machine gave it; none for a name of DNS."""
        host = self._hosts.get(host, host)
        if (address := literal(host)) is not None:
            return (address,)
        return _LOOPBACK if is_local_name(host) else ()

    def named(self, host: str) -> str:
        """The name to ask for: the host's own, or the one a person gave it."""
        return self._hosts.get(host, host)

    async def look_up(self, host: str) -> tuple[Address, ...]:
        """The addresses of a host, in the order in which to try them; `UnknownHost` or `TimeoutError` if none."""
        if found := self.at_once(host):
            return found
        host = self._hosts.get(host, host)
        asking = self._asking.get(host)
        if asking is None:
            asking = self._asking[host] = asyncio.create_task(self._ask(host))
            asking.add_done_callback(lambda task: self._answered(host, task))
        # One caller that gives up must not take the answer from the others.
        async with asyncio.timeout(_TIMEOUT_S):
            return await asyncio.shield(asking)

    async def _ask(self, host: str) -> tuple[Address, ...]:
        async with asyncio.timeout(_TIMEOUT_S), self._turns:
            return await _in_thread(lambda: _system_lookup(host))

    def _answered(self, host: str, task: asyncio.Task[tuple[Address, ...]]) -> None:
        del self._asking[host]
        if not task.cancelled() and task.exception() is None:
            self._known[host] = (asyncio.get_running_loop().time() + _KEEP_S, task.result())
            while len(self._known) > _KEEP:
                self._known.popitem(last=False)


def _system_lookup(host: str) -> tuple[Address, ...]:
    try:
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise UnknownHost(host) from None
    return tuple(dict.fromkeys(ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found))


async def _in_thread(work: Callable[[], tuple[Address, ...]]) -> tuple[Address, ...]:
    """A thread of its own: pools are joined at exit, and a dead DNS server would hold up the end of the daemon."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Address, ...]] = loop.create_future()

    def tell(result: tuple[Address, ...] | Exception) -> None:
        if not future.done():
            future.set_exception(result) if isinstance(result, Exception) else future.set_result(result)

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            result = error
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(tell, result)

    threading.Thread(target=run, name="lookup", daemon=True).start()
    return await future


def canonical(host: str) -> str:
    """One spelling for a host: lower case, no brackets, no closing dot."""
    return host.strip("[]").rstrip(".").lower()
