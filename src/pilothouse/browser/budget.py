"""How much a model pays to read a text, and how much of a text fits a budget.

Above: snapshot, tools. Below: nothing. The estimate counts pieces as tokenizers cut them (o200k is the measure): it
stays above the real count for pages of every kind that we met, by 15 to 40 % (M), without a tokenizer's tables.
"""

import math
import re

SMALLEST = 50
MARGIN = 1.15
_PIECES = re.compile(
    r"[A-Z]?[a-z]{1,5}|[A-Z]{1,2}|[0-9]{1,3}"
    r"|[!-/:-@\[-`{-~]{1,2}"
    r"|\s*\n\s*|\s+(?=[0-9])|\s{2,}"  # a single blank belongs to the word after it, not to a number
    r"|[\u0080-\u07ff]{1,2}|[^\x00-\u07ff]"
)
# Scripts that tokenizers know little of cost several tokens a letter.
_RARE = re.compile("[\u0900-\u1fff\U00010000-\U0010ffff]")


def tokens(text: str) -> int:
    """More than any model will count."""
    return math.ceil(MARGIN * _pieces(text))


def _pieces(text: str) -> int:
    return len(_PIECES.findall(text)) + (0 if text.isascii() else len(_RARE.findall(text)))


def fitting(lines: list[str], budget: int) -> int:
    """How many of the lines a budget holds; at least one, which may then have to be clipped."""
    room = budget / MARGIN
    for index, line in enumerate(lines):
        room -= _pieces(line) + 1
        if room < 0:
            return max(index, 1)
    return len(lines)


def clip(text: str, budget: int) -> str:
    """The beginning of a text that fits, with a mark where it was cut."""
    if tokens(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) < budget else (low, middle - 1)
    return text[:low] + "…"


def paged(text: str, budget: int) -> list[str]:
    """A text in pages that each fit the budget, cut between lines where possible."""
    lines = [piece for line in text.split("\n") for piece in _split(line, budget)]
    pages: list[str] = []
    at = 0
    while at < len(lines):
        count = fitting(lines[at:], budget)
        pages.append("\n".join(lines[at : at + count]))
        at += count
    return pages


def _split(line: str, budget: int) -> list[str]:
    """A line too long for a page, in parts."""
    parts: list[str] = []
    while tokens(line) >= budget:
        part = clip(line, budget)[:-1] or line[:1]
        parts.append(part)
        line = line[len(part) :]
    return [*parts, line]
