"""Searching the lines of a snapshot: what fits, where it stands, and what comes near when nothing fits.

Above: tools, waits. Below: snapshot's lines, patterns.
"""

import re
from collections.abc import Callable
from difflib import get_close_matches
from itertools import islice

from pilothouse.browser.patterns import regular
from pilothouse.browser.snapshot import Lines

NEAREST = 3
LIKENESS = 0.6
MOST_NAMES = 3000  # that are compared with a text, about 0.1 s
_NAME = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_ESCAPED = re.compile(r'\\(["\\])')
_ROLE = re.compile(r"(?:^|[|:] )([a-z]+)(?= |$|:)")


def search(lines: Lines, text: str, pattern: str, role: str, limit: int) -> tuple[list[str], int]:
    """Lines that hold the text, fit the pattern and show the role, each with the headings it stands under."""
    needle = " ".join(text.split()).lower()
    fits = _fitting(pattern)
    shows = _showing(role) if role else None
    hits: list[str] = []
    total = 0
    for index, (_, line) in enumerate(lines):
        if needle in line.lower() and (fits is None or fits(line)) and (shows is None or shows(line)):
            total += 1
            if len(hits) < limit:
                hits.append(_placed(lines, index))
    return hits, total


def _showing(role: str) -> Callable[[str], bool]:
    """At the head of a line or of a cell, or in the middle of a sentence, where it has a name or a ref."""
    heads = regular(rf"(^|[|:] ){re.escape(role)}\b")
    inside = regular(rf'(^| ){re.escape(role)} ("|e\d)')
    return lambda line: heads(line) or inside(_NAME.sub('""', line))


def _fitting(pattern: str) -> Callable[[str], bool] | None:
    """On a whole line, or on a name or text in it: `^Save$` means a button of that name."""
    if not pattern:
        return None
    fits = regular(pattern)
    return lambda line: fits(line) or any(fits(name) for name in _names(line))


def _names(line: str) -> list[str]:
    return [_ESCAPED.sub(r"\1", name) for name in _NAME.findall(line)]


def nearest(lines: Lines, text: str) -> list[str]:
    """Lines with a name or text that is written much like this one."""
    every = ((name.lower(), index) for index, (_, line) in enumerate(lines) for name in _names(line))
    called: dict[str, int] = {}
    for name, index in islice(every, MOST_NAMES):
        called.setdefault(name, index)
    close = get_close_matches(" ".join(text.lower().split()), called, NEAREST, LIKENESS)
    return [_placed(lines, index) for index in dict.fromkeys(called[name] for name in close)]


def roles(lines: Lines, like: str) -> list[str]:
    """Those that the page has, what is written much like this one first."""
    found = {role for _, line in lines for role in _ROLE.findall(_NAME.sub("", line))}
    close = get_close_matches(like.lower(), found, NEAREST, LIKENESS)
    return [*close, *sorted(found - {*close})]


def _placed(lines: Lines, index: int) -> str:
    return " > ".join([*_above(lines, index), lines[index][1]])


def _above(lines: Lines, index: int) -> list[str]:
    """The nearest two lines that a line is nested in."""
    depth, found = lines[index][0], list[str]()
    for at in range(index - 1, -1, -1):
        if lines[at][0] < depth:
            depth = lines[at][0]
            found.insert(0, lines[at][1][:80])
            if depth == 0 or len(found) == 2:
                break
    return found
