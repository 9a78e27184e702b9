"""A call comes upon a session whose wheel a person has taken: it waits, as long as its caller can, and is told why.

Above: the gate, before it judges anything; permitting, when somebody was asked and it is about to run. Below: the
session's pause, call, errors. The page is judged afterwards: the person may have left it as another one.
"""

import asyncio
import contextlib
import time

from pilothouse.browser.pause import paused
from pilothouse.call import Visit
from pilothouse.errors import Failure
from pilothouse.tool import Progress

PATIENCE_S = 50.0  # below the minute after which most clients give a call up
REPORT_S = 5.0


async def until_free(visit: Visit) -> bool:
    """Whether somebody had the wheel: the page may be another by now. The person's time is not the call's."""
    session = visit.session
    if session is None or not session.pause.taken:
        return False
    began, patience_s = time.monotonic(), visit.call.patience_s
    limit_s = PATIENCE_S if patience_s is None else min(patience_s, PATIENCE_S)
    reporting = asyncio.create_task(_report(visit.call.progress)) if visit.call.progress else None
    try:
        if not await session.pause.until_free(limit_s):
            raise paused()
    finally:
        visit.asking_s += time.monotonic() - began
        if reporting:
            reporting.cancel()
    if session.closed:
        raise Failure("not_found", "the session was closed", suggestions=["open one with open_session"])
    return True


async def _report(progress: Progress) -> None:
    began = time.monotonic()
    while True:
        with contextlib.suppress(Exception):  # a client that cannot be told may still be answered
            await progress((time.monotonic() - began) / 1000, None, "a person has the wheel; the call waits")
        await asyncio.sleep(REPORT_S)
