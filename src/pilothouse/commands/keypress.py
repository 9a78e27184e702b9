"""One key at a time from a terminal, without Enter.

Above: approvals. Below: the terminal. A key counts only if it was pressed some time after the question was shown:
what was typed before, or for the question before, answers nothing.
"""

import os
import select
import sys
import time
from types import TracebackType
from typing import Any, Self

UNSEEN_S = 0.7  # nobody reads a question faster


def is_possible() -> bool:
    return sys.platform != "win32" and sys.stdin.isatty() and sys.stdout.isatty()


class Keys:
    """While it is open, keys come singly and are not echoed."""

    def __init__(self) -> None:
        self._file = sys.stdin.fileno()
        self._before: list[Any] = []
        self._since = 0.0

    def __enter__(self) -> Self:
        import termios
        import tty

        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        termios.tcflush(self._file, termios.TCIFLUSH)
        self._since = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import termios

        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def next(self, timeout_s: float) -> str:
        """The key that was pressed, in lower case; empty when none was in time, or too soon."""
        if not select.select([self._file], [], [], timeout_s)[0]:
            return ""
        pressed = os.read(self._file, 64).decode("utf-8", "replace").lower()
        # Several at once were pasted or held down, not chosen.
        return pressed if len(pressed) == 1 and time.monotonic() - self._since > UNSEEN_S else ""
