"""Searching lines: what comes near is found in bounded time, whatever a page has written."""

import time

from pilothouse.browser.excerpt import MOST_CHARS, Long, read
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


def long_line(*texts: str, mark: str = "\u0003") -> Long:
    """As the walker prints what it has cut to 20 characters."""
    cut = f'"{texts[0][:20]}…"' if mark == "\u0003" else f" options({texts[0]} | …{len(texts) - 1} more)"
    return read("group e1: \u0002" + cut + "".join(mark + text for text in texts) + "\u0002 e2", str)


def test_what_a_line_leaves_out_is_told_around_the_match() -> None:
    long = long_line("The beginning. " + "word " * 300 + 'he said "the end" and went')
    lines = [(0, long.shown)]
    for asked in ({"text": "THE END"}, {"pattern": r"the\s+end"}, {"pattern": "^The begin.*went$"}):
        hits, total = search(lines, asked.get("text", ""), asked.get("pattern", ""), "", 5, {0: long})
        assert total == 1
        assert len(hits[0]) < MOST_CHARS + 40
        assert hits[0].startswith("group e1: ")
        assert hits[0].endswith(" e2")
    hits, _ = search(lines, "the end", "", "", 5, {0: long})
    assert r"…" in hits[0]
    assert r'he said \"the end\" and went" e2' in hits[0]
    assert search(lines, "The begin", "", "", 5, {0: long})[0] == [long.shown]


def test_of_a_long_list_the_options_are_told_that_fit() -> None:
    long = long_line("Peru", "Chad", "Fiji", "French Guiana", "France", "Ghana", mark="\u0004")
    lines = [(0, long.shown)]
    assert search(lines, "Fr", "", "", 5, {0: long})[0] == ["group e1:  options(… | French Guiana | France | …) e2"]
    assert search(lines, "", "^Fr.*e$|peru", "", 5, {0: long})[0] == ["group e1:  options(Peru | … | France | …) e2"]
    assert nearest(lines, "Ganha", {0: long}) == ["group e1:  options(… | Ghana) e2"]
    assert nearest(lines, "group", {0: long}) == []


def test_a_secret_is_masked_before_it_is_cut() -> None:
    masked = read('\u0002"a hunt…"\u0003a hunter2 b\u0002', lambda text: text.replace("hunter2", "••"))
    lines = [(0, masked.shown)]
    for guess in ("hunt", "hunter2", '"a h'):
        assert search(lines, guess, "", "", 5, {0: masked})[1] == 0
    assert search(lines, "", "hunt", "", 5, {0: masked})[1] == 0
