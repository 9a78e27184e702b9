"""Pointer and keys, as a person's hand would move them.

Above: tools, fill. Below: locate, settle, cdp. Presses and releases travel together, so that a call that is cancelled
half-way leaves nothing pressed.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec

from pilothouse.browser import keys
from pilothouse.browser.again import judge_again
from pilothouse.browser.frames import Frame
from pilothouse.browser.locate import HELD, Element, Hold, stale
from pilothouse.browser.owners import owner_in
from pilothouse.browser.settle import Ahead, Mark, settle, turn_ahead
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

CHECK_TIMEOUT_S = 8.0
MOMENT_S = 0.05  # in which nobody was asked or waited for
TAKEN_S = 10.0  # a page that has not taken an input by then hangs
CHARACTERS_PER_S = 10_000  # that even a slow page takes
_ONE_KEY = 2  # down and up
_MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
_WHY = {
    "hidden": "it is not visible",
    "disabled": "it is disabled",
    "inert": "the page has switched off the part that it is in (inert)",
    "clipped": "it is cut off by what it is in, as in a part that is closed or has to be scrolled",
    "readonly": "it is read-only",
    "outside": "it cannot be scrolled into view",
    "not_editable": "it is nothing that can be filled",
    "changed": "it is not any more what it was when it was judged, and nothing was done",
    "no_focus": "it does not take the focus",
    "no_files": "it takes no files (name the <input type=file>, or click what opens a chooser and give no target)",
}

_LOOK = "look at the page (get_page_state): something may have to be opened, closed or waited for first"
_NEXT = {
    "disabled": "do first what enables it (a field, a choice), or wait until it is enabled: look again with "
    "get_page_state, or, where CSS finds it, wait_for target='<css>:enabled' (or '<css>:not([aria-disabled=true])')",
    "linked": "click what lies in the label if that was meant; or give it the focus, and use keys",
    "not_editable": 'name a field; or click it, and type_text with the target ":focus" presses the keys there',
}
_BY = {
    "covered": "it is covered by {by}",
    "linked": "its label leaves it no point of its own: a press there goes to {by}",
    "pointerless": "it takes no pointer (pointer-events: none): a press there goes to {by}",
}

Point = tuple[float, float]
Sent = asyncio.Future[dict[str, Any]]
_BY_KEY = "by the Space key: a press on its label would have gone to what lies in it"
_HUNG = "look at the page (get_page_state): what was pressed may have had its effect"


class Aim(msgspec.Struct, frozen=True):
    """A point on a channel, and what is there; `page` is the same point, counted from the corner of the page."""

    channel: Channel
    x: float
    y: float
    role: str
    name: str
    note: str
    page: Point = (0.0, 0.0)
    hint: str = ""  # of what has no name


async def aim(tab: Tab, element: Element, *, enabled: bool = True, on_page: bool = False) -> Aim:
    """Where to press: checked to be attached, visible, still, enabled and hit by the pointer.

    `on_page` counts from the corner of the page, whatever process the element's frame runs in: a movement from one
    frame to another needs one system for both ends.
    """
    spot = await _spot(element, enabled=enabled)
    raise_if_unfit(element, spot)
    inner, outer = await _on_channel(tab, element, spot["x"], spot["y"])
    channel = tab.channel if on_page else element.frame.channel
    at, note = outer if on_page else inner, note_of(element, spot)
    return Aim(channel, *at, spot["role"], spot["name"], note, outer, spot["hint"])


async def _spot(element: Element, *, enabled: bool) -> dict[str, Any]:
    """What was seen when the press was judged, if that was a moment ago; else what is there now."""
    if enabled and element.spot and time.monotonic() - element.spot.at < MOMENT_S:
        return element.spot.told
    options = {"enabled": enabled, "seal": element.seal}
    return await element.world.call("check", element.local, options, timeout=CHECK_TIMEOUT_S)


async def middle(tab: Tab, element: Element) -> Point:
    """The middle of an element on the page, scrolled into view, whatever lies over it."""
    box = await element.world.call("box", element.local, timeout=CHECK_TIMEOUT_S)
    raise_if_unfit(element, box)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    _, outer = await _on_channel(tab, element, x, y, free=False)
    return outer


def note_of(element: Element, spot: dict[str, Any]) -> str:
    return "it was re-rendered; its unique twin was used" if spot.get("twin") else element.note


def raise_if_unfit(element: Element, spot: dict[str, Any]) -> None:
    fail = spot.get("fail")
    if not fail:
        return
    if fail == "detached":
        raise stale(element.ref, "the element is gone from the page, without a unique replacement")
    by = spot.get("by", "another element")
    why = _BY.get(fail, "").format(by=by) or _WHY.get(fail, fail)
    raise Failure(
        "not_actionable",
        f"{element.ref} cannot be acted on: {why}",
        details={"reason": fail, "role": spot.get("role", ""), "name": spot.get("name", ""), "by": spot.get("by", "")},
        suggestions=[_NEXT.get(fail, _LOOK)],
    )


async def click(
    tab: Tab, element: Element, *, button: str = "left", count: int = 1, modifiers: Iterable[str] = ()
) -> Aim:
    try:
        where = await aim(tab, element)
    except Failure as failure:
        if failure.details.get("reason") != "linked" or (button, count, *modifiers) != ("left", 1):
            raise
        return await _click_by_key(tab, element)
    mark = marked(tab, element.frame, button)
    ahead = await asked_first(element.frame, "mouseup") if count == 1 else None
    await press(tab, where, button=button, count=count, modifiers=modifiers)
    await settle(tab, mark, ahead=ahead)
    return where


async def _click_by_key(tab: Tab, element: Element) -> Aim:
    """A checkbox or radio that a link in its label leaves no point."""
    spot = await _focus_choice(element)
    mark = Mark(tab, element.frame)
    ahead = await asked_first(element.frame, "keyup")
    await stroke(tab, keys.strokes("Space"))
    await settle(tab, mark, ahead=ahead)
    note = "; ".join(one for one in (note_of(element, spot), _BY_KEY) if one)
    return Aim(element.frame.channel, 0, 0, spot["role"], spot["name"], note, hint=spot["hint"])


async def toggle(tab: Tab, element: Element) -> None:
    """Press a checkbox or radio; nothing is waited for afterwards."""
    try:
        where = await aim(tab, element)
    except Failure as failure:
        if failure.details.get("reason") != "linked":
            raise
        await _focus_choice(element)
        await stroke(tab, keys.strokes("Space"))
        return
    await press(tab, where, button="left", count=1, modifiers=())


async def _focus_choice(element: Element) -> dict[str, Any]:
    spot = await element.world.call("focusChoice", element.local, {"seal": element.seal}, timeout=CHECK_TIMEOUT_S)
    raise_if_unfit(element, spot)
    return spot


def marked(tab: Tab, frame: Frame, button: str = "left") -> Mark:
    """Before something is pressed."""
    mark, held = Mark(tab, frame), HELD.get()
    mark.asks_file = bool(held and held.asks_file and button != "right")
    return mark


async def hover(tab: Tab, element: Element) -> Aim:
    where = await aim(tab, element, enabled=False)
    mark = Mark(tab, element.frame)
    await deliver([_mouse(where, "mouseMoved")])
    await settle(tab, mark)
    return where


async def click_at(tab: Tab, x: float, y: float, *, button: str, count: int) -> Aim:
    """A press on a point of the window, whatever is there."""
    main = tab.frames.main
    world = await tab.frames.ready(main, CHECK_TIMEOUT_S)
    spot = await world.call("at", x, y, timeout=CHECK_TIMEOUT_S)
    if not spot["inside"]:
        raise Failure(
            "bad_request",
            f"{x:g}, {y:g} is outside the window, which is {spot['width']} x {spot['height']} px",
            suggestions=["scroll first, or click a target"],
        )
    where = Aim(tab.channel, x, y, spot["role"], spot["name"], "", (x, y), spot["hint"])
    if held := HELD.get():
        await held.confirm_point(tab, x, y)
    mark = marked(tab, main, button)
    await press(tab, where, button=button, count=count, modifiers=())
    await settle(tab, mark)
    return where


async def focus(tab: Tab, element: Element) -> Aim:
    spot = await element.world.call("focus", element.local, {"seal": element.seal}, timeout=CHECK_TIMEOUT_S)
    raise_if_unfit(element, spot)
    await settle(tab, Mark(tab, element.frame))
    return Aim(element.frame.channel, 0, 0, spot["role"], spot["name"], note_of(element, spot), hint=spot["hint"])


async def press(tab: Tab, where: Aim, *, button: str, count: int, modifiers: Iterable[str]) -> None:
    """A page may put something else under the pointer after a press: that is judged before the next one."""
    mask = sum(_MODIFIERS[name] for name in set(modifiers))
    held = HELD.get() if count > 1 else None
    seen = await held.seen_at(tab, *where.page) if held else ()
    sent = [_mouse(where, "mouseMoved", modifiers=mask)]
    for number in range(1, count + 1):
        if held and number > 1:
            await deliver(sent)
            sent = []
            if not await _goes_on(tab, held.follow_point(tab, *where.page, seen)):
                return
        options: dict[str, Any] = {"button": button, "clickCount": number, "modifiers": mask}
        sent.append(_mouse(where, "mousePressed", **options))
        sent.append(_mouse(where, "mouseReleased", **options))
    await deliver(sent)


async def press_key(tab: Tab, combination: str, count: int = 1, frame: Frame | None = None) -> int:
    """How often it was pressed. `frame` is where the focus is, if that is known."""
    strokes = keys.strokes(combination)
    held = HELD.get()
    if held:
        await held.confirm(tab, enter=True)
    mark = marked(tab, frame or tab.here)
    ahead = None
    if held and count > 1 and keys.presses(combination):
        count = await _press_each(tab, held, strokes, count)
    else:
        events = [one for _ in range(count) for one in strokes]
        if len(events) == _ONE_KEY:
            ahead = (held.ahead() if held else None) or await asked_first(mark.frame, "keyup")
        await stroke(tab, events)
    await settle(tab, mark, ahead=ahead)
    return count


async def asked_first(frame: Frame, event: str, field: int = 0) -> Ahead:
    ahead = turn_ahead(frame, event, field=field)
    await asyncio.sleep(0)  # it is on its way before the input is: behind it, it would hold up both (M)
    return ahead


async def _press_each(tab: Tab, held: Hold, strokes: list[dict[str, Any]], count: int) -> int:
    """Keys that set something off: the first may give the focus to something else, which is judged before the next."""
    for pressed in range(count):
        if pressed and not await _goes_on(tab, held.follow(tab, enter=True)):
            return pressed
        await stroke(tab, strokes)
    return count


async def _goes_on(tab: Tab, judging: Coroutine[Any, Any, None]) -> bool:
    """Whether the next press may follow; not where a dialog has come, or the document that was pressed has left."""
    if tab.hindrance():  # which would keep the page from answering
        judging.close()
        return False
    try:
        await judging
    except WorldGone:
        return False
    except Failure:
        if tab.hindrance():
            return False
        raise
    judge_again()
    return True


async def stroke(tab: Tab, events: Iterable[dict[str, Any]]) -> None:
    """Keys go to the page, and the browser passes them on to whichever frame has the focus."""
    await deliver(_stroked(tab, events))


async def write(tab: Tab, text: str, key: str = "") -> None:
    """A text at once, and a last character as a key. Like keys: whichever frame has the focus gets it."""
    patience_s = TAKEN_S + len(text) / CHARACTERS_PER_S
    sent = [tab.channel.post("Input.insertText", timeout=patience_s, text=text)] if text else []
    await deliver([*sent, *_stroked(tab, keys.typed(key) if key else (), patience_s)])


def _stroked(tab: Tab, events: Iterable[dict[str, Any]], patience_s: float = TAKEN_S) -> list[Sent]:
    return [tab.channel.post("Input.dispatchKeyEvent", timeout=patience_s, **one) for one in events]


async def told_after(world: World, function: str, *args: Any, otherwise: Any) -> Any:
    """What a document says after it was acted on; `otherwise` if it has left, or a dialog keeps it from answering."""
    try:
        return await world.call(function, *args, timeout=CHECK_TIMEOUT_S)
    except WorldGone:
        return otherwise
    except Failure as failure:
        if failure.code not in ("dialog_open", "tab_closed"):
            raise
        return otherwise


def _mouse(where: Aim, kind: str, **options: Any) -> Sent:
    return where.channel.post("Input.dispatchMouseEvent", timeout=TAKEN_S, type=kind, x=where.x, y=where.y, **options)


async def deliver(sent: list[Sent]) -> None:
    """Until the page has taken the input. A page that answers by a dialog, by closing or by leaving has taken it."""
    for outcome in await asyncio.gather(*sent, return_exceptions=True):
        if isinstance(outcome, Failure) and outcome.code == "timeout":
            raise Failure("timeout", f"the page has taken no input for {TAKEN_S:g} s", suggestions=[_HUNG])
        if isinstance(outcome, Failure) and outcome.code not in ("dialog_open", "tab_closed"):
            raise outcome
        if isinstance(outcome, BaseException) and not isinstance(outcome, Failure | ProtocolError):
            raise outcome


async def _on_channel(tab: Tab, element: Element, x: float, y: float, *, free: bool = True) -> tuple[Point, Point]:
    """From a frame's own coordinates to those of its channel and of the page.

    Unless nobody cares (`free`), no outer frame may cover the point.
    """
    frame: Frame = element.frame
    at = (x, y)
    settled = tab.frames.is_root(frame)
    while (parent := tab.frames.get(frame.parent)) is not None:
        owner = await owner_in(tab, frame, parent)
        world = await tab.frames.ready(parent, CHECK_TIMEOUT_S)
        origin = await world.call("frameOrigin", owner)
        if origin is None:
            raise stale(element.ref, "its frame is gone")
        x, y = origin["x"] + x * origin["scaleX"], origin["y"] + y * origin["scaleY"]
        if free:
            raise_if_unfit(element, await world.call("frameHit", owner, x, y))
        if not settled:
            at = (x, y)
            settled = tab.frames.is_root(parent)
        frame = parent
    return at, (x, y)
