"""What a tool gives back: a short text for the model, data for programs, pictures for both.

Above: tools build it, the gate cleans and completes it, doors print it. Below: nothing.
"""

import re
from typing import Any, Generic, TypeVar

import msgspec

D = TypeVar("D")

# What a page can use to show one thing to a person and another to a model: bidi controls, zero-width characters,
# variation selectors of the supplement, Unicode tags, and control characters (ANSI escapes among them).
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_ANSI = re.compile("\u001b\\[[0-9;?]*[ -/]*[@-~]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without anything that a reader cannot see; lone surrogates become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _ANSI.sub("", text)))


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
