"""`/api/secrets`: a person registers, lists and removes secrets. Values come in and never go out.

Above: http has checked Host, Origin and key; only the person's opens this. Below: guard's secrets and the audit log:
what cannot be recorded is not changed. No answer and no error repeats what was sent as a value.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from pilothouse.doors import body
from pilothouse.doors.address import Address, told
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.guard.policy import Question
from pilothouse.guard.secrets import Secrets
from pilothouse.tool import Access


class Given(msgspec.Struct, forbid_unknown_fields=True):
    value: Annotated[str, Meta(max_length=10_000)]
    domains: Annotated[list[Annotated[str, Meta(max_length=300)]], Meta(max_length=100)]
    note: Annotated[str, Meta(max_length=1000)] = ""
    any_field: bool = False


def secret_routes(secrets: Secrets, audit: Audit, only: PersonOnly) -> list[Route]:
    async def listed(scope: Scope, receive: Receive) -> Response:
        return told({"secrets": msgspec.to_builtins(await asyncio.to_thread(secrets.entries))})

    async def begun_anew(scope: Scope, receive: Receive) -> Response:
        """Only when they cannot be opened: then all that can be done is to begin without them."""
        return told({"aside": str(await _recorded(audit, "secret start-anew", {}, secrets.start_anew))})

    async def put(scope: Scope, receive: Receive) -> Response:
        return told(await _set(scope, secrets, audit))

    async def removed(scope: Scope, receive: Receive) -> Response:
        name: str = scope["path_params"]["name"]
        await _recorded(audit, "secret remove", {"name": name}, lambda: secrets.remove(name))
        return told({"removed": name})

    return [
        Route("/api/secrets", Address(only.check, GET=listed, DELETE=begun_anew)),
        Route("/api/secrets/{name}", Address(only.check, PUT=put, DELETE=removed)),
    ]


async def _set(scope: Scope, secrets: Secrets, audit: Audit) -> dict[str, Any]:
    name, given = scope["path_params"]["name"], _read(scope["pilothouse.body"])
    noted = {"name": name, "domains": given.domains, "any_field": given.any_field}
    entry = await _recorded(
        audit,
        "secret set",
        noted,
        lambda: secrets.set(name, given.value, given.domains, note=given.note, any_field=given.any_field),
    )
    return msgspec.to_builtins(entry)


def _read(raw: bytes) -> Given:
    try:
        return msgspec.convert(body.read(raw), Given)
    except msgspec.ValidationError as reason:
        hint = 'send {"value": "…", "domains": ["github.com"]}'
        raise Failure("bad_request", f"the body is not understood: {reason}", suggestions=[hint]) from None


async def _recorded(audit: Audit, what: str, args: dict[str, Any], work: Callable[[], Any]) -> Any:
    began, outcome = time.monotonic(), "ok"
    number = await audit.before(Question("person", "", what, Access.SENSITIVE, args, browser="", mode=""))
    try:
        return await asyncio.to_thread(work)
    except Failure as failure:
        outcome = failure.code
        raise
    finally:
        audit.after(number, outcome=outcome, duration_ms=(time.monotonic() - began) * 1000)
