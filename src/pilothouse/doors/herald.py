"""Who hears of what happens in the browsers: lasting connections, and single requests that asked for it.

Above: mcp, and contracts, which passes on what others say. Below: notices says how loud a thing is. It never waits
for a client and never keeps more than `MAX_UNSENT` notices for one that does not read; the others hear theirs.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, Protocol

from pilothouse.browser.watch import Event
from pilothouse.doors import notices
from pilothouse.doors.notices import Notice
from pilothouse.errors import Failure

MAX_UNSENT = 256

Listener = Callable[[Notice], Coroutine[Any, Any, None]]


class Line(Protocol):
    """A connection that lasts: `state` has its log level and the resources it subscribed to."""

    state: dict[str, Any]

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None: ...


class Herald:
    def __init__(self) -> None:
        self._lines: dict[str, tuple[str, Line]] = {}  # by connection, with the key that it came with
        self._requests: dict[object, tuple[tuple[str, str], Listener]] = {}
        self._unsent: dict[object, set[asyncio.Task[None]]] = {}

    def knows(self, connection: str) -> bool:
        return connection in self._lines

    def hears(self, key: str, connection: str) -> bool:
        """Whether it is a connection of that key."""
        return connection in self._lines and self._lines[connection][0] == key

    def unsent(self, connection: str) -> int:
        return len(self._unsent.get(connection, ()))

    def add(self, connection: str, line: Line, key: str) -> None:
        self._lines[connection] = (key, line)

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
        notice = notices.notice_of(event)
        for token, listener in self._listeners(key, connection):
            self.spawn(token, listener(notice))
        if self.hears(key, connection):
            self.spawn(connection, _tell(self._lines[connection][1], notice, notices.uri_of(event.session)))

    def pass_on(self, key: str, connection: str, notice: Notice) -> int:
        """To how many it is on its way. Who sent it learns that it was too much; an event has nobody to tell."""
        sent = [self.spawn(token, listener(notice)) for token, listener in self._listeners(key, connection)]
        line = self._lines[connection][1] if self.hears(key, connection) else None
        if line and _takes(line, notice):
            sent.append(self.spawn(connection, _tell(line, notice)))
        if sent and not any(sent):
            wait = "wait until it has read some"
            raise Failure("over_limit", f"{MAX_UNSENT} messages wait for this client already", suggestions=[wait])
        return sum(sent)

    def _listeners(self, key: str, connection: str) -> list[tuple[object, Listener]]:
        every = self._requests.items()
        return [(token, listener) for token, (owner, listener) in every if owner == (key, connection)]

    def list_changed(self, connection: str) -> None:
        if connection in self._lines:
            self.spawn(connection, self._lines[connection][1].notify("notifications/resources/list_changed", None))

    def spawn(self, receiver: object, work: Coroutine[Any, Any, None]) -> bool:
        """Send a notice to `receiver`, unless too many wait for it already."""
        unsent = self._unsent.setdefault(receiver, set())
        if len(unsent) >= MAX_UNSENT:
            work.close()
            return False
        task = asyncio.get_running_loop().create_task(work)
        unsent.add(task)
        task.add_done_callback(lambda done: self._sent(receiver, unsent, done))
        return True

    def _sent(self, receiver: object, unsent: set[asyncio.Task[None]], done: asyncio.Task[None]) -> None:
        unsent.discard(done)
        if not unsent and self._unsent.get(receiver) is unsent:
            del self._unsent[receiver]


async def _tell(line: Line, notice: Notice, uri: str = "") -> None:
    if uri in line.state.get("subscribed", ()):
        await line.notify("notifications/resources/updated", {"uri": uri})
    if _takes(line, notice):
        await line.notify("notifications/message", notice.to_wire())


def _takes(line: Line, notice: Notice) -> bool:
    return notices.admits(line.state.get("level", notice.floor), notice.level)
