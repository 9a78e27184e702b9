"""One caller's work: a context, its tabs by short names, which of them is current, and what happened in them.

Above: sessions, tools. Below: browser, tab, watch, stream.
"""

import asyncio
import functools
import itertools
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from pilothouse.browser.border import Border
from pilothouse.browser.browser import Context
from pilothouse.browser.files import Folder
from pilothouse.browser.intercept import Rules
from pilothouse.browser.pause import Pause
from pilothouse.browser.refs import Numbers
from pilothouse.browser.settle import follows
from pilothouse.browser.signal import Signal
from pilothouse.browser.stream import Line, Stream, Wanted
from pilothouse.browser.tab import Tab, taken
from pilothouse.browser.terms import Terms
from pilothouse.browser.watch import Watch
from pilothouse.errors import Failure
from pilothouse.result import counted

AS_IT_IS = (0, 0)  # a viewport that is the window's own
WITHDRAWN_KEPT = 50
_OF_PAGES = {"navigation", "dialog", "console_error", "download", "file_chooser", "crash"}
POPUP_FRESH_S = 10.0  # for so long a tab that a page opened counts as the next one


Take = Callable[[], Awaitable[Context]]
"""A place in a browser."""


class Options(msgspec.Struct, frozen=True):
    """What a session was opened with.

    `timeout_ms` holds for calls of tools that declare none: those that go somewhere, wait, run scripts or type slowly
    have one of their own, which their schema shows.
    """

    browser: str = "isolated"
    profile: str = ""
    headless: bool | None = True  # None: as the profile says
    viewport: tuple[int, int] = (1280, 800)
    user_agent: str = ""
    timeout_ms: int = 30_000
    mode: str = "auto"
    proxy: str = ""
    allowed_domains: tuple[str, ...] = ()


class Session:
    """`owner` is the key and connection of the caller that made it; for everybody else it does not exist."""

    def __init__(
        self,
        session_id: str,
        owner: tuple[str, str],
        options: Options,
        *,
        folder: Path,
        terms: Terms,
        take: Take,
        border: Border | None = None,
    ) -> None:
        self.id = session_id
        self.owner = owner
        self.options = options
        self.watch = Watch(session_id)
        self.folder = folder
        self.files = Folder(folder, terms.quota_bytes)
        self.opened_at = time.time()
        self.used_at = asyncio.get_running_loop().time()
        self.busy = 0
        self.closed = False
        self.end: Failure | None = None  # why it was ended, when others did
        self.current: Tab | None = None
        self.rules = Rules(terms.redact_registered)
        self.pause = Pause()
        self.watched = 0  # by people: how many pictures of it are shown
        self._terms = terms
        self._take = take
        self._border = border
        self._context: Context | None = None
        self._tabs: dict[str, Tab] = {}
        self._names = itertools.count(1)
        self._numbers = Numbers()
        self._moving_in = asyncio.Lock()
        self._turned_away: set[Tab] = set()
        self._dismissed: set[Tab] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._withdrawn: OrderedDict[str, str] = OrderedDict()  # tabs that the person took back, and in which words
        self._lost: Callable[[], Failure | None] | None = None  # why none is current, until somebody says which one is
        self._is_told = False
        self._popups: dict[str, float] = {}  # tabs opened by pages that nobody has waited for yet, and when
        self._popped = Signal()
        self._streams: set[Stream] = set()

    @property
    def tabs(self) -> list[Tab]:
        return list(self._tabs.values())

    @property
    def terms(self) -> Terms:
        return self._terms

    def forbids(self, url: str) -> bool:
        """Whether nothing of this address may be told."""
        return self._terms.forbids(self.options.browser, url)

    def bars(self, place: str, *, asked: bool = True) -> bool:
        """Whether cookies and storage of a domain or address are neither told nor changed."""
        if self.options.allowed_domains and self._terms.is_outside(self.options.allowed_domains, place):
            return True
        return self._terms.bars(self.options.browser, self.options.mode, place, asked)

    @property
    def context(self) -> Context:
        assert self._context
        return self._context

    @property
    def occupied(self) -> bool:
        return bool(self.busy or self._streams or self.watched)

    @property
    def absence(self) -> Failure | None:
        """Why nothing can be done in its browser now."""
        return self._context.absence() if self._context else None

    @property
    def settled(self) -> bool:
        """Whether it has got its browser."""
        return self._context is not None

    @property
    def limits(self) -> str:
        """What the policy cannot hold in its browser."""
        return self._context.limits if self._context else ""

    async def open(self) -> None:
        """Move into a browser: at first, and again when the last one died."""
        await self._move_in()
        await self.context.present()

    async def _move_in(self) -> None:
        async with self._moving_in:
            self._check_open()
            if self._context and self._context.browser.alive:
                return
            again = self._context is not None
            if self._context:
                await self._context.close()
            self._forget_tabs()
            self._popups.clear()
            self._context = context = await self._take()
            self._dress(context)
            if self.rules or (self._border and self._border.watch):
                await context.intercept.apply()
            for tab in context.tabs:
                self._name(tab)
            self.current, self._lost = context.foremost(), None
            if again and self.current:
                self.report("browser", self.current.name, context.begun_anew)

    def is_persons(self, name: str) -> bool:
        """Whether a tab was there before any agent, in a browser that is not theirs."""
        tab = self._tabs.get(name) or next((one for one in self.tabs if one.target_id == name), None)
        return tab is not None and self.context.is_persons(tab)

    def has_tab(self, name: str) -> bool:
        return any(name in (tab.name, tab.target_id) for tab in self.tabs)

    async def tab(self, name: str = "", *, opens: bool = False) -> Tab:
        """The tab of that name, or the current one; if there is none, a new one for who `opens`."""
        await self.open()
        if name:
            found = self._tabs.get(name) or next((tab for tab in self.tabs if tab.target_id == name), None)
            if found is None and name in self._withdrawn:
                raise taken(self._withdrawn[name])
            if found is None:
                raise self._no_tab(f"there is no tab {name[:40]!r} in this session")
            await self.context.wake(found)
            return found
        if self.current is None and not (opens and self._is_told) and (lost := self._lost and self._lost()):
            self._is_told = True
            raise lost
        if opens and (self.current is None or self.current.closed):
            return await self.new_tab("about:blank", background=False)
        if self.current is None or self.current.closed:
            raise self._no_tab("no tab is current: the last one was closed")
        await self.context.wake(self.current)
        return self.current

    async def new_tab(self, url: str, *, background: bool) -> Tab:
        await self.open()
        self.check_room()
        tab = await self.context.open_tab(url)
        if not background:
            self.current = tab
        return tab

    async def next_tab(self, timeout: float) -> Tab | None:
        """The next tab that a page opens; the newest that the last action opened a moment ago counts, once."""
        self._forget_popups(time.monotonic() - POPUP_FRESH_S)
        if not await self._popped.until(lambda: self._popups, timeout):
            return None
        name, _ = self._popups.popitem()
        return self._tabs.get(name)

    def acted(self, began_at: float) -> None:
        """An action: what was opened before it is no news any more."""
        self._forget_popups(began_at)

    def _forget_popups(self, before: float) -> None:
        self._popups = {name: when for name, when in self._popups.items() if when >= before}

    async def close_tab(self, tab: Tab) -> None:
        """Whoever asks for it is told by the answer; an event would only repeat it."""
        self._dismissed.add(tab)
        try:
            await self.context.close_tab(tab)
        finally:
            self._dismissed.discard(tab)

    def check_room(self) -> None:
        if len(self._tabs) >= self._terms.max_tabs:
            raise Failure(
                "over_limit",
                f"this session has {counted(len(self._tabs), 'tab')}, the most it may have",
                suggestions=["close_tab what is not needed", "or raise limits.tabs_per_session"],
            )

    async def close(self) -> None:
        self.closed = True
        self.pause.give_back()  # whoever waits learns that it is gone
        for stream in tuple(self._streams):
            stream.end()
        if self._border:
            self._border.close()
        async with self._moving_in:  # a context that is being moved into must not be left behind
            if self._context:
                await self._context.close()
            self._forget_tabs()

    def follow(self, wanted: Wanted, tidy: Callable[[Line], Line], tab: str = "") -> Stream:
        """What is wanted of all tabs or of one, from now on, until the session's or the stream's end."""
        stream = Stream(wanted, tidy, self._streams.discard, tab, self.terms.redact_text)
        stream.start(self.tabs, self.watch)
        self._streams.add(stream)
        return stream

    def _check_open(self) -> None:
        if self.closed and self.end:
            raise Failure(self.end.code, self.end.message, suggestions=self.end.suggestions)
        if self.closed:
            raise Failure("not_found", "the session was closed", suggestions=["open one with open_session"])

    # What the context tells its owner

    def report(self, kind: str, tab: str, text: str, about: str = "", count: int = 1) -> None:
        self.watch.add(kind, tab, text, about, count, self._follows(tab) if kind in _OF_PAGES else "")

    def _follows(self, name: str) -> str:
        tab = self._tabs.get(name)
        return follows(tab.mark) if tab else ""

    def opened(self, tab: Tab) -> None:
        self._name(tab)
        if not tab.opener:  # our own; a page's always names its opener, `noopener` or not
            return
        if len(self._tabs) > self._terms.max_tabs:
            self._turn_away(tab)
            return
        tab.expect_page()
        opener = next((one for one in self.tabs if one.target_id == tab.opener), None)
        by = opener.name if opener else "a tab that is closed now"
        after = follows(opener.mark) if opener else ""
        self.watch.add("tab_opened", tab.name, f"{tab.name} opened by {by}", after=after)
        self._popups[tab.name] = time.monotonic()
        self._popped.stir()

    def _turn_away(self, tab: Tab) -> None:
        """A page opens more tabs than the session may have; one line tells of a whole flood."""
        if not self._turned_away:
            self.watch.add(
                "tab_closed", tab.name, f"a page opened more than {self._terms.max_tabs} tabs: the rest is closed"
            )
        self._turned_away.add(tab)
        task = asyncio.ensure_future(self.context.turn_away(tab))
        self._closing.add(task)
        task.add_done_callback(self._turned)

    def _turned(self, task: "asyncio.Task[None]") -> None:
        self._closing.discard(task)
        if not task.cancelled():
            task.exception()  # a tab that is gone already is as good as closed

    def shut(self, tab: Tab) -> None:
        self._tabs.pop(tab.name, None)
        for stream in self._streams:
            stream.part(tab.name)
        self._popups.pop(tab.name, None)
        if tab in self._turned_away:
            self._turned_away.discard(tab)
            return
        if tab.withdrawn and tab not in self._dismissed:
            self._withdraw(tab)
            return
        opener = next((one for one in self.tabs if one.target_id == tab.opener), None)
        heir = opener or next(iter(reversed(self.tabs)), None)
        words, is_asked_for = f"{tab.name} closed", tab in self._dismissed
        if self.current is tab and heir and not is_asked_for:
            words += f"; none is current until switch_tab says which, such as {heir.name}"
            self._lose(functools.partial(self._gone, tab.name, heir.name))
        elif self.current is tab:
            self.current, self._lost = heir, None
        if not is_asked_for:
            self.watch.add("tab_closed", tab.name, words, after=follows(tab.mark))

    def _lose(self, why: Callable[[], Failure | None]) -> None:
        """What was meant for it must not happen in another tab: none is current until somebody says which."""
        self.current, self._lost, self._is_told = None, why, False

    def _gone(self, name: str, heir: str) -> Failure | None:
        """The current tab closed, and nobody of ours asked for it. Once no other is left, nothing can be mistaken."""
        if not self._tabs:
            return None
        other = heir if heir in self._tabs else self.tabs[-1].name
        steps = [f"switch_tab {other}, or name it: tab={other}", "list_tabs shows what is open"]
        return Failure("tab_closed", f"{name}, the current tab, has closed", suggestions=steps)

    def _withdraw(self, tab: Tab) -> None:
        self.watch.add("browser", tab.name, tab.withdrawn)
        self._withdrawn[tab.name] = tab.withdrawn
        while len(self._withdrawn) > WITHDRAWN_KEPT:
            self._withdrawn.popitem(last=False)
        if self.current is tab:
            self._lose(functools.partial(taken, tab.withdrawn))

    def _name(self, tab: Tab) -> None:
        tab.name = f"t{next(self._names)}"
        self._tabs[tab.name] = tab
        for stream in self._streams:
            stream.join(tab)

    def _forget_tabs(self) -> None:
        for name in self._tabs:
            for stream in self._streams:
                stream.part(name)
        self._tabs.clear()

    def _dress(self, context: Context) -> None:
        context.owner = self
        context.viewport = self.options.viewport
        context.user_agent = self.options.user_agent
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        context.keep_files_in(self.folder)
        context.files = self.files
        context.terms = self._terms
        context.count_on(self._numbers)
        context.intercept.rules = self.rules
        if self._border:
            context.hold_to(self._border)
        for tab in context.tabs:
            context.dress(tab)

    def _no_tab(self, message: str) -> Failure:
        hint = "list_tabs shows what is open" if self._tabs else "open one with new_tab"
        return Failure("not_found", message, details={"tabs": [tab.name for tab in self.tabs]}, suggestions=[hint])
