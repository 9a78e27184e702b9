"""Profiles and their browsers as one caller sees them.

Above: the tools of the sets `profiles` and `lifecycle`. Below: sessions, browsers, profiles.
"""

import asyncio
from typing import Any

from pilothouse.browser.browsers import Browsers, Running, Wish
from pilothouse.browser.session import Session
from pilothouse.browser.sessions import OwnSessions, Sessions
from pilothouse.errors import Failure
from pilothouse.profiles import Profile, Profiles


class OwnBrowsers:
    def __init__(self, sessions: Sessions, own: OwnSessions) -> None:
        self._sessions = sessions
        self._own = own

    @property
    def _browsers(self) -> Browsers:
        if self._sessions.browsers is None:
            raise Failure("unsupported", "this daemon has no profiles")
        return self._sessions.browsers

    @property
    def _profiles(self) -> Profiles:
        return self._browsers.profiles

    # Profiles

    async def profiles(self) -> list[Profile]:
        return await asyncio.to_thread(self._profiles.all)

    async def profile(self, name: str) -> Profile:
        return await asyncio.to_thread(self._profiles.get, name)

    def is_running(self, profile: Profile) -> bool:
        return self._browsers.find(profile.id) is not None

    def data_dir(self, profile: Profile) -> str:
        return str(self._profiles.data_dir(profile))

    async def add(self, values: dict[str, Any]) -> Profile:
        return await asyncio.to_thread(self._profiles.add, values)

    async def change(self, name: str, values: dict[str, Any]) -> Profile:
        return await asyncio.to_thread(self._profiles.change, name, values)

    async def remove(self, name: str, *, data: bool) -> Profile:
        profile = await self.profile(name)
        async with self._browsers.still(profile.id):
            gone = await asyncio.to_thread(lambda: self._profiles.remove(profile.id, data=data))
            if data:
                self._browsers.drop_log(profile.id)
            return gone

    # Browsers

    async def launch(self, name: str, *, headless: bool | None) -> tuple[Running, Session]:
        """The profile's browser, started if it does not run, and the caller's session on it."""
        options = await self._own.options_for("profile", name, headless=headless)
        session = await self._own_on(options.profile, headless) or await self._own.open(options)
        await session.open()  # one whose browser died moves in again
        running = self._browsers.find(options.profile)
        if running is None:
            raise Failure("browser_gone", f"the browser of profile {options.profile} ended at once")
        return running, session

    async def _own_on(self, profile_id: str, headless: bool | None) -> Session | None:
        """The caller's session on it; those that would start it otherwise than is asked now are closed."""
        own = [one for one in self._sessions.on(profile_id, self._own.owner) if not one.closed]
        if running := self._browsers.find(profile_id):
            running.check(Wish(headless))
            return own[0] if own else None
        other = [one for one in own if headless not in (None, one.options.headless)]
        await asyncio.gather(*(self._own.close(one) for one in other))
        return next((one for one in own if one not in other), None)

    async def kill(self, name: str) -> tuple[Profile, int]:
        """End a profile's browser, and the sessions of everybody on it; how many there were."""
        running = self._browsers.find(name) or self._called(name)
        profile_id = running.profile.id
        for session in self._sessions.on(profile_id):
            session.pause.check()
        for session in self._sessions.on(profile_id):
            session.report("browser", "", f"kill_browser ended the browser of profile {profile_id}")
        why = f"its browser (profile {profile_id}) was ended by kill_browser"
        return running.profile, await self._sessions.end_browser(profile_id, why)

    def _called(self, name: str) -> Running:
        every = self._browsers.running()
        found = next((one for one in every if one.profile.name == name), None)
        if found is None:
            listed = ", ".join(one.profile.id for one in every)
            raise Failure(
                "not_found",
                f"no browser of a profile {name[:80]!r} is running",
                suggestions=[f"running: {listed}" if listed else "none is running: launch_browser starts one"],
            )
        return found

    def running(self) -> list[dict[str, Any]]:
        """Every browser of the daemon, the shared ones of isolated sessions too."""
        shared = [
            _described("isolated", pool.running[0].pid, pool.since, headless, self._sessions.isolated(headless))
            for headless, pool in self._sessions.pools.items()
            if pool.running
        ]
        of_profiles = [
            {"profile": one.profile.id}
            | _described("profile", one.chrome.pid, one.since, one.headless, self._sessions.on(one.profile.id))
            for one in self._browsers.running()
        ]
        return shared + of_profiles + self._elsewhere()

    def _elsewhere(self) -> list[dict[str, Any]]:
        """By the place they come from: a Grid may have given hundreds."""
        places = self._sessions.remotes.places() if self._sessions.remotes else []
        return [
            {
                "browser": "remote",
                "endpoint": one.name,
                "browsers": one.browsers,
                "waiting": one.waiting,
                "since": int(one.since * 1000),
                **_numbers(self._sessions.elsewhere(one.name)),
            }
            for one in places
        ]


def _described(kind: str, pid: int, since: float, headless: bool, sessions: list[Session]) -> dict[str, Any]:
    return {
        "browser": kind,
        "pid": pid,
        "since": int(since * 1000),
        "headless": headless,
        **_numbers(sessions),
    }


def _numbers(sessions: list[Session]) -> dict[str, int]:
    return {"sessions": len(sessions), "tabs": sum(len(one.tabs) for one in sessions)}
