"""The hosts that a session was narrowed to: `example.com`, `*.example.com`, `localhost:3000`.

Above: the sluice asks for every connection. Below: address, errors. Hosts are read by the same WHATWG parser that
judges addresses, and compared label by label.
"""

import re
from collections.abc import Iterable

import ada_url
import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import authority
from pilothouse.guard.resolve import canonical

MAX_PATTERNS = 500
_PATTERN = re.compile(r"(\*\.)?(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\\*]+)(?::([0-9]{1,5}))?")


class Domains(msgspec.Struct, frozen=True):
    """No patterns: every host passes."""

    exact: frozenset[tuple[str, int]] = frozenset()
    below: frozenset[tuple[str, int]] = frozenset()  # any host under one of these
    open: bool = True

    def admit(self, host: str, port: int) -> bool:
        if self.open or {(host, 0), (host, port)} & self.exact:
            return True
        return bool(self.below) and any({(one, 0), (one, port)} & self.below for one in _parents(host))

    def refusal(self, host: str, port: int) -> str:
        """Why a connection may not be made; empty if it may."""
        return "" if self.admit(host, port) else f"{host} is not among this session's allowed_domains"


def read_domains(patterns: Iterable[str]) -> Domains:
    """The patterns of a session; `bad_request` for one that is none."""
    given = [one.strip() for one in patterns]
    if len(given) > MAX_PATTERNS:
        raise Failure("bad_request", f"allowed_domains holds more than {MAX_PATTERNS} patterns")
    if not given or "*" in given:
        return Domains()
    read = [_read(one) for one in given]
    exact = frozenset(place for below, place in read if not below)
    return Domains(exact, frozenset(place for below, place in read if below), open=False)


def is_outside(patterns: Iterable[str], place: str) -> bool:
    """Whether a cookie's domain, or an address, belongs to none of the hosts that a session was narrowed to."""
    domains = read_domains(patterns)
    if domains.open:
        return False
    host, port = authority(place) if "://" in place else (canonical(place.lstrip(".")), 0)
    ports = {one for _, one in domains.exact | domains.below} if not port else {port}
    return not any(domains.admit(host, one) for one in {*ports, port})


def _read(pattern: str) -> tuple[bool, tuple[str, int]]:
    found = _PATTERN.fullmatch(pattern)
    try:
        host = canonical(ada_url.URL(f"http://{found[2]}/").hostname) if found else ""
    except ValueError:
        host = ""
    if not found or not host or int(found[3] or 0) > 65_535:
        raise Failure(
            "bad_request",
            f"allowed_domains: {pattern[:100]!r} is not a host",
            suggestions=["write example.com, *.example.com for every host below it, or localhost:3000"],
        )
    return bool(found[1]), (host, int(found[3] or 0))


def _parents(host: str) -> Iterable[str]:
    labels = host.split(".")
    return (".".join(labels[start:]) for start in range(1, len(labels)))
