"""What a caller hears while its call lasts: the one clock by which every door's calls report how they stand.

Above: the gate, for calls whose callers want to hear. Below: doing has the words; guard redacts them. A call that ends
within a second costs one timer and tells nothing, unless its tool counts or a person is waited for.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable

from pilothouse.call import Visit
from pilothouse.doing import HEARD, Doing
from pilothouse.guard.redact import redact_text
from pilothouse.result import clean, counted
from pilothouse.tool import Progress

log = logging.getLogger(__name__)

FIRST_S = 1.0
MOST_S = 5.0  # between two reports of a call that lasts: most clients give up what is silent for a minute
SLOWER = 10  # a report for every tenth of the time that it has lasted, from some point on
HALF_S = 10.0  # after so long, a step whose end nobody knows counts as half done

Expected = Callable[[], float | None]


class Report:
    """What is told only grows: seconds of the time that the call may take, or, for a tool that counts, what is done
    and a part of what is being done."""

    def __init__(self, send: Progress, *, counts: Callable[[], bool], expected_s: Expected) -> None:
        self.doing = Doing(on_person=self._tell_soon)
        self._send, self._counts, self._expected_s = send, counts, expected_s
        self._loop = asyncio.get_running_loop()
        self._began = self._counted_at = self._loop.time()
        self._done, self._total, self._message = 0.0, None, ""
        self._depth = 0
        self._last = -1.0
        self._over = False
        self._turn = asyncio.Lock()
        self._telling: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(FIRST_S, self._tell_soon)

    async def count(self, done: float, total: float | None, message: str) -> None:
        """What a tool itself has to say of how far it is."""
        if done > self._done:
            self._counted_at = self._loop.time()
        self._done, self._total, self._message = done, total, message
        self._depth = self.doing.depth
        await self._tell(done)

    async def close(self) -> None:
        """Whatever is under way is told before the answer, or not at all."""
        self._over = True
        self._timer.cancel()
        self.doing.end()
        if self._telling and not self._telling.done():
            self._telling.cancel()
            await asyncio.wait([self._telling])

    def _tell_soon(self) -> None:
        """The clock's, and that of who begins to wait for a person."""
        self._timer.cancel()
        if self._over:
            return
        lasted_s = self._loop.time() - self._began
        self._timer = self._loop.call_later(min(max(FIRST_S, lasted_s / SLOWER), MOST_S), self._tell_soon)
        if self._telling is None or self._telling.done():  # a client that reads slowly hears less
            self._telling = self._loop.create_task(self._tell())

    async def _tell(self, done: float = -1.0) -> None:
        async with self._turn:
            so_far, total = self._so_far()
            so_far = done if done > self._last else so_far
            if self._over or so_far <= self._last:
                return
            self._last = so_far
            try:
                await self._send(so_far, total, redact_text(clean(self._words())))
            except Exception as error:  # who cannot be told, for whatever reason, is served all the same
                log.debug("nobody hears how a call stands: %s", type(error).__name__)
                self._over = True
                self._timer.cancel()

    def _so_far(self) -> tuple[float, float | None]:
        now = self._loop.time()
        if self._counts():
            since = now - self._counted_at
            return round(self._done + since / (since + HALF_S), 6), self._total
        lasted_s = round(now - self._began, 3)
        expected_s = None if self.doing.is_persons else self._expected_s()
        return lasted_s, expected_s if expected_s and lasted_s <= expected_s else None

    def _words(self) -> str:
        """A tool that counts names its step; what the step is doing comes after it."""
        within = self.doing.words if self.doing.depth > self._depth else ""
        return ": ".join(part for part in (self._message, within) if part)


@contextlib.asynccontextmanager
async def reported(visit: Visit, expected_s: Expected) -> AsyncGenerator[None]:
    """A call whose caller wants to hear of it; its steps, if it is made of some, are told as part of it."""
    assert visit.call.progress
    counts = lambda: bool(visit.tool and visit.tool.progress_name)
    report = Report(visit.call.progress, counts=counts, expected_s=expected_s)
    visit.count = report.count
    token = HEARD.set(report.doing)
    try:
        yield
    finally:
        HEARD.reset(token)
        await report.close()


def stage(visit: Visit) -> str:
    """Where a call stands that has nothing more to say itself."""
    tool, tab = visit.tool, visit.tab
    if tool and tool.needs_session and visit.session is None:
        return "waiting for a browser"
    if tool and tool.scope == "Tab" and tab is None:
        return "waiting for a tab"
    if tab is None:
        return "running"
    open_requests = len(tab.network.in_flight())
    at_network = f"; {counted(open_requests, 'request')} open" if open_requests else ""
    return f"{'running' if visit.acting else 'waiting until the page is ready'}{at_network}"
