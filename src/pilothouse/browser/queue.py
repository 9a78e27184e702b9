"""The waiting for browsers of one source: who asks, who is served, who is told how long it may take.

Above: remote. Below: doing, which tells the very call that waits; asyncio. Who stops waiting loses no place:
the next who wants a browser of that source takes it over, and what comes for nobody is given back.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from pilothouse.doing import doing, is_heard
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

ASK_EVERY_S = 1.0
SPARE_S = 30.0  # for so long a browser that came after its caller had gone waits for the next


class Arrival(Protocol):
    @property
    def usable(self) -> bool: ...
    def release(self) -> object: ...


B = TypeVar("B", bound=Arrival)


class Queue(Generic[B]):
    """`connect` brings one browser; `standing` says how long the queue is. `share`: one browser is for all."""

    def __init__(
        self,
        connect: Callable[[], Coroutine[Any, Any, B]],
        standing: Callable[[], Coroutine[Any, Any, str]],
        *,
        share: bool,
    ) -> None:
        self._connect = connect
        self._standing = standing
        self._share = share
        self._shared: asyncio.Task[B] | None = None
        self._left: deque[asyncio.Task[B]] = deque()
        self._asked: set[asyncio.Task[B]] = set()
        self._told: asyncio.Task[str] | None = None
        self._told_at = 0.0
        self._closing = False

    @property
    def idle(self) -> bool:
        """Nobody waits, and nothing that came waits for somebody."""
        return not self._asked and not self._left

    async def take(self) -> B:
        return await (self._for_all() if self._share else self._for_one())

    def close(self) -> None:
        """Whatever has not come is not waited for any more."""
        self._closing = True
        for task in self._asked:
            task.cancel()

    async def _for_all(self) -> B:
        task = self._shared
        if task is None or (task.done() and not _is_up(task)):
            task = self._shared = self._ask()
        if task.done():  # at once: it may be about to be let go
            return task.result()
        return await self._awaited(task)

    async def _for_one(self) -> B:
        task = next((one for one in self._left if not one.done() or _is_up(one)), None)
        if task is None:
            task = self._ask()
        else:
            self._left.remove(task)
        try:
            return await self._awaited(task)
        except BaseException:  # whatever it was that ended the waiting: a browser that comes must be somebody's
            if not self._closing and (not task.done() or _is_up(task)):
                self._left.append(task)
                task.add_done_callback(self._spare)
            raise

    def _ask(self) -> "asyncio.Task[B]":
        task = asyncio.create_task(self._connect())
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)
        return task

    def _spare(self, task: "asyncio.Task[B]") -> None:
        """It came, and nobody waits for it. If nobody does soon, it goes back."""
        if _is_up(task):
            asyncio.get_running_loop().call_later(SPARE_S, self._drop, task)
        else:
            self._drop(task)

    def _drop(self, task: "asyncio.Task[B]") -> None:
        if task in self._left:
            self._left.remove(task)
            if _is_up(task):
                task.result().release()

    async def _awaited(self, task: "asyncio.Task[B]") -> B:
        standing = "waiting for a browser"
        with doing(lambda: standing):
            while not (await asyncio.wait({task}, timeout=ASK_EVERY_S if is_heard() else None))[0]:
                standing = await self._where_it_stands() or standing
        if task.cancelled():
            raise Failure("browser_gone", "the daemon is stopping")
        return task.result()

    async def _where_it_stands(self) -> str:
        """One question a second, however many wait: who is asked is busy already. Who cannot be told is served all the
        same."""
        now = asyncio.get_running_loop().time()
        if self._told is None or (self._told.done() and now - self._told_at >= ASK_EVERY_S):
            self._told, self._told_at = asyncio.create_task(self._standing()), now
        try:
            return await asyncio.shield(self._told)
        except Exception as error:
            log.debug("nobody knows how the queue stands: %s", error)
            return ""


def _is_up(task: "asyncio.Task[B]") -> bool:
    return task.done() and not task.cancelled() and not task.exception() and task.result().usable
