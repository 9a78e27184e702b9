"""A session followed live: what its tabs say and ask for and what happens in them, tabs that open later included.

Above: the session makes one for each follower, the gate tidies its lines, doors send them. Below: console, network,
watch. Whoever reads too slowly loses the oldest lines and is told how many.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import console, network, patterns
from pilothouse.browser.tab import Tab
from pilothouse.browser.watch import Event, Watch

MAX_WAITING = 1000

Line = dict[str, Any]
Word = Annotated[str, Meta(max_length=100)]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a follower wants to hear. What was before is told first if `since` is given, the newest `limit` of it."""

    kinds: Annotated[list[Literal["console", "network", "events"]], Meta(min_length=1, max_length=3)]
    since: Annotated[int, Meta(ge=0, lt=10**15)] | None = None  # a number of our own counting, or epoch ms
    limit: Annotated[int, Meta(ge=0, le=MAX_WAITING)] = MAX_WAITING
    level: Annotated[list[Literal["log", "debug", "info", "warn", "error"]], Meta(max_length=5)] = []
    pattern: Annotated[str, Meta(max_length=patterns.MAX_CHARS)] = ""  # in console lines and events
    url_pattern: Annotated[str, Meta(max_length=2000)] = ""
    method: Annotated[list[Word], Meta(max_length=20)] = []
    type: Annotated[list[Word], Meta(max_length=20)] = []
    status_min: int = 0
    status_max: int = 999


class Stream:
    """One follower. Lines are made when they are read: who never reads costs a thousand references. `tidy` makes of a
    line what may be told; nothing, if it may not. With `tab`, only what is of that one comes."""

    def __init__(
        self,
        wanted: Wanted,
        tidy: Callable[[Line], Line],
        on_end: Callable[["Stream"], None],
        tab: str = "",
        redact: patterns.Redact = str,
    ) -> None:
        self._wanted = wanted
        self._tab = tab
        self._tidy = tidy
        self._on_end = on_end
        self._fits_line = console.choice(wanted.level, wanted.pattern, redact)
        self._fits_request = network.choice(
            wanted.url_pattern, wanted.method, wanted.type, (wanted.status_min, wanted.status_max), redact
        )
        self._fits_text = patterns.regular(wanted.pattern) if wanted.pattern else None
        self._redact = redact
        self._waiting: deque[tuple[int, Callable[[], Line]]] = deque(maxlen=MAX_WAITING)
        self._lost = 0
        self._stirred = asyncio.Event()
        self._ties: dict[str, list[Callable[[], None]]] = {}  # by tab; those of the session under no name
        self._ended = False

    def start(self, tabs: list[Tab], watch: Watch) -> None:
        if self._wanted.since is not None:
            self._look_back(tabs, watch, self._wanted.since)
        if "events" in self._wanted.kinds:
            self._ties[""] = [watch.subscribe(self.happened)]
        for tab in tabs:
            self.join(tab)

    def join(self, tab: Tab) -> None:
        ties = self._ties[tab.name] = []
        if "console" in self._wanted.kinds:
            ties.append(tab.console.subscribe(partial(self.said, tab.name)))
        if "network" in self._wanted.kinds:
            ties.append(tab.network.subscribe(partial(self.asked, tab.name)))

    def part(self, name: str) -> None:
        for untie in self._ties.pop(name, []):
            untie()

    def end(self) -> None:
        """Nothing more comes; what waits can still be read."""
        for name in tuple(self._ties):
            self.part(name)
        self._ended = True
        self._on_end(self)
        self._stirred.set()

    def take(self) -> Iterator[Line]:
        """What waits, without waiting for more."""
        self._stirred.clear()
        while self._waiting:
            if self._lost:
                yield {"kind": "lost", "count": self._lost}
                self._lost = 0
            if line := self._tidy(self._waiting.popleft()[1]()):
                yield line

    async def __aiter__(self) -> AsyncIterator[Line]:
        """Until the session ends."""
        while True:
            for line in self.take():
                yield line
            if self._ended:
                return
            await self._stirred.wait()

    # What comes

    def said(self, tab: str, line: console.Line) -> None:
        if self._is_of(tab) and self._fits_line(line):
            self._add(line.time_ms, lambda: {"kind": "console", "tab": tab, **msgspec.to_builtins(line)})

    def asked(self, tab: str, request: network.Request) -> None:
        if self._is_of(tab) and request.done and self._fits_request(request):
            ended_ms = int(request.started_ms + request.duration_ms)
            told = {"kind": "network", "tab": tab, "time_ms": ended_ms}
            self._add(ended_ms, lambda: {**told, **network.brief(request)})

    def happened(self, event: Event) -> None:
        if self._is_of(event.tab) and (self._fits_text is None or self._fits_text(self._redact(event.text))):
            told = {"event": event.kind, **msgspec.to_builtins(event), "kind": "event"}
            self._add(event.time_ms, lambda: told)

    def _is_of(self, tab: str) -> bool:
        return not self._tab or tab == self._tab

    def _add(self, time_ms: int, make: Callable[[], Line]) -> None:
        self._lost += len(self._waiting) == MAX_WAITING
        self._waiting.append((time_ms, make))
        self._stirred.set()

    def _look_back(self, tabs: list[Tab], watch: Watch, since: int) -> None:
        """The rings of all tabs in the order of time; that old lines are left out is no loss to tell of."""
        self._waiting = deque()
        for tab in tabs:
            for line in tab.console.lines() if "console" in self._wanted.kinds else ():
                if patterns.newer(line.number, line.time_ms, since):
                    self.said(tab.name, line)
            for request in tab.network.requests() if "network" in self._wanted.kinds else ():
                if patterns.newer(request.number, request.started_ms, since):
                    self.asked(tab.name, request)
        for event in watch.recent() if "events" in self._wanted.kinds else ():
            if patterns.newer(event.number, event.time_ms, since):
                self.happened(event)
        ordered = sorted(self._waiting, key=lambda one: one[0])
        self._waiting = deque(ordered[max(len(ordered) - self._wanted.limit, 0) :], maxlen=MAX_WAITING)
        self._lost = 0
