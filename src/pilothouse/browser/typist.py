"""Typing key by key, at the pace of a person, for pages that listen to every key.

Above: tools. Below: keying, fill, input.
"""

from pilothouse.browser import confide, fill, holding, keys
from pilothouse.browser import input as hand
from pilothouse.browser.keying import key_by_key
from pilothouse.browser.locate import Element
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure


async def type_slowly(tab: Tab, element: Element, text: str, *, delay_s: float, clear: bool) -> fill.Filled:
    confide.refuse(tab, text)
    if "\t" in text:
        raise Failure("bad_request", "a tab would leave the field", suggestions=["press_key Tab, or use type_text"])
    field = await fill.enter(element, text, clear)
    if field["kind"] != "text":
        raise Failure("bad_request", f"{element.ref} is no text field", suggestions=["type_text fills every kind"])
    mark = Mark(tab, element.frame)
    if clear:
        await hand.stroke(tab, keys.strokes("Delete"))
    await key_by_key(tab, text, delay_s=delay_s)
    await settle(tab, mark)
    note = hand.note_of(element, field)
    if not tab.hindrance():
        note = "; ".join(one for one in (note, await _held(element, field["ref"], text, clear)) if one)
    return fill.Filled(field["role"], field["name"], note, field["hint"])


async def _held(element: Element, local: int, text: str, clear: bool) -> str:
    now = await hand.told_after(element.world, "value", local, otherwise={"gone": True})
    return holding.of_text(now, text, clear=clear)
