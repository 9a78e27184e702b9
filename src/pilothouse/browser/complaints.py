"""Errors of a page as news: it may fail ten thousand times a second, so a few lines a second are told, and how many
there were beside them.

Above: tab, telling. Below: nothing. All of them are in the console's log.
"""

import asyncio
from collections.abc import Callable

from pilothouse.result import counted

PER_SECOND = 5


class Complaints:
    """`report(kind, text)` tells of one, or of how many were not told."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._told: list[float] = []
        self._left = 0
        self._soon: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        loop = asyncio.get_running_loop()
        self._told = [told for told in self._told if loop.time() - told < 1]
        if len(self._told) < PER_SECOND:
            self._told.append(loop.time())
            self._report("console_error", text)
            return
        self._left += 1
        self._soon = self._soon or loop.call_later(1, self.sum_up)

    def sum_up(self) -> None:
        """When a second is over; earlier for who is answered now."""
        if self._soon:
            self._soon.cancel()
            self._soon = None
        if self._left:
            self._report("limit", f"{counted(self._left, 'more console error')}: get_console_logs shows all")
            self._left = 0
