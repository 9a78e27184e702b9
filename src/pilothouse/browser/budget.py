"""How much a model pays to read a text, and how much of a text fits a budget.

Above: snapshot, tools. Below: nothing. The estimate counts pieces as tokenizers cut them (o200k is the measure): it
stays above the real count for pages of every kind that we met, by 15 to 40 % (M), without a tokenizer's tables.
"""

import math
import re
from collections.abc import Iterator

SMALLEST = 50
MARGIN = 1.15
# Scripts that tokenizers know little of cost several tokens a letter; the group tells them from the other pieces.
_PIECES = re.compile(
    r"[A-Z]?[a-z]{1,5}|[A-Z]{1,2}|[0-9]{1,3}"
    r"|[!-/:-@\[-`{-~]{1,2}"
    "|([\u0900-\u1fff\U00010000-\U0010ffff])"
    # A single blank belongs to the word after it, not to a number. Ogham's blank (1680) is one of the rare letters.
    r"|[^\S\u1680]*\n[^\S\u1680]*|[^\S\u1680]+(?=[0-9])|[^\S\u1680]{2,}"
    r"|[\u0080-\u07ff]{1,2}|[^\x00-\u07ff]"
)


def tokens(text: str) -> int:
    """More than any model will count."""
    return math.ceil(MARGIN * _pieces(text))


def _pieces(text: str) -> int:
    found = _PIECES.findall(text)
    return len(found) if text.isascii() else 2 * len(found) - found.count("")


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
    room = int(budget / MARGIN)
    if next(_cuts(text, room), None) is None:
        return text
    cut, _ = next(_cuts(text, room - 1))  # the mark is a piece, too
    return text[:cut] + "…"


def paged(text: str, budget: int) -> list[str]:
    """A text in pages that each fit the budget, cut between lines where possible."""
    most = max(int(budget / MARGIN), 3)
    pages: list[str] = []
    page: list[str] = []
    room = most
    for part, cost in _parts(text, most - 1):
        if page and cost + 1 > room:
            pages.append("\n".join(page))
            page, room = [], most
        page.append(part)
        room -= cost + 1
    return [*pages, "\n".join(page)]


def _parts(text: str, room: int) -> Iterator[tuple[str, int]]:
    """Lines, those too long for a page in parts, each with the pieces in it."""
    for line in text.split("\n"):
        start = 0
        if 2 * len(line) > room:  # shorter ones fit, whatever is in them
            for cut, cost in _cuts(line, room):
                yield line[start:cut], cost
                start = cut
        rest = line[start:]
        yield rest, _pieces(rest)


def _cuts(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Where to cut a text into parts of at most so many pieces, and how many each has; every piece is met once."""
    used = 0
    for piece in _PIECES.finditer(text):
        cost = 2 if piece.lastindex else 1
        if used + cost > room:
            yield piece.start(), used
            used = 0
        used += cost
