"""Who hears of what happens in the browsers: lasting connections, and single requests that asked for it.

Above: mcp. Below: notices says how loud an event is. It never waits for a client and never keeps more than
`MAX_UNSENT` notices for one that does not read; the others hear theirs.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, Protocol

from pilothouse.browser.watch import Event
from pilothouse.doors import notices

MAX_UNSENT = 256

Listener = Callable[[Event], Coroutine[Any, Any, None]]


class Line(Protocol):
    """A connection that lasts: `state` has its log level and the resources it subscribed to."""

    state: dict[str, Any]

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None: ...


class Herald:
    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._requests: dict[object, tuple[tuple[str, str], Listener]] = {}
        self._unsent: dict[object, set[asyncio.Task[None]]] = {}

    def knows(self, connection: str) -> bool:
        return connection in self._lines

    def add(self, connection: str, line: Line) -> None:
        self._lines[connection] = line

    def remove(self, connection: str) -> None:
        self._lines.pop(connection, None)
        for task in self._unsent.pop(connection, ()):
            task.cancel()

    @contextlib.contextmanager
    def listening(self, key: str, connection: str, listener: Listener) -> Generator[None]:
        """While the block runs, `listener` hears of its caller's events."""
        token = object()
        self._requests[token] = ((key, connection), listener)
        try:
            yield
        finally:
            del self._requests[token]

    def tell(self, key: str, connection: str, event: Event) -> None:
        for token, (owner, listener) in tuple(self._requests.items()):
            if owner == (key, connection):
                self.spawn(token, listener(event))
        if connection in self._lines:
            self.spawn(connection, self._tell(self._lines[connection], event))

    async def _tell(self, line: Line, event: Event) -> None:
        uri = notices.uri_of(event.session)
        if uri in line.state.get("subscribed", ()):
            await line.notify("notifications/resources/updated", {"uri": uri})
        level = notices.level_of(event)
        if notices.admits(line.state.get("level", notices.DEFAULT_LEVEL), level):
            log = {"level": level, "logger": notices.LOGGER, "data": notices.data_of(event)}
            await line.notify("notifications/message", log)

    def list_changed(self, connection: str) -> None:
        if connection in self._lines:
            self.spawn(connection, self._lines[connection].notify("notifications/resources/list_changed", None))

    def spawn(self, receiver: object, work: Coroutine[Any, Any, None]) -> None:
        """Send a notice to `receiver`, unless too many wait for it already."""
        unsent = self._unsent.setdefault(receiver, set())
        if len(unsent) >= MAX_UNSENT:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        unsent.add(task)
        task.add_done_callback(lambda done: self._sent(receiver, unsent, done))

    def _sent(self, receiver: object, unsent: set[asyncio.Task[None]], done: asyncio.Task[None]) -> None:
        unsent.discard(done)
        if not unsent and self._unsent.get(receiver) is unsent:
            del self._unsent[receiver]
