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


class Followed:
    """A file that is followed. Made before it is first read: what is written after that is noticed, however soon."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = _stamp(path)

    async def follow(
        self,
        read: Callable[[], T],
        apply: Callable[[T], None],
        *,
        called: str = "the configuration",
        but: str = "; ports, browsers and log files keep what they began with",
        refused: Callable[[Failure], None] = lambda failure: None,
    ) -> None:
        """Until cancelled. `but` says what a change does not reach; `refused` hears of a text that is not taken."""
        while True:
            await asyncio.sleep(EVERY_S)
            now = _stamp(self.path)
            if now == self._seen:
                continue
            self._seen = now
            try:
                apply(await asyncio.to_thread(read))
            except Failure as failure:
                refused(failure)
                log.warning("%s stays as it was: %s", called, failure)
            else:
                log.info("%s was read again%s", self.path.name, but)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size
