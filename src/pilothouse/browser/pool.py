"""The shared Chrome that isolated sessions live in, and the context that waits for the next one.

Above: sessions. Below: browser; how to start Chrome and how to open a gateway are handed in.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from pilothouse.browser.browser import Browser, Context, Gateway
from pilothouse.cdp.connection import Connection
from pilothouse.errors import Failure

log = logging.getLogger(__name__)


class Chrome(Protocol):
    connection: Connection

    async def close(self) -> None: ...


class Pool:
    def __init__(self, start: Callable[[], Awaitable[Chrome]], gateway: Callable[[], Awaitable[Gateway]]) -> None:
        self._start = start
        self._gateway = gateway
        self._chrome: Chrome | None = None
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._warm: asyncio.Task[Context] | None = None
        self._closing = False

    async def take(self) -> Context:
        """A context with one tab: the warm one if it is ready, and another is warmed at once."""
        warm, self._warm = self._warm, None
        context = await self._warmed(warm) or await self._make()
        self.warm_up()
        return context

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

    async def _warmed(self, warm: asyncio.Task[Context] | None) -> Context | None:
        if warm is None:
            return None
        try:
            context = await asyncio.shield(warm)
        except Failure:
            return None  # the caller's own try will say what is wrong
        return context if context.browser.alive else None

    async def _make(self) -> Context:
        browser = await self._running()
        gateway = await self._gateway()
        try:
            context = await browser.open_context(gateway)
            await context.open_tab()
        except Failure:
            gateway.close()
            raise
        return context

    async def _running(self) -> Browser:
        async with self._starting:
            if self._closing:
                raise Failure("browser_gone", "the daemon is stopping")
            if self._browser is None or not self._browser.alive:
                if self._chrome:
                    log.warning("the shared Chrome is gone; starting another")
                    await self._chrome.close()
                self._chrome = await self._start()
                browser = Browser(self._chrome.connection)
                await browser.start()
                self._browser = browser
            return self._browser


def _noted(task: "asyncio.Task[Context]") -> None:
    if not task.cancelled() and (error := task.exception()):
        log.warning("no context could be prepared: %s", error)
