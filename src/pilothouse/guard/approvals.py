"""Asking a person before something happens.

Above: the gate, with a decision of the policy. Below: policy, errors. Nobody can be asked yet, so what the policy
wants asked is denied: silence has never meant yes.
"""

from pilothouse.errors import Failure
from pilothouse.guard.policy import Decision, Question, denial


class Approvals:
    async def ask(self, question: Question, decision: Decision) -> bool:
        """Return when the call may go on, and whether a person was asked; otherwise raise `denied` or
        `approval_denied`."""
        if decision.verdict == "allow":
            return False
        if decision.verdict == "deny":
            raise denial(decision, question.tool)
        raise Failure(
            "approval_denied",
            f"{decision.rule} wants a person to approve {question.tool}, and nobody can be asked",
            details={"rule": decision.rule, "risk": decision.risk},
        )
