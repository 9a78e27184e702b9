"""What is different in a browser elsewhere (`pytest tests/tools --through remote`, or `grid`)."""

from tests.differing import Difference

WHERE = "in a browser elsewhere"

# Tests of other kinds of browsers, which agents' kind means nothing to.
NOT_MEANT = ("test_profiles.py", "test_lifecycle.py")

_BOUNDARIES = (
    "test_allowed_domains_hold_for_addresses_and_for_pages",
    "test_a_session_without_them_is_not_narrowed",
    "test_a_proxy_is_asked_for_what_is_not_this_machine",
    "test_a_boundary_that_cannot_be_is_said",
    "test_sessions_are_told_apart_in_the_list",
)

DIFFERS = [
    Difference(
        "`allowed_domains` and `proxy` are unsupported: nothing would hold them.",
        '`sluice.advertise`, or `browser="isolated"`.',
        tuple(f"test_open_session.py::{name}" for name in _BOUNDARIES),
    ),
    Difference(
        "Why a connection failed is told in Chrome's words: no gateway of ours stands between.",
        "`sluice.advertise`.",
        ("test_har.py::test_what_was_sent_and_what_came_back",),
    ),
]
