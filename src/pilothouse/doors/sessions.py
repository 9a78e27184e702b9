"""`/api/sessions`: a person sees the sessions of all callers, and ends those that are in the way.

Above: http has checked Host, Origin and key; person lets the person in and nobody else. Below: the gate.
"""

from typing import Any

from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from pilothouse.doors.person import Door, PersonOnly
from pilothouse.gate import Gate


def session_routes(gate: Gate, person: PersonOnly) -> list[BaseRoute]:
    async def listed(scope: Scope) -> dict[str, Any]:
        return {"sessions": gate.every_session()}

    async def closed(scope: Scope) -> dict[str, Any]:
        return {"closed": await gate.end_session(scope["path_params"]["id"])}

    return [
        Route("/api/sessions", Door(person, GET=listed)),
        Route("/api/sessions/{id}", Door(person, DELETE=closed)),
    ]
