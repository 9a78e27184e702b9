"""What has changed between two snapshots: what is new, what is gone, what has moved, under the lines around it.

Above: snapshot. Below: budget. Lines are compared as the tree that their indentation draws: what stays under a parent
that stays is not told again, however much has changed beside it. Of what is gone a line is enough, with how many went
with it; only what is new has to be read whole.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from difflib import SequenceMatcher
from itertools import takewhile

from pilothouse.browser.budget import tokens
from pilothouse.result import counted

MOST_PAIRS = 100_000  # 316 repeating lines on either side keep the matcher busy for 0.3 s, 1,000 for 10 s
MOST_DEPTH = 60  # deeper lines are told as if they lay here
MOST_ALIKE = 40  # parts that are compared with each other for what they have in common
MOST_CHANGED = 5000  # lines that are there now and were not, or the other way round: more are read as a page
GONE_CHARS = 100
GONE_SHOWN = 6  # lines in a row; of more, the first and the last
NEIGHBOUR = 5  # tokens that a line may cost more than its count: it tells the place better
LEGEND = "(> stood elsewhere before)"
# What a page says: in quotes, of its make, in its lists, and where its links lead.
_PAGES_OWN = re.compile(r'"(?:[^"\\]|\\.)*"| <[^<>]*>| options\(.*?\)(?= |$)| -> \S+')
_REF = re.compile(r"\be[1-9]\d*\b")
_ROLE = re.compile(r"[\w-]+|\W")

NEW, GONE, MOVED, AROUND = "+", "-", ">", " "
WAS, SAME, BACK = "was", "same", "back"  # how a line that stays read before; what stays; what is shown again


class Node:
    """A line with the lines in it."""

    __slots__ = ("_content", "depth", "digest", "kids", "line", "mark", "size")

    def __init__(self, line: str, depth: int) -> None:
        self.line = line
        self.depth = depth
        self.kids: list[Node] = []
        self.size = 1
        self.digest = 0
        self.mark = ""
        self._content: Counter[int] | None = None

    @property
    def content(self) -> Counter[int]:
        """What lies in it, by what it is: counted once, however many it is compared with."""
        if self._content is None:
            self._content = Counter(kid.digest for kid in self.kids)
        return self._content

    def all(self) -> Iterator["Node"]:
        yield self
        for kid in self.kids:
            yield from kid.all()


Entry = tuple[str, Node]
Told = tuple[str, int, str]  # mark, depth, text


class Difference:
    """`shown` is how the page reads now, `before` how it read; `aside` are lines of now which the reader knows from
    earlier, and which were still there when they were shown no more."""

    def __init__(self, before: list[str], shown: list[str], aside: Iterable[str] = ()) -> None:
        self._spent = 0
        self._entries: list[Entry] = []
        self._aside = Counter(aside)
        if before == shown:
            return
        self._compare(_tree(before), _tree(shown))
        self._find_moved()

    @property
    def gone(self) -> list[Node]:
        """What is not shown any more."""
        return self._no_more_shown(GONE)

    def _no_more_shown(self, mark: str) -> list[Node]:
        return [node for kind, root in self._entries if kind == GONE for node in root.all() if node.mark == mark]

    def spare(self, there: Iterable[str]) -> None:
        """These lines are not gone: they are out of view, or behind a dialog."""
        left = Counter(there)
        for node in self.gone:
            if left[node.line]:
                left[node.line] -= 1
                node.mark = BACK

    def lines(self) -> list[str]:
        out = [f"{mark} {'  ' * depth}{text}" for mark, depth, text in _folded(list(self._told()))]
        if left := len(self._no_more_shown(BACK)):
            out.append(f"({counted(left, 'line')} still there, not shown now)")
        return [LEGEND, *out] if any(line.startswith(MOVED) for line in out) else out

    # Comparing

    def _compare(self, old: list[Node], new: list[Node]) -> None:
        pairs = self._paired(old, new)
        staying = dict(_rising(pairs))
        lost = self._lost_after(old, pairs, staying)
        of = dict(pairs)
        self._lose(lost[-1])
        for here, node in enumerate(new):
            if here in of:
                self._keep(old[of[here]], node, moved=here not in staying)
            else:
                self._gain(node)
            self._lose(lost[here])

    @staticmethod
    def _lost_after(old: list[Node], pairs: list[tuple[int, int]], staying: dict[int, int]) -> dict[int, list[Node]]:
        """What is gone, by the one before it that stays."""
        here_of = {there: here for here, there in staying.items()}
        lost: dict[int, list[Node]] = defaultdict(list)
        kept = {there for _, there in pairs}
        before = -1
        for there, node in enumerate(old):
            before = here_of.get(there, before)
            if there not in kept:
                lost[before].append(node)
        return lost

    def _lose(self, nodes: list[Node]) -> None:
        for root in nodes:
            if root.line.startswith("("):
                continue  # a remark of ours about what was left out: another look has others
            for node in root.all():
                node.mark = GONE
            self._entries.append((GONE, root))

    def _gain(self, root: Node) -> None:
        for node in root.all():
            known = self._aside[node.line] > 0
            self._aside[node.line] -= known
            node.mark = BACK if known else NEW
        for node in root.all():
            holds_new = node.mark == BACK and any(one.mark == NEW for one in node.all())
            self._entries.append((AROUND if holds_new else node.mark, node))

    def _keep(self, old: Node, new: Node, *, moved: bool) -> None:
        if old.line != new.line:
            self._entries += [(WAS, old), (NEW, new)]
        else:
            self._entries.append((MOVED if moved else SAME if old.digest == new.digest else AROUND, new))
        if old.digest == new.digest:
            self._entries += [(SAME, node) for kid in new.kids for node in kid.all()]
        else:
            self._compare(old.kids, new.kids)

    def _paired(self, old: list[Node], new: list[Node]) -> list[tuple[int, int]]:
        """Which of the new ones is which of the old ones: the same whole, the same line, the same element, or a thing
        of the same kind with much the same in it. In this order, each at most once."""
        pairs = self._in_order([node.digest for node in old], [node.digest for node in new])
        left = set(range(len(new))) - {here for here, _ in pairs}, set(range(len(old))) - {there for _, there in pairs}
        keys: tuple[Callable[[Node], Hashable], ...] = (lambda node: node.digest, lambda node: node.line, _first_ref)
        for key in keys:
            found = _alike(*left, new, old, key)
            pairs += found
            left = left[0] - {here for here, _ in found}, left[1] - {there for _, there in found}
        return sorted([*pairs, *self._akin(*left, new, old)])

    def _in_order(self, old: list[int], new: list[int]) -> list[tuple[int, int]]:
        """Pairs of equals that stand in the same order on both sides."""
        head = _run(old, new)
        tail = _run(reversed(old[head:]), reversed(new[head:]))
        pairs = [(index, index) for index in range(head)]
        pairs += [(len(new) - index, len(old) - index) for index in range(1, tail + 1)]
        here, there = head, head
        anchors = _rising(_unique(old, new, head, tail))
        for to_here, to_there in [*anchors, (len(new) - tail, len(old) - tail)]:
            pairs += self._matched(old, new, (there, to_there), (here, to_here))
            here, there = to_here + 1, to_there + 1
        return [*pairs, *anchors]

    def _matched(
        self, old: list[int], new: list[int], of_old: tuple[int, int], of_new: tuple[int, int]
    ) -> list[tuple[int, int]]:
        (a, b), (c, d) = of_old, of_new
        self._spent += (b - a) * (d - c)
        if self._spent > MOST_PAIRS:
            return []
        blocks = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_matching_blocks()
        return [(c + block.b + n, a + block.a + n) for block in blocks for n in range(block.size)]

    def _akin(self, here: set[int], there: set[int], new: list[Node], old: list[Node]) -> list[tuple[int, int]]:
        """`table 50 rows` is what `table 51 rows` was if most of its rows are the same."""
        pairs: list[tuple[int, int]] = []
        lost = [index for index in sorted(there) if old[index].kids][:MOST_ALIKE]
        for index in [index for index in sorted(here) if new[index].kids][:MOST_ALIKE]:
            for other in lost:
                if _role(old[other]) == _role(new[index]) and self._shares(old[other], new[index]):
                    pairs.append((index, other))
                    lost.remove(other)
                    break
        return pairs

    def _shares(self, one: Node, other: Node) -> bool:
        fewer, more = sorted((one, other), key=lambda node: len(node.kids))
        self._spent += len(fewer.kids)
        if self._spent > MOST_PAIRS:
            return False
        common = sum(min(count, more.content[kid]) for kid, count in fewer.content.items())
        return 2 * common >= len(fewer.kids)

    def _find_moved(self) -> None:
        """An element that is gone from one parent and has come to another is the same: it was moved."""
        lost: dict[str, list[Node]] = defaultdict(list)
        for node in self.gone:
            if _first_ref(node):
                lost[node.line].append(node)
        for index, (kind, node) in enumerate(self._entries):
            if kind != NEW or not lost.get(node.line):
                continue
            old = lost[node.line].pop()
            if old.mark != GONE:  # it went along with what it lies in
                continue
            old.mark = MOVED
            self._entries[index] = MOVED, node
            if old.digest == node.digest:
                for inner in old.all():
                    inner.mark = MOVED
                last = index + node.size
                self._entries[index + 1 : last] = [(SAME, one) for _, one in self._entries[index + 1 : last]]

    # Telling

    def _told(self) -> Iterator[Told]:
        """Every line, what is to be folded included."""
        run: list[tuple[Told, int]] = []
        for kind, node in self._entries:
            if kind == GONE:
                run += _lost(node)
                continue
            yield from _shortened(run)
            run = []
            yield GONE if kind == WAS else kind, node.depth, node.line
        yield from _shortened(run)


def too_much(before: list[str], shown: list[str]) -> bool:
    """Whether to tell what has changed would be no shorter than the page, and long work."""
    if max(len(before), len(shown)) <= MOST_CHANGED:
        return False
    left = Counter(shown)
    left.subtract(before)
    return sum(map(abs, left.values())) > MOST_CHANGED


def gone_outside(lines: list[str]) -> list[str]:
    """What was known, not shown, and is gone: each a line of its own, as nothing tells its place."""
    run = [told for line in lines for told in _lost(_gone(line))]
    return [f"{mark} {text} (outside the view)" for mark, _, text in _shortened(run)]


def _gone(line: str) -> Node:
    node = Node(line, 0)
    node.mark = GONE
    return node


def _tree(lines: list[str]) -> list[Node]:
    roots: list[Node] = []
    open_ones: list[Node] = []
    for line in lines:
        text = line.lstrip(" ")
        node = Node(text, min((len(line) - len(text)) // 2, MOST_DEPTH))
        while open_ones and open_ones[-1].depth >= node.depth:
            _close(open_ones.pop())
        (open_ones[-1].kids if open_ones else roots).append(node)
        open_ones.append(node)
    while open_ones:
        _close(open_ones.pop())
    return roots


def _close(node: Node) -> None:
    node.size = 1 + sum(kid.size for kid in node.kids)
    node.digest = hash((node.line, *(kid.digest for kid in node.kids)))


def _unique(old: list[int], new: list[int], head: int, tail: int) -> list[tuple[int, int]]:
    """Where what stands once on either side stands on both."""
    mine, theirs = Counter(new[head : len(new) - tail]), Counter(old[head : len(old) - tail])
    where = {one: index for index, one in enumerate(old) if head <= index < len(old) - tail}
    return [
        (index, where[one])
        for index, one in enumerate(new)
        if head <= index < len(new) - tail and mine[one] == 1 and theirs[one] == 1
    ]


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs of which both numbers rise: what has kept its place among the others."""
    ends: list[int] = []
    chain: list[tuple[int, int]] = []  # position in `pairs`, and of the one before it
    last_of: list[int] = []
    for position, (_, there) in enumerate(pairs):
        at = bisect_left(ends, there)
        chain.append((position, last_of[at - 1] if at else -1))
        ends[at : at + 1] = [there]
        last_of[at : at + 1] = [position]
    found: list[tuple[int, int]] = []
    position = last_of[-1] if last_of else -1
    while position >= 0:
        found.append(pairs[position])
        position = chain[position][1]
    return found[::-1]


def _alike(
    here: set[int], there: set[int], new: list[Node], old: list[Node], key: Callable[[Node], Hashable]
) -> list[tuple[int, int]]:
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    for index in sorted(there, reverse=True):
        waiting[key(old[index])].append(index)
    waiting.pop("", None)
    return [(index, waiting[name].pop()) for index in sorted(here) if waiting.get(name := key(new[index]))]


def _role(node: Node) -> str:
    found = _ROLE.match(node.line)
    return found[0] if found else ""


def refs_in(line: str) -> list[str]:
    """The elements that a line names; no text of the page can look like one."""
    return _REF.findall(_PAGES_OWN.sub('""', line))


def first_ref(line: str) -> str:
    """Of a line the element that it is about."""
    return next(iter(refs_in(line)), "")


def _first_ref(node: Node) -> str:
    return first_ref(node.line)


def _run(old: Iterable[int], new: Iterable[int]) -> int:
    """How many are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _lost(root: Node) -> Iterator[tuple[Told, int]]:
    """What is gone of this, each part in a line, with how many lines it had."""
    if root.mark != GONE:
        for kid in root.kids:
            yield from _lost(kid)
        return
    size = sum(1 for node in root.all() if node.mark == GONE)
    text = root.line if len(root.line) <= GONE_CHARS else root.line[: GONE_CHARS - 1] + "…"
    yield (GONE, root.depth, f"{text} (and {counted(size - 1, 'line')} in it)" if size > 1 else text), size


def _shortened(run: list[tuple[Told, int]]) -> Iterator[Told]:
    """Many parts gone in a row: from where to where, and how many lines between."""
    if len(run) <= GONE_SHOWN:
        yield from (told for told, _ in run)
        return
    *first, (last, _) = [*run[: GONE_SHOWN - 2], run[-1]]
    yield from (told for told, _ in first)
    yield GONE, last[1], f"({sum(size for _, size in run[len(first) : -1])} lines more, to this one:)"
    yield last


def _folded(told: list[Told]) -> Iterator[Told]:
    """What stays is counted where it tells the place of something, and left out elsewhere."""
    before = ""
    run: list[Told] = []
    for one in [*told, ("", 0, "")]:
        mark = one[0]
        if run and mark != run[0][0]:
            yield from _fold(run, before, mark)
            before, run = before if before in (NEW, GONE, MOVED) else AROUND, []
        if mark in (SAME, BACK):
            run.append(one)
        elif mark:
            yield one
            before = mark


def _fold(run: list[Told], before: str, after: str) -> Iterator[Told]:
    kind, depth = run[0][0], min(depth for _, depth, _ in run)
    said = "unchanged" if kind == SAME else "shown again, as before"
    fold = f"({counted(len(run), 'line')} {said})"
    between = after in (NEW, MOVED) or (before in (NEW, GONE, MOVED) and after == GONE)
    if kind == SAME and not between:
        return
    if kind == SAME and tokens("".join(text for _, _, text in run)) <= tokens(fold) + NEIGHBOUR:
        yield from ((AROUND, depth, text) for _, depth, text in run)
    else:
        yield AROUND, depth, fold
