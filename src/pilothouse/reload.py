"""The configuration file while the daemon runs: what was changed in it is applied, what is wrong is told and left.

Above: daemon. Below: config. What holds a port, a browser or a file open needs a new start.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from pilothouse.config import Config
from pilothouse.errors import Failure

EVERY_S = 2.0  # a look costs some microseconds; editors that replace the file defeat most kinds of notice
log = logging.getLogger(__name__)


async def follow_file(path: Path, read: Callable[[], Config], apply: Callable[[Config], None]) -> None:
    """Until cancelled."""
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
            log.warning("the configuration stays as it was: %s", failure)
        else:
            log.info("%s was read again; ports, browsers and log files keep what they began with", path.name)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size
