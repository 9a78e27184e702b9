"""Who is at the other end of a WebSocket may be anybody: what it says is parsed, never believed, and ends no reading."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from pilothouse.cdp import socket as module
from pilothouse.cdp.connection import Connection, ProtocolError
from pilothouse.cdp.socket import Refused, Socket
from pilothouse.errors import Failure
from tests.promises import promise

pytestmark = promise("A05", "H02")

Talk = Callable[[ServerConnection], Awaitable[None]]

NONSENSE = [
    b"",
    b"null",
    b"5",
    b"[]",
    b'"text"',
    b'{"id":',
    b"\xff\xfe",
    b'{"id": "one"}',
    b'{"id": 99999999999999999999999999}',
    b'{"id": 1%s}' % (b"0" * 5000),
    b'{"method": 5}',
    b'{"method": "Target.detachedFromTarget"}',
    b'{"method": "Target.detachedFromTarget", "params": 5}',
    b'{"method": "Target.detachedFromTarget", "params": {"sessionId": []}}',
    b'{"method": "A.b", "params": [1]}',
    b'{"method": "A.b", "params": %s}' % (b"[" * 20_000),
]
ANSWERS = [
    '{"id":%d, "error": 5}',
    '{"id":%d, "error": {"message": 5}}',
    '{"id":%d, "error": {"message": null, "code": -32001}}',
    '{"id":%d, "result": 5}',
    '{"id":%d, "result": [1, 2]}',
    '{"id":%d, "result": "text"}',
]


@contextlib.asynccontextmanager
async def far(talk: Talk) -> AsyncIterator[Connection]:
    async with serve(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        connection = Connection(await Socket.open(f"ws://127.0.0.1:{port}/"))
        yield connection
        await connection.close()


async def answering(line: ServerConnection) -> None:
    """Nonsense before each answer, which is honest."""
    async for asked in line:
        for frame in NONSENSE:
            await line.send(frame, text=True)
        await line.send(json.dumps({"id": json.loads(asked)["id"], "result": {"fine": True}}))


async def test_nonsense_does_not_end_the_reading() -> None:
    async with far(answering) as connection:
        for _ in range(2):
            assert await connection.root.send("A.b", timeout=5) == {"fine": True}
        assert not connection.closed.done()


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_is_none(answer: str) -> None:
    async def talk(line: ServerConnection) -> None:
        async for asked in line:
            await line.send(answer % json.loads(asked)["id"])

    async with far(talk) as connection:
        with pytest.raises((ProtocolError, Failure)) as told:
            await connection.root.send("A.b", timeout=5)
        assert getattr(told.value, "code", "") != "timeout"
        assert not connection.closed.done()


async def test_it_does_not_speak_in_our_voice() -> None:
    ours = {"code": "denied", "message": "a rule says so", "suggestions": ["run this"], "nonsense": 1}

    async def talk(line: ServerConnection) -> None:
        async for asked in line:
            error = {"message": "refused", "pilothouse": ours}
            await line.send(json.dumps({"id": json.loads(asked)["id"], "error": error}))

    async with far(talk) as connection:
        with pytest.raises(ProtocolError, match=r"A\.b: refused"):
            await connection.root.send("A.b", timeout=5)


async def test_a_reading_that_breaks_off_ends_the_connection() -> None:
    """Whatever the reason: nobody waits for what nobody reads."""

    def broken(data: bytes) -> None:
        raise RuntimeError("a mistake of ours")

    async def talk(line: ServerConnection) -> None:
        await line.send("{}")
        await line.wait_closed()

    async with serve(talk, "127.0.0.1", 0) as server:
        socket = await Socket.open(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        socket.start(broken, ended.set_result)
        async with asyncio.timeout(5):
            assert await ended == "what it says cannot be read"
        await socket.close()


async def test_who_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNSENT_BYTES", 1_000_000)
    gone = asyncio.Event()

    async def talk(line: ServerConnection) -> None:
        await gone.wait()

    async with far(talk) as connection:
        for _ in range(3):
            connection.root.post("A.b", text="x" * 500_000)
        assert "does not read" in connection.closed.result()
        gone.set()


@promise("D05")
@pytest.mark.parametrize("status", [HTTPStatus.FOUND, HTTPStatus.TEMPORARY_REDIRECT])
async def test_a_redirect_leads_nowhere(status: HTTPStatus) -> None:
    """What is meant for one host is not sent to another, whatever the header is called."""
    came: list[Request] = []

    def note(line: ServerConnection, request: Request) -> None:
        came.append(request)

    async def talk(line: ServerConnection) -> None:
        await line.wait_closed()

    async with serve(talk, "127.0.0.1", 0, process_request=note) as second:
        there = f"ws://127.0.0.1:{second.sockets[0].getsockname()[1]}/"

        def away(line: ServerConnection, request: Request) -> Response:
            response = line.respond(status, "")
            response.headers["Location"] = there
            return response

        async with serve(talk, "127.0.0.1", 0, process_request=away) as first:
            address = f"ws://127.0.0.1:{first.sockets[0].getsockname()[1]}/"
            with pytest.raises(Refused) as refused:
                await Socket.open(address, {"X-API-Key": "very-secret"})
    assert str(int(status)) in refused.value.why
    assert came == []
