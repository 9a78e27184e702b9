"""`/api/activity`: the audit log for people, page by page; what a live feed has missed is read here.

Above: http; person lets the person in and nobody else. Below: guard's audit log, wheel's pictures of what was done.
"""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from pilothouse.doors.address import Address, told
from pilothouse.doors.parcel import PLAIN
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.wheel import Wheel

MOST = 10_000


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`after` reads on from a number; `before` back from one, 0 from the end."""

    after: Annotated[int, Meta(ge=0, lt=10**15)] | None = None
    before: Annotated[int, Meta(ge=0, lt=10**15)] = 0
    limit: Annotated[int, Meta(ge=1, le=MOST)] = 500


def activity_routes(audit: Audit, wheel: Wheel, person: PersonOnly) -> list[BaseRoute]:
    async def listed(scope: Scope, receive: Receive) -> Response:
        asked = _asked(Request(scope))
        if asked.after is not None:
            found = await asyncio.to_thread(audit.after_number, asked.after, asked.limit)
        else:
            found = await asyncio.to_thread(audit.before_number, asked.before, asked.limit)
        return told({"records": found, "last": audit.number, "shots": wheel.shots})

    async def picture(scope: Scope, receive: Receive) -> Response:
        return Response(wheel.shot(scope["path_params"]["n"]), 200, PLAIN, "image/jpeg")

    return [
        Route("/api/activity", Address(person.check, GET=listed)),
        Route("/api/activity/{n:int}/picture", Address(person.check, GET=picture)),
    ]


def _asked(request: Request) -> Asked:
    try:
        return msgspec.convert(dict(request.query_params), Asked, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as reason:
        hint = "after=NUMBER or before=NUMBER, limit=500"
        raise Failure("bad_request", f"the query is not understood: {reason}", suggestions=[hint]) from None
