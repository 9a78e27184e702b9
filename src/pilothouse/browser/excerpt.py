"""What a line of a snapshot leaves out, long texts and options of long lists: searched whole, told as an excerpt.

Above: search, snapshot. Below: nothing. The walker (world/lines.js) puts it between control characters, which no text
of a page holds: 2, what is shown, then 3 and all of a text or 4 before each option, 5 where some was not sent, 2.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

BESIDE_CHARS = 120  # on either side of what was found
MOST_CHARS = 400
MOST_OPTIONS = 10
_MARK = "\u0002"
_REST = re.compile("[\u0003\u0004]")

Find = Callable[[str], tuple[int, int] | None]
"""From where to where something stands in a text."""


class Piece(msgspec.Struct, frozen=True):
    """A part of a line that is shown cut."""

    shown: str
    texts: tuple[str, ...]
    is_list: bool

    def told(self, find: Find) -> str:
        """Cut as it is shown, or around what is found in it."""
        if self.is_list:
            names = list(_around_options(self.texts, find))
            return f" options({' | '.join(names)})" if names else self.shown
        place = None if find(self.shown) else find(self.texts[0])
        return _around(self.texts[0], *place) if place else self.shown


class Long(msgspec.Struct, frozen=True):
    """A line with such parts in it. `bare` is what stands around them."""

    parts: tuple[str | Piece, ...]
    bare: str
    text: str
    texts: tuple[str, ...]
    options: tuple[str, ...]
    is_all: bool

    @property
    def shown(self) -> str:
        return "".join(one.shown if isinstance(one, Piece) else one for one in self.parts)

    def told(self, find: Find) -> str:
        return "".join(one.told(find) if isinstance(one, Piece) else one for one in self.parts)


def is_long(line: str) -> bool:
    return _MARK in line


def read(line: str, mask: Callable[[str], str]) -> Long:
    """Each text is masked whole: of a secret that is cut nobody could tell that it is one."""
    between = line.split(_MARK)
    parts = [_piece(one, mask) if number % 2 else mask(one) for number, one in enumerate(between)]
    pieces = [one for one in parts if isinstance(one, Piece)]
    return Long(
        tuple(parts),
        "".join(one for one in parts if isinstance(one, str)),
        "".join(one if isinstance(one, str) else _whole(one) for one in parts),
        tuple(text for one in pieces for text in one.texts),
        tuple(text for one in pieces if one.is_list for text in one.texts),
        "\u0005" not in line,
    )


def _piece(marked: str, mask: Callable[[str], str]) -> Piece:
    shown, *texts = _REST.split(marked.replace("\u0005", ""))
    return Piece(mask(shown), tuple(mask(text) for text in texts) or ("",), "\u0004" in marked)


def _whole(piece: Piece) -> str:
    return f" options({' | '.join(piece.texts)})" if piece.is_list else f'"{piece.texts[0]}"'


def _around(text: str, start: int, end: int) -> str:
    begin = max(0, start - BESIDE_CHARS)
    until = min(len(text), end + BESIDE_CHARS, begin + MOST_CHARS)
    return _quoted(f"{'…' if begin else ''}{text[begin:until].strip()}{'…' if until < len(text) else ''}")


def _quoted(text: str) -> str:
    """As the walker does it: a backslash is doubled only where it could be taken for a sign's."""
    if '"' in text or text.endswith("\\"):
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _around_options(names: tuple[str, ...], find: Find) -> Iterator[str]:
    """Those in which it is found; … for what stands before, between and after them."""
    found = [at for at, name in enumerate(names) if find(name)][:MOST_OPTIONS]
    last = -1
    for at in found:
        if at > last + 1:
            yield "…"
        yield names[at]
        last = at
    if found and last + 1 < len(names):
        yield "…"
