"""What only a person may do: every route behind it takes the person's key, and tells the log of any other that tries.

Above: routes that answer approvals, edit the policy, read what all callers do. Below: http, which has found out whose
key it is; guard's rates, so that trying without end fills no disk.
"""

from typing import Any, Protocol

from starlette.types import Scope

from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure
from pilothouse.guard.rates import Rates

PERSON = "person"
TRIES_PER_MINUTE = 120


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
        self._tries.count(who)
        method: str = scope.get("method", "WEBSOCKET")
        self._record.note("door_refused", who=who, method=method, path=scope["path"][:200])
        raise Refused(
            403,
            Failure(
                "unauthorized",
                "only a person may do this: the key of an agent opens nothing here",
                suggestions=["ask the user"],
            ),
        )
