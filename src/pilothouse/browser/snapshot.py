"""The page as an agent reads it: the walker's lines of all frames, put together, numbered and kept within a budget.

Above: tools. Below: unseen (what the walker cannot see by itself), tab, refs, world.
"""

import asyncio
import math
import re
from difflib import SequenceMatcher
from typing import Any

import msgspec

from pilothouse.browser.frames import Frame
from pilothouse.browser.input import owner_in
from pilothouse.browser.locate import optional_scope, stale
from pilothouse.browser.patterns import regular
from pilothouse.browser.tab import Seen, Tab
from pilothouse.browser.unseen import open_roots, tell_listeners
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

DEFAULT_BUDGET = 2500
SMALLEST_BUDGET = 50
BYTES_PER_TOKEN = 2.6  # fewer than any tokenizer needs for such text, so the real count stays below
DIFF_SHARE = 0.4
FRAME_TIMEOUT_S = 3.0
PAGE_TIMEOUT_S = 20.0
MAX_FRAME_DEPTH = 5

Lines = list[tuple[int, str]]


class Options(msgspec.Struct, frozen=True):
    scope: str | list[str] | None = None
    full: bool = False
    interactive: bool = False
    depth: int = 0
    budget: int = DEFAULT_BUDGET
    page: int = 1
    diff: bool = False


class Snapshot(msgspec.Struct, frozen=True):
    """`text` is the page's; `truncated` says that more can be had, `more` how."""

    url: str
    title: str
    text: str
    truncated: bool = False
    more: str = ""
    unchanged: bool = False


async def take(tab: Tab, options: Options) -> Snapshot:
    frame, scope = await optional_scope(tab, options.scope)
    wanted: dict[str, Any] = {
        "scope": scope,
        "full": options.full or options.page > 1,
        "interactive": options.interactive,
        "depth": options.depth,
    }
    await tell_listeners(tab)
    root = await _gather(tab, frame, wanted, PAGE_TIMEOUT_S, 0)
    lines = ["  " * depth + text for depth, text in root.lines]
    tab.title = root.title if frame is tab.frames.main else tab.title
    shown = _difference(tab, lines) if options.diff else None
    _remember(tab, options, lines)
    if shown is not None:
        body, more = _within(shown, options.budget)
        more = f"({more} more changed lines)" if more else ""
        return Snapshot(root.url, root.title, "\n".join(body), bool(more), more, unchanged=not shown)
    return _page(tab, options, root, lines)


async def whole(tab: Tab) -> Lines:
    """Every line of the tab, frames included, for searching."""
    frame = tab.frame or tab.frames.main
    wanted: dict[str, Any] = {"scope": 0, "full": True, "interactive": False, "depth": 0}
    await tell_listeners(tab)
    return (await _gather(tab, frame, wanted, PAGE_TIMEOUT_S, 0)).lines


class _Part(msgspec.Struct):
    """What one frame, with the frames in it, gave."""

    lines: Lines
    url: str = ""
    title: str = ""
    above: int = 0
    below: int = 0


async def _gather(tab: Tab, frame: Frame, wanted: dict[str, Any], timeout: float, level: int) -> _Part:
    world = await tab.frames.ready(frame, timeout)
    try:
        answer = await _walk(world, wanted, timeout)
    except WorldGone:
        await tab.signal.until(lambda: not tab.navigating, timeout)
        world = await tab.frames.ready(frame, timeout)
        answer = await _walk(world, {**wanted, "scope": 0}, timeout)
    if answer.get("error") == "stale":
        raise stale("scope", "the element is gone")
    own = [(depth, text, tab.refs.render(world.uid, text)) for depth, text in answer["lines"]]
    inner = await _inner_frames(tab, frame, world, answer["frames"], wanted, level)
    lines: Lines = []
    for depth, text, rendered in own:
        lines.append((depth, rendered))
        for local in [one for one in inner if f"\u0001{one}\u0001" in text]:
            lines += [(depth + 1 + deeper, line) for deeper, line in inner.pop(local)]
    tab.seen.changes[world.uid] = answer["changes"]
    return _Part(lines, answer["url"], answer["title"], answer["above"], answer["below"])


async def _walk(world: World, wanted: dict[str, Any], timeout: float) -> dict[str, Any]:
    answer = await world.call("snapshot", wanted, timeout=timeout)
    while answer.get("hosts") and await open_roots(world, answer["hosts"]):
        answer = await world.call("snapshot", wanted, timeout=timeout)
    return answer


async def _inner_frames(
    tab: Tab, frame: Frame, world: World, printed: list[int], wanted: dict[str, Any], level: int
) -> dict[int, Lines]:
    """The lines of every frame inside, by the local ref of its element. One that does not answer says so."""
    if not printed or level >= MAX_FRAME_DEPTH:
        return {}
    children = tab.frames.children(frame)
    parts = await asyncio.gather(*(_inner(tab, frame, child, wanted, level) for child in children))
    return {local: lines for local, lines in parts if local in printed}


async def _inner(tab: Tab, parent: Frame, child: Frame, wanted: dict[str, Any], level: int) -> tuple[int, Lines]:
    try:
        local = await owner_in(tab, child, parent)
    except (Failure, ProtocolError, WorldGone):
        return 0, []
    try:
        part = await _gather(tab, child, {**wanted, "scope": 0}, FRAME_TIMEOUT_S, level + 1)
    except (Failure, ProtocolError, WorldGone) as error:
        return local, [(0, f"(this frame did not answer: {error})")]
    return local, part.lines


# Searching


def search(lines: Lines, text: str, pattern: str, role: str, limit: int) -> tuple[list[str], int]:
    """Lines that hold the text, fit the pattern and show the role, each with the headings it stands under."""
    needle = " ".join(text.split()).lower()
    fits = regular(pattern) if pattern else None
    shows = regular(rf"(^|[|:] ){re.escape(role)}\b") if role else None
    hits: list[str] = []
    total = 0
    for index, (_, line) in enumerate(lines):
        if needle in line.lower() and (fits is None or fits(line)) and (shows is None or shows(line)):
            total += 1
            if len(hits) < limit:
                hits.append(" > ".join([*_above(lines, index), line]))
    return hits, total


def _above(lines: Lines, index: int) -> list[str]:
    """The nearest two lines that a line is nested in."""
    depth, found = lines[index][0], list[str]()
    for at in range(index - 1, -1, -1):
        if lines[at][0] < depth:
            depth = lines[at][0]
            found.insert(0, lines[at][1][:80])
            if depth == 0 or len(found) == 2:
                break
    return found


# Budget, pages, differences


def tokens(text: str) -> int:
    """More than any model will count."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def _within(lines: list[str], budget: int) -> tuple[list[str], int]:
    """As many lines as the budget holds, and how many are left."""
    room = max(budget, SMALLEST_BUDGET)
    for index, line in enumerate(lines):
        room -= tokens(line) + 1
        if room < 0:
            if index == 0:
                return [line[: int(max(budget, SMALLEST_BUDGET) * BYTES_PER_TOKEN / 4)] + "…"], len(lines) - 1
            return lines[:index], len(lines) - index
    return lines, 0


def paged(text: str, budget: int) -> list[str]:
    """A text in pages that each fit the budget, cut between lines where possible."""
    room = int(max(budget, SMALLEST_BUDGET) * BYTES_PER_TOKEN)
    pages, page, size = list[str](), list[str](), 0
    for line in text.split("\n"):
        for piece in _pieces(line, room):
            length = len(piece.encode()) + 1
            if size + length > room and page:
                pages.append("\n".join(page))
                page, size = [], 0
            page.append(piece)
            size += length
    return [*pages, "\n".join(page)]


def _pieces(line: str, room: int) -> list[str]:
    width = max(room // 4, 1)  # a character has at most four bytes
    return [line] if len(line.encode()) < room else [line[at : at + width] for at in range(0, len(line), width)]


def _page(tab: Tab, options: Options, part: _Part, lines: list[str]) -> Snapshot:
    header = f'{part.url}  "{part.title}"'
    reserve = tokens(header) + 40
    first = _start_of_page(tab, options.page, lines)
    shown, left = _within(lines[first:], options.budget - reserve)
    if shown:
        tab.seen.ends[options.page] = shown[-1]
    if options.page > 1 and not shown:
        raise Failure("not_found", f"there is no page {options.page}: the snapshot ended before")
    more = _more(options, part, left)
    body = [header, *shown, *([more] if more else [])]
    return Snapshot(part.url, part.title, "\n".join(body), bool(more), more)


def _start_of_page(tab: Tab, page: int, lines: list[str]) -> int:
    """A page begins after the last line of the one before, wherever that line stands in the whole text now."""
    if page <= 1:
        return 0
    end = tab.seen.ends.get(page - 1)
    if end is None:
        raise Failure("bad_request", f"read page {page - 1} before page {page}")
    stripped = end.strip()
    return next((i + 1 for i in range(len(lines) - 1, -1, -1) if lines[i].strip() == stripped), 0)


def _more(options: Options, part: _Part, left: int) -> str:
    notes: list[str] = []
    if part.above:
        notes.append(f"{part.above} more items above: full=true, or scroll up")
    below = left + part.below
    if below:
        notes.append(f"{below} more items below: find, scope=<ref>, or page={options.page + 1}")
    return f"({'; '.join(notes)})" if notes else ""


def _remember(tab: Tab, options: Options, lines: list[str]) -> None:
    if options.scope or options.page > 1:
        return
    tab.seen.document = tab.document
    tab.seen.lines = lines


def _difference(tab: Tab, lines: list[str]) -> list[str] | None:
    """Changed lines with `+` and `-`; None when there is nothing to compare with, or too much has changed."""
    seen: Seen = tab.seen
    if seen.document is not tab.document or not seen.lines:
        return None
    changed: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, seen.lines, lines, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += [f"- {line.strip()}" for line in seen.lines[a:b]]
            changed += [f"+ {line}" for line in lines[c:d]]
    whole = sum(len(line) for line in lines)
    return changed if sum(len(line) for line in changed) <= max(DIFF_SHARE * whole, 200) else None
