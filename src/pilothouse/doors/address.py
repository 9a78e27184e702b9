"""One address, of HTTP or of a WebSocket: who is admitted, what happens there, one shape for whatever goes wrong.

Above: http, whose routes lead here. Below: parcel.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from pilothouse.doors import parcel
from pilothouse.doors.http import KEY_PROTOCOL
from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure

PROTOCOL = "pilothouse"

Method = Callable[[Scope, Receive], Awaitable[Response | None]]  # None: whoever asked has left
T = TypeVar("T")


class Address:
    """Whoever is not admitted learns nothing of what it would take."""

    def __init__(self, admit: Callable[[Scope], Any], **methods: Method) -> None:
        self._admit = admit
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._admit(scope)
            check_method(scope, tuple(self._methods))
            response = await self._methods[scope["method"]](scope, receive)
        except (Refused, Failure) as problem:
            response = parcel.refusal(problem)
        if response is not None:
            await response(scope, receive, send)


class LiveAddress(Generic[T]):
    """A WebSocket: `enter` refuses it with a status before it is accepted, or gives what `talk` needs."""

    def __init__(
        self,
        enter: Callable[[WebSocket], AbstractContextManager[T]],
        talk: Callable[[WebSocket, T], Awaitable[None]],
    ) -> None:
        self._enter = enter
        self._talk = talk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        with contextlib.ExitStack() as stack:
            try:
                given = stack.enter_context(self._enter(socket))
                protocol = _chosen(scope["subprotocols"])
            except (Refused, Failure) as problem:
                await socket.send_denial_response(parcel.refusal(problem))
                return
            await socket.accept(protocol)
            await self._talk(socket, given)


def _chosen(offered: list[str]) -> str | None:
    """A browser insists that one of those it offered is chosen, and the one that carries the key is not repeated."""
    if PROTOCOL in offered:
        return PROTOCOL
    if any(one.startswith(KEY_PROTOCOL) for one in offered):
        hint = f"offer {PROTOCOL} besides the key"
        raise Failure("bad_request", "the only protocol offered is a key", suggestions=[hint])
    return None


def check_method(scope: Scope, allowed: tuple[str, ...]) -> None:
    if scope["method"] not in allowed:
        hint = f"use {' or '.join(allowed)}"
        failure = Failure("bad_request", "this address does not take that method", suggestions=[hint])
        raise Refused(405, failure, {"allow": ", ".join(allowed)})


def agent_key(scope: Scope) -> str:
    """The name of the agent's key that a request came with; a person's opens nothing that agents use."""
    if "pilothouse.key" not in scope:
        hint = "send the one in agent.key"
        raise Refused(403, Failure("unauthorized", "this door takes an agent's key", suggestions=[hint]))
    return scope["pilothouse.key"]


def told(data: Any) -> Response:
    """Data in the envelope of every answer."""
    return parcel.as_json({"success": True, "data": data, "metadata": {"timestamp": int(time.time() * 1000)}})
