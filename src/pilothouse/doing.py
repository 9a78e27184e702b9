"""What a call is doing just now, in words, for a caller who hears of it while it lasts.

Above: whatever waits says what for, in any room; reporting asks, when it has something to tell. Below: nothing. The
words are ours, with numbers, addresses and what the caller gave; a page's text is never among them.
"""

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import NamedTuple

Words = Callable[[], str]


class Said(NamedTuple):
    words: Words
    is_persons: bool  # a person is waited for: that is told at once, and has no end that we know


class Doing:
    """Of one call, and of the calls that it is made of: what was said last holds."""

    def __init__(self, on_person: Callable[[], None]) -> None:
        self._on_person = on_person
        self._said: list[Said] = []

    @property
    def depth(self) -> int:
        return len(self._said)

    @property
    def words(self) -> str:
        return self._said[-1].words() if self._said else ""

    @property
    def is_persons(self) -> bool:
        return any(one.is_persons for one in self._said)

    @contextlib.contextmanager
    def during(self, said: Said) -> Generator[None]:
        self._said.append(said)
        if said.is_persons:
            self._on_person()
        try:
            yield
        finally:
            with contextlib.suppress(ValueError):  # the call is over, and what it began goes on
                self._said.remove(said)  # wherever it stands: what began later may last longer

    def end(self) -> None:
        """What a call has begun may outlive it, and would keep in memory whoever heard of it."""
        self._on_person = lambda: None
        self._said.clear()


HEARD: ContextVar[Doing | None] = ContextVar("heard", default=None)
"""The call that runs in this context, if anybody hears of it."""


def doing(words: Words, *, is_persons: bool = False) -> contextlib.AbstractContextManager[None]:
    """While this lasts, it is what the call does. `words` are asked for when somebody is told, and not before."""
    heard = HEARD.get()
    return heard.during(Said(words, is_persons)) if heard else contextlib.nullcontext()


def is_heard() -> bool:
    """Is it worth finding out what there is to tell?"""
    return HEARD.get() is not None
