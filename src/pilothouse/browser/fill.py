"""Put values into fields of every kind, the way frameworks notice.

Above: tools. Below: lists, holding, likeness, keying, input, locate, settle.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from pilothouse.browser import confide, holding, keys, lists
from pilothouse.browser import input as hand
from pilothouse.browser.keying import key_by_key
from pilothouse.browser.likeness import likeliest
from pilothouse.browser.locate import Element
from pilothouse.browser.settle import Ahead, Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import quoted

_TRUE = {"true", "on", "yes", "1", "checked"}
_FALSE = {"false", "off", "no", "0", "", "unchecked"}
_EXAMPLES = {
    "number": "12.5",
    "range": "35",
    "date": "2026-01-31",
    "time": "13:45",
    "datetime-local": "2026-01-31T13:45",
    "month": "2026-01",
    "week": "2026-W05",
    "color": "#aabbcc",
}
LONGEST_NUMBER = 1000
_GONE = {"gone": True}
_Tells = Callable[[dict[str, Any]], str]  # by what a field holds: that it is another thing
_TUCKED = "the select itself is hidden, and what the page shows in its place may not have followed: look at the page"


class Filled(msgspec.Struct, frozen=True):
    role: str
    name: str
    note: str = ""
    hint: str = ""  # of what has no name
    chosen: str = ""  # of a list, where nothing was typed
    holds: bool = True  # what was chosen; a page may put it back


async def fill(tab: Tab, element: Element, value: str, *, clear: bool = True) -> Filled:
    """Type, choose, check or set, as the field wants it; a value that names a secret is that secret."""
    if name := confide.named(tab, value):
        return await _confide(tab, element, name, clear)
    field = await _entered(element, value, clear, guards=tab.frames.alone and all(keys.parted(value)))
    if field.get("fail") == "not_editable" and (drawn := await _from_list(tab, element, [value], menus=False)):
        filled, chosen = drawn
        return msgspec.structs.replace(filled, chosen=chosen[0])
    hand.raise_if_unfit(element, field)
    mark = Mark(tab, element.frame)
    notes = [hand.note_of(element, field)]
    ahead: Ahead | None = None
    told: _Tells | None = None
    match field["kind"]:
        case "text" if field.get("guarded"):
            ahead = await hand.asked_first(element.frame, "keyup", field["ref"])
            await hand.write(tab, *keys.parted(value))
        case "text" if _is_one_of_a_row(field, value):
            notes.append(await _type_in_a_row(tab, element, value, clear))
        case "text":
            notes.append(await _type(tab, element, field, value, clear))
        case "keys":
            await key_by_key(tab, value, spaces_press=True)
            notes.append("it is no text field: the keys were pressed one by one")
        case "select":
            _, note, told = await _choose(element, field["ref"], [value])
            notes.append(note)
        case "check":
            told = await _check(tab, element, field, value)
        case "set":
            told = await _put(element, field["ref"], value)
        case _:
            raise Failure("bad_request", f"{element.ref} takes a file", suggestions=["use upload_file"])
    await settle(tab, mark, ahead=ahead, reads=(element.world, field["ref"]))
    if field["kind"] == "text" and not tab.hindrance():
        now = mark.field or await hand.told_after(element.world, "typed", field["ref"], otherwise=_GONE)
        if mark.kept or now.get("kept"):  # the page had moved the focus on
            notes.append(await _end(tab, element, field, keys.parted(value)[1]))
            await settle(tab, mark)
            now = await hand.told_after(element.world, "value", field["ref"], otherwise=_GONE)
        notes.append(holding.of_text(now, value[:1] if _is_one_of_a_row(field, value) else value, clear=clear))
    elif told:
        notes.append(_told(tab, mark, told))
    elif field.get("guarded") and mark.field is None and tab.dialog:
        notes.append("the dialog came before its last character, which may not have been typed")
    return Filled(field["role"], field["name"], "; ".join(note for note in notes if note), field["hint"])


def _told(tab: Tab, mark: Mark, tells: _Tells) -> str:
    """What the field holds after all, if that is another thing and it could say so."""
    return "" if mark.field is None or tab.hindrance() else tells(mark.field)


async def _confide(tab: Tab, element: Element, name: str, clear: bool) -> Filled:
    field = await confide.receiver(element)
    mark = Mark(tab, element.frame)
    note, length = await confide.confide(tab, element, field, name, clear=clear)
    await settle(tab, mark, reads=(element.world, field["ref"]))
    note = _told(tab, mark, partial(holding.of_secret, length=length)) or note
    note = "; ".join(one for one in (hand.note_of(element, field), note) if one)
    return Filled(field["role"], field["name"], note, field["hint"])


async def enter(element: Element, value: str, clear: bool) -> dict[str, Any]:
    """The field behind an element, focused; a value that it cannot take is refused while it still has its old one."""
    field = await _entered(element, value, clear)
    hand.raise_if_unfit(element, field)
    return field


async def _entered(element: Element, value: str, clear: bool, *, guards: bool = False) -> dict[str, Any]:
    options = {"clear": clear, "value": value[:LONGEST_NUMBER], "seal": element.seal, "keys": element.focused}
    options["guards"] = guards
    field = await element.world.call("enter", element.local, options, timeout=hand.CHECK_TIMEOUT_S)
    if field.get("fail") == "refused":
        raise _refused(element, field["type"], value)
    return field


async def choose(tab: Tab, element: Element, values: list[str]) -> tuple[Filled, list[str]]:
    """Options of a select, or of a list that the page has drawn itself."""
    field = await element.world.call("enter", element.local, {"seal": element.seal}, timeout=hand.CHECK_TIMEOUT_S)
    values = await confide.choices(tab, element, values)
    if field.get("listed") and not field.get("fail"):
        return await _choose_listed(tab, element, field, values)
    if field.get("fail") == "not_editable" or (field.get("kind") == "text" and not field.get("fail")):
        if drawn := await _from_list(tab, element, values):
            return drawn
        raise _no_select(element)
    hand.raise_if_unfit(element, field)
    mark = Mark(tab, element.frame)
    chosen, note, told = await _choose(element, field["ref"], values)
    await settle(tab, mark, reads=(element.world, field["ref"]))
    return _chosen(element, field, note, _told(tab, mark, told)), chosen


async def _choose_listed(
    tab: Tab, element: Element, field: dict[str, Any], values: list[str]
) -> tuple[Filled, list[str]]:
    """One of those that a field suggests (a datalist): it takes others, too, but those are typed."""
    if len(values) != 1:
        raise _single(element, values)
    mark = Mark(tab, element.frame)
    answer = await element.world.call("chooseListed", field["ref"], values[0])
    match answer.get("fail"):
        case None:
            chosen: str = answer["chosen"]
        case "no_option":
            raise _not_listed(element, answer)
        case "option_disabled":
            raise lists.disabled(answer["wanted"])
        case _:
            raise _refused(element, answer["type"], values[0])
    await settle(tab, mark, reads=(element.world, field["ref"]))
    return _chosen(element, field, "", _told(tab, mark, _put_value(answer, chosen))), [chosen]


def _chosen(element: Element, field: dict[str, Any], note: str, held: str) -> Filled:
    note = "; ".join(one for one in (hand.note_of(element, field), note, held) if one)
    return Filled(field["role"], field["name"], note, field["hint"], holds=not held)


async def _from_list(
    tab: Tab, element: Element, values: list[str], *, menus: bool = True
) -> tuple[Filled, list[str]] | None:
    """None if it does not say that it opens a list; without `menus`, one that has a value."""
    keeper, told = await lists.keeper(element)
    if not told["opens"] or not (menus or told["holds"]):
        return None
    chosen = await lists.choose(tab, keeper, told, values)
    held = "" if tab.hindrance() else await _held_by_list(keeper, told, chosen)
    notes = [hand.note_of(element, told), held]
    note = "; ".join(note for note in notes if note)
    return Filled(told["role"], told["name"], note, told["hint"], holds=not held), chosen


async def _held_by_list(keeper: Element, told: dict[str, Any], chosen: list[str]) -> str:
    if told["role"] == "combobox" and len(chosen) == 1:
        now = await hand.told_after(keeper.world, "value", keeper.local, otherwise={})
        held = str(now.get("value", ""))
        return "" if now.get("gone") or chosen[0] in held else f"it shows {quoted(held, 80)} now"
    marked = await lists.marked(keeper) if told["role"] == "listbox" else None
    return "" if marked is None else holding.of_list(marked, chosen)


def _is_one_of_a_row(field: dict[str, Any], value: str) -> bool:
    """A code has a field for each digit, and the page moves the focus on with each key."""
    return field.get("longest") == 1 < len(value)


async def _type_in_a_row(tab: Tab, element: Element, value: str, clear: bool) -> str:
    """Whichever field the page moves on to, what it holds is replaced; what was typed is not."""

    async def take_over(done: int) -> bool:
        return bool(await hand.told_after(element.world, "takeOver", done, clear, otherwise=True))

    typed = await key_by_key(tab, value, before=take_over)
    count = "it takes one character: the keys were pressed one by one"
    return count if typed == len(value) else f"{count}; after {typed} of {len(value)} the page did not move on"


async def _type(tab: Tab, element: Element, field: dict[str, Any], value: str, clear: bool) -> str:
    """At once, and the last character as a key: pages that only listen to keys hear of it."""
    if not value:
        if clear:
            await hand.stroke(tab, keys.strokes("Delete"))
        return ""
    # No last key where there is no room for it, or in a part of an editor, whose end is not where the text's is.
    if field.get("isPart") or len(value) > field.get("longest", len(value)):
        await hand.write(tab, value)
        return ""
    text, key = keys.parted(value)
    if not text:
        await hand.write(tab, "", key)
        return ""
    await hand.write(tab, text)
    return await _end(tab, element, field, key) if key or "\n" in text else ""


async def _end(tab: Tab, element: Element, field: dict[str, Any], key: str) -> str:
    now = await hand.told_after(element.world, "goOn", field["ref"], otherwise="gone")
    if key and now == "gone":
        return "the last character was not typed: the page took the field away, or a dialog came before it"
    await hand.write(tab, *(("", key) if now == "" else (key, "")))
    return ""


async def _choose(element: Element, local: int, values: list[str]) -> tuple[list[str], str, _Tells]:
    answer = await element.world.call("choose", local, values)
    match answer.get("fail"):
        case None:
            told = partial(holding.of_choice, wanted=answer["values"], before=answer["was"])
            return answer["names"], _TUCKED if answer["tucked"] else "", told
        case "no_option":
            raise _no_option(element, answer)
        case "option_disabled":
            raise lists.disabled(answer["wanted"])
        case "single":
            raise _single(element, values)
        case _:
            raise _no_select(element)


def _no_option(element: Element, answer: dict[str, Any]) -> Failure:
    wanted, names = answer["wanted"], answer["options"]
    steps = [
        "it may be filled later, or by a field before it: get_page_state, or open it (click) and choose what it shows"
    ]
    if names:
        steps = ["give one as it is called, or by its value; find tells by a part of its name whether there is one"]
    details = {"options": names[: lists.MOST_TOLD], "candidates": likeliest(wanted, names)}
    none = "" if names else ": it has none at all"
    return Failure("not_found", f"{element.ref} has no option {wanted!r}{none}", details=details, suggestions=steps)


def _single(element: Element, values: list[str]) -> Failure:
    return Failure(
        "bad_request",
        f"{element.ref} takes one value, and {len(values)} were given: nothing was changed",
        suggestions=['give one: values=["…"]; an empty choice, where there is one, is an option like others'],
    )


def _not_listed(element: Element, answer: dict[str, Any]) -> Failure:
    names = answer["options"]
    return Failure(
        "not_found",
        f"{element.ref} does not suggest {answer['wanted']!r}: the field is as it was",
        details={"options": names[: lists.MOST_TOLD], "candidates": likeliest(answer["wanted"], names)},
        suggestions=["choose one that it suggests", "type_text writes any other value, and may make it suggest more"],
    )


def _no_select(element: Element) -> Failure:
    """Also of a list that does not say that it is one."""
    steps = ["click it, look at what opens, and click the option"]
    return Failure("bad_request", f"{element.ref} is no <select>", suggestions=steps)


async def _check(tab: Tab, element: Element, field: dict[str, Any], value: str) -> _Tells:
    word = value.strip().lower()
    if word not in _TRUE | _FALSE:
        raise Failure("bad_request", f"{element.ref} is a {field['role']}: its value is true or false")
    checked = word in _TRUE
    if field["checked"] != checked:
        if field["once"] and not checked:
            raise _once(element)
        await hand.toggle(tab, Element(element.frame, element.world, field["ref"], element.ref))
    return partial(holding.of_check, checked=checked)


def _once(element: Element) -> Failure:
    return Failure(
        "bad_request",
        f"{element.ref} is a radio that is chosen, and no press takes that back",
        suggestions=["choose another one of its group: that one gets true"],
    )


async def _put(element: Element, local: int, value: str) -> _Tells:
    answer = await element.world.call("put", local, value)
    if answer.get("fail"):
        raise _refused(element, answer["type"], value)
    return _put_value(answer, value)


def _put_value(answer: dict[str, Any], value: str) -> _Tells:
    """What it made of the value at once is right, if it means the same."""
    fit = (answer["value"], value) if answer["same"] else (value,)
    return lambda now: holding.of_value(now, *fit)


def _refused(element: Element, kind: str, value: str) -> Failure:
    return Failure(
        "bad_request",
        f"{element.ref} is a field of type {kind} and does not take {value[:60]!r}",
        details={"type": kind},
        suggestions=[f"a value of it reads {_EXAMPLES.get(kind, 'otherwise')}; the field is as it was"],
    )
