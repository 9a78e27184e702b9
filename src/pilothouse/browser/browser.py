"""One browser and the contexts in it. A context is a world of its own: cookies, storage, tabs, network gate.

Above: pool, sessions. Below: tab, cdp.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, unquote_plus

from pilothouse.browser.border import Border, Refusal
from pilothouse.browser.downloads import Downloads
from pilothouse.browser.files import Folder
from pilothouse.browser.guise import Guise
from pilothouse.browser.intercept import Intercept
from pilothouse.browser.origins import Origins, authority_of, origin_of
from pilothouse.browser.refs import Numbers
from pilothouse.browser.signal import Signal
from pilothouse.browser.stuck import free
from pilothouse.browser.tab import AUTO_ATTACH, MAX_TITLE, Tab
from pilothouse.browser.terms import Terms
from pilothouse.browser.workers import Workers
from pilothouse.cdp.connection import Channel, Connection, ProtocolError, gone
from pilothouse.errors import Failure
from pilothouse.result import quoted

OPEN_TIMEOUT_S = 10.0
ANSWER_S = 5.0
CLOSE_PATIENCE_S = 1.0  # for a page whose scripts keep the tab from closing
# A filter that admits both `tab` and `page` is refused; everything else is wanted.
_WORKERS = {"shared_worker", "service_worker"}
_FILTER = [{"type": kind, "exclude": True} for kind in ("browser", "tab", "browser_ui")] + [{}]


def _keep_drawing(tab: Tab) -> None:
    """While somebody takes frames of it, a tab behind others goes on drawing. Without, its window gives it one frame a
    second: every move of the pointer waits for one, and 1 of 2 screenshots gets no answer (M). Frames that nobody
    acknowledges end after three; a second cast is refused."""
    tab.channel.post("Page.startScreencast", format="jpeg", quality=1, maxWidth=1, maxHeight=1)


async def _end_leaving(tab: Tab) -> None:
    """A page that asks whether it may be left stays: who closes its tab wants no other page in it. Chrome would wait
    for the answer, and close the tab then, whatever it is (M)."""
    if tab.dialog and tab.dialog.guards:
        with contextlib.suppress(Failure):  # it was answered just now
            await tab.answer_dialog(False, "")


class Gateway(Protocol):
    """The context's way to the network, made elsewhere: its port, and why it refused somebody."""

    @property
    def port(self) -> int: ...
    def reason(self, host: str, port: int) -> str: ...
    def denies(self, host: str, port: int) -> bool: ...
    def attach(self, view: Border, hear_out: Callable[[str, int], Awaitable[None]] | None = None) -> None: ...
    def detach(self, view: Border) -> None: ...
    def withdraw(self) -> int: ...
    def close(self) -> None: ...


class Owner(Protocol):
    """Who a context works for."""

    def report(self, kind: str, tab: str, text: str, about: str = "", count: int = 1) -> None: ...
    def opened(self, tab: Tab) -> None: ...
    def shut(self, tab: Tab) -> None: ...
    def acted(self, began_at: float) -> None: ...
    @property
    def occupied(self) -> bool:
        """Whether a call or somebody who follows it is under way."""
        ...


class Context:
    limits = ""  # what of the policy cannot be held here
    begun_anew = "the browser ended and was started anew: tabs and cookies are gone"
    elsewhere = False  # on another machine, where our paths mean nothing
    from_birth = True  # we have every page before its own scripts run

    def __init__(self, browser: "Browser", context_id: str, gateway: Gateway) -> None:
        self.id = self.key = context_id
        self.browser = browser
        self.gateway = gateway
        self.owner: Owner | None = None
        self.viewport: tuple[int, int] = (1280, 800)
        self.user_agent = ""
        self.folder = Path()
        self.files = Folder(Path(), 0)  # the owner brings its own
        self.downloads = Downloads()
        self.origins = Origins()
        self.numbers = Numbers()
        self.terms = Terms()
        self.intercept = Intercept()
        self._unfollow: Callable[[], None] = lambda: None
        self._applying: set[asyncio.Task[None]] = set()
        self._over_quota: set[str] = set()
        self._tabs: dict[str, Tab] = {}
        self._arrived = Signal()
        self.workers = Workers(self)

    @property
    def tabs(self) -> list[Tab]:
        return list(self._tabs.values())

    # What only a browser that may be away, or lets its tabs sleep, has something to say about.

    def absence(self) -> Failure | None:
        return None

    async def present(self) -> None:
        pass

    async def wake(self, tab: Tab) -> None:
        pass

    @property
    def hides(self) -> bool:
        """Whether a tab may lie behind another one. Each context has a window of its own."""
        return len(self._tabs) > 1

    def unwatched(self, tab: Tab) -> None:
        """Nobody looks at its live picture any more."""
        tab.channel.post("Page.stopScreencast", timeout=OPEN_TIMEOUT_S)
        if self.hides:
            _keep_drawing(tab)

    def foremost(self) -> Tab | None:
        """Which tab a session begins with."""
        return next(iter(self.tabs), None)

    async def open_tab(self, url: str = "about:blank", *, background: bool = True) -> Tab:
        self.browser.opener({"openerId": "", "browserContextId": self.id})  # none: what comes now is ours
        reply = await self.browser.root.send(
            "Target.createTarget", url=url, browserContextId=self.id, background=background, timeout=OPEN_TIMEOUT_S
        )
        target_id = reply["targetId"]
        if not await self._arrived.until(lambda: target_id in self._tabs or not self.browser.alive, OPEN_TIMEOUT_S):
            raise Failure("timeout", "the browser did not open a tab in time")
        tab = self._tabs.get(target_id)
        if tab is None:
            raise Failure("browser_gone", "the browser ended while a tab was opened")
        await tab.prepared()
        return tab

    async def close_tab(self, tab: Tab) -> None:
        """Until it is closed, or asks by a dialog whether it may be. Script that does not end is broken off."""
        await _end_leaving(tab)
        before = tab.dialog

        def over() -> bool:
            """What the page said before says nothing of the closing."""
            asks = tab.dialog and tab.dialog is not before and tab.dialog.guards
            return bool(tab.closed or asks)

        await self.browser.root.send("Target.closeTarget", targetId=tab.target_id, timeout=OPEN_TIMEOUT_S)
        if await tab.signal.until(over, CLOSE_PATIENCE_S):
            return
        await free(tab, CLOSE_PATIENCE_S)
        if not await tab.signal.until(over, OPEN_TIMEOUT_S):
            raise Failure("timeout", f"{tab.name} did not close in time")

    async def turn_away(self, tab: Tab) -> None:
        """A page opened one too many."""
        await self.close_tab(tab)

    def is_persons(self, tab: Tab) -> bool:
        return False

    def hold_to(self, border: Border) -> None:
        """From now on, and to whatever it becomes; `intercept.apply` says when it is in force in every target."""
        self.intercept.border = border
        self.gateway.attach(border, self._hear_out)
        self._unfollow = border.follow(self._border_changed)

    async def _hear_out(self, host: str, port: int) -> None:
        """For the gateway, before it refuses a host that a person may be asked about. Chrome announces a document
        before it connects, and speaks in order: when it has answered us, its announcement has been heard (M)."""
        border = self.intercept.border
        if border is None or border.watch or not border.asks_about(host, port):
            return
        await self.browser.answers()
        await self.intercept.answered(host, port)

    def let_go(self) -> None:
        """Nobody works here any more."""
        self._unfollow()
        if self.intercept.border:
            self.gateway.detach(self.intercept.border)

    def _border_changed(self) -> None:
        self.gateway.withdraw()
        task = asyncio.ensure_future(self.intercept.apply())
        self._applying.add(task)
        task.add_done_callback(self._applying.discard)

    async def close(self) -> None:
        self.owner = None
        self.let_go()
        with contextlib.suppress(Failure, ProtocolError):  # a browser that is gone took the context with it
            await self.browser.root.send("Target.disposeBrowserContext", browserContextId=self.id, timeout=5)
        self.browser.forget(self)
        for tab in self.tabs:
            tab.shut()
        self.gateway.close()

    def lost(self, failure: Failure) -> None:
        """The browser is gone, and the tabs with it."""
        for tab in self.tabs:
            tab.shut(failure)
        self._arrived.stir()

    def keep_files_in(self, folder: Path) -> None:
        self.folder = folder
        self.browser.root.post(
            "Browser.setDownloadBehavior",
            behavior="allowAndName",
            browserContextId=self.id,
            downloadPath=str(folder),
            eventsEnabled=True,
        )

    def count_on(self, numbers: Numbers) -> None:
        """Refs go on where those of the session's last browser ended: what it still has of them means nothing here."""
        self.numbers = numbers
        for tab in self.tabs:
            tab.refs.count_on(numbers)

    def dress(self, tab: Tab) -> None:
        """What every page of this context pretends to be."""
        width, height = self.viewport
        tab.wear(Guise(width=width, height=height, user_agent=self.user_agent))

    async def permit_place(self) -> None:
        """For every site of this context, as long as one of its tabs pretends to be somewhere."""
        allowed = any(tab.guise.geolocation for tab in self.tabs)
        await self.browser.root.send(
            "Browser.setPermission",
            permission={"name": "geolocation"},
            setting="granted" if allowed else "prompt",
            browserContextId=self.id,
        )

    def lone_workers(self, tab: Tab) -> list[Channel]:
        return self.workers.of(tab)

    def attached(self, target: dict[str, Any], channel: Channel) -> None:
        opener = target.get("openerId", "")
        source = next((one.source for one in self.tabs if one.target_id == opener), "")
        tab = Tab(self, target["targetId"], channel, opener=opener, source=source)
        self.dress(tab)
        tab.run()
        if opener and self.from_birth:
            tab.learn_document()
        self._tabs[tab.target_id] = tab
        if self.hides:  # a page's own new tab comes in front of the one that opened it
            for one in self.tabs if len(self._tabs) == 2 else [tab]:
                _keep_drawing(one)
        self._arrived.stir()
        if self.owner:
            self.owner.opened(tab)

    def detached(self, target_id: str) -> None:
        if tab := self._tabs.pop(target_id, None):
            self.intercept.leave(tab.channel)
            tab.shut()
            self.workers.orphaned(tab)
            if self.owner:
                self.owner.shut(tab)

    def acted(self, began_at: float) -> None:
        self.downloads.acted(began_at)
        if self.owner:
            self.owner.acted(began_at)

    def report(self, kind: str, tab: Tab, text: str, count: int = 1) -> None:
        if self.owner:
            self.owner.report(kind, tab.name, text, count=count)

    def download_begins(self, tab: Tab, params: dict[str, Any]) -> None:
        # Its name becomes that of a file, which passes no gate.
        params = {**params, "suggestedFilename": self.terms.redact_text(params["suggestedFilename"])}
        self.downloads.begin(params, tab.name)
        if self.owner:
            self.owner.report("download", tab.name, f"{quoted(params['suggestedFilename'])} started", params["guid"])
        self._cut_off_if_full(params["guid"])  # a small one is whole before it is heard of again

    def download_moves(self, params: dict[str, Any]) -> None:
        ended = self.downloads.move(params, self.folder)
        if ended and ended.state == "completed" and ended.id in self._over_quota:
            self.downloads.undo(ended)  # it was whole before the browser heard that it should not be
        elif ended and ended.state == "completed":
            self.files.add(ended.received_bytes)
        if ended and self.owner:
            tail = f": {quoted(str(ended.path), 300)}" if ended.path else ""
            if ended.id in self._over_quota:
                tail = f": files of a session end at {self.terms.quota_bytes} bytes"
                self._over_quota.discard(ended.id)
            said = f"{quoted(ended.name, 100)} {ended.state} ({ended.received_bytes} bytes){tail}"
            self.owner.report("download", ended.tab, said, ended.id)
        elif not ended:
            self._cut_off_if_full(params["guid"])

    def _cut_off_if_full(self, guid: str) -> None:
        received, coming = self.downloads.coming()
        if not self.files.has_room(received + 1, coming):
            self._over_quota.add(guid)
            self.browser.root.post("Browser.cancelDownload", guid=guid, browserContextId=self.id)

    def explain(self, url: str) -> str:
        refusal = self.intercept.refusal(url)
        return refusal.why if refusal else self.gateway.reason(*authority_of(url))

    def denies(self, url: str) -> bool:
        return self.intercept.refusal(url) is not None or self.gateway.denies(*authority_of(url))

    def refusal(self, url: str) -> Refusal | None:
        return self.intercept.refusal(url)

    def forbids(self, url: str) -> Refusal | None:
        """Of a document that is there. Where Fetch holds documents, those of a server were judged before; where the
        network does, one may have come from a cache."""
        border = self.intercept.border
        if border is None or url.startswith("about:blank") or (border.watch and origin_of(url)):
            return None
        return border.refused(url) or border.unasked(url)


class Browser:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.root = connection.root
        self._contexts: dict[str, Context] = {}
        self._targets: dict[str, tuple[Context, str]] = {}
        self.root.on("Target.attachedToTarget", self._attached)
        self.root.on("Target.detachedFromTarget", self._detached)
        self.root.on("Target.targetInfoChanged", lambda p: self._renamed(p["targetInfo"]))
        self.root.on("Browser.downloadWillBegin", self._download_begins)
        self.root.on("Browser.downloadProgress", self._download_moves)
        connection.closed.add_done_callback(lambda closed: self._lost(closed.result()))

    @property
    def alive(self) -> bool:
        return not self.connection.closed.done()

    async def start(self) -> None:
        await self.root.send("Target.setAutoAttach", **AUTO_ATTACH, filter=_FILTER)
        await self.root.send("Target.setDiscoverTargets", discover=True, filter=_FILTER)

    async def answers(self) -> bool:
        """Whether it still does anything at all."""
        with contextlib.suppress(Failure, ProtocolError):
            await self.root.send("Browser.getVersion", timeout=ANSWER_S)
            return True
        return False

    async def open_context(self, gateway: Gateway) -> Context:
        reply = await self.root.send(
            "Target.createBrowserContext",
            disposeOnDetach=True,
            proxyServer=f"socks5://127.0.0.1:{gateway.port}",
            proxyBypassList="<-loopback>",
        )
        context = Context(self, reply["browserContextId"], gateway)
        self._contexts[context.id] = context
        return context

    def forget(self, context: Context) -> None:
        self._contexts.pop(context.key, None)

    def _home_of(self, target: dict[str, Any]) -> Context | None:
        """The context that a target belongs to, if it is one of ours."""
        return self._contexts.get(target.get("browserContextId", ""))

    def _attached(self, params: dict[str, Any]) -> None:
        target = params["targetInfo"]
        if target["type"] == "page":
            target = target | {"openerId": self.opener(target)}
        channel = self.connection.channel(params["sessionId"])
        context = self._home_of(target)
        if target["type"] != "page" or context is None:
            if context and target["type"] in _WORKERS:
                self._targets[channel.id] = (context, target["targetId"])
                context.workers.attached(target, channel)
            channel.post("Runtime.runIfWaitingForDebugger")
            return
        self._targets[channel.id] = (context, target["targetId"])
        context.attached(target, channel)

    def opener(self, target: dict[str, Any]) -> str:
        """Who opened a tab. One that came of a Ctrl-, Shift- or middle-click does not say so; its page has said that it
        wants one, just before (M). Whoever is not asked now has got what they wanted."""
        tabs = [tab for one in self._contexts.values() if one.id == target.get("browserContextId") for tab in one.tabs]
        said = target.get("openerId", "")
        asking = [tab for tab in tabs if (tab.target_id == said if said else tab.route.opens)]
        for tab in asking:
            tab.route.opened()
        return said or next((tab.target_id for tab in asking), "")

    def _detached(self, params: dict[str, Any]) -> None:
        context, target_id = self._targets.pop(params["sessionId"], (None, ""))
        if context:
            context.detached(target_id)
            context.workers.detached(params["sessionId"])

    def _renamed(self, target: dict[str, Any]) -> None:
        context = self._home_of(target)
        for tab in context.tabs if context else ():
            if tab.document.titled:  # what the browser has heard of a page's title is late
                continue
            if tab.target_id == target["targetId"] and tab.url == target["url"]:
                # Until a page has told its title, its address stands in for it.
                address = target["url"], unquote_plus(target["url"]), unquote(target["url"])
                is_address = any(one.endswith(target["title"]) for one in address)
                tab.title = "" if is_address else target["title"][:MAX_TITLE]

    def _download_begins(self, params: dict[str, Any]) -> None:
        for context in self._contexts.values():
            for tab in context.tabs:
                if tab.frames.get(params["frameId"]):
                    context.download_begins(tab, params)
                    tab.download_begins()

    def _download_moves(self, params: dict[str, Any]) -> None:
        for context in self._contexts.values():
            if context.downloads.has(params["guid"]):
                context.download_moves(params)

    def _lost(self, reason: str) -> None:
        failure = gone(reason)
        for context in self._contexts.values():
            context.lost(failure)
