"""Files of a person's while the daemon runs: what was changed in one is applied, what is wrong is told and left.

Above: daemon. Below: errors.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pilothouse.errors import Failure

EVERY_S = 2.0  # a look costs some microseconds; editors that replace the file defeat most kinds of notice
log = logging.getLogger(__name__)
T = TypeVar("T")


async def follow_file(
    path: Path,
    read: Callable[[], T],
    apply: Callable[[T], None],
    *,
    called: str = "the configuration",
    but: str = "; ports, browsers and log files keep what they began with",
    refused: Callable[[Failure], None] = lambda failure: None,
) -> None:
    """Until cancelled. `but` says what a change does not reach; `refused` hears of a text that is not taken over."""
    seen = _stamp(path)
    while True:
        await asyncio.sleep(EVERY_S)
        now = _stamp(path)
        if now == seen:
            continue
        seen = now
        try:
            apply(await asyncio.to_thread(read))
        except Failure as failure:
            refused(failure)
            log.warning("%s stays as it was: %s", called, failure)
        else:
            log.info("%s was read again%s", path.name, but)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size
