"""What a person has allowed for longer than one call: until its session ends or they take it back.

Above: approvals. Below: pending (the question that was answered), policy. Nothing of it is written to a file.
"""

import secrets
import time
from collections.abc import Callable
from typing import Any

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.pending import RISKS, Pending, Scope, domains, weight
from pilothouse.guard.policy import Decision, Question, Risk
from pilothouse.guard.reach import reach
from pilothouse.tool import Access

MAX_GRANTS = 1_000
_RANKS = {Access.READ: 0, Access.VISIT: 0, Access.WRITE: 1, Access.SENSITIVE: 2}


class Grant(msgspec.Struct, frozen=True):
    """For what the same rule asks, up to the same risk: by this tool ("session") or on this domain ("domain").

    What is asked once for a domain is covered by the answer for that domain alone.
    """

    id: str
    scope: Scope
    caller: str
    session: str
    tool: str
    domain: str
    access: str
    rule: str
    risk: Risk
    by: str
    granted_ms: int
    once: bool = False  # it was asked once for the domain

    def shown(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "reaches": self.reaches}

    @property
    def reaches(self) -> str:
        """In words."""
        return reach(
            self.scope,
            tool=self.tool,
            domain=self.domain,
            access=self.access,
            risk=self.risk,
            once=self.once,
        )

    def covers(self, question: Question, decision: Decision) -> bool:
        if (self.caller, self.session, self.rule) != (question.caller, question.session, decision.rule):
            return False
        if decision.once_for:
            return self.domain == decision.once_for and weight(decision.risk) <= weight(self.risk)
        if RISKS.index(decision.risk) > RISKS.index(self.risk):
            return False
        if self.scope == "session":
            return self.tool == question.tool
        rank = _RANKS[Access(self.access)]
        return domains(question) == {self.domain} and _RANKS[question.access] <= rank


class Grants:
    def __init__(self) -> None:
        self._all: dict[str, Grant] = {}

    def add(self, pending: Pending, scope: Scope, by: str) -> Grant:
        if len(self._all) >= MAX_GRANTS:
            raise Failure("over_limit", f"there are {MAX_GRANTS} grants", suggestions=["revoke some, or allow it once"])
        question, decision = pending.question, pending.decision
        grant = Grant(
            id=f"g{secrets.token_hex(3)}",
            scope=scope,
            caller=question.caller,
            session=question.session,
            tool=question.tool,
            domain=pending.domain if scope == "domain" else "",
            access=question.access.value,
            rule=decision.rule,
            risk=decision.risk,
            by=by,
            granted_ms=int(time.time() * 1000),
            once=bool(decision.once_for),
        )
        self._all[grant.id] = grant
        return grant

    def covering(self, question: Question, decision: Decision) -> Grant | None:
        return next((one for one in self._all.values() if one.covers(question, decision)), None)

    def revoke(self, ident: str) -> Grant:
        if (found := self._all.pop(ident, None)) is None:
            raise Failure("not_found", "there is no such grant", suggestions=["pilothouse approvals grants lists them"])
        return found

    def end(self, ends: Callable[[Grant], bool]) -> list[Grant]:
        """Those that ended."""
        ended = [one for one in self._all.values() if ends(one)]
        for one in ended:
            del self._all[one.id]
        return ended

    def shown(self) -> list[dict[str, Any]]:
        return [one.shown() for one in self._all.values()]
