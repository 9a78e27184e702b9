"""One open question to a person: what an answer would be bound to, who waits for it, and how it is shown.

Above: approvals. Below: policy, whose question and decision it is; redact. What is shown was written by pages and
agents: it is cleaned, redacted and cut here, and whoever prints it treats it as data.
"""

import asyncio
import hashlib
import json
import time
from functools import cached_property
from typing import Any, Literal, cast

import ada_url
import msgspec

from pilothouse.guard.patterns import NOWHERE, place_of
from pilothouse.guard.policy import Aim, Decision, Question, Risk
from pilothouse.guard.reach import reach
from pilothouse.guard.redact import redact_text, redact_tree
from pilothouse.guard.secrets import named
from pilothouse.result import clean

Scope = Literal["once", "session", "domain"]
Key = tuple[str, ...]

RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high")
MAX_STRING = 2_000
MAX_SCRIPT = 20_000  # what runs is read whole before it is allowed
MAX_DATA = 50_000  # of one argument; larger ones are shown as text
_MARGIN = 4_000  # a secret that the cut would go through is still recognised
MAX_AIMS = 10
_SCRIPTS = {"expression", "function"}
_TYPED = {"text", "value", "values", "fields", "data"}
_SCRIPT_TOOLS = {"evaluate_js"}
_FILLING = {"type_text", "slow_type", "type_ref", "fill_form", "select_option", "upload_file"}
_PRIVATE = ("password", "cc-", "card", "one-time-code")


def bound_to(question: Question) -> str:
    """A digest of the exact call, of the document it would act on, and of what the page shows it to be."""
    return _digest([*_call(question), question.browser, question.tab, question.document, *_place(question)])


def same_call(question: Question) -> Key:
    """At most one question of a session is open for one tool and its arguments, whatever the page is by now."""
    return ("call", question.caller, question.session, _digest(_call(question)))


def same_act(question: Question, decision: Decision) -> Key:
    """What a denial is remembered by. A page that is loaded again is a new document, and the act is still the same.

    Where it is known what a call points at, that is the act, however the caller spells its target or what it types;
    but what script does is in the script.
    """
    if decision.once_for:
        return same_domain(question, decision)
    if question.aims and question.tool not in _SCRIPT_TOOLS:
        how = "fill" if question.tool in _FILLING else "press"
        return ("act", question.caller, question.session, _digest([how, decision.rule, *_place(question)]))
    return ("act", question.caller, question.session, _digest([*_call(question), *_place(question)]))


def same_domain(question: Question, decision: Decision) -> Key:
    """Calls beside each other that need the same domain ask one question."""
    weighs = str(weight(decision.risk))
    return ("domain", question.caller, question.session, decision.once_for, decision.rule, weighs)


def weight(risk: Risk) -> int:
    """What is asked once for a domain is one question, whether a button there is called Next or Save."""
    return max(RISKS.index(risk), RISKS.index("low"))


def domains(question: Question) -> set[str]:
    """The domains of all documents and addresses that a question is about; empty stands for what has none."""
    places = [place_of(url) for url in question.urls]
    return {place.domain if place and place.is_web else "" for place in places if place != NOWHERE}


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


OWN_CHROME = "your own Chrome: requests of workers, and the first one of a new window, are not held"


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
        about = {self.decision.once_for} if self.decision.once_for else domains(self.question)
        return about.pop() if len(about) == 1 else ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """How far an approval may reach, the usual one first. High risk is approved call by call; what is asked once
        for a domain is answered once for it. A new domain is open or not: its page goes on loading after the call."""
        if self.decision.once_for and self.question.session:
            return ("domain", "once") if self.decision.is_for_changes else ("domain",)
        if not self.question.session or self.decision.risk == "high":
            return ("once",)
        return ("once", "session", "domain") if self.domain else ("once", "session")

    def _reach(self, scope: Scope) -> str:
        """What that answer would allow, in words."""
        question, decision = self.question, self.decision
        return reach(
            scope,
            tool=question.tool,
            domain=self.domain,
            access=question.access.value,
            risk=decision.risk,
            once=bool(decision.once_for),
        )

    def shown(self, now: float) -> dict[str, Any]:
        """All that a person needs to know, and nothing that they should not read on a screen."""
        told = {**self._told, "calls": max(len(self.waiters), 1)}
        if self.question.browser == "extension":
            told["limits"] = OWN_CHROME
        if not self.outcome:
            return {**told, "expires_in_s": round(max(self.ends_at - now, 0), 1)}
        return {**told, "outcome": self.outcome, "scope": self.scope, "by": self.by, "why_ended": self.why}

    def forget(self) -> None:
        """It is over: what was shown is remembered, not megabytes of arguments."""
        self._told["args"] = {name: _brief(value) for name, value in self._told["args"].items()}
        self.question = msgspec.structs.replace(self.question, args={}, aims=())

    @cached_property
    def _told(self) -> dict[str, Any]:
        question, decision = self.question, self.decision
        return {
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
            "reaches": {scope: self._reach(scope) for scope in self.scopes},
            "asked_ms": self.asked_ms,
        }


def _shown_aim(aim: Aim) -> dict[str, str]:
    fields = cast(dict[str, str], msgspec.to_builtins(aim))
    return {name: _shown_text(text) for name, text in fields.items() if text}


def _shown_args(question: Question) -> dict[str, Any]:
    args = {name: value for name, value in question.args.items() if value not in ([], {})}
    if any(word in f"{aim.kind} {aim.purpose}" for aim in question.aims for word in _PRIVATE):
        args = _veiled(args)
    return cast(dict[str, Any], redact_tree({clean(name): _shown(value, name) for name, value in args.items()}))


def _veiled(args: dict[str, Any]) -> dict[str, Any]:
    return {name: _without_typed(value) if name in _TYPED else value for name, value in args.items()}


def _without_typed(value: Any) -> Any:
    """Where it goes, and which secret; never what it says."""
    if isinstance(value, str):
        return value if named(value) else f"({len(value)} characters)"
    if isinstance(value, list):
        return [_without_typed(item) for item in cast(list[Any], value)]
    return _veiled(cast(dict[str, Any], value)) if isinstance(value, dict) else "(not shown)"


def _shown(value: Any, name: str = "") -> Any:
    """Every string within, cleaned and cut; what is too large to be shown as data is shown as its text."""
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False, default=str)
        return _shown_tree(value, name) if len(text) <= MAX_DATA else _cut(text, MAX_STRING)
    return _shown_tree(value, name)


def _shown_tree(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return _cut(value, MAX_SCRIPT if name in _SCRIPTS else MAX_STRING)
    if isinstance(value, list):
        return [_shown_tree(item, name) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {clean(key): _shown_tree(item, key) for key, item in cast(dict[str, Any], value).items()}
    return value


def _shown_text(text: str) -> str:
    return redact_text(_cut(text, MAX_STRING))


def _cut(text: str, most: int) -> str:
    """Not much more than will be shown is read: to redact megabytes would keep everybody waiting. A line that ends as
    old Macs ended theirs does so in script too, and is seen to end."""
    read = clean(text[: most + _MARGIN].replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) <= most:
        return read
    safe = redact_text(read)  # before the cut, which may go through a secret
    hidden = max(len(text) - most - _MARGIN, 0) + max(len(safe) - most, 0)
    return f"{safe[:most]}… ({hidden:,} more characters, not shown)" if hidden else safe


def _brief(value: Any) -> Any:
    return f"{value[:MAX_STRING]}…" if isinstance(value, str) and len(value) > 2 * MAX_STRING else value
