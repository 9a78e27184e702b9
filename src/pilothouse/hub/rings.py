"""What happened in one tab, the newest of it, in memory only: requests put together from their events, and the console.

Above: hub. Below: words, guard's linear patterns. Whatever comes in here has lost its secrets already.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

import msgspec
import re2  # pyright: ignore[reportMissingTypeStubs]

from pilothouse.errors import Failure, no_such_status
from pilothouse.guard.linear import compiled
from pilothouse.hub.words import ConsoleEntry, ConsoleFilters, NetworkEvent, NetworkFilters, NetworkRequest

MAX_REQUESTS = 2_000
MAX_ENTRIES = 10_000
MAX_BYTES = 16 * 1024 * 1024


class Requests:
    """By their ids, oldest first. A request that began before anybody listened is known from its later events."""

    def __init__(self) -> None:
        self._all: OrderedDict[str, NetworkRequest] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self.bytes = 0

    def take(self, event: NetworkEvent) -> NetworkRequest:
        data = event.data
        known = self._all.get(data.request_id)
        request = known or NetworkRequest(data.request_id, data.timestamp)
        match event.event:
            case "request":
                # A browser that has lost its memory may know less of it than we do.
                request.timestamp = min(request.timestamp, data.timestamp)
                request.method, request.url = data.method or request.method, data.url or request.url
                request.request_headers = data.headers or request.request_headers
                request.request_body = data.body or request.request_body
            case "response":
                request.status, request.status_text, request.mime_type = data.status, data.status_text, data.mime_type
                request.response_headers = data.headers
                request.url = request.url or data.url or ""
            case "finished":
                request.response_body, request.duration_ms = data.body, data.duration_ms
                request.response_body_truncated = data.body_truncated or None
            case "failed":
                request.error, request.duration_ms = data.error or "failed", data.duration_ms
        self.keep(request)
        return request

    def keep(self, request: NetworkRequest) -> None:
        size = len(msgspec.json.encode(request))
        self.bytes += size - self._sizes.get(request.request_id, 0)
        self._all[request.request_id] = request
        self._sizes[request.request_id] = size
        while len(self._all) > MAX_REQUESTS or (self.bytes > MAX_BYTES and len(self._all) > 1):
            self.drop_oldest()

    def drop_oldest(self) -> None:
        oldest, _ = self._all.popitem(last=False)
        self.bytes -= self._sizes.pop(oldest)

    def merge(self, told: Iterable[NetworkRequest]) -> None:
        """What the browser remembers has its place by time among what we heard."""
        together = {**self._all, **{one.request_id: _joined(self._all.get(one.request_id), one) for one in told}}
        self._all.clear()
        self._sizes.clear()
        self.bytes = 0
        for one in sorted(together.values(), key=lambda one: one.timestamp):
            self.keep(one)

    def chosen(self, filters: NetworkFilters) -> list[NetworkRequest]:
        fits = request_filter(filters)
        return [one for one in self._all.values() if fits(one)][-filters.limit :]


class Entries:
    def __init__(self) -> None:
        self._all: deque[tuple[ConsoleEntry, int]] = deque()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._all)

    def keep(self, entry: ConsoleEntry) -> None:
        size = len(msgspec.json.encode(entry))
        self._all.append((entry, size))
        self.bytes += size
        while len(self._all) > MAX_ENTRIES or (self.bytes > MAX_BYTES and len(self._all) > 1):
            self.drop_oldest()

    def drop_oldest(self) -> None:
        self.bytes -= self._all.popleft()[1]

    def replace(self, entries: Iterable[ConsoleEntry]) -> None:
        """The browser remembers better: its list, with what we heard before its first line and since its last."""
        told = list(entries)
        oldest, newest = (told[0].timestamp, told[-1].timestamp) if told else (0, 0)
        kept = [entry for entry, _ in self._all]
        earlier = [entry for entry in kept if entry.timestamp < oldest]
        later = [entry for entry in kept if entry.timestamp > newest]
        self._all.clear()
        self.bytes = 0
        for entry in [*earlier, *told, *later]:
            self.keep(entry)

    def chosen(self, filters: ConsoleFilters) -> list[ConsoleEntry]:
        fits = entry_filter(filters)
        return [entry for entry, _ in self._all if fits(entry)][-filters.limit :]


def _joined(known: NetworkRequest | None, told: NetworkRequest) -> NetworkRequest:
    """What is told, and what was sent as we know it where that is not."""
    if known is None or told.method:
        return told
    sent = {name: getattr(known, name) for name in ("timestamp", "method", "request_headers", "request_body")}
    return msgspec.structs.replace(told, **sent)


def is_done(what: NetworkRequest | ConsoleEntry) -> bool:
    return isinstance(what, ConsoleEntry) or what.duration_ms is not None or what.error is not None


def request_filter(filters: NetworkFilters) -> Callable[[NetworkRequest], bool]:
    found = _searched(filters.url_pattern)
    if filters.status_min > filters.status_max:
        raise no_such_status(filters.status_min, filters.status_max)
    methods = {one.upper() for one in filters.method}
    by_status = filters.status_min > 0 or filters.status_max < 999

    def fits(one: NetworkRequest) -> bool:
        status = _worst(one)
        return (
            one.timestamp >= filters.since
            and (not methods or not one.method or one.method.upper() in methods)  # unknown: it may be one of them
            and (not by_status or (status is not None and filters.status_min <= status <= filters.status_max))
            and found(one.url)
        )

    return fits


def _worst(one: NetworkRequest) -> int | None:
    """A request that failed without an answer is worse than any status, and found by whoever looks for errors."""
    return 999 if one.error and one.status is None else one.status


def entry_filter(filters: ConsoleFilters) -> Callable[[ConsoleEntry], bool]:
    found = _searched(filters.message_pattern)
    levels = set(filters.level)

    def fits(one: ConsoleEntry) -> bool:
        return one.timestamp >= filters.since and (not levels or one.level in levels) and found(one.message)

    return fits


def _searched(pattern: str) -> Callable[[str], bool]:
    if not pattern:
        return lambda text: True
    try:
        search = compiled(pattern, groups=False).search
    except re2.error:  # pyright: ignore[reportUnknownMemberType]
        hint = "it is a regular expression: write \\. for a dot, .* for anything"
        raise Failure("bad_request", f"{pattern[:200]!r} is not a pattern", suggestions=[hint]) from None
    return lambda text: search(text) is not None
