"""No test takes for ever: what hangs, in a test or a fixture, fails with the stacks of all that waits; the rest goes on.

A test has two minutes, or as many seconds as its mark `limit` says. What waits in the event loop is cancelled there;
what waits outside of it is interrupted by a signal. Only what lets neither happen ends the process: `scripts/tries`
runs whole files on a worker, and a file whose worker ends is begun anew, with the same test (M).
"""

import asyncio
import contextlib
import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, TextIO

import pytest
import pytest_asyncio.plugin

LIMIT_S = 120.0
LONG_S = 900.0  # for the files that are known to take long, and for tests with outside tools
GRACE_S = 20.0  # in which what was broken off has to end
ENDED = 70

_loops: list[asyncio.AbstractEventLoop] = []
_console: list[TextIO] = []


def remembered(factory: Callable[[], asyncio.AbstractEventLoop]) -> Callable[[], asyncio.AbstractEventLoop]:
    """Loops whose tasks are told of, and broken off, when time is over."""

    def made() -> asyncio.AbstractEventLoop:
        _loops.append(factory())
        return _loops[-1]

    return made


def pytest_configure(config: pytest.Config) -> None:
    """While nothing is captured: later, what is written there would be kept for a test that never ends."""
    _console.append(os.fdopen(os.dup(2), "w"))
    signal.signal(signal.SIGALRM, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    pytest.fail("it took too long")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    mark = item.get_closest_marker("limit")
    limit_s = float(mark.args[0]) if mark else LIMIT_S
    timers = [threading.Timer(limit_s, _break_off, (item, limit_s)), threading.Timer(limit_s + GRACE_S, _end)]
    for one in timers:
        one.daemon = True
        one.start()
    try:
        return (yield)
    finally:
        for one in timers:
            one.cancel()


def _break_off(item: pytest.Item, limit_s: float) -> None:
    where = _console[-1]
    print(
        f"\n== {item.nodeid} took longer than {limit_s:g} s. What every thread and task does:", file=where, flush=True
    )
    faulthandler.dump_traceback(where)
    running = [loop for loop in _loops if loop.is_running()]
    for loop in running:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.print_stack(file=where)
        for task in [one for one in tasks if _is_of(item, one)]:
            loop.call_soon_threadsafe(task.cancel, f"it took longer than {limit_s:g} s")
    where.flush()
    if not running and (main := threading.main_thread().ident):
        signal.pthread_kill(main, signal.SIGALRM)


def _is_of(item: pytest.Item, task: "asyncio.Task[Any]") -> bool:
    """The test itself, or a fixture of its on the way up or down."""
    code: Any = getattr(task.get_coro(), "cr_code", None)
    if code is None:
        return False
    own = (str(item.path), getattr(item, "originalname", item.name))
    return code.co_filename == pytest_asyncio.plugin.__file__ or (code.co_filename, code.co_name) == own


def _end() -> None:
    with contextlib.suppress(OSError):
        print("\n== it could not be broken off; this process ends", file=_console[-1], flush=True)
    os._exit(ENDED)
