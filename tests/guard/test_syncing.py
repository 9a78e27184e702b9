"""The thread that brings a file to the disk: its order, its errors, its end."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from pilothouse.guard import syncing
from pilothouse.guard.syncing import Syncer
from tests.promises import promise

pytestmark = promise("D13")


@pytest.fixture
def file(tmp_path: Path) -> int:
    return os.open(tmp_path / "one", os.O_WRONLY | os.O_CREAT)


async def test_a_file_is_closed_after_the_syncs_that_were_asked_for(file: int, monkeypatch: pytest.MonkeyPatch):
    may_go_on = threading.Event()

    def slow(file: int) -> None:
        assert may_go_on.wait(10)
        os.fstat(file)  # an error if it is closed

    monkeypatch.setattr(syncing, "to_disk", slow)
    syncer = Syncer()
    waiting = asyncio.ensure_future(syncer.sync(file))
    await asyncio.sleep(0)
    syncer.close_file(file)
    assert not waiting.done()
    may_go_on.set()
    await waiting
    syncer.end()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


async def test_who_does_not_wait_any_more_hurts_nobody(file: int, monkeypatch: pytest.MonkeyPatch):
    may_go_on = threading.Event()
    monkeypatch.setattr(syncing, "to_disk", lambda file: may_go_on.wait(10))
    syncer = Syncer()
    first, second = (asyncio.ensure_future(syncer.sync(file)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    may_go_on.set()
    await second
    assert first.cancelled()
    syncer.close_file(file)
    syncer.end()


async def test_whatever_goes_wrong_is_told_and_the_next_is_served(file: int, monkeypatch: pytest.MonkeyPatch):
    problems: list[Exception] = [OSError("no disk"), ValueError("odd")]

    def fail(file: int) -> None:
        if problems:
            raise problems.pop(0)

    monkeypatch.setattr(syncing, "to_disk", fail)
    syncer = Syncer()
    with pytest.raises(OSError, match="no disk"):
        await syncer.sync(file)
    with pytest.raises(ValueError, match="odd"):
        await syncer.sync(file)
    await syncer.sync(file)
    syncer.close_file(file)
    syncer.end()


def test_an_end_without_a_beginning_is_one():
    Syncer().end()


async def test_a_thread_that_cannot_be_had_is_an_error_and_the_next_call_has_one(
    file: int, monkeypatch: pytest.MonkeyPatch
):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    syncer = Syncer()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(OSError, match="can't start new thread"):
            await syncer.sync(file)
    await syncer.sync(file)
    syncer.close_file(file)
    syncer.end()


async def test_after_its_end_nothing_is_synced_or_closed(file: int):
    syncer = Syncer()
    await syncer.sync(file)
    syncer.end()
    with pytest.raises(OSError, match="closed"):
        await syncer.sync(file)
    with pytest.raises(OSError, match="closed"):
        syncer.close_file(file)
    os.close(file)
