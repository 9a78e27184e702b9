"""One address, one kind of access: what the rules say about it. The four templates stand here, as a table.

Above: policy, which puts together what is said about all addresses of a call. Below: rules, patterns, question.
What comes first decides: what is never allowed, the scheme, private networks, the rule of the host or the default,
then whether it may be written.
"""

from collections.abc import Collection
from functools import lru_cache

import msgspec

from pilothouse.guard.address import forbidden, is_local_name, is_loopback, is_metadata_name, literal
from pilothouse.guard.aliases import barring, spelled_out
from pilothouse.guard.keepers import Keepers
from pilothouse.guard.patterns import LISTABLE, NOWHERE, WEB, Place, is_private, place_of, read_pattern
from pilothouse.guard.question import CHANGES, UNTOLD, Decision, Risk, Verdict
from pilothouse.guard.rules import Rule, Rules
from pilothouse.tool import Access

_ORDER: dict[str, int] = {"allow": 0, "ask": 1, "deny": 2}
_MODES = ("auto", "ask", "readonly")
_RISKS = ("none", "low", "medium", "high")
_LONGEST_NAME = 253  # of DNS; an address may hold anything, and what is longer is not worth remembering
ISOLATED = "isolated"
STORES = ("chromewebstore.google.com", "microsoftedge.microsoft.com", "addons.opera.com")
KEPT = "is where browsers elsewhere are had from, which only a rule for that very host and port opens"
LAUNCHED = (ISOLATED, "profile")
"""Browsers that begin empty, with the sluice in front."""


class Column(msgspec.Struct, frozen=True):
    """What a template says where no rule does. `sensitive` "allow" still asks when the risk is high."""

    hosts: Verdict  # that no rule names
    write: Verdict  # "ask": once per domain and session
    sensitive: Verdict
    private: bool  # loopback and private networks without a rule


TEMPLATES: dict[str, Column] = {
    "sandbox": Column(hosts="allow", write="allow", sensitive="allow", private=True),
    "careful": Column(hosts="ask", write="ask", sensitive="ask", private=False),
    "locked": Column(hosts="deny", write="deny", sensitive="ask", private=False),
    "readonly": Column(hosts="allow", write="deny", sensitive="deny", private=True),
}


def template_of(rules: Rules, browser: str) -> str:
    """The user's own Chrome and remote ones hold what is theirs."""
    return rules.template or ("sandbox" if browser in LAUNCHED else "careful")


def stricter(one: Verdict, other: Verdict) -> Verdict:
    return max(one, other, key=lambda verdict: _ORDER[verdict])


def narrowed(mode: str, session: str) -> str:
    """A session's mode can only narrow the one of all."""
    return max(mode, session if session in _MODES else "readonly", key=_MODES.index)


def is_sensitive(access: Access, risk: Risk) -> bool:
    """By its tool, or by what it points at."""
    return access is Access.SENSITIVE or (access is Access.WRITE and _RISKS.index(risk) >= 2)


@lru_cache(maxsize=2048)
def _nature(host: str) -> tuple[str, bool]:
    """Of a host by itself: why no page may ever reach it, and whether it is this machine."""
    address = literal(host)
    if is_metadata_name(host):
        return f"{host} is a cloud metadata service", False
    if address is None:
        return "", is_local_name(host)
    return forbidden(address), is_loopback(address)


class Judge:
    """The rules as one kind of browser in one mode sees them. `own_ports` are never reached, `keepers` if named."""

    def __init__(
        self, rules: Rules, *, browser: str, mode: str, own_ports: Collection[int], keepers: Keepers | None = None
    ) -> None:
        self.rules = rules
        self.template = template_of(rules, browser)
        self.mode = narrowed(rules.mode, mode)
        self._is_the_persons = browser == "extension"
        self._column = TEMPLATES[self.template]
        self.own_ports = own_ports
        self.keepers = keepers or Keepers()
        # A call asks about the same place seven times and more. The rules of a judge never change.
        self._remembered = lru_cache(maxsize=2048)(self._stand)

    @property
    def hosts(self) -> Verdict:
        """About a host that no rule names."""
        said = self.rules.default or self._column.hosts
        return stricter(said, "ask") if self.mode == "ask" else said

    def judge(self, url: str, access: Access, risk: Risk = "none", why: str = "") -> Decision:
        place = place_of(url)
        if place is None:
            return Decision("deny", "built in", why=UNTOLD)
        if place == NOWHERE:
            return self._act(None, place, access, risk, why, Decision("allow", self._by_template))
        if refused := self._never(place):
            return refused
        stand = self._remembered if len(place.host) <= _LONGEST_NAME else self._stand
        rule, visit = stand(place, "write = true" if access in (Access.WRITE, Access.SENSITIVE) else "")
        if visit.verdict == "deny" or access in (Access.READ, Access.VISIT):
            return self._there(visit, access, risk, why)
        return self._act(rule, place, access, risk, why, visit)

    def placeless(self, access: Access, risk: Risk = "none", why: str = "") -> Decision:
        """About what is done to no page at all: profiles, browsers, a session's state."""
        return self._act(None, None, access, risk, why, Decision("allow", self._by_template))

    def host(self, host: str, port: int) -> Decision:
        """About a connection, whose scheme nobody knows: the milder of both."""
        both = [self.judge(_url(scheme, host, port), Access.READ) for scheme in ("http", "https")]
        return min(both, key=lambda decision: _ORDER[decision.verdict])

    # Whether one may be there

    def _never(self, place: Place) -> Decision | None:
        if not place.is_web:
            return self._scheme(place)
        host = place.host
        if self._is_the_persons and host.rstrip(".") in STORES:  # the extension refuses it, whatever we say
            return _never("shops of extensions are never opened in the person's own Chrome")
        why, is_here = (_nature if len(host) <= _LONGEST_NAME else _nature.__wrapped__)(host)
        if why:
            return _never(why)
        if is_here and place.port in self.own_ports:
            return _never(f"{place.domain} is Pilothouse itself")
        keeper = self.keepers.called(host, place.port)
        return None if keeper is None or self.opens(keeper) else _kept(place, keeper)

    def opens(self, keeper: Place) -> bool:
        """Whether a rule names that very host and port."""
        rules = (self.rules.of(Place(scheme, keeper.host, keeper.port)) for scheme in WEB)
        return any(one is not None and one.pattern.port == keeper.port and not one.pattern.below for one in rules)

    def _scheme(self, place: Place) -> Decision | None:
        if place.scheme not in LISTABLE:
            return _never(f"{place.scheme}: addresses are never opened")
        if place.scheme == "chrome" and self._is_the_persons:  # the extension refuses it, whatever we say
            return _never("Chrome's own pages are never opened in the person's own Chrome")
        if self.rules.of(place) is None:
            why = f"{place.scheme}: addresses are opened only if a rule names them"
            return Decision(
                "deny", "built in", why=why, line=_table(f"{place.scheme}:{place.host and f'//{place.host}'}")
            )
        return None

    def _stand(self, place: Place, more: str) -> tuple[Rule | None, Decision]:
        """The rule that a place has, and whether one may be there; `more` is what who wants to act needs besides."""
        rule = self.rules.of(place)
        return rule, self._visit(place, rule, more)

    def _visit(self, place: Place, rule: Rule | None, more: str) -> Decision:
        address = spelled_out(place.host) if place.is_web else None
        if address is not None and (barred := barring(self.rules, place, address)) not in (None, rule):
            why = f"{barred.name} forbids {place.domain}, which is the same place"
            return Decision("deny", barred.name, why=why, line=f"read = true  # {barred.name}")
        if rule is not None:
            if rule.read:
                return Decision("allow", rule.name)
            return Decision(
                "deny", rule.name, why=f"{rule.name} forbids {place.domain}", line=f"read = true  # {rule.name}"
            )
        line = _table(place.domain, more)
        if place.is_web and is_private(place.host) and not self._column.private:
            why = f"{place.domain} is in a private network, which {self._by_template} allows only if a rule names it"
            return Decision("deny", self._by_template, why=why, line=line)
        if self.hosts == "allow":
            return Decision("allow", self._by_default)
        if self.hosts == "deny":
            return Decision("deny", self._by_default, why=f"no rule names {place.domain}", line=line)
        return Decision("ask", self._by_default, why=f"{place.domain} is new", line=line, once_for=place.domain)

    def _there(self, visit: Decision, access: Access, risk: Risk, why: str) -> Decision:
        """Addresses are no risk but by a person's own patterns: to open one of those asks each time."""
        if visit.verdict == "deny" or access is not Access.VISIT or risk != "high":
            return msgspec.structs.replace(visit, risk=risk)
        return Decision("ask", "sensitive_patterns", risk, why)

    # Whether one may act there

    def _act(
        self, rule: Rule | None, place: Place | None, access: Access, risk: Risk, why: str, visit: Decision
    ) -> Decision:
        if access in (Access.READ, Access.VISIT):
            return self._there(visit, access, risk, why)
        if refused := self._unwritable(rule, risk):
            return refused
        sensitive = is_sensitive(access, risk)
        verdict = self._sensitive(rule, place, risk) if sensitive else self._write(rule, place)
        if verdict == "allow":
            return msgspec.structs.replace(visit, risk=risk)
        what, where = ("a sensitive action" if sensitive else "a change"), _where(place)
        line = self._remedy(rule, place, sensitive=sensitive, risk=risk, verdict=verdict)
        if verdict == "deny":
            told = f"{self._by_template} forbids {what}{f' on {where}' if where else ''}"
            return Decision("deny", self._by_template, risk, told, line)
        each_time = sensitive or risk == "high" or (rule is not None and rule.approval)
        once = f"{where}{CHANGES}" if where and not each_time else ""
        told = why or f"{what}{f' on {where}' if where else ''}"
        return Decision("ask", self._asker(rule), risk, told, line, once)

    def _remedy(self, rule: Rule | None, place: Place | None, *, sensitive: bool, risk: Risk, verdict: Verdict) -> str:
        """A line of policy.toml that would make it milder, tried out; empty if a rule can not."""
        if rule is not None:
            better = msgspec.structs.replace(rule, write=True, approval=False)
            line = f"{'approval = false' if rule.approval else 'write = true'}  # {rule.name}"
        elif where := _where(place):
            better, line = Rule(read_pattern(where), write=True), _table(where, "write = true")
        else:
            return ""
        said = self._sensitive(better, place, risk) if sensitive else self._write(better, place)
        return line if said != verdict else ""

    def _unwritable(self, rule: Rule | None, risk: Risk) -> Decision | None:
        if self.mode == "readonly":
            line = 'mode = "auto"' if self.rules.mode == "readonly" else ""
            return Decision("deny", "mode readonly", risk, "mode readonly allows no changes", line)
        if rule is not None and rule.write is False:
            return Decision("deny", rule.name, risk, f"{rule.name} forbids changes", f"write = true  # {rule.name}")
        return None

    def _asker(self, rule: Rule | None) -> str:
        if rule is not None and rule.approval:
            return rule.name
        return "mode ask" if self.mode == "ask" and self._column.sensitive == "allow" else self._by_template

    def _write(self, rule: Rule | None, place: Place | None) -> Verdict:
        if rule is not None and rule.approval:
            return "ask"
        if rule is not None and rule.write:
            return "allow"
        if place == NOWHERE and self._column.write != "deny":
            return "allow"  # a blank page belongs to nobody
        said = self._column.write
        if place is None and said == "deny" and self._column.sensitive == "ask":
            said = "ask"  # no rule could name it
        return stricter(said, "ask") if self.mode == "ask" and place != NOWHERE else said

    def _sensitive(self, rule: Rule | None, place: Place | None, risk: Risk) -> Verdict:
        if self._write(rule, place) == "deny":  # what may not even be changed
            return "deny"
        if rule is not None and (rule.approval or self._column.sensitive == "deny"):
            return "ask"
        said = stricter(self._column.sensitive, "ask") if self.mode == "ask" else self._column.sensitive
        return "ask" if risk == "high" else said

    @property
    def _by_template(self) -> str:
        return f"template {self.template}"

    @property
    def _by_default(self) -> str:
        if self.mode == "ask" and (self.rules.default or self._column.hosts) == "allow":
            return "mode ask"
        return "default" if self.rules.default else self._by_template


def _where(place: Place | None) -> str:
    return place.domain if place and place != NOWHERE else ""


def _never(why: str) -> Decision:
    return Decision("deny", "built in", why=why)


def _kept(place: Place, keeper: Place) -> Decision:
    """Its own name is told to who knows it already."""
    shown = f"{f'[{place.host}]' if ':' in place.host else place.host}:{place.port}"
    line = _table(shown) if place.host == keeper.host else ""
    return Decision("deny", "built in", why=f"{shown} {KEPT}", line=line)


def _table(host: str, *keys: str) -> str:
    """What a person could add to policy.toml."""
    return "\n".join(["[[rules]]", f'host = "{host}"', *filter(None, keys)])


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
