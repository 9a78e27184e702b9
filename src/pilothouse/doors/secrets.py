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
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pilothouse.doors import body, parcel
from pilothouse.doors.parcel import Refused
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
    async def listed(request: Request) -> Response:
        work = _anew if request.method == "DELETE" else _list
        return await _answered(request, only, lambda: work(secrets, audit))

    async def one(request: Request) -> Response:
        return await _answered(request, only, lambda: _change(request, secrets, audit))

    return [
        Route("/api/secrets", listed, methods=["GET", "DELETE"]),
        Route("/api/secrets/{name}", one, methods=["PUT", "DELETE"]),
    ]


async def _answered(request: Request, only: PersonOnly, work: Callable[[], Any]) -> Response:
    try:
        only.check(request.scope)
        data = await work()
    except Refused as refused:
        return parcel.refusal(refused)
    except Failure as failure:
        return parcel.refusal(Refused(failure.status, failure))
    return parcel.as_json({"success": True, "data": data, "metadata": {"timestamp": int(time.time() * 1000)}})


async def _list(secrets: Secrets, audit: Audit) -> dict[str, Any]:
    return {"secrets": msgspec.to_builtins(await asyncio.to_thread(secrets.entries))}


async def _anew(secrets: Secrets, audit: Audit) -> dict[str, Any]:
    """Only when they cannot be opened: then all that can be done is to begin without them."""
    return {"aside": str(await _recorded(audit, "secret start-anew", {}, secrets.start_anew))}


async def _change(request: Request, secrets: Secrets, audit: Audit) -> dict[str, Any]:
    name: str = request.path_params["name"]
    if request.method == "DELETE":
        await _recorded(audit, "secret remove", {"name": name}, lambda: secrets.remove(name))
        return {"removed": name}
    given = _read(request.scope["pilothouse.body"])
    told = {"name": name, "domains": given.domains, "any_field": given.any_field}
    entry = await _recorded(
        audit,
        "secret set",
        told,
        lambda: secrets.set(name, given.value, given.domains, note=given.note, any_field=given.any_field),
    )
    return msgspec.to_builtins(entry)


def _read(raw: bytes) -> Given:
    try:
        return msgspec.convert(body.read(raw), Given)
    except msgspec.ValidationError as reason:
        hint = 'send {"value": "…", "domains": ["github.com"]}'
        raise Failure("bad_request", f"the body is not understood: {reason}", suggestions=[hint]) from None


async def _recorded(audit: Audit, what: str, told: dict[str, Any], work: Callable[[], Any]) -> Any:
    began, outcome = time.monotonic(), "ok"
    number = await audit.before(Question("person", "", what, Access.SENSITIVE, told, browser="", mode=""))
    try:
        return await asyncio.to_thread(work)
    except Failure as failure:
        outcome = failure.code
        raise
    finally:
        audit.after(number, outcome=outcome, duration_ms=(time.monotonic() - began) * 1000)
