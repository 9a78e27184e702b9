"""Typing key by key, at the pace of a person, for pages that listen to every key.

Above: tools. Below: input, fill, keys. The two halves of a stroke travel together: nothing stays pressed.
"""

import asyncio
from collections.abc import Awaitable, Callable

from pilothouse.browser import confide, fill, keys
from pilothouse.browser import input as hand
from pilothouse.browser.locate import HELD, Element
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure

REPORT_S = 1.0

Report = Callable[[int], Awaitable[None]]


async def type_slowly(
    tab: Tab, element: Element, text: str, *, delay_s: float, clear: bool, report: Report
) -> fill.Filled:
    """`report` hears now and then how many keys are done."""
    confide.refuse(tab, text)
    field = await fill.enter(element, text, clear)
    if field["kind"] != "text":
        raise Failure("bad_request", f"{element.ref} is no text field", suggestions=["type_text fills every kind"])
    mark = Mark(tab, element.frame)
    if clear:
        await hand.stroke(tab, keys.strokes("Delete"))
    await _keys(tab, text, delay_s, report)
    await settle(tab, mark)
    note = hand.note_of(element, field)
    if not tab.hindrance():
        note = "; ".join(one for one in (note, await fill.difference(element, field["ref"], text, clear)) if one)
    return fill.Filled(field["role"], field["name"], note)


async def _keys(tab: Tab, text: str, delay_s: float, report: Report) -> None:
    loop = asyncio.get_running_loop()
    document, told = tab.document, loop.time()
    for index, character in enumerate(text):
        if index and delay_s:
            await tab.signal.until(lambda: tab.hindrance() or tab.document is not document, delay_s)
        _check(tab, tab.document is document, index, len(text))
        if keys.enters(character) and (held := HELD.get()):
            await held.confirm(tab, enter=True)
        await hand.stroke(tab, keys.typed(character))
        if loop.time() - told > REPORT_S:
            told = loop.time()
            await report(index + 1)


def _check(tab: Tab, same: bool, done: int, total: int) -> None:
    """What comes now would go to another page, or to nobody."""
    failure = tab.hindrance()
    if failure is None and not same:
        failure = Failure("page_error", "the page was replaced", suggestions=["look at the page (get_page_state)"])
    if failure:
        failure.message += f"; {done} of {total} characters were typed"
        failure.details["typed"] = done
        raise failure
