"""Addresses that only a person may use: refused alike over HTTP and WebSockets, and nobody fills the log by trying."""

import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from pilothouse.doors import person
from pilothouse.doors.approvals import approval_routes
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.doors.person import PersonOnly
from pilothouse.doors.policy import PolicyDoor
from pilothouse.doors.secrets import secret_routes
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.policy import Policy
from pilothouse.guard.rulebook import NAME, Rulebook
from pilothouse.guard.secrets import Secrets
from pilothouse.guard.vault import Vault
from pilothouse.tool import Registry
from tests.promises import promise

from .conftest import PERSON, SECRET, who
from .test_rest_chromium import no_mcp

pytestmark = promise("D08", "D13")
FEW = 5


class Notes:
    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []

    def note(self, kind: str, **fields: Any) -> None:
        self.notes.append(fields)


class People:
    """Every door of the person's, on a port of their own."""

    def __init__(self, home: Any) -> None:
        self.notes = Notes()
        only, audit = PersonOnly(self.notes), Audit(home)
        secrets = Secrets(home, Vault(home))
        self.routes = [
            *PolicyDoor(Policy(), Rulebook(home / NAME), Registry([]), audit, only).routes(),
            *approval_routes(Approvals(), only),
            *secret_routes(secrets, audit, only),
        ]
        self.url = ""


@pytest.fixture
async def people(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[People]:
    monkeypatch.setattr(person, "TRIES_PER_MINUTE", FEW)
    made, listener = People(tmp_path), socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    made.url = f"127.0.0.1:{port}"
    http = HttpDoor(build_app(no_mcp, who, port=port, routes=made.routes))
    await http.listen(listener)
    yield made
    await http.close()


async def test_whoever_tries_without_end_leaves_no_more_than_a_few_lines(people: People):
    paths = [route.path.replace("{id}", "x").replace("{name}", "x") for route in people.routes if type(route) is Route]
    assert len(paths) >= 8
    async with httpx.AsyncClient(base_url=f"http://{people.url}", headers={"X-API-Key": SECRET}) as client:
        for path in paths:
            people.notes.notes.clear()
            answers = [await client.get(path) for _ in range(2)]
            assert {one.status_code for one in answers} <= {403, 429}
        statuses = [(await client.get("/api/policy")).status_code for _ in range(20)]
        assert statuses == [429] * 20
        assert people.notes.notes == []
        client.headers["X-API-Key"] = PERSON
        assert (await client.get("/api/policy")).json()["success"]
        assert (await client.post("/api/policy", json={})).headers["allow"] == "GET, PUT, PATCH"


async def test_an_agent_that_tries_is_written_down_whichever_door_it_is(people: People):
    async with httpx.AsyncClient(base_url=f"http://{people.url}", headers={"X-API-Key": SECRET}) as client:
        for path in ("/api/policy", "/api/approvals", "/api/secrets"):
            assert (await client.get(path)).json()["error"]["code"] == "unauthorized"
    assert [one["path"] for one in people.notes.notes] == ["/api/policy", "/api/approvals", "/api/secrets"]


@pytest.mark.parametrize(("key", "protocols", "status"), [(SECRET, [], 403), (PERSON, ["pilothouse.key.x"], 400)])
async def test_a_websocket_is_refused_before_it_is_one(people: People, key: str, protocols: list[Any], status: int):
    assert any(isinstance(route, WebSocketRoute) for route in people.routes)
    headers = {"Authorization": f"Bearer {key}"}
    with pytest.raises(InvalidStatus) as refused:
        async with connect(
            f"ws://{people.url}/api/approvals/live", additional_headers=headers, subprotocols=protocols or None
        ):
            pass
    assert refused.value.response.status_code == status
    assert b'"suggestions":["' in (refused.value.response.body or b"")


async def test_the_persons_websocket_is_answered(people: People):
    headers = {"Authorization": f"Bearer {PERSON}"}
    async with connect(f"ws://{people.url}/api/approvals/live", additional_headers=headers) as live:
        assert '"state"' in str(await live.recv())
