"""Whether a person has the wheel of a session: agents wait meanwhile.

Above: the session has one, the gate waits at it, wheel takes it and gives it back. Below: signal, errors.
"""

from collections.abc import Callable

from pilothouse.browser.signal import Signal
from pilothouse.errors import Failure


class Pause:
    def __init__(self) -> None:
        self.taken = False
        self.waiting = 0  # calls of agents
        self.on_given_back: Callable[[], object] = lambda: None
        self._changed = Signal()

    def take(self) -> None:
        self.taken = True

    def give_back(self) -> None:
        self.taken = False
        self._changed.stir()
        self.on_given_back()

    def check(self) -> None:
        """For what ends a session: nobody closes it under the person's hands."""
        if self.taken:
            raise paused()

    async def until_free(self, timeout_s: float) -> bool:
        """False when the time is over first."""
        self.waiting += 1
        try:
            return await self._changed.until(lambda: not self.taken, timeout_s)
        finally:
            self.waiting -= 1


def paused() -> Failure:
    return Failure(
        "paused",
        "a person has taken the wheel of this session: nothing was done",
        details={"retry_after_s": 10},
        suggestions=[
            "repeat the call later: it goes on when they give the wheel back",
            "then look at the page first (get_page_state): they may have changed it",
        ],
    )
