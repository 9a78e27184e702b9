"""The policy at the edge of one session: what its tabs may open, what its pages may load, whom they may connect to.

Above: the daemon makes the borders, sessions and gateways ask theirs. Below: view (the policy), whose changes take
hold at once. A document that needs a person's word is held until there is one; nobody to ask means no.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import Address, authority
from pilothouse.guard.patterns import WEB, Place
from pilothouse.guard.policy import Decision, Question
from pilothouse.guard.view import Judge, View, Watch
from pilothouse.tool import Access

HOLD_S = 300.0  # whoever is asked answers sooner; a page must not wait for ever if not
MAX_ADMITTED = 1000
PAGE = "navigation"
"""The tool of a question that no call asks, but a page: a link, a redirect, a script, a popup."""


class Border:
    """`admit` is for whoever has asked a person by another way: documents of that domain pass from then on. A domain
    is what one answer covers, a `Decision`'s `once_for`: a host, with its port if that is an unusual one."""

    def __init__(self, view: View, judge: Judge, question: Question, closed: Callable[["Border"], None]) -> None:
        self._view = view
        self._judge = judge
        self._question = question
        self._closed = closed
        self._admitted: dict[str, None] = {}
        self._followers: set[Callable[[], None]] = set()

    @property
    def session(self) -> str:
        return self._question.session

    @property
    def watch(self) -> Watch:
        return self._view.watch

    # What a gateway asks

    def host(self, host: str, port: int) -> str | None:
        why = self._view.host(host, port)
        return None if why and self._is_admitted(host, port) else why

    def address(self, host: str, address: Address, port: int) -> str | None:
        return self._view.address(host, address, port)

    def named(self, host: str) -> bool:
        return self._view.named(host)

    # What the engine asks

    def asks(self, url: str) -> bool:
        """Whether a person has to say yes first."""
        decision = self._view.document(judged_as(url))
        return decision.verdict == "ask" and decision.once_for not in self._admitted

    def asks_about(self, host: str, port: int) -> bool:
        """The same of a connection, whose scheme nobody knows."""
        return not self._is_admitted(host, port) and any(self.asks(_url(scheme, host, port)) for scheme in WEB)

    def refused(self, url: str) -> Decision | None:
        decision = self._view.document(judged_as(url))
        return decision if decision.verdict == "deny" else None

    def unasked(self, url: str) -> Decision | None:
        if not self.asks(url):
            return None
        decision = self._view.document(judged_as(url))
        why = f"nobody has said yes to {decision.once_for or url}"
        return msgspec.structs.replace(decision, verdict="deny", why=why)

    async def document(self, url: str) -> Decision | None:
        decision = self._view.document(judged_as(url))
        if decision.verdict == "allow":
            return None
        if decision.verdict == "deny":
            return _told(decision, url)
        return None if decision.once_for in self._admitted else await self._ask(url, decision)

    def resource(self, url: str, page: str) -> Decision | None:
        """Only what a rule's own list says: whether the host may be reached at all is the gateway's question."""
        place, home = authority_of(url), authority_of(page)
        allowed = self._view.resources(judged_as(page)) if place and home else None
        if allowed is None or not place or not home or place == home or allowed.admit(*place):
            return None
        rule = self._view.document(judged_as(page)).rule
        return Decision("deny", rule, why=f"pages of {home[0]} may not load from {place[0]} (resources of {rule})")

    def mock(self, url: str, *, named: bool) -> Decision | None:
        """Who speaks in a site's place can do there whatever its scripts can: it is a change like theirs."""
        decision = self._view.change(judged_as(url))
        if decision.verdict == "allow" or (decision.verdict == "ask" and named):
            return None
        why = decision.why
        if decision.verdict == "ask":
            why = f"{decision.rule} wants a person asked first: the pattern of a mock has to name this host"
        return msgspec.structs.replace(decision, verdict="deny", why=why)

    def net_rules(self, allowed: tuple[str, ...]) -> list[dict[str, Any]]:
        return self._view.net_rules(allowed)

    # What may change

    def admit(self, domain: str) -> None:
        self._admitted[domain] = None
        while len(self._admitted) > MAX_ADMITTED:
            del self._admitted[next(iter(self._admitted))]

    def expel(self, domain: str) -> None:
        """A grant was taken back."""
        if domain in self._admitted:
            del self._admitted[domain]
            self.changed()

    def follow(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._followers.add(changed)
        return lambda: self._followers.discard(changed)

    def changed(self) -> None:
        """The policy is another one now: what it no longer allows ends."""
        self._admitted = {one: None for one in self._admitted if not self._forbids(one)}
        for follower in tuple(self._followers):
            follower()

    def close(self) -> None:
        """What a person allowed for this session ends with it."""
        self._admitted.clear()
        self._closed(self)

    def _is_admitted(self, host: str, port: int) -> bool:
        """Of a connection, whose scheme nobody knows: one of both was said yes to, and at this very port no rule is
        against it."""
        yes = [one for one in WEB if Place(one, host, port).domain in self._admitted]
        return any(self._view.document(_url(one, host, port)).verdict != "deny" for one in yes)

    def _forbids(self, domain: str) -> bool:
        return all(self._view.document(f"{scheme}://{domain}/").verdict == "deny" for scheme in WEB)

    async def _ask(self, url: str, decision: Decision) -> Decision | None:
        question = msgspec.structs.replace(self._question, urls=(url,))
        try:
            async with asyncio.timeout(HOLD_S):
                await self._judge(question, decision)
        except Failure as failure:
            return msgspec.structs.replace(decision, verdict="deny", why=failure.message)
        except TimeoutError:
            return msgspec.structs.replace(decision, verdict="deny", why="nobody has said yes in time")
        if (now := self._view.document(judged_as(url))).verdict == "deny":  # meanwhile the rules may have changed
            return _told(now, url)
        if decision.once_for:
            self.admit(decision.once_for)
        return None


class Borders:
    """Those of all open sessions. `view` gives the policy as a kind of browser in a mode sees it."""

    def __init__(self, view: Callable[[str, str], View], judge: Judge) -> None:
        self._view = view
        self._judge = judge
        self._open: set[Border] = set()

    def open(self, session: str, *, caller: str, browser: str, mode: str) -> Border:
        question = Question(
            caller=caller, session=session, tool=PAGE, access=Access.VISIT, args={}, browser=browser, mode=mode
        )
        border = Border(self._view(browser, mode), self._judge, question, self._open.discard)
        self._open.add(border)
        return border

    def of(self, session: str) -> Border | None:
        return next((one for one in self._open if one.session == session), None)

    def heard(self, event: Mapping[str, Any]) -> None:
        """For the approvals to tell: what a person has allowed for a domain holds at the network too, until it is
        taken back."""
        grant = event.get("grant", {})
        border = self.of(grant["session"]) if grant.get("scope") == "domain" else None
        if border and event["kind"] == "granted":
            border.admit(grant["domain"])
        elif border and event["kind"] == "revoked":
            border.expel(grant["domain"])

    def changed(self) -> None:
        """For the policy to call when it is another one."""
        for border in tuple(self._open):
            border.changed()


def judged_as(url: str) -> str:
    """A document that a page made itself (`blob:`) is one of that page's origin."""
    return url.removeprefix("blob:") if url.startswith("blob:http") else url


def authority_of(url: str) -> tuple[str, int] | None:
    """Host and port of an address as the browser writes it; None when it has none."""
    url = judged_as(url)
    if not url.startswith(("http://", "https://")):
        return None
    try:
        return authority(url)
    except ValueError:
        return None


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


def _told(decision: Decision, url: str) -> Decision:
    place = authority_of(url)
    why = decision.why or f"{decision.rule} forbids {place[0] if place else url.partition(':')[0] + ': addresses'}"
    return msgspec.structs.replace(decision, why=why)
