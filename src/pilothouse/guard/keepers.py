"""Where browsers elsewhere are had from: hosts and ports that no session reaches, unless a rule names them.

Above: the daemon says which there are now; judgement and sluice ask. Below: patterns, address. A Grid or a debugging
port gives browsers to whoever can speak to it: an agent that did would have one that no policy holds.
"""

import socket
from collections.abc import Callable, Iterable

from pilothouse.guard.address import Address, is_local_name, is_loopback, literal, unwrap
from pilothouse.guard.patterns import Place, place_of


class Keepers:
    """Read live; it may change at any moment, and `on_change` is told."""

    def __init__(self) -> None:
        self._places: tuple[Place, ...] = ()
        self.on_change: Callable[[], None] = lambda: None

    def replace(self, urls: Iterable[str]) -> None:
        places = tuple(dict.fromkeys(place for url in urls if (place := place_of(url)) and place.host))
        if places != self._places:
            self._places = places
            self.on_change()

    def all(self) -> tuple[Place, ...]:
        return self._places

    def at(self, port: int) -> list[Place]:
        return [one for one in self._places if one.port == port]

    def called(self, host: str, port: int) -> Place | None:
        """The one that a host and port name by themselves; all names of this machine are one."""
        return next((one for one in self.at(port) if one.host == host or (is_here(host) and is_here(one.host))), None)


def is_here(host: str) -> bool:
    """Whether a host is, by its name alone, this machine."""
    address = literal(host)
    return is_local_name(host) if address is None else is_loopback(address)


def same(one: Address, other: Address) -> bool:
    return unwrap(one) == unwrap(other) or (is_loopback(one) and is_loopback(other))


def is_own(address: Address) -> bool:
    """Whether it is one of this machine's: nobody can bind another's."""
    if is_loopback(address):
        return True
    inner = unwrap(address)
    with socket.socket(socket.AF_INET if inner.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as one:
        try:
            one.bind((str(inner), 0))
        except OSError:
            return False
    return True
