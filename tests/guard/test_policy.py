"""Policy and approvals as they stand: everything may, and what would be asked is denied."""

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


@pytest.mark.parametrize(("verdict", "code"), [("ask", "approval_denied"), ("deny", "denied")])
async def test_anything_else_is_denied(verdict: str, code: str):
    decision = Decision(verdict=verdict, rule="rule 1", risk="high")  # pyright: ignore[reportArgumentType]
    with pytest.raises(Failure, match="rule 1") as caught:
        await Approvals().ask(QUESTION, decision)
    assert caught.value.code == code
