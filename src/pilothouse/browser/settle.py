"""After an action: wait for what it started, and for nothing else.

Above: tab, input, aim, fill. Below: world, network. One turn of the page after an action, everything that the action
began in its own turn is known: a navigation is waited for until its DOM stands, requests until they are answered,
changes until they rest. What a late timer may still do is waited out by the next call, if it comes that soon.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pilothouse.browser.frames import Frame
from pilothouse.browser.network import Request
from pilothouse.browser.world import World, WorldGone
from pilothouse.errors import Failure

if TYPE_CHECKING:
    from pilothouse.browser.tab import Document, Tab

WINDOW_S = 0.1  # in which a late timer's effect still counts as the action's
BUSY_S = 0.01  # for some turns of the page: one that is slower may also keep a frame waiting that a timer has asked for
STARVED_S = 0.4  # after the window: on a busy machine a due timer may still wait for its turn
NAVIGATION_S = 10.0
FILE_S = 0.1  # between the end of the way to a document and the word that it is a download: 1 to 22 ms (M)
REQUESTS_S = 2.0
TICK_S = 2.0
SOON_S = 0.003  # after the browser has said that the page was given an input; half of what that took, if that is more
AHEAD_S = 12.0  # the longest that a page may take an input, and a tick

Ahead = asyncio.Future[dict[str, Any] | None]
"""What a page will tell of its turns after an input."""


class Mark:
    """The state before an action, to tell afterwards what is new."""

    def __init__(self, tab: "Tab", frame: Frame) -> None:
        self.document: Document = tab.document
        self.last_request = tab.network.last_number
        self.downloads = tab.downloads
        self.asks_file = False  # what is pressed is a link that gives a file: no navigation tells of it
        self.file_awaited = False
        self.frame = frame
        self.frames = tab.frames
        self.began_at = time.monotonic()
        self.acted_at = 0.0
        self.did = ""  # in words, as soon as the caller has been told
        self.given_up: dict[str, Request] = {}  # not answered in time
        self.refused: list[dict[str, str]] = []  # fields that kept the browser from sending a form
        self.missed: dict[str, Any] | None = None  # what was wrong with a press, as press.js tells it
        self.field: dict[str, Any] | None = None  # what has come of a text in it, if it was told just now
        self.reads: tuple[World, int] | None = None  # a field that tells what it holds until it is settled
        self.kept = False  # from what else had the focus by then: the last key of a text
        self.active: dict[str, str] | None = None  # what the focused list says is active in it, if that is new
        tab.route.strayed_at = 0.0  # where the tab went before is not this action's doing
        if tab.mark:
            tab.mark.did = ""  # and what comes now not that of the one before


async def settle(
    tab: "Tab",
    mark: Mark,
    timeout: float = NAVIGATION_S,
    ahead: "Ahead | None" = None,
    reads: tuple[World, int] | None = None,
) -> bool:
    """Right after the action: until everything it has started by now is done; whether there was anything.

    `ahead`: turns of the page that were asked for before the action was sent (`turn_ahead`). `reads`: the field whose
    last word on what it holds is `mark.field` then, if it still could tell.
    """
    mark.reads = reads
    loop = asyncio.get_running_loop()
    mark.acted_at = loop.time()
    tab.mark = mark
    tab.acted(mark.began_at)
    turned = asyncio.ensure_future(_sooner(ahead, mark)) if ahead else None
    try:
        effect = await _follow(tab, mark, loop.time() + timeout, turned)
        if mark.missed and mark.missed["kept"]:
            raise _kept(mark.missed["by"])
        return effect
    finally:
        mark.reads = None
        for one in (ahead, turned):
            if one:
                one.cancel()
        if loop.time() - mark.acted_at > WINDOW_S / 2:
            mark.acted_at = loop.time()  # a page that is slow to answer has had no time for its timers yet


def _kept(by: str) -> Failure:
    return Failure(
        "not_actionable",
        f"nothing was pressed: {by} lay there by then",
        details={"reason": "moved", "by": by},
        suggestions=[
            "look at the page (get_page_state): the pointer has changed it, and what is there now can be named"
        ],
    )


def turn_ahead(frame: Frame, event: str, *, behind: bool = False, field: int = 0) -> Ahead:
    """Ask for the turns that follow an input which is about to be sent: their answer comes a round trip sooner.

    It goes out at the next turn of the loop; `behind`: after what is asked of the page now. Of a `field` the page tells
    what it holds then.
    """
    return asyncio.ensure_future(_asked_ahead(frame, event, behind, field))


async def _asked_ahead(frame: Frame, event: str, behind: bool, field: int) -> dict[str, Any] | None:
    """None if the page has not told: it was replaced, or is busy."""
    if behind:
        await asyncio.sleep(0)
    if frame.world is None:
        return None
    try:
        return await frame.world.call("tickAfter", event, field, timeout=AHEAD_S)
    except (WorldGone, Failure):
        return None


async def _sooner(ahead: Ahead, mark: Mark) -> int:
    """What was asked for ahead. If the input went elsewhere it would never come: a tick lets go of it."""
    # A busy machine would be asked everything twice.
    soon = min(max(SOON_S, (time.monotonic() - mark.began_at) / 2), WINDOW_S)
    await asyncio.wait({ahead}, timeout=soon)
    if ahead.done() and (told := ahead.result()) is not None:
        return _heard(mark, told)
    changes = await turn(mark)
    await asyncio.wait({ahead}, timeout=SOON_S)
    told = ahead.result() if ahead.done() else None
    return changes + (_heard(mark, told) if told else 0)


async def settle_script(tab: "Tab", mark: Mark, turned: Awaitable[int] | None = None, *, did: bool = False) -> None:
    """After a caller's own script, which most often only reads: a window is kept open only if it had an effect.

    `turned`: turns of the page that were asked for behind the script already; `did`: it had one while it ran.
    """
    loop = asyncio.get_running_loop()
    mark.acted_at = loop.time()
    if await _follow(tab, mark, loop.time() + NAVIGATION_S, turned) or did:
        tab.mark = mark
        tab.acted(mark.began_at)


def arrived(tab: "Tab", mark: Mark) -> None:
    """After a navigation: whatever the new page has asked for by the next call belongs to it."""
    mark.document = tab.document
    tab.mark = mark
    tab.acted(mark.began_at)


async def wait_out(tab: "Tab", mark: Mark, timeout: float) -> None:
    """At the next call: the rest of the window, unless a navigation ends it, then whatever began in it."""
    loop = asyncio.get_running_loop()
    remaining = mark.acted_at + WINDOW_S - loop.time()
    if remaining > 0:
        await tab.signal.until(lambda: tab.route.navigating or tab.dialog or tab.closed, remaining)
    elif remaining < -STARVED_S and not _busy(tab, mark):
        return
    began, end = loop.time(), loop.time() + min(timeout, NAVIGATION_S)
    await _follow(tab, mark, end)
    if mark.acted_at and loop.time() - began > BUSY_S and not (tab.dialog or tab.closed or tab.crashed):
        await _drawn(mark)
        await _follow(tab, mark, end)


def follows(mark: Mark | None) -> str:
    """What was done last, if what comes now, after its answer, still comes in its window."""
    if mark is None or asyncio.get_running_loop().time() - mark.acted_at > WINDOW_S + STARVED_S:
        return ""
    return mark.did


def _busy(tab: "Tab", mark: Mark) -> bool:
    return tab.route.navigating or not tab.document.dom_ready or bool(_open_requests(tab, mark))


async def _follow(tab: "Tab", mark: Mark, end: float, turned: Awaitable[int] | None = None) -> bool:
    """Until the page rests, and a file that it was given is told of; whether there was anything to wait for."""
    effect = await _rest(tab, mark, end, turned)
    return await _file(tab, mark) or effect


async def _rest(tab: "Tab", mark: Mark, end: float, turned: Awaitable[int] | None) -> bool:
    loop = asyncio.get_running_loop()
    effect = False
    requests_end = loop.time() + REQUESTS_S  # for all of them together: some pages never stop asking
    while not (tab.dialog or tab.closed or tab.crashed):
        effect = bool(await (turned or turn(mark))) or effect
        turned = None
        if tab.route.navigating or tab.document is not mark.document:
            await _new_document(tab, end - loop.time())
            return True
        patience = max(min(requests_end, end) - loop.time(), 0)
        if _frame_loads(tab, mark.frame):
            await tab.signal.until(lambda: not _frame_loads(tab, mark.frame) or tab.dialog, patience)
        elif waiting := _open_requests(tab, mark):
            if await _requests(tab, waiting, patience):
                mark.acted_at = loop.time()  # what it makes of the answer may come as late as what it makes of a press
            else:
                mark.given_up |= {request.id: request for request in waiting}
        else:
            return effect
        effect = True
        if not patience:
            break
    return True


def still_open(mark: Mark) -> list[Request]:
    """What the action asked for, and nobody waits for any more."""
    return [one for one in mark.given_up.values() if not one.done]


def _frame_loads(tab: "Tab", frame: Frame) -> bool:
    """An inner frame is being replaced; one that was removed while it loaded never will be."""
    return frame.navigating and frame is not tab.frames.main and tab.frames.get(frame.id) is frame


def _open_requests(tab: "Tab", mark: Mark) -> list[Request]:
    return [one for one in tab.network.awaited(mark.last_request) if one.id not in mark.given_up]


async def turn(mark: Mark) -> int:
    """Some turns of the frame's page, until it rests; how many changes it saw."""
    told = await _told(mark, lambda world: world.call("tick", _field_in(mark, world), timeout=TICK_S))
    return _heard(mark, told) if told else 0


def _field_in(mark: Mark, world: World) -> int:
    """The field to be told of; its number means another thing in the document that came after its own."""
    return mark.reads[1] if mark.reads and mark.reads[0].uid == world.uid else 0


async def _drawn(mark: Mark) -> None:
    """What a page wants to do before it draws, it has done then."""
    await _told(mark, lambda world: world.call("drawn", timeout=TICK_S))


async def _told(mark: Mark, asked: Callable[[World], Awaitable[Any]]) -> Any:
    """None if the page cannot answer."""
    if not (mark.frame.world or mark.frame.page_context):
        return None
    try:
        return await asked(await mark.frames.ready(mark.frame, TICK_S))
    except WorldGone:
        return None
    except Failure as failure:
        # A dialog, a crash, a closed tab or a busy script: the caller's next look tells which.
        if failure.code == "browser_gone":
            raise
        return None


def _heard(mark: Mark, told: dict[str, Any]) -> int:
    mark.refused += told["refused"]
    mark.active = told["active"] or mark.active
    mark.missed = told["missed"] or mark.missed
    mark.field = told.get("field")
    mark.kept = mark.kept or bool(mark.field and mark.field["kept"])
    return told["changes"]


async def _new_document(tab: "Tab", timeout: float) -> None:
    def stands() -> bool:
        return bool(tab.dialog or tab.closed or tab.crashed or (not tab.route.navigating and tab.document.dom_ready))

    if not await tab.signal.until(stands, max(timeout, 0)):
        tab.document.given_up = tab.document.given_up or timeout > 0
    if tab.title or tab.dialog or tab.closed or tab.crashed:
        return
    try:
        await tab.learn_title()
    except Failure as failure:  # it closes itself, say: the action was done all the same
        if failure.code == "browser_gone":
            raise


async def _file(tab: "Tab", mark: Mark) -> bool:
    """Until a download begins, once, if there will be one. Its document is over before the browser tells of it."""
    if mark.file_awaited or tab.document is not mark.document:
        return False
    if not (mark.asks_file or tab.network.brought_no_page(mark.last_request)):
        return False
    mark.file_awaited = True
    await tab.signal.until(lambda: tab.downloads > mark.downloads or tab.dialog or tab.closed or tab.crashed, FILE_S)
    return True


async def _requests(tab: "Tab", waiting: list[Request], timeout: float) -> bool:
    """Until they are answered, or the page goes elsewhere."""

    def over() -> bool:
        return bool(tab.route.navigating or tab.dialog or tab.closed or tab.crashed)

    answered = asyncio.ensure_future(tab.network.quiet(waiting, timeout))
    left = asyncio.ensure_future(tab.signal.until(over, timeout))
    try:
        await asyncio.wait({answered, left}, return_when=asyncio.FIRST_COMPLETED)
        return over() or all(request.done for request in waiting)
    finally:
        answered.cancel()
        left.cancel()
