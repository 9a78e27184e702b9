"""What a tool gives back: a short text for the model, data for programs, pictures for both.

Above: tools build it, the gate cleans and completes it, doors print it. Below: nothing.
"""

import re
from typing import Any, Generic, TypeVar

import msgspec

D = TypeVar("D")

# What a page can use to show one thing to a person and another to a model: bidi controls, zero-width characters and
# fillers, joiners, variation selectors (each can carry a hidden byte), Unicode tags, interlinear and musical marks,
# noncharacters, and control characters.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\U00013430-\U00013455\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# One that asks for the coloured picture may follow a symbol; after letters, or in rows, it means nothing to a person.
_SELECTOR = re.compile("(?<![\u2000-\u3300\U0001f000-\U0001faff])\ufe0f+|(?<=\ufe0f)\ufe0f+")
# Terminal sequences: CSI, strings (OSC, DCS, APC, PM, SOS) up to their end or the line's, and short ones.
_ANSI = re.compile(
    "\u001b\\[[0-?]*[ -/]*[@-~]"
    "|\u001b[\\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\\\)?"
    "|\u001b(?:[ -/]+[0-~]|[78=>DEHMNOZ])"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
QUOTED_CHARS = 200


def clean(text: str) -> str:
    """The text without anything that a reader cannot see; lone surrogates become U+FFFD."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n")
    if "\u001b" in text:
        text = _ANSI.sub("", text)
    text = _INVISIBLE.sub("", text)
    if text.isascii():
        return text
    if "\ufe0f" in text:
        text = _SELECTOR.sub("", text)
    return _SURROGATE.sub("\ufffd", text)


def quoted(text: str, limit: int = QUOTED_CHARS) -> str:
    """Text of a page within a line of ours: one line, cut, and no quotation mark in it that could end it."""
    line = " ".join(clean(text[: limit * 4]).split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


def plain_url(url: str, limit: int = 2000) -> str:
    """An address within a line of ours: some may hold blanks and quotation marks."""
    line = "%20".join(clean(url[: limit + 1]).split()).replace('"', "%22")
    return line if len(line) <= limit else line[:limit] + "…"


def clean_tree(value: Any) -> Any:
    """`clean` for every string of plain data, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_tree(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {clean_tree(key): clean_tree(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


class Image(msgspec.Struct, frozen=True):
    data: bytes
    mime_type: str


class Result(msgspec.Struct, Generic[D]):
    """`text` is ours; `page` is untrusted text of a page (a snapshot, console lines, a value), printed after it."""

    text: str
    data: D
    page: str = ""
    images: list[Image] = []

    def to_text(self) -> str:
        return f"{self.text}\n{self.page}".strip("\n") if self.page else self.text


def counted(count: int, noun: str) -> str:
    """`1 tab`, `2 tabs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
