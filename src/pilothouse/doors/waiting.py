"""How long an HTTP client waits: until it hangs up, and for a person as long as it prefers.

Above: rest, contracts. Below: gate, whose call ends with the client.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive

from pilothouse.call import Answer


def patience_s(headers: Headers) -> float | None:
    """`Prefer: respond-async` waits for no person, `Prefer: wait=10` so many seconds; else until they answer."""
    wishes = [wish.strip().lower() for one in headers.getlist("prefer") for wish in one.split(",")]
    for wish in wishes:
        if wish == "respond-async":
            return 0.0
        if wish.startswith("wait=") and wish.removeprefix("wait=").isdecimal():
            return float(wish.removeprefix("wait=")[:6])
    return None


async def until_gone(work: Coroutine[Any, Any, Answer], receive: Receive) -> Answer | None:
    """The answer; or None when the client left first, and its call was cancelled."""
    call = asyncio.ensure_future(work)
    left = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((call, left), return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            return call.result()
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        return None
    finally:
        call.cancel()
        left.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
