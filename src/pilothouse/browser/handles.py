"""How many files and sockets the system lets us have open, and whether there is room for another session.

Above: the daemon asks for as many as it may have; sessions ask before a new one. Below: the operating system.
"""

import contextlib
import os
import sys
import time

from pilothouse.errors import Failure

MOST = 65_536
RESERVED = 200  # for doors, pages' connections, files, and what is being answered
COUNT_EVERY_S = 0.25
PER_SESSION = 4  # its socket, its gateway, a request to the Grid, a file

if sys.platform == "win32":

    def raise_limit() -> None:
        """There is none to raise."""

    def limit() -> int:
        return 0

else:
    import resource

    def raise_limit() -> None:
        """The usual 1,024 are enough for some hundred sessions; most systems give more to who asks."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

    def limit() -> int:
        """0: none."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return 0 if soft == resource.RLIM_INFINITY else soft


def admit(coming: int) -> None:
    """Refuse a new session while others could not be served; `coming` have been let in and have not got theirs."""
    most = limit()
    if most and _in_use() + (coming + 1) * PER_SESSION > most - RESERVED:
        raise Failure(
            "over_limit",
            f"the system lets Pilothouse have {most} files and sockets, and they are nearly all in use",
            suggestions=["close_session what is not needed", "a person can raise the limit: ulimit -n, or LimitNOFILE"],
        )


class _Count:
    """To count thousands takes milliseconds: what was counted a moment ago is good enough."""

    in_use = 0
    until = 0.0


def _in_use() -> int:
    if (now := time.monotonic()) > _Count.until:
        try:
            _Count.in_use = len(os.listdir("/dev/fd"))
        except OSError:  # not even this one can be had
            _Count.in_use = MOST
        _Count.until = now + COUNT_EVERY_S
    return _Count.in_use
