"""The hub itself: browsers announce tabs with tokens, clients ask for what happened in those that their user owns.

Above: visitor (a browser's line), the signaling door, the debug tools. Below: rings, waiting, words; cocoons (who owns
what), guard (tokens, redaction). All of it is in memory: a tab that closes takes its events along, a lost browser takes
its tabs along after ten seconds. Nobody learns of another user's tab, not even that it is there.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import ada_url

from pilothouse.cocoons import Cocoons, Place, origin_of
from pilothouse.errors import Failure
from pilothouse.guard.redact import redact_text, redact_url
from pilothouse.guard.token import Signer, Spent, not_valid
from pilothouse.hub.rings import Entries, Requests, entry_filter, is_done, request_filter
from pilothouse.hub.tidy import tidy_entry, tidy_request
from pilothouse.hub.waiting import Waiting
from pilothouse.hub.words import (
    ConsoleEntry,
    ConsoleFilters,
    ConsoleTold,
    GetConsole,
    GetNetwork,
    Missed,
    NetworkFilters,
    NetworkRequest,
    NetworkTold,
    TabAvailable,
    TabInfo,
    no_such_tab,
    readable,
)
from pilothouse.minted import lettered
from pilothouse.result import clean

if TYPE_CHECKING:
    from pilothouse.hub.visitor import Visitor

AWAY_S = 10.0
MAX_TABS = 200  # of one user
MAX_BYTES = 256_000_000  # of all tabs together

Listener = Callable[[NetworkRequest | ConsoleEntry | None], None]


class Tab:
    """`complete`: nothing of it was missed, so that the browser need not be asked."""

    def __init__(self, handle: str, said: TabAvailable, user: str, place: Place, *, complete: bool) -> None:
        self.handle = handle
        self.token = said.token
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

    @property
    def bytes(self) -> int:
        return self.requests.bytes + self.entries.bytes

    def shrink(self) -> int:
        """The oldest of what it has more of, about an eighth, is gone; so many bytes are free."""
        before = self.bytes
        while self.bytes > before * 7 // 8:
            larger = self.requests if self.requests.bytes > self.entries.bytes else self.entries
            larger.drop_oldest()
        return before - self.bytes

    def tell(self, what: NetworkRequest | ConsoleEntry | None) -> None:
        for listener in list(self.listeners):
            listener(what)


class Hub:
    def __init__(self, cocoons: Cocoons, signer: Signer, max_bytes: int = MAX_BYTES) -> None:
        self._cocoons = cocoons
        self._signer = signer
        self._spent = Spent()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._tabs: dict[str, Tab] = {}  # by token
        self._handles: dict[str, Tab] = {}

    # Browsers

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
            raise not_valid()
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
        handle = lettered(self._signer.handle(said.token, user, said.browser_id))
        tab = Tab(handle, said, user, place, complete=not said.ticket)
        self._tabs[said.token] = self._handles[tab.handle] = tab
        return tab

    def _owned(self, user: str, cocoon: str) -> Place:
        place = self._cocoons.find(cocoon)
        if place is None or place.owner != user:
            hint = "`pilothouse cocoon list` on the hub's machine says who owns which"
            raise Failure("denied", "this user owns no such cocoon", suggestions=[hint])
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
        if self._tabs.pop(tab.token, None):
            self._bytes -= tab.bytes
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

    def make_room(self, tab: Tab, before: int) -> None:
        """A tab had so many bytes and has more now. All together have a bound: whose tabs hold most loses first, the
        oldest of the largest of them."""
        if tab.token in self._tabs:
            self._bytes += tab.bytes - before
        while self._bytes > self._max_bytes:
            held: Counter[str] = Counter()
            for one in self._tabs.values():
                held[one.user] += one.bytes
            (user, _), *_ = held.most_common(1)
            largest = max((one for one in self._tabs.values() if one.user == user), key=lambda one: one.bytes)
            self._bytes -= largest.shrink()

    # Clients

    def tabs(self, user: str) -> list[TabInfo]:
        return [
            TabInfo(one.handle, one.browser_id, one.url, one.title, place.id, place.name)
            for one in self._tabs.values()
            if (place := self._place(user, one))
        ]

    def tab(self, user: str, handle: str) -> Tab:
        """A tab of this user; another's is as unknown as one that never was."""
        found = self._handles.get(handle)
        if found is None or not self._place(user, found):
            raise no_such_tab()
        return found

    def _place(self, user: str, tab: Tab) -> Place | None:
        """The cocoon of a tab, while both are this user's."""
        place = self._cocoons.find(tab.cocoon) if tab.user == user else None
        return place if place and place.owner == user else None

    async def network(self, user: str, handle: str, filters: NetworkFilters) -> list[NetworkRequest]:
        tab = self.tab(user, handle)
        request_filter(filters)  # a bad pattern is told before anybody is asked
        if not tab.complete and (asked := tab.visitor):
            whole = await self._network_of(tab, asked) and await self._console_of(tab, asked)
            tab.complete = whole and tab.visitor is asked  # else something may have been missed once more
        return tab.requests.chosen(filters)

    async def console(self, user: str, handle: str, filters: ConsoleFilters) -> list[ConsoleEntry]:
        tab = self.tab(user, handle)
        entry_filter(filters)
        if not tab.complete and tab.visitor:
            await self._console_of(tab, tab.visitor)
        return tab.entries.chosen(filters)

    async def _network_of(self, tab: Tab, visitor: "Visitor") -> bool:
        ask = GetNetwork(secrets.token_hex(8), tab.token, NetworkFilters(limit=10_000))
        told = await visitor.ask(ask.request_id, ask)
        if not isinstance(told, NetworkTold):
            return False
        before = tab.bytes
        tab.requests.merge(tidy_request(one, tab.body_max) for one in readable(told.requests, NetworkRequest))
        self.make_room(tab, before)
        return True

    async def _console_of(self, tab: Tab, visitor: "Visitor") -> bool:
        ask = GetConsole(secrets.token_hex(8), tab.token, ConsoleFilters(limit=20_000))
        told = await visitor.ask(ask.request_id, ask)
        if not isinstance(told, ConsoleTold):
            return False
        before = tab.bytes
        tab.entries.replace(map(tidy_entry, readable(told.entries, ConsoleEntry)))
        self.make_room(tab, before)
        return True

    async def listed(self, user: str) -> list[TabInfo]:
        return self.tabs(user)

    async def address(self, user: str, handle: str) -> str:
        return self.tab(user, handle).url

    async def followed(self, user: str, handle: str) -> AsyncGenerator[NetworkRequest | ConsoleEntry | Missed]:
        """Lines of the console, and requests once they are done, until the tab is gone or its cocoon is another's. One
        who reads too slowly misses some, and hears how many."""
        tab, waiting = self.tab(user, handle), Waiting()

        def hear(what: NetworkRequest | ConsoleEntry | None) -> None:
            if what is None:
                waiting.end()
            elif is_done(what):
                waiting.put(what)

        stop = self.follow(user, handle, hear)
        try:
            async for what in waiting.read():
                if not self._place(user, tab):
                    raise no_such_tab()
                yield what
        finally:
            stop()

    def follow(self, user: str, handle: str, listener: Listener) -> Callable[[], None]:
        """Everything as it happens; None when the tab is gone. Call what is given back to stop."""
        tab = self.tab(user, handle)
        tab.listeners.add(listener)
        return lambda: tab.listeners.discard(listener)
