"""The door of the command line, over a real socket: one call a line, progress, one answer, and the client's end."""

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser.watch import Event
from pilothouse.call import Caller, Defaults
from pilothouse.doors.commands import MAX_IN_FLIGHT, CommandDoor
from pilothouse.doors.local import LocalDoor
from tests.promises import promise

from .fake_gate import PNG, FakeGate

pytestmark = promise("E08", "B06")


class Line:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, raw: bytes | dict[str, Any]) -> None:
        self._writer.write((raw if isinstance(raw, bytes) else json.dumps(raw).encode()) + b"\n")

    async def read(self) -> dict[str, Any]:
        return json.loads(await asyncio.wait_for(self._reader.readline(), 5))

    async def call(self, tool: str, **args: Any) -> dict[str, Any]:
        self.send({"tool": tool, "args": args})
        return (await self.read())["answer"]

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


@pytest.fixture
def gone() -> set[str]:
    return set()


@pytest.fixture
async def path(gate: FakeGate, gone: set[str], tmp_path: Path) -> AsyncIterator[Path]:
    defaults = Defaults(headed=True)
    commands = CommandDoor(gate, defaults=defaults, is_gone=gone.__contains__)  # pyright: ignore[reportArgumentType]

    async def opener() -> Any:
        return commands.open

    door = LocalDoor({"call": opener}, stop=lambda version: {})
    await door.listen(tmp_path / "p.sock")
    yield tmp_path / "p.sock"
    await door.close()


async def greet(path: Path, terminal: str = "1.2") -> Line:
    line = Line(*await asyncio.open_unix_connection(str(path), limit=1 << 23))
    line.send({"pilothouse": "0", "door": "call", "terminal": terminal})
    assert "pid" in await line.read()
    return line


async def test_a_call_and_its_answer(path: Path, gate: FakeGate):
    line = await greet(path)
    answer = await line.call("fake_echo", text="hi", count=2)
    assert answer == {
        "tool": "fake_echo",
        "text": "hihi",
        "data": {"text": "hi", "count": 2},
        "images": [],
        "failed": False,
    }
    caller = gate.calls[0].caller
    assert (caller.key, caller.connection, caller.door) == ("default", "terminal-1.2", "call")
    assert caller.defaults.headed  # as the daemon was told
    await line.close()


async def test_failures_and_pictures(path: Path):
    line = await greet(path)
    failed = await line.call("fake_fail")
    assert failed["failed"]
    assert failed["data"]["error"]["code"] == "stale_ref"
    picture = (await line.call("fake_picture"))["images"]
    assert [(base64.b64decode(one["data"]), one["mime_type"]) for one in picture] == [(PNG, "image/png")]
    await line.close()


async def test_progress_comes_before_the_answer(path: Path):
    line = await greet(path)
    line.send({"tool": "fake_progress", "id": 7})
    told = [await line.read() for _ in range(4)]
    assert [one["id"] for one in told] == [7] * 4
    assert told[1]["progress"] == {"done": 2, "total": 3, "message": "step 2"}
    assert told[3]["answer"]["text"] == "done"
    await line.close()


@pytest.mark.parametrize(
    "raw",
    [b"nonsense", b"[]", b"{}", b'{"tool": 5}', b'{"tool": "x", "args": []}', b'{"tool": "x", "more": 1}', b"{" * 200],
)
async def test_what_is_no_call_is_told_and_harms_nothing(path: Path, raw: bytes):
    line = await greet(path)
    line.send(raw)
    answer = (await line.read())["answer"]
    assert answer["data"]["error"]["code"] == "bad_request"
    assert (await line.call("fake_echo", text="still here"))["text"] == "still here"
    await line.close()


async def test_the_end_of_the_client_cancels_and_keeps_the_terminal(path: Path, gate: FakeGate):
    line = await greet(path)
    line.send({"tool": "fake_slow", "args": {"name": "mine"}})
    await line.call("fake_echo", text="the slow one has begun")
    await line.close()
    async with asyncio.timeout(20):
        while gate.sessions.cancelled != ["mine"]:
            await asyncio.sleep(0)
    assert gate.gone == []


async def test_a_client_without_a_terminal_leaves_nothing(path: Path, gate: FakeGate):
    line = await greet(path, terminal="")
    await line.call("fake_echo", text="x")
    await line.close()
    async with asyncio.timeout(20):
        while not gate.gone:
            await asyncio.sleep(0)
    assert gate.gone == [gate.calls[0].caller.connection]


async def test_the_next_command_notices_a_terminal_that_is_gone(path: Path, gate: FakeGate, gone: set[str]):
    first = await greet(path, terminal="1.1")
    await first.call("fake_echo", text="x")
    await first.close()
    gone.add("terminal-1.1")
    second = await greet(path, terminal="2.1")
    await second.call("fake_echo", text="x")
    assert gate.gone == ["terminal-1.1"]
    await second.close()


async def test_a_slow_look_at_the_terminals_stops_nobody_else(gate: FakeGate):
    looking, go_on = threading.Event(), threading.Event()

    def is_gone(terminal: str) -> bool:
        looking.set()
        return go_on.wait(5)

    door = CommandDoor(gate, defaults=Defaults(), is_gone=is_gone)  # pyright: ignore[reportArgumentType]
    for name in ("terminal-1.1", "terminal-2.1"):
        door.open(Caller("default", name, "call"), lambda line: None, lambda: 0)
        await asyncio.sleep(0)
    assert await asyncio.to_thread(looking.wait, 5)
    assert gate.gone == []  # the loop is free while the other thread looks
    go_on.set()
    async with asyncio.timeout(20):
        while gate.gone != ["terminal-1.1"]:
            await asyncio.sleep(0)


@pytest.mark.parametrize("broken", ["loading", "opening"])
async def test_a_door_that_cannot_be_opened_is_told(tmp_path: Path, broken: str):
    def refuse(*_: Any) -> Any:
        raise RuntimeError("broken")

    async def opener() -> Any:
        return refuse() if broken == "loading" else refuse

    door = LocalDoor({"call": opener}, stop=lambda version: {})
    await door.listen(tmp_path / "p.sock")
    line = await greet(tmp_path / "p.sock")
    assert "daemon.log" in (await line.read())["error"]["message"]
    await line.close()
    await door.close()


async def test_calls_at_once_have_a_limit(path: Path):
    line = await greet(path)
    for number in range(MAX_IN_FLIGHT + 1):
        line.send({"tool": "fake_slow", "id": number})
    refused = await line.read()
    assert refused["id"] == MAX_IN_FLIGHT
    assert "calls at once" in refused["answer"]["text"]
    await line.close()


@promise("E05")
async def test_a_session_is_followed_until_it_ends(path: Path, gate: FakeGate):
    gate.owned["s1"] = [Event(1, "crash", "s1", "t1", "before", 1)]
    line = await greet(path)
    line.send({"id": 7, "watch": {"kinds": ["events"], "since": 0}})
    first = await line.read()
    assert (first["id"], first["line"]["text"]) == (7, "before")
    gate.happen("default", "terminal-1.2", Event(2, "crash", "s1", "t1", "now", 2))
    assert (await line.read())["line"]["text"] == "now"
    (stream,) = gate.streams
    stream.end()
    assert (await line.read())["answer"]["text"] == "the session is closed"
    await line.close()


@promise("E05")
async def test_what_cannot_be_followed_is_answered(path: Path, gate: FakeGate):
    line = await greet(path)
    for number, asked in enumerate(({"kinds": ["events"]}, {"kinds": ["all"]}, {"kinds": ["console"], "pattern": "("})):
        line.send({"id": number, "watch": asked})
        told = await line.read()
        assert told["id"] == number
        assert told["answer"]["failed"]
        gate.owned["s1"] = []  # the first one had no session
    await line.close()


@promise("E05")
async def test_a_follower_that_leaves_is_forgotten(path: Path, gate: FakeGate):
    gate.owned["s1"] = [Event(1, "crash", "s1", "t1", "before", 1)]
    line = await greet(path)
    line.send({"watch": {"kinds": ["events"], "since": 0}})
    await line.read()
    await line.close()
    async with asyncio.timeout(20):
        while gate.streams:
            await asyncio.sleep(0.005)
