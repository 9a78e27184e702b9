"""A call comes upon a session whose wheel a person has taken: it waits, as long as its caller can, and is told why.

Above: the gate, before it judges anything; permitting, when somebody was asked and it is about to run. Below: the
session's pause, call, doing, errors. The page is judged afterwards: the person may have left it as another one.
"""

import time

from pilothouse.browser.pause import paused
from pilothouse.call import Visit
from pilothouse.doing import doing
from pilothouse.errors import Failure

PATIENCE_S = 50.0  # below the minute after which most clients give a call up


async def until_free(visit: Visit) -> bool:
    """Whether somebody had the wheel: the page may be another by now. The person's time is not the call's."""
    session = visit.session
    if session is None or not session.pause.taken:
        return False
    began, patience_s = time.monotonic(), visit.call.patience_s
    limit_s = PATIENCE_S if patience_s is None else min(patience_s, PATIENCE_S)
    try:
        with doing(lambda: "a person has the wheel; the call waits", is_persons=True):
            if not await session.pause.until_free(limit_s):
                raise paused()
    finally:
        visit.asking_s += time.monotonic() - began
    if session.closed:
        raise Failure("not_found", "the session was closed", suggestions=["open one with open_session"])
    return True
