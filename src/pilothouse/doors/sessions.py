"""`/api/sessions`: a person sees the sessions of all callers, and ends those that are in the way.

Above: http has checked Host, Origin and key; person lets the person in and nobody else. Below: the gate.
"""

from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from pilothouse.doors.address import Address, told
from pilothouse.doors.person import PersonOnly
from pilothouse.gate import Gate


def session_routes(gate: Gate, person: PersonOnly) -> list[BaseRoute]:
    async def listed(scope: Scope, receive: Receive) -> Response:
        return told({"sessions": gate.every_session()})

    async def closed(scope: Scope, receive: Receive) -> Response:
        return told({"closed": await gate.end_session(scope["path_params"]["id"])})

    return [
        Route("/api/sessions", Address(person.check, GET=listed)),
        Route("/api/sessions/{id}", Address(person.check, DELETE=closed)),
    ]
