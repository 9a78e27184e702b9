"""Who is here, and so when a daemon may go: one that nobody needs ends by itself.

Above: the daemon. Below: the doors, of which it knows only how many clients they have, and as much of the sessions.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from pilothouse import __version__

T = TypeVar("T")

TICK_S = 30.0
_log = logging.getLogger(__name__)


class Door(Protocol):
    @property
    def connections(self) -> int: ...


class Presence:
    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._doors: tuple[Door, ...] = ()
        self._sessions: Callable[[], int] = int
        self._browsers: Callable[[], int] = int
        self._last_seen = time.monotonic()

    def watch(self, *doors: Door, sessions: Callable[[], int] = int, browsers: Callable[[], int] = int) -> None:
        """`sessions` says how many are open: those of a terminal outlive its commands, and its clients. `browsers` says
        how many of the clients are a person's Chrome, which connects to any daemon there is and needs none: one that
        offers no tab."""
        self._doors, self._sessions, self._browsers = doors, sessions, browsers

    def at_web(self, app: ASGIApp, *unnoticed: str) -> ASGIApp:
        """The same application; a client that comes and goes between two looks is noticed too, but at these paths."""

        async def noticing(scope: Scope, receive: Receive, send: Send) -> None:
            if scope.get("path") not in unnoticed:
                self._last_seen = time.monotonic()
            await app(scope, receive, send)

        return noticing

    def at_door(self, open_door: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
        """The same for clients of the local door."""

        async def noticing() -> T:
            self._last_seen = time.monotonic()
            return await open_door()

        return noticing

    def asked_to_stop(self, version: str) -> dict[str, Any]:
        """A bridge of another version asks; the line it asks on is not counted."""
        clients, sessions = self._clients() - 1, self._sessions()
        if clients > 0:
            return {"stopping": False, "why": f"{clients} client{'s' * (clients > 1)} connected"}
        if sessions:
            return {"stopping": False, "why": f"{sessions} session{'s' * (sessions > 1)} open"}
        _log.info("version %s asks version %s to end, and nobody is here", version, __version__)
        self._stop.set()
        return {"stopping": True}

    async def until_over(self, linger_s: float) -> None:
        """Return when told to stop, or `linger_s` after the last client left; 0 means never by itself."""
        tick_s = min(TICK_S, linger_s / 4) if linger_s else None
        self._last_seen = time.monotonic()  # nobody could come before it was ready
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), tick_s)
            if self._clients():
                self._last_seen = time.monotonic()
            elif linger_s and time.monotonic() - self._last_seen > linger_s:
                _log.info("nobody was here for %d s: the end", linger_s)
                return

    def _clients(self) -> int:
        return sum(door.connections for door in self._doors) - self._browsers()
