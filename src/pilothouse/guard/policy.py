"""What may happen: the rules in force, and what they say about a call, a document or a connection.

Above: the gate asks before it runs a tool, the network boundary before anything leaves. Below: judgement, rules.
The rules can be replaced at any moment; whoever keeps something that they allowed follows `on_change`.
"""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, Literal

from pilothouse.guard import sensitive
from pilothouse.guard.address import Address, unwrap
from pilothouse.guard.aliases import barring
from pilothouse.guard.judgement import ISOLATED, LAUNCHED, TEMPLATES, Judge
from pilothouse.guard.keepers import Keepers
from pilothouse.guard.netrules import NetRule, net_rules
from pilothouse.guard.patterns import WEB, Hosts, Pattern, Place, names, place_of
from pilothouse.guard.question import Aim, Approved, Decision, Question, Risk, Verdict, denial
from pilothouse.guard.rules import Rule, Rules
from pilothouse.guard.sites import sites
from pilothouse.tool import Access

__all__ = ["Aim", "Approved", "Decision", "Policy", "Question", "Risk", "Verdict", "View", "denial"]

LOCKED_REQUESTS_PER_MINUTE = 60

Assess = Callable[[Question, tuple[Any, ...]], tuple[Risk, str]]
"""How risky a question is, and why; the second argument are a person's own patterns, compiled."""


class Policy:
    """`own_ports` (read live) are out of reach whatever the rules say, `keepers` unless a rule names them."""

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        own_ports: Collection[int] = (),
        keepers: Keepers | None = None,
        assess: Assess | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.problem = ""  # why the file's newest text does not hold; empty: it does
        self._own_ports = own_ports
        self._keepers = keepers or Keepers()
        self._assess = assess or sensitive.assess
        self._followers: list[Callable[[], None]] = []
        self._judge = lru_cache(maxsize=32)(self._make_judge)

    # Changing

    def replace(self, rules: Rules) -> None:
        """Other rules from now on."""
        self.rules, self.problem = rules, ""
        self._judge.cache_clear()
        self._tell()

    def refuse(self, problem: str) -> None:
        """The file's newest text does not hold: the rules stay, and whoever shows them says why."""
        self.problem = problem
        self._tell()

    def _tell(self) -> None:
        for follower in tuple(self._followers):
            follower()

    def on_change(self, follower: Callable[[], None]) -> Callable[[], None]:
        """Called after each change; the result ends that."""
        self._followers.append(follower)
        return lambda: self._followers.remove(follower)

    # Deciding

    def weigh(self, question: Question) -> tuple[Decision, ...]:
        """Everything that stands between a question and its yes: one denial, or all that a person must be asked
        (several domains are several questions), or one decision that allows it."""
        return self.weigh_as(question, *self._assess(question, self.rules.compiled))

    def weigh_as(self, question: Question, risk: Risk, why: str = "") -> tuple[Decision, ...]:
        """The same, if its risk were this one."""
        judge = self._judge(question.browser, question.mode)
        urls = dict.fromkeys((*question.urls, *(aim.url for aim in question.aims if aim.url)))
        said = [judge.judge(url, question.access, risk, why) for url in urls]
        if not said or question.is_wide:
            said.append(judge.placeless(question.access, risk, why))
        said += [judge.judge(url, Access.VISIT) for url in _destinations(question)]
        if denied := [one for one in said if one.verdict == "deny"]:
            return (denied[0],)
        return _asked(said) or (said[0],)

    def decide(self, question: Question) -> Decision:
        """The strictest of all that is said."""
        return self.weigh(question)[-1]

    def decide_document(self, browser: str, mode: str, url: str) -> Decision:
        """May a tab be at this address, and what it shows be told?"""
        return self._judge(browser, mode).judge(url, Access.VISIT)

    def forbids(self, browser: str, url: str) -> bool:
        """Whether nothing of this address may be told; in no mode would it be."""
        return self.decide_document(browser, "auto", url).verdict == "deny"

    def refused_frame(self, browser: str, mode: str, urls: Iterable[str]) -> Decision | None:
        """Frames inside a page come with it: only what is forbidden outright keeps the page from being read."""
        for url in dict.fromkeys(urls):
            place = place_of(url)
            if place and place.is_web and (said := self.decide_document(browser, mode, url)).verdict == "deny":
                return said
        return None

    def guarded(self, browser: str, mode: str, place: str) -> list[str]:
        """Of the addresses that a place stands for, those where a rule forbids changes or wants them asked about."""
        judge = self._judge(browser, mode)
        said = [(url, judge.judge(url, Access.SENSITIVE, "medium")) for url in sites(place, self.rules)]
        return [url for url, one in said if one.verdict == "deny" or (one.verdict == "ask" and one.rule[:5] == "rule ")]

    def bars(self, browser: str, mode: str, place: str, asked: bool) -> bool:
        """Whether cookies and storage of a place are neither told nor changed; `asked`: a person could be."""
        if not asked:
            return bool(self.guarded(browser, mode, place))
        judge = self._judge(browser, mode)
        return any(judge.judge(url, Access.SENSITIVE, "medium").verdict == "deny" for url in sites(place, self.rules))

    def view(self, browser: str, mode: str) -> "View":
        """What the network boundary of one session asks; it is always about the rules of now."""
        return View(lambda: self._judge(browser, mode), behind_sluice=browser in LAUNCHED, alone=browser == ISOLATED)

    def wants_aims(self, browser: str, mode: str) -> bool:
        """Whether what a call points at could change any answer: a high risk is asked about wherever one may act."""
        return self._judge(browser, mode).mode != "readonly"

    # What else the rules say

    def hourly(self, urls: Collection[str]) -> dict[str, int]:
        """The steps an hour that hold at these addresses, by the name of the rule."""
        places = (place_of(url) for url in urls)
        rules = (self.rules.of(place) for place in places if place)
        return {rule.pattern.text: rule.max_steps_per_hour for rule in rules if rule and rule.max_steps_per_hour}

    def requests_per_minute(self, configured: int, default: int) -> int:
        """Template `locked` has a slower pace, unless a person has configured one."""
        return LOCKED_REQUESTS_PER_MINUTE if self.rules.template == "locked" and configured == default else configured

    def _make_judge(self, browser: str, mode: str) -> Judge:
        return Judge(self.rules, browser=browser, mode=mode, own_ports=self._own_ports, keepers=self._keepers)


class View:
    """The policy as the network boundary of one session sees it. `alone`: nobody else has the same way out."""

    def __init__(self, judge: Callable[[], Judge], *, behind_sluice: bool, alone: bool) -> None:
        self._judge = judge
        self._behind_sluice = behind_sluice
        self._alone = alone

    @property
    def watch(self) -> Literal["", "documents", "all"]:
        """What has to be shown to us: nothing, every document, or every request."""
        judge = self._judge()
        if self._has_lists:
            return "all"
        rules = judge.rules.rules
        forbids, by_scheme = any(not one.read for one in rules), any(one.pattern.scheme for one in rules)
        # With every request of a page whose documents are shown to us Chrome takes a detour, and loads a fifth longer,
        # whatever is to match (M). Where the sluice serves this session alone, a connection waits there while a person
        # is asked; a rule that names a scheme is beyond it, for no connection tells that.
        if judge.hosts == "ask" and self._alone and not by_scheme:
            return ""
        if judge.hosts != "allow" or not TEMPLATES[judge.template].private:
            return "documents"
        if judge.keepers.all() and not self._behind_sluice:
            return "documents"
        return "documents" if forbids and (by_scheme or not self._behind_sluice) else ""

    def document(self, url: str) -> Decision:
        return self._judge().judge(url, Access.VISIT)

    def change(self, url: str) -> Decision:
        """About what an agent makes a page do by script or by an answer in the site's place."""
        return self._judge().judge(url, Access.SENSITIVE, "medium")

    def host(self, host: str, port: int) -> str | None:
        """Why no connection may be made. A host that would have to be asked about is not allowed yet."""
        said = self._judge().host(host, port)
        if said.verdict == "allow" or self._is_resource(host, port, said):
            return None
        return said.why or f"{said.rule} forbids {host}"

    def address(self, host: str, address: Address, port: int) -> str | None:
        """Why an address that a name has may not be reached: a rule forbids it by any name, or it is in a private
        network, where the template wants these named."""
        judge = self._judge()
        if (rule := self._barring(host, address, port)) is not None:
            same = f", which {host} is" if host != str(address) else ""
            return f"{rule.name} forbids {address}{same}"
        if TEMPLATES[judge.template].private or unwrap(address).is_global:
            return None
        if self.named(host) or self.named(str(address)):
            return None
        where = f"{host} is {address}" if host != str(address) else host
        return f"{where}, in a private network, which template {judge.template} allows only if a rule names it"

    def _barring(self, host: str, address: Address, port: int) -> Rule | None:
        """No connection tells its scheme: the milder of both."""
        if Hosts(self._named()).admit(host, port):
            return None
        both = [barring(self._judge().rules, Place(scheme, host, port), address) for scheme in WEB]
        return both[0] if all(both) else None

    def named(self, host: str) -> bool:
        """Whether a rule does, or a list of one."""
        return self._judge().rules.names(host) or names(self._named(), host)

    def resources(self, document_url: str) -> "Hosts | Allowed | None":
        """From where a page may load; None: from wherever its session may.

        As soon as one page has a list, the session may more than the others: these are then held to what is allowed.
        """
        if not self._has_lists:
            return None
        place = place_of(document_url)
        rule = self._judge().rules.of(place) if place else None
        return Hosts(rule.resources) if rule and rule.resources is not None else Allowed(self._judge)

    def net_rules(self, allowed: tuple[str, ...]) -> list[NetRule]:
        judge = self._judge()
        return net_rules(
            judge.rules,
            hosts=judge.hosts,
            private=TEMPLATES[judge.template].private,
            own_ports=judge.own_ports,
            kept=[(one.host, one.port) for one in judge.keepers.all() if not judge.opens(one)],
            allowed=allowed,
        )

    @property
    def _has_lists(self) -> bool:
        return any(rule.resources is not None for rule in self._judge().rules.rules)

    def _is_resource(self, host: str, port: int, said: Decision) -> bool:
        """Some page may load from there. `*` is no answer to a rule that forbids the host by its name."""
        if said.rule == "built in":
            return False
        if Hosts(self._named()).admit(host, port):
            return True
        return any(one.text == "*" for one in self._lists()) and not said.rule.startswith("rule ")

    def _lists(self) -> tuple[Pattern, ...]:
        return tuple(one for rule in self._judge().rules.rules if rule.read for one in rule.resources or ())

    def _named(self) -> tuple[Pattern, ...]:
        return tuple(one for one in self._lists() if one.text != "*")


class Allowed:
    """Every host that documents may come from."""

    def __init__(self, judge: Callable[[], Judge]) -> None:
        self._judge = judge

    def admit(self, host: str, port: int) -> bool:
        return self._judge().host(host, port).verdict == "allow"


def _destinations(question: Question) -> list[str]:
    """Where links and forms lead that are about to be used. What is no web address does not leave by the network."""
    if question.access in (Access.READ, Access.VISIT):
        return []
    found = dict.fromkeys(aim.leads_to for aim in question.aims if aim.leads_to)
    return [url for url in found if (place := place_of(url)) and place.is_web]


def _asked(said: list[Decision]) -> tuple[Decision, ...]:
    """Each domain once, and the call itself last, for each rule that wants it asked about: who is asked about that has
    seen the rest, and a yes to one rule is none to another."""
    asks = [one for one in said if one.verdict == "ask"]
    domains = {one.once_for: one for one in asks if one.once_for}
    alone = {one.rule: one for one in reversed(asks) if not one.once_for}
    return (*domains.values(), *reversed(alone.values()))
