"""Errors: one table of codes, one exception, and a text that says what to do next."""

import pytest

from pilothouse.errors import CODES, Failure
from tests.promises import promise

pytestmark = promise("C08")

# Callers rely on these names: more may come, none may go.
FOUNDING = {
    "bad_request", "unknown_tool", "not_found", "stale_ref", "not_actionable", "timeout", "navigation_failed",
    "page_error", "dialog_open", "tab_closed", "tab_crashed", "browser_gone", "unsupported", "denied",
    "approval_denied", "approval_pending", "over_limit", "unauthorized", "system",
}  # fmt: skip


def test_no_code_was_renamed():
    assert CODES.keys() >= FOUNDING


@pytest.mark.parametrize("code", CODES)
def test_the_table_is_complete(code: str):
    kind = CODES[code]
    assert kind.category in {"protocol", "security", "browser", "system"}
    assert 200 <= kind.status < 600
    assert kind.meaning.endswith(".")
    assert len(kind.meaning) < 100


def test_a_failure_carries_all_that_is_promised():
    failure = Failure("timeout", "too slow", details={"url": "u"}, suggestions=["wait"])
    assert failure.to_dict(tool="click", tab="t1") == {
        "code": "timeout",
        "category": "browser",
        "message": "too slow",
        "details": {"url": "u"},
        "suggestions": ["wait"],
        "retryable": True,
        "metadata": {"tool": "click", "tab": "t1"},
    }
    assert failure.status == 504


def test_the_text_says_the_next_step():
    failure = Failure("stale_ref", "e4: its document is gone", suggestions=["take a new snapshot", "use its refs"])
    assert failure.to_text() == "stale_ref: e4: its document is gone\n- take a new snapshot\n- use its refs"
    assert Failure("system", "no").to_text() == "system: no"


def test_a_failure_may_know_better_whether_to_retry():
    assert not Failure("stale_ref", "").retryable
    assert Failure("stale_ref", "", retryable=True).retryable
    assert not Failure("timeout", "", retryable=False).retryable


def test_failures_share_nothing():
    one, other = Failure("system", ""), Failure("system", "")
    one.details["x"] = 1
    one.suggestions.append("y")
    assert (other.details, other.suggestions) == ({}, [])


def test_a_code_that_does_not_exist_is_a_mistake_of_ours():
    with pytest.raises(KeyError):
        Failure("no_such_code", "")
