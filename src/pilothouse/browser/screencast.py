"""A tab's picture, live: sent by the browser while somebody looks, and not a moment longer.

Above: wheel, for people who watch. Below: tab, cdp. The next frame comes when the last one was taken: who is slow sees
fewer, and nothing piles up. One tab has one cast, however many look.
"""

import asyncio
import base64
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

START_S = 5.0
QUALITY = 70
MAX_SIDE = 1600
MAX_OWED = 100
FIRST_S = 0.3  # a page that stands still may have nothing to draw


class Frame(msgspec.Struct, frozen=True):
    """A picture, and the size of the window it shows, in the page's own pixels."""

    data: bytes
    width: float
    height: float


class Viewer:
    """One who looks. `show` gets every frame; `taken` asks for the next."""

    def __init__(self, cast: "Screencast", show: Callable[[Frame], None]) -> None:
        self._cast = cast
        self.show = show
        self.on_leave: Callable[[], None] = lambda: None

    def taken(self) -> None:
        self._cast.taken()

    def leave(self) -> None:
        self.on_leave()
        self._cast.leave(self)


class Screencast:
    def __init__(self, tab: Tab, unwatched: Callable[[Tab], None], on_end: Callable[[], object]) -> None:
        self.tab = tab
        self._unwatched = unwatched
        self._on_end = on_end
        self._viewers: set[Viewer] = set()
        self._last: Frame | None = None
        self._first: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._casting = False  # before that, frames are those that only keep the tab drawing
        self._owed: deque[int] = deque(maxlen=MAX_OWED)  # frames that the browser waits for to be acknowledged
        self._deaf = tab.channel.on("Page.screencastFrame", self._came)

    async def join(self, show: Callable[[Frame], None]) -> Viewer:
        """All who look wait for the same start: it does not end with the one who came first."""
        viewer = Viewer(self, show)
        self._viewers.add(viewer)
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        if self._last:
            show(self._last)
        try:
            await asyncio.shield(self._starting)
        except BaseException:  # whoever wanted to look may have left meanwhile
            self.leave(viewer)
            raise
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """The last one ends it; nobody has to wait for that."""
        self._viewers.discard(viewer)
        if self._viewers:
            return
        self._deaf()
        self._on_end()
        if self._starting:
            self._starting.cancel()  # it may still be trying: nothing is started behind the stop
        if not self.tab.closed:
            self._unwatched(self.tab)

    def taken(self) -> None:
        for number in self._owed:
            self.tab.channel.post("Page.screencastFrameAck", sessionId=number)
        self._owed.clear()

    async def _start(self) -> None:
        options: dict[str, Any] = {"format": "jpeg", "quality": QUALITY, "maxWidth": MAX_SIDE, "maxHeight": MAX_SIDE}
        loop = asyncio.get_running_loop()
        end = loop.time() + START_S
        while refused := await self._refused(options):
            if loop.time() >= end or self.tab.closed:
                raise Failure("page_error", f"this tab cannot be shown: {refused}")
        loop.call_later(FIRST_S, self._nudge)

    async def _refused(self, options: dict[str, Any]) -> str:
        """Why the browser shows nothing, told when it may be asked again: a page that is just being replaced has no
        picture, its successor will have one."""
        document = self.tab.document
        # A tab that may lie behind others has one already, and a second is refused (M).
        self.tab.channel.post("Page.stopScreencast", timeout=START_S)
        try:
            await self.tab.channel.send("Page.startScreencast", timeout=START_S, **options)
            self._casting = True
        except ProtocolError as error:
            await self.tab.signal.until(lambda: self.tab.document is not document or self.tab.closed, FIRST_S)
            return error.reason or "the browser refused"
        return ""

    def _nudge(self) -> None:
        """Nothing has moved since: take the first picture ourselves."""
        if self._last or not self._viewers or self.tab.closed:
            return
        self._first = asyncio.create_task(self._take_first())

    async def _take_first(self) -> None:
        channel = self.tab.channel
        try:
            shot = await channel.send("Page.captureScreenshot", format="jpeg", quality=QUALITY, timeout=START_S)
            view = (await channel.send("Page.getLayoutMetrics", timeout=START_S))["cssVisualViewport"]
        except (ProtocolError, Failure):  # a page that is just being replaced has none
            asyncio.get_running_loop().call_later(FIRST_S, self._nudge)
            return
        if not self._last:
            self._show(Frame(base64.b64decode(shot["data"]), view["clientWidth"], view["clientHeight"]))

    def _came(self, params: dict[str, Any]) -> None:
        self._owed.append(params["sessionId"])
        if not self._casting:
            return
        size = params["metadata"]
        self._show(Frame(base64.b64decode(params["data"]), size["deviceWidth"], size["deviceHeight"]))

    def _show(self, frame: Frame) -> None:
        self._last = frame
        for viewer in tuple(self._viewers):
            viewer.show(frame)


class Screencasts:
    """The casts that somebody looks at, one a tab."""

    def __init__(self) -> None:
        self._casts: dict[Tab, Screencast] = {}

    async def join(self, tab: Tab, show: Callable[[Frame], None], unwatched: Callable[[Tab], None]) -> Viewer:
        """`unwatched` makes the tab again what it is when nobody looks."""
        cast = self._casts.get(tab)
        if cast is None:
            cast = self._casts[tab] = Screencast(tab, unwatched, partial(self._casts.pop, tab, None))
        return await cast.join(show)
