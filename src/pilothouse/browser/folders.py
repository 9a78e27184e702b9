"""Folders of sessions that are over: kept for a while, then removed, those of earlier daemons too.

Above: sessions. Below: the file system.
"""

import asyncio
import contextlib
import logging
import re
import shutil
import time
from collections.abc import Callable, Container
from pathlib import Path

from pilothouse.minted import LETTERS

log = logging.getLogger(__name__)

EVERY_S = 3600.0
# What a session is called, and was in earlier versions; anything else there is not ours to remove.
_SESSION = re.compile(rf"s(?:[a-z]{{{LETTERS}}}|[A-Za-z0-9_-]{{22}})")


class Folders:
    """Looks at once and then every hour. `in_use` are the names that may not be touched."""

    def __init__(
        self, folder: Path, keep_s: float, in_use: Callable[[], Container[str]], every_s: float = EVERY_S
    ) -> None:
        self._folder = folder
        self._keep_s = keep_s
        self._in_use = in_use
        self._sweeper = asyncio.create_task(self._sweep(min(every_s, max(keep_s, 60))))

    def close(self) -> None:
        self._sweeper.cancel()

    async def _sweep(self, every_s: float) -> None:
        while True:
            try:
                await asyncio.to_thread(self.remove_old)
            except OSError:
                log.exception("the folders of old sessions could not be removed")
            await asyncio.sleep(every_s)

    def remove_old(self) -> None:
        now = time.time()
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):  # it just went
                age_s = now - folder.lstat().st_mtime
                ours = _SESSION.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
                if ours and age_s > self._keep_s and folder.name not in self._in_use():
                    shutil.rmtree(folder, ignore_errors=True)
