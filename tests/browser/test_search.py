"""Searching lines: what comes near is found in bounded time, whatever a page has written."""

import time

from pilothouse.browser.search import nearest, search
from tests.promises import promise

pytestmark = promise("A12")


def test_names_without_end_hold_nobody_up() -> None:
    """Letters in another order are the worst that two texts can be to each other."""
    cells = " | ".join('"tsrqponmlkjihgfedcba"' for _ in range(50))
    lines = [(0, f"row: {number} {cells.replace('t', str(number % 7), 9)}") for number in range(3000)]
    began = time.perf_counter()
    nearest(lines, "abcdefghijklmnopqrst")
    assert time.perf_counter() - began < 2


def test_backslashes_of_a_name_are_its_own() -> None:
    lines = [(0, r'button "C:\dir" e1'), (0, r'button "say \"hi\"" e2')]
    assert search(lines, "", r"^C:\\dir$", "", 5)[1] == 1
    assert search(lines, "", '^say "hi"$', "", 5)[1] == 1


def test_a_role_is_found_in_the_middle_of_a_sentence() -> None:
    lines = [(0, '"Read" link "first" e1 "and" link e2 "now"'), (0, '"a link e3 is said here"'), (0, 'link "last" e4')]
    assert search(lines, "", "", "link", 5)[1] == 2
    assert search(lines, "first", "", "link", 5)[1] == 1
    assert search(lines, "", "", "button", 5)[1] == 0
