"""Names of keys, and the events that a keyboard sends for them.

Above: input, aiming (which asks what a key means before it is pressed). Below: errors.
"""

import unicodedata
from typing import Any, NamedTuple

from pilothouse.errors import Failure


class Key(NamedTuple):
    key: str
    code: str
    number: int
    text: str = ""
    location: int = 0


_NAMED = {
    "Enter": Key("Enter", "Enter", 13, "\r"),
    "Tab": Key("Tab", "Tab", 9),
    "Backspace": Key("Backspace", "Backspace", 8),
    "Delete": Key("Delete", "Delete", 46),
    "Escape": Key("Escape", "Escape", 27),
    "Space": Key(" ", "Space", 32, " "),
    "ArrowUp": Key("ArrowUp", "ArrowUp", 38),
    "ArrowDown": Key("ArrowDown", "ArrowDown", 40),
    "ArrowLeft": Key("ArrowLeft", "ArrowLeft", 37),
    "ArrowRight": Key("ArrowRight", "ArrowRight", 39),
    "Home": Key("Home", "Home", 36),
    "End": Key("End", "End", 35),
    "PageUp": Key("PageUp", "PageUp", 33),
    "PageDown": Key("PageDown", "PageDown", 34),
    "Insert": Key("Insert", "Insert", 45),
    "ContextMenu": Key("ContextMenu", "ContextMenu", 93),
    "Control": Key("Control", "ControlLeft", 17, location=1),
    "Shift": Key("Shift", "ShiftLeft", 16, location=1),
    "Alt": Key("Alt", "AltLeft", 18, location=1),
    "Meta": Key("Meta", "MetaLeft", 91, location=1),
    **{f"F{n}": Key(f"F{n}", f"F{n}", 111 + n) for n in range(1, 13)},
}
_OTHER_NAMES = {
    "ctrl": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "win": "Meta",
    "option": "Alt",
    "esc": "Escape",
    "return": "Enter",
    "del": "Delete",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "spacebar": "Space",
} | {name.lower(): name for name in _NAMED}
_CHARACTERS = {"\r": "Enter", "\n": "Enter", "\t": "Tab", " ": "Space"}
_PRESSING = ("Enter", "Space")
_BITS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
# Keys of a US keyboard by what they give without and with Shift.
_SIGNS = {
    "`~": ("Backquote", 192), "-_": ("Minus", 189), "=+": ("Equal", 187), "[{": ("BracketLeft", 219),
    "]}": ("BracketRight", 221), "\\|": ("Backslash", 220), ";:": ("Semicolon", 186), "'\"": ("Quote", 222),
    ",<": ("Comma", 188), ".>": ("Period", 190), "/?": ("Slash", 191),
}  # fmt: skip
_DIGITS = ")!@#$%^&*("


def named(combination: str) -> str:
    """The one spelling: `ctrl+RETURN` is `Control+Enter`. `bad_request` if there is no such key."""
    *modifiers, last = _split(combination)
    return "+".join([*(_modifier(name, combination) for name in modifiers), _last(last, combination)])


def presses(combination: str) -> bool:
    """Whether it sets off what has the focus, or the form around it."""
    return _split(named(combination))[-1] in _PRESSING


def enters(text: str) -> bool:
    """Whether Enter is among the keys that type it."""
    return "\n" in text or "\r" in text


def writes(character: str) -> bool:
    """Whether one key writes it and does nothing else; a space would press a button that has got the focus meanwhile.

    Signs that join the one before them (accents, joiners) and those that no keyboard has (emoji) belong to it.
    """
    return character < "\U00010000" and unicodedata.category(character)[0] in "LNPS"


def parted(text: str) -> tuple[str, str]:
    """What is written at once, and the last character, which is a key: pages that only listen to keys hear of it."""
    return (text[:-1], text[-1]) if text and writes(text[-1]) else (text, "")


def strokes(combination: str) -> list[dict[str, Any]]:
    """The parameters of all key events for `Control+Shift+a`: modifiers down, the key, modifiers up."""
    *held, last = _split(named(combination))
    mask = sum(_BITS[name] for name in held)
    key = _NAMED.get(last) or _character(last) or Key(last, "", 0, last)
    events: list[dict[str, Any]] = []
    for index, name in enumerate(held):
        bits = sum(_BITS[one] for one in held[: index + 1])
        events.append(_event("rawKeyDown", _NAMED[name], bits))
    # With Control, Alt or Meta held, a key is a command and writes nothing.
    writes = key.text and not mask & 7
    events.append(_event("keyDown" if writes else "rawKeyDown", key, mask, key.text if writes else ""))
    events.append(_event("keyUp", key, mask))
    for index, name in reversed(list(enumerate(held))):
        events.append(_event("keyUp", _NAMED[name], sum(_BITS[one] for one in held[:index])))
    return events


def typed(character: str) -> list[dict[str, Any]]:
    """One character as a person would type it."""
    if character in _CHARACTERS:
        return strokes(character)
    key = _character(character) or Key(character, "", 0, character)
    shift = 8 if character != character.lower() or character in '~_+{}|:"<>?' + _DIGITS else 0
    return [_event("keyDown", key, shift, character), _event("keyUp", key, shift)]


def _split(combination: str) -> list[str]:
    """`Control++` is Control and the plus sign."""
    if combination.endswith("++"):
        return [*combination[:-2].split("+"), "+"]
    return combination.split("+") if combination != "+" else ["+"]


def _modifier(name: str, combination: str) -> str:
    known = _OTHER_NAMES.get(name.strip().lower(), "")
    if known not in _BITS:
        raise _unknown(name, combination)
    return known


def _last(name: str, combination: str) -> str:
    if len(name) == 1:
        return _CHARACTERS.get(name, name)
    if known := _OTHER_NAMES.get(name.strip().lower()):
        return known
    raise _unknown(name, combination)


def _character(sign: str) -> Key | None:
    if "a" <= sign.lower() <= "z":
        return Key(sign, f"Key{sign.upper()}", ord(sign.upper()), sign)
    if "0" <= sign <= "9":
        return Key(sign, f"Digit{sign}", ord(sign), sign)
    if sign in _DIGITS:
        digit = _DIGITS.index(sign)
        return Key(sign, f"Digit{digit}", 48 + digit, sign)
    for pair, (code, number) in _SIGNS.items():
        if sign in pair:
            return Key(sign, code, number, sign)
    return None


def _event(kind: str, key: Key, modifiers: int, text: str = "") -> dict[str, Any]:
    event: dict[str, Any] = {
        "type": kind,
        "key": key.key,
        "code": key.code,
        "windowsVirtualKeyCode": key.number,
        "modifiers": modifiers,
        "location": key.location,
    }
    return {**event, "text": text, "unmodifiedText": text} if text else event


def _unknown(name: str, combination: str) -> Failure:
    return Failure(
        "bad_request",
        f"{name[:40]!r} in {combination[:80]!r} is no key",
        suggestions=["keys read like Enter, Tab, Escape, ArrowDown, F5, a, Control+a, Shift+Tab"],
    )
