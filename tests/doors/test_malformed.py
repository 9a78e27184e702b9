"""Whatever a client sends, it is answered: the right error, on both wires, and the connection goes on."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

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


class Asks(Protocol):
    async def __call__(self, raw: bytes, /) -> dict[str, Any]: ...


@pytest.fixture(params=["2025-11-25", MODERN])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["stdio", "http"])
async def wire(request: pytest.FixtureRequest, era: str, local: Path, url: str) -> AsyncIterator[Asks]:
    """Sends bytes as they are, on a connection that is ready for calls, and gives back what was answered."""
    if request.param == "stdio":
        async with line(local) as opened:
            await opened.initialize()
            yield opened.ask
            assert "result" in await opened.call("ping", id="after")  # the line goes on
        return
    async with httpx2.AsyncClient(headers=HEADERS, timeout=10) as http:
        headers = await handshake(http, url) if era == "2025-11-25" else {}

        async def ask(raw: bytes) -> dict[str, Any]:
            return answered(await http.post(f"{url}/mcp", content=raw, headers=headers or named(raw)))

        yield ask


async def handshake(http: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """The headers of a session of the older generation."""
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    session = (await http.post(f"{url}/mcp", json=opening)).headers["mcp-session-id"]
    headers = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    await http.post(f"{url}/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


def named(raw: bytes) -> dict[str, str]:
    """The headers by which the newer generation repeats what a message says, as far as it says it."""
    said: dict[str, Any] = {"mcp-protocol-version": MODERN}
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
        message = json.loads(raw.decode())
        said["mcp-method"] = message["method"]
        said["mcp-name"] = message["params"].get("name", message["params"].get("uri"))
    return {name: value for name, value in said.items() if isinstance(value, str) and value.isprintable()}


def answered(reply: httpx2.Response) -> dict[str, Any]:
    events = [one.removeprefix("data: ") for one in reply.text.splitlines() if one.startswith("data: {")]
    return json.loads(events[-1] if events else reply.text)


@pytest.mark.parametrize("case", CASES)
async def test_what_is_no_message_is_answered(wire: Asks, era: str, case: str) -> None:
    raw, code, ident = CASES[case]
    reply = await wire(raw)
    assert (reply["error"]["code"], reply["id"]) == (code, ident), reply
    assert len(reply["error"]["message"]) > 10


ECHO = {"name": "fake_echo", "arguments": {"text": "a"}}
# A method, what it is sent, the code, and a part of what is told: the field that is wrong.
SHAPES: dict[str, tuple[str, Any, int, str]] = {
    "name missing": ("tools/call", {}, -32602, '"params.name" is missing'),
    "name null": ("tools/call", {"name": None}, -32602, '"params.name" must be a string'),
    "arguments a list": ("tools/call", {**ECHO, "arguments": [1]}, -32602, '"params.arguments" must be an object'),
    "arguments a string": ("tools/call", {**ECHO, "arguments": "x"}, -32602, '"params.arguments" must be an object'),
    "arguments a number": ("tools/call", {**ECHO, "arguments": 5}, -32602, '"params.arguments" must be an object'),
    "an unknown tool": ("tools/call", {"name": "fake_ecko"}, -32602, "did you mean fake_echo"),
    "a name that is too long": ("tools/call", {"name": "x" * 10_000}, -32602, "at most 128 characters"),
    "an empty name": ("tools/call", {"name": ""}, -32602, "no tool called ''"),
    "meta a list": ("tools/call", {**ECHO, "_meta": [1]}, -32602, '"params._meta" must be an object'),
    "meta a string": ("tools/call", {**ECHO, "_meta": "x"}, -32602, '"params._meta" must be an object'),
    "a token of the wrong type": (
        "tools/call",
        {**ECHO, "_meta": {"progressToken": {}}},
        -32602,
        "_meta.progressToken",
    ),
    "a token that is true": ("tools/call", {**ECHO, "_meta": {"progressToken": True}}, -32602, "_meta.progressToken"),
    "a token that is null": ("tools/call", {**ECHO, "_meta": {"progressToken": None}}, -32602, "_meta.progressToken"),
    "too many answers": (
        "tools/call",
        {**ECHO, "inputResponses": dict.fromkeys(map(str, range(101)), 1)},
        -32602,
        '"params.inputResponses" has at most 100 answers',
    ),
    "many answers of no kind": (
        "tools/call",
        {**ECHO, "inputResponses": dict.fromkeys(map(str, range(100)), 1)},
        -32602,
        "tools/call: more than 100 fields do not fit",
    ),
    "answers a number": ("tools/call", {**ECHO, "inputResponses": 5}, -32602, '"params.inputResponses" must be an obj'),
    "a forged state": ("tools/call", {**ECHO, "requestState": "forged"}, -32602, "requestState"),
    "a state of the wrong type": ("tools/call", {**ECHO, "requestState": 5}, -32602, "requestState"),
    "a cursor of the wrong type": ("tools/list", {"cursor": 5}, -32602, '"params.cursor" must be a string'),
    "a cursor of nobody's": ("tools/list", {"cursor": "x"}, -32602, '"params.cursor" is none of ours'),
    "no address": ("resources/read", {}, -32602, '"params.uri" is missing'),
    "a completion of nothing": ("completion/complete", {}, -32602, '"params.argument" is missing; "params.ref" is mis'),
    "an unknown method": ("tools/destroy", {}, -32601, "not found"),
    "an empty method": ("", {}, -32601, "not found"),
}


def enveloped(params: Any, era: str) -> Any:
    meta = params.get("_meta", {})
    return {**params, "_meta": {**ENVELOPE, **meta}} if era == MODERN and isinstance(meta, dict) else params


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_request_of_the_wrong_shape_is_told_which_field_is_wrong(wire: Asks, era: str, shape: str) -> None:
    method, params, code, told = SHAPES[shape]
    reply = await wire(request(method=method, params=enveloped(params, era)))
    assert (reply["error"]["code"], reply["id"]) == (code, 7), reply
    assert told in reply["error"]["message"], reply
    assert len(json.dumps(reply)) < 2000


@pytest.mark.parametrize("wire", ["stdio"], indirect=True)
@pytest.mark.parametrize("name", [5, ["a"], {"a": 1}])
async def test_a_name_of_the_wrong_type_is_told(wire: Asks, era: str, name: Any) -> None:
    """Over HTTP, in the newer generation, it differs from its header first of all."""
    reply = await wire(request(method="tools/call", params=enveloped({"name": name}, era)))
    assert reply["error"]["message"] == 'tools/call: "params.name" must be a string'
    assert reply["error"]["data"] == {"fields": [{"field": "params.name", "problem": "must be a string"}]}


async def test_a_call_without_parameters_is_told(wire: Asks, era: str) -> None:
    reply = await wire(b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}')
    assert (reply["error"]["code"], reply["id"]) == (-32602, 7)
    assert "params" in reply["error"]["message"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"text": "a", "zz": 1}, "unknown field `zz`"),
        ({"text": 5}, "at `$.text`"),
        ({"text": "a", "count": "x"}, "at `$.count`"),
        ({"text": "a", "count": 10**30}, "at `$.count`"),
        ({}, "missing required field `text`"),
        ({"\ud800": 1, "text": "a"}, "unknown field `\ufffd`"),
    ],
)
async def test_a_wrong_argument_is_a_result_that_names_it(wire: Asks, era: str, args: Any, told: str) -> None:
    params = {"name": "fake_echo", "arguments": args}
    result = (await wire(request(method="tools/call", params=enveloped(params, era))))["result"]
    assert result["isError"]
    assert told in result["content"][0]["text"]
    assert "fake_echo takes text, count?" in result["content"][0]["text"]


async def test_half_a_sign_is_replaced_on_the_way_in_and_out(wire: Asks, era: str) -> None:
    params = {"name": "fake_echo", "arguments": {"text": "a\ud800"}}
    reply = await wire(request(method="tools/call", params=enveloped(params, era)))
    assert reply["result"]["structuredContent"]["text"] == "a\ufffd"


@pytest.mark.parametrize("ident", [0, "", -1, 10**25, "x" * 1000, "ü"])
async def test_an_odd_id_is_an_id(wire: Asks, era: str, ident: Any) -> None:
    reply = await wire(request(id=ident, method="tools/call", params=enveloped(ECHO, era)))
    assert (reply["id"], reply["result"]["structuredContent"]["text"]) == (ident, "a")


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


async def test_a_half_built_envelope_is_told(local: Path) -> None:
    async with line(local) as opened:
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN}
        assert (await opened.call("tools/list", {"_meta": meta}))["error"]["code"] == -32602
        assert (await opened.call("server/discover"))["error"]["code"] == -32602
        meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        assert (await opened.call("tools/list", {"_meta": meta}))["error"]["code"] == -32022


async def test_a_request_before_the_handshake_is_refused(local: Path) -> None:
    async with line(local) as opened:
        error = (await opened.call("tools/list"))["error"]
        assert (error["code"], error["message"][-21:]) == (-32602, "send initialize first")
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


@pytest.mark.parametrize("era", ["2025-11-25"], indirect=True)
async def test_what_is_written_as_null_is_not_there(wire: Asks) -> None:
    reply = await wire(request(method="tools/call", params={**ECHO, "_meta": None}))
    assert "result" in reply, reply


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
        headers = await handshake(http, url)
        params = {"name": "fake_slow", "arguments": {"seconds": 0.5}}
        slow = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
        first = asyncio.create_task(http.post(f"{url}/mcp", json=slow, headers=headers))
        async with asyncio.timeout(20):
            while not gate.calls:
                await asyncio.sleep(0.01)
        for ident in (9, "9"):  # the SDK would keep the answers to both in one place
            second = await http.post(f"{url}/mcp", json={**slow, "id": ident}, headers=headers)
            assert second.status_code == 400
            assert "already in flight" in second.json()["error"]["message"]
        assert "done" in (await first).text
        again = {**slow, "params": {"name": "fake_echo", "arguments": {"text": "again"}}}
        assert "again" in (await http.post(f"{url}/mcp", json=again, headers=headers)).text
        assert len(gate.calls) == 2


@pytest.mark.parametrize("params", [[1], "x", 5, None])
async def test_a_response_with_odd_parameters_is_refused_as_one(url: str, params: Any) -> None:
    async with httpx2.AsyncClient(headers=HEADERS, timeout=10) as http:
        reply = await http.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "result": {}, "params": params})
        assert 400 <= reply.status_code < 500
        assert reply.json()["error"]["code"] < 0


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
