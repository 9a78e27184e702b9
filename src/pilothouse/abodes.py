"""Which terminals work in a browser of the person's, kept in a file: a daemon that starts anew sends nobody elsewhere.

Above: the daemon. Below: browser's options, written. A command of a terminal says nothing of where the last one worked;
without this the first one after a crash would open a private browser.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from pilothouse.browser.session import Options
from pilothouse.written import replace

FILE = "terminals.json"
MAX_BYTES = 256 * 1024
MOST = 200
TERMINAL = "terminal-"  # how connections begin that can come back to another daemon

Owner = tuple[str, str]

_log = logging.getLogger(__name__)


class _Abode(msgspec.Struct, frozen=True):
    key: str
    connection: str
    options: Options


class Abodes:
    def __init__(self, home: Path, is_gone: Callable[[str], bool]) -> None:
        self._path = home / FILE
        self._is_gone = is_gone
        self._kept: dict[Owner, Options] = {}
        self._writing = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def load(self) -> dict[Owner, Options]:
        """Of the terminals that are still there. To look may take a while."""
        with self._path.open("rb") as file:
            read = msgspec.json.decode(file.read(MAX_BYTES), type=list[_Abode])
        there = [one for one in read[-MOST:] if not self._is_gone(one.connection)]
        self._kept = {(one.key, one.connection): one.options for one in there}
        return dict(self._kept)

    async def recall(self) -> dict[Owner, Options]:
        """What cannot be read is no reason not to start."""
        try:
            return await asyncio.to_thread(self.load)
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            _log.warning("which terminals worked in the person's Chrome cannot be read: %s", error)
            return {}

    def keep(self, owner: Owner, options: Options | None) -> None:
        """Where a caller works now; None: in no browser of the person's."""
        if not owner[1].startswith(TERMINAL) or self._kept.get(owner) == options:
            return
        self._kept.pop(owner, None)
        if options:
            self._kept[owner] = options
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        task = asyncio.ensure_future(asyncio.to_thread(self._write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _write(self) -> None:
        with self._writing:
            told = [_Abode(key, connection, options) for (key, connection), options in tuple(self._kept.items())]
            try:
                replace(self._path, msgspec.json.encode(told))
            except OSError as error:
                _log.warning("which terminals work in the person's Chrome was not kept: %s", error)
