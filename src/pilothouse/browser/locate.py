"""From what an agent calls a thing to the thing itself: refs, CSS, `text=`, `label=`, `role=[name=]`, or alternatives.

Above: input, fill, capture, tools. Below: tab, frames, refs, settle, world.
"""

import asyncio
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec

from pilothouse.browser.candidates import line, shown
from pilothouse.browser.frames import Frame
from pilothouse.browser.guesses import honest
from pilothouse.browser.owners import owner_in
from pilothouse.browser.refs import is_ref
from pilothouse.browser.settle import Ahead
from pilothouse.browser.tab import Tab
from pilothouse.browser.unseen import open_roots
from pilothouse.browser.unshown import OPEN_IT, openers
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure
from pilothouse.result import quoted

LOCATE_TIMEOUT_S = 10.0
BUSY_S = 1.0
_BY_MEANING = ("text=", "label=", "role=")


class Spot(msgspec.Struct, frozen=True):
    """What was said of a press, and when."""

    told: dict[str, Any]
    at: float


class Element(msgspec.Struct, frozen=True):
    """One element of one document. `note` tells what the caller should know about how it was found; `seal` what it was
    judged by, and has to be still when something is done to it; `spot` where it was to be pressed then; `focused` that
    it was named as what has the focus."""

    frame: Frame
    world: World
    local: int
    ref: str
    note: str = ""
    seal: str = ""
    spot: Spot | None = None
    focused: bool = False


class Hold(Protocol):
    """What a call was judged by before it ran: see aim."""

    async def element(self, tab: Tab, target: str | list[str]) -> Element: ...
    async def press(self, element: Element) -> Element: ...
    async def confirm(self, tab: Tab, *, enter: bool) -> None: ...
    @property
    def asks_file(self) -> bool: ...
    def ahead(self) -> Ahead | None: ...
    async def follow(self, tab: Tab, *, enter: bool) -> None: ...
    async def seen_at(self, tab: Tab, x: float, y: float) -> tuple[object, ...]: ...
    async def follow_point(self, tab: Tab, x: float, y: float, seen: tuple[object, ...]) -> None: ...
    async def confirm_point(self, tab: Tab, x: float, y: float) -> None: ...
    def confirm_dialog(self, tab: Tab) -> None: ...
    def confirm_chooser(self, tab: Tab) -> None: ...


HELD: ContextVar[Hold | None] = ContextVar("held", default=None)  # by the call that runs in this context


async def locate(tab: Tab, target: str | list[str]) -> Element:
    """The one element that a target names, to be acted on; if the call was judged by it, that very one."""
    held = HELD.get()
    return await (held.element(tab, target) if held else find(tab, target, one=True))


async def find(tab: Tab, target: str | list[str], *, one: bool = False) -> Element:
    """Of several alternatives, the first that is there. If it has to be the `one`, no other may be called the same."""
    alternatives = [target] if isinstance(target, str) else target
    if not alternatives:
        raise Failure("bad_request", "the list of targets is empty")
    failure: Failure | None = None
    for name in alternatives:
        try:
            return _by_ref(tab, name) if is_ref(name) else await _by_query(tab, name, one=one)
        except Failure as missing:
            if missing.code not in ("not_found", "stale_ref", "ambiguous"):
                raise
            failure = missing if failure is None or missing.code == "ambiguous" else failure
    assert failure
    raise failure


async def optional_scope(tab: Tab, target: str | list[str] | None) -> tuple[Frame, int]:
    """The frame and local ref of a target, or the current frame as a whole."""
    if not target:
        return tab.here, 0
    element = await find(tab, target)
    return element.frame, element.local


def _by_ref(tab: Tab, ref: str) -> Element:
    place = tab.refs.place(ref)
    world = tab.frames.world(place[0]) if place else None
    frame = tab.frames.get(world.frame_id) if world else None
    if place and world and frame and frame.world is world:
        return Element(frame, world, place[1], ref)
    if not tab.refs.issued(ref):
        raise Failure(
            "not_found", f"there is no {ref} in this tab yet", suggestions=["refs come from get_page_state or find"]
        )
    if tab.refs.is_elsewhere(ref):
        raise Failure(
            "not_found",
            f"{ref} is in another tab than {tab.name}",
            suggestions=["name its tab, or switch_tab to it (list_tabs shows them)"],
        )
    raise stale(ref, "its document is gone")


def stale(ref: str, why: str) -> Failure:
    return Failure("stale_ref", f"{ref}: {why}", suggestions=["take a new snapshot (get_page_state) and use its refs"])


async def _by_query(tab: Tab, query: str, *, one: bool) -> Element:
    """The frame the caller is in comes first, then all others."""
    here = tab.here
    await tab.frames.ready(here, LOCATE_TIMEOUT_S)
    frames = [here, *(frame for frame in tab.frames if frame is not here)]
    if one and _means(query):
        if found := await _the_one(tab, frames, query):
            return found
    else:
        for frame in frames:
            if found := await _in_frame(tab, frame, query, one=one):
                return _only(query, [found])
    for frame in frames:
        if await reveal(frame) and (found := await _in_frame(tab, frame, query, one=one)):
            return _only(query, [found])
    raise await _not_found(tab, here, query)


def _means(query: str) -> bool:
    return query.lstrip().startswith(_BY_MEANING)


async def _the_one(tab: Tab, frames: list[Frame], query: str) -> Element | None:
    """What is called so in several frames is as ambiguous as it is in one. Where the caller's own frame has it, others
    are waited for a moment only: one that is busy must not keep the page from being used."""
    here, *others = frames
    asked = [asyncio.ensure_future(_glimpsed(tab, frame, query)) for frame in others]
    try:
        first = await _in_frame(tab, here, query, one=True)
        if first and here is not tab.frames.main:
            return _only(query, [first])  # the caller has said which frame is meant
        if asked:
            await asyncio.wait(asked, timeout=BUSY_S if first else LOCATE_TIMEOUT_S)
        found = [one for one in (first, *(task.result() for task in asked if task.done())) if one]
    finally:
        for task in asked:
            task.cancel()
    seen = [one for one in found if one.seen]
    if len(seen) > 1:  # one that nobody sees is none, however well it fits
        seen = [one for one in seen if await _is_shown(tab, one.element.frame)] or seen[:1]
    best = min((one.fit for one in seen), default=0)
    return _only(query, [one for one in seen if one.fit == best] or found[:1]) if found else None


async def _glimpsed(tab: Tab, frame: Frame, query: str) -> "_Found | None":
    try:
        return await _in_frame(tab, frame, query, one=True)
    except Failure as failure:
        if failure.code == "bad_request":
            raise
        return None  # it is busy, or gone


async def _is_shown(tab: Tab, frame: Frame) -> bool:
    """Whether a person sees what holds the frame; of that its own world knows nothing."""
    try:
        while parent := tab.frames.get(frame.parent):
            owner = await owner_in(tab, frame, parent)
            world = await tab.frames.ready(parent, BUSY_S)
            if not await world.call("showsFrame", owner, timeout=BUSY_S):
                return False
            frame = parent
    except (Failure, ProtocolError, WorldGone):
        return False
    return True


async def reveal(frame: Frame) -> bool:
    """Open the closed shadow roots of a frame to the search; True if there were any."""
    opened = False
    try:
        while world := frame.world:
            seen = await world.call("snapshot", {"full": True}, timeout=LOCATE_TIMEOUT_S)
            if not seen.get("hosts") or not await open_roots(world, seen["hosts"]):
                break
            opened = True
    except WorldGone:
        return False
    return opened


class _Found(msgspec.Struct, frozen=True):
    """`fit`: how well it is called so, 0 best; `seen`: how many that can be seen in its frame are called so, `more` if
    these are not all; `lines`: those of them that may be told."""

    element: Element
    fit: int
    seen: int
    more: bool
    lines: list[str]


def _only(query: str, found: list[_Found]) -> Element:
    """To act on the first of several could be to delete another record than the one that was meant."""
    count = sum(one.seen for one in found)
    if count < 2:
        return found[0].element
    several = len(found) > 1
    lines = [
        line + (f" in the frame {quoted(one.element.frame.url, 100)}" if several else "")
        for one in found
        for line in one.lines
    ]
    raise Failure(
        "ambiguous",
        f"{count}{' or more' if any(one.more for one in found) else ''} elements match {query!r}: nothing was done",
        details={"candidates": lines},
        suggestions=["repeat the call with the ref of the one that is meant"],
    )


async def _world_of(tab: Tab, frame: Frame) -> World | None:
    """Ours, of a frame whose document is there; it may not have been made yet."""
    if frame.world or not frame.page_context:
        return frame.world
    try:
        return await tab.frames.ready(frame, BUSY_S)
    except (Failure, WorldGone):
        return None


async def _in_frame(tab: Tab, frame: Frame, query: str, *, one: bool) -> _Found | None:
    world = await _world_of(tab, frame)
    if world is None:
        return None
    try:
        found = await world.call("locate", query, {"one": one}, timeout=LOCATE_TIMEOUT_S)
    except WorldGone:
        return None
    if error := found.get("error"):
        raise Failure(
            "bad_request",
            f"{query!r} is not a target: {error}",
            suggestions=['a target is a ref (e12), CSS, text=Save, label=Name, or role=button[name="Save"]'],
        )
    try:
        matches = await honest(tab, world, query, found["matches"])
    except WorldGone:
        return None
    if not matches:
        return None
    local, total = matches[0], found["total"] if matches == found["matches"] else len(matches)
    note = f"the first of {total} matches" if total > 1 else ""
    focused = query.strip() == ":focus"
    element = Element(frame, world, local, tab.refs.number(world.uid, local), note, focused=focused)
    alone = [one for one in [found.get("seen")] if one and local == found["matches"][0]]
    rivals = [rival for rival in found.get("rivals", ()) if rival["n"] in matches]
    seen = rivals if len(rivals) > 1 else alone
    more = len(seen) > 1 and found["total"] > len(seen)  # some of the others may be out of sight
    return _Found(element, found.get("fit", 0), len(seen), more, shown(tab, world, [_told(one) for one in seen]))


def _told(rival: dict[str, Any]) -> str:
    around = rival.get("around")
    return line(rival) + (f" in {quoted(around, 100)}" if around else "")


async def _not_found(tab: Tab, frame: Frame, query: str) -> Failure:
    """With the nearest things that are there."""
    near: list[str] = []
    if world := frame.world:
        opening = await openers(tab, world, query) if _means(query) else None
        if opening:
            return _not_shown(query, opening, "press what shows it, or choose from it")
        try:
            nearest = await world.call("nearest", query, 5, timeout=2)
            near = shown(tab, world, [line(one) for one in nearest])
        except (WorldGone, Failure):
            near = []  # the error itself matters more than its decoration
        if opening is not None:
            return _not_shown(query, near, f"{OPEN_IT}, or wait_for it")
    return Failure(
        "not_found",
        f"nothing matches {query!r}",
        details={"candidates": near},
        suggestions=["look with get_page_state or find, or wait_for it"],
    )


def _not_shown(query: str, candidates: list[str], step: str) -> Failure:
    return Failure(
        "not_found",
        f"nothing that is shown matches {query!r}, something hidden does",
        details={"candidates": candidates},
        suggestions=[step],
    )
