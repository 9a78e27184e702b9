"""The price of a text: right to the piece, and found in one walk however long the text is."""

import time

import pytest

from pilothouse.browser.budget import clip, paged, tokens
from tests.promises import promise

pytestmark = promise("A12")

SORTS = {
    "words": "the quick Brown fox; ",
    "numbers": "1 22 333 4444  55555 ",
    "signs": "a!b?c.",
    "chinese": "按钮提交订单",
    "rare": "ሰላም ልዑል \u1680\u1680 ",
    "blanks": " ",
}


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("budget", [50, 51, 115, 1150, 2500])
def test_every_page_and_every_clip_fits(sort: str, budget: int) -> None:
    text = SORTS[sort] * (20_000 // len(SORTS[sort]))
    pages = paged(text, budget)
    assert "".join(pages) == text
    assert max(tokens(page) for page in pages) <= budget
    assert tokens(clip(text, budget)) <= budget
    assert all(tokens(page) > budget * 0.9 for page in pages[:-1])


def test_short_lines_share_a_page() -> None:
    text = "\n".join(f"line {n}" for n in range(1000))
    pages = paged(text, 500)
    assert "\n".join(pages) == text
    assert 5 < len(pages) < 15
    assert paged("", 100) == [""]
    assert clip("short", 50) == "short"
    assert clip("anything", 0) == "…"


@pytest.mark.parametrize("text", [SORTS["words"] * 200_000, "ab\n" * 700_000], ids=["one line", "short lines"])
def test_four_megabytes_are_paged_at_once(text: str) -> None:
    began = time.process_time()
    pages = paged(text, 2500)
    assert time.process_time() - began < 1
    assert len(pages) > 100


def test_a_huge_line_is_clipped_without_reading_it_all() -> None:
    began = time.process_time()
    assert tokens(clip("wide " * 800_000, 100)) <= 100
    assert time.process_time() - began < 0.1
