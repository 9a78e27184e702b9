"""Errors of a page as news: it may fail ten thousand times a second, so a few lines a second are told at once, and of
the others the newest when somebody is answered, each with how often it came. The rest is counted.

Above: tab, telling. Below: nothing. The console's log has them, as far back as it goes.
"""

import asyncio
from typing import Protocol

from pilothouse.result import counted

PER_SECOND = 5
NEWEST = 5
WAITING = 50  # different ones that are remembered


class Report(Protocol):
    """Tells of one, or of how many were not told."""

    def __call__(self, kind: str, text: str, count: int = 1) -> None: ...


class Complaints:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._told: list[float] = []
        self._waiting: dict[str, int] = {}  # how often each came, the newest last
        self._left = 0
        self._soon: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        loop = asyncio.get_running_loop()
        self._told = [told for told in self._told if loop.time() - told < 1]
        if len(self._told) < PER_SECOND:
            self._told.append(loop.time())
            self._report("console_error", text)
            return
        self._waiting[text] = self._waiting.pop(text, 0) + 1
        if len(self._waiting) > WAITING:
            self._left += self._waiting.pop(next(iter(self._waiting)))
        self._soon = self._soon or loop.call_later(1, self.sum_up)

    def sum_up(self) -> None:
        """When a second is over; earlier for who is answered now: what his action has caused is the newest."""
        if self._soon:
            self._soon.cancel()
            self._soon = None
        waiting, self._waiting = list(self._waiting.items()), {}
        left = self._left + sum(count for _, count in waiting[:-NEWEST])
        self._left = 0
        if left:
            self._report("limit", f"{counted(left, 'more console error')}: see get_console_logs")
        for text, count in waiting[-NEWEST:]:
            self._report("console_error", text, count)
