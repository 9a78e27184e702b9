"""E01, E02: who may come in over HTTP, in what shape, how slowly, and how many."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest

from pilothouse import callers
from pilothouse.doors import http as door_module
from pilothouse.doors.replay import Replays
from pilothouse.options import Server
from tests.promises import promise

from .conftest import PERSON, SECRET
from .test_mcp import measure
from .wires import ENVELOPE, INITIALIZE, MODERN

pytestmark = promise("E01", "E02")

AUTH = {"Authorization": f"Bearer {SECRET}"}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN_HEADERS = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}


async def post(url: str, message: Any = LIST, **headers: str) -> httpx2.Response:
    """A modern tools/list unless told otherwise; a header of None is left out."""
    every = {**AUTH, **JSON, **MODERN_HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with httpx2.AsyncClient(timeout=40) as client:
        return await client.post(
            f"{url}/mcp", content=json.dumps(message), headers={name: value for name, value in every.items() if value}
        )


async def raw(url: str, data: bytes, *, wait: float = 3.0) -> bytes:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), wait)
    finally:
        writer.close()


async def test_health_needs_no_secret_and_says_nothing(url: str) -> None:
    async with httpx2.AsyncClient() as client:
        for path in ("/health", "/api/health"):
            answer = await client.get(url + path)
            assert (answer.status_code, answer.json()) == (200, {"ok": True})
            assert "server" not in answer.headers
            assert (await client.post(url + path, json={})).status_code == 405


async def test_the_secret_opens(url: str) -> None:
    assert (await post(url)).status_code == 200
    assert (await post(url, Authorization="", x_api_key=SECRET)).status_code == 200
    assert (await post(url, Authorization=f"bearer  {SECRET}")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {SECRET}"},
        {"Authorization": SECRET},
        {"Authorization": "", "x_api_key": "wrong"},
        {"Authorization": "", "cookie": f"key={SECRET}"},
    ],
)
async def test_nothing_else_does(url: str, headers: dict[str, str]) -> None:
    answer = await post(url, **headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"
    assert "agent.key" in answer.json()["error"]["suggestions"][0]
    theirs = await httpx2.AsyncClient().get(urljoin(url, "/api/policy"))
    assert "person.key" in theirs.json()["error"]["suggestions"][0]


async def test_the_persons_key_does_not_open_the_agents_door(url: str) -> None:
    assert (await post(url, Authorization=f"Bearer {PERSON}")).status_code == 403


async def test_every_path_needs_the_secret_before_it_tells_whether_it_exists(url: str) -> None:
    async with httpx2.AsyncClient() as client:
        assert (await client.get(f"{url}/nowhere")).status_code == 401
        answer = await client.get(f"{url}/nowhere", headers=AUTH)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/mcp", "/health", "/nowhere"])
@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.1.evil.test:{port}", ""]
)
async def test_only_our_own_host_is_served(url: str, path: str, host: str) -> None:
    port = url.rpartition(":")[2]
    head = f"GET {path} HTTP/1.1\r\nHost: {host.format(port=port)}\r\nAuthorization: Bearer {SECRET}\r\n"
    assert b" 421 " in await raw(url, f"{head}Connection: close\r\n\r\n".encode())


async def test_two_hosts_are_none(url: str) -> None:
    own = url.removeprefix("http://")
    head = f"GET /health HTTP/1.1\r\nHost: {own}\r\nHost: evil.test\r\nConnection: close\r\n\r\n"
    assert b" 200 " not in (await raw(url, head.encode())).split(b"\r\n")[0]


async def test_our_names_are_served(url: str) -> None:
    port = url.rpartition(":")[2]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        assert b" 200 " in await raw(url, f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())


@pytest.mark.parametrize(
    "origin", ["http://evil.test", "http://localhost:1", "http://localhost", "null", "https://x", "file://"]
)
async def test_a_foreign_origin_is_refused(url: str, origin: str) -> None:
    assert (await post(url, Origin=origin)).status_code == 403
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"{url}/health", headers={"Origin": origin})
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_our_own_origin_is_allowed_and_no_cors_is_spoken(url: str) -> None:
    answer = await post(url, Origin=url)
    assert answer.status_code == 200
    async with httpx2.AsyncClient() as client:
        preflight = {"Origin": url, "Access-Control-Request-Method": "POST"}
        asked = await client.options(f"{url}/mcp", headers=preflight)
    for one in (answer, asked):
        assert not [name for name in one.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "application/json; charset=latin-1", ""],
)
async def test_only_json_is_taken(url: str, kind: str) -> None:
    assert (await post(url, Content_Type=kind)).status_code == 415


async def test_a_websocket_passes_the_same_checks(url: str) -> None:
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    upgrade += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    own = url.removeprefix("http://")
    for head in (
        f"Host: {own}",
        f"Host: evil.test\r\nAuthorization: Bearer {SECRET}",
        f"Host: {own}\r\nOrigin: http://evil.test",
    ):
        reply = await raw(url, f"GET /bridge HTTP/1.1\r\n{head}\r\n{upgrade}\r\n".encode())
        assert b" 101 " not in reply.split(b"\r\n")[0]
        assert reply.split(b" ")[1] in (b"401", b"403", b"421")


# Sessions of the old generation


async def test_a_session_is_needed_known_and_ended(url: str) -> None:
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    old = {"MCP_Protocol_Version": "2025-11-25", "Mcp_Method": ""}
    opened = await post(url, OPENING, MCP_Protocol_Version="", Mcp_Method="")
    session = opened.headers["mcp-session-id"]
    assert (await post(url, ask, **old)).status_code == 400
    assert (await post(url, ask, **old, mcp_session_id="unknown")).status_code == 404
    assert (await post(url, ask, **old, mcp_session_id=session)).status_code == 200
    assert (await post(url, ask, **old, mcp_session_id=session, Authorization="Bearer other")).status_code == 404
    async with httpx2.AsyncClient(headers=AUTH) as client:
        ended = await client.delete(f"{url}/mcp", headers={"mcp-session-id": session})
        assert ended.status_code in (200, 204)
    assert (await post(url, ask, **old, mcp_session_id=session)).status_code == 404


OLD = {"MCP_Protocol_Version": "2025-11-25", "Mcp_Method": ""}


async def echo(url: str, secret: str, text: str) -> tuple[dict[str, str], str]:
    """Open a session and call in it; the headers that resume it, and the id of the call's first event."""
    auth = f"Bearer {secret}"
    opened = await post(url, OPENING, MCP_Protocol_Version="", Mcp_Method="", Authorization=auth)
    session = opened.headers["mcp-session-id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await post(url, ready, **OLD, Authorization=auth, mcp_session_id=session)
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    call["params"] = {"name": "fake_echo", "arguments": {"text": text}}
    answer = await post(url, call, **OLD, Authorization=auth, mcp_session_id=session)
    assert text in answer.text
    first = next(line for line in answer.text.splitlines() if line.startswith("id:"))
    headers = {"Authorization": auth, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    return headers, first.removeprefix("id:").strip()


async def resume(url: str, headers: dict[str, str], last: str) -> str:
    """What comes within a moment; a resumed stream stays open."""
    every = {**headers, "Accept": "text/event-stream", "Last-Event-ID": last}
    seen = ""
    async with httpx2.AsyncClient(timeout=5) as client, client.stream("GET", f"{url}/mcp", headers=every) as stream:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                async for part in stream.aiter_text():
                    seen += part
    return seen


async def test_a_session_resumes_its_own_answers_and_no_others(url: str) -> None:
    mine, my_first = await echo(url, SECRET, "words of mine")
    others, other_first = await echo(url, "other", "words of another")
    assert "words of mine" in await resume(url, mine, my_first)
    assert "words of another" in await resume(url, others, other_first)
    for number in range(1, 8):
        to_me, to_them = await asyncio.gather(resume(url, mine, str(number)), resume(url, others, str(number)))
        assert "words of another" not in to_me
        assert "words of mine" not in to_them


async def test_half_a_sign_is_mended_before_the_sdk_sees_it(url: str) -> None:
    """A page's text that was cut in two; on a line of messages it is mended, too."""
    opened = await post(url, OPENING, MCP_Protocol_Version="", Mcp_Method="")
    session = opened.headers["mcp-session-id"]
    await post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **OLD, mcp_session_id=session)
    params = {"name": "fake_echo", "arguments": {"text": "cut \ud83d here"}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    answer = await post(url, call, **OLD, mcp_session_id=session)
    assert answer.status_code == 200
    told = next(line for line in answer.text.splitlines() if '"id":7' in line.replace(" ", ""))
    assert json.loads(told.removeprefix("data:"))["result"]["structuredContent"]["text"] == "cut \ufffd here"


def test_what_is_kept_for_resuming_has_a_limit() -> None:
    store = Replays(max_bytes=1_500_000)
    one, two = store.open(), store.open()
    data = {"structuredContent": {"rows": [["x" * 1000] * 1000]}}
    for _ in range(6):
        one.keep("1", "a response", data)
    assert 1_000_000 < one.bytes < 1_500_000
    two.keep("2", "a notice", {"data": "x" * 1_000_000})
    assert one.bytes + two.bytes < 1_500_000


async def test_blanks_around_header_values_mean_nothing(url: str) -> None:
    body = json.dumps(LIST)
    head = f"POST /mcp HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\nConnection: close\r\n"
    head += f"Content-Length: {len(body)}\r\n"
    for name, value in {**AUTH, **JSON, **MODERN_HEADERS}.items():
        head += f"{name}:   {value}  \r\n"
    assert b" 200 " in (await raw(url, f"{head}\r\n{body}".encode())).split(b"\r\n")[0]


# Size, time, number


async def test_a_body_over_the_limit_is_refused(url: str) -> None:
    big = {**LIST, "params": {"_meta": ENVELOPE, "x": "y" * (20 << 20)}}
    answer = await post(url, big)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "over_limit"


async def test_a_chunked_body_over_the_limit_is_refused(url: str) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b"x" * (1 << 20)

    async with httpx2.AsyncClient(timeout=30) as client:
        answer = await client.post(f"{url}/mcp", content=chunks(), headers={**AUTH, **JSON})
        assert answer.status_code == 413


async def test_a_head_that_does_not_end_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "HEADER_TIMEOUT_S", 0.3)
    for half in (b"", b"GET /health HTT", b"GET /health HTTP/1.1\r\nHost: x\r\n"):
        reply = await raw(url, half)
        assert reply == b"" or b" 408 " in reply


async def test_a_head_without_end_is_cut_off(url: str) -> None:
    with contextlib.suppress(ConnectionResetError):  # what was still on its way when we closed
        assert b" 431 " in await raw(url, b"GET /health HTTP/1.1\r\nx: " + b"y" * 1_000_000, wait=2)


@promise("C08", "E06")
@pytest.mark.parametrize(
    ("request_", "status", "hint"),
    [
        (b"GET /api/tools?q=" + b"y" * 70_000, b"431", "by POST"),
        (b"GET /\x00 HTTP/1.1\r\n\r\n", b"400", "HTTP/1.1"),
        (b"GET /api/tools HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"421", "127.0.0.1"),
        (b"GET /api/tools HTTP/1.1\r\nHost: HERE\r\n\r\n", b"401", "agent.key"),
        (b"GET /api/tools HTTP/1.1\r\nHost: HERE\r\nOrigin: http://evil.test\r\n\r\n", b"403", "Origin"),
        (b"POST /x HTTP/1.1\r\nHost: HERE\r\nX-API-Key: KEY\r\nContent-Length: 2\r\n\r\n{}", b"415", "Content-Type"),
        (b"GET /nowhere HTTP/1.1\r\nHost: HERE\r\nX-API-Key: KEY\r\n\r\n", b"404", "/api/docs"),
    ],
)
async def test_every_refusal_says_what_to_do(url: str, request_: bytes, status: bytes, hint: str) -> None:
    key = AUTH["Authorization"].removeprefix("Bearer ").encode()
    asked = request_.replace(b"HERE", url.removeprefix("http://").encode()).replace(b"KEY", key)
    reply = await raw(url, asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), wait=2)
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status
    error = json.loads(body)["error"]
    assert hint in " ".join(error["suggestions"])


async def test_so_is_the_second_head_of_a_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "HEADER_TIMEOUT_S", 0.3)
    whole = f"GET /health HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\n\r\n".encode()
    reply = await raw(url, whole + b"GET /health HTTP/1.1\r\nHost: x\r\n")
    assert b" 200 " in reply
    assert b" 408 " in reply


async def test_a_body_that_does_not_end_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "BODY_TIMEOUT_S", 0.3)
    own = url.removeprefix("http://")
    head = f"POST /mcp HTTP/1.1\r\nHost: {own}\r\nContent-Type: application/json\r\nAuthorization: Bearer {SECRET}\r\n"
    for half in ("Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"):
        assert b" 408 " in await raw(url, (head + half).encode())


async def test_who_ends_in_a_second_request_is_answered_the_first(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "BODY_TIMEOUT_S", 0.3)
    host, port = url.removeprefix("http://").split(":")
    modern = "".join(f"{name}: {value}\r\n" for name, value in MODERN_HEADERS.items())
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nAuthorization: Bearer {SECRET}\r\n"
    head += f"Accept: application/json, text/event-stream\r\n{modern}Content-Length: "
    body = json.dumps(LIST)
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{head}{len(body)}\r\n\r\n{body}{head}{len(body)}\r\n\r\n{body[:5]}".encode())
    writer.write_eof()
    reply = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert b'"tools"' in reply


async def test_a_stranger_cannot_make_us_read_a_body(url: str) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.encode())
    assert b" 401 " in await asyncio.wait_for(reader.readline(), 3)
    writer.close()


async def test_there_is_a_most_of_connections(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "MAX_CONNECTIONS", 4)
    host, port = url.removeprefix("http://").split(":")
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(4):
            _, writer = await asyncio.open_connection(host, int(port))
            stack.callback(writer.close)
        async with asyncio.timeout(20):
            while b" 503 " not in await raw(url, b"GET /health HTTP/1.1\r\n\r\n"):
                pass
    async with httpx2.AsyncClient() as client, asyncio.timeout(20):
        while (await client.get(f"{url}/health")).status_code != 200:
            pass


async def test_closing_does_not_wait_for_open_streams(door: Any) -> None:
    import socket

    async def mcp() -> Any:
        return door

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    http = door_module.HttpDoor(door_module.build_app(mcp, lambda secret: "agent:default", port=port))
    await http.listen(listener)
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
    listen["params"] = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    headers = {**AUTH, **JSON, "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    async with httpx2.AsyncClient(timeout=10) as client:
        url = f"http://127.0.0.1:{port}/mcp"
        async with client.stream("POST", url, content=json.dumps(listen), headers=headers) as stream:
            lines = stream.aiter_lines()
            while "acknowledged" not in await anext(lines):
                pass
            start = asyncio.get_running_loop().time()
            door.close_streams()
            await http.close()
            assert asyncio.get_running_loop().time() - start < 1.5


# The switch for the conformance suite


async def test_the_conformance_switch_drops_the_secret_and_nothing_else(door: Any) -> None:
    import socket

    async def mcp() -> Any:
        return door

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = door_module.build_app(mcp, lambda secret: None, port=port, insecure_no_secret=True)
    http = door_module.HttpDoor(app)
    await http.listen(listener)
    url = f"http://127.0.0.1:{port}"
    assert (await post(url, Authorization="")).status_code == 200
    assert (await post(url, Authorization="", Origin="http://evil.test")).status_code == 403
    assert (await post(url, Authorization="", Host="evil.test")).status_code == 421
    await http.close()


# What it costs


@pytest.mark.alone
async def test_a_call_over_http_costs_less_than_three_milliseconds(url: str) -> None:
    own = url.removeprefix("http://").split(":")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body = json.dumps({**call, "params": {"name": "fake_echo", "arguments": {"text": "x"}, "_meta": ENVELOPE}})
    headers = {**AUTH, **JSON, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "fake_echo"}
    head = f"POST /mcp HTTP/1.1\r\nHost: {':'.join(own)}\r\nContent-Length: {len(body)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    reader, writer = await asyncio.open_connection(own[0], int(own[1]))

    async def once() -> None:
        writer.write(f"{head}\r\n{body}".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-l")
        )
        assert b'"x"' in await reader.readexactly(length)

    assert await measure(once) < 3.0
    writer.close()


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_what_is_told_for_long_ends_with_its_key(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the key now belongs to somebody else; what is told in one piece is not looked at twice."""
    monkeypatch.setattr(door_module, "RECHECK_S", -1.0)
    owner, sent = "agent:ci", list[dict[str, Any]]()
    piece = {"http": {"type": "http.response.body", "more_body": True}, "websocket": {"type": "websocket.send"}}[kind]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal owner
        await send({**piece, "n": 1})
        owner = "agent:other"
        await send({**piece, "n": 2})
        await send({**piece, "n": 3})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": f"{kind}.disconnect"}

    front = door_module.Front(app, lambda _: owner, hosts=frozenset({"h:1"}), insecure_no_secret=False)
    headers = [(b"host", b"h:1"), (b"x-api-key", b"k")]
    await front({"type": kind, "method": "GET", "path": "/x", "headers": headers}, receive, send)
    first, end = sent
    assert first["n"] == 1
    assert (end.get("code"), end.get("more_body")) == {"http": (None, False), "websocket": (4401, None)}[kind]


def test_the_names_of_a_server_behind_another() -> None:
    hosts = door_module.allowed_hosts(8777, ["House.example:443", "other.example"])
    assert {"house.example", "house.example:443", "other.example:8777"} <= hosts
    assert "other.example" in hosts  # as a proxy in front passes it on, without its port
    assert not {"127.0.0.1", "localhost", "[::1]", "house.example:8777", "other.example:80"} & hosts
    assert "127.0.0.1" in door_module.allowed_hosts(80)
    assert callers.own_names(Server(host="192.0.2.1"), 8777) == ["192.0.2.1:8777"]
    assert callers.own_names(Server(host="2001:db8::1"), 8777) == ["[2001:db8::1]:8777"]


@promise("E01")
@pytest.mark.parametrize(
    ("peer", "status"),
    [
        ("127.0.0.1", 200),
        ("::1", 200),
        ("192.0.2.7", 200),
        ("::ffff:192.0.2.7", 200),
        ("192.0.2.8", 403),
        ("fe80::1", 403),
    ],
)
async def test_who_may_call_from_elsewhere(peer: str, status: int) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    hosts, peers = frozenset({"h:1"}), ["192.0.2.7"]
    front = door_module.Front(app, lambda _: "agent:default", hosts=hosts, peers=peers, insecure_no_secret=False)
    headers = [(b"host", b"h:1"), (b"x-api-key", b"k")]
    scope = {"type": "http", "method": "GET", "path": "/x", "headers": headers, "client": (peer, 40000)}
    await front(scope, receive, send)
    assert sent[0]["status"] == status
