"""What a call points at, told live, and held on to: the tool then acts on what was judged, or not at all.

Above: aiming (which asks on the policy's behalf), locate and input (which give the tool what is held). Below: locate,
input, settle, world. Elements are found once and asked about in one call for each document. What they tell is their
seal: act.js and fill.js compare it in the same breath in which they say where to press.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from pilothouse.browser import keys
from pilothouse.browser.frames import Frame
from pilothouse.browser.input import CHECK_TIMEOUT_S, MOMENT_S, raise_if_unfit
from pilothouse.browser.locate import Element, Spot, find
from pilothouse.browser.owners import node_in, owner_in
from pilothouse.browser.settle import Ahead, turn_ahead
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

AIM_TIMEOUT_S = 5.0
MAX_FRAME_DEPTH = 10
GLANCE_S = 0.02
LONGEST_KEY = 100

Target = str | list[str]


class Sight(msgspec.Struct, frozen=True):
    """What is told of one thing that an action sets off. Text of a page, cleaned and cut."""

    role: str = ""
    name: str = ""
    kind: str = ""
    purpose: str = ""
    url: str = ""
    form: str = ""
    leads_to: str = ""


class Pointing(msgspec.Struct, frozen=True):
    """How a call points: with targets, with a point, with keys, at a dialog or a file chooser."""

    targets: tuple[Target, ...] = ()
    fills: bool = False  # the targets get values; otherwise they are pressed
    point: tuple[float, float] | None = None
    keys: bool = False
    enters: bool = False  # Enter is pressed, there or in the last target
    dialog: bool = False
    chooser: bool = False
    script: bool = False  # the target is handed to script: where it is matters, not what a press on it would do
    clicks: bool = False  # the one target is pressed, now, unless somebody has to be asked
    soon: bool = False  # so is the key, once

    @property
    def presses(self) -> bool:
        """Whether what is pointed at may be set off; most keys only write or move."""
        return self.enters or not self.keys


class Held:
    """What a call was judged by. `judge` is asked about what comes to light only while the tool runs."""

    def __init__(self, pointing: Pointing) -> None:
        self.pointing = pointing
        self.sights: tuple[Sight, ...] = ()
        self.judge: Callable[[tuple[Sight, ...]], None] = _nothing_new
        self._elements: dict[str, Element] = {}
        self._focus: Element | None = None
        self._seal = ""  # of the point or the focus
        self._enter_seal = ""
        self._looked_at = 0.0
        self._ahead: Ahead | None = None
        self._dialog: object = None
        self._chooser: object = None

    async def element(self, tab: Tab, target: Target) -> Element:
        """The element that was judged. One that was not there yet is judged now."""
        if held := self._elements.get(_key(target)):
            return held
        element = await find(tab, target, one=True)
        (answer,) = await _ask(element.world, [element], self.pointing)
        self.judge(_sights(answer))
        return _sealed(element, answer)

    async def press(self, element: Element) -> Element:
        """Before something is pressed that came to light only now: it is judged now."""
        (answer,) = await _ask(element.world, [element], Pointing())
        raise_if_unfit(element, answer)
        self.judge(_sights(answer))
        return _sealed(element, answer)

    async def confirm(self, tab: Tab, *, enter: bool) -> None:
        """Before keys are pressed: they go to where they were judged to go."""
        pointing = self.pointing
        if not pointing.keys and not enter:
            return
        if not pointing.presses and time.monotonic() - self._looked_at < MOMENT_S:
            return  # it sets nothing off, and nobody was asked or waited for meanwhile
        answer = await _focused(tab, enter=pointing.enters)
        seal, now = (self._seal, answer["seal"]) if pointing.keys else (self._enter_seal, answer["enterSeal"])
        if seal == now:
            return
        if pointing.keys or not answer.get("field"):
            raise _changed("what has the focus")
        self._judge_new(answer)  # what was typed may have made another button the form's: one that was disabled

    @property
    def asks_file(self) -> bool:
        """Whether a link is pressed that gives a file."""
        return self.pointing.presses and any(one.kind == "download" for one in self.sights)

    def ahead(self) -> Ahead | None:
        """The turns after a key, if they were asked for a moment ago and nothing has happened since."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or (not ahead.done() and time.monotonic() - self._looked_at < MOMENT_S):
            return ahead
        ahead.cancel()
        return None

    async def follow(self, tab: Tab, *, enter: bool) -> None:
        """Before a key that is typed: a page may have moved the focus on, and what it went to is judged now."""
        self._judge_new(await _focused(tab, enter=enter))

    def _judge_new(self, answer: dict[str, Any]) -> None:
        told = _sights(answer)
        if new := tuple(one for one in told if one not in self.sights):
            self.judge(new)
            self.sights += new

    async def confirm_point(self, tab: Tab, x: float, y: float) -> None:
        if self.pointing.point and (await _at(tab, x, y))["seal"] != self._seal:
            raise _changed("what is at that point")

    async def seen_at(self, tab: Tab, x: float, y: float) -> tuple[Sight, ...]:
        return _sights(await _at(tab, x, y))

    async def follow_point(self, tab: Tab, x: float, y: float, seen: tuple[object, ...]) -> None:
        """Before a point is pressed once more: what the page has put there since is judged now."""
        if new := tuple(one for one in await self.seen_at(tab, x, y) if one not in seen):
            self.judge(new)

    def confirm_chooser(self, tab: Tab) -> None:
        if self.pointing.chooser and tab.file_chooser is not self._chooser:
            raise _changed("the file chooser")

    def confirm_dialog(self, tab: Tab) -> None:
        if self.pointing.dialog and tab.dialog is not self._dialog:
            raise _changed("the dialog")

    @property
    def elements(self) -> list[Element]:
        """What the targets mean, found already, or what has the focus."""
        return list(self._elements.values()) or ([self._focus] if self._focus else [])

    async def look(self, tab: Tab) -> None:
        """Find and ask: afterwards `sights` tells, and everything is held."""
        pointing = self.pointing
        if pointing.dialog:
            self._see_dialog(tab)
        elif pointing.chooser:
            await self._see_chooser(tab)
        elif pointing.point:
            answer = await _at(tab, *pointing.point)
            self.sights, self._seal = _sights(answer), answer["seal"]
        elif pointing.keys:
            # While the page is busy with the look, which says what came before it.
            if pointing.soon and tab.here is tab.frames.main:
                self._ahead = turn_ahead(tab.here, "keyup", behind=True)
            asked_at, answer = await _glanced(tab, enter=pointing.enters)
            self.sights, self._seal, self._focus = _sights(answer), answer["seal"], answer["element"]
            self._looked_at = asked_at or time.monotonic()
        else:
            await self._see_targets(tab)

    def _see_dialog(self, tab: Tab) -> None:
        self._dialog = dialog = tab.dialog
        if dialog:
            self.sights = (Sight(role="dialog", name=dialog.message, kind=dialog.kind, url=tab.url),)

    async def _see_chooser(self, tab: Tab) -> None:
        """The field that has opened it, which need not be in the page."""
        self._chooser = chooser = tab.chooser()
        frame = tab.frames.get(chooser.frame_id)
        if frame is None or frame.channel is not chooser.channel:
            raise Failure("stale_ref", "the page that asked for a file is gone")
        world = await tab.frames.ready(frame, CHECK_TIMEOUT_S)
        self.sights = _told(await world.call_with("fieldAim", await node_in(world, chooser.backend_node_id)))

    async def _see_targets(self, tab: Tab) -> None:
        found: list[tuple[str, Element]] = []
        for index, target in enumerate(self.pointing.targets):
            try:
                found.append((_key(target), await find(tab, target, one=True)))
            except Failure as missing:
                # A form may show its next field when the one before is filled; that one is judged when it is there.
                if not index or missing.code not in ("not_found", "stale_ref") or not self.pointing.fills:
                    raise
        sights: list[Sight] = []
        for world in {element.world.uid: element.world for _, element in found}.values():
            mine = [(key, element) for key, element in found if element.world is world]
            answers = await _seen(world, [element for _, element in mine], self.pointing)
            for (key, element), answer in zip(mine, answers, strict=True):
                raise_if_unfit(element, answer)
                self._elements[key] = _sealed(element, answer)
                sights += _placed(_sights(answer)) if self.pointing.script else _sights(answer)
        if self.pointing.enters:
            sights += await self._see_enter(found[-1][1])
        self.sights = tuple(sights)

    async def _see_enter(self, last: Element) -> tuple[Sight, ...]:
        (answer,) = await _ask(last.world, [last], self.pointing, enter=True)
        raise_if_unfit(last, answer)
        self._enter_seal = answer["enterSeal"]
        return _told(answer["then"])


async def _seen(world: World, elements: list[Element], pointing: Pointing) -> list[dict[str, Any]]:
    if not pointing.clicks:
        return await _ask(world, elements, pointing)
    return [await world.call("aimToPress", one.local, timeout=AIM_TIMEOUT_S) for one in elements]


async def _ask(
    world: World, elements: list[Element], pointing: Pointing, *, enter: bool = False
) -> list[dict[str, Any]]:
    options = {"fills": pointing.fills, "enter": enter}
    return await world.call("aims", [one.local for one in elements], options, timeout=AIM_TIMEOUT_S)


def _sealed(element: Element, answer: dict[str, Any]) -> Element:
    """A twin that stands in for the element is judged, and held, in its place."""
    raise_if_unfit(element, answer)
    note = "it was re-rendered; its unique twin was used" if answer.get("twin") else element.note
    spot = Spot(answer["spot"], time.monotonic()) if "spot" in answer else None
    return msgspec.structs.replace(element, local=answer["local"], note=note, seal=answer["seal"], spot=spot)


def glance(tab: Tab, key: object) -> None:
    """A key is about to come: what has the focus is asked while the call is read and placed (0.3 ms, M)."""
    if not isinstance(key, str) or len(key) > LONGEST_KEY or tab.turn.locked() or tab.hindrance():
        return
    with contextlib.suppress(Failure):  # of what is no key the call is told
        enter = keys.presses(key)
        tab.glance = (time.monotonic(), enter, asyncio.ensure_future(_seen_at_a_glance(tab, enter)))


async def _seen_at_a_glance(tab: Tab, enter: bool) -> dict[str, Any] | None:
    try:
        return await _focused(tab, enter=enter)
    except (Failure, ProtocolError, WorldGone):
        return None  # whoever looks will say why


async def _glanced(tab: Tab, *, enter: bool) -> tuple[float, dict[str, Any]]:
    """What has the focus, and when that was asked, if it was asked ahead a moment ago."""
    known, tab.glance = tab.glance, None
    if known and known[1] == enter and time.monotonic() - known[0] < GLANCE_S and (answer := await known[2]):
        return known[0], answer
    return 0.0, await _focused(tab, enter=enter)


async def _focused(tab: Tab, *, enter: bool) -> dict[str, Any]:
    async def ask(world: World, _: float, __: float) -> dict[str, Any]:
        return await world.call("focusAim", {"enter": enter}, timeout=AIM_TIMEOUT_S)

    return await _descend(tab, ask, 0, 0)


async def _at(tab: Tab, x: float, y: float) -> dict[str, Any]:
    async def ask(world: World, x: float, y: float) -> dict[str, Any]:
        return await world.call("pointAim", x, y, timeout=AIM_TIMEOUT_S)

    return await _descend(tab, ask, x, y)


async def _descend(
    tab: Tab, ask: Callable[[World, float, float], Awaitable[dict[str, Any]]], x: float, y: float
) -> dict[str, Any]:
    """From the page into whichever frame the answer lies in."""
    frame = tab.frames.main
    for _ in range(MAX_FRAME_DEPTH):
        world = await tab.frames.ready(frame, CHECK_TIMEOUT_S)
        answer = await ask(world, x, y)
        owner = answer.get("frame", 0)
        inner = await inside(tab, frame, owner) if owner else None
        if inner is None and "seal" in answer:
            element = Element(frame, world, answer["local"], "") if "local" in answer else None
            return {**answer, "seal": f"{world.uid} {answer['seal']}", "element": element}
        if inner is None:
            raise _changed("a frame")
        if origin := await world.call("frameOrigin", owner):
            x, y = (x - origin["x"]) / (origin["scaleX"] or 1), (y - origin["y"]) / (origin["scaleY"] or 1)
        frame = inner
    raise Failure("unsupported", "frames are nested too deep", suggestions=["name the element by a target"])


async def inside(tab: Tab, parent: Frame, owner: int) -> Frame | None:
    for child in tab.frames.children(parent):
        if await owner_in(tab, child, parent) == owner:
            return child
    return None


def _sights(answer: dict[str, Any]) -> tuple[Sight, ...]:
    return _told(answer.get("sights", []))


def _told(sights: list[dict[str, Any]]) -> tuple[Sight, ...]:
    return tuple(msgspec.convert(one, Sight) for one in sights)


def _placed(sights: tuple[Sight, ...]) -> tuple[Sight, ...]:
    """What it is and where, without what a press on it would set off."""
    return tuple(Sight(one.role, one.name, one.kind, url=one.url) for one in sights[:1])


def _key(target: Target) -> str:
    return target if isinstance(target, str) else "\0".join(target)


def _changed(what: str) -> Failure:
    return Failure(
        "not_actionable",
        f"{what} is another one than was judged: nothing was done",
        details={"reason": "changed"},
        suggestions=["look at the page (get_page_state) and repeat the step"],
    )


def _nothing_new(sights: tuple[Sight, ...]) -> None:
    return None
