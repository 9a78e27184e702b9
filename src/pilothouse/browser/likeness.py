"""Which options are called most like the one that was wanted and is not there.

Above: fill, lists. Below: the standard library. Names and what is wanted may be long: they are cut, so that the worst
of them hold nobody up.
"""

from collections.abc import Iterable
from difflib import SequenceMatcher

MOST = 20  # candidates of an error
COMPARED_CHARS = 60
LIKENESS = 0.6


def likeliest(wanted: str, names: Iterable[str]) -> list[str]:
    """Those that begin with it, those that hold it, those that are written much like it; the others as they stand."""
    low = _folded(wanted)
    matcher = SequenceMatcher(None, b=low, autojunk=False)
    return sorted(dict.fromkeys(names), key=lambda name: _rank(_folded(name), low, matcher))[:MOST]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()[:COMPARED_CHARS]


def _rank(name: str, wanted: str, matcher: "SequenceMatcher[str]") -> tuple[int, float]:
    matcher.set_seq1(name)
    ratio = _ratio(matcher)
    if name.startswith(wanted):
        return 0, -ratio
    if wanted in name:
        return 1, -ratio
    return (2, -ratio) if ratio >= LIKENESS else (3, 0)


def _ratio(matcher: "SequenceMatcher[str]") -> float:
    """0 where two quick looks tell that it is too low to matter."""
    if matcher.real_quick_ratio() < LIKENESS or matcher.quick_ratio() < LIKENESS:
        return 0
    return matcher.ratio()
