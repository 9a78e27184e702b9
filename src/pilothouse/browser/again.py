"""Whether a call that is running may go on: the document that it was judged by may have been replaced meanwhile.

Above: the gate says how that is found out; whoever acts late or once more asks. Below: nothing.
"""

from collections.abc import Callable
from contextvars import ContextVar

AGAIN: ContextVar[Callable[[], None] | None] = ContextVar("again", default=None)
"""Judges the call that runs in this context, on the page as it is now; raises if it may not go on."""


def judge_again() -> None:
    """To be asked right before something is sent to a document, after the last thing that was waited for."""
    if judge := AGAIN.get():
        judge()
