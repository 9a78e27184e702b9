"""Asking a person before something happens.

Above: the gate, with a decision of the policy. Below: policy, errors. Nobody can be asked yet, so what the policy
wants asked is denied: silence has never meant yes.
"""

from pilothouse.errors import Failure
from pilothouse.guard.policy import Decision, Question


class Approvals:
    async def ask(self, question: Question, decision: Decision) -> None:
        """Return when the call may go on; otherwise raise `denied` or `approval_denied`."""
        if decision.verdict == "allow":
            return
        if decision.verdict == "deny":
            why = decision.why or f"{decision.rule} forbids {question.tool}"
            raise Failure("denied", why, details={"rule": decision.rule})
        raise Failure(
            "approval_denied",
            f"{decision.rule} wants a person to approve {question.tool}, and nobody can be asked",
            details={"rule": decision.rule, "risk": decision.risk},
        )
