"""How much a model pays to read a text, and how much of a text fits a budget.

Above: snapshot, tools. Below: signs. The estimate counts pieces as tokenizers cut them (o200k is the measure), with no
table of theirs but the signs. It is above the real count for texts of 106 languages, for ids, hashes, addresses, genes,
names of places, people and things, and for signs drawn by lot: for English by half, for rows of buttons by a fifth (M).
What it still misses (M): an alphabet in its order, by half (accented Latin: twice as many); words of vowels alone, by
a fifth; places in Latvian, or drugs in small letters, by 6 %.
"""

import math
import re
from collections.abc import Iterator

from pilothouse.browser.signs import CHINESE, DEAREST, KOREAN

SMALLEST = 50
MARGIN = 1.18
# Each letter, and what often follows it in words (M, 60 languages). Tokenizers have long pieces for those; what has
# other pairs, such as an id, they take apart there.
_FOLLOWERS = (
    "aabcdgiklmnprstuvxyz baeijloruy cacehilotu dadehimnorsu eabcdegijklmnoprstuvwxyz faeioru gehiort haeiot"
    " iacdefgjklmnoprstvz jes keklrsty ladegijlostuy mabeiopu nacdeghiknostuy obcdgijklmnoprstuvw paeiloprtuv qu"
    " rabdegiklmnorstuvy sacehiklopstuw taehinorstuy uadegilmnprstu vaeio waeio xi yopst zaei"
)
# Those of them that are in names (of places, people, things) more than in English words.
_IN_NAMES = "aa ai ak an ap ay az ba bi bo bu da do ek go ia ij ik ir kk la mb mu na oj pu sa sh uu vo wa yo"


def _going_on(*, broken: str = "") -> str:
    """A letter that is in one piece with the one after it, for a pattern."""
    apart = set(broken.split())
    kept = {one[0]: "".join(after for after in one[1:] if one[0] + after not in apart) for one in _FOLLOWERS.split()}
    return "|".join(f"{letter}(?=[{after}])" for letter, after in kept.items() if after)


_GOES_ON, _GOES_ON_IN_NAMES = _going_on(), _going_on(broken=_IN_NAMES)
_MARK = r"[!-/:-@\[-`{-~]"
_BLANK = r"[ \t\r\f\v]"
# Letters of which two make a piece: Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic.
_PAIRED = "\u00c0-\u017f\u0386-\u03ce\u0400-\u045f\u0490-\u04bf\u0531-\u0587\u05d0-\u05ea\u0620-\u064a"
_CONSONANT, _VOWEL = "[bcdfghjklmnpqrstvwzBCDFGHJKLMNPQRSTVWZ]", "[aeiou]"
_SYLLABLE = _CONSONANT + _VOWEL
# After the short first piece of such a name.
_BEGUN = "(?<=[A-Z][a-z])|(?<=[A-Z][a-z]{2})|(?<=[A-Z][a-z]{3})"
_PIECES = re.compile(
    # Words of syllables (made-up names, above all) and what goes on for long have shorter pieces, and so has what may
    # be a name, for it has a capital; the vowel at its end is often one more.
    f"{_SYLLABLE}(?:{_CONSONANT}(?={_VOWEL}{_SYLLABLE})|(?={_CONSONANT}[iou](?![a-z])))"
    f"|(?<=[a-z])(?=[a-z])(?:(?<=[a-z]{_SYLLABLE}{_CONSONANT}){_VOWEL}{_CONSONANT}?|(?<={_SYLLABLE}{_SYLLABLE}){_SYLLABLE}"
    f"|(?:{_BEGUN}|(?<=[a-z]{{14}}))(?:{_GOES_ON_IN_NAMES}){{0,4}}[a-z])"
    f"|[A-Z](?:(?:{_GOES_ON_IN_NAMES})(?![aiou](?![a-z]))){{0,6}}[a-z]"
    f"|(?:{_GOES_ON}){{0,6}}[a-z]|(?<![A-Za-z])[A-Z]|[A-Z]{{1,2}}|[0-9]{{1,3}}"
    f"|{_MARK}{{1,2}}(?!{_MARK})|{_MARK}"
    # A single blank belongs to the word after it; a number, kana, Han and a lone sign (of Hangul) take none.
    f"|{_BLANK}*\\n[\\n{_BLANK[1:-1]}]*|{_BLANK}+(?=[0-9\u3000-\u9fff]|[^\\W\\x00-\u10ff](?!\\w))|{_BLANK}{{2,}}"
    f"|[{_PAIRED}]{{1,2}}|[^\\x00-\\x7f]"
)

# Signs that cost more than one token each; who costs three is in the first two, and so on. In the first are all but ...
_DEARER = [
    re.compile(f"[{signs}]")
    for signs in (
        "^\u0000-\u007f\u00a1-\u017f\u0386-\u03ce\u0400-\u045f\u0490-\u04bf\u0531-\u0587\u05d0-\u05ea\u0620-\u064a"
        "\u0900-\u0e7f\u1000-\u10ff\u1780-\u17ff\u2010-\u2027\u20ac\u2122\u2190-\u2193\u3000-\u30ff\uff01-\uff1f"
        + CHINESE
        + KOREAN,
        "\u0800-\u08ff\u0fc0-\u0fff\u1100-\u11ff\u1380-\u177f\u1800-\u1cff\u1d40-\u1dff\u1f80-\u1fbf\u2340-\u243f"
        "\u26c0-\u26ff\u27c0-\u2fff\u3180-\u4dff\ua000-\uabff\ud7b0-\ufdff"
        "\U00010000-\U0001f2ff\U0001f900-\U0010ffff" + DEAREST,
        "\U00010000-\U0001d3ff\U0001e000-\U0001efff\U00020000-\U0010ffff",
    )
]
_DEAREST = 1 + len(_DEARER)


def tokens(text: str) -> int:
    """More than a model will count."""
    return math.ceil(MARGIN * _pieces(text))


def _pieces(text: str) -> int:
    return len(_PIECES.findall(text)) + _surcharge(text)


def _surcharge(text: str) -> int:
    return 0 if text.isascii() else sum(len(signs.findall(text)) for signs in _DEARER)


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
    most = max(int(budget / MARGIN), _DEAREST + 1)
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
        if _DEAREST * len(line) > room:  # shorter ones fit, whatever is in them
            for cut, cost in _cuts(line, room):
                yield line[start:cut], cost
                start = cut
        rest = line[start:]
        yield rest, _pieces(rest)


def _cuts(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Where to cut a text into parts of at most so many pieces, and how many each has; every piece is met once."""
    used = 0
    for piece in _PIECES.finditer(text):
        cost = 1 + _surcharge(piece[0])
        if used + cost > room:
            yield piece.start(), used
            used = 0
        used += cost
