"""The running profile browsers of a daemon. They belong to the daemon; callers have sessions on them.

Above: sessions, lifecycle. Below: seat, profiles; how to start Chrome and how to open a gateway are handed in. A
browser whose last session closed stays until it is killed or was unused for too long; it then writes down its cookies.
"""

import asyncio
import contextlib
import logging
import shutil
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pilothouse.browser.circuit import Circuit
from pilothouse.browser.pool import Chrome, OpenGateway
from pilothouse.browser.seat import ProfileBrowser, Seat
from pilothouse.errors import Failure
from pilothouse.profiles import Profile, Profiles

log = logging.getLogger(__name__)


class Launcher(Protocol):
    """How a Chrome with a profile is started."""

    def headless(self, profile: Profile, asked: bool | None) -> bool: ...
    def user_of(self, data_dir: Path) -> str: ...
    async def start_profile(self, profile: Profile, data_dir: Path, *, port: int, headless: bool | None) -> Chrome: ...


class Wish(NamedTuple):
    """What a session asks of the browser it wants a seat in; what it leaves out may be anything."""

    headless: bool | None = None
    proxy: str = ""
    allowed: tuple[str, ...] = ()


class Running:
    def __init__(
        self, profile: Profile, chrome: Chrome, browser: ProfileBrowser, wish: Wish, *, headless: bool
    ) -> None:
        self.profile = profile
        self.chrome = chrome
        self.browser = browser
        self.wish = wish
        self.headless = headless
        self.since = time.time()
        self.left_at = asyncio.get_running_loop().time()

    @property
    def alive(self) -> bool:
        return self.browser.alive

    def check(self, wish: Wish) -> None:
        """A browser is started once: what a later session wants of it must be what it is."""
        other = [
            "headless" if wish.headless not in (None, self.headless) else "",
            "proxy" if wish.proxy and wish.proxy != self.wish.proxy else "",
            "allowed_domains" if wish.allowed and wish.allowed != self.wish.allowed else "",
        ]
        if wrong := ", ".join(filter(None, other)):
            raise Failure(
                "in_use",
                f"the browser of profile {self.profile.id} runs with another {wrong}",
                suggestions=["kill_browser first", f"or leave {wrong} out"],
            )


class Browsers:
    def __init__(self, profiles: Profiles, launcher: Launcher, gateway: OpenGateway, folder: Path) -> None:
        self.profiles = profiles
        self._launcher = launcher
        self._gateway = gateway
        self._folder = folder
        self._running: dict[str, Running] = {}
        self._starting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._circuits: dict[str, Circuit] = {}
        self._left: set[asyncio.Task[Seat]] = set()  # starts that nobody waits for any more
        self._endings: set[asyncio.Task[None]] = set()
        self._closing = False

    def running(self) -> list[Running]:
        return [one for one in self._running.values() if one.alive]

    def find(self, profile_id: str) -> Running | None:
        one = self._running.get(profile_id)
        return one if one and one.alive else None

    async def take(self, profile_id: str, wish: Wish) -> Seat:
        """A seat with one tab, in the browser that runs or is started now.

        Who stops waiting breaks no start off: one that took too long once would take too long for ever.
        """
        seating = asyncio.create_task(self._seated(profile_id, wish))
        try:
            seat = await asyncio.shield(seating)
        except asyncio.CancelledError:
            self._left.add(seating)
            seating.add_done_callback(self._unseat)
            raise
        try:
            await seat.open_tab()
        except BaseException:
            seat.browser.forget(seat)
            raise
        return seat

    async def kill(self, profile_id: str) -> None:
        """End it, also when who asks stops waiting."""
        await self._hold(self._kill(profile_id))

    @contextlib.asynccontextmanager
    async def still(self, profile_id: str) -> AsyncGenerator[None]:
        """Nobody starts it meanwhile; refused while it runs, here or elsewhere."""
        async with self._starting[profile_id]:
            profile = await asyncio.to_thread(self.profiles.get, profile_id)
            user = await asyncio.to_thread(self._launcher.user_of, self.profiles.data_dir(profile))
            if self.find(profile_id) or user:
                who = "" if self.find(profile_id) else f": {user}"
                hint = "close that browser first" if who else "kill_browser first"
                raise Failure("in_use", f"the browser of profile {profile_id} is running{who}", suggestions=[hint])
            yield

    async def close_idle(self, idle_s: float) -> None:
        """End those that nobody has had a seat in for so long."""
        now = asyncio.get_running_loop().time()
        for profile_id, one in list(self._running.items()):
            if one.browser.seats:
                one.left_at = now
            elif now - one.left_at > idle_s:
                await self._hold(self._kill(profile_id, idle=one))

    async def close(self) -> None:
        self._closing = True
        for start in self._left:
            start.cancel()
        await asyncio.gather(*(self.kill(profile_id) for profile_id in {*self._running, *self._starting}))
        await asyncio.gather(*self._endings, return_exceptions=True)

    def drop_log(self, profile_id: str) -> None:
        """What its Chrome wrote while it ran."""
        (self._folder / f"profile-{profile_id}.log").unlink(missing_ok=True)

    async def _seated(self, profile_id: str, wish: Wish) -> Seat:
        async with self._starting[profile_id]:
            return (await self._up(profile_id, wish)).browser.seat()

    def _unseat(self, seating: "asyncio.Task[Seat]") -> None:
        self._left.discard(seating)
        if not seating.cancelled() and not seating.exception():
            seat = seating.result()
            seat.browser.forget(seat)

    async def _kill(self, profile_id: str, idle: Running | None = None) -> None:
        """With `idle` only if it still is that one, and nobody has sat down in it meanwhile."""
        async with self._starting[profile_id]:
            running = self._running.get(profile_id)
            if running is None or (idle and (running is not idle or running.browser.seats)):
                return
            del self._running[profile_id]
            await self._end(running)

    def _hold(self, ending: Coroutine[Any, Any, None]) -> "asyncio.Future[None]":
        """It goes on to its end, whoever waits for it; a task that nobody holds may vanish."""
        task = asyncio.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        return asyncio.shield(task)

    async def _up(self, profile_id: str, wish: Wish) -> Running:
        if self._closing:
            raise Failure("browser_gone", "the daemon is stopping")
        there = self._running.get(profile_id)
        if there and there.alive:
            there.check(wish)
            return there
        circuit = self._circuits.setdefault(profile_id, Circuit(f"the browser of profile {profile_id}"))
        if there:
            log.warning("the browser of profile %s is gone", profile_id)
            if there.browser.seats:  # with nobody in it, it may have been closed by a person
                circuit.failed()
            await self._hold(self._end(self._running.pop(profile_id)))
        circuit.check()
        try:
            self._running[profile_id] = running = await self._started(profile_id, wish)
        except Failure as failure:
            if failure.code == "system":
                circuit.failed()
            raise
        circuit.worked()
        return running

    async def _started(self, profile_id: str, wish: Wish) -> Running:
        profile = await asyncio.to_thread(self.profiles.get, profile_id)
        gateway = await self._gateway(upstream=wish.proxy or profile.proxy_server, allowed=wish.allowed)
        try:
            data_dir = self.profiles.data_dir(profile)
            chrome = await self._launcher.start_profile(profile, data_dir, port=gateway.port, headless=wish.headless)
        except BaseException:
            gateway.close()
            raise
        files = self._folder / f"files-{profile.id}"
        files.mkdir(parents=True, exist_ok=True, mode=0o700)
        browser = ProfileBrowser(chrome.connection, gateway, files=files, lang=profile.lang)
        running = Running(profile, chrome, browser, wish, headless=self._launcher.headless(profile, wish.headless))
        try:
            await browser.start()
        except BaseException:
            await self._hold(self._end(running))
            raise
        return running

    async def _end(self, running: Running) -> None:
        running.browser.give_up("it was ended")
        try:
            await running.chrome.close()
        finally:
            running.browser.gateway.close()
        await asyncio.to_thread(shutil.rmtree, running.browser.files, ignore_errors=True)
