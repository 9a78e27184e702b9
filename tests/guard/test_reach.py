"""What a yes is said to allow is what it allows."""

import pytest

from pilothouse.doors.dialog import _what
from pilothouse.guard.question import Risk
from pilothouse.guard.reach import reach
from tests.promises import promise

pytestmark = promise("D07", "D10")


@pytest.mark.parametrize(
    ("scope", "domain", "access", "risk", "once", "said"),
    [
        ("once", "ok.test", "write", "high", False, "this call, once"),
        ("session", "", "write", "low", False, "click on all sites; not sending, deleting, passwords or payments"),
        ("session", "", "write", "medium", False, "click on all sites, also sending, deleting and passwords; not payments"),
        ("domain", "ok.test:92", "visit", "none", True, "visiting and reading ok.test:92; not changes there"),
        ("domain", "ok.test (changes)", "write", "low", True,
         "changes on ok.test; not what is sensitive: sending, deleting, passwords, scripts, payments"),
        ("domain", "ok.test", "write", "medium", False,
         "changes on ok.test, also sending, deleting and passwords; not payments, not scripts"),
        ("domain", "ok.test", "sensitive", "medium", False,
         "changes on ok.test, also cookies, storage and scripts, which can do anything there, payments too"),
    ],
)  # fmt: skip
def test_words(scope: str, domain: str, access: str, risk: Risk, once: bool, said: str):
    assert reach(scope, tool="click", domain=domain, access=access, risk=risk, once=once) == said


def test_a_clients_user_is_asked_in_one_sentence():
    shown = {"scopes": ["domain", "once"], "domain": "ok.test:92 (changes)", "tool": "click"}
    asked = "may the agent make changes on ok.test:92 until this session ends? (It wants to run click.)"
    assert _what(shown) == asked
    assert _what({**shown, "domain": "ok.test"}).startswith("may the agent go to ok.test and read it until")
    assert _what({**shown, "scopes": ["once"]}) == "may the agent run click, once?"
