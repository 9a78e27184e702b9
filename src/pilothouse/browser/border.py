"""What a session's pages may open and load, as the engine sees it; it is decided elsewhere.

Above: sessions are handed one each, context and intercept ask it. Below: nothing.
"""

from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal, Protocol


class Refusal(Protocol):
    """Why not, which rule says so, and the line that a person could add."""

    @property
    def why(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def line(self) -> str: ...


class Border(Protocol):
    """`watch` says what has to be stopped for it: nothing, documents, or every request. It may change at any time,
    and who `follow`s is told. Where nothing is stopped, a connection to a host that it `asks_about` is refused until a
    person has said yes."""

    @property
    def watch(self) -> Literal["", "documents", "all"]: ...
    def host(self, host: str, port: int) -> str | None: ...
    def address(self, host: str, address: IPv4Address | IPv6Address, port: int) -> str | None: ...
    def asks(self, url: str) -> bool: ...
    def asks_about(self, host: str, port: int) -> bool: ...
    def named(self, host: str) -> bool: ...
    def refused(self, url: str) -> Refusal | None:
        """A document that is there already, or never comes over the network."""
        ...

    def unasked(self, url: str) -> Refusal | None:
        """One that is there, although a person would have to be asked first: it came from a cache."""
        ...

    def document(self, url: str) -> Awaitable[Refusal | None]:
        """A document that a tab is to show. A person may have to be asked."""
        ...

    def resource(self, url: str, page: str) -> Refusal | None:
        """What a page loads, inner frames included."""
        ...

    def mock(self, url: str, *, named: bool) -> Refusal | None:
        """Whether an agent's answer may stand in a site's place. `named`: a person could be asked about that site."""
        ...

    def net_rules(self, allowed: tuple[str, ...]) -> list[dict[str, Any]]:
        """What is forbidden, in the words of a browser that can hold it itself; `allowed`: the only hosts, if any."""
        ...

    def follow(self, changed: Callable[[], None]) -> Callable[[], None]: ...
    def close(self) -> None: ...


class OpenBorder(Protocol):
    def __call__(self, session: str, *, caller: str, browser: str, mode: str) -> Border: ...
