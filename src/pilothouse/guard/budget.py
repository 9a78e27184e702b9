"""How many steps a session may make, and how many an agent key may make in an hour on the pages of a rule.

Above: the gate counts each call that the policy let pass, just before it runs. Below: errors. Hours are counted for
the key and the rule, on a clock that nobody can set: another connection, session or protocol renews nothing.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping

from pilothouse.errors import Failure

HOUR_S = 3600.0
MAX_SESSIONS = 10_000  # whose steps are remembered; the oldest are long closed


class Budget:
    """What is refused does not count, so that waiting always helps."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused = 0
        self._clock = clock
        self._sessions: dict[str, int] = {}
        self._hours: dict[tuple[str, str], deque[float]] = {}

    def count(self, key: str, session: str, *, step_budget: int, hourly: Mapping[str, int]) -> None:
        """One more step of a session and key, at pages of these rules; or `over_limit`, and nothing is counted."""
        now = self._clock()
        if step_budget and self._sessions.get(session, 0) >= step_budget:
            self.refused += 1
            raise _used_up(step_budget)
        for rule, limit in hourly.items():
            self._check(key, rule, limit, now)
        for rule in hourly:
            self._hours.setdefault((key, rule), deque()).append(now)
        self._sessions[session] = self._sessions.pop(session, 0) + 1
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    def steps(self, session: str) -> int:
        """How many a session has made."""
        return self._sessions.get(session, 0)

    def _check(self, key: str, rule: str, limit: int, now: float) -> None:
        if (key, rule) not in self._hours:
            self._forget_silent(now)
        steps = self._hours.get((key, rule), deque[float]())
        while steps and now - steps[0] >= HOUR_S:
            steps.popleft()
        if len(steps) >= limit:
            self.refused += 1
            raise _too_many(rule, limit, HOUR_S - (now - steps[-limit]))

    def _forget_silent(self, now: float) -> None:
        """Who has been silent for an hour has the whole of it again."""
        self._hours = {name: steps for name, steps in self._hours.items() if steps and now - steps[-1] < HOUR_S}


def _used_up(step_budget: int) -> Failure:
    return Failure(
        "over_limit",
        f"this session has made its {step_budget} steps; they do not come back",
        details={"step_budget": step_budget},
        suggestions=["tell your person what is left to do", "only they can raise it: step_budget in policy.toml"],
        retryable=False,
    )


def _too_many(rule: str, limit: int, left_s: float) -> Failure:
    seconds = max(math.ceil(left_s), 1)
    return Failure(
        "over_limit",
        f"this key has made {limit} steps on {rule} within an hour, the most it may make there",
        details={"rule": f"rule {rule}", "retry_after_s": seconds},
        suggestions=[f"try again in {seconds} s", "max_steps_per_hour in policy.toml raises it"],
    )
