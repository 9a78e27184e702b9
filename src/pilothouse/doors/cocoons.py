"""`/api/cocoons`: a person adds, lists and removes the apps behind the debug proxy.

Above: http has checked Host, Origin and key; only the person's opens this. Below: cocoons, the audit log: what cannot
be recorded is not changed.
"""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from pilothouse.cocoons import LOCAL, Cocoons, checked_id, listed, shown
from pilothouse.doors import body
from pilothouse.doors.address import Address, told
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit


class Given(msgspec.Struct, forbid_unknown_fields=True):
    target: Annotated[str, Meta(max_length=300)]
    name: Annotated[str, Meta(max_length=200)] = ""
    owner: Annotated[str, Meta(max_length=64)] = LOCAL


def cocoon_routes(cocoons: Cocoons, audit: Audit, only: PersonOnly) -> list[Route]:
    async def asked(scope: Scope, receive: Receive) -> Response:
        return told(listed(cocoons))

    async def put(scope: Scope, receive: Receive) -> Response:
        cocoon_id, given = checked_id(scope["path_params"]["id"]), _read(scope["pilothouse.body"])
        values = {"id": cocoon_id, **msgspec.to_builtins(given)}
        cocoons.having(cocoons.text(), values)  # the log tells of what was done, not of what could not be
        await audit.decree("cocoon_added", **values)
        await asyncio.to_thread(cocoons.write, values)
        return told(shown(cocoons.placed(cocoon_id)))

    async def removed(scope: Scope, receive: Receive) -> Response:
        cocoon_id = checked_id(scope["path_params"]["id"])
        cocoons.without(cocoons.text(), cocoon_id)
        await audit.decree("cocoon_removed", id=cocoon_id)
        await asyncio.to_thread(cocoons.remove, cocoon_id)
        return told({"removed": cocoon_id})

    return [
        Route("/api/cocoons", Address(only.check, GET=asked)),
        Route("/api/cocoons/{id}", Address(only.check, PUT=put, DELETE=removed)),
    ]


def _read(raw: bytes) -> Given:
    try:
        return msgspec.convert(body.read(raw), Given)
    except msgspec.ValidationError as reason:
        hint = 'send {"target": "http://127.0.0.1:3000"}'
        raise Failure("bad_request", f"the body is not understood: {reason}", suggestions=[hint]) from None
