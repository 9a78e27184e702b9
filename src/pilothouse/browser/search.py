"""Searching the lines of a snapshot: what fits, where it stands, and what comes near when nothing fits.

Above: tools. Below: snapshot's lines, excerpt (what they leave out), patterns.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice

from pilothouse.browser.excerpt import Find, Long
from pilothouse.browser.patterns import placed, regular
from pilothouse.browser.snapshot import Lines

NEAREST = 3
LIKENESS = 0.6
MOST_NAMES = 3000  # that are compared with a text, about 0.1 s
_NAME = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_ESCAPED = re.compile(r'\\(["\\])')
_ROLE = re.compile(r"(?:^|[|:] )([a-z]+)(?= |$|:)")


def search(
    lines: Lines, text: str, pattern: str, role: str, limit: int, long: Mapping[int, Long] | None = None
) -> tuple[list[str], int]:
    """Lines that hold the text, fit the pattern and show the role, each with the headings it stands under. `long` is
    what lines leave out, by their numbers."""
    needle = " ".join(text.split()).lower()
    fits, find = _fitting(pattern), _finding(needle, pattern)
    shows = _showing(role) if role else None
    hits: list[str] = []
    total = 0
    for index, (_, line) in enumerate(lines):
        rest = long.get(index) if long else None
        holds = needle in (rest.text if rest else line).lower()
        if holds and (fits is None or fits(line, rest)) and (shows is None or shows(line)):
            total += 1
            if len(hits) < limit:
                hits.append(_placed(lines, index, rest, find))
    return hits, total


def _finding(needle: str, pattern: str) -> Find:
    """Where in a text one of them stands."""
    fits = placed(pattern) if pattern else None

    def find(text: str) -> tuple[int, int] | None:
        at = text.lower().find(needle) if needle else -1
        return (at, at + len(needle)) if at >= 0 else fits(text) if fits else None

    return find


def _showing(role: str) -> Callable[[str], bool]:
    """At the head of a line or of a cell, or in the middle of a sentence, where it has a name or a ref."""
    heads = regular(rf"(^|[|:] ){re.escape(role)}\b")
    inside = regular(rf'(^| ){re.escape(role)} ("|e\d)')
    return lambda line: heads(line) or inside(_NAME.sub('""', line))


def _fitting(pattern: str) -> Callable[[str, Long | None], bool] | None:
    """On a whole line, or on a name or text in it: `^Save$` means a button of that name."""
    if not pattern:
        return None
    fits = regular(pattern)

    def holds(line: str, rest: Long | None) -> bool:
        if rest is None:
            return fits(line) or any(fits(name) for name in _names(line))
        return fits(rest.text) or any(fits(name) for name in (*_names(rest.bare), *rest.texts))

    return holds


def _names(line: str) -> list[str]:
    return [_ESCAPED.sub(r"\1", name) for name in _NAME.findall(line)]


def nearest(lines: Lines, text: str, long: Mapping[int, Long] | None = None) -> list[str]:
    """Lines with a name, text or option that is written much like this one."""
    rests = long or {}
    called: dict[str, int] = {}
    for name, index in islice(_called(lines, rests), MOST_NAMES):
        called.setdefault(name.lower(), index)
    close = get_close_matches(" ".join(text.lower().split()), called, NEAREST, LIKENESS)
    first = {called[name]: name for name in reversed(close)}
    return [
        _placed(lines, at, rests.get(at), _finding(first[at], ""))
        for at in dict.fromkeys(called[name] for name in close)
    ]


def _called(lines: Lines, rests: Mapping[int, Long]) -> Iterator[tuple[str, int]]:
    for index, (_, line) in enumerate(lines):
        rest = rests.get(index)
        for name in (*_names(rest.bare), *rest.options) if rest else _names(line):
            yield name, index


def roles(lines: Lines, like: str) -> list[str]:
    """Those that the page has, what is written much like this one first."""
    found = {role for _, line in lines for role in _ROLE.findall(_NAME.sub("", line))}
    close = get_close_matches(like.lower(), found, NEAREST, LIKENESS)
    return [*close, *sorted(found - {*close})]


def _placed(lines: Lines, index: int, rest: Long | None, find: Find) -> str:
    told = rest.told(find) if rest else lines[index][1]
    return " > ".join([*_above(lines, index), told])


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
