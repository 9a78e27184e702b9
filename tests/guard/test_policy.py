"""Policy as it stands: everything may; what a decision forbids, nobody is asked about."""

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.policy import Decision, Policy, Question
from pilothouse.tool import Access
from tests.promises import promise

pytestmark = promise("D07")

QUESTION = Question(caller="default", session="s1", tool="click", access=Access.WRITE, args={"target": "e1"})


async def test_everything_is_allowed_and_nobody_is_asked():
    decision = Policy().decide(QUESTION)
    assert (decision.verdict, decision.risk) == ("allow", "none")
    await Approvals().ask(QUESTION, decision)


async def test_what_is_forbidden_is_not_asked_about():
    decision = Decision(verdict="deny", rule="rule 1", risk="high")
    with pytest.raises(Failure, match="rule 1") as caught:
        await Approvals().ask(QUESTION, decision)
    assert caught.value.code == "denied"
