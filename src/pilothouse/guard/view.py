"""What the network boundary asks of the policy: one session's view of it, which may change at any moment.

Above: sluice (every connection), border (documents, and what pages load). Below: policy's words. A name is judged
before it is looked up, each of its addresses after it; whether a document may be opened is another question than
whether something may be loaded from its host.
"""

from collections.abc import Awaitable
from typing import Any, Literal, Protocol

from pilothouse.guard.address import Address
from pilothouse.guard.policy import Decision, Question

Watch = Literal["", "documents", "all"]
"""What has to be stopped in the browser and shown to us: nothing, every document, or every request."""


class Passage(Protocol):
    """What a gateway asks. None lets a connection pass, a text refuses it and says why."""

    def host(self, host: str, port: int) -> str | None: ...
    def address(self, host: str, address: Address, port: int) -> str | None: ...
    def named(self, host: str) -> bool:
        """Whether a person's rules speak of it."""
        ...


class Hosts(Protocol):
    """A list of hosts, as a rule's `resources` is one."""

    def admit(self, host: str, port: int) -> bool: ...


class View(Passage, Protocol):
    """`host` must refuse what would have to be asked about first: a page loads from hosts that are allowed, and
    Chrome connects ahead while a document is still being judged (M)."""

    @property
    def watch(self) -> Watch: ...
    def document(self, url: str) -> Decision: ...
    def change(self, url: str) -> Decision: ...
    def resources(self, document_url: str) -> Hosts | None: ...
    def net_rules(self, allowed: tuple[str, ...]) -> list[dict[str, Any]]:
        """What is forbidden, in Chrome's own words; `allowed`: the hosts that a session was narrowed to."""
        ...


class Judge(Protocol):
    """Who is asked about a document that a page wants to go to. Returns when it may; raises `Failure` when not."""

    def __call__(self, question: Question, decision: Decision, /) -> Awaitable[object]: ...


class Opened:
    """Every door open; what may never be reached is another's business."""

    watch: Watch = ""

    def host(self, host: str, port: int) -> str | None:
        return None

    def address(self, host: str, address: Address, port: int) -> str | None:
        return None

    def named(self, host: str) -> bool:
        return True

    def document(self, url: str) -> Decision:
        return Decision("allow", "no policy")

    def change(self, url: str) -> Decision:
        return Decision("allow", "no policy")

    def resources(self, document_url: str) -> Hosts | None:
        return None

    def net_rules(self, allowed: tuple[str, ...]) -> list[dict[str, Any]]:
        return []


class Closed:
    """A gateway that no session has moved in behind yet."""

    def host(self, host: str, port: int) -> str | None:
        return "no session uses this browser now"

    def address(self, host: str, address: Address, port: int) -> str | None:
        return None

    def named(self, host: str) -> bool:
        return False


OPENED = Opened()
CLOSED = Closed()
