"""A person's own hand in a tab: what they press, type and scroll in its picture, passed on as it is.

Above: wheel. Below: tab, cdp. Nothing is waited for: the picture shows what came of it, and the order is theirs.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser.tab import Tab

TAKEN_S = 10.0
_KINDS = {"down": "mousePressed", "up": "mouseReleased", "move": "mouseMoved", "wheel": "mouseWheel"}

Place = Annotated[float, Meta(ge=-10_000, le=100_000)]
Word = Annotated[str, Meta(max_length=40)]
Mask = Annotated[int, Meta(ge=0, le=15)]


class Mouse(msgspec.Struct, frozen=True, tag="mouse", tag_field="by", forbid_unknown_fields=True):
    """Places are in pixels of the page's window."""

    kind: Literal["down", "up", "move", "wheel"]
    x: Place
    y: Place
    button: Literal["none", "left", "middle", "right"] = "none"
    buttons: Annotated[int, Meta(ge=0, le=31)] = 0
    count: Annotated[int, Meta(ge=0, le=3)] = 0
    dx: Place = 0
    dy: Place = 0
    modifiers: Mask = 0


class Key(msgspec.Struct, frozen=True, tag="key", tag_field="by", forbid_unknown_fields=True):
    kind: Literal["down", "up"]
    key: Word
    code: Word = ""
    number: Annotated[int, Meta(ge=0, le=65_535)] = 0  # as the browser numbers it (keyCode)
    modifiers: Mask = 0
    repeat: bool = False


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="by", forbid_unknown_fields=True):
    """Pasted, or composed."""

    text: Annotated[str, Meta(max_length=100_000)]


Gesture = Mouse | Key | Text


def move(tab: Tab, gesture: Gesture) -> None:
    if isinstance(gesture, Mouse):
        _mouse(tab, gesture)
    elif isinstance(gesture, Key):
        _key(tab, gesture)
    else:
        tab.channel.post("Input.insertText", timeout=TAKEN_S, text=gesture.text)


def _mouse(tab: Tab, one: Mouse) -> None:
    options: dict[str, Any] = {"type": _KINDS[one.kind], "x": one.x, "y": one.y, "modifiers": one.modifiers}
    if one.kind == "wheel":
        options |= {"deltaX": one.dx, "deltaY": one.dy}
    else:
        options |= {"button": one.button, "buttons": one.buttons, "clickCount": one.count}
    tab.channel.post("Input.dispatchMouseEvent", timeout=TAKEN_S, **options)


def _key(tab: Tab, one: Key) -> None:
    text = _text_of(one) if one.kind == "down" else ""
    options: dict[str, Any] = {"text": text} if text else {}
    options |= {
        "type": "keyUp" if one.kind == "up" else "keyDown" if text else "rawKeyDown",
        "key": one.key,
        "code": one.code,
        "windowsVirtualKeyCode": one.number,
        "modifiers": one.modifiers,
        "autoRepeat": one.repeat,
    }
    tab.channel.post("Input.dispatchKeyEvent", timeout=TAKEN_S, **options)


def _text_of(one: Key) -> str:
    """What a key writes; with Control, Alt or Meta it is a shortcut."""
    if one.modifiers & 0b0111:
        return ""
    return "\r" if one.key == "Enter" else one.key if len(one.key) == 1 else ""
