"""E02, E03, E05, C07, C08, C11: the official client, on both wires and in both generations, and what only we see."""

import asyncio
import base64
import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from pilothouse.browser.watch import Event
from pilothouse.doors.instructions import IN_OWN_CHROME, INSTRUCTIONS
from tests.promises import promise

from .fake_gate import PNG, FakeGate
from .wires import ENVELOPE, INITIALIZE, MODERN, line, official

pytestmark = [
    promise("E02", "E03", "E05", "C07", "C08", "C11"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
WIRES = pytest.mark.parametrize("wire", ["local", "url"])
ERAS = pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])


@pytest.fixture
def where(wire: str, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(wire)


def event(kind: str = "crash", number: int = 1, session: str = "s1") -> Event:
    return Event(number, kind, session, "t1", f"{kind} happened", 1000)


async def until(condition: Any, timeout: float = 3.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


@WIRES
@ERAS
async def test_a_client_lists_and_calls_tools(where: Any, mode: str) -> None:
    async with official(where, mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["fake_echo", "fake_fail", "fake_slow"]
        result = await client.call_tool("fake_echo", {"text": "hi", "count": "2"})
        assert result.content[0].text == "hihi"  # pyright: ignore
        assert result.structured_content == {"text": "hi", "count": 2}
        assert not result.is_error


@promise("A06")
async def test_a_call_on_a_line_is_foreseen(local: Path, gate: FakeGate) -> None:
    """Before it is read, and whatever stands in it."""
    odd: list[Any] = [{"session": 5}, [], None, "x"]
    async with line(local) as opened:
        await opened.initialize()
        await opened.call("tools/list")
        await opened.call("tools/call", {"name": "fake_echo", "arguments": {"text": "hi", "session": "s1"}})
        for given in odd:
            await opened.call("tools/call", {"name": "fake_echo", "arguments": given})
        for params in ({"name": 5}, {}, [1]):
            assert "error" in await opened.call("tools/call", params)
    assert gate.foreseen[0] == ("fake_echo", "s1", 0)
    assert [one[:2] for one in gate.foreseen[1:]] == [("fake_echo", 5)] + [("fake_echo", None)] * (len(odd) - 1)


@WIRES
@ERAS
async def test_a_failure_is_a_result_with_its_next_step(where: Any, mode: str) -> None:
    async with official(where, mode) as client:
        result = await client.call_tool("fake_fail", {})
        assert result.is_error
        assert "take a new snapshot" in result.content[0].text  # pyright: ignore
        error = result.structured_content["error"]  # pyright: ignore
        assert error["code"] == "stale_ref"
        assert set(error) >= {"code", "category", "message", "details", "suggestions", "retryable", "metadata"}


@WIRES
@ERAS
@pytest.mark.parametrize("args", [{"txt": "hi"}, {}, {"text": 5}, {"text": "a", "count": 99}, {"text": ["a"]}])
async def test_wrong_arguments_are_a_result_that_says_what_fits(where: Any, mode: str, args: dict[str, Any]) -> None:
    async with official(where, mode) as client:
        result = await client.call_tool("fake_echo", args)
        assert result.is_error
        assert "fake_echo takes text, count?" in result.content[0].text  # pyright: ignore


@WIRES
@ERAS
async def test_an_unknown_tool_is_a_protocol_error(where: Any, mode: str) -> None:
    async with official(where, mode) as client:
        with pytest.raises(MCPError, match="did you mean fake_echo"):
            await client.call_tool("fake_ecko", {})
        result = await client.call_tool("fake_steps", {})  # a batch is known, whatever its steps name
        assert result.is_error
        assert "step 2 of 2" in result.content[0].text  # pyright: ignore


@WIRES
@ERAS
async def test_a_picture_is_image_content(where: Any, mode: str) -> None:
    async with official(where, mode) as client:
        result = await client.call_tool("fake_picture", {})
        picture = result.content[1]
        assert base64.b64decode(picture.data) == PNG  # pyright: ignore
        assert picture.mime_type == "image/png"  # pyright: ignore


@WIRES
@ERAS
async def test_progress_reaches_the_client(where: Any, mode: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with official(where, mode) as client:
        await client.call_tool("fake_progress", {}, progress_callback=on_progress)
        await until(lambda: len(seen) == 3)
        assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@WIRES
@ERAS
async def test_a_call_the_client_gives_up_is_cancelled(where: Any, mode: str, gate: FakeGate) -> None:
    async with official(where, mode) as client:
        call = asyncio.create_task(client.call_tool("fake_slow", {"name": "long"}))
        await until(lambda: gate.calls)
        call.cancel()
        await until(lambda: gate.sessions.cancelled == ["long"])


@WIRES
@ERAS
async def test_events_are_a_resource(where: Any, mode: str, gate: FakeGate) -> None:
    gate.owned["s1"] = [event("dialog")]
    async with official(where, mode) as client:
        listed = (await client.list_resources()).resources
        assert [str(one.uri) for one in listed] == ["pilothouse://session/s1/events"]
        read = await client.read_resource("pilothouse://session/s1/events")
        assert json.loads(read.contents[0].text)[0]["text"] == "dialog happened"  # pyright: ignore
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "pilothouse://session/{id}/events"
        with pytest.raises(MCPError):
            await client.read_resource("pilothouse://session/other/events")


def owner(gate: FakeGate) -> tuple[str, str]:
    caller = gate.calls[-1].caller
    return caller.key, caller.connection


@WIRES
async def test_events_reach_a_legacy_client_at_its_level(where: Any, wire: str, gate: FakeGate) -> None:
    logs: list[Any] = []
    updates: list[str] = []

    async def on_log(params: Any) -> None:
        logs.append((params.level, params.logger, params.data["kind"]))

    async def on_message(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            updates.append(str(message.params.uri))

    gate.owned["s1"] = []
    async with official(where, "legacy", logging_callback=on_log, message_handler=on_message) as client:
        await client.call_tool("fake_echo", {"text": "hi"})
        gate.happen(*owner(gate), event("navigation"))
        gate.happen(*owner(gate), event("crash"))
        await until(lambda: logs == [("error", "pilothouse", "crash")])
        await client.set_logging_level("info")
        await client.subscribe_resource("pilothouse://session/s1/events")
        gate.happen(*owner(gate), event("navigation"))
        gate.happen("default", "somebody-else", event("crash"))
        gate.happen(*owner(gate), event("download"))
        await until(lambda: len(logs) == 3)
        assert logs[1:] == [("info", "pilothouse", "navigation"), ("notice", "pilothouse", "download")]
        assert updates == ["pilothouse://session/s1/events"] * 2


@WIRES
async def test_a_modern_client_listens_for_updates_of_its_own_sessions(where: Any, gate: FakeGate) -> None:
    gate.owned["s1"] = []
    async with official(where, MODERN) as client:
        uri = "pilothouse://session/s1/events"
        async with client.listen(resource_subscriptions=[uri]) as listening:
            gate.happen("another-key", "", event("crash"))
            gate.happen("default", "", event("crash"))
            first = await asyncio.wait_for(anext(aiter(listening)), 3)
            assert str(first.uri) == uri  # pyright: ignore


@WIRES
async def test_a_modern_request_that_asks_for_logs_gets_events_of_its_time(where: Any, gate: FakeGate) -> None:
    logs: list[str] = []

    async def on_log(params: Any) -> None:
        logs.append(params.data["kind"])

    async with official(where, MODERN, logging_callback=on_log, log_level="info") as client:
        call = asyncio.create_task(client.call_tool("fake_slow", {"name": "until it is heard"}))
        await until(lambda: gate.calls)
        gate.happen(*owner(gate), event("dialog"))
        await until(lambda: logs == ["dialog"])
        call.cancel()
        await until(lambda: gate.sessions.cancelled)


async def test_resources_change_when_a_call_opens_a_session(local: Path, gate: FakeGate) -> None:
    async with line(local) as opened:
        await opened.initialize()
        gate.owned["s9"] = []
        first = await opened.call("tools/call", {"name": "fake_echo", "arguments": {"text": "x"}})
        second = await opened.receive()
        methods = {one.get("method", "result") for one in (first, second)}
        assert methods == {"result", "notifications/resources/list_changed"}


@WIRES
async def test_an_older_client_is_told_that_resources_change(where: Any) -> None:
    """The SDK would say no by itself, and who goes by that never looks again."""
    async with official(where, "legacy") as client:
        resources = client.server_capabilities.resources
        assert resources
        assert resources.list_changed is True


# One pipe


async def test_discover_then_initialize_on_one_pipe(local: Path) -> None:
    async with line(local) as opened:
        found = await opened.call("server/discover", {"_meta": ENVELOPE})
        assert found["result"]["supportedVersions"] == [MODERN]
        await opened.initialize()
        assert "tools" in (await opened.call("tools/list"))["result"]
        assert "tools" in (await opened.call("tools/list", {"_meta": ENVELOPE}))["result"]
        await opened.initialize()


async def test_initialize_and_a_call_may_be_sent_at_once(local: Path) -> None:
    async with line(local) as opened:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opened.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        opened.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        opened.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert (await opened.receive())["result"]["protocolVersion"] == "2025-06-18"
        assert (await opened.receive())["id"] == 2


async def test_a_connection_has_its_own_tools_and_defaults(local: Path, gate: FakeGate) -> None:
    async with line(local, tools="fake_picture", profile="work", headed=True) as opened:
        await opened.initialize()
        tools = (await opened.call("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["fake_picture"]
        await opened.call("tools/call", {"name": "fake_echo", "arguments": {"text": "x"}})
        assert (gate.calls[-1].caller.defaults.profile, gate.calls[-1].caller.defaults.headed) == ("work", True)


async def test_an_unknown_tool_set_is_told(local: Path) -> None:
    async with line(local, tools="nonsense,fake_ecko") as opened:
        for method, params in (("initialize", INITIALIZE), ("tools/list", None)):
            error = (await opened.call(method, params))["error"]
            assert "unknown tool set: fake_ecko, nonsense" in error["message"]
            assert "did you mean fake_echo?" in error["data"]["suggestions"]
            opened.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def test_the_gate_hears_when_a_connection_ends(local: Path, url: str, gate: FakeGate) -> None:
    async with line(local) as opened:
        await opened.initialize()
        await opened.call("tools/call", {"name": "fake_echo", "arguments": {"text": "x"}})
        connection = gate.calls[-1].caller.connection
        opened.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "fake_slow"}})
        await until(lambda: len(gate.calls) == 2)
    await until(lambda: gate.gone == [connection] and gate.sessions.cancelled)
    async with official(url, "legacy") as client:
        await client.call_tool("fake_echo", {"text": "x"})
        connection = gate.calls[-1].caller.connection
        assert connection
    await until(lambda: connection in gate.gone)


async def test_calls_of_one_connection_run_beside_each_other(local: Path) -> None:
    async with line(local) as opened:
        await opened.initialize()
        opened.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fake_slow"}})
        assert (await opened.call("ping", id=2))["id"] == 2


async def test_a_client_that_does_not_read_is_not_read_from(local: Path, gate: FakeGate) -> None:
    loop = asyncio.get_running_loop()
    text = "x" * 200_000
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.setblocking(False)
        await loop.sock_connect(deaf, str(local))
        await loop.sock_sendall(deaf, b'{"pilothouse": "0"}\n')

        async def talk() -> None:
            for number in range(200):
                params = {"name": "fake_echo", "arguments": {"text": text}, "_meta": ENVELOPE}
                message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
                await loop.sock_sendall(deaf, json.dumps(message).encode() + b"\n")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(talk(), 1)
        assert 0 < len(gate.calls) < 100


async def test_the_first_line_must_be_a_greeting(local: Path) -> None:
    for first in (b"[1]", b'{"door": "mcp"}', b'{"pilothouse": "1", "door": "cellar"}', b"\xff\xfe"):
        reader, writer = await asyncio.open_unix_connection(str(local))
        writer.write(first + b"\n")
        assert "error" in json.loads(await asyncio.wait_for(reader.readline(), 3))
        assert await asyncio.wait_for(reader.read(), 3) == b""
        writer.close()


async def test_another_version_may_ask_the_daemon_to_stop(local: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(str(local))
    writer.write(b'{"pilothouse": "9", "door": "stop"}\n')
    assert json.loads(await asyncio.wait_for(reader.readline(), 3)) == {"stopping": False, "why": "busy"}
    writer.close()


def test_the_socket_is_for_its_owner_only(local: Path) -> None:
    assert local.stat().st_mode & 0o777 == 0o600


# What it costs


@pytest.mark.parametrize(("browser", "told"), [("isolated", INSTRUCTIONS), ("extension", IN_OWN_CHROME)])
async def test_the_instructions_are_about_the_browser_that_is_driven(local: Path, browser: str, told: str) -> None:
    async with line(local, browser=browser) as opened:
        answer = await opened.call("initialize", INITIALIZE)
        assert answer["result"]["instructions"] == told
        answer = await opened.call("server/discover", {"_meta": ENVELOPE}, id=2)
        assert answer["result"]["instructions"] == told
    assert ("private browser" in told, "own Chrome" in told) == (browser == "isolated", browser == "extension")


def test_the_instructions_are_short() -> None:
    assert len(INSTRUCTIONS) / 4 < 300  # o200k_base takes fewer tokens than a quarter of the characters here


async def measure(call: Any, rounds: int = 100) -> float:
    """Milliseconds: the median of the best series, for other work on the machine says nothing about us."""
    medians: list[float] = []
    for _ in range(8):
        times: list[float] = []
        for _ in range(rounds):
            start = time.perf_counter()
            await call()
            times.append(time.perf_counter() - start)
        medians.append(sorted(times)[rounds // 2] * 1000)
    return min(medians)


@pytest.mark.alone
@pytest.mark.parametrize("meta", [{}, {"_meta": ENVELOPE}], ids=["legacy", "modern"])
async def test_a_call_over_the_local_socket_costs_less_than_a_millisecond(local: Path, meta: dict[str, Any]) -> None:
    async with line(local) as opened:
        await opened.initialize()
        params = {"name": "fake_echo", "arguments": {"text": "x"}, **meta}
        assert await measure(lambda: opened.call("tools/call", params)) < 1.0
