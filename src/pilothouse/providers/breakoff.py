"""Script that never ends, broken off where Chrome does not let us say so: it is paused and resumed to its end.

Above: relay. Below: the relay's way to a session. `Runtime.terminateExecution` is "not allowed for untrusted clients"
such as extensions (M); a pause interrupts a hung page at once (M), but only where the debugger was on before.
"""

import asyncio
from collections.abc import Callable

import msgspec

SET_UP: tuple[tuple[str, bytes], ...] = (
    ("Debugger.enable", b'{"maxScriptsCacheSize":0}'),
    # A page's own `debugger` statements do nothing then; a pause that we ask for still works (M).
    ("Debugger.setBreakpointsActive", b'{"active":false}'),
)
PAUSE_S = 0.5  # later, nobody knows what runs there: a browser that stood still runs the next call by then
GO_ON_S = 10.0  # whatever happens, a page must not be left standing still
HUNG_S = 0.3  # in which script that does not end is paused; what pauses later has only just begun
_END = msgspec.Raw(b'{"terminateOnResume":true}')
_GO_ON = msgspec.Raw(b"{}")
_NOTHING = msgspec.Raw(b'{"expression":"0"}')

Post = Callable[[str, str, msgspec.Raw, float, Callable[[], None]], None]


class BreakOff:
    """`post(session, method, params, timeout, then)` sends, and calls `then` when it is answered."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._asked: set[str] = set()

    def ask(self, session: str) -> None:
        self._asked.add(session)
        self._post(session, "Debugger.pause", _GO_ON, PAUSE_S, lambda: self._wait(session))

    def _wait(self, session: str) -> None:
        asyncio.get_running_loop().call_later(HUNG_S, self._give_up, session)

    def _give_up(self, session: str) -> None:
        """Nothing ran. The pause still waits for the next script: one of ours takes it."""
        if session in self._asked:
            self._asked.discard(session)
            self._post(session, "Runtime.evaluate", _NOTHING, GO_ON_S, _ignore)

    def paused(self, session: str) -> None:
        """Nobody is to find a page standing still, whoever stopped it."""
        is_meant = session in self._asked
        self._asked.discard(session)
        self._post(session, "Debugger.resume", _END if is_meant else _GO_ON, GO_ON_S, _ignore)

    def forget(self, session: str) -> None:
        self._asked.discard(session)


def _ignore() -> None:
    pass
