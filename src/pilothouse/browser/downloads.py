"""Files that pages gave: what they are called, how far they are, where they lie.

Above: browser, tools. Below: nothing. On disk a file bears the browser's own random name; the page's wish is data.
"""

from typing import Any

import msgspec

from pilothouse.browser.signal import Signal

FINISHED_KEPT = 200


class Download(msgspec.Struct):
    id: str
    name: str
    url: str
    tab: str
    state: str = "inProgress"  # inProgress | completed | canceled
    received_bytes: int = 0
    total_bytes: int = 0


class Downloads:
    def __init__(self) -> None:
        self._by_id: dict[str, Download] = {}
        self._dropped_bytes = 0
        self.signal = Signal()

    def all(self) -> list[Download]:
        return list(self._by_id.values())

    def has(self, download_id: str) -> bool:
        return download_id in self._by_id

    def kept_bytes(self) -> int:
        """What lies on the disk, also of downloads that are no longer listed."""
        return self._dropped_bytes + sum(one.received_bytes for one in self._by_id.values() if one.state != "canceled")

    def begin(self, params: dict[str, Any], tab: str) -> None:
        self._by_id[params["guid"]] = Download(params["guid"], params["suggestedFilename"], params["url"], tab)
        self.signal.stir()

    def move(self, params: dict[str, Any]) -> Download | None:
        """Take in progress; answers the download when it has just ended."""
        download = self._by_id.get(params["guid"])
        if download is None:
            return None
        before, download.state = download.state, params["state"]
        download.received_bytes, download.total_bytes = int(params["receivedBytes"]), int(params["totalBytes"])
        self._drop_oldest()
        self.signal.stir()
        return download if download.state != before else None

    def _drop_oldest(self) -> None:
        finished = [one for one in self._by_id.values() if one.state != "inProgress"]
        for one in finished[: max(len(finished) - FINISHED_KEPT, 0)]:
            del self._by_id[one.id]
            self._dropped_bytes += one.received_bytes if one.state == "completed" else 0
