"""What happened in the browsers that nobody asked for at that moment: dialogs, downloads, crashes, errors.

Above: the gate adds unseen events to the next result, doors forward them live. Below: nothing.
"""

import itertools
import time
from collections import deque
from collections.abc import Callable

import msgspec

RING = 500
MAX_TEXT = 500


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """`text` is one line an agent can read; it may quote the page and is cleaned before it leaves."""

    number: int
    # navigation | dialog | console_error | download | crash | tab_opened | tab_closed | file_chooser | browser |
    # limit | person
    kind: str
    session: str
    tab: str
    text: str
    time_ms: int
    count: int = 1  # times that the same happened
    after: str = ""  # what was done, and answered, just before; it may quote the page, too


class Watch:
    """The event log of one session."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._numbers = itertools.count(1)
        self._ring: deque[Event] = deque(maxlen=RING)
        self._listeners: set[Callable[[Event], None]] = set()
        self._seen = 0
        self._about: dict[str, int] = {}  # the last event about a thing that goes on
        self._told: set[int] = set()  # by a result that is on its way

    def add(self, kind: str, tab: str, text: str, about: str = "", count: int = 1, after: str = "") -> Event:
        """`about` names a thing that goes on: what nobody was told of it yet is replaced by what is newer."""
        line = " ".join(text.split())[:MAX_TEXT]  # one line of bounded length, whatever a page wrote
        number = next(self._numbers)
        if about:
            after = self._replace(about, number, after)
        event = Event(number, kind, self._session, tab, line, int(time.time() * 1000), count, after)
        self._ring.append(event)
        for listener in tuple(self._listeners):
            listener(event)
        return event

    def _replace(self, about: str, number: int, after: str) -> str:
        """What it came after: of a thing that goes on that is told with its beginning."""
        old = self._about.pop(about, 0)
        after = "" if old else after
        if old > self._seen:
            after = next((one.after for one in self._ring if one.number == old), "")
            self._ring = deque((one for one in self._ring if one.number != old), maxlen=RING)
        self._about[about] = number
        if len(self._about) > RING:
            del self._about[next(iter(self._about))]
        return after

    @property
    def newest(self) -> int:
        """The number of the last event."""
        return self._ring[-1].number if self._ring else 0

    def recent(self, since: int = 0) -> list[Event]:
        return [event for event in self._ring if event.number > since]

    def unseen(self) -> list[Event]:
        """Events that no result has told of yet; asking marks them as told."""
        events = self.recent(self._seen)
        if events:
            self._seen = events[-1].number
        told, self._told = self._told, set()
        return [event for event in events if event.number not in told]

    def tell(self, about: str) -> None:
        """The result that is being made says itself how this thing stands."""
        if (number := self._about.get(about, 0)) > self._seen:
            self._told.add(number)

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)
