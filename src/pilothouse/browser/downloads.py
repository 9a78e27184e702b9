"""Files that pages gave: what they are called, how far they are, where they lie.

Above: browser, tools. Below: files. While it comes, a file bears the browser's own random name; when it is whole it
gets the name that the page wished, as far as that is a plain and free one.
"""

import math
import time
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.browser import files
from pilothouse.browser.signal import Signal
from pilothouse.errors import Failure

FINISHED_KEPT = 200
FRESH_S = 60.0  # for so long a download that has ended counts as the next one


class Download(msgspec.Struct):
    id: str
    name: str
    url: str
    tab: str
    state: str = "inProgress"  # inProgress | completed | canceled
    received_bytes: int = 0
    total_bytes: int = 0
    path: str = ""  # once it is whole


class _Times(msgspec.Struct):
    """On the monotonic clock."""

    begun: float
    ended: float = math.inf


class Downloads:
    def __init__(self) -> None:
        self._by_id: dict[str, Download] = {}
        self._unclaimed: dict[str, _Times] = {}  # nobody has waited for these yet
        self._acted_at = 0.0  # when the last action began
        self.signal = Signal()
        self.lies: dict[str, str] = {}  # where a browser put a file by itself, by the download's id

    def all(self) -> list[Download]:
        return list(self._by_id.values())

    def has(self, download_id: str) -> bool:
        return download_id in self._by_id

    def coming(self) -> tuple[int, set[str]]:
        """How many bytes have come of downloads that are not over, and what the browser calls these."""
        coming = [one for one in self._by_id.values() if one.state == "inProgress"]
        return sum(one.received_bytes for one in coming), {one.id for one in coming}

    def begin(self, params: dict[str, Any], tab: str) -> None:
        self._by_id[params["guid"]] = Download(params["guid"], params["suggestedFilename"], params["url"], tab)
        self._unclaimed[params["guid"]] = _Times(time.monotonic())
        self.signal.stir()

    async def next(self, timeout: float) -> Download | None:
        """The next download that ends; one that ended since the last action began counts, once."""
        await self.signal.until(self._ended, timeout)
        found = self._ended()
        if found:
            del self._unclaimed[found.id]
        return found

    def acted(self, began_at: float) -> None:
        """What was over before the caller's last action is not what they wait for."""
        self._acted_at = max(self._acted_at, began_at)

    def _ended(self) -> Download | None:
        """The newest that is over. While one that the last action began is under way, it is that one."""
        oldest = max(time.monotonic() - FRESH_S, self._acted_at)
        fresh = {one: at for one, at in self._unclaimed.items() if at.ended >= oldest and one in self._by_id}
        self._unclaimed = fresh
        awaited = [one for one, at in fresh.items() if at.begun >= self._acted_at] or list(fresh)
        over = [self._by_id[one] for one in awaited if self._by_id[one].state != "inProgress"]
        return over[-1] if over else None

    def move(self, params: dict[str, Any], folder: Path | None = None) -> Download | None:
        """Take in progress; answers the download when it has just ended."""
        download = self._by_id.get(params["guid"])
        if download is None:
            return None
        before, download.state = download.state, params["state"]
        download.received_bytes, download.total_bytes = int(params["receivedBytes"]), int(params["totalBytes"])
        if download.state == before:
            self.signal.stir()
            return None
        if download.state == "completed" and folder:
            download.path = self.lies.pop(download.id, "") or _named(folder / download.id, download.name)
        if download.id in self._unclaimed:
            self._unclaimed[download.id].ended = time.monotonic()
        self._drop_oldest()
        self.signal.stir()
        return download

    def undo(self, download: Download) -> None:
        """There was no room for it."""
        if download.path:
            Path(download.path).unlink(missing_ok=True)
        download.state, download.path = "canceled", ""

    def _drop_oldest(self) -> None:
        finished = [one for one in self._by_id.values() if one.state != "inProgress"]
        for one in finished[: max(len(finished) - FINISHED_KEPT, 0)]:
            del self._by_id[one.id]


def _named(file: Path, name: str) -> str:
    """Where it lies now. A browser on another machine keeps it there."""
    if not file.exists():
        return ""
    try:
        return str(files.name_again(file, name))
    except (OSError, Failure):  # its random name is as good as any
        return str(file)
