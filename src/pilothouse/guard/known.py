"""The values that a person registered, found in any text, also in disguise: escaped for a URL, JSON or HTML (also
partly, also twice), in base64 inside something longer, in hex, broken over lines, or cut off at the end.

Above: redact asks for every text; secrets says what there is. Below: nothing. Known to the whole process, because the
last line of the last log must not show them either. One search for how they all begin comes first, on RE2; only where
that finds something are the texts compared, character by character.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from re import Pattern
from typing import NamedTuple

from pilothouse.config import HIDDEN
from pilothouse.guard.linear import compiled

_HEAD = 12  # so much of a value must be there before it can be one
_CERTAIN = 24  # so much is no accident, whatever follows
_SHORT = 8  # shorter values are found as whole words only, and not in disguise
_BREAK = r"(?:[ \t]{0,80}\r?\n[ \t>|]{0,80})?"
_BREAK_IN_TEXT = re.compile(r"[ \t]{0,80}\r?\n[ \t>|]{0,80}")
_MASKS = (HIDDEN, "[email]", "[phone]", "[iban]")  # what stands in the place of something is left as it is
_CUT = ("…", "...")
_BASE64_MORE = re.compile(r"[A-Za-z0-9+/_\-]{0,2}={0,2}")
_WORD = re.compile(r"\w")
_JSON_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_HTML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Form(NamedTuple):
    """One disguise: each character as a pattern of all its spellings. `edge` characters more belong to it in front."""

    characters: list[str]
    edge: int = 0
    encoded: bool = False


class Value(NamedTuple):
    name: str
    text: str
    forms: list[Form]
    heads: "Pattern[str]"


def mark(name: str) -> str:
    return f"[secret:{name}]"


class Known:
    def __init__(self) -> None:
        self._of: dict[object, dict[str, str]] = {}
        self._values: list[Value] = []
        self._any: Pattern[str] | None = None
        self._marks = re.compile(r"(?!)")

    def know(self, owner: object, values: Mapping[str, str]) -> None:
        """From now on these are the values of `owner`, instead of those before."""
        self._of[owner] = dict(values)
        told = {name: value for one in self._of.values() for name, value in one.items()}
        # A value that holds another comes first.
        ordered = sorted(told.items(), key=lambda one: (-len(one[1]), one[0]))
        self._values = [_value(name, value) for name, value in ordered if value]
        heads = "|".join(_heads(one.forms) for one in self._values)
        self._any = compiled(heads, groups=False) if heads else None
        self._marks = re.compile("|".join(map(re.escape, [*_MASKS, *map(mark, told)])))

    def holds(self, text: str) -> bool:
        return self._any is not None and self._any.search(text) is not None

    def mask(self, text: str) -> str:
        """Text without surrogates, in which every value is replaced by its mark."""
        if not self.holds(text):
            return text
        for value in self._values:
            if spans := list(self._spans(value, text)):
                text = _replaced(text, spans, mark(value.name))
        return text

    def _spans(self, value: Value, text: str) -> Iterator[tuple[int, int]]:
        marked = [one.span() for one in self._marks.finditer(text)]
        at = 0
        for found in value.heads.finditer(text):
            if found.end() <= at:
                continue
            # A false beginning may hide the true one that starts inside it.
            for start in range(max(found.start(), at), found.end()):
                first, last = self._standing(value, text, start, marked)
                if last:
                    yield max(first, at), last
                    at = last
                    break

    def _standing(
        self, value: Value, text: str, start: int, marked: list[tuple[int, int]]
    ) -> tuple[int, int]:
        if any(first <= start < last for first, last in marked):
            return 0, 0
        first, last = max((_extent(one, text, start) for one in value.forms), key=lambda one: one[1])
        whole = len(value.text) >= _SHORT or _is_word(text, first, last)
        return (first, last) if last and whole else (0, 0)


def _value(name: str, text: str) -> Value:
    forms = list(_forms(text))
    return Value(name, text, forms, compiled(_heads(forms), groups=False))


def _forms(text: str) -> Iterator[Form]:
    yield Form([_spelled(one) for one in text])
    if len(text) < _SHORT:
        return
    data = text.encode()
    for shift in range(3):  # where in a longer text it begins, counted in threes of bytes
        coded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        edge = (0, 2, 3)[shift]  # characters that also hold bits of what stands before
        rest = (shift + len(data)) % 3  # the last character also holds bits of what follows
        core = coded[edge : len(coded) - (1 if rest else 0)]
        yield Form([_coded(one) for one in core], edge, encoded=True)
    yield Form([f"[{one}{one.upper()}]" if one.isalpha() else one for one in data.hex()])


def _heads(forms: list[Form]) -> str:
    return "|".join(_BREAK.join(one.characters[:_HEAD]) for one in forms)


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
    if character == " ":
        ways += [r"\+", "\u00a0", "&nbsp;"]
    if character == "'":
        ways.append(r"\\{1,4}'")
    # The longest first: after a backslash that stands alone nothing else would fit.
    return f"(?:{'|'.join(reversed(ways))})"


def _coded(character: str) -> str:
    if character == "+":
        return r"(?:[+\-]|%2[Bb]|\\{1,4}u002[Bb])"
    if character == "/":
        return r"(?:\\{1,4}/|[/_]|%2[Ff])"
    return character


def _extent(form: Form, text: str, start: int) -> tuple[int, int]:
    """From where to where the value stands in this form, if its beginning is at `start`; (0, 0) if it does not."""
    at = start
    for count, character in enumerate(form.characters):
        found = _one(character).match(text, at)
        if not found and (gap := _BREAK_IN_TEXT.match(text, at)):
            found = _one(character).match(text, gap.end())
        if not found:
            is_cut = at == len(text) or text.startswith(_CUT, at)
            enough = count >= (_HEAD if is_cut else _CERTAIN)
            return (start, at) if enough else (0, 0)
        at = found.end()
    if form.encoded:
        before = text[max(start - form.edge, 0) : start]
        start -= len(before) if before.isalnum() else 0
        more = _BASE64_MORE.match(text, at)
        at = more.end() if more else at
    return start, at


@lru_cache(4096)
def _one(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


def _is_word(text: str, first: int, last: int) -> bool:
    return not (_WORD.match(text[max(first - 1, 0) : first]) or _WORD.match(text[last : last + 1]))


def _replaced(text: str, spans: list[tuple[int, int]], by: str) -> str:
    made, at = "", 0
    for first, last in spans:
        made += text[at:first] + by
        at = last
    return made + text[at:]


known = Known()
