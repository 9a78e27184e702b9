"""`/metrics`: numbers about the daemon, for Prometheus and for people, with an agent's key.

Above: http. Below: gate, metrics.
"""

from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

import pilothouse
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.metrics import CONTENT_TYPE


def metrics_route(gate: Gate) -> Route:
    async def metrics(request: Any) -> Response:
        if "pilothouse.key" not in request.scope:
            refusal = Failure("unauthorized", "this door takes an agent's key")
            return JSONResponse({"success": False, "error": refusal.to_dict()}, 403)
        text = gate.metrics.text(await gate.samples(), pilothouse.__version__)
        return PlainTextResponse(text, media_type=CONTENT_TYPE)

    return Route("/metrics", metrics, methods=["GET"])
