"""What became of lines that a look shows no more: still there, out of view or behind a dialog, or gone.

Above: snapshot. Below: tab, frames, world (said.js). A line is known by its element, or by the nodes that it was read
from: the same words elsewhere are other words. Only these are asked about; nobody reads the page for it.
"""

import asyncio
from collections import defaultdict
from typing import Any

import msgspec

from pilothouse.browser.difference import Difference, first_ref, refs_in
from pilothouse.browser.document import Base, Place
from pilothouse.browser.frames import Frame
from pilothouse.browser.input import owner_in
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

ASK_TIMEOUT_S = 3.0
MOST_ASIDE = 5000


class Look(msgspec.Struct, frozen=True):
    """A page's lines; `said` are those without a ref, and where each stands; `way` is how they are printed."""

    lines: list[str]
    said: dict[str, list[Place]]
    way: dict[str, Any]


class _Question(msgspec.Struct):
    """For one world: of which of its elements and lines it should tell whether they are there."""

    elements: dict[int, str] = {}
    lines: dict[int, str] = {}


def known(base: Base, look: Look) -> list[str]:
    """Lines that the reader has been told, should they be shown again: of words only the very same ones, not
    others that say the same."""
    return [line for key, line in base.aside.items() if isinstance(key, str) or key in look.said.get(line, ())]


async def settle(tab: Tab, base: Base, change: Difference, look: Look) -> None:
    """Of what is shown no more, find out what is still there."""
    gone = [node.line for node in change.gone]
    if not gone and not base.aside:
        return
    refs = {ref for line in look.lines for ref in refs_in(line)}  # a control may stand in the line of another one
    places = {place for found in look.said.values() for place in found}
    there = await _find(tab, base, [line for line in gone if first_ref(line) not in refs], look)
    change.spare(there.values())
    still = {key: line for key, line in base.aside.items() if key not in refs and key not in places}
    base.aside = dict([*(still | there).items()][-MOST_ASIDE:])


async def _find(tab: Tab, base: Base, gone: list[str], look: Look) -> dict[str | Place, str]:
    """Those of the lines that are there, by what each is known by."""
    questions: dict[str, _Question] = defaultdict(_Question)
    keys: dict[Place, str] = {}
    for line in dict.fromkeys(gone):
        if ref := first_ref(line):
            if place := tab.refs.place(ref):
                questions[place[0]].elements[place[1]] = line
                keys[place] = ref
            continue
        for uid, number in {*base.said.get(line, ())} - {*look.said.get(line, ())}:
            questions[uid].lines[number] = line
    there: dict[str | Place, str] = {}
    answers = await asyncio.gather(*(_ask(tab, uid, asked, look.way) for uid, asked in questions.items()))
    for (uid, asked), answer in zip(questions.items(), answers, strict=True):
        there |= {keys[uid, number]: asked.elements[number] for number in answer["elements"]}
        there |= {(uid, number): asked.lines[number] for number in answer["lines"]}
    return there


async def _ask(tab: Tab, uid: str, asked: _Question, way: dict[str, Any]) -> dict[str, list[int]]:
    """Of a frame that is gone or does not answer, nothing is there."""
    question = {"elements": [*asked.elements.items()], "lines": [*asked.lines.items()], "print": way}
    world = tab.frames.world(uid)
    frame = tab.frames.get(world.frame_id) if world else None
    try:
        if world and frame and frame.world is world and await _is_drawn(tab, frame):
            return await world.call("there", question, timeout=ASK_TIMEOUT_S)
    except (ProtocolError, WorldGone):
        pass
    except Failure:
        if frame is tab.here:
            raise
    return {"elements": [], "lines": []}


async def _is_drawn(tab: Tab, frame: Frame) -> bool:
    """Whether the elements that hold the frame can be seen: of that its own world knows nothing."""
    while frame is not tab.here and frame.parent and (parent := tab.frames.get(frame.parent)):
        local = await owner_in(tab, frame, parent)
        world = await tab.frames.ready(parent, ASK_TIMEOUT_S)
        if not (await world.call("there", {"elements": [(local, "")]}, timeout=ASK_TIMEOUT_S))["elements"]:
            return False
        frame = parent
    return True
