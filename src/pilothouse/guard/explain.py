"""What would happen: the policy's answer about an address, before anybody goes there.

Above: `/api/policy/test`, `pilothouse policy test`. Below: policy, address.
"""

from typing import Any

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import check_url
from pilothouse.guard.patterns import LISTABLE
from pilothouse.guard.policy import Decision, Policy, Question
from pilothouse.tool import Access, Tool

_KINDS = {"read": Access.READ, "write": Access.WRITE, "sensitive": Access.SENSITIVE}


def explained(policy: Policy, url: str, *, tool: Tool | None, browser: str, mode: str) -> dict[str, Any]:
    """For one tool, or for reading, changing and sensitive actions there."""
    try:
        address = check_url(url, schemes=LISTABLE)
    except Failure as failure:
        if failure.code != "denied":
            raise
        said = Decision("deny", str(failure.details.get("rule", "built in")), why=failure.message)
        return {"url": url, "says": {"any": [msgspec.to_builtins(said)]}}
    kinds = {tool.name: tool.access} if tool else _KINDS

    def said_of(name: str, access: Access) -> list[dict[str, Any]]:
        question = Question("", "", name, access, {}, browser=browser, mode=mode, urls=(address,))
        return [msgspec.to_builtins(one) for one in policy.weigh(question)]

    return {"url": address, "says": {name: said_of(name, access) for name, access in kinds.items()}}
