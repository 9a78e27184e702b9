"""The page as an agent reads it: the walker's lines of all frames, put together, numbered and kept within a budget.

Above: tools. Below: unseen and listeners (what the walker cannot see by itself), tab, refs, world.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from pilothouse.browser import unreached, viewer
from pilothouse.browser.budget import clip, fitting, tokens
from pilothouse.browser.difference import Difference, gone_outside, too_much
from pilothouse.browser.document import Base, Place, Seen
from pilothouse.browser.excerpt import Long, is_long, read
from pilothouse.browser.frames import Frame
from pilothouse.browser.listeners import tell_listeners, told_ahead
from pilothouse.browser.locate import optional_scope, stale
from pilothouse.browser.origins import origin_of
from pilothouse.browser.owners import holders, known_holders, owner_in
from pilothouse.browser.tab import Tab
from pilothouse.browser.unseen import open_roots
from pilothouse.browser.whereabouts import Look, News, known, remember, settle
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure
from pilothouse.result import counted, plain_url, quoted

DEFAULT_BUDGET = 2500
FRAME_TIMEOUT_S = 3.0
PAGE_TIMEOUT_S = 20.0
MAX_FRAME_DEPTH = 5
MOST_PAGES = 1000
FULL, IN_VIEW = (True, False, 0), (False, False, 0)  # ways of looking
MOST_FULL = 2000  # lines of a full look that a difference looks at again
MOST_BASES = 4  # parts of a page of which is kept what was shown
TOO_MUCH = "(too much has changed for a difference: the whole page)"
MOSTLY_NEW = "(most of what is shown is new: the whole page)"
OTHERWISE = "(you last looked at it in another way: the whole page)"
NO_SHORTER = "(a difference would be no shorter: the whole page)"
WHOLE = "(the whole page)"  # where there is no room for a reason
ELSEWHERE = "(more has changed outside the view)"
UNTOLD = "(the page was too busy to say what listens for clicks: what can be pressed may read as text; look again)"
_WORD = re.compile(r"\w+")

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
    """`text` is the page's; `truncated` says that more can be had, its last line how."""

    url: str
    title: str
    text: str
    truncated: bool = False
    unchanged: bool = False


async def take(tab: Tab, options: Options) -> Snapshot:
    """One look at a time: what each shows is what the next one leaves out, or is compared with."""
    async with tab.seen.turn:
        return await _take(tab, options)


async def _take(tab: Tab, options: Options) -> Snapshot:
    frame, scope = await optional_scope(tab, options.scope)
    part = (frame.world.uid, scope) if scope and frame.world else (frame.id, 0)
    last = _seen(tab).bases.get(part) if options.diff and options.page == 1 else None
    if last and last.view == FULL and _view(options) == IN_VIEW and len(last.lines) <= MOST_FULL:
        options = msgspec.structs.replace(options, full=True)  # who was shown everything is told what changed anywhere
    wanted: dict[str, Any] = {
        "scope": scope,
        "full": options.full,
        "interactive": options.interactive,
        "depth": options.depth,
    }
    if options.page > 1:
        return await _further(tab, frame, wanted, options)
    in_view = not (scope or options.full)
    root = await _look(tab, frame, wanted, last.counts if last and in_view else None)
    lines = _indented(root)
    tab.title = root.title if frame is tab.frames.main else tab.title
    look = Look(lines, root.said, root.counts, root.news)
    last = _seen(tab).bases.get(part) if options.diff else None  # another document may have come
    base = last if last and last.view == _view(options) else None
    told = await _difference(tab, base, look, in_view=in_view) if base else None
    now = Base(_view(options), lines, root.said, counts=root.counts)
    if base and told:
        now.aside, now.outside = base.aside, base.outside
    _keep(tab, part, now)
    remember(now, look)
    gone = told.outside if told else []
    root.more_news = root.more_news or (root.loses and not gone)
    outside = [*gone, *_out_of_view(root, options.budget)]
    if told and not _costs_more(told.lines, [NO_SHORTER, _title(root), *lines]):
        return _changes(root, [*told.lines, *outside], options.budget)
    notes = _notes(_reason(told, len(lines)) if base else OTHERWISE, outside, options.budget) if last else []
    return _first(_seen(tab), options, root, lines, notes)


async def _further(tab: Tab, frame: Frame, wanted: dict[str, Any], options: Options) -> Snapshot:
    """A page shows what those before it have not, or would not have, had anybody asked for them. All but the first are
    cut out of one walk over everything."""
    root = await _look(tab, frame, {**wanted, "full": True})
    lines = _indented(root)
    if not _seen(tab).pages:
        begun = root if options.full or options.scope else await _look(tab, frame, wanted)
        _first(_seen(tab), msgspec.structs.replace(options, page=1), begun, _indented(begun), [])
    seen = _seen(tab)
    page = min(max(seen.pages), options.page - 1) + 1
    for left in _cut(options, root, _unread(seen, page, lines), page):
        seen.pages[page] = left.lines
        if page == options.page:
            return left.shown(root, options)
        page += 1
        await asyncio.sleep(0)  # a page may be long, and others want to be served
    last = page - 1
    raise Failure(
        "not_found",
        f"there {'is' if last == 1 else 'are'} only {counted(last, 'page')}",
        suggestions=[f"page={last} is the last" if last > 1 else "", "page=1 looks at the page again"][last == 1 :],
    )


def _indented(part: "_Part") -> list[str]:
    return ["  " * depth + text for depth, text in part.lines]


def _seen(tab: Tab) -> Seen:
    """What the caller has read of this document."""
    if tab.seen.document is not tab.document:
        tab.seen.begin(tab.document)
    return tab.seen


def _view(options: Options) -> tuple[bool, bool, int]:
    return options.full, options.interactive, options.depth


def _keep(tab: Tab, part: Place, base: Base) -> None:
    bases = _seen(tab).bases
    bases.pop(part, None)
    bases[part] = base
    if len(bases) > MOST_BASES:
        del bases[next(iter(bases))]


class Whole(msgspec.Struct, frozen=True):
    """Every line of a tab, and by its number what a line leaves out."""

    lines: Lines
    long: dict[int, Long]


async def whole(tab: Tab) -> Whole:
    """All there is in the tab, frames included, for searching. Masked first: who searches for the beginning of a secret
    finds nothing."""
    frame, mask = tab.here, tab.terms.redact_registered
    wanted: dict[str, Any] = {"scope": 0, "full": True, "interactive": False, "depth": 0, "whole": True}
    lines = (await _look(tab, frame, wanted)).lines
    long = {number: read(line, mask) for number, (_, line) in enumerate(lines) if is_long(line)}
    shown = [(depth, long[at].shown if at in long else mask(line)) for at, (depth, line) in enumerate(lines)]
    return Whole(shown, long)


class _Part(msgspec.Struct):
    """What one frame, with the frames in it, gave."""

    lines: Lines
    url: str = ""
    title: str = ""
    above: int = 0
    below: int = 0
    sends: list[str] = []  # the buttons that the forms in view end with
    counts: dict[str, int] = {}  # of changes that each frame's world had seen by then
    said: dict[str, list[Place]] = {}  # of a look at the view: lines without a ref, and where each stands
    news: list[News] = []  # what has changed out of view
    more_news: bool = False
    loses: bool = False  # something there has gone
    site: str = ""  # where a frame is from, if that is elsewhere than what it lies in


async def _look(tab: Tab, frame: Frame, wanted: dict[str, Any], since: dict[str, int] | None = None) -> _Part:
    """Who listens for clicks is asked first. Where that was done ahead, nobody waits for the answer; should somebody
    have come since, the page is walked again."""
    await tab.frames.ready(frame, PAGE_TIMEOUT_S)  # without our world nobody could be told who listens
    if not told_ahead(tab):
        await tell_listeners(tab, all_of_them=wanted["full"])
        return _honest(tab, await _gather(tab, frame, wanted, PAGE_TIMEOUT_S, since))
    telling = asyncio.ensure_future(tell_listeners(tab, all_of_them=wanted["full"]))
    try:
        root = await _gather(tab, frame, wanted, PAGE_TIMEOUT_S, since)
        again = await telling
        return _honest(tab, await _gather(tab, frame, wanted, PAGE_TIMEOUT_S, since) if again else root)
    finally:
        telling.cancel()


def _honest(tab: Tab, part: _Part) -> _Part:
    if tab.document.untold:
        part.lines.insert(0, (0, UNTOLD))
    return part


async def _gather(
    tab: Tab, frame: Frame, wanted: dict[str, Any], timeout: float, since: dict[str, int] | None = None, level: int = 0
) -> _Part:
    if told := unreached.line(tab, frame) or viewer.line(tab, frame):
        return _Part([(0, told)], frame.unreachable or frame.url, tab.title)
    world = await tab.frames.ready(frame, timeout)
    try:
        answer = await _walked(tab, frame, world, {**wanted, "since": (since or {}).get(world.uid, -1)}, timeout)
    except WorldGone:
        await tab.signal.until(lambda: not tab.route.navigating, timeout)
        world = await tab.frames.ready(frame, timeout)
        answer = await _walked(tab, frame, world, {**wanted, "scope": 0}, timeout)
    if answer.get("error") == "stale":
        raise stale("scope", "the element is gone")
    own = [(depth, text, tab.refs.render(world.uid, text)) for depth, text in answer["lines"]]
    inner = await _inner_frames(tab, frame, answer["frames"], wanted, since, level)
    sends = [tab.refs.render(world.uid, text) for text in answer["sends"]]
    whole = _Part(
        [], answer["url"], answer["title"], answer["above"], answer["below"], sends, {world.uid: answer["at"]}
    )
    if news := answer.get("news"):
        whole.news, whole.more_news = [_news(tab, world, *line) for line in news["lines"]], news["more"]
        whole.loses = news["loses"]
    for (_, text), number in zip(answer["lines"], answer["said"], strict=False):
        if number:
            whole.said.setdefault(text, []).append((world.uid, number))
    for depth, text, rendered in own:
        parts = [inner.pop(one) for one in list(inner) if f"\u0001{one}\u0001" in text]
        whole.lines.append((depth, rendered + "".join(part.site for part in parts)))
        for part in parts:
            whole.lines += [(depth + 1 + deeper, line) for deeper, line in part.lines]
            whole.counts |= part.counts
            for line, places in part.said.items():
                whole.said.setdefault(line, []).extend(places)
            whole.news, whole.more_news = whole.news + part.news, whole.more_news or part.more_news
            whole.loses = whole.loses or part.loses
    return whole


def _news(tab: Tab, world: World, text: str, number: int) -> News:
    return News(tab.refs.render(world.uid, text), (world.uid, number) if number else None)


async def _walked(tab: Tab, frame: Frame, world: World, wanted: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Which objects and embeds hold a page, only the browser knows: it is asked where there are any."""
    known = known_holders(tab, frame, world)
    answer = await _walk(world, {**wanted, "held": known}, timeout)
    unknown = {*answer.get("panes", ())} - {*known}
    if not unknown or not unknown & {*(held := await holders(tab, frame, world))}:
        return answer
    return await _walk(world, {**wanted, "held": held}, timeout)


async def _walk(world: World, wanted: dict[str, Any], timeout: float) -> dict[str, Any]:
    answer = await world.call("snapshot", wanted, timeout=timeout)
    while answer.get("hosts") and await open_roots(world, answer["hosts"]):
        answer = await world.call("snapshot", wanted, timeout=timeout)
    return answer


async def _inner_frames(
    tab: Tab, frame: Frame, printed: list[int], wanted: dict[str, Any], since: dict[str, int] | None, level: int
) -> dict[int, _Part]:
    """The lines of every frame inside that is printed, by the local ref of its element. One that does not answer says
    so."""
    if not printed or level >= MAX_FRAME_DEPTH:
        return {}
    children = tab.frames.children(frame)
    parts = await asyncio.gather(*(_inner(tab, frame, child, printed, wanted, since, level) for child in children))
    return {local: part for local, part in parts if part}


async def _inner(
    tab: Tab,
    parent: Frame,
    child: Frame,
    printed: list[int],
    wanted: dict[str, Any],
    since: dict[str, int] | None,
    level: int,
) -> tuple[int, _Part | None]:
    """What is not in view is not read: it would keep those waiting that are."""
    try:
        local = await owner_in(tab, child, parent)
    except (Failure, ProtocolError, WorldGone):
        return 0, None
    if local not in printed:
        return local, None
    try:
        part = await _gather(tab, child, {**wanted, "scope": 0}, FRAME_TIMEOUT_S, since, level + 1)
    except (Failure, ProtocolError, WorldGone) as error:
        return local, _Part([(0, f"(this frame did not answer: {error})")])
    if hidden := part.above + part.below:
        part.lines.append((0, f"({counted(hidden, 'more item')} in this frame: page=2)"))
    part.site = _elsewhere(tab, child, parent)
    return local, part


def _elsewhere(tab: Tab, child: Frame, parent: Frame) -> str:
    """As after a link: whose words these are matters where they are not the page's. A frame without an address of its
    own (`srcdoc`) is of the one around it."""
    around: Frame | None = parent
    while around and not origin_of(around.url):
        around = tab.frames.get(around.parent)
    origin = origin_of(child.url)
    is_own = around is not None and origin == origin_of(around.url)
    return f" -> {plain_url(origin.partition('://')[2], 60)}" if origin and not is_own else ""


# Pages, differences


def _first(seen: Seen, options: Options, part: _Part, lines: list[str], note: list[str]) -> Snapshot:
    """The view (or everything, if that was asked for): header, lines and the hint at what is left, together within the
    budget."""
    head = [*note, clip(_title(part), options.budget // (6 if note else 3))]
    if tokens(" ".join(part.sends)) > options.budget // 4:
        part.sends = []
    room = options.budget - tokens("\n".join([*head, _more(options, part, len(lines), MOST_PAGES)])) - 2
    count = fitting(lines, room)
    seen.pages = {1: lines[:count]}
    shown = _whole_or_clipped(lines[:count], room)
    part.sends = [button for button in part.sends if not _shows(shown, button)]
    pages = _pages(1, lines[:count], lines[count:]) if options.full or options.scope else 0
    more = _more(options, part, len(lines) - count, pages)
    body = [*head, *shown, *([more] if more else [])]
    return Snapshot(part.url, part.title, "\n".join(body), bool(more))


class _Cut(msgspec.Struct, frozen=True):
    """One page of what is left."""

    lines: list[str]
    room: int
    rest: list[str]

    def shown(self, part: _Part, options: Options) -> Snapshot:
        more = _more(options, part, len(self.rest), _pages(options.page, self.lines, self.rest))
        body = [*_whole_or_clipped(self.lines, self.room), *([more] if more else [])]
        return Snapshot(part.url, part.title, "\n".join(body), bool(more))


def _cut(options: Options, part: _Part, lines: list[str], page: int) -> Iterator[_Cut]:
    while lines:
        more = _more(msgspec.structs.replace(options, page=page), part, len(lines), MOST_PAGES)
        room = options.budget - tokens(more) - 2
        count = fitting(lines, room)
        yield _Cut(lines[:count], room, lines[count:])
        lines = lines[count:]
        page += 1


def _whole_or_clipped(lines: list[str], room: int) -> list[str]:
    return lines if len(lines) > 1 else [clip(line, room) for line in lines]


def _pages(page: int, shown: list[str], rest: list[str]) -> int:
    """About how many there are, this one being as long as any; to count them would take as long as to walk the page."""
    length = sum(map(len, shown))
    return min(page + math.ceil(sum(map(len, rest)) / max(length, 1)), MOST_PAGES)


def _title(part: _Part) -> str:
    return f"{plain_url(part.url)}  {quoted(part.title, 300)}"


def _unread(seen: Seen, page: int, lines: list[str]) -> list[str]:
    """The lines that no page before this one has shown. The first page shows the viewport, the others all the rest."""
    read = Counter(line.strip() for number in range(1, page) for line in seen.pages[number])
    unread: list[str] = []
    for line in lines:
        if read[line.strip()]:
            read[line.strip()] -= 1
        else:
            unread.append(line)
    return unread


def _more(options: Options, part: _Part, left: int, pages: int) -> str:
    """How to read on; `pages`: of about how many, 0 if that is not known."""
    above, below = (part.above, left + part.below) if options.page == 1 else (0, left)
    sides = ((above, "above"), (below, "below"))
    counts = [f"{counted(count, 'more item')} {where}" for count, where in sides if count]
    if not counts:
        return ""
    if options.budget < 200:
        return f"({', '.join(counts)}: page={options.page + 1})"
    among = f", {' and '.join(part.sends)} among them" if part.sends and options.page == 1 else ""
    of = f" of about {pages}" if pages else ""
    return f"({', '.join(counts)}{among}: page={options.page + 1}{of}, find, or scope=<ref>)"


def _shows(lines: list[str], button: str) -> bool:
    ref = button.rpartition(" ")[2]
    return any(ref in line and ref in _WORD.findall(line) for line in lines)


def _changes(part: _Part, changed: list[str], budget: int) -> Snapshot:
    rest = f"get_page_state without diff{', full for what is outside the view' if part.news or part.more_news else ''}"
    hint = f"({len(changed)} more changed lines: {rest})"
    count = fitting(changed, budget - tokens(hint) - 2)
    shown = [clip(line, budget - tokens(hint) - 2) for line in changed[:count]] if count == 1 else changed[:count]
    left = len(changed) - count
    if left:
        shown = [*shown, f"({left} more changed lines: {rest})"]
    return Snapshot(part.url, part.title, "\n".join(shown), bool(left), unchanged=not changed)


class _Told(msgspec.Struct, frozen=True):
    """What a difference says of what is shown, and of what was known and is gone elsewhere."""

    lines: list[str]
    outside: list[str]


def _reason(told: _Told | None, shown: int) -> str:
    """Why the page is shown. One that was scrolled has changed little, and is new to the reader all the same."""
    if told is None:
        return TOO_MUCH
    return MOSTLY_NEW if 2 * sum(line.startswith("+") for line in told.lines) > shown else NO_SHORTER


def _notes(reason: str, outside: list[str], budget: int) -> list[str]:
    """What stands before the page: what it does not show would be told never again."""
    if budget < 100:
        return [ELSEWHERE] if outside else [WHOLE]
    if fitting([reason, *outside], budget // 3) > len(outside):
        return [reason, *outside]
    count = fitting([reason, ELSEWHERE, *outside], budget // 3) - 2
    return [reason, *outside[: max(count, 0)], ELSEWHERE]


def _out_of_view(part: _Part, budget: int) -> list[str]:
    some = "something else" if part.news else "something"
    hint = [f"({some} has changed outside the view: full, find or scope)"] if part.more_news else []
    return [*(f"+ {clip(one.line, budget // 6)} (outside the view)" for one in part.news), *hint]


async def _difference(tab: Tab, base: Base, look: Look, *, in_view: bool) -> _Told | None:
    """What has changed since the caller last looked; None if that is too much. What is not shown by a look at more than
    the view is not there."""
    if too_much(base.lines, look.lines):
        return None
    change = Difference(base.lines, look.lines, known(base, look))
    lost = await settle(tab, base, change, look) if in_view else []
    return _Told(change.lines(), gone_outside(lost))


def _costs_more(told: list[str], lines: list[str]) -> bool:
    return tokens("\n".join(told)) > tokens("\n".join(lines))
