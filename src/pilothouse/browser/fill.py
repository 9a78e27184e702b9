"""Put values into fields of every kind, the way frameworks notice.

Above: tools. Below: input, locate, settle.
"""

from typing import Any

import msgspec

from pilothouse.browser import input as hand
from pilothouse.browser.locate import Element
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.errors import Failure

_TRUE = {"true", "on", "yes", "1", "checked"}
_FALSE = {"false", "off", "no", "0", "", "unchecked"}


class Filled(msgspec.Struct, frozen=True):
    role: str
    name: str
    note: str = ""


async def fill(tab: Tab, element: Element, value: str, *, clear: bool = True) -> Filled:
    """Type, choose, check or set, as the field wants it."""
    field = await element.world.call("enter", element.local, {"clear": clear}, timeout=hand.CHECK_TIMEOUT_S)
    hand.raise_if_unfit(element, field)
    mark = Mark(tab, element.frame)
    notes = [hand.note_of(element, field)]
    match field["kind"]:
        case "text":
            await _type(tab, value, clear)
        case "select":
            await _choose(element, field["ref"], [value])
        case "check":
            await _check(tab, element, field, value)
        case "set":
            await _put(element, field["ref"], value)
        case _:
            raise Failure("bad_request", f"{element.ref} takes a file", suggestions=["use upload_file"])
    await settle(tab, mark)
    if field["kind"] == "text" and not tab.hindrance():
        notes.append(await _difference(element, field["ref"], value, clear))
    return Filled(field["role"], field["name"], "; ".join(note for note in notes if note))


async def choose(tab: Tab, element: Element, values: list[str]) -> tuple[Filled, list[str]]:
    field = await element.world.call("enter", element.local, timeout=hand.CHECK_TIMEOUT_S)
    hand.raise_if_unfit(element, field)
    mark = Mark(tab, element.frame)
    chosen = await _choose(element, field["ref"], values)
    await settle(tab, mark)
    return Filled(field["role"], field["name"], hand.note_of(element, field)), chosen


async def _type(tab: Tab, value: str, clear: bool) -> None:
    if value:
        await hand.insert_text(tab, value)
    elif clear:
        await hand.press_key(tab, "Delete")


async def _choose(element: Element, local: int, values: list[str]) -> list[str]:
    answer = await element.world.call("choose", local, values)
    match answer.get("fail"):
        case None:
            return answer["values"]
        case "no_option":
            raise Failure(
                "not_found",
                f"{element.ref} has no option {answer['wanted']!r}",
                details={"options": answer["options"], "candidates": answer["options"][:20]},
            )
        case "option_disabled":
            raise Failure("not_actionable", f"the option {answer['wanted']!r} is disabled")
        case "single":
            raise Failure("bad_request", f"{element.ref} takes one value only")
        case _:
            raise Failure(
                "bad_request",
                f"{element.ref} is no <select>",
                suggestions=["click it, look at what opens, and click the option"],
            )


async def _check(tab: Tab, element: Element, field: dict[str, Any], value: str) -> None:
    word = value.strip().lower()
    if word not in _TRUE | _FALSE:
        raise Failure("bad_request", f"{element.ref} is a {field['role']}: its value is true or false")
    if field["checked"] != (word in _TRUE):
        where = await hand.aim(tab, Element(element.frame, element.world, field["ref"], element.ref))
        await hand.press(tab, where, button="left", count=1, modifiers=())


async def _put(element: Element, local: int, value: str) -> None:
    answer = await element.world.call("put", local, value)
    if answer.get("fail"):
        raise Failure(
            "bad_request",
            f"{element.ref} is a field of type {answer['type']} and does not take {value[:60]!r}",
            suggestions=["dates read 2026-01-31, times 13:45, months 2026-01, weeks 2026-W05, colours #aabbcc"],
        )


async def _difference(element: Element, local: int, value: str, clear: bool) -> str:
    """Pages format, cut or refuse what is typed: say so when the field holds something else now."""
    try:
        now = await element.world.call("value", local)
    except WorldGone:
        return ""
    if now.get("gone") or not clear:
        return ""
    if now.get("secret"):
        return "" if now["length"] == len(value) else f"the field holds {now['length']} characters now"
    held = str(now["value"])
    same = held == value or " ".join(held.split()) == " ".join(value.split())
    return "" if same else f'the field now holds "{held[:80]}"'
