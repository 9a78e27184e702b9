"""The seal on a question that is returned to a client (2026-07-28): what it echoes is proved to be ours, and its own.

Above: mcp puts it around every request. Below: the SDK's seal, which brings cryptography along (M: 6.6 MB, 60 ms); so
it is brought in by the first question that is returned, or echoed.
"""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.methods import is_input_required

if TYPE_CHECKING:
    from mcp.server.request_state import RequestStateBoundary

Context = ServerRequestContext[Any, Any]


class Seal:
    """`whose` tells the caller's key: one caller's question is nobody else's."""

    def __init__(self, whose: Callable[[Context], str]) -> None:
        self._whose = whose
        self._key = os.urandom(32)
        self._boundary: RequestStateBoundary | None = None

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.params is not None and ctx.params.get("requestState") is not None:
            return await (await self._brought_in())(ctx, call_next)
        result = await call_next(ctx)
        if not is_input_required(result):
            return result

        async def told(ctx: Context) -> HandlerResult:
            return result

        return await (await self._brought_in())(ctx, told)

    async def _brought_in(self) -> "RequestStateBoundary":
        self._boundary = self._boundary or await asyncio.to_thread(self._made)
        return self._boundary

    def _made(self) -> "RequestStateBoundary":
        from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

        security = RequestStateSecurity(keys=[self._key], bind_principal=self._whose)
        return RequestStateBoundary(security, default_audience="pilothouse")
