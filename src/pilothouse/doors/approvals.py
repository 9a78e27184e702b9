"""Where people see what waits for them and answer it: plain routes, and a WebSocket for dashboard, panel and terminal.

Above: http, which has checked Host, Origin and key; person lets the person in and nobody else. Below: guard.approvals.
"""

import asyncio
import contextlib
from typing import Any, Literal, TypeVar

import msgspec
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.doors import parcel, wire
from pilothouse.doors.follow import chosen_protocol
from pilothouse.doors.parcel import Refused
from pilothouse.doors.person import PERSON, Door, PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.approvals import Approvals

MAX_UNREAD = 1_000
MAX_ANSWER_BYTES = 10_000
_TRY_AGAIN_LATER = 1013

Shown = dict[str, Any]
T = TypeVar("T")


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answer: Literal["allow", "deny"]
    scope: Literal["", "once", "session", "domain"] = ""


class LiveAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    answer: Literal["allow", "deny"]
    scope: Literal["", "once", "session", "domain"] = ""


def approval_routes(approvals: Approvals, person: PersonOnly) -> list[BaseRoute]:
    async def listed(scope: Scope) -> Shown:
        return {"pending": approvals.pending(), "recent": approvals.recent(), "denied": approvals.denied()}

    async def answered(scope: Scope) -> Shown:
        given = _read(scope["pilothouse.body"], Answer)
        return await approvals.answer(scope["path_params"]["id"], given.answer, given.scope, by=PERSON)

    async def lifted(scope: Scope) -> Shown:
        return approvals.lift(scope["path_params"]["id"])

    async def granted(scope: Scope) -> Shown:
        return {"grants": approvals.grants()}

    async def revoked(scope: Scope) -> Shown:
        return approvals.revoke(scope["path_params"]["id"])

    return [
        WebSocketRoute("/api/approvals/live", _Live(approvals, person)),
        Route("/api/approvals", Door(person, GET=listed)),
        Route("/api/approvals/{id}", Door(person, POST=answered, DELETE=lifted)),
        Route("/api/grants", Door(person, GET=granted)),
        Route("/api/grants/{id}", Door(person, DELETE=revoked)),
    ]


class _Live:
    """First all that is so (`state`), then each thing as it comes. Who reads too slowly is sent away to come anew."""

    def __init__(self, approvals: Approvals, person: PersonOnly) -> None:
        self._approvals = approvals
        self._person = person

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        try:
            self._person.check(scope)
            protocol = chosen_protocol(scope["subprotocols"])
        except Refused as refused:
            await socket.send_denial_response(parcel.refusal(refused))
            return
        except Failure as failure:
            await socket.send_denial_response(parcel.refusal(Refused(failure.status, failure)))
            return
        await socket.accept(protocol)
        await self._talk(socket)

    async def _talk(self, socket: WebSocket) -> None:
        unread: asyncio.Queue[Shown | None] = asyncio.Queue(MAX_UNREAD)
        unread.put_nowait({"kind": "state", "pending": self._approvals.pending(), "grants": self._approvals.grants()})
        unfollow = self._approvals.follow(lambda event: _put(unread, event))
        writer = asyncio.create_task(_write(socket, unread))
        reader = asyncio.create_task(self._listen(socket, unread))
        try:
            done, _ = await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            unfollow()
            writer.cancel()
            reader.cancel()

    async def _listen(self, socket: WebSocket, unread: "asyncio.Queue[Shown | None]") -> None:
        while (message := await socket.receive())["type"] != "websocket.disconnect":
            raw = (message.get("text") or "").encode()
            _put(unread, await self._heard(raw))

    async def _heard(self, raw: bytes) -> Shown:
        ident = ""
        try:
            given = _read(raw, LiveAnswer)
            ident = given.id[:40]
            ended = await self._approvals.answer(given.id, given.answer, given.scope, by=PERSON)
        except Failure as failure:
            return {"kind": "error", "id": ident, "error": failure.to_dict()}
        return {"kind": "accepted", "id": ident, "outcome": ended["outcome"]}


def _put(unread: "asyncio.Queue[Shown | None]", event: Shown) -> None:
    if unread.qsize() < MAX_UNREAD - 1:
        unread.put_nowait(event)
    elif not unread.full():
        unread.put_nowait(None)


async def _write(socket: WebSocket, unread: "asyncio.Queue[Shown | None]") -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it left while we wrote
        while (event := await unread.get()) is not None:
            await socket.send_text(wire.encode(event).decode())
        await socket.close(_TRY_AGAIN_LATER, "too slow: connect again")


def _read(raw: bytes, kind: type[T]) -> T:
    hint = '{"answer": "allow" | "deny", "scope": "once" | "session" | "domain"}'
    if len(raw) > MAX_ANSWER_BYTES:
        raise Failure("bad_request", "this is no answer", suggestions=[hint])
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as reason:
        raise Failure("bad_request", f"this is no answer: {str(reason)[:200]}", suggestions=[hint]) from None
