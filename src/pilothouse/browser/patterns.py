"""Patterns that callers give: globs and parts for addresses, regular expressions on a linear-time engine for text.

Above: tools, waits, console, network. Below: RE2, because with Python's own engine 26 characters can take seven
seconds.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from pilothouse.errors import Failure

MAX_CHARS = 1000
Redact = Callable[[str], str]
"""What makes of a text what its reader is shown: who filters must not learn more than who reads."""
_ORIGIN = re.compile(r"(https?|\*)://([^/*?#@\\\s]+)")


def address(pattern: str) -> Callable[[str], bool]:
    """A glob with `*` for the whole address, or a part of it. All else stands for itself: `?` begins a query."""
    if "*" not in pattern:
        return lambda url: pattern in url
    first, *middle, last = pattern.split("*")
    return lambda url: _fits(url, first, middle, last)


def _fits(text: str, first: str, middle: list[str], last: str) -> bool:
    """In one pass, so that no pattern is slow."""
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or end < len(first):
        return False
    place = len(first)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True


def named_origins(pattern: str) -> tuple[str, ...]:
    """The origins that a pattern for addresses begins with, if it spells them out."""
    found = _ORIGIN.match(pattern)
    schemes = () if found is None else ("http", "https") if found[1] == "*" else (found[1],)
    return tuple(f"{scheme}://{found[2]}" for scheme in schemes if found)


def regular(pattern: str) -> Callable[[str], bool]:
    """Whether a regular expression is found in a text, letters of either case."""
    place = placed(pattern)
    return lambda text: place(text) is not None


def placed(pattern: str) -> Callable[[str], tuple[int, int] | None]:
    """From where to where it is."""
    if len(pattern) > MAX_CHARS:
        raise Failure("bad_request", f"the pattern is longer than {MAX_CHARS} characters")
    engine = cast(Any, re2)
    options = engine.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        compiled = engine.compile(pattern, options)
    except engine.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error
        raise Failure("bad_request", f"{pattern!r} is not a pattern: {reason}") from None
    return lambda text: found.span() if (found := compiled.search(text)) else None


def newer(number: int, time_ms: int, since: int) -> bool:
    """`since` is a number of our own counting, or, being much larger, a time."""
    return time_ms >= since if since > 1_000_000_000_000 else number > since
