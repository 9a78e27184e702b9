"""One tab: its channel, its frames, its document, and what it is in the middle of.

Above: sessions, tools. Below: route, frames, network, console, cdp. Everything that acts on the page asks `ready`
first, so that nobody talks to a page that cannot answer or is still becoming another one.
"""

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from pilothouse.browser import settle, world
from pilothouse.browser.again import judge_again
from pilothouse.browser.border import Refusal
from pilothouse.browser.complaints import Complaints
from pilothouse.browser.console import Console, Line
from pilothouse.browser.document import Dialog, Document, FileChooser, Seen
from pilothouse.browser.entrance import Entrance, enter
from pilothouse.browser.files import Folder
from pilothouse.browser.frames import Frame, Frames, address
from pilothouse.browser.guise import NOTHING, PLAIN, TOUCH_POINTS, Guise, Kind, put_on
from pilothouse.browser.intercept import Asker, Intercept
from pilothouse.browser.late import ask_again
from pilothouse.browser.network import Network
from pilothouse.browser.origins import Origins
from pilothouse.browser.refs import Numbers, Refs
from pilothouse.browser.route import Route
from pilothouse.browser.signal import Signal
from pilothouse.browser.terms import Terms
from pilothouse.browser.turn import Turn
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure
from pilothouse.result import quoted

REVIVE_TIMEOUT_S = 5.0
ASK_S = 2.0
STANDS_S = 2.0
MAX_TITLE = 300
AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


class Home(Protocol):
    """What a tab needs to know of the context it lives in."""

    @property
    def tabs(self) -> "list[Tab]": ...
    @property
    def files(self) -> Folder: ...
    @property
    def origins(self) -> Origins: ...
    @property
    def numbers(self) -> Numbers: ...
    @property
    def terms(self) -> Terms: ...
    def report(self, kind: str, tab: "Tab", text: str, count: int = 1) -> None: ...
    @property
    def intercept(self) -> Intercept: ...
    def lone_workers(self, tab: "Tab") -> list[Channel]: ...
    def explain(self, url: str) -> str: ...
    async def permit_place(self) -> None: ...
    def acted(self, began_at: float) -> None: ...
    def denies(self, url: str) -> bool: ...
    def refusal(self, url: str) -> Refusal | None: ...
    def forbids(self, url: str) -> Refusal | None: ...
    @property
    def elsewhere(self) -> bool: ...
    @property
    def from_birth(self) -> bool: ...


class Tab:
    def __init__(self, home: Home, target_id: str, channel: Channel, *, opener: str = "", source: str = "") -> None:
        self.name = ""
        self.target_id = target_id
        self.opener = opener
        self.title = ""
        self.channel = channel
        self.signal = Signal()
        self.frames = Frames(target_id, channel, self.signal, self.hindrance)
        self.refs = Refs(home.numbers)
        self.frames.on_world_gone = self.refs.forget
        self.frames.on_visit = home.origins.add
        self.network = Network(home.explain)
        self.route = Route(target_id, self.network, self.signal)
        self.console = Console(self._script_failed)
        self.document = Document("", "about:blank", whole=True)
        self.frame: Frame | None = None  # the frame a caller switched to
        self.dialog: Dialog | None = None
        self._asks_to_stay = False  # the last dialog was about leaving the page
        self.picking = ""  # what a person is asked to point at
        self.picks_own = False  # and whether they wanted to themselves
        self.file_chooser: FileChooser | None = None
        self.source = source  # the last document of a server: what is written into an empty page comes from there
        self.downloads = 0  # that have begun
        self.crashed = False
        self.closed = False
        self.withdrawn = ""  # why it is ours no more, though it is open
        self.turn = Turn()
        # When the page was last asked ahead whether it answers, and what each of its processes will say.
        self.glance: tuple[float, bool, asyncio.Future[dict[str, Any] | None]] | None = None  # see aim
        self.knocked: tuple[float, dict[Channel, asyncio.Future[dict[str, Any]]]] = (0.0, {})
        self.mark: settle.Mark | None = None
        self.seen = Seen()
        self.told_url = self.document.url  # that a new tab is empty is no news
        self.told_missed = ""  # the last document that could not be loaded
        self.own_guise: Guise = PLAIN  # what its session was opened with
        self.guise: Guise = PLAIN
        self._home = home
        self._end: Failure | None = None
        self._children: dict[str, tuple[Channel, str]] = {}  # channel and, for a frame, its id
        self.complaints = Complaints(self.report)
        self._late: set[asyncio.Task[None]] = set()
        self._running: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.entrance = Entrance(channel, self.frames, self._titled, late=home.from_birth)
        self._listen()
        self.prepare(channel)

    @property
    def here(self) -> Frame:
        """The frame that a caller works in."""
        return self.frame or self.frames.main

    @property
    def url(self) -> str:
        return self.document.unreachable or self.frames.main.url or self.document.url

    @property
    def files(self) -> Folder:
        """Where files of this tab's session are kept."""
        return self._home.files

    @property
    def elsewhere(self) -> bool:
        return self._home.elsewhere

    @property
    def terms(self) -> Terms:
        return self._home.terms

    def explain(self, url: str) -> str:
        """Why the network refused an address, in words; empty when it did not."""
        return self._home.explain(url)

    def denies(self, url: str) -> bool:
        """Whether the network refused an address because this session may not go there."""
        return self._home.denies(url)

    def refusal(self, url: str) -> Refusal | None:
        """What the policy said about a request that it refused."""
        return self._home.refusal(url)

    def is_mocked(self, origin: str) -> bool:
        """Whether an agent has answered in the place of a site, so that its scripts may be the agent's."""
        return origin in self._home.intercept.mocked

    def channels(self) -> Iterator[Channel]:
        yield self.channel
        for channel, _ in tuple(self._children.values()):
            yield channel

    def page_channels(self) -> list[Channel]:
        """Those of the page and of its frames; workers keep nobody from answering."""
        return [self.channel, *(channel for channel, frame_id in self._children.values() if frame_id)]

    def inner_channels(self) -> list[tuple[Channel, Kind]]:
        """Those of frames in other processes, and of workers; also of lone ones that this tab stands for."""
        own: list[tuple[Channel, Kind]] = [
            (channel, "frame" if frame_id else "worker") for channel, frame_id in self._children.values()
        ]
        return own + [(channel, "lone_worker") for channel in self._home.lone_workers(self)]

    @property
    def touch_points(self) -> int:
        """Fingers of the device that is emulated; a gesture leaves them as they were."""
        return TOUCH_POINTS if self.guise.touch else 0

    def wear(self, guise: Guise) -> None:
        """From the beginning: what `reset` goes back to."""
        self.own_guise = self.guise = guise
        put_on(self.channel, guise, over=NOTHING, kind="tab")

    def place_told(self) -> None:
        """The caller knows where it is, and whether what is there could be loaded."""
        self.told_url = self.url
        self.told_missed = self.document.loader_id if self.document.unreachable else ""

    def acted(self, began_at: float) -> None:
        """The caller did something: what came before that is not what they wait for next."""
        self._home.acted(began_at)

    @property
    def beside(self) -> list[str]:
        """The names of the session's tabs, this one among them."""
        return [tab.name for tab in self._home.tabs if tab.name]

    async def permit_place(self) -> None:
        await self._home.permit_place()

    # Being ready

    def expect_page(self) -> None:
        """It was opened for a page: who uses it first waits for that."""
        self.mark = settle.Mark(self, self.frames.main)

    async def ready(self, timeout: float = 30.0, *, revives: bool = False) -> None:
        """Wait out what the last action may still start; refuse when the page cannot answer. Who `revives` a crashed
        one goes on at once: nothing of what it was doing is left."""
        self.check_open()
        if self.crashed and revives:
            return
        if self.crashed:
            await self.revive()
            raise Failure(
                "tab_crashed",
                "the tab's renderer had crashed; it was loaded again, its state is new",
                suggestions=["take a new snapshot and repeat the step"],
            )
        self.check_dialog()
        if mark := self.mark:
            await settle.wait_out(self, mark, timeout)
            if self.mark is mark:  # every call that came meanwhile has waited for it, too
                self.mark = None
            self.check_dialog()
        if not await self.signal.until(lambda: not self._is_leaving or self.closed, timeout / 3):
            raise self._on_its_way()
        if not revives:
            await self._stands(timeout / 3)
        self.check_open()

    async def _stands(self, timeout: float) -> None:
        """A document that came by itself may be half there. Each is waited for once: some never end."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while not (self.document.dom_ready or self.document.given_up or self.crashed or self.closed):
            document, patience = self.document, min(STANDS_S, end - loop.time())
            if not await self.signal.until(functools.partial(self._is_past, document), patience):
                document.given_up = True
            self.check_dialog()

    def _is_past(self, document: Document) -> bool:
        """Whether there is nothing more of it to wait for."""
        return bool(document.dom_ready or document is not self.document or self.dialog or self.crashed or self.closed)

    @property
    def _is_leaving(self) -> bool:
        """A document was asked for that has not come; if a person has not answered yet, it may still."""
        refused = self.document.unreachable.partition("#")[0]
        return bool(self.route.bound_for or (refused and self.asking == refused))

    @property
    def asking(self) -> str:
        """The address of the next document, if a person is being asked about it."""
        return self._home.intercept.asking(self.channel)

    @property
    def asked_about(self) -> Failure | None:
        """A person has not said yet whether the next document may come."""
        url = self.asking
        if not url:
            return None
        return Failure(
            "approval_pending",
            f"a person is being asked whether {url[:300]} may be opened",
            suggestions=[
                "repeat the call when they have answered: `pilothouse approvals`, or the dashboard",
                "or give it up: navigate to another address",
            ],
        )

    def _on_its_way(self) -> Failure:
        if self.asked_about:
            return self.asked_about
        url = self.route.bound_for[:300]
        return Failure(
            "timeout",
            f"the tab waits for {url}, whose server has not answered yet; until then it shows nothing",
            suggestions=["wait_for its url", "or give it up: navigate to another address"],
        )

    def hindrance(self) -> Failure | None:
        """Why the page cannot answer now, if it cannot."""
        if self.closed:
            return self._ended()
        if self.crashed:
            return _crashed("tab's")
        return self._dialog_failure(self.dialog) if self.dialog else None

    def check_open(self) -> None:
        if self.closed:
            raise self._ended()

    def _ended(self) -> Failure:
        if self._end:
            return Failure(self._end.code, self._end.message, suggestions=["repeat the step: a new browser is started"])
        if self.withdrawn:
            return taken(self.withdrawn)
        return Failure("tab_closed", f"tab {self.name} is closed", suggestions=["list_tabs shows what is open"])

    def check_dialog(self) -> None:
        if self.dialog:
            raise self._dialog_failure(self.dialog)

    def chooser(self) -> FileChooser:
        """The file chooser that the page has opened."""
        if self.file_chooser is None:
            advice = "give the target of the file input"
            raise Failure("not_found", "no file chooser is open", suggestions=[advice])
        return self.file_chooser

    async def answer_dialog(self, accept: bool, text: str) -> None:
        self.dialog = None  # at once: the next one may open before the answer is confirmed
        try:
            await self.channel.send(
                "Page.handleJavaScriptDialog", accept=accept, promptText=text, steadfast=True, timeout=10
            )
        except ProtocolError as error:
            raise Failure("not_found", "the dialog was closed by itself") from error

    async def revive(self) -> None:
        """A crashed renderer is replaced by navigating on the same channel."""
        before = self.document
        await self.channel.send("Page.navigate", url=self.url or "about:blank", timeout=REVIVE_TIMEOUT_S)
        self.crashed = False
        await self.signal.until(lambda: self.document is not before and self.document.dom_ready, REVIVE_TIMEOUT_S)

    async def call(self, function: str, *args: Any, timeout: float = world.CALL_TIMEOUT_S) -> Any:
        """Ask the current frame's world; once more if its document was replaced meanwhile."""
        return await self.ask(f"(...a) => ph.{function}(...a)", *args, timeout=timeout)

    async def ask(self, declaration: str, *args: Any, timeout: float = world.CALL_TIMEOUT_S) -> Any:
        """Like `call`, for a function that is not part of the world."""
        return await self._ask(self.here, judge_again, declaration, *args, timeout=timeout)

    async def _ask(self, frame: Frame, judge: Callable[[], None], declaration: str, *args: Any, timeout: float) -> Any:
        world = await self.frames.ready(frame, timeout)
        judge()
        try:
            return await world.run(declaration, *args, timeout=timeout)
        except WorldGone:
            world = await self._successor(frame, timeout)
            judge()
            return await world.run(declaration, *args, timeout=timeout)

    async def learn_title(self) -> bool:
        """Ask the page, when the browser has not told its title yet; False if it is too busy to answer."""
        try:
            self.title = (await self._page_told())["title"][:MAX_TITLE]
        except Failure as failure:
            if failure.code != "timeout":
                raise
            return False
        return True

    async def _page_told(self) -> dict[str, Any]:
        """Titles are told of every page; whether this one may be, is judged when the call is over."""
        return await self._ask(self.frames.main, lambda: None, "() => ph.page()", timeout=ASK_S)

    async def _successor(self, frame: Frame, timeout: float) -> World:
        await self.signal.until(lambda: not self.route.navigating, timeout)
        return await self.frames.ready(frame, timeout)

    # Setting up

    def prepare(self, channel: Channel, *, page: bool = True, worker: str = "") -> None:
        """All set-up commands at once; the target waits until it is told to run."""
        channel.post("Runtime.enable")
        channel.post("Log.enable")
        self.follow_network(channel, worker)
        if page:
            channel.post("Page.enable")
            channel.post("Inspector.enable")
            # A page that is made ahead is no target that we could watch, and its requests look like this tab's (M).
            channel.post("Page.setPrerenderingAllowed", isAllowed=False)
            if channel is self.channel:
                self.entrance.build()
            else:
                enter(channel)
            channel.post("Emulation.setFocusEmulationEnabled", enabled=True)
            channel.post("Page.setInterceptFileChooserDialog", enabled=True)
        channel.post("Target.setAutoAttach", **AUTO_ATTACH)
        channel.on("Target.attachedToTarget", lambda p: self._child_attached(channel, p))
        channel.on("Target.detachedFromTarget", lambda p: self._child_detached(p["sessionId"]))
        self.console.follow(channel)

    def follow_network(self, channel: Channel, worker: str = "", *, page: str = "") -> None:
        """Requests of the page, of a frame, or of a worker that may outlive this tab: `page` is its own address."""
        channel.post("Network.enable", enableDurableMessages=True, **_BUFFERS)
        self.ask_durable(channel)
        self.network.follow(channel, worker)
        shared = worker == "shared_worker"
        pages = (lambda: [page]) if page else self._pages
        asker = Asker(
            self.network.ruled,
            pages,
            "" if worker else self.target_id,
            page if shared else "",
            self._at,
            lasting=worker == "service_worker",
            answered=self._answered,
        )
        self._home.intercept.join(channel, asker, early=shared)

    def _at(self, frame_id: str) -> str:
        frame = self.frames.get(frame_id)
        return frame.url if frame else ""

    def _pages(self) -> list[str]:
        """Whose requests these may be: in 16 of 100 navigations the new document's first request is stopped before we
        hear that it is there (M)."""
        return [page for page in (self.source, self.route.bound_for) if page]

    def run(self) -> None:
        """Let the page run, now that everything is set up."""
        self._running = self.channel.post("Runtime.runIfWaitingForDebugger")

    async def prepared(self) -> None:
        """Until the set-up is through: a navigation before that would lose its events, or crash the renderer (M)."""
        await self._running

    def ask_durable(self, channel: Channel) -> None:
        """Older browsers know no durable messages: there, bodies are fetched as they arrive. Chrome passes over an
        argument that it does not know, and refuses a command. Nothing else is wanted of this command: streams would
        lose what came before we read along (M). So its argument is of the wrong kind, and who knows it does nothing."""
        asked = channel.post("Network.configureDurableMessages", maxTotalBufferSize="")
        asked.add_done_callback(self._durable_told)

    def _durable_told(self, reply: asyncio.Future[dict[str, Any]]) -> None:
        why = None if reply.cancelled() else reply.exception()
        unknown = isinstance(why, ProtocolError) and "wasn't found" in why.reason
        if unknown or (isinstance(why, Failure) and why.code == "unsupported"):  # so says a relay
            self.network.durable = False

    def _child_attached(self, parent: Channel, params: dict[str, Any]) -> None:
        info = params["targetInfo"]
        channel = parent.child(params["sessionId"])
        kind = info["type"]
        self._children[channel.id] = (channel, info["targetId"] if kind == "iframe" else "")
        if kind == "iframe":
            self.frames.take_over(info["targetId"], info.get("parentFrameId", ""), channel)
            self._follow_navigation(channel)
            channel.on("Inspector.targetCrashed", lambda p: self._frame_crash(channel, info["url"]))
        if kind == "service_worker":  # the context has it, too, and with all its requests
            channel.post("Runtime.enable")
            channel.post("Log.enable")
            self.console.follow(channel)
        else:
            self.prepare(channel, page=kind == "iframe", worker="" if kind == "iframe" else kind)
        put_on(channel, self.guise, over=PLAIN, kind="frame" if kind == "iframe" else "worker")
        channel.post("Runtime.runIfWaitingForDebugger")

    def _child_detached(self, session_id: str) -> None:
        channel, frame_id = self._children.pop(session_id, (None, ""))
        if channel:
            self.network.ended(channel)
            self._home.intercept.leave(channel)
        if channel and frame_id:
            self.frames.give_back(frame_id, channel)

    # Listening

    def _listen(self) -> None:
        on = self.channel.on
        on("Page.frameNavigated", self._navigated)
        self.route.follow_document(self.channel)
        on("Page.navigatedWithinDocument", self._moved)
        on("Page.domContentEventFired", lambda p: self._reached(dom=True))
        on("Page.loadEventFired", lambda p: self._reached(load=True))
        on("Page.javascriptDialogOpening", self._dialog_opening)
        on("Page.javascriptDialogClosed", self._dialog_closed)
        on("Inspector.targetCrashed", lambda p: self._crash())
        self._follow_navigation(self.channel)

    def _follow_navigation(self, channel: Channel) -> None:
        channel.on("Page.fileChooserOpened", lambda p: self._file_chooser_opened(channel, p))
        self.route.follow(channel)
        channel.on("Page.frameStoppedLoading", self._stopped)
        channel.on("Page.frameDetached", lambda p: self._leave_lost_frame())
        channel.on("Page.frameStartedLoading", lambda p: self.signal.stir())

    def _leave_lost_frame(self) -> None:
        """A caller whose frame was removed is back in the page."""
        if self.frame and self.frames.get(self.frame.id) is not self.frame:
            self.frame = None

    def _stopped(self, params: dict[str, Any]) -> None:
        if params["frameId"] == self.target_id:
            self.route.set_navigating(False)
            self.network.stopped(self.document.loader_id)
            self._reached(dom=True, load=True)  # also when `window.stop()` has seen to it that no event comes
        self.signal.stir()

    def _navigated(self, params: dict[str, Any]) -> None:
        info = params["frame"]
        if info["id"] != self.target_id:
            return
        restored = params.get("type") == "BackForwardCacheRestore"
        self.document = Document(
            info["loaderId"], address(info), whole=restored, unreachable=info.get("unreachableUrl", "")
        )
        self._take_source()
        self.title = ""
        self.frame = None
        self.file_chooser = None
        self.crashed = False
        self._home.report("navigation", self, self.url)
        if restored:
            self.channel.post("Page.getFrameTree").add_done_callback(self._frames_told)
        self.route.came(info["loaderId"])

    def _take_source(self) -> None:
        """Where this document comes from. One that no network brought (M: Fetch sees neither `data:` nor `chrome:`)
        may be forbidden itself: then it is left at once."""
        if self.url.startswith(("http://", "https://", "blob:http")):
            self.source = self.url
        if not self.document.unreachable and (refusal := self._home.forbids(self.url)):
            self.channel.post("Page.navigate", url="about:blank")
            self.report("denied", f"the tab left {self.url[:200]}: {refusal.why}")

    def _answered(self, announced: dict[str, Any], refusal: Refusal | None) -> None:
        """A person was asked about a document; the network may have refused it meanwhile."""
        if not refusal:
            late = asyncio.ensure_future(ask_again(self, announced))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
        self.signal.stir()

    def download_begins(self) -> None:
        self.downloads += 1
        self.signal.stir()

    def report(self, kind: str, text: str, count: int = 1) -> None:
        self._home.report(kind, self, text, count)

    def _frames_told(self, reply: asyncio.Future[dict[str, Any]]) -> None:
        """A document that came back brings its frames without announcing them."""
        if not reply.cancelled() and not reply.exception():
            self.frames.merge(self.channel, reply.result()["frameTree"])

    def learn_document(self) -> None:
        """The browser does not hold every tab of a page's until we are there: what came before is never told (M)."""
        self.channel.post("Page.getFrameTree").add_done_callback(self._document_told)

    def _document_told(self, reply: asyncio.Future[dict[str, Any]]) -> None:
        if reply.cancelled() or reply.exception() or self.document.loader_id:
            return
        tree = reply.result()["frameTree"]
        if address(tree["frame"]) != self.document.url:
            title = self.title  # that has been told meanwhile
            self._navigated(tree)
            self.title = title
            self._frames_told(reply)
            self.channel.post("Runtime.evaluate", expression="document.readyState").add_done_callback(self._state_told)

    def _state_told(self, reply: asyncio.Future[dict[str, Any]]) -> None:
        if not reply.cancelled() and not reply.exception():
            self.reached(str(reply.result()["result"].get("value", "")))

    def take_stock(self, tree: dict[str, Any]) -> None:
        """The document that is there, after a time in which nobody listened."""
        self.route.forget_begun()
        if tree["frame"]["loaderId"] != self.document.loader_id:
            self._navigated(tree)
        self.route.set_navigating(False)
        self.frames.settle(self.channel, tree)

    def reached(self, state: str) -> None:
        """How far its document is, as the page itself says."""
        self._reached(dom=state in ("interactive", "complete"), load=state == "complete")

    def renew_interception(self) -> None:
        """Requests that wait for a word that was lost go on, and the next ones wait again."""
        self.channel.post("Fetch.disable")
        self._home.intercept.put(self.channel)

    def _titled(self, title: str, lasting: bool) -> None:
        self.title = title[:MAX_TITLE]
        self.document.titled = self.document.titled or lasting

    def _moved(self, params: dict[str, Any]) -> None:
        if params["frameId"] == self.target_id:
            self._home.report("navigation", self, params["url"])
            self.route.moved()

    def _reached(self, *, dom: bool = False, load: bool = False) -> None:
        self.document.dom_ready = self.document.dom_ready or dom or load
        self.document.loaded = self.document.loaded or load
        self.signal.stir()

    def _dialog_opening(self, params: dict[str, Any]) -> None:
        self.dialog = Dialog(params["type"], params["message"][:2000], params.get("defaultPrompt", "")[:2000])
        self._asks_to_stay = self.dialog.guards
        default = f", default {quoted(self.dialog.default, 100)}" if self.dialog.default else ""
        self._home.report("dialog", self, f"{self.dialog.words}{default}")
        for channel in self.channels():
            channel.interrupt(self._dialog_failure(self.dialog))
        self.signal.stir()

    def _dialog_failure(self, dialog: Dialog) -> Failure:
        return Failure(
            "dialog_open",
            f"tab {self.name} shows {'an' if dialog.kind == 'alert' else 'a'} {dialog.kind} dialog",
            details={
                "kind": dialog.kind,
                "message": dialog.message,
                **({"default": dialog.default} if dialog.default else {}),
            },
            suggestions=["answer it: handle_dialog(accept=true) or handle_dialog(accept=false)"],
        )

    def _dialog_closed(self, params: dict[str, Any]) -> None:
        self.dialog = None
        if self._asks_to_stay and not params["result"]:
            self.route.set_navigating(False)  # nothing else tells that the page is not left after all (M)
        self.signal.stir()

    def _file_chooser_opened(self, channel: Channel, params: dict[str, Any]) -> None:
        if node := params.get("backendNodeId"):
            self.file_chooser = FileChooser(
                channel, node, params.get("mode") == "selectMultiple", params.get("frameId", "")
            )
            self._home.report("file_chooser", self, "the page asks for a file: call upload_file")

    def _script_failed(self, line: Line) -> None:
        """A missing icon is no news, nor is what a rule of the session's own has blocked. That a page could not be
        loaded is told with its address; the browser's own page about it complains late."""
        blocked, missed = "ERR_BLOCKED_BY_CLIENT" in line.text, line.url.startswith("chrome-error:")
        if line.source == "network" and (blocked or missed or line.url.endswith("/favicon.ico")):
            return
        where = f" ({line.url})" if line.source == "network" else ""
        text = line.text.partition("\n")[0][:300]
        if "ERR_SOCKS" in text:  # our own boundary said no; it knows why
            text = f"Failed to load resource: {self.explain(line.url)}"
        self.complaints.add(text + where)

    def _crash(self) -> None:
        self.crashed = True
        self.dialog = None
        self.route.set_navigating(False)
        self._home.report("crash", self, f"the renderer of {self.url[:200]} crashed")
        for channel in self.channels():
            self.frames.lose(channel)
            channel.interrupt(_crashed("tab's"))
        self.signal.stir()

    def _frame_crash(self, channel: Channel, url: str) -> None:
        self._home.report("crash", self, f"the renderer of the frame {url[:200]} crashed")
        self.frames.crash(channel)
        channel.interrupt(_crashed("frame's"))
        self.signal.stir()

    def shut(self, why: Failure | None = None) -> None:
        self.closed = True
        self.refs.close()
        self._end = why
        self.signal.stir()


_BUFFERS: dict[str, Any] = {"maxTotalBufferSize": 64 * 1024 * 1024, "maxResourceBufferSize": 16 * 1024 * 1024}


def _crashed(whose: str) -> Failure:
    return Failure(
        "tab_crashed",
        f"the {whose} renderer crashed during the call",
        suggestions=[
            "reload: the page comes anew, without what was typed in it and without its refs",
            "whether the call had its effect is not known: look before you repeat it",
        ],
    )


def taken(why: str) -> Failure:
    """A tab of the person's that agents may not use any more."""
    steps = [
        "list_tabs shows what is left, switch_tab goes there",
        "new_tab opens one of your own",
        "or ask the person",
    ]
    return Failure("denied", why, suggestions=steps)
