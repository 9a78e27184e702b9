"""Options that are called much like what was wanted: found in bounded time, whatever a page calls them."""

import time

from pilothouse.browser.likeness import MOST, likeliest
from tests.promises import promise

pytestmark = promise("C08")


def test_what_begins_so_then_what_holds_it_then_what_is_written_like_it() -> None:
    names = ["Peru", "Greenland", "Light green", "Gren", "Greens", "Chad"]
    assert likeliest("GREEN", names) == ["Greens", "Greenland", "Light green", "Gren", "Peru", "Chad"]


def test_where_nothing_is_like_it_they_stand_as_they_stood() -> None:
    names = [f"{letter}{letter}" for letter in "zyxwvutsrqponmlkjihgfedcba"]
    assert likeliest("1984", names) == names[:MOST]
    assert likeliest("", names) == names[:MOST]


def test_names_without_end_hold_nobody_up() -> None:
    """The same few letters over and over are the worst that two texts can be to each other."""
    names = ["ab" * (number % 100) + str(number) + "ba" * 100 for number in range(1000)]
    began = time.perf_counter()
    likeliest("ba" * 200, names)
    assert time.perf_counter() - began < 2
