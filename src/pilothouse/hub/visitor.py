"""One connection of a browser: what it says, and what it is asked.

Above: the signaling door. Below: hub, words, tidy. One message that cannot be read is answered and left out: a page
decides what is in some of them, and must not be able to take its browser's other tabs along.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from pilothouse.errors import Failure
from pilothouse.hub.hub import Hub, Tab
from pilothouse.hub.tidy import tidy_entry, tidy_event
from pilothouse.hub.words import (
    MAX_FRAME,
    MAX_TOGETHER,
    ConsoleEvent,
    ConsoleTold,
    FromBrowser,
    Hello,
    NetworkEvent,
    NetworkTold,
    TabAvailable,
    TabClosed,
    TabUpdated,
    from_browser,
)

ASK_S = 5.0
Send = Callable[[Any], None]
Told = NetworkTold | ConsoleTold
_frame = msgspec.json.Decoder(list[msgspec.Raw])


class Visitor:
    def __init__(self, hub: Hub, user: str, send: Send) -> None:
        self._hub = hub
        self.user = user
        self._send = send
        self.tabs: dict[str, Tab] = {}
        self._asked: dict[str, asyncio.Future[Told | None]] = {}

    def take(self, frame: bytes) -> None:
        """One message, or a list of several. What is no such frame ends the connection (`bad_request`)."""
        for raw in _parts(frame):
            try:
                said = _read(raw)
            except Failure as failure:
                self._send({"type": "browser_debug_error", "error": failure.to_dict()})
            else:
                self._take(said)

    def _take(self, said: FromBrowser) -> None:
        match said:
            case Hello():
                self._send({"type": "browser_debug_hub", "proxy": self._hub.proxy_origin})
            case TabAvailable():
                self._announced(said)
            case NetworkTold() | ConsoleTold():
                if (waiting := self._asked.get(said.request_id)) and not waiting.done():
                    waiting.set_result(said)
            case _:
                if tab := self.tabs.get(said.token):
                    self._happened(tab, said)

    def _announced(self, said: TabAvailable) -> None:
        try:
            tab = self._hub.announce(self, said)
        except Failure as failure:
            refused = {"type": "browser_debug_tab_refused", "token": said.token, "error": failure.to_dict()}
            self._send(refused)
            return
        self.tabs[said.token] = tab
        accepted = {"type": "browser_debug_tab_accepted", "token": said.token, "ticket": self._hub.ticket(tab)}
        self._send({**accepted, "response_body_max_size": tab.body_max})

    def _happened(self, tab: Tab, said: TabClosed | TabUpdated | NetworkEvent | ConsoleEvent) -> None:
        match said:
            case TabClosed():
                self._hub.close(tab)
            case TabUpdated():
                tab.describe(said.url, said.title)
            case NetworkEvent():
                before = tab.bytes
                tab.tell(tab.requests.take(tidy_event(said, tab.body_max)))
                self._hub.make_room(tab, before)
            case ConsoleEvent():
                before, entry = tab.bytes, tidy_entry(said.entry)
                tab.entries.keep(entry)
                tab.tell(entry)
                self._hub.make_room(tab, before)

    async def ask(self, request_id: str, message: Any) -> Told | None:
        """None when no answer came in time, or none can come any more."""
        waiting: asyncio.Future[Told | None] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = waiting
        self._send(message)
        try:
            async with asyncio.timeout(ASK_S):
                return await waiting
        except TimeoutError:
            return None
        finally:
            del self._asked[request_id]

    def leave(self) -> None:
        for tab in list(self.tabs.values()):
            self._hub.away(tab, self)
        self.tabs.clear()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result(None)


def _parts(frame: bytes) -> list[msgspec.Raw]:
    if len(frame) > MAX_FRAME:
        raise Failure("bad_request", f"a frame may have {MAX_FRAME} bytes")
    try:
        parts = _frame.decode(frame) if frame[:1] == b"[" else [msgspec.json.decode(frame, type=msgspec.Raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Failure("bad_request", f"this is nothing that a browser says: {str(error)[:200]}") from None
    if not 0 < len(parts) <= MAX_TOGETHER:
        raise Failure("bad_request", f"a browser says 1 to {MAX_TOGETHER} things at once")
    return parts


def _read(raw: msgspec.Raw) -> FromBrowser:
    try:
        return from_browser.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Failure("bad_request", f"this is nothing that a browser says: {str(error)[:200]}") from None
