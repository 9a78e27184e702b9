"""The policy in Chrome's own words (`declarativeNetRequest`), for the person's Chrome, where no gateway can stand.

Above: policy's view gives it to the border, which hands it to the browser. Below: rules, patterns. Only what is
forbidden is said here: Chrome decides before we are shown anything (M), so what a person could still be asked about
must pass. Chrome knows hosts by their names only: one that leads into a private network is not seen.
"""

import logging
import re
from collections.abc import Collection, Iterable
from typing import Any

from pilothouse.errors import Failure
from pilothouse.guard.aliases import LOOPBACK
from pilothouse.guard.domains import Domains, read_domains
from pilothouse.guard.keepers import is_here
from pilothouse.guard.patterns import WEB, Pattern
from pilothouse.guard.question import Verdict
from pilothouse.guard.rules import Rules

_log = logging.getLogger(__name__)

MAX_RULES = 900  # Chrome takes a thousand with regular expressions
NetRule = dict[str, Any]

# Of the rules that fit, the one with the highest number counts.
_NEVER, _NARROWED, _NAMED, _PRIVATE, _UNNAMED = 1_000_000, 900_000, 1_000, 20, 10
_EVERYTHING = [
    "main_frame", "sub_frame", "stylesheet", "script", "image", "font", "object", "xmlhttprequest", "ping",
    "csp_report", "media", "websocket", "webtransport", "webbundle", "other",
]  # fmt: skip
_LOOPBACK = r"(localhost|[^/?#@]*\.localhost|(127|0)(\.\d+){3}|\[::1?\])"
_NETWORKS = (
    r"10(\.\d+){3}",
    r"192\.168(\.\d+){2}",
    r"172\.(1[6-9]|2\d|3[01])(\.\d+){2}",
    r"100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])(\.\d+){2}",
    r"\[f[cd][0-9a-f:.]*\]",
)
# Addresses in disguise (IPv4 within IPv6) have no honest use; Chrome spells them in hexadecimal. Each stands apart:
# Chrome takes no expression that needs more than 2 KB (M).
_METADATA = (
    r"169\.254(\.\d+){2}",
    r"metadata(\.google\.internal)?",
    r"\[fe[89ab][0-9a-f:]*\]",
    r"\[fd00:ec2::254\]",
    r"\[(::ffff|64:ff9b|2002):[0-9a-f:]*\]",
)
_DOT = r"\.?"  # behind a host; it means the same
_BEHIND = rf"{_DOT}(:\d+)?[/?#]"


def net_rules(
    rules: Rules,
    *,
    hosts: Verdict,
    private: bool,
    own_ports: Collection[int],
    kept: Iterable[tuple[str, int]] = (),
    allowed: Iterable[str] = (),
) -> list[NetRule]:
    """`hosts` is what holds for those that no rule names, `private` whether networks of one's own are open to them,
    `kept` what no rule has opened, `allowed` the only hosts of a session that was narrowed."""
    said = [_block(_NEVER, rf"^\w+://{_AT}{one}{_BEHIND}") for one in _METADATA]
    said += [_block(_NEVER, rf"^\w+://{_AT}{_LOOPBACK}{_DOT}:{port}[/?#]") for port in own_ports]
    said += [_block(_NEVER, _kept(host, port)) for host, port in kept]
    said += _narrowed(read_domains(allowed))
    if not private:
        said += [_block(_PRIVATE, rf"^\w+://{_AT}{one}{_BEHIND}") for one in (_LOOPBACK, *_NETWORKS)]
    if hosts == "deny":
        said.append(_block(_UNNAMED, r"^(http|ws)s?://"))
    if len(said) > 1 or any(not one.read for one in rules.rules):
        said += _named(rules)
    return _as_many_as_fit(sorted(said, key=lambda one: -one["priority"]))


def _as_many_as_fit(said: list[NetRule]) -> list[NetRule]:
    """Rules that open may be left out: without them Chrome is stricter than the policy. Those that close may not."""
    over = len(said) - MAX_RULES
    if over <= 0:
        return said
    opening = [one for one in said if one["action"]["type"] == "allow"]
    if len(opening) < over:
        raise Failure(
            "over_limit",
            f"the policy forbids more hosts than Chrome can hold ({MAX_RULES})",
            suggestions=["name several hosts by one rule (*.example.com), or use the template locked"],
        )
    _log.warning("Chrome takes %d network rules: %d that allow something are left out", MAX_RULES, over)
    left_out = {id(one) for one in opening[-over:]}
    return [one for one in said if id(one) not in left_out]


_AT = r"([^/?#@]*@)?"


def _named(rules: Rules) -> list[NetRule]:
    """The more specific, the higher. One port of this machine is forbidden by all its names, unless a rule allows that
    very name and port."""
    web = [one for one in rules.rules if not one.pattern.scheme or one.pattern.scheme in WEB]
    ranked = sorted(web, key=lambda one: one.pattern.rank)
    family = [one.pattern for one in web if not one.read and not one.pattern.below and one.pattern.host in LOOPBACK]
    named = [
        _rule(_NAMED + place, "allow" if one.read else "block", regexFilter=_regex(one.pattern))
        for place, one in enumerate(ranked)
    ]
    over = _NAMED + len(ranked)
    exact = [one.pattern for one in web if one.read and one.pattern.port and one.pattern.host in LOOPBACK]
    return [
        *(_block(over if one.port else _NAMED - 1, _of_this_machine(one)) for one in family),
        *named,
        *(_rule(over + 1, "allow", regexFilter=_regex(one)) for one in exact if not one.below),
    ]


def _of_this_machine(pattern: Pattern) -> str:
    """A rule for one spelling of loopback, in all of them."""
    return _regex(pattern).replace(_regex_host(pattern), _LOOPBACK)


def _kept(host: str, port: int) -> str:
    if is_here(host):
        said = f"(:{port})?" if port in (80, 443) else f":{port}"
        return rf"^\w+://{_AT}{_LOOPBACK}{_DOT}{said}[/?#]"
    return _regex(Pattern("", "", host, port))


def _narrowed(domains: Domains) -> list[NetRule]:
    """Chrome counts hosts below an allowed one as allowed."""
    if domains.open:
        return []
    hosts = sorted({host for host, _ in domains.exact | domains.below})
    return [_rule(_NARROWED, "block", excludedRequestDomains=hosts)]


def _regex(pattern: Pattern) -> str:
    scheme = {"http": "(http|ws)", "https": "(https|wss)"}.get(pattern.scheme, "(http|ws)s?")
    host = _regex_host(pattern)
    host = rf"[^/?#@]+\.{host}" if pattern.below else host
    usual = {80: "(http|ws)", 443: "(https|wss)"}.get(pattern.port, "")
    host += _DOT
    if usual and not pattern.scheme:  # Chrome leaves the usual port out
        return rf"^({usual}://{_AT}{host}|(http|ws)s?://{_AT}{host}:{pattern.port})[/?#]"
    port = rf"(:{pattern.port})?" if usual else rf":{pattern.port}" if pattern.port else r"(:\d+)?"
    return rf"^{scheme}://{_AT}{host}{port}[/?#]"


def _regex_host(pattern: Pattern) -> str:
    return re.escape(f"[{pattern.host}]" if ":" in pattern.host else pattern.host)


def _block(priority: int, regex: str) -> NetRule:
    return _rule(priority, "block", regexFilter=regex)


def _rule(priority: int, action: str, **condition: Any) -> NetRule:
    return {
        "priority": priority,
        "action": {"type": action},
        "condition": {"resourceTypes": _EVERYTHING, **condition},
    }
