"""Waiting for a condition that events may bring about, without looking every so often.

Above: tab, network, downloads. Below: asyncio.
"""

import asyncio
from collections.abc import Callable


class Signal:
    """`stir` says that something changed; whoever waits looks again."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Event] = set()

    def stir(self) -> None:
        for waiter in self._waiters:
            waiter.set()

    async def until(self, condition: Callable[[], object], timeout: float | None = None) -> bool:
        """True as soon as the condition holds, False when the time is over first."""
        if condition():
            return True
        changed = asyncio.Event()
        self._waiters.add(changed)
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(changed)
        return True
