"""The person's own Chrome, behind the extension: each session has a seat in it, among the tabs that are shared.

Above: sessions. Below: seat, resync; how to reach the browser is handed in. What the person owns stays as it is: their
tabs are let go at the end, never closed; windows keep their size; nothing comes to the front unless it is asked for.
Tabs are attached while they are used. No gateway can be put between this browser and the network: what its own rules
and Fetch can hold of the policy is held, and the rest is told.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from pilothouse.browser import resync
from pilothouse.browser.border import Border, Refusal
from pilothouse.browser.browser import Context
from pilothouse.browser.seat import LEAVE_S, ProfileBrowser, Seat
from pilothouse.browser.signal import Signal
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import Connection, ProtocolError
from pilothouse.cdp.transport import Transport
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

WAKE_S = 10.0
NAP_AFTER_S = 60.0
LOOK_EVERY_S = 5.0
RULES_S = 5.0
PATH_S = 2.0  # in which the browser tells where a file lies that it has finished
LIMITS = (
    "in the person's own Chrome the policy holds for what agents do and for the pages of tabs they use; requests of "
    "shared and service workers, the first request of a new window and names that lead into private networks pass"
)

_BACK = "the person took {} back"
_WITHDRAWN = {"person": _BACK, "ungrouped": _BACK, "forbidden page": "{} went to a page that is closed to agents"}

NetRules = list[dict[str, Any]]


class Relay(Transport, Protocol):
    """The way to one browser of the person's."""

    on_presence: Callable[[str], None]
    on_file: Callable[[str, str], None]

    @property
    def name(self) -> str: ...
    @property
    def return_s(self) -> float:
        """How long it may be away; after that it is gone."""
        ...

    @property
    def shares_all(self) -> bool: ...
    def is_awake(self, session: str) -> bool: ...
    def life(self, session: str) -> int:
        """How often it has been attached; 0 while it is not."""
        ...

    def sleep(self, session: str) -> None: ...
    def is_front(self, target_id: str) -> bool: ...
    async def hold(self, rules: list[tuple[list[str], dict[str, Any]]], timeout: float) -> None:
        """Each of these network rules in these tabs (by their targets), instead of all that held before."""
        ...


class NoGateway:
    """No proxy can be set in a browser that the person started."""

    port = 0

    def reason(self, host: str, port: int) -> str:
        return ""

    def denies(self, host: str, port: int) -> bool:
        return False

    def attach(self, view: Border, hear_out: object = None) -> None:
        pass

    def detach(self, view: Border) -> None:
        pass

    def withdraw(self) -> int:
        return 0

    def close(self) -> None:
        pass


class SharedBrowser(ProfileBrowser):
    def __init__(self, relay: Relay, *, nap_after_s: float = NAP_AFTER_S) -> None:
        super().__init__(Connection(relay, ours=True), NoGateway(), files=Path())
        self.relay = relay
        self.nap_after_s = nap_after_s
        self._present = True
        self._presence = Signal()
        self._returning: asyncio.Task[None] | None = None
        self._ruling = asyncio.Lock()
        relay.on_presence = self._became
        relay.on_file = self._download_lies
        self._napping = asyncio.create_task(self._let_sleep())
        self.connection.closed.add_done_callback(lambda _: self._napping.cancel())

    @property
    def name(self) -> str:
        return self.relay.name

    def absence(self) -> Failure | None:
        """Why nothing can be done in it now."""
        if self._present:
            return None
        return Failure(
            "browser_gone",
            f"{self.name} is away: the connection to it is broken",
            suggestions=["nothing was done; try again: its extension connects by itself"],
        )

    async def present(self) -> None:
        """Wait for its return, if it is away."""
        await self._presence.until(lambda: self._present or not self.alive, self.relay.return_s)
        if absence := self.absence():
            raise absence

    async def give_tabs(self) -> None:
        """What is shared and nobody's goes to whoever sits down."""
        told = (await self.root.send("Target.getTargets", timeout=WAKE_S))["targetInfos"]
        for target in told:
            if not target["attached"]:
                await self.root.send("Target.attachToTarget", targetId=target["targetId"], timeout=WAKE_S)

    def seat(self, allowed: tuple[str, ...] = ()) -> "SharedSeat":
        seat = SharedSeat(self, next(self._numbers), allowed)
        self._contexts[seat.key] = seat
        return seat

    def forget(self, context: Context) -> None:
        super().forget(context)
        if self.alive:
            self.rule_soon()
        if not self.seats:  # what is shared from now on waits for somebody
            self.root.post("Target.setAutoAttach", autoAttach=False, waitForDebuggerOnStart=False, flatten=True)

    def rule_soon(self) -> None:
        """Rules change with the policy and with whose the tabs are."""
        task = asyncio.ensure_future(self.rule())
        task.add_done_callback(_noted)

    async def rule(self) -> None:
        """Until Chrome itself holds the tabs of all seats to what their policies say."""
        async with self._ruling:
            seats = [seat for seat in self._contexts.values() if isinstance(seat, SharedSeat)]
            each = [(seat, seat.to_rule(), seat.net_rules()) for seat in seats]
            await self.relay.hold(_merged((targets, rules) for _, targets, rules in each), RULES_S)
            for seat, targets, _ in each:
                seat.ruled = targets

    def _became(self, state: str) -> None:
        if state == "away":
            self._present = False
            for seat in self.seats:
                if isinstance(seat, SharedSeat):
                    seat.ruled.clear()
            if self._returning:
                self._returning.cancel()
        elif state == "connected":
            self._returning = asyncio.create_task(self._returned())

    async def _returned(self) -> None:
        """Every tab is looked at before anybody may use it; one that does not answer keeps no other waiting."""
        awake = [tab for seat in self.seats for tab in seat.tabs if self.relay.is_awake(tab.channel.id)]
        await asyncio.gather(*(resync.find_again(tab) for tab in awake), return_exceptions=True)
        try:
            await self.rule()
        except Exception as error:  # what is not ruled is ruled before somebody uses it
            level = logging.INFO if isinstance(error, (Failure, ProtocolError)) else logging.ERROR
            log.log(level, "network rules were not put in force again: %r", error)
        self._present = True
        self._presence.stir()

    def _lost(self, reason: str) -> None:
        super()._lost(reason)
        self._presence.stir()

    def _attached(self, params: dict[str, Any]) -> None:
        """What came while the last one left is nobody's."""
        if self._home_of(params["targetInfo"]) is None:
            self.root.post("Target.detachFromTarget", sessionId=params["sessionId"])
        else:
            super()._attached(params)

    def opener(self, target: dict[str, Any]) -> str:
        """Chrome tells extensions who opened a tab; all others are the person's."""
        return target.get("openerId", "")

    def _detached(self, params: dict[str, Any]) -> None:
        """A tab that is shared no more is not closed, and whoever worked in it hears why."""
        seat, target_id = self._targets.get(params["sessionId"], (None, ""))
        for tab in seat.tabs if seat else ():
            if tab.target_id == target_id:
                tab.withdrawn = _WITHDRAWN.get(params.get("why", ""), "").format(tab.name)
        super()._detached(params)

    def _renamed(self, target: dict[str, Any]) -> None:
        """A tab that sleeps tells nothing itself."""
        for tab in (tab for seat in self.seats for tab in seat.tabs if tab.target_id == target["targetId"]):
            if not self.relay.is_awake(tab.channel.id):
                tab.frames.main.url = target["url"]
        super()._renamed(target)

    def _download_lies(self, guid: str, path: str) -> None:
        for seat in self.seats:
            if isinstance(seat, SharedSeat) and seat.downloads.has(guid):
                seat.download_lies(guid, path)

    async def _let_sleep(self) -> None:
        """Tabs that nobody has used for a while are let go of, until somebody does."""
        while True:
            await asyncio.sleep(min(LOOK_EVERY_S, self.nap_after_s))
            for seat in self.seats:
                if isinstance(seat, SharedSeat) and self._present:
                    seat.let_sleep(self.nap_after_s)


class SharedSeat(Seat):
    """`allowed`: the hosts that its session narrowed itself to."""

    limits = LIMITS
    from_birth = False
    begun_anew = "the connection was broken for longer than 10 s: tabs have other names now, list them"

    def __init__(self, browser: SharedBrowser, number: int, allowed: tuple[str, ...]) -> None:
        super().__init__(browser, number)
        self._shared_browser = browser
        self._allowed = allowed
        self._own: set[str] = set()  # targets that we opened, or that those opened
        self._led: set[str] = set()  # those that tabs of the person's opened while agents worked in them
        self._used: dict[str, float] = {}
        self._met: dict[str, int] = {}  # in which of its lives we have looked at a tab
        self._waking: dict[str, asyncio.Lock] = {}
        self._arriving: dict[str, asyncio.Task[None]] = {}
        self._finished: dict[str, tuple[dict[str, Any], asyncio.TimerHandle]] = {}
        self._lying: dict[str, str] = {}
        self.ruled: set[str] = set()  # tabs whose rules are in force

    # Being there

    def absence(self) -> Failure | None:
        return self._shared_browser.absence()

    async def present(self) -> None:
        await self._shared_browser.present()

    def foremost(self) -> Tab | None:
        """What a session begins with: the tab the person looks at, if they chose to share it; else one of ours."""
        if self._shared_browser.relay.shares_all:
            return next((tab for tab in self.tabs if tab.target_id in self._own), None)
        front = (tab for tab in self.tabs if self._shared_browser.relay.is_front(tab.target_id))
        return next(front, None) or next(iter(self.tabs), None)

    async def wake(self, tab: Tab) -> None:
        """Somebody is about to use it."""
        self._used[tab.target_id] = asyncio.get_running_loop().time()
        if tab.target_id not in self.ruled:
            await self._shared_browser.rule()
        if arriving := self._arriving.get(tab.target_id):
            await asyncio.wait([arriving])
        async with self._waking.setdefault(tab.target_id, asyncio.Lock()):
            if not tab.closed and not self._is_met(tab):
                await resync.wake(tab, WAKE_S)
                self._meet(tab)

    def _is_met(self, tab: Tab) -> bool:
        """Whether we have looked at it since it was attached. Others than we may have woken it: cookies are asked for
        through any tab."""
        life = self._shared_browser.relay.life(tab.channel.id)
        return life > 0 and self._met.get(tab.target_id) == life

    def _meet(self, tab: Tab) -> None:
        self._met[tab.target_id] = self._shared_browser.relay.life(tab.channel.id)

    def _is_waking(self, tab: Tab) -> bool:
        lock = self._waking.get(tab.target_id)
        return lock is not None and lock.locked()

    def to_rule(self) -> set[str]:
        """The tabs that agents use, as soon as it is known what holds there. In the others the person goes where they
        like."""
        if self.intercept.border is None:
            return set()
        agents = {*self._used, *self._own, *self._led}
        return {tab.target_id for tab in self.tabs if tab.target_id in agents}

    def let_sleep(self, after_s: float) -> None:
        if self.owner and self.owner.occupied:
            return
        now = asyncio.get_running_loop().time()
        for tab in self.tabs:
            # Chrome would show a dialog to the person that we have kept open, and nobody could answer it for them (M).
            if now - self._used.setdefault(tab.target_id, now) <= after_s or self._is_waking(tab):
                continue
            if not self._shared_browser.relay.is_awake(tab.channel.id):
                del self._used[tab.target_id]
            elif not tab.dialog and not self.intercept.asking(tab.channel):
                self._shared_browser.relay.sleep(tab.channel.id)
                del self._used[tab.target_id]
        if self.ruled != self.to_rule():
            self._shared_browser.rule_soon()

    # Tabs

    async def open_tab(self, url: str = "about:blank", *, background: bool = True) -> Tab:
        tab = await super().open_tab(url, background=background)
        self._own.add(tab.target_id)
        await self._shared_browser.rule()
        return tab

    def is_persons(self, tab: Tab) -> bool:
        return tab.target_id not in self._own

    async def turn_away(self, tab: Tab) -> None:
        """What a tab of the person's opened is theirs: we let go of it."""
        if self.is_persons(tab):
            await self.browser.root.send("Target.detachFromTarget", sessionId=tab.channel.id, timeout=LEAVE_S)
        else:
            await super().turn_away(tab)

    def attached(self, target: dict[str, Any], channel: Any) -> None:
        super().attached(target, channel)
        tab = self._tabs[target["targetId"]]
        opener = target.get("openerId", "")
        if target.get("ours") or opener in self._own:
            self._own.add(tab.target_id)
        elif opener in self._used or opener in self._led:
            self._led.add(tab.target_id)
        tab.frames.main.url = target["url"]
        tab.title = target["title"]
        if self._shared_browser.relay.is_awake(channel.id):
            self._arriving[tab.target_id] = task = asyncio.create_task(self._arrive(tab))
            task.add_done_callback(lambda _: self._arriving.pop(tab.target_id, None))
        if tab.target_id in self.to_rule():
            self._shared_browser.rule_soon()

    async def _arrive(self, tab: Tab) -> None:
        """Chrome holds no new window for us: its document may have come before we were there."""
        with contextlib.suppress(Failure):
            if tab.target_id in self.to_rule():
                await self._shared_browser.rule()
            await resync.meet(tab, WAKE_S)
            self._meet(tab)

    def detached(self, target_id: str) -> None:
        super().detached(target_id)
        self._used.pop(target_id, None)
        self._met.pop(target_id, None)
        self._waking.pop(target_id, None)
        self.ruled.discard(target_id)

    async def close(self) -> None:
        """Tabs of ours are closed; those of the person's are let go as they are."""
        self.owner = None
        self.let_go()
        with contextlib.suppress(Failure, ProtocolError, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*(self._part(tab) for tab in self.tabs), return_exceptions=True)
        self.browser.forget(self)
        for tab in self.tabs:
            tab.shut()

    async def _part(self, tab: Tab) -> None:
        if tab.target_id in self._own:
            await self._leave(tab)
        else:
            await self.browser.root.send("Target.detachFromTarget", sessionId=tab.channel.id, timeout=LEAVE_S)

    async def permit_place(self) -> None:
        """Chrome asks the person."""
        if self.owner:
            self.owner.report("browser", "", "where a page may know its place, the person is asked by Chrome")

    # Policy

    def hold_to(self, border: Border) -> None:
        super().hold_to(border)
        self._unfollow()  # what changes is told once, and spread further there
        self._unfollow = border.follow(self._rules_changed)
        self._shared_browser.rule_soon()

    def _rules_changed(self) -> None:
        self.ruled.clear()  # who works here waits until the new ones are in force
        self._border_changed()
        self._shared_browser.rule_soon()

    def net_rules(self) -> NetRules:
        border = self.intercept.border
        return border.net_rules(self._allowed) if border else []

    def explain(self, url: str) -> str:
        refusal = self.refusal(url)
        return refusal.why if refusal else ""

    def denies(self, url: str) -> bool:
        return self.refusal(url) is not None

    def refusal(self, url: str) -> Refusal | None:
        """Also of what Chrome's own rules stopped, which tell nobody why."""
        border = self.intercept.border
        return self.intercept.refusal(url) or (border.refused(url) if border else None)

    def forbids(self, url: str) -> Refusal | None:
        """Nobody sends the person's own tab elsewhere because of where the person went; it is not read, that is all."""
        theirs = any(tab.url == url and tab.target_id not in self._own for tab in self.tabs)
        return None if theirs else super().forbids(url)

    # Downloads: they go where the person's Chrome puts them

    def download_moves(self, params: dict[str, Any]) -> None:
        """One that is whole is told of when it is known where it lies."""
        guid = params["guid"]
        if params["state"] == "completed" and guid not in self._lying and guid not in self._finished:
            late = asyncio.get_running_loop().call_later(PATH_S, self._finish, guid)
            self._finished[guid] = (params, late)
        elif params["state"] == "completed":
            self._finish(guid, params)
        else:
            if params["state"] == "canceled":
                self._lying.pop(guid, None)
            Context.download_moves(self, params)

    def download_lies(self, guid: str, path: str) -> None:
        self._lying[guid] = path
        self._finish(guid)

    def _finish(self, guid: str, params: dict[str, Any] | None = None) -> None:
        waiting = self._finished.pop(guid, None)
        if waiting:
            waiting[1].cancel()
        params = params or (waiting[0] if waiting else None)
        if params is None:
            return
        self.downloads.lies[guid] = self._lying.pop(guid, "")
        Context.download_moves(self, params)


class Shared:
    """The person's browsers that agents work in now, by name. `connect` finds one, or says what is missing; `pick` says
    which one is meant."""

    def __init__(
        self, pick: Callable[[str], str], connect: Callable[[str], Relay], *, nap_after_s: float = NAP_AFTER_S
    ) -> None:
        self.pick = pick
        self.arrivals: Callable[[str], Awaitable[None]] = _nobody_comes  # a moment in which browsers may still come
        self.on_stopped: Callable[[str], None] = lambda name: None
        self.on_forgotten: Callable[[str], None] = lambda name: None
        self._connect = connect
        self.is_open: Callable[[str], bool] = lambda name: False  # it is there, and nothing in it is stopped
        self._nap_after_s = nap_after_s
        self._browsers: dict[str, SharedBrowser] = {}

    async def take(self, name: str, allowed: tuple[str, ...] = ()) -> SharedSeat:
        """A seat in it, with what is shared and nobody's; if the person chose nothing, with a tab in the background."""
        await self.arrivals(name)
        browser = self._up(name)
        await browser.present()
        seat = browser.seat(allowed)
        try:
            await browser.start()
            await browser.give_tabs()
            if seat.foremost() is None:
                await seat.open_tab()
        except BaseException:
            browser.forget(seat)
            raise
        return seat

    def running(self) -> list[SharedBrowser]:
        return [one for one in self._browsers.values() if one.alive]

    def _up(self, name: str) -> SharedBrowser:
        browser = self._browsers.get(name)
        if browser is None or not browser.alive:
            try:
                relay = self._connect(name)
            except Failure as failure:
                if browser is None or failure.code != "not_found":
                    raise
                raise Failure("browser_gone", f"{name} is not connected", suggestions=failure.suggestions) from None
            browser = self._browsers[name] = SharedBrowser(relay, nap_after_s=self._nap_after_s)
        return browser

    def stopped(self, name: str) -> None:
        """The person stopped everything there."""
        self._browsers.pop(name, None)
        self.on_stopped(name)

    def forgotten(self, name: str) -> None:
        """It is not paired any more; the next of that name is another browser."""
        self._browsers.pop(name, None)
        self.on_forgotten(name)

    async def close(self) -> None:
        """Let go of all of them."""
        await asyncio.gather(*(one.connection.close() for one in self._browsers.values()), return_exceptions=True)


async def _nobody_comes(name: str) -> None:
    return None


def _merged(each: Iterable[tuple[set[str], NetRules]]) -> list[tuple[list[str], dict[str, Any]]]:
    """Chrome takes a thousand rules in all: a rule that several sessions have is told once, for the tabs of all."""
    held: dict[bytes, tuple[list[str], dict[str, Any]]] = {}
    for targets, rules in each:
        for rule in rules if targets else ():
            held.setdefault(msgspec.json.encode(rule), ([], rule))[0].extend(sorted(targets))
    return list(held.values())


def _noted(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()):
        log.info("network rules were not put in force: %s", error)
