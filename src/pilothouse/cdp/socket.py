"""CDP over a browser's WebSocket, for browsers that somebody else started.

Above: providers. Below: websockets.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from pilothouse.cdp.pipe import MAX_FRAME_BYTES
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

OPEN_TIMEOUT_S = 10
CLOSE_S = 2.0  # in which the far side may say goodbye too
MAX_UNSENT_BYTES = 256_000_000  # a far side that does not read is given up


class Refused(Failure):
    """No WebSocket there. `why` does not repeat the address, which may hold a password."""

    def __init__(self, url: str, error: Exception) -> None:
        super().__init__("browser_gone", f"no browser answers at {url}: {error}")
        self.why = _why(error)


class _Straight(connect):
    """To that address and to no other: headers may hold secrets, and who answers must not send us on."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Socket:
    """Frames are queued and written by one task: `send` never waits, order is kept."""

    def __init__(self, websocket: ClientConnection) -> None:
        self._websocket = websocket
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent_bytes = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._on_close: Callable[[str], None] | None = None

    @classmethod
    async def open(
        cls, url: str, headers: Mapping[str, str] | None = None, *, timeout_s: float = OPEN_TIMEOUT_S
    ) -> "Socket":
        try:
            websocket = await _Straight(
                url,
                additional_headers=dict(headers or {}),
                max_size=MAX_FRAME_BYTES,
                compression=None,
                open_timeout=timeout_s,
                close_timeout=CLOSE_S,
                proxy=None,
                # Whether the browser lives is asked of the browser itself (browser.remote): a proxy between would pong.
                ping_interval=None,
            )
        except (OSError, TimeoutError, WebSocketException, ValueError) as error:
            raise Refused(url, error) from error
        return cls(websocket)

    def start(self, on_frame: Callable[[bytes], None], on_close: Callable[[str], None]) -> None:
        self._on_close = on_close
        self._tasks = [asyncio.create_task(self._read(on_frame)), asyncio.create_task(self._write())]

    def send(self, frame: bytes, timeout: float = 0) -> None:
        self._unsent_bytes += len(frame)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self._end("it does not read what it is told")
            return
        self._outgoing.put_nowait(frame)

    async def close(self) -> None:
        self._end("closed")
        await self._websocket.close()
        for task in self._tasks:
            task.cancel()

    async def _read(self, on_frame: Callable[[bytes], None]) -> None:
        try:
            while True:
                on_frame(await self._websocket.recv(decode=False))
        except ConnectionClosed as closed:
            self._end(str(closed))
        except Exception:  # nobody reads any more, and nobody may wait for what would be read
            log.exception("a frame of the browser stopped the reading")
            self._end("what it says cannot be read")

    async def _write(self) -> None:
        try:
            while True:
                frame = await self._outgoing.get()
                await self._websocket.send(frame, text=True)
                self._unsent_bytes -= len(frame)
        except ConnectionClosed as closed:
            self._end(str(closed))
        except Exception:
            log.exception("a frame could not be sent to the browser")
            self._end("it cannot be told anything")

    def _end(self, reason: str) -> None:
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close(reason)


def _why(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        return f"it answers with status {error.response.status_code}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return "what answers there is no browser"
