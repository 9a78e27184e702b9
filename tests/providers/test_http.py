"""One request to whoever keeps browsers, on real sockets: what is an answer, and what is said when there is none."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator

import pytest

from pilothouse.providers import http
from tests.promises import promise

pytestmark = promise("H01", "H02")

HEAD = b"HTTP/1.1 200 OK\r\n"


@contextlib.asynccontextmanager
async def saying(*parts: bytes) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    server.close()


async def said(*parts: bytes) -> str | tuple[int, bytes]:
    async with saying(*parts) as url:
        try:
            reply = await http.ask("GET", url, timeout_s=5)
        except http.Unreachable as error:
            return str(error)
    return reply.status, reply.body


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ([HEAD + b"Content-Length: 2\r\n\r\nhi"], (200, b"hi")),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"], (200, b"hi")),
        ([HEAD + b"\r\nhi"], (200, b"hi")),  # without a length, till the end
        ([b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", HEAD + b"Content-Length: 2\r\n\r\nhi"], (200, b"hi")),
        ([b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 2\r\n\r\nhi"], (200, b"hi")),
        ([b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"], (404, b"")),
        ([HEAD + b"Content-Length: 20\r\n\r\nhi"], "the connection ended before the answer"),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\n20\r\nhi"], "the connection ended before the answer"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n"], "the connection ended before the answer"),
        ([b""], "the connection ended before the answer"),
        ([b"SSH-2.0-x\r\n"], "what answers there does not speak HTTP"),
    ],
)
async def test_what_is_an_answer(parts: list[bytes], answer: object) -> None:
    assert await said(*parts) == answer


async def test_more_than_anybody_would_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 100_000)
    assert await said(HEAD + b"\r\n", *[b"x" * 50_000] * 10) == "it answers with more than anybody would read"


async def test_who_answers_nothing_and_who_cannot_be_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECT_S", 0.2)
    with socket.socket() as listener, contextlib.ExitStack() as crowd:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(http.Unreachable, match=r"no answer in 0\.3 s"):
            await http.ask("GET", url, timeout_s=0.3)
        for _ in range(4):  # its queue is full, and nobody takes from it
            one = crowd.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        with pytest.raises(http.Unreachable, match=r"cannot be connected to in 0\.2 s"):
            await http.ask("GET", url, timeout_s=5)


async def test_a_socket_that_dies_is_nobody_there_and_not_somebody_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system ends a connection whose packets nobody acknowledges by the same exception as a time that is over."""

    async def dies(_: asyncio.StreamReader) -> http.Reply:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    monkeypatch.setattr(http, "_read", dies)
    async with saying(b"") as url:
        with pytest.raises(http.Unreachable, match="connection timed out") as told:
            await http.ask("GET", url, timeout_s=5)
    assert not isinstance(told.value, http.Late)
