"""Where an address leads, in one spelling, and the patterns that rules are written in.

Above: rules, policy. Below: address (WHATWG, as Chrome reads it), errors. A pattern is `[scheme://]host[:port]` or
`*.host` (every host below, not the host itself); no scheme means http and https, no port every port. Hosts are
compared label by label. `data:` and `chrome:` name schemes that have no servers.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import ada_url
import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import is_local_name, literal, unwrap
from pilothouse.guard.resolve import canonical

WEB = ("http", "https")
LISTABLE = ("data", "chrome")  # never opened unless a rule names them
_PORTS = {"http": 80, "https": 443}
_SAME = {"ws": "http", "wss": "https"}  # one server speaks both
_MAX_CHARS = 300
_PATTERN = re.compile(
    r"(?:(https?|wss?|chrome)://)?(\*\.)?(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\\*\[\]]+)(?::([0-9]{1,5}))?/?",
    re.IGNORECASE,
)
_SCHEME_ALONE = re.compile(rf"({'|'.join(LISTABLE)}):(?://)?", re.IGNORECASE)
_READS_FILES = re.compile(r"(file|devtools):", re.IGNORECASE)


class Place(msgspec.Struct, frozen=True):
    """Where an address leads. `host` is as Chrome writes it, without brackets and closing dot."""

    scheme: str
    host: str = ""
    port: int = 0

    @property
    def domain(self) -> str:
        """What one answer of a person covers: the host, and its port if it is an unusual one."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        if not shown:
            return f"{self.scheme}:"
        return shown if self.port in (0, _PORTS.get(self.scheme, 0)) else f"{shown}:{self.port}"

    @property
    def is_web(self) -> bool:
        return self.scheme in WEB


NOWHERE = Place("about")


class Pattern(msgspec.Struct, frozen=True):
    """`text` is the one spelling of it. An empty scheme is http and https, port 0 every port."""

    text: str
    scheme: str
    host: str
    port: int = 0
    below: bool = False

    def fits(self, place: Place) -> bool:
        if place.scheme != self.scheme if self.scheme else not place.is_web:
            return False
        if self.port and self.port != place.port:
            return False
        if not self.host:
            return not self.scheme or self.scheme in LISTABLE
        host = one_spelling(place.host)
        return host.endswith(f".{self.host}") if self.below else host == self.host

    @property
    def rank(self) -> tuple[int, int, bool, bool]:
        """The higher, the more specific. A host before `*.host`, more labels before fewer, then a port, then a
        scheme. Two different patterns that fit the same place never have the same rank."""
        return (
            0 if self.below else 1 if self.host else -1,
            len(self.host.split(".")),
            bool(self.port),
            bool(self.scheme),
        )


ANYTHING = Pattern("*", "", "")  # in `resources` only


def read_pattern(text: str) -> Pattern:
    """A pattern as a person wrote it, in its one spelling; `bad_request` says what is wrong with it."""
    given = text.strip()
    if reader := _READS_FILES.match(given):
        raise _reads_files(reader[1].lower())
    if alone := _SCHEME_ALONE.fullmatch(given):
        return Pattern(f"{alone[1].lower()}:", alone[1].lower(), "")
    found = _PATTERN.fullmatch(given) if len(given) <= _MAX_CHARS else None
    host = _host(found[3]) if found else ""
    if not found or not host or int(found[4] or 0) > 65_535:
        raise _no_pattern(text)
    scheme, below, port = (found[1] or "").lower(), bool(found[2]), int(found[4] or 0)
    scheme = _SAME.get(scheme, scheme)
    if below and literal(host) is not None:
        raise Failure("bad_request", f"{text[:100]!r}: there is nothing below an IP address")
    if found[4] == "0" or (port and scheme in LISTABLE):
        raise _no_pattern(text)
    shown = f"[{host}]" if ":" in host else host
    written = f"{scheme}://" if scheme else ""
    written += f"{'*.' if below else ''}{shown}{f':{port}' if port else ''}"
    return Pattern(written, scheme, host, port, below)


class Hosts(msgspec.Struct, frozen=True):
    """A rule's `resources`: from where its pages may load."""

    patterns: tuple[Pattern, ...]

    def admit(self, host: str, port: int) -> bool:
        """Whether one of them fits; the scheme of a connection is not known."""
        return any(one.fits(Place(scheme, host, port)) for one in self.patterns for scheme in WEB)


def names(patterns: Iterable[Pattern], host: str) -> bool:
    """Whether one of them names a host, whatever the scheme and the port."""
    return any(one.fits(Place(one.scheme or "http", host, one.port)) for one in patterns)


@lru_cache(maxsize=2048)
def place_of(url: str) -> Place | None:
    """Where an address leads; None if nobody can say. Blank documents and error pages are nowhere."""
    try:
        parsed = ada_url.URL(url)
    except ValueError:
        return None
    scheme = parsed.protocol.removesuffix(":")
    if "*" in parsed.hostname:  # Chrome writes %2A there, against the standard (M): nobody's name
        return None
    if scheme == "blob":  # a document of the origin that made it
        return place_of(parsed.origin) if parsed.origin != "null" else Place("blob")
    if scheme == "about":
        return NOWHERE if parsed.pathname in ("blank", "srcdoc") else Place("about", parsed.pathname)
    if scheme == "chrome-error":
        return NOWHERE
    scheme = _SAME.get(scheme, scheme)
    port = int(parsed.port or _PORTS.get(scheme, 0))
    return Place(scheme, canonical(parsed.hostname), port)


def one_spelling(host: str) -> str:
    """An IPv4 address in IPv6 clothes is that IPv4 address: rules for one hold for the other."""
    address = literal(host) if ":" in host else None
    return str(unwrap(address)) if address is not None else host


def is_private(host: str) -> bool:
    """Whether a host is, by its name alone, on this machine or in a network of one's own."""
    address = literal(host)
    return is_local_name(host) if address is None else not unwrap(address).is_global


def _host(text: str) -> str:
    """As Chrome would read it; empty if it would not."""
    try:
        host = canonical(ada_url.URL(f"http://{text}/").hostname)
    except ValueError:
        return ""
    return one_spelling(host) if all(host.split(".")) and "*" not in host else ""


def _reads_files(scheme: str) -> Failure:
    """Fetch stops documents of `file:`, but not scripts (M), and DevTools' own pages load any file by their host."""
    return Failure(
        "bad_request",
        f"{scheme}: addresses cannot be allowed: their pages can load every file of yours, also Pilothouse's keys",
        suggestions=["serve the folder instead: python3 -m http.server --bind 127.0.0.1, and a rule for localhost"],
    )


def _no_pattern(text: str) -> Failure:
    return Failure(
        "bad_request",
        f"{text[:100]!r} is not a host pattern",
        suggestions=[
            "write example.com, *.example.com for every host below it, localhost:3000 or https://bank.example"
        ],
    )
