"""How many calls an agent key may make in a minute, whatever connection or session they come by.

Above: the gate counts every call here. Below: errors.
"""

import math
import time
from collections import deque
from collections.abc import Callable

from pilothouse.errors import Failure

WINDOW_S = 60.0


class Rates:
    """A sliding window for each key. What is refused does not count, so that waiting always helps."""

    def __init__(self, per_minute: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute  # 0 sets no limit
        self.refused = 0
        self._clock = clock
        self._calls: dict[str, deque[float]] = {}

    def count(self, key: str) -> None:
        """One more call of that key, or `over_limit` with the time to wait."""
        if not self.per_minute:
            return
        now = self._clock()
        calls = self._calls.get(key)
        if calls is None:
            self._forget_silent(now)
            calls = self._calls[key] = deque()
        while calls and now - calls[0] >= WINDOW_S:
            calls.popleft()
        if len(calls) >= self.per_minute:
            self.refused += 1
            raise self._refusal(WINDOW_S - (now - calls[-self.per_minute]))
        calls.append(now)

    def _forget_silent(self, now: float) -> None:
        """Keys come and go; one that has been silent for a minute has its whole rate again."""
        self._calls = {key: calls for key, calls in self._calls.items() if calls and now - calls[-1] < WINDOW_S}

    def _refusal(self, left_s: float) -> Failure:
        seconds = max(math.ceil(left_s), 1)
        return Failure(
            "over_limit",
            f"this key has made {self.per_minute} calls within a minute, the most it may make",
            details={"retry_after_s": seconds},
            suggestions=[f"try again in {seconds} s", "limits.requests_per_minute raises it"],
        )
