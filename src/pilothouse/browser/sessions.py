"""All sessions of a daemon: who owns which, how one is found, when one ends.

Above: gate, lifecycle, the tools of the set `sessions`. Below: session, pool, browsers.
"""

import asyncio
import contextlib
import logging
import math
import shutil
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pilothouse.browser import handles, partings
from pilothouse.browser.border import Border, OpenBorder
from pilothouse.browser.browsers import Browsers, Wish
from pilothouse.browser.folders import Folders
from pilothouse.browser.partings import Parting, Partings
from pilothouse.browser.pool import Pool
from pilothouse.browser.remote import Place, Remotes
from pilothouse.browser.remote import Wish as FarWish
from pilothouse.browser.session import AS_IT_IS, Options, Session, Take
from pilothouse.browser.shared import Shared
from pilothouse.browser.terms import Terms
from pilothouse.browser.warden import Bounds, Cost, Warden
from pilothouse.browser.watch import Event
from pilothouse.errors import Failure
from pilothouse.minted import minted
from pilothouse.result import counted

log = logging.getLogger(__name__)

SWEEP_S = 30.0
IDLE_KEPT = 200
ENDED_KEPT = 100  # for so many sessions it is remembered why they ended

Owner = tuple[str, str]
Listener = Callable[[Session, Event], None]


class Census(msgspec.Struct, frozen=True):
    """Everything that is open, in numbers."""

    sessions: int
    tabs: int
    waiting: int
    browsers: list[Cost]
    places: list[Place]


class Sessions:
    """`pools` has the place for headless (True) and headed (False) isolated browsers, `browsers` that for profiles."""

    def __init__(
        self,
        pools: dict[bool, Pool],
        folder: Path,
        *,
        max_sessions: int,
        idle_s: float,
        terms: Terms,
        bounds: Bounds = Bounds(),
        keep_s: float = 24 * 3600,
        browsers: Browsers | None = None,
        shared: Shared | None = None,
        remotes: Remotes | None = None,
        border: OpenBorder | None = None,
    ) -> None:
        self.pools = pools
        self._border = border
        self.browsers = browsers
        self.shared = shared
        self.remotes = remotes
        if shared:
            shared.on_stopped = self._stopped
            shared.on_forgotten = self._browser_forgotten
        self._folder = folder
        self._max_sessions = max_sessions
        self._idle_s = idle_s
        self.terms = terms
        self._open: dict[str, Session] = {}
        self._ended: OrderedDict[str, str] = OrderedDict()
        self._listeners: set[Listener] = set()
        # Who works in a browser of the person's; None: in none any more.
        self.on_abode: Callable[[Owner, Options | None], None] = lambda owner, options: None
        self.on_closed: Callable[[str], None] = lambda session_id: None  # whatever was allowed in it ends with it
        self.on_stopped: Callable[[str, list[str]], None] = lambda browser, ended: (
            None
        )  # by the person, in their Chrome
        self._endings: set[asyncio.Task[None]] = set()
        self.partings = Partings()
        self._fell_idle: dict[str, Owner] = {}  # so that who comes back learns why the session is gone
        self.warden = Warden(bounds, self._open.values)
        self._folders = Folders(folder, keep_s, lambda: self._open)
        self._sweeper = asyncio.create_task(self._sweep())

    def adjust(self, *, max_sessions: int, idle_s: float, terms: Terms, bounds: Bounds) -> None:
        """From now on; sessions that are open keep the terms they were opened with."""
        self._max_sessions, self._idle_s, self.terms, self.warden.bounds = max_sessions, idle_s, terms, bounds

    async def open(self, owner: Owner, options: Options) -> Session:
        if len(self._open) >= self._max_sessions:
            raise self._full()
        handles.admit(sum(not one.settled for one in self._open.values()))
        self.warden.admit()
        take = self._taking(options)
        session_id = f"s{minted()}"
        session = Session(
            session_id,
            owner,
            options,
            folder=self._folder / session_id,
            terms=self.terms,
            take=take,
            border=self._border_of(session_id, owner, options),
        )
        self._open[session_id] = session
        session.watch.subscribe(lambda event: self._tell(session, event))
        try:
            await session.open()
        except BaseException:
            self._open.pop(session_id, None)
            session.closed = True  # another call may wait to move in
            self._end(session)  # it may have a context already; who gave up does not wait for its end
            raise
        self.partings.settle(owner)
        self.on_abode(owner, options if options.browser == "extension" else None)
        return session

    def _border_of(self, session_id: str, owner: Owner, options: Options) -> Border | None:
        if self._border is None:
            return None
        return self._border(session_id, caller=owner[0], browser=options.browser, mode=options.mode)

    def _full(self) -> Failure:
        """The latest time that a place can become free is when the session that was idle longest is closed."""
        idle_since = min((one.used_at for one in self._open.values() if not one.busy), default=None)
        now = asyncio.get_running_loop().time()
        seconds = None if idle_since is None else max(math.ceil(self._idle_s - (now - idle_since)), 1)
        when = f"or try again in {seconds} s at the latest" if seconds else "or try again when one has ended"
        return Failure(
            "over_limit",
            f"{counted(len(self._open), 'session')} open, the most there may be",
            details={"retry_after_s": seconds} if seconds else {},
            suggestions=[
                f"close_session what is not needed, {when}",
                "a person sees and ends those of others too: pilothouse sessions",
                "limits.sessions raises it",
            ],
        )

    async def census(self) -> Census:
        tabs = [tab for session in self._open.values() for tab in session.tabs]
        places = self.remotes.places() if self.remotes else []
        return Census(len(self._open), len(tabs), sum(tab.turn.waiting for tab in tabs), self.warden.costs, places)

    @property
    def in_use(self) -> int:
        """How many sessions are open, and profiles' browsers that run without one."""
        lone = [one for one in self.browsers.running() if not one.browser.seats] if self.browsers else []
        return len(self._open) + len(lone)

    def _taking(self, options: Options) -> Take:
        """How a session of this kind gets its place in a browser; a queue stands before those elsewhere only."""
        if options.browser == "remote" and self.remotes:
            return partial(self.remotes.take, options.profile, FarWish(options.proxy, options.allowed_domains))
        return self._taking_here(options)

    def _taking_here(self, options: Options) -> Take:
        if options.browser == "profile" and self.browsers:
            wish = Wish(options.headless, options.proxy, options.allowed_domains)
            return partial(self.browsers.take, options.profile, wish)
        if options.browser == "extension" and self.shared:
            return partial(self.shared.take, options.profile, options.allowed_domains)
        if options.browser != "isolated":
            raise Failure(
                "unsupported",
                f"this daemon cannot open a browser of kind {options.browser!r}",
                suggestions=['use browser="isolated"', 'or browser="profile"'],
            )
        pool = self.pools[options.headless is not False]
        if options.proxy or options.allowed_domains:
            return partial(pool.take_apart, options.proxy, options.allowed_domains)
        return pool.take

    def on(self, profile_id: str, owner: Owner | None = None) -> list[Session]:
        """The sessions on a profile's browser, everybody's or one owner's."""
        every = self._open.values() if owner is None else self.of(owner)
        return [one for one in every if one.options.browser == "profile" and one.options.profile == profile_id]

    def isolated(self, headless: bool) -> list[Session]:
        kinds = [(one, one.options) for one in self._open.values()]
        return [one for one, its in kinds if its.browser == "isolated" and (its.headless is not False) == headless]

    def elsewhere(self, endpoint: str) -> list[Session]:
        """Those that have a browser of that endpoint; who still waits for one has no tab."""
        kinds = [(one, one.options) for one in self._open.values()]
        return [one for one, its in kinds if (its.browser, its.profile) == ("remote", endpoint) and one.tabs]

    def every(self) -> list[Session]:
        return list(self._open.values())

    def of(self, owner: Owner) -> list[Session]:
        return [session for session in self._open.values() if session.owner == owner]

    def get(self, owner: Owner, session_id: str) -> Session:
        """By its handle, or by the id of the profile it is on."""
        session = self._open.get(session_id)
        if session and session.owner == owner:
            return session
        found = _only(self.on(session_id, owner))
        if found is None:
            raise self._missing(session_id)
        return found

    def reached(self, key: str, name: str) -> Session | None:
        """By its handle, or by the connection whose only session it is; only if it was made with that key."""
        session = self._open.get(name) or (_only(self.of((key, name))) if name else None)
        return session if session and session.owner[0] == key else None

    async def find(
        self, owner: Owner, session_id: str, options: Callable[[str], Awaitable[Options]]
    ) -> tuple[Session, bool]:
        """The named session, else the owner's only one, else a new one (True), on the profile that was named."""
        if there := self._there(owner, session_id):
            return there, False
        asked = (None if session_id else self.partings.options(owner)) or await options(session_id)
        if there := self._there(owner, session_id):  # a call beside this one was faster
            return there, False
        return await (self.open if session_id else self._renewed)(owner, asked), True

    def _there(self, owner: Owner, session_id: str) -> Session | None:
        """None when one is to be opened; a name that is nobody's fails."""
        if not session_id:
            self.partings.check(owner, self.shared.is_open if self.shared else lambda browser: False)
            return _only(self.of(owner))
        return None if self._opens(owner, session_id) else self.get(owner, session_id)

    async def _renewed(self, owner: Owner, options: Options) -> Session:
        """A new one; who had one before is told what became of it."""
        parting = self.partings.of(owner)
        session = await self.open(owner, options)
        if parting:
            session.report("browser", "", f"this is a new session: {parting.why}")
        before = [one for one, was in self._fell_idle.items() if was == owner]
        if before:
            idle = _minutes(self._idle_s)
            session.report("browser", "", f"the session before was closed: nobody had used it for {idle}")
        for one in before:
            del self._fell_idle[one]
        return session

    def _opens(self, owner: Owner, name: str) -> bool:
        """Is it a profile whose browser runs, and on which the owner has no session yet?"""
        is_running = self.browsers is not None and self.browsers.find(name) is not None
        return is_running and name not in self._open and not self.on(name, owner)

    def _missing(self, name: str) -> Failure:
        hints = ["leave `session` out to work in your own", "or open one with open_session"]
        if self.browsers and self.browsers.profiles.has(name):
            return Failure(
                "not_found",
                f"the browser of profile {name} is not running",
                suggestions=[f"launch_browser starts it: profile={name}"],
            )
        if ended := self.partings.of_session(name):
            return ended
        why = self._ended.get(name, "it may have been closed")
        return Failure("not_found", f"there is no such session ({why})", suggestions=hints)

    async def close(self, session: Session, why: str = "") -> None:
        if ending := self._forget(session, why):
            await asyncio.shield(ending)  # nobody else can close it any more

    def _forget(self, session: Session, why: str) -> "asyncio.Task[None] | None":
        """From now on it is nobody's; what is left of it to end has begun."""
        if self._open.pop(session.id, None) is None:
            return None
        if not self.partings.of(session.owner):  # else whoever had it would be sent elsewhere by the next daemon
            self.on_abode(session.owner, None)
        if why:
            self._ended[session.id] = why
            while len(self._ended) > ENDED_KEPT:
                self._ended.popitem(last=False)
        self.on_closed(session.id)
        return self._end(session)

    async def end_browser(self, profile_id: str, why: str) -> int:
        """End a profile's browser and everybody's sessions on it, also when who asks stops waiting; how many."""
        ended = self.on(profile_id)
        for session in ended:
            session.closed = True  # at once: a call that comes now must not start the browser again
        await asyncio.shield(self._hold(self._end_browser(profile_id, ended, why)))
        return len(ended)

    async def end_by_person(self, profile_id: str) -> int:
        """The same by the person's hand: who comes back is told so before the browser is started again."""
        for session in self.on(profile_id):
            self._part(session, partings.ended(profile_id, session.options))
        return await self.end_browser(profile_id, f"the person ended the browser of profile {profile_id}")

    async def _end_browser(self, profile_id: str, ended: list[Session], why: str) -> None:
        try:
            if self.browsers:
                await self.browsers.kill(profile_id)
        finally:
            await asyncio.gather(*(self.close(session, why) for session in ended))

    def _stopped(self, browser: str) -> None:
        """The person stopped everything in a browser of theirs."""
        ended = self._put_out(browser, partings.stopped)
        self.on_stopped(browser, [one.id for one in ended])

    def _browser_forgotten(self, browser: str) -> None:
        self._put_out(browser, partings.forgotten)

    def _put_out(self, browser: str, part: Callable[[str, Options], Parting]) -> list[Session]:
        """Everybody who works in a browser of the person's."""
        ended = [
            one for one in self._open.values() if (one.options.browser, one.options.profile) == ("extension", browser)
        ]
        for session in ended:
            parting = self._part(session, part(browser, session.options))
            session.closed = True  # at once: a call that comes now must not move in again
            self._forget(session, parting.why)
        return ended

    def _part(self, session: Session, parting: Parting) -> Parting:
        self.partings.note(session.owner, parting, session.id)
        session.report("browser", "", parting.why)
        session.end = parting.failure()
        return parting

    def _end(self, session: Session) -> "asyncio.Task[None]":
        return self._hold(_finished(session))

    def _hold(self, ending: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(ending)
        self._endings.add(task)  # a task that nobody holds may vanish
        task.add_done_callback(self._endings.discard)
        return task

    async def close_connection(self, connection: str) -> None:
        """It never comes back. What a person has in hand ends when they give it back, or leave it alone."""
        left = [session for session in self._open.values() if connection and session.owner[1] == connection]
        self.partings.forget(connection=connection)
        for session in left:
            session.pause.on_given_back = partial(self._forget, session, "its agent has gone")
        await asyncio.gather(*(self.close(session) for session in left if not session.pause.taken))

    def close_key(self, key: str) -> None:
        """A key was taken back. At once: who gets a new one of that name must not come upon what the old one had."""
        for session in [one for one in self._open.values() if one.owner[0] == key]:
            self._forget(session, "its key was revoked")
        self.partings.forget(key=key)
        self._fell_idle = {ident: owner for ident, owner in self._fell_idle.items() if owner[0] != key}

    async def shut(self) -> None:
        self._sweeper.cancel()
        self._folders.close()
        self.warden.close()
        rooms = [*self.pools.values(), *(one for one in (self.browsers, self.shared, self.remotes) if one)]
        await asyncio.gather(*(room.close() for room in rooms))

    def follow(self, listener: Listener) -> Callable[[], None]:
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def _tell(self, session: Session, event: Event) -> None:
        for listener in tuple(self._listeners):
            listener(session, event)

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(SWEEP_S, self._idle_s))
            for session in list(self._open.values()):
                in_use = session.busy or (session.pause.taken and session.watched)  # a wheel that is forgotten ends too
                if not in_use and loop.time() - session.used_at > self._idle_s:
                    await self._sweep_out(session)
            await self._sweep_browsers()

    async def _sweep_browsers(self) -> None:
        try:
            if self.browsers:
                await self.browsers.close_idle(self._idle_s)
        except Exception:
            log.exception("an idle browser could not be closed")

    async def _sweep_out(self, session: Session) -> None:
        if session.options.browser == "extension":
            self.partings.note(session.owner, partings.idle(session.options, _minutes(self._idle_s)))
        else:
            self._fell_idle[session.id] = session.owner
        if len(self._fell_idle) > IDLE_KEPT:
            del self._fell_idle[next(iter(self._fell_idle))]
        try:
            await self.close(session, f"nobody had used it for {_minutes(self._idle_s)}")
        except Exception:  # one that cannot be closed must not keep the others open for ever
            log.exception("the idle session %s could not be closed", session.id[:6])


class OwnSessions:
    """The sessions as one caller sees them."""

    def __init__(self, sessions: Sessions, owner: Owner, defaults: Options) -> None:
        self._sessions = sessions
        self.owner = owner
        self.defaults = defaults

    def all(self) -> list[Session]:
        return self._sessions.of(self.owner)

    def get(self, session_id: str) -> Session:
        return self._sessions.get(self.owner, session_id)

    async def open(self, options: Options) -> Session:
        return await self._sessions.open(self.owner, options)

    async def find(self, session_id: str) -> tuple[Session, bool]:
        return await self._sessions.find(self.owner, session_id, self._new)

    async def options_for(self, browser: str, profile: str, *, headless: bool | None = None) -> Options:
        """The defaults of this caller for a kind of browser; a profile brings its own."""
        headed = self.defaults.headless is False
        if browser == "extension":
            return await self._in_own_chrome(profile)
        if browser == "remote":
            return self._elsewhere(profile)
        if browser != "profile":
            if profile:
                raise Failure(
                    "bad_request",
                    f"a browser of kind {browser!r} has no profile",
                    suggestions=["leave `browser` out to open the profile", "or leave `profile` out"],
                )
            asked = (not headed) if headless is None else headless
            return msgspec.structs.replace(self.defaults, browser=browser, profile="", headless=asked)
        name = profile or (self.defaults.profile if self.defaults.browser == "profile" else "")
        if not name:
            raise Failure("bad_request", "say which profile", suggestions=["list_profiles shows them"])
        if self._sessions.browsers is None:
            raise Failure("unsupported", "this daemon has no profiles")
        found = await asyncio.to_thread(self._sessions.browsers.profiles.get, name)
        size = found.viewport
        return msgspec.structs.replace(
            self.defaults,
            browser="profile",
            profile=found.id,
            headless=(False if headed else None) if headless is None else headless,
            viewport=(size.width, size.height) if size else self.defaults.viewport,
        )

    async def _in_own_chrome(self, name: str) -> Options:
        """Bound to one browser of the person's by its name, and to its windows as they are."""
        if self._sessions.shared is None:
            hint = 'use a session of another kind: browser="isolated"'
            raise Failure("unsupported", "this daemon has no way to the person's own Chrome", suggestions=[hint])
        name = name or (self.defaults.profile if self.defaults.browser == "extension" else "")
        await self._sessions.shared.arrivals(name)
        found = self._sessions.shared.pick(name)
        return msgspec.structs.replace(
            self.defaults, browser="extension", profile=found, headless=None, viewport=AS_IT_IS
        )

    def _elsewhere(self, endpoint: str) -> Options:
        """Bound to one endpoint by its name."""
        if self._sessions.remotes is None:
            raise Failure("unsupported", "this daemon has no way to browsers elsewhere")
        name = endpoint or (self.defaults.profile if self.defaults.browser == "remote" else "")
        found = self._sessions.remotes.pick(name)
        return msgspec.structs.replace(self.defaults, browser="remote", profile=found, headless=None)

    async def _new(self, profile: str) -> Options:
        if self.defaults.browser == "extension" and not profile:
            return await self._in_own_chrome("")
        return await self.options_for("profile" if profile else self.defaults.browser, profile)

    async def close(self, session: Session) -> None:
        session.pause.check()
        await self._sessions.close(session)


def _told(session: Session) -> str:
    its = session.options
    kind = f"{'endpoint' if its.browser == 'remote' else 'profile'} {its.profile}" if its.profile else its.browser
    host = urlsplit(session.current.url).netloc[:100] if session.current else ""
    return f"{kind}, at {host}" if host else kind


def _only(sessions: list[Session]) -> Session | None:
    if len(sessions) > 1:
        listed = [session.id for session in sessions]
        raise Failure(
            "bad_request",
            f"{len(sessions)} sessions are open: say which one with `session`",
            details={"sessions": listed},
            suggestions=[f"session={one.id} ({_told(one)})" for one in sessions[:5]],
        )
    return sessions[0] if sessions else None


async def _finished(session: Session) -> None:
    await session.close()
    await asyncio.to_thread(_remove_if_empty, session.folder)


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # a folder that cannot be read or is gone already is left as it is
        if any(folder.iterdir()):
            folder.touch()  # its time runs from now
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} s"
