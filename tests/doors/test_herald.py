"""Notices for clients that read, beside clients that do not."""

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pilothouse.browser.watch import Event
from pilothouse.doors.herald import MAX_UNSENT, Herald
from pilothouse.doors.pipe import MAX_UNSENT_BYTES, Pipe
from tests.promises import promise

from .fake_gate import FakeGate
from .test_mcp import event, until

pytestmark = promise("E05")


class Line:
    def __init__(self, *, reads: bool) -> None:
        self.state: dict[str, Any] = {"level": "debug"}
        self.reads = reads
        self.begun = 0
        self.heard: list[str] = []

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        self.begun += 1
        if not self.reads:
            await asyncio.Event().wait()
        self.heard.append(method)


async def test_one_that_does_not_read_silences_only_itself() -> None:
    herald, deaf, alert = Herald(), Line(reads=False), Line(reads=True)
    herald.add("deaf", deaf, "default")
    herald.add("alert", alert, "default")
    for _ in range(MAX_UNSENT + 50):
        herald.tell("default", "deaf", event())
    herald.tell("default", "alert", event())
    await until(lambda: alert.heard)
    assert deaf.begun == MAX_UNSENT
    herald.remove("deaf")
    await until(lambda: not herald._unsent)


async def test_a_full_pipe_drops_notices_and_no_answers() -> None:
    sent: list[bytes] = []
    unsent = MAX_UNSENT_BYTES
    pipe = Pipe(sent.append, lambda: unsent, refusal=RuntimeError)
    await pipe.notify("notifications/message", {})
    unsent += 1
    await pipe.notify("notifications/message", {})
    await pipe.notify("notifications/resources/updated", {"uri": "x"})
    assert len(sent) == 1
    await pipe.notify("notifications/cancelled", {"requestId": 1})
    pipe.write({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert len(sent) == 3


async def test_events_do_not_pile_up_for_a_local_client_that_does_not_read(local: Path, gate: FakeGate) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.setblocking(False)
        await loop.sock_connect(deaf, str(local))
        call = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fake_echo", "arguments": {"text": "x"}}}'
        opening = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}'
        ready = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
        await loop.sock_sendall(deaf, b"\n".join([b'{"pilothouse": "0"}', opening, ready, call, b""]))
        await until(lambda: gate.calls)
        caller = gate.calls[-1].caller
        for number in range(100):
            big = Event(number, "crash", "s1", "t1", "y" * 200_000, 1000)
            gate.happen(caller.key, caller.connection, big)
            await asyncio.sleep(0)
        got = await drain(deaf)
    assert 1_000_000 < got < MAX_UNSENT_BYTES + 1_000_000


async def drain(end: socket.socket) -> int:
    total = 0
    try:
        while part := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(end, 1 << 20), 0.5):
            total += len(part)
    except TimeoutError:
        pass
    return total
