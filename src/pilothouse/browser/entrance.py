"""How we come into a tab's documents: our world in each of them, and whoever tells us its title.

Above: tab, navigate. Below: frames, world, cdp. To make a world costs a page that is being built 2 to 4 ms (M). A
document that we send for ourselves therefore gets it when it has arrived, or a moment after it came; until then it
tells its title from its own world, by a function that it cannot find. Who needs the world earlier asks `Frames.ready`.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Generator
from typing import Any

from pilothouse.browser import world
from pilothouse.browser.frames import Frame, Frames
from pilothouse.cdp.connection import Channel

TITLE = "phTitle"  # how our world tells the title of a page
SOON_S = 0.05  # after a document has come; most have arrived by then


class Entrance:
    """`on_title(title, lasting)`: lasting, if whoever told it tells each change, too.

    `late`: our world may come late. Not where pages may have run before we came, as in the person's own Chrome: they
    could see who tells their title.
    """

    def __init__(self, channel: Channel, frames: Frames, on_title: Callable[[str, bool], None], *, late: bool) -> None:
        self._channel = channel
        self._frames = frames
        self._on_title = on_title
        self._late = late
        self._is_shut = False
        self._soon: asyncio.TimerHandle | None = None
        self._herald = f"_{secrets.token_hex(12)}"  # gone before a page could look for it
        self._entered: asyncio.Future[dict[str, Any]] | None = None
        frames.on_wanted = self._wanted
        channel.on("Runtime.bindingCalled", self._told)
        channel.on("Page.frameNavigated", lambda p: self._came(p["frame"]))

    def build(self) -> None:
        """As part of the tab's set-up."""
        post = self._channel.post
        if self._late:
            post("Runtime.addBinding", name=self._herald)
            post("Page.addScriptToEvaluateOnNewDocument", source=world.herald(self._herald), runImmediately=True)
        post("Runtime.addBinding", name=TITLE, executionContextName=world.NAME)
        self._enter()

    @contextlib.contextmanager
    def shut(self) -> Generator[None]:
        """While we send the tab somewhere."""
        if self._late and (name := _identifier(self._entered)):
            self._is_shut = True
            self._channel.post("Page.removeScriptToEvaluateOnNewDocument", identifier=name)
        try:
            yield
        finally:
            asyncio.get_running_loop().call_soon(self._open)  # what was asked for is answered first

    def _came(self, frame: dict[str, Any]) -> None:
        if self._is_shut and frame["id"] == self._frames.main.id:
            self._in_time()
            self._soon = asyncio.get_running_loop().call_later(SOON_S, self._open)

    def _in_time(self) -> None:
        if self._soon:
            self._soon.cancel()
            self._soon = None

    def _open(self) -> None:
        self._in_time()
        if self._is_shut:
            self._is_shut = False
            self._enter().add_done_callback(lambda _: self._furnish())

    def _enter(self) -> asyncio.Future[dict[str, Any]]:
        self._entered = enter(self._channel)
        self._entered.add_done_callback(self._again_if_lost)
        return self._entered

    def _again_if_lost(self, entered: asyncio.Future[dict[str, Any]]) -> None:
        """Chrome forgets what a page was told that crashed before it heard; it says so when the next one is there."""
        if not entered.cancelled() and "crash" in str(entered.exception()).lower():
            self._enter()

    def _furnish(self) -> None:
        if made := self._frames.main.world:
            made.furnish()

    def _wanted(self, frame: Frame) -> None:
        """A document that was left before its world was made may also come back without one."""
        if self._is_shut:
            self._open()
        else:
            frame.channel.post("Page.createIsolatedWorld", frameId=frame.id, worldName=world.NAME)

    def _told(self, params: dict[str, Any]) -> None:
        main, teller = self._frames.main, (params["name"], params["executionContextId"])
        lasting = bool(main.world and teller == (TITLE, main.world.context_id))
        if lasting or (main.page_context and teller == (self._herald, main.page_context[1])):
            self._on_title(params["payload"], lasting)


def enter(channel: Channel) -> asyncio.Future[dict[str, Any]]:
    """From now on each document has our world before its own scripts run; those that are there get it now."""
    return channel.post(
        "Page.addScriptToEvaluateOnNewDocument",
        source=world.first(),
        worldName=world.NAME,
        runImmediately=True,
        steadfast=True,
    )


def _identifier(reply: asyncio.Future[dict[str, Any]] | None) -> str:
    """What the browser calls a script; nothing, if it has not said so."""
    if reply is None or not reply.done() or reply.cancelled() or reply.exception():
        return ""
    return reply.result().get("identifier", "")
