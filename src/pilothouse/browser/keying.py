"""Keys one after another, as a person presses them: each goes to where the focus is, and that is judged before it goes.

Above: fill, typist. Below: input, keys. The two halves of a stroke travel together: nothing stays pressed.
"""

from collections.abc import Awaitable, Callable

from pilothouse.browser import input as hand
from pilothouse.browser import keys
from pilothouse.browser.locate import HELD
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import counted


async def _always(done: int) -> bool:
    return True


async def key_by_key(
    tab: Tab,
    text: str,
    *,
    delay_s: float = 0.0,
    spaces_press: bool = False,
    before: Callable[[int], Awaitable[bool]] = _always,
) -> int:
    """How many were pressed; `before` hears, before each one, how many were, and says whether to go on.

    Outside of a text field a space presses what has the focus (`spaces_press`).
    """
    document, index = tab.document, 0
    with doing(lambda: f"typing: {index} of {counted(len(text), 'key')} pressed"):
        for index, character in enumerate(text):
            if index and delay_s:
                await tab.signal.until(lambda: tab.hindrance() or tab.document is not document, delay_s)
            _check(tab, tab.document is document, index, len(text))
            if held := HELD.get():
                try:
                    await held.follow(tab, enter=keys.enters(character) or (spaces_press and character == " "))
                except WorldGone:
                    _check(tab, False, index, len(text))
            if not await before(index):
                return index
            await hand.stroke(tab, keys.typed(character))
    return len(text)


def _check(tab: Tab, same: bool, done: int, total: int) -> None:
    """What comes now would go to another page, or to nobody."""
    failure = tab.hindrance()
    if failure is None and not same:
        failure = Failure("page_error", "the page was replaced", suggestions=["look at the page (get_page_state)"])
    if failure:
        failure.message += f"; {done} of {total} characters were typed"
        failure.details["typed"] = done
        raise failure
