"""The shared Chrome that isolated sessions live in, and the context that waits for the next one.

Above: sessions. Below: browser; how to start Chrome and how to open a gateway are handed in.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from pilothouse.browser.browser import Browser, Context, Gateway
from pilothouse.browser.circuit import Circuit
from pilothouse.cdp.connection import Connection
from pilothouse.errors import Failure

log = logging.getLogger(__name__)


class Chrome(Protocol):
    connection: Connection
    pid: int

    async def close(self) -> None: ...


class OpenGateway(Protocol):
    """Opens a way to the network: `upstream` is the address of a proxy, `allowed` the hosts it is narrowed to."""

    async def __call__(self, *, upstream: str = "", allowed: Sequence[str] = ()) -> Gateway: ...


class Pool:
    def __init__(self, start: Callable[[], Awaitable[Chrome]], gateway: OpenGateway) -> None:
        self._start = start
        self._gateway = gateway
        self.since = 0.0  # epoch seconds of the browser's start
        self._chrome: Chrome | None = None
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._warm: asyncio.Task[Context] | None = None
        self._closings: set[asyncio.Task[None]] = set()
        self._closing = False
        self._circuit = Circuit("the browser")

    async def take(self) -> Context:
        """A context with one tab: the warm one if it is ready, and another is warmed at once."""
        context = await self._warmed() or await self._made()
        self.warm_up()
        return context

    async def take_apart(self, upstream: str, allowed: Sequence[str]) -> Context:
        """A context with a way to the network of its own; none of these is kept warm."""
        making = asyncio.create_task(self._make(partial(self._gateway, upstream=upstream, allowed=allowed)))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_noted)
            making.add_done_callback(self._unwanted)
            raise

    @property
    def running(self) -> tuple[Chrome, Browser] | None:
        return (self._chrome, self._browser) if self._chrome and self._browser and self._browser.alive else None

    def warm_up(self) -> None:
        if self._warm is None and not self._closing:
            self._warm = asyncio.create_task(self._make())
            self._warm.add_done_callback(_noted)

    async def close(self) -> None:
        self._closing = True
        if self._warm:
            self._warm.cancel()
        async with self._starting:
            if self._chrome:
                await self._chrome.close()
            self._chrome = self._browser = None

    async def _warmed(self) -> Context | None:
        """The warm one, taken only when it is there: who stops waiting leaves it to the next."""
        warm = self._warm
        if warm is None:
            return None
        await asyncio.wait({warm})  # whatever became of it; only the caller's own end passes through
        if self._warm is not warm:
            return await self._warmed()  # somebody else was first
        self._warm = None
        if warm.cancelled() or warm.exception():
            return None  # the caller's own try will say what is wrong
        context = warm.result()
        if context.browser.alive and context.tabs:
            return context
        self._discard(context)
        return None

    async def _made(self) -> Context:
        """One made for this caller. Who stops waiting breaks nothing off: a start that took too long once would
        take too long for ever."""
        making = asyncio.create_task(self._make())
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            self._leave(making)
            raise

    def _leave(self, making: "asyncio.Task[Context]") -> None:
        making.add_done_callback(_noted)
        if self._warm is None and not self._closing:
            self._warm = making
        else:
            making.add_done_callback(self._unwanted)

    def _unwanted(self, making: "asyncio.Task[Context]") -> None:
        if not making.cancelled() and not making.exception():
            self._discard(making.result())

    def _discard(self, context: Context) -> None:
        """Close it, and let nobody wait: it may be a browser that no longer answers."""
        task = asyncio.create_task(context.close())
        self._closings.add(task)
        task.add_done_callback(self._closings.discard)

    async def _make(self, open_gateway: Callable[[], Awaitable[Gateway]] | None = None) -> Context:
        browser = await self._running()
        gateway = await (open_gateway or self._gateway)()
        context = None
        try:
            context = await browser.open_context(gateway)
            await context.open_tab()
        except BaseException as error:
            if context:
                self._discard(context)  # and its gateway with it
            else:
                gateway.close()
            if isinstance(error, Failure) and browser.alive:  # one that died is counted when it is replaced
                self._circuit.failed()
            raise
        self._circuit.worked()
        return context

    async def _running(self) -> Browser:
        async with self._starting:
            if self._closing:
                raise Failure("browser_gone", "the daemon is stopping")
            if self._chrome and (self._browser is None or not self._browser.alive):
                log.warning("the shared Chrome is gone; starting another")
                self._circuit.failed()
                await self._bury()
            self._circuit.check()
            if self._browser and self._circuit.on_trial and not await self._browser.answers():
                log.warning("the shared Chrome does not answer; starting another")
                await self._bury()
            if self._browser is None:
                self._browser = await self._started()
            return self._browser

    async def _bury(self) -> None:
        chrome, self._chrome, self._browser = self._chrome, None, None
        if chrome:
            await chrome.close()

    async def _started(self) -> Browser:
        try:
            self._chrome = await self._start()
        except Failure:
            self._circuit.failed()
            raise
        self.since = time.time()
        browser = Browser(self._chrome.connection)
        await browser.start()
        return browser


def _noted(task: "asyncio.Task[Context]") -> None:
    if not task.cancelled() and (error := task.exception()):
        log.warning("no context could be prepared: %s", error)
