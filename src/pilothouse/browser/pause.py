"""Whether a person has the wheel of a session: agents wait meanwhile.

Above: the session has one, the gate waits at it, wheel takes it and gives it back. Below: signal.
"""

from pilothouse.browser.signal import Signal


class Pause:
    def __init__(self) -> None:
        self.taken = False
        self.waiting = 0  # calls of agents
        self._changed = Signal()

    def take(self) -> None:
        self.taken = True

    def give_back(self) -> None:
        self.taken = False
        self._changed.stir()

    async def until_free(self, timeout_s: float) -> bool:
        """False when the time is over first."""
        self.waiting += 1
        try:
            return await self._changed.until(lambda: not self.taken, timeout_s)
        finally:
            self.waiting -= 1
