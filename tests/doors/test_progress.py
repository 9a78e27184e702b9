"""C11: the official client hears how a long call stands, on both wires and in both generations, until it is answered."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pilothouse import reporting
from pilothouse.gate import Gate
from tests.house import House
from tests.promises import promise

from .conftest import SECRET
from .wires import ENVELOPE, MODERN, line, official

pytestmark = [
    promise("C11", "E02", "E03"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
WIRES = pytest.mark.parametrize("wire", ["local", "url"])
ERAS = pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
LONG = {"name": "wait_for", "arguments": {"text": "never there", "timeout_ms": 400}}


@pytest.fixture
def gate(house: House) -> Gate:
    """A real one, with a browser."""
    return house.gate


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "FIRST_S", 0.05)


@pytest.fixture
def where(wire: str, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(wire)


@WIRES
@ERAS
async def test_a_call_that_lasts_is_heard_of(where: Any, mode: str):
    heard: list[tuple[float, float | None, str | None]] = []
    enough = asyncio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))
        if message and message.startswith("waiting for text"):
            enough.set()

    async with official(where, mode) as client:
        args = {"text": "never there", "timeout_ms": 5000}
        call = asyncio.create_task(client.call_tool("wait_for", args, progress_callback=on_progress))
        await asyncio.wait_for(enough.wait(), 10)
        call.cancel()
        await asyncio.wait([call])
        await client.call_tool("close_session", {})
    assert all(one[0] < other[0] for one, other in itertools.pairwise(heard))
    assert heard[-1][1:] == (5, 'waiting for text "never there"')


async def heard_on_a_line(path: Path, params: dict[str, Any]) -> list[dict[str, Any]]:
    """All that comes of a call, and of a ping that is sent when its answer has come."""
    async with line(path) as opened:
        await opened.initialize()
        opened.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
        said = [await opened.receive(10)]
        while said[-1].get("id") != 7:
            said.append(await opened.receive(10))
        await opened.call("tools/call", {"name": "wait", "arguments": {"time_ms": 150}}, id=8)
        return said


@pytest.mark.parametrize("envelope", [{}, ENVELOPE], ids=["legacy", MODERN])
async def test_a_line_is_told_until_the_answer_and_no_longer(local: Path, envelope: dict[str, Any]):
    said = await heard_on_a_line(local, LONG | {"_meta": {**envelope, "progressToken": "mine"}})
    told = [one["params"] for one in said if one.get("method") == "notifications/progress"]
    assert len(told) >= 2
    assert {one["progressToken"] for one in told} == {"mine"}
    assert said[-1]["result"]["structuredContent"]["error"]["code"] == "timeout"


@pytest.mark.parametrize("envelope", [{}, ENVELOPE], ids=["legacy", MODERN])
async def test_who_gave_no_token_is_told_nothing(local: Path, envelope: dict[str, Any]):
    said = await heard_on_a_line(local, LONG | ({"_meta": envelope} if envelope else {}))
    assert not [one for one in said if one.get("method") == "notifications/progress"]


async def test_over_http_the_answer_is_the_last_that_comes(url: str):
    headers = {"Authorization": f"Bearer {SECRET}", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "wait_for"}
    params = LONG | {"_meta": {**ENVELOPE, "progressToken": 5}}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=20) as client:
        answer = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        sent = [json.loads(one.removeprefix("data: ")) for one in answer.text.splitlines() if one.startswith("data: {")]
    assert [one.get("method") for one in sent[:-1]] == ["notifications/progress"] * (len(sent) - 1)
    assert len(sent) >= 3
    assert sent[-1]["id"] == 1
