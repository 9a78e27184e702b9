"""What one follower has not read yet: bounded by its size, and what did not fit is counted and told.

Above: hub. Below: words.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

import msgspec

from pilothouse.hub.words import ConsoleEntry, Missed, NetworkRequest

MAX_BYTES = 16 * 1024 * 1024


class Waiting:
    def __init__(self) -> None:
        self._all: deque[tuple[NetworkRequest | ConsoleEntry, int]] = deque()
        self._bytes = self._missed = 0
        self._news = asyncio.Event()
        self._over = False

    def put(self, what: NetworkRequest | ConsoleEntry) -> None:
        size = len(msgspec.json.encode(what))
        if self._missed or (self._all and self._bytes + size > MAX_BYTES):
            self._missed += 1  # until the rest is read: what is left out is left out in one piece
        else:
            self._all.append((what, size))
            self._bytes += size
        self._news.set()

    def end(self) -> None:
        self._over = True
        self._news.set()

    async def read(self) -> AsyncGenerator[NetworkRequest | ConsoleEntry | Missed]:
        """One after the other, until there is an end."""
        while True:
            while self._all:
                what, size = self._all.popleft()
                self._bytes -= size
                yield what
            if self._missed:
                missed, self._missed = self._missed, 0
                yield Missed(missed)
            elif self._over:
                return
            else:
                self._news.clear()
                await self._news.wait()
