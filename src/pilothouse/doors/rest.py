"""REST: every tool at a plain address, from the same declarations as every other door.

Above: http, which has checked Host, Origin, key, content type and size. Below: places says what an address means,
body reads the arguments, parcel shapes the answer, openapi describes it all; the gate does the work.
"""

import itertools
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from pilothouse.call import Answer, Call, Caller, Defaults
from pilothouse.doors import body, openapi, parcel, wire
from pilothouse.doors.address import agent_key, check_method
from pilothouse.doors.follow import Follower
from pilothouse.doors.parcel import Refused
from pilothouse.doors.places import Place, Places, takes
from pilothouse.doors.waiting import patience_s, until_gone
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.tool import Tool

_PAGE = Path(__file__).parent / "rest_page"
_STATIC = {
    "docs": ("index.html", "text/html; charset=utf-8"),
    "docs/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "docs/page.css": ("page.css", "text/css; charset=utf-8"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STATIC_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
HEADER_ARGS = {"x-instance-id": "session", "x-tab-id": "tab"}


class RestDoor:
    """One object for all of `/api/`: the tool is looked up, not searched for among a hundred routes."""

    def __init__(self, gate: Gate, *, defaults: Defaults | None = None) -> None:
        self._gate = gate
        self._defaults = defaults or Defaults()
        self._places = Places(gate.registry)
        self._follower = Follower(gate, self.caller)

    def routes(self) -> list[BaseRoute]:
        return [
            WebSocketRoute("/api/browser/{session}/follow", self._follower.address()),
            Route("/api/{path:path}", self),
        ]

    def caller(self, scope: Scope) -> Caller:
        """REST has no connections: a caller is its key."""
        return Caller(agent_key(scope), connection="", door="rest", defaults=self._defaults)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(scope, receive, send)
        except (Refused, Failure) as problem:
            response = parcel.refusal(problem)
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        path = scope["path"].removeprefix("/api/")
        if path in _STATIC:
            check_method(scope, ("GET", "HEAD"))
            name, kind = _STATIC[path]
            return Response((_PAGE / name).read_bytes(), 200, _STATIC_HEADERS, kind)
        caller = self.caller(scope)
        if path == "openapi.json":
            check_method(scope, ("GET", "HEAD"))
            return Response(self._document, 200, parcel.PLAIN, parcel.JSON)
        if path == "tools":
            check_method(scope, ("GET", "HEAD"))
            return Response(self._list, 200, parcel.PLAIN, parcel.JSON)
        try:
            methods = self._places.at(path)
        except Failure as failure:
            if failure.code != "unknown_tool":
                raise
            # The gate says the same, counts it and writes it down.
            answer = await self._gate.call(Call(path.rpartition("/")[2], {}, caller))
            return parcel.packed(answer, [parcel.JSON], None, 0)
        check_method(scope, tuple(methods))
        return await self._call(scope, receive, send, methods[scope["method"]], caller)

    @cached_property
    def _document(self) -> bytes:
        return wire.encode(openapi.document(self._gate.registry))

    @cached_property
    def _list(self) -> bytes:
        tools = [openapi.listed(tool) for tool in self._gate.registry]
        return wire.encode({"success": True, "data": {"tools": tools}, "metadata": {"count": len(tools)}})

    async def _call(self, scope: Scope, receive: Receive, send: Send, place: Place, caller: Caller) -> Response | None:
        began = time.monotonic()
        headers = Headers(scope=scope)
        kinds = parcel.wanted(headers.get("accept", ""))
        call = Call(place.called, _arguments(scope, headers, place), caller, patience_s=patience_s(headers))
        _choose_format(call.args, place.tool, kinds)
        if kinds[0] == parcel.EVENTS:
            await _stream(self._gate, call, receive, send)
            return None
        answer = await until_gone(self._gate.call(call), receive)
        if answer is None:
            return None
        return parcel.packed(answer, kinds, self._folder(caller, answer), _ms_since(began))

    def _folder(self, caller: Caller, answer: Answer) -> Path | None:
        return self._gate.folder(caller, answer.session) if answer.session and "path" in answer.data else None


def _arguments(scope: Scope, headers: Headers, place: Place) -> body.Args:
    """What the body or the query says; then what the address says, which must not differ; then what headers say."""
    if scope["method"] in ("GET", "DELETE"):
        args = body.query(scope["query_string"], place.tool)
    else:
        args = body.read(scope["pilothouse.body"])
    for name, value in place.args.items():
        if args.setdefault(name, value) != value:
            hint = f"leave {name} out of the arguments"
            raise Failure("bad_request", f"the address names one {name}, the arguments another", suggestions=[hint])
    for header, name in HEADER_ARGS.items():
        if takes(place.tool, name) and (value := headers.get(header)):
            args.setdefault(name, value)
    return args


def _choose_format(args: body.Args, tool: Tool, kinds: list[str]) -> None:
    """Who takes only one kind of picture is given that, unless the call names another."""
    formats = tool.input_schema["properties"].get("format", {}).get("enum", ())
    meant = tool.accepted()
    if not formats or "format" in {meant.get(name, name) for name in args}:
        return
    for kind in itertools.takewhile(lambda one: one.startswith("image/"), kinds):
        if (wanted := kind.removeprefix("image/")) in formats:
            args["format"] = wanted
            return


async def _stream(gate: Gate, call: Call, receive: Receive, send: Send) -> None:
    """Progress as it happens, then the envelope, as events; the status was sent before the outcome was known."""
    began = time.monotonic()
    headers = {**parcel.PLAIN, "content-type": parcel.EVENTS}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": raw})

    async def tell(name: str, what: dict[str, Any], *, more: bool) -> None:
        await send({"type": "http.response.body", "body": parcel.as_event(name, what), "more_body": more})

    async def progress(done: float, total: float | None, message: str) -> None:
        await tell("progress", {"done": done, "total": total, "message": message}, more=True)

    call.progress = progress
    answer = await until_gone(gate.call(call), receive)
    if answer is not None:
        await tell("result", parcel.envelope(answer, _ms_since(began)), more=False)


def _ms_since(began: float) -> float:
    return (time.monotonic() - began) * 1000
