"""How frames travel: the one interface that the pipe, the WebSocket, the extension's relay and tests share.

Above: connection. Below: nothing.
"""

from collections.abc import Callable
from typing import Protocol


class Transport(Protocol):
    """Whole CDP frames as bytes, in order. `on_close` is called once, with the reason.

    `timeout` is how long the caller waits: where frames pass through others, it travels with them.
    """

    def start(self, on_frame: Callable[[bytes], None], on_close: Callable[[str], None]) -> None: ...

    def send(self, frame: bytes, timeout: float) -> None: ...

    async def close(self) -> None: ...


class Memory:
    """A browser that tests play: `sent` is what the client sent, `push` is what the browser says."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._on_frame: Callable[[bytes], None] | None = None
        self._on_close: Callable[[str], None] | None = None

    def start(self, on_frame: Callable[[bytes], None], on_close: Callable[[str], None]) -> None:
        self._on_frame, self._on_close = on_frame, on_close

    def send(self, frame: bytes, timeout: float = 0) -> None:
        self.sent.append(frame)

    def push(self, frame: bytes) -> None:
        assert self._on_frame
        self._on_frame(frame)

    async def close(self) -> None:
        self.drop("closed")

    def drop(self, reason: str) -> None:
        if self._on_close:
            on_close, self._on_close = self._on_close, None
            on_close(reason)
