"""What is different in the person's own Chrome (`pytest tests/tools --through extension`)."""

from tests.differing import Difference

WHERE = "in your own Chrome"

# Tests of other kinds of browsers, which agents' kind means nothing to.
NOT_MEANT = ("test_profiles.py", "test_lifecycle.py", "test_open_session.py")

_STATES = (
    "test_a_log_in_goes_from_session_to_session",
    "test_storage_of_a_development_server_whose_tab_is_elsewhere",
    "test_a_cookie_tells_the_port_it_came_from",
    "test_open_session_with_a_state",
    "test_a_state_that_is_not_there_opens_no_session",
    "test_no_byte_goes_to_a_site_whose_storage_is_reached",
    "test_no_page_is_left",
    "test_on_disk_it_is_no_plain_text",
)

DIFFERS = [
    Difference(
        "Sessions share one world of cookies and storage: the person's.",
        '`browser="isolated"` for a world of one\'s own; `get_cookies` and `delete_cookies` take a site.',
        ("test_cookies.py::test_all_means_all_of_this_session",),
    ),
    Difference(
        "Cookies of sites that no tab of the session is at are neither told nor deleted, unless the call names the site.",
        "Name the site: `domain` or `urls`.",
        (
            "test_cookies.py::test_filters",
            "test_cookies.py::test_deleting_some",
            "test_cookies.py::test_very_much_goes_into_a_file",
        ),
    ),
    Difference(
        "`save_state` and `load_state` are unsupported: log-ins stay in the person's Chrome.",
        "Work in a tab of that site.",
        tuple(f"test_state.py::{name}" for name in _STATES),
    ),
    Difference(
        "`emulate` gives a place, but Chrome asks the person whether a site may know it.",
        "Ask the person to allow it.",
        (
            "test_emulation.py::test_place",
            "test_emulation.py::test_a_place_is_kept_when_another_tab_gives_its_own_up",
        ),
    ),
    Difference(
        "Shared and service workers of their own are out of reach: emulation, interception and the network log do not "
        "see their requests.",
        '`browser="isolated"`.',
        (
            "test_emulation.py::test_shared_workers_pretend_too",
            *(
                f"test_intercepts.py::test_workers_are_held_to_it[{early}-{kind}]"
                for early in (True, False)
                for kind in ("shared_worker", "service_worker")
            ),
        ),
    ),
    Difference(
        "A window that a page opens is held from its second request on; its first has gone before we are there.",
        "`new_tab` opens a tab that is held from the beginning.",
        ("test_intercepts.py::test_popups_and_new_tabs_are_held_to_it",),
    ),
    Difference(
        "Downloads lie where the person's Chrome puts them, under the names it gives.",
        "The path is in the answer of `wait_for_download`, as soon as Chrome tells it.",
        ("test_download_tools.py::test_hostile_names",),
    ),
    Difference(
        "Before a page gives a second file by itself, Chrome asks the person.",
        "Ask the person to allow it, or load the page again.",
        ("test_download_tools.py::test_each_one_is_answered_once",),
    ),
    Difference(
        "Why a connection failed is told in Chrome's words: no gateway of ours stands between.",
        "",
        ("test_har.py::test_what_was_sent_and_what_came_back",),
    ),
]
