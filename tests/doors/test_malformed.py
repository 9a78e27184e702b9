"""Whatever a client sends, it is answered: the right error, on both wires, and the connection goes on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pilothouse.doors.pipe import MAX_IN_FLIGHT
from tests.promises import promise

from .conftest import SECRET
from .fake_gate import FakeGate
from .wires import ENVELOPE, INITIALIZE, MODERN, line

pytestmark = promise("E02", "E03")

HEADERS = {
    "Authorization": f"Bearer {SECRET}",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


def request(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", **fields}).encode()


DEEP = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"fake_echo","arguments":{"text":%s}}}'
DEEP_ID_LAST = b'{"method":"tools/call","params":{"name":"fake_echo","arguments":{"text":%s}},"jsonrpc":"2.0","id":"q"}'
NEST = b"[" * 50_000 + b"]" * 50_000
CASES: dict[str, tuple[bytes, int, Any]] = {
    "not JSON": (b"{nonsense", -32700, None),
    "half JSON": (b'{"jsonrpc":"2.0","id":7,', -32700, None),
    "not UTF-8": (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', -32700, None),
    "NaN": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}', -32700, None),
    "a number": (b"5", -32600, None),
    "a string": (b'"ping"', -32600, None),
    "null": (b"null", -32600, None),
    "a batch": (b"[" + request() + b"," + request(id=8) + b"]", -32600, None),
    "an empty batch": (b"[]", -32600, None),
    "an empty object": (b"{}", -32600, None),
    "id null": (request(id=None), -32600, None),
    "id of the wrong type": (request(id=[1]), -32600, None),
    "id true": (request(id=True), -32600, None),
    "id a fraction": (request(id=1.5), -32600, None),
    "another version": (request(jsonrpc="1.0"), -32600, 7),
    "no version": (b'{"id":7,"method":"ping"}', -32600, 7),
    "method of the wrong type": (request(method=5), -32600, 7),
    "no method": (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
    "params a list": (request(params=[1]), -32602, 7),
    "params a string": (request(params="x"), -32602, 7),
    "50,000 deep": (DEEP % NEST, -32600, 7),
    "50,000 deep, id last": (DEEP_ID_LAST % NEST, -32600, "q"),
    "500 deep": (DEEP % (b"[" * 500 + b"]" * 500), -32600, 7),
    "150 deep": (DEEP % (b'{"a":' * 150 + b"1" + b"}" * 150), -32600, 7),
}
ALL = pytest.mark.parametrize("case", CASES)


@ALL
async def test_the_local_door_answers(local: Path, case: str) -> None:
    raw, code, ident = CASES[case]
    async with line(local) as opened:
        reply = await opened.ask(raw)
        assert (reply["error"]["code"], reply["id"]) == (code, ident), reply
        await opened.initialize()


@ALL
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
async def test_the_http_door_answers(url: str, case: str, version: str) -> None:
    raw, code, ident = CASES[case]
    async with httpx2.AsyncClient(headers={**HEADERS, "MCP-Protocol-Version": version}) as http:
        reply = await http.post(f"{url}/mcp", content=raw)
        assert reply.status_code == 400
        assert (reply.json()["error"]["code"], reply.json()["id"]) == (code, ident)


@pytest.mark.parametrize("raw", [b"\n", b"  \n", b"\r\n"])
async def test_blank_lines_mean_nothing(local: Path, raw: bytes) -> None:
    async with line(local) as opened:
        opened.writer.write(raw)
        await opened.initialize()


@pytest.mark.parametrize("place", ["first", "last"])
async def test_a_message_of_20_mib_is_refused_and_the_line_goes_on(local: Path, place: str) -> None:
    big = "x" * (20 << 20)
    message = {"jsonrpc": "2.0", "method": "ping", "params": {"text": big}}
    message = {"id": 7, **message} if place == "first" else {**message, "id": 7}
    async with line(local) as opened:
        reply = await opened.ask(message)
        assert (reply["error"]["code"], reply["id"]) == (-32600, 7)
        await opened.initialize()


async def test_a_message_just_under_the_limit_is_served(local: Path) -> None:
    async with line(local) as opened:
        await opened.initialize()
        params = {"name": "fake_echo", "arguments": {"text": "x" * (4 * 1024 * 1024 - 200)}}
        assert "result" in await opened.call("tools/call", params)


async def test_lone_surrogates_are_replaced_on_the_way_in_and_out(local: Path) -> None:
    async with line(local) as opened:
        await opened.initialize()
        assert (await opened.ask(DEEP % b'"a\\ud800"'))["result"]["structuredContent"]["text"] == "a\ufffd"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, -32602),
        ({"name": 5}, -32602),
        ({"name": "fake_echo", "arguments": [1]}, -32602),
        ({"name": "fake_echo", "arguments": "x"}, -32602),
        ({"name": "x" * 100_000}, -32602),
        ({"name": ""}, -32602),
    ],
)
@pytest.mark.parametrize("meta", [{}, {"_meta": ENVELOPE}], ids=["legacy", "modern"])
async def test_a_call_of_the_wrong_shape_is_a_protocol_error(local: Path, params: Any, code: int, meta: Any) -> None:
    async with line(local) as opened:
        await opened.initialize()
        reply = await opened.call("tools/call", {**params, **meta})
        assert reply["error"]["code"] == code
        assert len(json.dumps(reply)) < 2000


async def test_an_unknown_method_is_told(local: Path) -> None:
    async with line(local) as opened:
        await opened.initialize()
        assert (await opened.call("tools/destroy"))["error"]["code"] == -32601
        assert (await opened.call("prompts/list"))["error"]["code"] == -32601


async def test_a_half_built_envelope_is_told(local: Path) -> None:
    async with line(local) as opened:
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN}
        assert (await opened.call("tools/list", {"_meta": meta}))["error"]["code"] == -32602
        assert (await opened.call("server/discover"))["error"]["code"] == -32602
        meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        assert (await opened.call("tools/list", {"_meta": meta}))["error"]["code"] == -32022


async def test_a_request_before_the_handshake_is_refused(local: Path) -> None:
    async with line(local) as opened:
        assert (await opened.call("tools/list"))["error"]["code"] == -32602
        assert "result" in await opened.call("ping")


async def test_an_id_in_flight_is_not_taken_twice(local: Path, gate: FakeGate) -> None:
    async with line(local) as opened:
        await opened.initialize()
        slow = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "fake_slow"}}
        opened.send(slow)
        reply = await opened.ask({**slow, "method": "ping"})
        assert "already in flight" in reply["error"]["message"]
        assert len(gate.calls) == 1
        opened.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
        assert (await opened.call("ping", id=10))["id"] == 10
        assert (await opened.call("ping", id=9))["id"] == 9


async def test_requests_cancelled_as_they_come_leave_room_for_others(local: Path) -> None:
    """They are read in one piece, so each is cancelled before it has begun."""
    async with line(local) as opened:
        await opened.initialize()
        for number in range(MAX_IN_FLIGHT):
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "fake_slow"}}
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            opened.send(json.dumps(call).encode() + b"\n" + json.dumps(cancel).encode())
        async with asyncio.timeout(20):
            while "result" not in await opened.call("ping", id="next"):
                pass
        assert "result" in await opened.call("ping", id=0)


async def test_an_id_in_flight_is_not_taken_twice_over_http(url: str, gate: FakeGate) -> None:
    async with httpx2.AsyncClient(headers=HEADERS, timeout=10) as http:
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        session = (await http.post(f"{url}/mcp", json=opening)).headers["mcp-session-id"]
        headers = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
        await http.post(f"{url}/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        params = {"name": "fake_slow", "arguments": {"seconds": 0.5}}
        slow = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
        first = asyncio.create_task(http.post(f"{url}/mcp", json=slow, headers=headers))
        async with asyncio.timeout(20):
            while not gate.calls:
                await asyncio.sleep(0.01)
        second = await http.post(f"{url}/mcp", json=slow, headers=headers)
        assert second.status_code == 400
        assert "already in flight" in second.json()["error"]["message"]
        assert "done" in (await first).text
        again = {**slow, "params": {"name": "fake_echo", "arguments": {"text": "again"}}}
        assert "again" in (await http.post(f"{url}/mcp", json=again, headers=headers)).text
        assert len(gate.calls) == 2


async def test_notifications_and_responses_out_of_the_blue_change_nothing(local: Path) -> None:
    async with line(local) as opened:
        for one in (
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": 1}}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
            {"jsonrpc": "2.0", "method": "notifications/unknown"},
            {"jsonrpc": "2.0", "id": "pilothouse-1", "result": {}},
            {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
        ):
            opened.send(one)
        await opened.initialize()
