"""A call comes upon a session whose wheel a person has taken: it waits, as long as its caller can, and is told why.

Above: the gate, before it judges anything. Below: the session's pause, call, errors. What was the page is judged
afterwards: the person may have left it as another one.
"""

import asyncio
import contextlib
import time

from pilothouse.call import Visit
from pilothouse.errors import Failure
from pilothouse.tool import Progress

PATIENCE_S = 50.0  # below the minute after which most clients give a call up
REPORT_S = 5.0


async def until_free(visit: Visit) -> None:
    """The person's time is not the call's."""
    session = visit.session
    if session is None or not session.pause.taken:
        return
    began, patience_s = time.monotonic(), visit.call.patience_s
    limit_s = PATIENCE_S if patience_s is None else min(patience_s, PATIENCE_S)
    reporting = asyncio.create_task(_report(visit.call.progress)) if visit.call.progress else None
    try:
        if not await session.pause.until_free(limit_s):
            raise _paused()
    finally:
        visit.asking_s += time.monotonic() - began
        if reporting:
            reporting.cancel()
    if session.closed:
        raise Failure("not_found", "the session was closed", suggestions=["open one with open_session"])


async def _report(progress: Progress) -> None:
    began = time.monotonic()
    while True:
        with contextlib.suppress(Exception):  # a client that cannot be told may still be answered
            await progress((time.monotonic() - began) / 1000, None, "a person has the wheel; the call waits")
        await asyncio.sleep(REPORT_S)


def _paused() -> Failure:
    return Failure(
        "paused",
        "a person has taken the wheel of this session: nothing was done",
        details={"retry_after_s": 10},
        suggestions=[
            "repeat the call later: it goes on when they give the wheel back",
            "then look at the page first (get_page_state): they may have changed it",
        ],
    )
