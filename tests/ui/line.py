"""A person's live line without a page: what the dashboard would say, and what it would hear."""

import asyncio
import contextlib
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.daemon_here import Here


class Line:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._pictures: deque[bytes] = deque()

    async def next(self, *kinds: str) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while True:
                said = await self._socket.recv()
                if isinstance(said, bytes):
                    self._pictures.append(said)
                elif (word := json.loads(said))["kind"] in kinds:
                    return word

    async def picture(self) -> bytes:
        """The next one; of a page that stands still the only one, and it may come before the word that it will."""
        async with asyncio.timeout(10):
            while not self._pictures:
                if isinstance(said := await self._socket.recv(), bytes):
                    self._pictures.append(said)
            return self._pictures.popleft()

    async def tell(self, do: str, **more: Any) -> None:
        """What is answered only when it fails."""
        await self._socket.send(json.dumps({"do": do, "id": next(self._numbers), **more}))

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """The answer: `done` with its data, or `failed` with its error."""
        number = next(self._numbers)
        await self._socket.send(json.dumps({"do": do, "id": number, **more}))
        while (word := await self.next("done", "failed"))["id"] != number:
            pass
        return word


@contextlib.asynccontextmanager
async def person_line(here: Here) -> AsyncIterator[Line]:
    headers = {"Authorization": f"Bearer {here.person}"}
    address = f"{here.url.replace('http', 'ws')}/api/live"
    async with connect(address, additional_headers=headers, max_size=None) as socket:
        yield Line(socket)
