"""A policy made by hand, as a session sees it: for tests of what holds the network to it."""

from collections.abc import Collection, Mapping
from typing import Any

from pilothouse.guard.address import Address, authority
from pilothouse.guard.domains import read_domains
from pilothouse.guard.patterns import place_of
from pilothouse.guard.policy import Decision, Verdict
from pilothouse.guard.view import Hosts, Watch

ALL = ("*",)


class ByHand:
    """`documents` are the hosts that may be opened, `ask` those that a person has to be asked about; `resources` says
    what pages of a host may load, besides. `private` are addresses that are refused, `only` schemes that are listed."""

    def __init__(
        self,
        documents: Collection[str] = ALL,
        *,
        ask: Collection[str] = (),
        resources: Mapping[str, Collection[str]] | None = None,
        private: Collection[str] = (),
        only: Collection[str] = (),
    ) -> None:
        self.become(documents, ask=ask, resources=resources, private=private, only=only)

    def become(
        self,
        documents: Collection[str] = ALL,
        *,
        ask: Collection[str] = (),
        resources: Mapping[str, Collection[str]] | None = None,
        private: Collection[str] = (),
        only: Collection[str] = (),
    ) -> None:
        """Another policy, from now on."""
        self.documents, self.ask, self.private, self.only = documents, ask, private, only
        self.lists = {host: read_domains(names) for host, names in (resources or {}).items()}

    @property
    def watch(self) -> Watch:
        return "all" if self.lists else "" if self.documents == ALL and not self.ask else "documents"

    def host(self, host: str, port: int) -> str | None:
        listed = any(one.admit(host, port) for one in self.lists.values())
        return None if listed or self._verdict(host) == "allow" else f"no rule allows {host}"

    def address(self, host: str, address: Address, port: int) -> str | None:
        return f"{address} is private" if str(address) in self.private else None

    def named(self, host: str) -> bool:
        return self._verdict(host) == "allow"

    def document(self, url: str) -> Decision:
        scheme = url.partition(":")[0]
        if scheme not in ("http", "https"):
            listed = scheme in self.only
            return Decision("allow" if listed else "deny", "schemes", why="" if listed else f"{scheme}: is not listed")
        host, _ = authority(url)
        verdict = self._verdict(host)
        place = place_of(url) if verdict == "ask" else None
        why = f"{host} is not allowed" if verdict == "deny" else ""
        return Decision(verdict, f"the rule for {host}", why=why, once_for=place.domain if place else "")

    def change(self, url: str) -> Decision:
        return self.document(url)

    def resources(self, document_url: str) -> Hosts | None:
        return self.lists.get(authority(document_url)[0]) if document_url.startswith("http") else None

    def net_rules(self, allowed: tuple[str, ...]) -> list[dict[str, Any]]:
        return []

    def _verdict(self, host: str) -> Verdict:
        return "ask" if host in self.ask else "allow" if self.documents == ALL or host in self.documents else "deny"
