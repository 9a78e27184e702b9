"""The pipe: frames in pieces, frames of many megabytes, and its end."""

import asyncio
import socket

import pytest

from pilothouse.cdp import pipe
from pilothouse.cdp.pipe import Pipe
from tests.promises import promise

pytestmark = promise("A02", "A05")


class End:
    """The browser's end of the pipe, and what ours has heard."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.pipe = Pipe(ours)
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        await self.pipe.open()
        self.pipe.start(self.frames.put_nowait, self.closed.set_result)

    async def say(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.theirs, data)

    async def heard(self) -> bytes:
        return await asyncio.wait_for(self.frames.get(), 10)

    async def end(self) -> str:
        return await asyncio.wait_for(asyncio.shield(self.closed), 10)


@pytest.fixture
async def end() -> End:
    one = End()
    await one.open()
    return one


async def test_a_frame_in_many_pieces(end: End) -> None:
    for piece in (b'{"a', b'":1', b"}\0"):
        await end.say(piece)
    assert await end.heard() == b'{"a":1}'


async def test_many_frames_in_one_piece(end: End) -> None:
    await end.say(b"one\0two\0three\0fo")
    assert [await end.heard() for _ in range(3)] == [b"one", b"two", b"three"]
    await end.say(b"ur\0")
    assert await end.heard() == b"four"


async def test_a_frame_of_twenty_megabytes(end: End) -> None:
    big = b"x" * 20_000_000
    sending = asyncio.ensure_future(end.say(big + b"\0small\0"))
    assert await end.heard() == big
    assert await end.heard() == b"small"
    await sending


async def test_what_we_send_ends_with_a_nul(end: End) -> None:
    end.pipe.send(b"{}")
    assert await asyncio.get_running_loop().sock_recv(end.theirs, 100) == b"{}\0"


async def test_the_browsers_end_is_told_once(end: End) -> None:
    await end.say(b"half a fra")
    end.theirs.close()
    assert "closed" in await end.end()
    await end.pipe.close()
    end.pipe.send(b"into nothing")
    assert end.frames.empty()


async def test_a_frame_over_the_limit_ends_the_pipe(end: End, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "MAX_FRAME_BYTES", 1000)
    await end.say(b"x" * 2000)
    assert "over the limit" in await end.end()


async def test_what_is_sent_in_one_turn_travels_together_and_in_order(end: End) -> None:
    for frame in (b"one", b"two", b"three"):
        end.pipe.send(frame)
    loop = asyncio.get_running_loop()
    assert await asyncio.wait_for(loop.sock_recv(end.theirs, 100), 10) == b"one\0two\0three\0"
    end.pipe.send(b"four")
    assert await asyncio.wait_for(loop.sock_recv(end.theirs, 100), 10) == b"four\0"


async def test_what_is_sent_at_the_end_hurts_nobody(end: End) -> None:
    end.pipe.send(b"late")
    await end.pipe.close()
    end.pipe.send(b"later")
    await end.end()
    assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(end.theirs, 100), 10) == b""
