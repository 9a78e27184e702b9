"""F07: the person's one WebSocket. What it says first, what it takes, and that nonsense breaks nothing."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

from pilothouse.doors import outbox
from tests.daemon_here import Here, asks_for_writes, daemon_here
from tests.promises import promise

pytestmark = promise("F07", "D07")

NONSENSE = [
    "", "nonsense", "[]", "{}", '{"do": "fly"}', '{"do": "answer"}', '{"do": "move", "session": "x"}',
    '{"do": "watch", "session": 5}', '{"do": "watch", "session": "x", "more": 1}', '{"do": "take", "session": "' + "x" * 200 + '"}',
    '{"do": "move", "session": "x", "tab": "t1", "gestures": [{"by": "mouse", "kind": "down", "x": 1e99, "y": 0}]}',
    '{"do": "move", "session": "x", "tab": "t1", "gestures": [{"by": "cdp", "method": "Page.navigate"}]}',
    '{"do": "move", "session": "x", "tab": "t1", "gestures": [' + ",".join(['{"by": "text", "text": "a"}'] * 201) + "]}",
    "[" * 5000, '{"do": "answer", "approval": "\\ud800", "answer": "allow"}', "x" * 400_000,
]  # fmt: skip


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    async with daemon_here(tmp_path_factory.mktemp("here")) as one:
        yield one


@contextlib.asynccontextmanager
async def talking(here: Here) -> AsyncIterator[ClientConnection]:
    headers = {"Authorization": f"Bearer {here.person}"}
    async with connect(f"{here.url.replace('http', 'ws')}/api/live", additional_headers=headers) as one:
        yield one


async def next_of(line: ClientConnection, *kinds: str) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while True:
            word = json.loads(await line.recv())
            if word["kind"] in kinds:
                return word


async def test_it_begins_with_all_that_is_so(here: Here):
    async with talking(here) as line:
        state = json.loads(await line.recv())
        assert state["kind"] == "state"
        assert (state["sessions"], state["pending"], state["grants"]) == ([], [], [])
        assert state["last"] == len(here.records())
        assert (await next_of(line, "health"))["numbers"]["sessions"] == 0


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda one: one[:40])
async def test_nonsense_breaks_nothing(here: Here, nonsense: str):
    async with talking(here) as line:
        await line.send(nonsense)
        failed = await next_of(line, "failed")
        assert failed["error"]["code"] == "bad_request"
        await line.send(json.dumps({"do": "take", "session": "none", "id": 7}))
        failed = await next_of(line, "failed")
        assert (failed["id"], failed["error"]["code"]) == (7, "not_found")


@pytest.mark.parametrize(
    "do", ["watch", "follow", "take", "give_back", "end", "pick", "point", "end_pick", "dialog", "request"]
)
async def test_a_session_that_is_not_there(here: Here, do: str):
    more = {
        "pick": {"tab": "t1"},
        "point": {"tab": "t1", "x": 1, "y": 2},
        "end_pick": {"tab": "t1"},
        "dialog": {"tab": "t1", "number": 1, "accept": True},
        "request": {"tab": "t1", "request": "r1"},
    }
    async with talking(here) as line:
        await line.send(json.dumps({"do": do, "session": "none", "id": 1, **more.get(do, {})}))
        assert (await next_of(line, "failed"))["error"]["code"] == "not_found"


async def test_question_answer_and_record(here: Here):
    here.decide = asks_for_writes
    async with (
        talking(here) as line,
        httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.agent}, timeout=30) as agent,
    ):
        call = asyncio.create_task(agent.post("/api/profiles", json={"name": "asked"}))
        question = (await next_of(line, "pending"))["approval"]
        await line.send(json.dumps({"do": "answer", "approval": question["id"], "answer": "allow", "id": 3}))
        told = [await next_of(line, "answered", "done", "record") for _ in range(4)]
        assert {one["kind"] for one in told} >= {"answered", "done"}
        assert (await call).json()["success"]
        await line.send(json.dumps({"do": "answer", "approval": question["id"], "answer": "deny", "id": 4}))
        assert (await next_of(line, "failed"))["error"]["code"] == "not_found"


async def test_records_are_numbered_without_a_gap(here: Here):
    async with talking(here) as line:
        last = json.loads(await line.recv())["last"]
        for number in range(500):
            here.gate._audit.note("filler", number=number)
        numbers = [(await next_of(line, "record"))["record"]["n"] for _ in range(500)]
        assert numbers == list(range(last + 1, last + 501))


async def test_who_does_not_keep_up_is_sent_away(here: Here, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outbox, "MAX_UNREAD", 50)
    async with talking(here) as line:
        await line.recv()
        for number in range(200):  # at once: nothing can be sent meanwhile
            here.gate._audit.note("flood", number=number)
        with contextlib.suppress(websockets.ConnectionClosed):
            async with asyncio.timeout(10):
                while True:
                    await line.recv()
        assert line.close_code == 1013


async def test_who_does_not_read_at_all_is_let_go(here: Here, monkeypatch: pytest.MonkeyPatch):
    """Its socket is full, so that it cannot even be told; nothing is kept for it any longer."""
    monkeypatch.setattr(outbox, "MAX_UNREAD", 50)
    monkeypatch.setattr(outbox, "CLOSE_S", 0.1)
    listening = len(here.gate.approvals._listeners)
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.setblocking(False)
    await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", int(here.url.rpartition(":")[2])))
    headers = {"Authorization": f"Bearer {here.person}"}
    address = f"{here.url.replace('http', 'ws')}/api/live"
    async with connect(address, sock=narrow, additional_headers=headers, max_queue=1, close_timeout=0.1):
        async with asyncio.timeout(20):
            while len(here.gate.approvals._listeners) == listening:
                await asyncio.sleep(0)
            while len(here.gate.approvals._listeners) > listening:
                here.gate._audit.note("flood", text="x" * 20_000)
                await asyncio.sleep(0)


@pytest.mark.parametrize("query", ["after=-1", "limit=0", "limit=99999", "after=x", "before=1.5", "more=1"])
async def test_what_the_log_is_not_asked(here: Here, query: str):
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        assert (await person.get(f"/api/activity?{query}")).status_code == 400
