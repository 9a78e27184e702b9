"""What became of lines that a look shows no more: still there, out of view or behind a dialog, or gone.

Above: snapshot. Below: tab, frames, world (said.js). A line is known by its element, or by the nodes that it was read
from: the same words elsewhere are other words. Only these are asked about; nobody reads the page for it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from pilothouse.browser.difference import Difference, first_ref, refs_in
from pilothouse.browser.document import Base, Key, Place
from pilothouse.browser.frames import Frame
from pilothouse.browser.owners import owner_in
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

ASK_TIMEOUT_S = 3.0
MOST_ASIDE = 5000
MOST_ASKED = 100  # of them, the newest: 1.6 ms where each is a row (M)


class News(msgspec.Struct, frozen=True):
    """A line that is told as outside the view; `place` is where it stands, if it has no ref."""

    line: str
    place: Place | None

    @property
    def key(self) -> Key | None:
        return first_ref(self.line) or self.place


class Look(msgspec.Struct, frozen=True):
    """A page's lines; `said` are those without a ref, and where each stands; `counts` are the changes that each frame's
    world has seen; `news` is told beside the lines."""

    lines: list[str]
    said: dict[str, list[Place]]
    counts: dict[str, int]
    news: list[News]

    def shown(self) -> set[Key]:
        """All that is told of somewhere in its lines: a control may stand in the line of another one."""
        refs = {ref for line in self.lines for ref in refs_in(line)}
        return refs | {place for places in self.said.values() for place in places}


class _Question(msgspec.Struct):
    """For one world: of which of its elements and lines it should tell whether they are there. Those aside were there
    `since`."""

    elements: dict[int, str] = {}
    lines: dict[int, str] = {}
    aside: dict[int, str] = {}
    since: int = -1


def known(base: Base, look: Look) -> list[str]:
    """Lines that the reader has been told, should they be shown again: of words only the very same ones, not
    others that say the same."""
    return [line for key, line in base.aside.items() if isinstance(key, str) or key in look.said.get(line, ())]


async def settle(tab: Tab, base: Base, change: Difference, look: Look) -> list[str]:
    """Of what is shown no more, find out what is still there. Gives what was not shown before either and is gone."""
    gone = [node.line for node in change.gone]
    if not gone and not base.aside:
        return []
    shown = look.shown()
    left = _known_by(base, [line for line in gone if first_ref(line) not in shown], look)
    aside = {key: line for key, line in base.aside.items() if key not in shown}
    told = {one.key: one.line for one in look.news}
    retold = {key for key in aside if key in told}
    asked = {key: aside[key] for key in _doubtful(tab, base, look, aside) if key not in retold}
    there = await _find(tab, base, left, asked)
    change.spare(line for key, line in there.items() if key in left)
    lost = {key for key in asked if key not in there} | {key for key in retold if told[key] != aside[key]}
    still = {key: line for key, line in aside.items() if key not in lost}
    base.aside = dict([*(still | {key: there[key] for key in left if key in there}).items()][-MOST_ASIDE:])
    base.outside &= base.aside.keys()
    return [line for key, line in aside.items() if key in lost]


def remember(base: Base, look: Look) -> None:
    """What was told as outside the view is known from now on."""
    shown = look.shown() if look.news else set[Key]()
    told = {one.key: one.line for one in look.news if one.key and one.key not in shown}
    base.aside = base.aside | told
    base.outside = base.outside | told.keys()


def _known_by(base: Base, lines: list[str], look: Look) -> dict[Key, str]:
    """Lines of the last look that this one does not show, by what each is known by."""
    keys: dict[Key, str] = {}
    for line in dict.fromkeys(lines):
        if ref := first_ref(line):
            keys[ref] = line
        else:
            keys |= dict.fromkeys({*base.said.get(line, ())} - {*look.said.get(line, ())}, line)
    return keys


def _doubtful(tab: Tab, base: Base, look: Look, aside: Iterable[Key]) -> list[Key]:
    """Of what was not shown before either, what may have gone. Of controls only those that were told as outside the
    view: the others say so when they are used, words cannot."""
    asked = [key for key in aside if not isinstance(key, str) or key in base.outside]
    return [key for key in asked[-MOST_ASKED:] if _may_have_gone(tab, key, base, look)]


def _may_have_gone(tab: Tab, key: Key, base: Base, look: Look) -> bool:
    """Nothing goes where nothing happens; and a frame that this look does not read must not keep it waiting."""
    place = tab.refs.place(key) if isinstance(key, str) else key
    if not place or not tab.frames.world(place[0]):
        return True
    return place[0] in look.counts and look.counts[place[0]] != base.counts.get(place[0])


async def _find(tab: Tab, base: Base, left: dict[Key, str], asked: dict[Key, str]) -> dict[Key, str]:
    """Those of the lines that are there."""
    lines = left | asked
    questions: dict[str, _Question] = defaultdict(_Question)
    refs: dict[Place, str] = {}
    for key, line in lines.items():
        if not isinstance(key, str):
            (questions[key[0]].lines if key in left else questions[key[0]].aside)[key[1]] = line
        elif place := tab.refs.place(key):
            questions[place[0]].elements[place[1]] = line
            refs[place] = key
    for uid, question in questions.items():
        question.since = base.counts.get(uid, -1)
    answers = await asyncio.gather(*(_ask(tab, uid, question) for uid, question in questions.items()))
    there: set[Key] = set()
    for uid, answer in zip(questions, answers, strict=True):
        there |= {(uid, number) for number in answer["lines"]} | {refs[uid, number] for number in answer["elements"]}
    return {key: line for key, line in lines.items() if key in there}


async def _ask(tab: Tab, uid: str, asked: _Question) -> dict[str, list[int]]:
    """Of a frame that is gone or does not answer, nothing is there."""
    kinds = {"elements": asked.elements, "lines": asked.lines, "aside": asked.aside}
    question = {**{kind: [*lines.items()] for kind, lines in kinds.items()}, "since": asked.since}
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
