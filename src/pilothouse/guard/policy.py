"""What a call asks of the policy, and what the policy answers.

Above: the gate asks before it runs a tool. Below: tool. For now every question is answered with "allow"; the
questions are real, so rules can come later without a change above.
"""

from typing import Any, Literal

import msgspec

from pilothouse.tool import Access

Verdict = Literal["allow", "ask", "deny"]
Risk = Literal["none", "low", "medium", "high"]


class Question(msgspec.Struct, frozen=True):
    """May `caller` run `tool` with `args` in `session`, whose documents are at `urls`?"""

    caller: str
    session: str
    tool: str
    access: Access
    args: dict[str, Any]
    browser: str = "isolated"
    mode: str = "auto"
    urls: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True):
    """`rule` names what decided, so that a person can find and change it."""

    verdict: Verdict
    rule: str
    risk: Risk = "none"
    why: str = ""


_ALLOWED = Decision(verdict="allow", rule="template sandbox")


class Policy:
    def decide(self, question: Question) -> Decision:
        return _ALLOWED
