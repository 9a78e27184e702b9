"""The frames of one tab: which channel speaks for each, which world belongs to it, how they nest.

Above: tab. Below: world, cdp. Cross-origin frames have a channel of their own; the others share their parent's.
A frame that moves between processes is "swapped": it keeps its id and gets another channel.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from pilothouse.browser import world
from pilothouse.browser.signal import Signal
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import Channel
from pilothouse.errors import Failure

# Documents left behind whose refs may come alive again when the browser goes back to them.
KEPT_WORLDS = 50


class Frame:
    def __init__(self, frame_id: str, parent: str, channel: Channel) -> None:
        self.id = frame_id
        self.parent = parent
        self.channel = channel
        self.url = ""
        self.unreachable = ""  # the address that could not be loaded
        self.name = ""
        self.loader_id = ""
        self.mime_type = ""
        self.origin = ""  # that its document acts as, if it is one of the web
        self.world: World | None = None
        self.page_context: tuple[str, int] | None = None  # the page's own world: unique id and number
        self.guest_context: tuple[str, int] | None = None  # made when a caller first wants a world of its own
        # The page's own document as a remote object.
        self.document: asyncio.Future[dict[str, Any]] | None = None
        self.navigating = False
        self.crashed = False  # until something is loaded in it again
        # Where this frame's element is in its parent: the parent's world and the local ref there.
        self.owner: tuple[str, int] | None = None

    def drop_world(self) -> None:
        self.world = None
        self.origin = ""
        self.page_context = None
        self.guest_context = None
        self.document = None

    def ask_document(self) -> None:
        """Ahead of the first snapshot, but not before our world is there: a page that is being built stops for the
        answer."""
        if self.document is None and self.world and self.page_context:
            self.document = self.channel.post(
                "Runtime.evaluate", expression="document", uniqueContextId=self.page_context[0], steadfast=True
            )


class Frames:
    """`on_world_gone(uid)` tells that a document can never be reached again, `on_visit(url)` that one has come;
    `on_wanted(frame)` that somebody waits for a world that was not made yet; `hindrance` why the tab is mute now.
    """

    def __init__(self, main_id: str, channel: Channel, signal: Signal, hindrance: Callable[[], Failure | None]) -> None:
        self.main = Frame(main_id, "", channel)
        self._by_id: dict[str, Frame] = {main_id: self.main}
        self._worlds: dict[str, World] = {}
        self._signal = signal
        self._hindrance = hindrance
        self.inner_moves = 0  # of all frames but the page itself, to another document or within one
        self.on_world_gone: Callable[[str], None] = lambda uid: None
        self.on_visit: Callable[[str], None] = lambda url: None
        self.on_wanted: Callable[[Frame], None] = lambda frame: None
        self.follow(channel)

    def __iter__(self) -> Iterator[Frame]:
        return iter(tuple(self._by_id.values()))

    @property
    def alone(self) -> bool:
        """Whether the page has no frames."""
        return len(self._by_id) == 1

    def get(self, frame_id: str) -> Frame | None:
        return self._by_id.get(frame_id)

    def world(self, uid: str) -> World | None:
        return self._worlds.get(uid)

    def children(self, frame: Frame) -> list[Frame]:
        return [one for one in self._by_id.values() if one.parent == frame.id]

    def addresses(self, frame: Frame) -> list[str]:
        """Where a frame is: its address, and the origin that its document acts as where the address does not tell (a
        blank one is its maker's). One without either is where the frame around it is."""
        url = frame.url.removeprefix("blob:")
        if frame.origin and not f"{url}/".startswith(f"{frame.origin}/"):
            return [frame.url, frame.origin]
        parent = self._by_id.get(frame.parent) if url.startswith("about:") or not url else None
        return [frame.url, *self.addresses(parent)] if parent else [frame.url]

    def is_root(self, frame: Frame) -> bool:
        """The topmost frame of its channel: pointer positions count from its corner."""
        parent = self._by_id.get(frame.parent)
        return parent is None or parent.channel is not frame.channel

    async def ready(self, frame: Frame, timeout: float) -> World:
        """The frame's world, waiting for it while a document is being replaced; made, if it has none yet."""
        asked: tuple[str, int] | None = None  # in which document

        def over() -> object:
            nonlocal asked
            if frame.world is None and frame.page_context and frame.page_context != asked:
                asked = frame.page_context
                self.on_wanted(frame)
            return frame.world or frame.crashed or frame.id not in self._by_id or self._hindrance()

        in_time = await self._signal.until(over, timeout)
        if frame.world:
            return frame.world
        if failure := self._hindrance():
            raise failure
        if frame.crashed:
            raise Failure("tab_crashed", "the frame's renderer has crashed", suggestions=["reload the page"])
        if in_time:
            raise WorldGone("the frame was removed")
        raise Failure("timeout", "the page's document did not appear in time")

    async def guest(self, frame: Frame) -> tuple[str, int]:
        """A world for callers' script: the page does not see it, and it does not see ours."""
        if frame.guest_context is None:
            await frame.channel.send("Page.createIsolatedWorld", frameId=frame.id, worldName=world.GUEST)
        if frame.guest_context is None:
            raise WorldGone("the document was replaced")
        return frame.guest_context

    def follow(self, channel: Channel) -> None:
        channel.on("Page.frameAttached", lambda p: self._attached(channel, p))
        channel.on("Page.frameDetached", self._detached)
        channel.on("Page.frameNavigated", lambda p: self.navigated(channel, p["frame"], p.get("type", "")))
        channel.on("Page.navigatedWithinDocument", self._moved)
        channel.on("Page.frameStartedLoading", lambda p: self._loading(p["frameId"], True))
        channel.on("Page.frameStoppedLoading", lambda p: self._loading(p["frameId"], False))
        channel.on("Runtime.executionContextCreated", lambda p: self._context_made(channel, p["context"]))
        channel.on("Runtime.executionContextDestroyed", lambda p: self._context_lost(p["executionContextUniqueId"]))
        channel.on("Runtime.executionContextsCleared", lambda p: self._cleared(channel))

    def take_over(self, frame_id: str, parent_id: str, channel: Channel) -> None:
        """A frame now runs in a process, hence on a channel, of its own."""
        frame = self._frame(frame_id, channel)
        frame.parent = frame.parent or parent_id
        frame.channel = channel
        frame.crashed = False
        frame.drop_world()
        self.follow(channel)

    def give_back(self, frame_id: str, channel: Channel) -> None:
        """A frame's own channel ended: it is gone, or back in its parent's process."""
        frame = self._by_id.get(frame_id)
        if frame and frame.channel is channel:
            parent = self._by_id.get(frame.parent)
            frame.drop_world()
            if parent:
                frame.channel = parent.channel

    def navigated(self, channel: Channel, info: dict[str, Any], kind: str = "") -> None:
        frame = self._frame(info["id"], channel)
        if frame is self.main and frame.loader_id != info["loaderId"]:
            # The old document's frames went with it, without a word when the browser keeps it for going back.
            # A document that comes back has brought the worlds of its frames already.
            back = kind == "BackForwardCacheRestore"
            self._by_id = {one.id: one for one in self if one is frame or (back and self._has_come(one))}
        frame.parent = info.get("parentId", frame.parent)
        frame.url = address(info) + info.get("urlFragment", "")
        frame.unreachable = info.get("unreachableUrl", "")
        if not frame.unreachable:
            self.on_visit(frame.url)
        frame.name = info.get("name", "")
        frame.loader_id = info["loaderId"]
        frame.mime_type = info.get("mimeType", "")
        self._count_move(frame)

    def _has_come(self, frame: Frame) -> bool:
        return bool(frame.world or frame.page_context or frame.channel is not self.main.channel)

    def merge(self, channel: Channel, tree: dict[str, Any]) -> None:
        """A tree as `Page.getFrameTree` tells it: what was there before anybody listened, or came back."""
        self.navigated(channel, tree["frame"])
        for child in tree.get("childFrames", []):
            self.merge(channel, child)

    def settle(self, channel: Channel, tree: dict[str, Any]) -> None:
        """The whole tree of a channel: what it does not name is gone."""
        self.merge(channel, tree)
        there = set(_ids(tree))
        gone = [one.id for one in self if one.channel is channel and one is not self.main and one.id not in there]
        for frame_id in gone:
            self._by_id.pop(frame_id, None)

    def _frame(self, frame_id: str, channel: Channel) -> Frame:
        frame = self._by_id.get(frame_id)
        if frame is None:
            frame = self._by_id[frame_id] = Frame(frame_id, "", channel)
        return frame

    def _attached(self, channel: Channel, params: dict[str, Any]) -> None:
        self._frame(params["frameId"], channel).parent = params["parentFrameId"]

    def _detached(self, params: dict[str, Any]) -> None:
        if params.get("reason") == "swap":
            return
        frame = self._by_id.get(params["frameId"])
        if frame is None or frame is self.main:
            return
        for child in self.children(frame):
            self._detached({"frameId": child.id})
        self._by_id.pop(frame.id, None)
        self._signal.stir()

    def _moved(self, params: dict[str, Any]) -> None:
        if frame := self._by_id.get(params["frameId"]):
            frame.url = params["url"]
            self._count_move(frame)

    def _count_move(self, frame: Frame) -> None:
        if frame is not self.main:
            self.inner_moves += 1
            self._signal.stir()

    def _loading(self, frame_id: str, loading: bool) -> None:
        if frame := self._by_id.get(frame_id):
            frame.navigating = loading
            frame.crashed = frame.crashed and not loading

    def _context_made(self, channel: Channel, context: dict[str, Any]) -> None:
        aux = context.get("auxData", {})
        frame_id = aux.get("frameId")
        if not frame_id:
            return
        frame = self._frame(frame_id, channel)
        if frame.channel is not channel:
            return
        if aux.get("isDefault"):
            origin: str = context.get("origin", "")
            frame.origin = origin if origin.startswith(("http://", "https://")) else ""
            frame.page_context = (context["uniqueId"], context["id"])
            frame.ask_document()
            self._signal.stir()
        elif context["name"] == world.GUEST:
            frame.guest_context = (context["uniqueId"], context["id"])
        elif context["name"] == world.NAME:
            # A document that comes back from the browser's cache has its world, and the walker in it, still.
            uid = context["uniqueId"]
            frame.world = self._worlds.setdefault(uid, World(channel, uid, context["id"], frame_id))
            frame.crashed = False
            frame.ask_document()
            self._signal.stir()
            self._forget_old()
            if frame.navigating and channel is not self.main.channel:
                self._ask_whether_loaded(frame, uid)

    def _ask_whether_loaded(self, frame: Frame, uid: str) -> None:
        """One that moved to a process of its own may have come to its end before anybody listened there (M)."""

        def told(reply: asyncio.Future[dict[str, Any]]) -> None:
            answered = not reply.cancelled() and reply.exception() is None
            complete = answered and reply.result()["result"].get("value") == "complete"
            if complete and frame.world and frame.world.uid == uid:
                frame.navigating = False
                self._signal.stir()

        asked = frame.channel.post(
            "Runtime.evaluate", expression="document.readyState", uniqueContextId=uid, steadfast=True
        )
        asked.add_done_callback(told)

    def _context_lost(self, uid: str) -> None:
        lost = self._worlds.pop(uid, None)
        if lost is None:
            return
        frame = self._by_id.get(lost.frame_id)
        if frame and frame.world is lost:
            frame.drop_world()
        self.on_world_gone(uid)

    def _forget_old(self) -> None:
        live = {frame.world.uid for frame in self._by_id.values() if frame.world}
        for uid in [uid for uid in self._worlds if uid not in live][:-KEPT_WORLDS]:
            self._context_lost(uid)

    def lose(self, channel: Channel) -> None:
        """The process behind a channel crashed, and every document in it."""
        self._cleared(channel)

    def crash(self, channel: Channel) -> None:
        """The same, where nothing brings them back but a new page."""
        self.lose(channel)
        for frame in self._by_id.values():
            frame.crashed = frame.crashed or frame.channel is channel

    def _cleared(self, channel: Channel) -> None:
        """Sent when a document is replaced; a document kept for going back comes again with the same worlds."""
        for frame in self._by_id.values():
            if frame.channel is channel:
                frame.drop_world()


def address(info: dict[str, Any]) -> str:
    """Of a frame. One whose first document has not come is blank; Chrome gives it no address, or ":" (M)."""
    return "about:blank" if info["url"] in ("", ":") else info["url"]


def _ids(tree: dict[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", []):
        yield from _ids(child)
