"""One open question to a person: what an answer would be bound to, who waits for it, and how it is shown.

Above: approvals. Below: policy, whose question and decision it is; redact. What is shown was written by pages and
agents: it is cleaned, redacted and cut here, and whoever prints it treats it as data.
"""

import asyncio
import hashlib
import json
import time
from typing import Any, Literal, cast

import ada_url
import msgspec

from pilothouse.guard.policy import Aim, Decision, Question, Risk
from pilothouse.guard.redact import redact_text, redact_tree
from pilothouse.result import clean, clean_tree

Scope = Literal["once", "session", "domain"]
Key = tuple[str, ...]

RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high")
MAX_STRING = 2_000
MAX_AIMS = 10
_TYPED = {"text", "value", "values", "fields", "data"}
_PRIVATE = ("password", "cc-", "card", "one-time-code")


def bound_to(question: Question) -> str:
    """A digest of the exact call, of the document it would act on, and of what the page shows it to be."""
    return _digest([*_call(question), question.browser, question.tab, question.document, *_place(question)])


def same_call(question: Question) -> Key:
    """At most one question of a session is open for one tool and its arguments, whatever the page is by now."""
    return ("call", question.caller, question.session, _digest(_call(question)))


def same_act(question: Question, decision: Decision) -> Key:
    """What a denial is remembered by. A page that is loaded again is a new document, and the act is still the same."""
    if decision.once_for:
        return same_domain(question, decision)
    return ("act", question.caller, question.session, _digest([*_call(question), *_place(question)]))


def same_domain(question: Question, decision: Decision) -> Key:
    """Calls beside each other that need the same domain ask one question."""
    return ("domain", question.caller, question.session, decision.once_for, decision.rule, decision.risk)


def hosts(question: Question) -> set[str]:
    """The hosts of all documents and addresses that a question is about."""
    return {host for url in question.urls if (host := _host(url))}


def _host(url: str) -> str:
    try:
        return ada_url.URL(url).hostname.strip("[]").rstrip(".")
    except ValueError:
        return ""


def _origin(url: str) -> str:
    try:
        return ada_url.URL(url).origin
    except ValueError:
        return url


def _call(question: Question) -> list[Any]:
    return [question.caller, question.session, question.tool, question.args]


def _place(question: Question) -> list[Any]:
    return [[_origin(url) for url in question.urls], msgspec.to_builtins(question.aims)]


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


OWN_CHROME = (
    "This is your own Chrome: what its pages load is held only by Chrome's rules in tabs that agents use; "
    "shared and service workers, and the first request of a new window, are not held."
)


class Waiter:
    """A call that waits. It is told `allow`, `deny`, or `again`: the answer was for another, ask anew."""

    def __init__(self, bound: str) -> None:
        self.bound = bound
        self.told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def tell(self, what: str) -> None:
        if not self.told.done():
            self.told.set_result(what)


class Pending:
    def __init__(self, ident: str, question: Question, decision: Decision, *, now: float, timeout_s: float) -> None:
        self.id = ident
        self.question = question
        self.decision = decision
        self.bound = bound_to(question)
        self.ends_at = now + timeout_s
        self.asked_ms = int(time.time() * 1000)
        self.waiters: list[Waiter] = []
        self.is_kept = False  # its caller did not wait, and will come again for the answer
        self.is_claimed = False  # an answer is being written down
        self.outcome = ""  # allowed, denied, expired, withdrawn
        self.scope = ""
        self.by = ""
        self.why = ""

    @property
    def domain(self) -> str:
        """The one domain that it is about; empty if there are several or none."""
        about = {self.decision.once_for} if self.decision.once_for else hosts(self.question)
        return about.pop() if len(about) == 1 else ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """How far an approval may reach, the usual one first. High risk is approved call by call; what is asked once
        for a domain is answered once for it."""
        if self.decision.once_for and self.question.session:
            return ("domain",)
        if not self.question.session or self.decision.risk == "high":
            return ("once",)
        return ("once", "session", "domain") if self.domain else ("once", "session")

    def shown(self, now: float) -> dict[str, Any]:
        """All that a person needs to know, and nothing that they should not read on a screen."""
        question, decision = self.question, self.decision
        told: dict[str, Any] = {
            "id": self.id,
            "caller": question.caller,
            "session": question.session,
            "browser": question.browser,
            "tool": question.tool,
            "access": question.access.value,
            "args": _shown_args(question),
            "aims": [_shown_aim(aim) for aim in question.aims[:MAX_AIMS]],
            "tab": question.tab,
            "urls": [_shown_text(url) for url in question.urls[:MAX_AIMS]],
            "domain": self.domain,
            "risk": decision.risk,
            "rule": _shown_text(decision.rule),
            "why": _shown_text(decision.why),
            "line": decision.line,
            "scopes": list(self.scopes),
            "asked_ms": self.asked_ms,
            "calls": max(len(self.waiters), 1),
        }
        if question.browser == "extension":
            told["limits"] = OWN_CHROME
        if not self.outcome:
            return {**told, "expires_in_s": round(max(self.ends_at - now, 0), 1)}
        return {**told, "outcome": self.outcome, "scope": self.scope, "by": self.by, "why_ended": self.why}


def _shown_aim(aim: Aim) -> dict[str, str]:
    fields = cast(dict[str, str], msgspec.to_builtins(aim))
    return {name: _shown_text(text) for name, text in fields.items() if text}


def _shown_args(question: Question) -> dict[str, Any]:
    args = {name: value for name, value in question.args.items() if value not in ([], {})}
    if any(word in f"{aim.kind} {aim.purpose}" for aim in question.aims for word in _PRIVATE):
        args = {name: _veiled(value) if name in _TYPED else value for name, value in args.items()}
    return cast(dict[str, Any], _cut(redact_tree(clean_tree(args))))


def _veiled(value: Any) -> str:
    return f"({len(value)} characters)" if isinstance(value, str) else "(not shown)"


def _shown_text(text: str) -> str:
    return cast(str, _cut(redact_text(clean(text))))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        more = len(value) - MAX_STRING
        return f"{value[:MAX_STRING]}… ({more} more characters)" if more > 0 else value
    if isinstance(value, list):
        return [_cut(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in cast(dict[str, Any], value).items()}
    return value
