"""What would happen: the policy's answer about an address, before anybody goes there.

Above: `/api/policy/test`, `pilothouse policy test`. Below: policy, address.
"""

from typing import Any

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import check_url
from pilothouse.guard.patterns import LISTABLE
from pilothouse.guard.policy import Decision, Policy, Question, Risk
from pilothouse.tool import Access, Tool

_KINDS = {"read": Access.READ, "write": Access.WRITE, "sensitive": Access.SENSITIVE}
_RISKY: tuple[Risk, ...] = ("medium", "high")
_RISKS: dict[Access, Risk] = {Access.READ: "none", Access.WRITE: "none", Access.SENSITIVE: "medium"}


def explained(policy: Policy, url: str, *, tool: Tool | None, browser: str, mode: str) -> dict[str, Any]:
    """For one tool, or for reading, changing and sensitive actions there."""
    try:
        address = check_url(url, schemes=LISTABLE)
    except Failure as failure:
        if failure.code != "denied":
            raise
        said = Decision("deny", str(failure.details.get("rule", "built in")), why=failure.message)
        return {"url": url, "says": {"any": [msgspec.to_builtins(said)]}, "riskier": {}}
    kinds = {tool.name: tool.access} if tool else _KINDS
    told: dict[str, Any] = {"url": address, "says": {}, "riskier": {}}
    for name, access in kinds.items():
        question = Question("", "", name, access, {}, browser=browser, mode=mode, urls=(address,))
        said = policy.weigh(question) if tool else policy.weigh_as(question, _RISKS[access])
        told["says"][name] = [msgspec.to_builtins(one) for one in said]
        if access is Access.WRITE:
            told["riskier"][name] = _riskier(policy, question, said[-1])
    return told


def _riskier(policy: Policy, question: Question, said: Decision) -> dict[str, str]:
    """The verdicts that are stricter when what is pressed or filled has a risk: nobody knows before it is there."""
    verdicts = {risk: policy.weigh_as(question, risk)[-1] for risk in _RISKY}
    other = {
        risk: one for risk, one in verdicts.items() if (one.verdict, one.once_for) != (said.verdict, said.once_for)
    }
    return {risk: one.verdict for risk, one in other.items()}
