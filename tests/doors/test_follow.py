"""E05, E01: a session followed live over a WebSocket, by its owner only, however slowly it reads."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

from pilothouse.browser.stream import MAX_WAITING
from pilothouse.browser.watch import Event
from tests.promises import promise

from .conftest import PERSON, SECRET
from .rest_gate import RestGate
from .test_rest import gate, rest_url

__all__ = ["gate", "rest_url"]
pytestmark = promise("E05", "E01")


def event(number: int, session: str = "s1", text: str = "") -> Event:
    return Event(number, "console_error", session, "t1", text or f"error {number}", 1000 + number)


@contextlib.asynccontextmanager
async def followed(url: str, path: str = "/api/browser/s1/follow", **more: Any) -> AsyncIterator[ClientConnection]:
    headers = more.pop("headers", {"Authorization": f"Bearer {SECRET}"})
    async with connect(url.replace("http", "ws") + path, additional_headers=headers, **more) as socket:
        yield socket


async def read(socket: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(socket.recv(), 5))


async def listening(gate: RestGate) -> None:
    async with asyncio.timeout(20):
        while not gate._listeners:
            await asyncio.sleep(0.005)


async def test_what_happens_is_told(rest_url: str, gate: RestGate):
    async with followed(rest_url) as socket:
        await listening(gate)
        gate.happen("default", "", event(1, text="two\nlines \ud800 \u202e"))
        told = await read(socket)
        assert told["text"].startswith("two\nlines \ufffd")
        assert (told["kind"], told["event"], told["number"]) == ("event", "console_error", 1)
        assert (told["session"], told["tab"], told["time_ms"]) == ("s1", "t1", 1001)
        gate.happen("default", "", event(2))
        assert (await read(socket))["number"] == 2


async def test_only_the_owner_hears_and_only_of_that_session(rest_url: str, gate: RestGate):
    async with followed(rest_url) as socket:
        await listening(gate)
        gate.happen("other", "", event(1))
        gate.happen("default", "stdio-1", event(2))
        gate.happen("default", "", event(3, session="s2"))
        gate.happen("default", "", event(4))
        assert (await read(socket))["number"] == 4


async def test_what_was_before_is_told_when_asked_for(rest_url: str, gate: RestGate):
    gate.owned["s1"] = [event(1), event(2), event(3)]
    async with followed(rest_url, "/api/browser/-/follow?since=1&kinds=events") as socket:
        assert [(await read(socket))["number"], (await read(socket))["number"]] == [2, 3]


async def test_a_pattern_chooses_and_a_limit_cuts_the_past(rest_url: str, gate: RestGate):
    gate.owned["s1"] = [event(1), event(2), event(3, text="dialog"), event(4)]
    async with followed(rest_url, "/api/browser/s1/follow?since=0&pattern=ERROR&limit=2") as socket:
        assert [(await read(socket))["number"], (await read(socket))["number"]] == [2, 4]
        gate.happen("default", "", event(5, text="a navigation"))
        gate.happen("default", "", event(6))
        assert (await read(socket))["number"] == 6


async def test_a_browser_sends_its_key_as_a_protocol(rest_url: str, gate: RestGate):
    protocols = ["pilothouse", f"pilothouse.key.{SECRET}"]
    async with followed(rest_url, headers={}, subprotocols=protocols, origin=rest_url) as socket:
        assert socket.subprotocol == "pilothouse"
        await listening(gate)
        gate.happen("default", "", event(1))
        assert (await read(socket))["number"] == 1


async def test_the_key_is_never_said_back(rest_url: str):
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with followed(rest_url, headers={}, subprotocols=[f"pilothouse.key.{SECRET}"]):
            pass
    assert refused.value.response.status_code == 400
    assert SECRET not in str(refused.value.response)


@pytest.mark.parametrize(
    ("path", "more", "status"),
    [
        ("s1/follow", {"headers": {}}, 401),
        ("s1/follow", {"headers": {"X-API-Key": "wrong"}}, 401),
        ("s1/follow", {"headers": {}, "subprotocols": ["pilothouse.key.wrong"]}, 401),
        ("s1/follow", {"headers": {"X-API-Key": PERSON}}, 403),
        ("s1/follow", {"origin": "http://evil.test"}, 403),
        ("s1/follow", {"origin": "null"}, 403),
        ("s2/follow", {}, 404),
        ("s1/follow?kinds=events,nonsense", {}, 400),
        ("s1/follow?since=x", {}, 400),
        ("s1/follow?since=-1", {}, 400),
        ("s1/follow?kinds=", {}, 400),
        ("s1/follow?kinds=console&level=loud", {}, 400),
        ("s1/follow?kinds=console&pattern=(", {}, 400),
    ],
)
async def test_who_may_not_is_refused_before_the_upgrade(rest_url: str, path: str, more: dict[str, Any], status: int):
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with followed(rest_url, f"/api/browser/{path}", **more):
            pass
    response = refused.value.response
    assert response.status_code == status
    assert json.loads(response.body or b"")["success"] is False


async def test_a_session_is_called_by_its_profile_too(rest_url: str, gate: RestGate):
    async with followed(rest_url, "/api/browser/work/follow") as socket:
        await listening(gate)
        gate.happen("default", "", event(1))
        assert (await read(socket))["session"] == "s1"


async def test_own_means_the_only_one(rest_url: str, gate: RestGate):
    gate.owned["s2"] = []
    with pytest.raises(websockets.InvalidStatus, match="404"):
        async with followed(rest_url, "/api/browser/default/follow"):
            pass


async def test_a_slow_reader_loses_the_oldest_and_is_told(rest_url: str, gate: RestGate):
    async with followed(rest_url, close_timeout=0.1) as socket:  # what it has not read stands before any goodbye
        await listening(gate)
        for number in range(MAX_WAITING + 5):  # without a pause: nobody can have read meanwhile
            gate.happen("default", "", event(number))
        assert await read(socket) == {"kind": "lost", "count": 5}
        assert (await read(socket))["number"] == 5


async def test_the_end_of_the_session_is_the_end(rest_url: str, gate: RestGate):
    async with followed(rest_url) as socket:
        await listening(gate)
        gate.happen("default", "", event(1))
        (stream,) = gate.streams
        stream.end()
        assert (await read(socket))["number"] == 1  # what was before the end is still told
        with pytest.raises(websockets.ConnectionClosedOK, match="the session is closed"):
            await asyncio.wait_for(socket.recv(), 5)
    assert not gate._listeners


async def test_who_leaves_is_forgotten_and_what_it_says_is_not_read(rest_url: str, gate: RestGate):
    async with followed(rest_url) as socket:
        await listening(gate)
        await socket.send("hello")
        gate.happen("default", "", event(1))
        assert (await read(socket))["number"] == 1
    async with asyncio.timeout(20):
        while gate._listeners:
            await asyncio.sleep(0.005)
