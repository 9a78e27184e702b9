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
FRESH_S = 2.0
_END = msgspec.Raw(b'{"terminateOnResume":true}')
_GO_ON = msgspec.Raw(b"{}")

Post = Callable[[str, str, msgspec.Raw], None]


class BreakOff:
    """`post(session, method, params)` sends. A page that was only slow pauses at its next script: it goes on."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._asked: dict[str, float] = {}

    def ask(self, session: str) -> None:
        self._asked[session] = asyncio.get_running_loop().time()
        self._post(session, "Debugger.pause", _GO_ON)

    def paused(self, session: str) -> None:
        """Nobody else is to find a page standing still, whoever stopped it."""
        now = asyncio.get_running_loop().time()
        is_meant = now - self._asked.pop(session, 0) < FRESH_S
        self._post(session, "Debugger.resume", _END if is_meant else _GO_ON)

    def forget(self, session: str) -> None:
        self._asked.pop(session, None)
