"""The values that a person registered, found in any text, also in disguise: escaped for a URL, JSON or HTML (also
partly, also twice), in base64 inside something longer, in hex, broken over lines, or cut off at the end.

Above: redact asks for every text; secrets says what there is. Below: nothing. Known to the whole process, because the
last line of the last log must not show them either. One search for how they all begin comes first, on RE2; only where
that finds something are the texts compared, character by character.
"""

import base64
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from re import Pattern
from typing import NamedTuple

from pilothouse.guard.linear import compiled
from pilothouse.options import HIDDEN

_HEAD = 12  # so much of a value must be there before it can be one
_CERTAIN = 24  # so much is no accident, whatever follows
_MOST_PASSES = 4  # a short value is a word when what stood beside it is masked
_MOST_FOUND = 5000  # places in one text where a value may begin: some tenths of a second
TOO_MANY = "… (the rest is left out: it holds too much that looks like secrets)"
_SHORT = 8  # shorter values are found as whole words only, and not in disguise
_BLANKS = " \t\r"
_BREAK = re.compile(r"[ \t\r]*\n[ \t\r\n]*")
_MASKS = (HIDDEN, "[email]", "[phone]", "[iban]")  # what stands in the place of something is left as it is
_CUT = ("…", "...")
_BASE64_MORE = re.compile(r"[A-Za-z0-9+/_\-]{0,2}={0,2}")
_WORD = re.compile(r"\w")
_JSON_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_HTML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Form(NamedTuple):
    """One disguise of a value: each character as a pattern of all its spellings.

    Where it is `encoded`, so many characters before it (`edge`) and some after it hold parts of it, too.
    """

    name: str
    characters: list[str]
    edge: int = 0
    encoded: bool = False
    as_word: bool = False


class _All(NamedTuple):
    """Everything known, by what its forms begin with; under the empty text those that can begin in many ways."""

    forms: dict[str, list[Form]]
    heads: "Pattern[str] | None"
    marks: "re.Pattern[str]"


def mark(name: str) -> str:
    return f"[secret:{name}]"


class Known:
    def __init__(self) -> None:
        self._of: dict[object, dict[str, str]] = {}
        self._all = _All({}, None, re.compile(r"(?!)"))  # replaced as a whole: other threads read it
        self.version = 0  # of what is known

    def know(self, owner: object, values: Mapping[str, str]) -> None:
        """From now on these are the values of `owner`, instead of those before."""
        self._of[owner] = dict(values)
        told = {name: value for one in self._of.values() for name, value in one.items()}
        forms = [form for name, value in told.items() if value for form in _forms(name, value)]
        heads = "|".join("".join(one.characters[:_HEAD]) for one in forms)
        marks = re.compile("|".join(map(re.escape, [*_MASKS, *map(mark, told)])))
        self._all = _All(_by_first(forms), compiled(heads, groups=False) if heads else None, marks)
        self.version += 1

    def holds(self, text: str) -> bool:
        heads = self._all.heads
        return heads is not None and heads.search(_unbroken(text)) is not None

    def mask(self, text: str) -> str:
        """Text without surrogates, in which every value is replaced by its mark."""
        for _ in range(_MOST_PASSES):
            if not self.holds(text) or (masked := self._masked(text)) == text:
                break
            text = masked
        return text

    def _masked(self, text: str) -> str:
        made: list[str] = []
        at = 0
        for first, last, name in _standing(text, self._all):
            made += [text[at:first], mark(name) if name else TOO_MANY]
            at = last
        return "".join([*made, text[at:]])


def _standing(text: str, everything: _All) -> Iterator[tuple[int, int, str]]:
    """Where which value stands. What stands inside a mark is the name of a secret, not its value.

    Nobody's value is what comes after too many: nobody has looked there.
    """
    assert everything.heads
    is_marked = _within([one.span() for one in everything.marks.finditer(text)])
    whole, place = _unbroken(text), _places(text)
    at = 0
    for count, found in enumerate(everything.heads.finditer(whole)):
        if count == _MOST_FOUND:
            yield max(place(found.start()), at), len(text), ""
            return
        # A false beginning may hide the true one that starts inside it.
        for start in map(place, range(found.start(), found.end())):
            if start < at or is_marked(start):
                continue
            forms = (*everything.forms.get(text[start], ()), *everything.forms.get("", ()))
            if not forms:
                continue
            first, last, name = max((_extent(one, text, start) for one in forms), key=_end)
            if last:
                yield max(first, at), last, name
                at = last
                break


def _within(spans: list[tuple[int, int]]) -> Callable[[int], bool]:
    """Whether a place lies in one of the spans, which are in order."""
    starts = [first for first, _ in spans]

    def within(at: int) -> bool:
        index = bisect_right(starts, at) - 1
        return index >= 0 and at < spans[index][1]

    return within


def _unbroken(text: str) -> str:
    """The lines as one, so that a value that was broken over several stands in one piece."""
    return "".join(line.strip(_BLANKS) for line in text.split("\n")) if "\n" in text else text


def _places(text: str) -> Callable[[int], int]:
    """Where a place of the unbroken text is in the text itself."""
    starts, ends, length, begun = [0], [0], 0, 0  # of each line: in the text, and in the unbroken one
    for line in text.split("\n"):
        kept = line.strip(_BLANKS)
        starts.append(begun + len(line) - len(line.lstrip(_BLANKS)))
        ends.append(length)
        length, begun = length + len(kept), begun + len(line) + 1

    def place(at: int) -> int:
        index = bisect_right(ends, at) - 1
        return starts[index] + at - ends[index]

    return place if "\n" in text else lambda at: at


_NOWHERE = (0, 0, "")


def _end(extent: tuple[int, int, str]) -> int:
    return extent[1]


def _by_first(forms: list[Form]) -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for form in forms:
        first = form.characters[0]
        for one in first if first.isalnum() else first[1:-1] if first.startswith("[") else ("",):
            found.setdefault(one, []).append(form)
    return found


def _forms(name: str, text: str) -> Iterator[Form]:
    yield Form(name, [_spelled(one) for one in text], as_word=len(text) < _SHORT)
    if len(text) < _SHORT:
        return
    data = text.encode()
    for shift in range(3):  # where in a longer text it begins, counted in threes of bytes
        coded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        edge = (0, 2, 3)[shift]  # characters that also hold bits of what stands before
        rest = (shift + len(data)) % 3  # the last character also holds bits of what follows
        core = coded[edge : len(coded) - (1 if rest else 0)]
        yield Form(name, [_coded(one) for one in core], edge, encoded=True)
    yield Form(name, [f"[{one}{one.upper()}]" if one.isalpha() else one for one in data.hex()])


def _spelled(character: str) -> str:
    """Every way in which a URL, JSON and HTML write one character."""
    if character.isascii() and character.isalnum():
        return character
    ways = [re.escape(character) if character.isascii() else character]
    percent = "".join(f"%(?:25)?{byte:02X}" for byte in character.encode())
    units = character.encode("utf-16-be")
    unicode = "".join(rf"\\{{1,4}}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    ways += [f"(?i:{percent})", f"(?i:{unicode})"]
    ways += [f"(?i:&(?:amp;)?#(?:0{{0,4}}{ord(character)}|x0{{0,4}}{ord(character):x});)"]
    if character in _HTML_NAMES:
        ways.append(f"&(?:amp;)?{_HTML_NAMES[character]};")
    if character in _JSON_SHORT:
        ways.append(rf"\\{{1,4}}{re.escape(_JSON_SHORT[character])}")
    if character in '/\\:*?"<>|':
        ways.append("_")  # in the name of a file
    if mangled := "\x80" <= character <= "\xff":
        ways.append(chr(0xFF00 + ord(character)))  # Chrome writes it so in the text of an exception (M)
    if character == " ":
        ways += [r"\+", "\u00a0", "&nbsp;"]
    if character == "'":
        ways.append(r"\\{1,4}'")
    # The longest first: after a backslash that stands alone nothing else would fit.
    # What was mangled may be invisible, and then it is gone.
    return f"(?:{'|'.join(reversed(ways))}){'?' if mangled else ''}"


def _coded(character: str) -> str:
    if character == "+":
        return r"(?:[+\-]|%2[Bb]|\\{1,4}u002[Bb])"
    if character == "/":
        return r"(?:\\{1,4}/|[/_]|%2[Ff])"
    return character


def _extent(form: Form, text: str, start: int) -> tuple[int, int, str]:
    """From where to where the value stands in this form, if it begins at `start`."""
    at = start
    for count, character in enumerate(form.characters):
        found = _one(character).match(text, at)
        if not found and (gap := _BREAK.match(text, at)):
            found = _one(character).match(text, gap.end())
        if not found:
            is_cut = at == len(text) or text.startswith(_CUT, at)
            enough = count >= (_HEAD if is_cut else _CERTAIN)
            return (start, at, form.name) if enough else _NOWHERE
        at = found.end()
    if form.as_word and not _is_word(text, start, at):
        return _NOWHERE
    if form.encoded:
        before = text[max(start - form.edge, 0) : start]
        start -= len(before) if before.isalnum() else 0
        more = _BASE64_MORE.match(text, at)
        at = more.end() if more else at
    return start, at, form.name


@lru_cache(4096)
def _one(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


def _is_word(text: str, first: int, last: int) -> bool:
    return not (_WORD.match(text[max(first - 1, 0) : first]) or _WORD.match(text[last : last + 1]))


known = Known()
