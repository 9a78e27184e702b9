"""What a field holds after it was filled, where that is not what was asked for: in the same words for every kind.

Above: fill, typist. Below: result. `now` is what the page tells of the field once it has settled (`ph.value`).
"""

from collections.abc import Iterable
from typing import Any

from pilothouse.result import quoted

Told = dict[str, Any]


def of_text(now: Told, value: str, *, clear: bool) -> str:
    """Pages format, cut or refuse what is typed."""
    if now.get("gone"):
        return ""
    if now.get("secret"):
        same = now["length"] == len(value) or not clear
        return "" if same else _characters(now)
    held, typed = (" ".join(one.split()) for one in (str(now["value"]), value))
    same = held == typed if clear else held.endswith(typed)
    return "" if same else _now(quoted(held, 80))


def of_secret(now: Told, length: int) -> str:
    return "" if now.get("length", length) == length else _characters(now)


def of_value(now: Told, *fit: str) -> str:
    """Of a date or the like, that was put: one of those that `fit`."""
    if now.get("secret"):
        return of_secret(now, len(fit[-1]))
    return "" if now.get("gone") or now["value"] in fit else _now(quoted(now["value"], 80))


def of_check(now: Told, *, checked: bool) -> str:
    if now.get("gone") or now.get("value") not in ("true", "false", "mixed"):
        return ""
    return "" if now["value"] == str(checked).lower() else _now(now["value"])


def of_choice(now: Told, wanted: Iterable[str], before: Iterable[str]) -> str:
    """Of a select, by the values of its options."""
    held = sorted(now.get("picked", wanted))
    if held == sorted(wanted):
        return ""
    told = _now(quoted(now["value"], 80))
    return f"the page put it back: {told}" if held == sorted(before) else told


def of_list(marked: list[str], wanted: list[str]) -> str:
    """Of one that the page has drawn, by what its options say of themselves: some say in words, too, that they are
    chosen."""
    fits = all(any(one in mark for mark in marked) for one in wanted)
    return "" if fits else _now(quoted(", ".join(marked), 80))


def _now(held: str) -> str:
    return f"the field now holds {held}"


def _characters(now: Told) -> str:
    return f"the field holds {now['length']} characters now"
