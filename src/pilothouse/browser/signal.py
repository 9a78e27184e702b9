"""Waiting for a condition that events may bring about, without looking every so often.

Above: tab, network, downloads. Below: asyncio.
"""

import asyncio
from collections.abc import Callable


class Signal:
    """`stir` says that something changed; what others wait for is looked at again, at once and when everybody who was
    told of the same event is through. Only those whose condition holds are woken: that is the dear part (M: 20 µs)."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[bool], Callable[[], object]] = {}
        self._again = False

    def stir(self) -> None:
        if self._waiting:
            self._look()
            if not self._again:
                self._again = True
                asyncio.get_running_loop().call_soon(self._look_again)

    async def until(self, condition: Callable[[], object], timeout: float | None = None) -> bool:
        """True as soon as the condition holds, False when the time is over first."""
        if condition():
            return True
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while await self._holds(condition, loop, end):
            if condition():  # it may have passed before we were woken
                return True
        return False

    async def _holds(self, condition: Callable[[], object], loop: asyncio.AbstractEventLoop, end: float | None) -> bool:
        holds: asyncio.Future[bool] = loop.create_future()
        timer = None if end is None else loop.call_at(end, _settle, holds, False)
        self._waiting[holds] = condition
        try:
            return await holds
        finally:
            del self._waiting[holds]
            if timer:
                timer.cancel()

    def _look_again(self) -> None:
        self._again = False
        self._look()

    def _look(self) -> None:
        for holds, condition in tuple(self._waiting.items()):
            try:
                if condition():
                    _settle(holds, True)
            except Exception as error:  # it is theirs who ask
                if not holds.done():
                    holds.set_exception(error)


def _settle(holds: asyncio.Future[bool], outcome: bool) -> None:
    if not holds.done():
        holds.set_result(outcome)
