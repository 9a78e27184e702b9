"""F07, D07: what waits for one page of the person's. A noisy tab never hides a question, and a deaf page is let go."""

import asyncio
import json
from typing import Any

import pytest

from pilothouse.browser import console
from pilothouse.browser.stream import Stream, Wanted
from pilothouse.doors import outbox
from pilothouse.doors.outbox import Outbox
from pilothouse.wheel import Frame
from tests.promises import promise

pytestmark = promise("F07", "D07")


class Socket:
    """Takes one message for each that the test reads."""

    def __init__(self) -> None:
        self._sent: asyncio.Queue[Any] = asyncio.Queue(1)
        self.closed = 0

    async def send_text(self, text: str) -> None:
        await self._sent.put(json.loads(text))

    async def send_bytes(self, data: bytes) -> None:
        await self._sent.put(data)

    async def close(self, code: int, why: str) -> None:
        self.closed = code

    async def read(self) -> Any:
        async with asyncio.timeout(5):
            return await self._sent.get()


class Deaf(Socket):
    async def send_text(self, text: str) -> None:
        await asyncio.Event().wait()

    async def close(self, code: int, why: str) -> None:
        self.closed = code
        await asyncio.Event().wait()


def delivering(box: Outbox, line: Socket) -> "asyncio.Task[None]":
    return asyncio.create_task(box.deliver(line))  # pyright: ignore[reportArgumentType]


async def test_a_question_comes_before_a_flood_of_lines():
    box, line = Outbox(), Socket()
    stream = Stream(Wanted(kinds=["console"], since=0), lambda one: one, lambda one: None)

    async def pass_on() -> None:
        async for one in stream:
            await box.tell(one)

    tasks = [delivering(box, line), asyncio.create_task(pass_on())]
    heard: list[Any] = []
    number = 0
    for asked in range(20):
        for _ in range(1_000):  # far more than anybody reads
            number += 1
            one = console.Line(number=number, level="log", text="x", source="console", time_ms=number)
            stream.said("t1", one)
        box.say({"kind": "pending", "n": asked})
        heard += [await line.read() for _ in range(300)]
    for task in tasks:
        task.cancel()
    assert [one["n"] for one in heard if one["kind"] == "pending"] == list(range(20))
    assert sum(one["count"] for one in heard if one["kind"] == "lost") > 10_000  # and it is told what was left out
    assert not line.closed


async def test_who_reads_nothing_is_let_go_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outbox, "MAX_UNREAD", 10)
    monkeypatch.setattr(outbox, "CLOSE_S", 0.01)
    box, line = Outbox(), Deaf()
    task = delivering(box, line)
    for number in range(100):
        box.say({"kind": "record", "n": number})
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await task
    assert line.closed == 1013


async def test_once_full_it_takes_nothing_more(monkeypatch: pytest.MonkeyPatch):
    """Whoever comes anew is told all that is so; a part of it would be a lie."""
    monkeypatch.setattr(outbox, "MAX_UNREAD", 10)
    box, line = Outbox(), Socket()
    for number in range(11):
        box.say({"kind": "record", "n": number})
    box.say({"kind": "pending", "n": 1})
    async with asyncio.timeout(5):
        await delivering(box, line)
    assert line.closed == 1013
    assert line._sent.empty()


async def test_of_a_picture_only_the_newest():
    box, line = Outbox(), Socket()
    for data in (b"old", b"new"):
        box.show(("s", "t1"), Frame(data, 10, 20), None)
    box.say({"kind": "pending"})
    task = delivering(box, line)
    assert (await line.read())["kind"] == "pending"
    sent = await line.read()
    size = int.from_bytes(sent[:4], "big")
    assert json.loads(sent[4 : 4 + size]) == {"session": "s", "tab": "t1", "width": 10, "height": 20}
    assert sent[4 + size :] == b"new"
    task.cancel()


async def test_what_nobody_looks_at_any_more_is_not_sent():
    box, line = Outbox(), Socket()
    box.show(("s", "t1"), Frame(b"old", 10, 20), None)
    box.drop(("s", "t1"))
    box.say({"kind": "health"})
    task = delivering(box, line)
    assert (await line.read())["kind"] == "health"
    await asyncio.sleep(0)
    assert line._sent.empty()
    task.cancel()
