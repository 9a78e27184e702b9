"""What waits to be sent to one page of the person's: words in their order, then pictures, then what tabs say.

Above: live. Below: wire. Nothing that a page of the web can make many of shares a place with questions and answers:
of each picture only the newest waits, and lines of a tab wait for room, so that their stream loses some and says so.
Who lets too many words wait is sent away at once, to come anew and be told all that is so.
"""

import asyncio
import contextlib
from collections import deque
from typing import Any

from starlette.websockets import WebSocket

from pilothouse.doors import wire
from pilothouse.wheel import Frame, Viewer

MAX_UNREAD = 5_000
MAX_LINES = 200
CLOSE_S = 5.0
_TRY_AGAIN_LATER = 1013

Shown = dict[str, Any]
Place = tuple[str, str]  # a session and a tab


class Outbox:
    def __init__(self) -> None:
        self._words: deque[Shown] = deque()
        self._pictures: dict[Place, tuple[Frame, Viewer | None]] = {}
        self._lines: asyncio.Queue[Shown] = asyncio.Queue(MAX_LINES)
        self._stirred = asyncio.Event()
        self._is_full = asyncio.Event()
        self._pauses: dict[Place, float] = {}  # between two pictures

    def say(self, word: Shown) -> None:
        if len(self._words) >= MAX_UNREAD:
            self._is_full.set()
        if self._is_full.is_set():
            self._words.clear()
        else:
            self._words.append(word)
            self._stirred.set()

    async def tell(self, line: Shown) -> None:
        """Waits until there is room."""
        await self._lines.put(line)
        self._stirred.set()

    def look(self, place: Place, pause_s: float) -> None:
        """Pictures of it are wanted, with so much time between two."""
        self._pauses[place] = pause_s

    def show(self, place: Place, frame: Frame, viewer: Viewer | None) -> None:
        self._pictures[place] = (frame, viewer)
        self._stirred.set()

    def drop(self, place: Place) -> None:
        self._pictures.pop(place, None)
        self._pauses.pop(place, None)

    async def deliver(self, socket: WebSocket) -> None:
        """Until it is full. Who does not read at all would not take a farewell either."""
        sending = asyncio.create_task(self._send_on(socket))
        filling = asyncio.create_task(self._is_full.wait())
        try:
            await asyncio.wait((sending, filling), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            filling.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await socket.close(_TRY_AGAIN_LATER, "too slow: connect again")

    async def _send_on(self, socket: WebSocket) -> None:
        while True:
            self._stirred.clear()
            if self._words:
                await socket.send_text(wire.encode(self._words.popleft()).decode())
            elif self._pictures:
                await self._send(socket, next(iter(self._pictures)))
            elif not self._lines.empty():
                await socket.send_text(wire.encode(self._lines.get_nowait()).decode())
            else:
                await self._stirred.wait()

    async def _send(self, socket: WebSocket, place: Place) -> None:
        frame, viewer = self._pictures.pop(place)
        head = wire.encode({"session": place[0], "tab": place[1], "width": frame.width, "height": frame.height})
        await socket.send_bytes(len(head).to_bytes(4, "big") + head + frame.data)
        if viewer:
            asyncio.get_running_loop().call_later(self._pauses.get(place, 0), viewer.taken)
