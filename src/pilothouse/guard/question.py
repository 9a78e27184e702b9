"""What a call asks of the policy, and what the policy answers.

Above: the gate and the network boundary ask, policy answers, approvals and the log tell people. Below: tool, errors.
"""

import re
from typing import Any, Literal

import msgspec

from pilothouse.errors import Failure
from pilothouse.tool import Access

Verdict = Literal["allow", "ask", "deny"]
Risk = Literal["none", "low", "medium", "high"]


class Aim(msgspec.Struct, frozen=True):
    """What an action points at, as the page shows it now. Hostile text, cleaned and cut."""

    role: str = ""
    name: str = ""
    kind: str = ""  # an input's type, or the tag
    purpose: str = ""  # its autocomplete attribute, or its name and id
    url: str = ""  # the document of the frame it is in
    form: str = ""  # what its form holds that matters: "password", "card", … comma-separated
    leads_to: str = ""  # where a link or a form goes


class Question(msgspec.Struct, frozen=True):
    """May `caller` run `tool` with `args` in `session`, whose documents are at `urls`?"""

    caller: str
    session: str
    tool: str
    access: Access
    args: dict[str, Any]
    browser: str = "isolated"
    mode: str = "auto"
    urls: tuple[str, ...] = ()  # the live document, the frame of the element, and the addresses among the arguments
    tab: str = ""
    document: str = ""  # the loader id: an approval ends with the document it was given for
    aims: tuple[Aim, ...] = ()
    is_wide: bool = False  # it is about the whole session, and `urls` only tells which rules hold besides
    presses: bool = True  # False: keys that set nothing off


CHANGES = " (changes)"
UNTOLD = "where the page is cannot be told"
_NEW_RULE = re.compile(r'\[\[rules\]\]\nhost = "([^"]*)"(\nwrite = true)?')
# Names come from pages, and no suggestion has words of theirs; a number, or this one name, says nothing else.
_NUMBER = re.compile(r"(localhost|[0-9.]+|\[[0-9a-f:.]+\])(:[0-9]+)?")


class Decision(msgspec.Struct, frozen=True):
    """`rule` names what decided, so that a person can find and change it; `line` is what they could add to policy.toml.

    `once_for` is the domain that one answer covers for the rest of the session; empty: this call alone.
    """

    verdict: Verdict
    rule: str
    risk: Risk = "none"
    why: str = ""
    line: str = ""
    once_for: str = ""

    @property
    def is_for_changes(self) -> bool:
        """Asked once for all changes on a domain; one of them could be allowed alone."""
        return self.once_for.endswith(CHANGES)


class Approved(msgspec.Struct, frozen=True):
    """A person's yes, as the log keeps it: whose, for how much, and under which id the log has the answer itself."""

    by: str
    scope: str
    id: str


def denial(decision: Decision, what: str = "") -> Failure:
    """A decision against it, as what the caller is told: the rule, and what a person could write."""
    why = decision.why or f"{decision.rule} forbids it"
    details = {"rule": decision.rule} | ({"line": decision.line} if decision.line else {})
    return Failure("denied", f"{what}: {why}" if what else why, details=details, suggestions=_next_steps(decision))


def _next_steps(decision: Decision) -> list[str]:
    if decision.why == UNTOLD:
        return ["wait until the page has loaded, then try again", "navigate leads elsewhere"]
    if not decision.line:
        return ["nothing can allow it"]
    hint = "only a person can change that, by the line for policy.toml"
    return [f"{hint}{_command(decision.line)}", "do without it, or ask your person"]


def _command(line: str) -> str:
    """What writes that line, if it is a rule of its own."""
    rule = _NEW_RULE.fullmatch(line)
    if rule is None:
        return ""
    host = rule[1] if _NUMBER.fullmatch(rule[1]) else "HOST"
    return f", or by `pilothouse policy allow {host}{' --write' if rule[2] else ''}`"
