"""Server-sent events in an answer that a script reads by itself (`fetch`): the browser tells its bytes, not its events.

Above: network. Below: nothing. Of an `EventSource` the browser tells the events.
"""

import codecs

MOST_CHARS = 100_000  # of one event; the rest of a longer one is left out
MOST_NAME = 200


class EventStream:
    """What came before the browser had told the beginning waits for it."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._early: list[bytes] | None = []
        self._line = ""
        self._ended_by_cr = False
        self._name = ""
        self._data: list[str] = []
        self._size = 0

    def begin(self, data: bytes) -> list[tuple[str, str]]:
        """Name and data of every event that is complete."""
        early, self._early = self._early or [], None
        return [event for part in (data, *early) for event in self.feed(part)]

    def feed(self, data: bytes) -> list[tuple[str, str]]:
        if self._early is not None:
            self._early.append(data)
            return []
        text = self._decode(data)
        if not text:
            return []
        halved, self._ended_by_cr = self._ended_by_cr, text.endswith("\r")
        if halved:  # a line end whose second half comes now
            text = text.removeprefix("\n")
        *lines, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        found: list[tuple[str, str]] = []
        for line in lines:
            found += self._take(self._line + line)
            self._line = ""
        self._line = (self._line + rest)[:MOST_CHARS]
        return found

    def _take(self, line: str) -> list[tuple[str, str]]:
        if not line:
            event = [(self._name or "message", "\n".join(self._data))] if self._data else []
            self._name, self._data, self._size = "", [], 0
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value[:MOST_NAME]
        elif field == "data" and (room := MOST_CHARS - self._size) > 0:
            self._data.append(value[:room])
            self._size += len(value) + 1
        return []
