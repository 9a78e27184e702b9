"""The last messages of each session's streams, so that a client whose stream broke can fetch what it missed.

Above: mcp. Below: nothing. Each session has a memory of its own, and all of them together have a limit too.
"""

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, cast


class Kept(NamedTuple):
    number: int
    stream: str
    message: Any
    weight: int


class Replay:
    """The memory of one session."""

    def __init__(
        self, grown: Callable[[], None] = lambda: None, max_events: int = 256, max_bytes: int = 4 * 1024 * 1024
    ) -> None:
        self._events: deque[Kept] = deque()
        self._grown, self._max_events, self._max_bytes = grown, max_events, max_bytes
        self._next = 0
        self.bytes = 0

    def keep(self, stream: str, message: Any, content: Any) -> int:
        """Its number; `content` is the message as plain data, by which it is weighed."""
        self._next += 1
        kept = Kept(self._next, stream, message, 0 if content is None else _weight(content))
        self.bytes += kept.weight
        self._events.append(kept)
        # Pictures are what weighs: they push out everything older, so that an idle daemon keeps little.
        while len(self._events) > self._max_events or (self.bytes > self._max_bytes and len(self._events) > 1):
            self.forget_oldest()
        self._grown()
        return kept.number

    def forget_oldest(self) -> None:
        self.bytes -= self._events.popleft().weight

    def find(self, number: str) -> Kept | None:
        return next((one for one in self._events if str(one.number) == number), None)

    def after(self, last: Kept) -> list[Kept]:
        return [one for one in self._events if one.number > last.number and one.stream == last.stream]


class Replays:
    """The memories of all living sessions: where all of it is too much, the largest gives way."""

    def __init__(self, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._living: weakref.WeakSet[Replay] = weakref.WeakSet()
        self._max_bytes = max_bytes

    def open(self) -> Replay:
        made = Replay(self._shrink)
        self._living.add(made)
        return made

    def _shrink(self) -> None:
        while sum(one.bytes for one in self._living) > self._max_bytes:
            max(self._living, key=lambda one: one.bytes).forget_oldest()


def _weight(value: Any) -> int:
    """About how many bytes plain data takes."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(str(key)) + _weight(item) for key, item in cast(dict[str, Any], value).items())
    return 8 + sum(map(_weight, cast(list[Any], value))) if isinstance(value, list) else 8
