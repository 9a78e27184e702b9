"""What only a person may do: every route behind it takes the person's key, and tells the log of any other that tries.

Above: routes that answer approvals, edit the policy, read what all callers do. Below: http, which has found out whose
key it is; guard's rates, so that trying without end fills no disk.
"""

import contextlib
from collections.abc import Generator
from typing import Any, Protocol

from starlette.types import Scope
from starlette.websockets import WebSocket

from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure
from pilothouse.guard.rates import Rates

PERSON = "person"
# What these begin with.
PERSONS = (
    "/api/activity",
    "/api/approvals",
    "/api/cocoons",
    "/api/dashboard",
    "/api/extension",
    "/api/grants",
    "/api/live",
    "/api/policy",
    "/api/secrets",
    "/api/sessions",
)
TRIES_PER_MINUTE = 600


class Record(Protocol):
    """What this needs of the audit log."""

    def note(self, kind: str, **fields: Any) -> None: ...


class PersonOnly:
    def __init__(self, record: Record) -> None:
        self._record = record
        self._tries = Rates(TRIES_PER_MINUTE)

    def check(self, scope: Scope) -> None:
        """Return for the person; 403 for everybody else, with a line in the log."""
        who: str = scope.get("pilothouse.who", "")
        if who == PERSON:
            return
        self._tried(who, scope.get("method", "WEBSOCKET"), scope["path"])
        raise Refused(
            403,
            Failure(
                "unauthorized",
                "only a person may do this: the key of an agent opens nothing here",
                suggestions=["ask the user"],
            ),
        )

    @contextlib.contextmanager
    def entering(self, socket: WebSocket) -> Generator[None]:
        """As `check`, for a WebSocket."""
        self.check(socket.scope)
        yield

    def tried_hub(self, who: str | None) -> None:
        """A key of ours came to the hub's door, which takes those of the hub's own users."""
        with contextlib.suppress(Failure):
            if who:
                self._tried(who, "WEBSOCKET", "/signaling", "only users of the hub come in here")

    def tried_door(self, name: str) -> None:
        """A program of this machine greeted the local socket for a door that is not there."""
        with contextlib.suppress(Failure):
            self._tried("local", "DOOR", name)

    def _tried(self, who: str, method: str, path: str, why: str = "only a person may do this") -> None:
        self._tries.count(who)
        caller = who.removeprefix("agent:")
        self._record.note("door_refused", caller=caller, method=method, path=path[:200], why=why)
