"""Whose turn it is in a tab: one call acts on a page at a time, and what nobody waits for stands back.

Above: tab; the gate takes it for each call, listeners stand back. Below: asyncio, doing.
"""

import asyncio
from typing import Literal

from pilothouse.doing import doing


class Turn(asyncio.Lock):
    """Who acts on the page now; `waiting` is how many would like to be next."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self._holder = ""
        self._free = asyncio.Event()
        self._free.set()
        self._free_since = 0.0

    async def take(self, tool: str) -> None:
        """For a call of that tool, which others may hear that they wait for."""
        with doing(lambda: f"waiting in line behind {self._holder}"):
            await self.acquire()
        self._holder = tool

    async def acquire(self) -> Literal[True]:
        self.waiting += 1
        self._free.clear()
        try:
            return await super().acquire()
        finally:
            self.waiting -= 1
            self._look()

    def release(self) -> None:
        super().release()
        self._look()

    def _look(self) -> None:
        if not self.waiting and not self.locked():
            self._free_since = asyncio.get_running_loop().time()
            self._free.set()

    async def free_for(self, seconds: float) -> None:
        """Wait until nobody has had it, or wanted it, for this long."""
        loop = asyncio.get_running_loop()
        while True:
            await self._free.wait()
            rest = self._free_since + seconds - loop.time()
            if rest <= 0:
                return
            await asyncio.sleep(rest)
