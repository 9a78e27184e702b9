"""One address: who is admitted, what each method does there, and one shape for whatever goes wrong.

Above: http, whose routes lead here. Below: parcel.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pilothouse.doors import parcel
from pilothouse.doors.parcel import Refused
from pilothouse.errors import Failure

Method = Callable[[Scope, Receive], Awaitable[Response | None]]  # None: whoever asked has left


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
