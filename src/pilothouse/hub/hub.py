"""The hub itself: browsers announce tabs with tokens, clients ask for what happened in those that their user owns.

Above: the signaling door, the debug tools. Below: rings, words; cocoons (who owns what), guard (tokens, redaction). All
of it is in memory: a tab that closes takes its events along, a browser that is lost takes its tabs along after ten
seconds. Nobody learns of another user's tab, not even that it is there.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable
from typing import Any
from urllib.parse import urlsplit

import ada_url
import msgspec

from pilothouse.cocoons import Cocoons, Place, origin_of
from pilothouse.errors import Failure
from pilothouse.guard.redact import redact_text, redact_url
from pilothouse.guard.token import Signer, Spent
from pilothouse.hub.rings import Entries, Requests, entry_filter, is_done, request_filter
from pilothouse.hub.tidy import tidy_entry, tidy_event, tidy_request
from pilothouse.hub.words import (
    ConsoleData,
    ConsoleEntry,
    ConsoleEvent,
    ConsoleFilters,
    FromBrowser,
    GetConsole,
    GetNetwork,
    Hello,
    NetworkData,
    NetworkEvent,
    NetworkFilters,
    NetworkRequest,
    TabAvailable,
    TabClosed,
    TabInfo,
    TabUpdated,
    from_browser,
)
from pilothouse.result import clean

AWAY_S = 10.0
ASK_S = 5.0
MAX_TABS = 200  # of one user
MAX_FRAME = 16 * 1024 * 1024
MAX_WAITING = 20_000  # for one follower

Send = Callable[[Any], None]
Listener = Callable[[NetworkRequest | ConsoleEntry | None], None]


class Tab:
    """`complete`: nothing of it was missed, so that the browser need not be asked."""

    def __init__(self, token: str, said: TabAvailable, user: str, place: Place, *, complete: bool) -> None:
        self.handle = secrets.token_urlsafe(16)
        self.token = token
        self.user = user
        self.browser_id = said.browser_id
        self.cocoon = place.id
        self.body_max = place.response_body_max_size
        self.complete = complete
        self.visitor: Visitor | None = None
        self.leaving: asyncio.TimerHandle | None = None
        self.requests = Requests()
        self.entries = Entries()
        self.listeners: set[Listener] = set()
        self.describe(said.url, said.title)

    def describe(self, url: str, title: str) -> None:
        self.url, self.title = redact_url(clean(url)), redact_text(clean(title))

    def tell(self, what: NetworkRequest | ConsoleEntry | None) -> None:
        for listener in list(self.listeners):
            listener(what)


class Hub:
    def __init__(self, cocoons: Cocoons, signer: Signer) -> None:
        self._cocoons = cocoons
        self._signer = signer
        self._spent = Spent()
        self._tabs: dict[str, Tab] = {}  # by token
        self._handles: dict[str, Tab] = {}

    # Browsers

    def join(self, user: str, send: Send) -> "Visitor":
        return Visitor(self, user, send)

    @property
    def proxy_origin(self) -> str:
        """Where pages with tokens come from: this host, and those below it."""
        return origin_of("", self._cocoons.proxy)

    def announce(self, visitor: "Visitor", said: TabAvailable) -> Tab:
        """A tab that is offered: new, or back after a lost connection or a new start of ours."""
        known = self._tabs.get(said.token)
        if known is None:
            tab = self._admitted(visitor.user, said)
        elif (known.user, known.browser_id) == (visitor.user, said.browser_id) and said.ticket:
            self._signer.returned(said.token, said.ticket, visitor.user, said.browser_id)
            self._check_page(said, known.cocoon, None)
            tab = known
            tab.complete = False  # something may have happened meanwhile
            tab.describe(said.url, said.title)
        else:
            raise Failure("denied", "the debug token is not valid (any more)", suggestions=["reload the page"])
        if tab.leaving:
            tab.leaving.cancel()
            tab.leaving = None
        if tab.visitor and tab.visitor is not visitor:
            tab.visitor.tabs.pop(said.token, None)
        tab.visitor = visitor
        return tab

    def _admitted(self, user: str, said: TabAvailable) -> Tab:
        if said.ticket:
            claim = self._signer.returned(said.token, said.ticket, user, said.browser_id)
        else:
            claim = self._signer.verify(said.token)
        place = self._owned(user, claim.c)
        self._check_page(said, claim.c, claim.p if not said.ticket else None)
        if sum(one.user == user for one in self._tabs.values()) >= MAX_TABS:
            raise Failure("over_limit", f"there are {MAX_TABS} tabs already", suggestions=["close some"])
        if not said.ticket:
            self._spent.use(claim)
        tab = Tab(said.token, said, user, place, complete=not said.ticket)
        self._tabs[said.token] = self._handles[tab.handle] = tab
        return tab

    def _owned(self, user: str, cocoon: str) -> Place:
        place = self._cocoons.find(cocoon)
        if place is None or place.owner != user:
            raise Failure("denied", "this user owns no such cocoon", suggestions=["`pilothouse cocoon list`"])
        return place

    def _check_page(self, said: TabAvailable, cocoon: str, path: str | None) -> None:
        """The page is where the token was given out. One that moved on by script is still at its origin."""
        try:
            url = ada_url.URL(said.url)
        except ValueError:
            raise Failure("bad_request", "the tab's url is no address") from None
        proxy = self._cocoons.proxy
        at_home = url.origin == origin_of(cocoon, proxy)
        below = proxy.path_mode == "serve" and urlsplit(url.href).path.startswith(f"/proxy/{cocoon}/")
        if not at_home and not (below and url.origin == origin_of("", proxy)):
            raise Failure("denied", "the page is not one of this cocoon")
        if path is not None and url.pathname != path:
            raise Failure("denied", "the page is not the one that the token was given to")

    def ticket(self, tab: Tab) -> str:
        return self._signer.ticket(tab.token, tab.user, tab.browser_id)

    def close(self, tab: Tab) -> None:
        """Its events go with it."""
        self._tabs.pop(tab.token, None)
        self._handles.pop(tab.handle, None)
        if tab.visitor:
            tab.visitor.tabs.pop(tab.token, None)
        if tab.leaving:
            tab.leaving.cancel()
        tab.tell(None)

    def away(self, tab: Tab, visitor: "Visitor") -> None:
        if tab.visitor is visitor:
            tab.visitor = None
            tab.leaving = asyncio.get_running_loop().call_later(AWAY_S, self.close, tab)

    # Clients

    def tabs(self, user: str) -> list[TabInfo]:
        mine = [(one, self._cocoons.find(one.cocoon)) for one in self._tabs.values() if one.user == user]
        return [
            TabInfo(one.handle, one.browser_id, one.url, one.title, place.id, place.name)
            for one, place in mine
            if place and place.owner == user
        ]

    def tab(self, user: str, handle: str) -> Tab:
        """A tab of this user; another's is as unknown as one that never was."""
        found = self._handles.get(handle)
        place = self._cocoons.find(found.cocoon) if found and found.user == user else None
        if found is None or place is None or place.owner != user:
            raise Failure(
                "not_found",
                "there is no such tab (any more): a page that is left or reloaded gets a new one",
                suggestions=["browser_debug_list_tabs lists those of now"],
            )
        return found

    async def network(self, user: str, handle: str, filters: NetworkFilters) -> list[NetworkRequest]:
        tab = self.tab(user, handle)
        request_filter(filters)  # a bad pattern is told before anybody is asked
        if not tab.complete and tab.visitor:
            ask = GetNetwork(secrets.token_hex(8), tab.token, NetworkFilters(limit=10_000))
            told = await tab.visitor.ask(ask.request_id, ask)
            if isinstance(told, NetworkData):
                for one in told.requests:
                    tab.requests.keep(tidy_request(one, tab.body_max))
                await self._console_of(tab)
                tab.complete = True
        return tab.requests.chosen(filters)

    async def console(self, user: str, handle: str, filters: ConsoleFilters) -> list[ConsoleEntry]:
        tab = self.tab(user, handle)
        entry_filter(filters)
        if not tab.complete and tab.visitor:
            await self._console_of(tab)
        return tab.entries.chosen(filters)

    async def _console_of(self, tab: Tab) -> None:
        if tab.visitor:
            ask = GetConsole(secrets.token_hex(8), tab.token, ConsoleFilters(limit=20_000))
            told = await tab.visitor.ask(ask.request_id, ask)
            if isinstance(told, ConsoleData):
                tab.entries.replace(map(tidy_entry, told.entries))

    async def listed(self, user: str) -> list[TabInfo]:
        return self.tabs(user)

    async def address(self, user: str, handle: str) -> str:
        return self.tab(user, handle).url

    async def followed(self, user: str, handle: str) -> AsyncGenerator[NetworkRequest | ConsoleEntry]:
        """Lines of the console, and requests once they are done, until the tab is gone. One who reads too slowly misses
        some."""
        waiting: asyncio.Queue[NetworkRequest | ConsoleEntry | None] = asyncio.Queue()

        def hear(what: NetworkRequest | ConsoleEntry | None) -> None:
            if what is None or (waiting.qsize() < MAX_WAITING and is_done(what)):
                waiting.put_nowait(what)

        stop = self.follow(user, handle, hear)
        try:
            while (what := await waiting.get()) is not None:
                yield what
        finally:
            stop()

    def follow(self, user: str, handle: str, listener: Listener) -> Callable[[], None]:
        """Everything as it happens; None when the tab is gone. Call what is given back to stop."""
        tab = self.tab(user, handle)
        tab.listeners.add(listener)
        return lambda: tab.listeners.discard(listener)


class Visitor:
    """One connection of a browser: what it says, and what it is asked."""

    def __init__(self, hub: Hub, user: str, send: Send) -> None:
        self._hub = hub
        self.user = user
        self._send = send
        self.tabs: dict[str, Tab] = {}
        self._asked: dict[str, asyncio.Future[NetworkData | ConsoleData]] = {}

    def take(self, frame: bytes) -> None:
        """One message, or a list of several. What cannot be read ends the connection (`bad_request`); what is not
        allowed is answered."""
        if len(frame) > MAX_FRAME:
            raise Failure("bad_request", f"a frame may have {MAX_FRAME} bytes")
        try:
            said: FromBrowser | list[FromBrowser] = from_browser.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Failure("bad_request", f"this is nothing that a browser says: {str(error)[:200]}") from None
        for one in said if isinstance(said, list) else [said]:
            self._take(one)

    def _take(self, said: FromBrowser) -> None:
        match said:
            case Hello():
                self._send({"type": "browser_debug_hub", "proxy": self._hub.proxy_origin})
            case TabAvailable():
                self._announced(said)
            case NetworkData() | ConsoleData():
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
                tab.tell(tab.requests.take(tidy_event(said, tab.body_max)))
            case ConsoleEvent():
                entry = tidy_entry(said.entry)
                tab.entries.keep(entry)
                tab.tell(entry)

    async def ask(self, request_id: str, message: Any) -> NetworkData | ConsoleData | None:
        """None when no answer came in time."""
        waiting: asyncio.Future[NetworkData | ConsoleData] = asyncio.get_running_loop().create_future()
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
