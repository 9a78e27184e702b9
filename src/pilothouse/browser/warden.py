"""Watches what sessions cost the machine, and steps in: too much memory, script that never lets go.

Above: sessions. Below: usage, session, stuck. It looks every few seconds, and only while sessions are open.
"""

import asyncio
import gc
import logging
import math
from collections.abc import Callable, Iterable

import msgspec

from pilothouse.browser.browser import Browser
from pilothouse.browser.frames import Frame
from pilothouse.browser.session import Session
from pilothouse.browser.stuck import end_page, free
from pilothouse.browser.tab import Tab
from pilothouse.browser.usage import ASK_S, Process, pid_in, pid_of, processes
from pilothouse.browser.world import WorldGone
from pilothouse.cdp.connection import Channel, Connection
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

EVERY_S = 5.0
SWEEPS = 3
# Of a core; on a crowded machine nobody gets a whole one, least of all each time that one looks.
BURNING = 0.4
SMOULDERING = 0.1
_MB = 1_000_000

Place = tuple[Connection, int]
"""A process: its number means something in its own browser only, for two may be on two machines."""


class Bounds(msgspec.Struct, frozen=True):
    """0 sets no limit."""

    memory_bytes: int = 0
    session_memory_bytes: int = 0
    busy_s: float = 0
    every_s: float = EVERY_S


class Cost(msgspec.Struct, frozen=True):
    """One browser, with all its processes."""

    name: str
    memory_bytes: int
    cpu_s: float
    processes: int


class _Silence(msgspec.Struct):
    """A page that was asked and has not answered."""

    session: Session
    tab: Tab
    since: float
    answer: asyncio.Future[dict[str, object]]
    broken_off: bool = False


class Warden:
    def __init__(self, bounds: Bounds, sessions: Callable[[], Iterable[Session]]) -> None:
        self.bounds = bounds
        self.costs: list[Cost] = []
        self._sessions = sessions
        self._watching: asyncio.Task[None] | None = None
        self._pids: dict[Channel, tuple[str, Place]] = {}  # the document, and the process that it is in
        self._cpu: dict[Place, tuple[float, float]] = {}  # CPU time, and when
        self._silent: dict[Channel, _Silence] = {}
        self._open: set[str] = set()
        self._sweeps = 0  # still to come after a session has gone
        self._dumb = False

    def admit(self) -> None:
        """Refuse a new session while the browsers together are too big; and watch from now on."""
        total, most = sum(cost.memory_bytes for cost in self.costs), self.bounds.memory_bytes
        if most and total > most:
            seconds = math.ceil(self.bounds.every_s)
            raise Failure(
                "over_limit",
                f"the browsers use {total // _MB} MB of the {most // _MB} MB that they may use",
                details={"retry_after_s": seconds},
                suggestions=["close tabs or sessions that are not needed", f"then try again in {seconds} s"],
            )
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def close(self) -> None:
        if self._watching:
            self._watching.cancel()
            self._watching = None

    async def _watch(self) -> None:
        """Until no session is open and what they left is collected; the next one starts it again."""
        try:
            while True:
                await asyncio.sleep(self._pause_s())
                self._sweep()
                if not self._sweeps and not list(self._sessions()):
                    break
                try:
                    await self.look()
                except Exception:  # the next look may go better
                    log.exception("the browsers could not be looked at")
        finally:
            if self._watching is asyncio.current_task():
                self._watching = None
            self.costs, self._cpu, self._pids, self._silent = [], {}, {}, {}

    def _sweep(self) -> None:
        """What sessions leave behind hangs together in circles; Python would let many of them pile up (M).

        More than once: a session that is gone from the list may still be closing its tabs at the first look.
        """
        before, self._open = self._open, {one.id for one in self._sessions()}
        self._sweeps = SWEEPS if before - self._open else max(self._sweeps - 1, 0)
        if self._sweeps:
            gc.collect()

    def _pause_s(self) -> float:
        return min(self.bounds.every_s, self.bounds.busy_s / 4) if self.bounds.busy_s else self.bounds.every_s

    async def look(self) -> None:
        """See what everything costs now, and act on it."""
        sessions = [one for one in self._sessions() if one.tabs]
        browsers = {one.context.browser: one.context.elsewhere for one in sessions if one.context.browser.alive}
        asked = (processes(browser, elsewhere=elsewhere) for browser, elsewhere in browsers.items())
        seen = dict(zip(browsers, await asyncio.gather(*asked), strict=True))
        here = [found for browser, found in seen.items() if not browsers[browser]]
        self.costs = [_cost(found) for found in here if found]
        self._warn_if_dumb(here)
        each = {(browser.connection, one.pid): one for browser, found in seen.items() for one in found}
        renderers = {place: one for place, one in each.items() if one.kind == "renderer"}
        burning = self._burning(renderers)
        await self._hold_memory(sessions, {place: one.memory_bytes for place, one in renderers.items()})
        if self.bounds.busy_s:  # pages are asked while they still answer
            await self._learn_pids([tab for session in sessions for tab in session.tabs])
            strangers = {browser: self._strangers(sessions, browser, found, burning) for browser, found in seen.items()}
            await self._break_silence(sessions, burning, strangers)

    def _warn_if_dumb(self, seen: Iterable[list[Process]]) -> None:
        if not self._dumb and any(found and not any(one.memory_bytes for one in found) for found in seen):
            self._dumb = True
            log.warning("this system does not tell the memory of a browser: limits of memory do not hold for it")

    # Memory

    async def _hold_memory(self, sessions: list[Session], memory: dict[Place, int]) -> None:
        most = self.bounds.session_memory_bytes
        if not most or sum(memory.values()) <= most:  # all of them together are below: nobody need be asked
            return
        mute = await self._learn_pids([tab for session in sessions for tab in session.tabs])
        owned = {place for _, place in self._pids.values()}
        if any(memory[place] > most for place in memory.keys() - owned):
            await asyncio.gather(
                *(self._free(session, tab) for session in sessions for tab in session.tabs if tab in mute)
            )
        for session in sessions:
            homes = self._homes(session)
            used = sum(memory.get(place, 0) for place in homes)
            if used > most:
                heaviest = max(homes, key=lambda place: memory.get(place, 0))
                await self._relieve(session, homes[heaviest], used)

    def _homes(self, session: Session) -> dict[Place, list[tuple[Tab, Channel]]]:
        """By process: what of the session runs in it."""
        homes: dict[Place, list[tuple[Tab, Channel]]] = {}
        for tab in session.tabs:
            for channel in tab.page_channels():
                if channel in self._pids:
                    homes.setdefault(self._pids[channel][1], []).append((tab, channel))
        return homes

    async def _free(self, session: Session, tab: Tab) -> None:
        """It does not answer, and a process that nobody owned up to is too big: the next look will tell."""
        if await free(tab, ASK_S):
            session.report("limit", tab.name, "the page took much memory and did not answer: its script was broken off")

    async def _learn_pids(self, tabs: list[Tab]) -> set[Tab]:
        """Find out once for each document which process it is in; the answer is those that said nothing."""
        roots = [(tab, frame) for tab in tabs for frame in tab.frames if tab.frames.is_root(frame)]
        now = {frame.channel: frame.loader_id for _, frame in roots}
        self._pids = {channel: known for channel, known in self._pids.items() if now.get(channel) == known[0]}
        mute: set[Tab] = set()
        asked: list[tuple[Tab, Frame]] = []
        for tab, frame in roots:
            if frame.channel in self._pids:
                continue
            if (place := _told_by_requests(tab, frame.channel)) in self._cpu:
                self._pids[frame.channel] = (frame.loader_id, place)
            elif frame.channel in self._silent:
                mute.add(tab)
            elif (frame.world or frame.page_context) and not tab.hindrance() and not tab.route.bound_for:
                asked.append((tab, frame))
        return mute | await self._ask_pids(asked)

    async def _ask_pids(self, pages: list[tuple[Tab, Frame]]) -> set[Tab]:
        documents = [(tab, frame.channel, frame.loader_id) for tab, frame in pages]
        pids = await asyncio.gather(*(_pid(tab, frame) for tab, frame in pages))
        told = list(zip(documents, pids, strict=True))
        self._pids.update({channel: (loader, (channel.connection, pid)) for (_, channel, loader), pid in told if pid})
        return {tab for (tab, _, _), pid in told if not pid}

    async def _relieve(self, session: Session, pages: list[tuple[Tab, Channel]], used: int) -> None:
        most = self.bounds.session_memory_bytes
        for tab, channel in pages:
            what = "a page" if channel is tab.channel else "a frame"
            session.report(
                "limit",
                tab.name,
                f"the session used {used // _MB} MB of the {most // _MB} MB it may use: {what} was ended, "
                "what it showed is lost",
            )
            self._pids.pop(channel, None)
            await end_page(tab, channel)

    # Script that never lets go

    def _burning(self, renderers: dict[Place, Process]) -> dict[Place, float]:
        """Renderers that work, with their share of a core since the last look."""
        now, before = asyncio.get_running_loop().time(), self._cpu
        self._cpu = {place: (one.cpu_s, now) for place, one in renderers.items()}
        shares = {
            place: (cpu_s - before[place][0]) / max(now - before[place][1], 0.001)
            for place, (cpu_s, _) in self._cpu.items()
            if place in before
        }
        return {place: share for place, share in shares.items() if share > SMOULDERING}

    def _strangers(
        self, sessions: list[Session], browser: Browser, found: list[Process], burning: dict[Place, float]
    ) -> float:
        """How much a page of unknown process burns for certain: processes that nobody owned up to burn, and there are
        as many of them as pages they may belong to. Workers may have a process for themselves, so no page is blamed."""
        owned = {place for _, place in self._pids.values()}
        places = [(browser.connection, one.pid) for one in found]
        shares = [burning[place] for place in places if place in burning and place not in owned]
        homes = [session for session in sessions if session.context.browser is browser]
        unknown = {
            channel for one in homes for tab in one.tabs for channel in tab.page_channels() if channel not in self._pids
        }
        workers = any(one.context.workers.present for one in homes)
        if workers or not 0 < len(unknown) <= len(shares):
            return 0
        return sorted(shares, reverse=True)[len(unknown) - 1]

    async def _break_silence(
        self, sessions: list[Session], burning: dict[Place, float], strangers: dict[Browser, float]
    ) -> None:
        """Ask every page that may be the one that burns; who has not answered for too long is broken off."""
        pages = [
            (session, tab, channel)
            for session in sessions
            for tab in session.tabs
            if burning and not tab.hindrance() and not tab.route.bound_for
            for channel in tab.page_channels()
        ]
        shares = {
            channel: self._share(channel, burning, strangers.get(session.context.browser, 0))
            for session, _, channel in pages
        }
        self._silent = {
            channel: silence
            for channel, silence in self._silent.items()
            if shares.get(channel) and not silence.answer.done()
        }
        now = asyncio.get_running_loop().time()
        for session, tab, channel in pages:
            if silence := self._silent.get(channel):
                await self._judge(channel, silence, now)
            elif shares[channel] > BURNING:
                answer = channel.post("Runtime.evaluate", expression="0", timeout=self.bounds.busy_s * 10 + 10)
                self._silent[channel] = _Silence(session, tab, now, answer)

    def _share(self, channel: Channel, burning: dict[Place, float], stranger: float) -> float:
        """What the page's own process burns; another's never counts."""
        known = self._pids.get(channel)
        return burning.get(known[1], 0) if known else stranger

    async def _judge(self, channel: Channel, silence: _Silence, now: float) -> None:
        waited = now - silence.since
        if waited >= self.bounds.busy_s and not silence.broken_off:
            silence.broken_off = True
            channel.post("Runtime.terminateExecution", steadfast=True, timeout=self.bounds.busy_s + 10)
            self._tell(silence, "its script was broken off")
        elif waited >= self.bounds.busy_s * 2 and channel in self._pids:  # it is not script that burns
            del self._silent[channel]
            self._tell(silence, "the page was ended")
            await end_page(silence.tab, channel)

    def _tell(self, silence: _Silence, done: str) -> None:
        seconds = f"{self.bounds.busy_s:g}"
        silence.session.report("limit", silence.tab.name, f"the page kept a core busy for {seconds} s: {done}")


async def _pid(tab: Tab, frame: Frame) -> int:
    """A page that hangs from its first line on has no world yet, and gets none: it is as mute as one that has."""
    try:
        return await pid_of(await tab.frames.ready(frame, ASK_S))
    except (Failure, WorldGone):
        return 0


def _told_by_requests(tab: Tab, channel: Channel) -> Place:
    """A page that cannot answer may have told by what it asked for: it may well be that which it waits for."""
    loaders = {frame.loader_id for frame in tab.frames if frame.channel is channel}
    ids = (one.browser_id for one in tab.network.requests() if one.channel is channel and one.loader_id in loaders)
    return channel.connection, next((pid for pid in map(pid_in, ids) if pid), 0)


def _cost(found: list[Process]) -> Cost:
    name = next((str(one.pid) for one in found if one.kind == "browser"), "")
    return Cost(name, sum(one.memory_bytes for one in found), sum(one.cpu_s for one in found), len(found))
