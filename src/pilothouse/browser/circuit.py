"""A breaker: what fails again and again is left alone for a while.

Above: pool. Below: errors.
"""

import math
import time
from collections import deque
from collections.abc import Callable

from pilothouse.errors import Failure

FAILURES = 5
WINDOW_S = 60.0
PAUSE_S = 30.0


class Circuit:
    """Five failures within a minute open it for half a minute; then one trial decides."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._failures: deque[float] = deque(maxlen=FAILURES)
        self._open_until = 0.0

    def check(self) -> None:
        """Refuse while it is open. When its time is over, the first who asks is the trial and the others wait."""
        now = self._clock()
        if not self._open_until or now - self._open_until > WINDOW_S:
            self._open_until = 0.0
            return
        left = self._open_until - now
        if left > 0:
            seconds = math.ceil(left)
            raise Failure(
                "browser_gone",
                f"{self._what} failed {FAILURES} times within a minute; the next try is in {seconds} s",
                details={"retry_after_s": seconds},
                suggestions=[f"try again in {seconds} s"],
            )
        self._open_until = now + PAUSE_S

    @property
    def on_trial(self) -> bool:
        """Whether what is tried now decides."""
        return bool(self._open_until)

    def worked(self) -> None:
        """The trial went well. What failed within the last minute still counts, should it fail again."""
        self._open_until = 0.0

    def failed(self) -> None:
        now = self._clock()
        self._failures.append(now)
        often = len(self._failures) == FAILURES and now - self._failures[0] < WINDOW_S
        if often or self.on_trial:
            self._open_until = now + PAUSE_S
