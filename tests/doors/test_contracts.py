"""E07, B05, B07: the contracts of the single daemon, over real HTTP, with a real browser and the official client."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from pilothouse.call import Caller
from pilothouse.doors.contracts import LOGGER, MAX_MESSAGE_BYTES, TYPES, Contracts
from pilothouse.doors.herald import MAX_UNSENT
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.doors.mcp import McpDoor
from pilothouse.doors.rest import RestDoor
from pilothouse.guard.policy import Decision, Question
from pilothouse.guard.rates import Rates
from pilothouse.options import Config, Server
from pilothouse.tool import Access
from tests.daemon_here import ALLOW, daemon_here, policy_says
from tests.house import House
from tests.processes import ENGINE
from tests.promises import promise
from tests.server import PageServer

from .test_mcp import until
from .wires import INITIALIZE, MODERN

pytestmark = [
    promise("E07"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
_numbers = itertools.count(1)
Wire = dict[str, Any]


class Notes:
    """What an audit log was told that is no call."""

    def __init__(self) -> None:
        self.notes: list[Wire] = []

    def note(self, kind: str, **fields: Any) -> None:
        self.notes.append({"kind": kind, **fields})


class Talker:
    """An MCP client of the old generation: what it hears, by which id it is known."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.id = ""
        self.heard: list[tuple[str, str, Any]] = []
        self.listens = asyncio.Event()

    async def call(self, tool: str, **args: Any) -> Wire:
        result = await self.client.call_tool(tool, args)
        assert not result.is_error, result.content
        return result.structured_content or {}


class Town:
    """The house with its doors, and a key of its own, so that no other test's session is reached."""

    def __init__(self, house: House, url: str, door: McpDoor, rates: Rates, notes: Notes) -> None:
        self.house, self.url, self.door, self.rates, self.notes = house, url, door, rates, notes
        self.key = f"contract-{next(_numbers)}"
        self.http = httpx.AsyncClient(base_url=url, headers={"X-API-Key": self.key}, timeout=30)

    async def post(self, path: str, body: Any, instance: str = "", tab: str = "", **headers: str) -> httpx.Response:
        named = {"X-Instance-ID": instance, "X-Tab-ID": tab, **headers}
        return await self.http.post(path, json=body, headers={name: value for name, value in named.items() if value})

    async def command(
        self, instance: str, kind: str, payload: Wire | None = None, tab: str = "", ident: Any = 1, **headers: str
    ) -> httpx.Response:
        body = {"id": ident, "type": kind, "payload": payload or {}}
        return await self.post("/commands", body, instance, tab, **headers)

    async def done(self, instance: str, kind: str, payload: Wire | None = None, tab: str = "") -> Wire:
        answer = await self.command(instance, kind, payload, tab)
        assert answer.status_code == 200, answer.text
        return answer.json()["payload"]

    async def message(self, instance: str, kind: str = "console", tab: str = "", **payload: Any) -> httpx.Response:
        return await self.post("/ws-message", {"messageId": "m1", "type": kind, "payload": payload}, instance, tab)

    async def open_session(self) -> str:
        answer = await self.http.post("/api/tools/open_session", json={})
        return answer.json()["data"]["session"]

    async def current(self, session: str) -> str:
        listed = await self.done(session, "list_tabs")
        return next(tab["tab"] for tab in listed["tabs"] if tab["current"])

    @contextlib.asynccontextmanager
    async def talker(self, mode: str = "legacy", **options: Any) -> AsyncIterator[Talker]:
        """An official client, which has opened its stream for notices if it is one of the old generation."""

        async def seen(response: httpx2.Response) -> None:
            made.id = response.headers.get("mcp-session-id", made.id)
            if response.request.method == "GET" and response.status_code == 200:
                made.listens.set()

        async def on_log(params: Any) -> None:
            made.heard.append((params.level, params.logger, params.data))

        headers = {"Authorization": f"Bearer {self.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30, event_hooks={"response": [seen]}) as http:
            transport: Any = streamable_http_client(f"{self.url}/mcp", http_client=http)
            client = Client(transport, mode=mode, read_timeout_seconds=30, logging_callback=on_log, **options)
            made = Talker(client)
            async with client:
                if mode == "legacy":
                    await asyncio.wait_for(made.listens.wait(), 10)
                yield made


def who(secret: str) -> str | None:
    return "person" if secret == "person" else f"agent:{secret}" if secret.startswith("contract-") else None


@contextlib.asynccontextmanager
async def doors(house: House, *, debug: bool = True) -> AsyncIterator[Town]:
    door, over, started = McpDoor(house.gate), asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with door.run():
            started.set()
            await over.wait()
            door.close_streams()

    async def mcp() -> McpDoor:
        return door

    async def herald() -> Any:
        return door.herald

    rates, notes, living = Rates(), Notes(), asyncio.create_task(live())
    await started.wait()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    contracts = Contracts(house.gate, herald, rates, notes, debug=debug)
    routes = [*contracts.routes(), *RestDoor(house.gate).routes()]
    http = HttpDoor(build_app(mcp, who, port=port, routes=routes))
    await http.listen(listener)
    town = Town(house, f"http://127.0.0.1:{port}", door, rates, notes)
    async with town.http:
        yield town
    for session in house.sessions.of((town.key, "")):
        await house.sessions.close(session)
    over.set()
    await http.close()
    await living


@pytest.fixture
async def town(house: House) -> AsyncIterator[Town]:
    async with doors(house) as made:
        yield made


def code(answer: httpx.Response) -> tuple[int, str]:
    told = answer.json()
    assert told["success"] is False
    assert told["error"]["suggestions"], "no next step"
    return answer.status_code, told["error"]["code"]


# Commands


async def test_a_command_works_where_the_mcp_client_works(town: Town, site: PageServer):
    async with town.talker() as talker:
        await talker.call("navigate", url=site.url("small.html"))
        answer = await town.command(talker.id, "browser_navigate", {"url": site.url("form.html")}, ident="a-7")
        told = answer.json()
        assert (answer.status_code, told["success"], told["id"]) == (200, True, "a-7")
        assert (told["payload"]["url"], told["payload"]["tabId"]) == (site.url("form.html"), "t1")
        assert (await talker.call("get_current_url"))["url"] == site.url("form.html")
        ran = await town.done(talker.id, "js.execute", {"code": "6 * 7", "tabId": "t1"}, tab="t1")
        assert (ran["value"], ran["tabId"]) == (42, "t1")
        assert (await town.done(talker.id, "browser_wait", {"time": 0.01}))["waited_ms"] == 10


async def test_a_session_is_named_by_its_handle_whichever_door_of_the_key_opened_it(town: Town, site: PageServer):
    rest = await town.open_session()
    async with town.talker() as talker:
        mine = (await talker.call("navigate", url=site.url("small.html")))["session"]
        for session in (rest, mine):
            payload = {"url": site.url("form.html"), "sessionId": session}
            assert (await town.done(session, "navigate", payload))["tabId"] == "t1"
        other = await town.command(rest, "navigate", {"url": site.url("form.html"), "session": mine})
        assert code(other) == (400, "bad_request")
        assert (await talker.call("get_current_url"))["url"] == site.url("form.html")


@promise("B07")
async def test_a_tab_is_named_without_becoming_the_current_one(town: Town, site: PageServer):
    session = await town.open_session()
    await town.done(session, "browser_navigate", {"url": site.url("small.html")})
    opened = await town.done(session, "tabs.new", {"url": site.url("form.html")})
    assert (opened["tab"], opened["tabId"]) == ("t2", "t2")
    assert (await town.done(session, "get_current_url", tab="t1"))["url"] == site.url("small.html")
    assert await town.current(session) == "t2"
    # A client that always sends where it is may still say where it goes.
    assert (await town.done(session, "tabs.select", {"tabId": "t1"}, tab="t2"))["tabId"] == "t1"
    assert await town.current(session) == "t1"
    assert (await town.done(session, "tabs.close", tab="t2"))["tabId"] == "t1"
    gone = await town.command(session, "get_current_url", tab="t2")
    assert code(gone) == (404, "not_found")


@promise("B07")
async def test_a_tab_must_be_of_that_session_whatever_the_tool(town: Town):
    one, two = await town.open_session(), await town.open_session()
    await town.done(two, "tabs.new")
    for kind in ("get_current_url", "list_tabs", "browser_wait"):
        assert code(await town.command(one, kind, {"time": 0.01} if "wait" in kind else {}, tab="t2")) == (
            404,
            "not_found",
        )
        assert code(await town.message(one, tab="t2")) == (404, "not_found")


@promise("B05")
async def test_others_and_nobodys_sessions_are_404(town: Town, site: PageServer):
    handle = await town.open_session()
    stranger = {"X-API-Key": f"{town.key}-stranger"}
    async with town.talker() as talker:
        silent = await town.command(talker.id, "list_tabs")
        assert code(silent) == (404, "not_found")
        assert "no browser open" in silent.json()["error"]["message"]
        await talker.call("navigate", url=site.url("small.html"))
        for instance in (handle, talker.id):
            assert (await town.command(instance, "list_tabs")).status_code == 200
            assert code(await town.command(instance, "list_tabs", None, **stranger)) == (404, "not_found")
            body = {"messageId": 1, "type": "console"}
            assert code(await town.post("/ws-message", body, instance, **stranger)) == (404, "not_found")
            shown = await town.http.get(f"/debug/session/{instance}", headers=stranger)
            assert code(shown) == (404, "not_found")
    for instance in ("nobody", talker.id, "t1"):
        assert code(await town.command(instance, "list_tabs")) == (404, "not_found")
        assert code(await town.message(instance)) == (404, "not_found")
    assert (await town.done(handle, "close_session"))["tabId"] is None
    assert code(await town.command(handle, "list_tabs")) == (404, "not_found")


async def test_a_client_with_several_sessions_has_to_say_which(town: Town):
    async with town.talker() as talker:
        handles = [(await talker.call("open_session"))["session"] for _ in range(2)]
        answer = await town.command(talker.id, "list_tabs")
        assert code(answer) == (400, "bad_request")
        assert answer.json()["error"]["details"]["sessions"] == handles
        assert (await town.message(talker.id)).json()["told"] == 1
        await until(lambda: talker.heard)


async def test_what_takes_too_long_is_504(town: Town, site: PageServer):
    session = await town.open_session()
    await town.done(session, "navigate", {"url": site.url("small.html")})
    answer = await town.command(session, "wait_for", {"text": "never there", "timeout": 100}, ident=9)
    assert (*code(answer), answer.json()["id"]) == (504, "timeout", 9)
    assert code(await town.command(session, "js.execute", {"code": "while (1);", "timeout": 300})) == (504, "timeout")
    assert (await town.done(session, "js.execute", {"code": "1"}))["value"] == 1


async def test_a_browser_that_goes_away_is_404(tmp_path: Any, site: PageServer):
    own = House(tmp_path, chrome=ENGINE)
    async with doors(own) as town:
        session = await town.open_session()
        await town.done(session, "navigate", {"url": site.url("small.html")})
        waiting = asyncio.create_task(town.command(session, "wait_for", {"text": "never there", "timeout": 20_000}))
        (found,) = own.sessions.of((town.key, ""))
        await until(lambda: found.busy)
        chrome = own.pool._chrome
        assert chrome
        os.killpg(getattr(chrome, "pid"), signal.SIGKILL)  # noqa: B009
        assert code(await asyncio.wait_for(waiting, 10)) == (404, "browser_gone")
        assert (await town.done(session, "navigate", {"url": site.url("small.html")}))["tabId"] == "t2"  # a new browser
    await own.close()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"type": "list_tabs"},
        {"id": 1},
        {"id": True, "type": "list_tabs"},
        {"id": None, "type": "list_tabs"},
        {"id": 1.5, "type": "list_tabs"},
        {"id": "", "type": "list_tabs"},
        {"id": "x" * 201, "type": "list_tabs"},
        {"id": 2**60, "type": "list_tabs"},
        {"id": 1, "type": ""},
        {"id": 1, "type": 5},
        {"id": 1, "type": "x" * 129},
        {"id": 1, "type": "list_tabs", "payload": []},
        {"id": 1, "type": "list_tabs", "payload": None},
        {"id": 1, "type": "list_tabs", "tab": "t1"},
        {"id": 1, "type": "list_tabs", "payload": {"nonsense": 1}},
    ],
)
async def test_a_body_that_is_no_command_is_told_what_is_one(town: Town, body: Any):
    session = await town.open_session()
    assert code(await town.post("/commands", body, session)) == (400, "bad_request")


async def test_the_session_must_be_named_once(town: Town):
    body = {"id": 1, "type": "list_tabs"}
    for path, sent in (("/commands", body), ("/ws-message", {"messageId": 1, "type": "x"})):
        assert code(await town.post(path, sent)) == (400, "bad_request")
        twice = await town.http.post(path, json=sent, headers=[("X-Instance-ID", "a"), ("X-Instance-ID", "b")])
        assert code(twice) == (400, "bad_request")


async def test_an_unknown_type_is_told_and_one_without_a_session_sent_elsewhere(town: Town):
    session = await town.open_session()
    unknown = await town.command(session, "list_tab")
    assert code(unknown) == (404, "unknown_tool")
    assert "did you mean list_tabs?" in unknown.json()["error"]["suggestions"]
    elsewhere = await town.command(session, "open_session")
    assert code(elsewhere) == (404, "not_found")
    assert elsewhere.json()["error"]["suggestions"] == ["use /api/tools/open_session"]


def test_every_alias_means_a_tool_of_a_session(house: House):
    registry = house.gate.registry
    for seed in ("browser_navigate", "js.execute", "browser_wait", *TYPES.values()):
        assert registry.find(seed).needs_session
    assert not TYPES.keys() & {tool.name for tool in registry}
    page = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text("utf-8")
    assert not [one for one in TYPES if f"`{one}`" not in page]
    assert not [one for one in TYPES.values() if f"`{one}`" not in page]


async def test_one_id_is_in_flight_once(town: Town, site: PageServer, house: House):
    one, two = await town.open_session(), await town.open_session()
    first = asyncio.create_task(town.command(one, "wait_for", {"text": "never", "timeout": 20_000}, ident="same"))
    found = house.gate.reach(town.key, one)
    assert found
    await until(lambda: found.busy)
    assert code(await town.command(one, "list_tabs", ident="same")) == (409, "in_use")
    assert (await town.command(one, "list_tabs", ident="other")).status_code == 200
    assert (await town.command(two, "list_tabs", ident="same")).status_code == 200
    first.cancel()  # who hangs up ends its command, and the id is free again
    await until(lambda: not found.busy)
    assert (await town.command(one, "list_tabs", ident="same")).status_code == 200
    assert (await town.command(one, "list_tabs", ident="same")).status_code == 200  # one after the other, any number


async def test_a_picture_comes_along(town: Town, site: PageServer):
    session = await town.open_session()
    await town.done(session, "navigate", {"url": site.url("small.html")})
    told = (await town.command(session, "browser_screenshot")).json()
    assert told["images"][0]["data"]
    assert told["payload"]["tabId"] == "t1"


# What holds everywhere holds here


@promise("D01")
async def test_the_policy_holds(town: Town, site: PageServer, monkeypatch: pytest.MonkeyPatch):
    session = await town.open_session()
    await town.done(session, "navigate", {"url": site.url("small.html")})
    denied = Decision(verdict="deny", rule="no scripts", why="no scripts here")
    policy_says(monkeypatch, lambda question: denied if question.tool == "evaluate_js" else ALLOW)
    assert code(await town.command(session, "js.execute", {"code": "1"})) == (403, "denied")


@promise("D07")
async def test_a_person_is_asked_and_who_does_not_wait_is_told(
    town: Town, house: House, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    session = await town.open_session()
    await town.done(session, "navigate", {"url": site.url("small.html")})

    def decide(question: Question) -> Decision:
        asks = question.access is Access.SENSITIVE
        return Decision(verdict="ask", rule="rule of the test", risk="medium", why="script") if asks else ALLOW

    policy_says(monkeypatch, decide)
    hurried = await town.command(session, "js.execute", {"code": "40"}, Prefer="respond-async")
    assert code(hurried) == (202, "approval_pending")
    await house.approvals.answer(hurried.json()["error"]["details"]["approval"], "allow")
    assert (await town.done(session, "js.execute", {"code": "40"}))["value"] == 40


@promise("D11", "D13", "D09")
async def test_calls_are_counted_written_down_and_redacted(
    town: Town, house: House, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    session = await town.open_session()
    await town.done(session, "navigate", {"url": site.url("small.html")})
    secret = "ghp_" + "a1B2" * 9
    ran = await town.command(session, "js.execute", {"code": f"'{secret}'"})
    assert ran.status_code == 200
    assert secret not in ran.text
    lines = [json.loads(line) for line in (house.home / "audit.jsonl").read_text().splitlines()]
    assert any(line.get("caller") == town.key and line.get("tool") == "evaluate_js" for line in lines)
    monkeypatch.setattr(house.gate, "_rates", Rates(1))
    assert (await town.command(session, "list_tabs")).status_code == 200
    limited = await town.command(session, "list_tabs")
    assert code(limited) == (429, "over_limit")


async def test_only_an_agents_key_opens_it_and_only_by_post(town: Town):
    for path in ("/commands", "/ws-message"):
        assert code(await town.post(path, {}, "x", **{"X-API-Key": "wrong"})) == (401, "unauthorized")
        assert code(await town.post(path, {}, "x", **{"X-API-Key": "person"})) == (403, "unauthorized")
        got = await town.http.get(path)
        assert (*code(got), got.headers["allow"]) == (405, "bad_request", "POST")
        plain = await town.http.post(path, content="{}", headers={"X-Instance-ID": "x"})
        assert code(plain) == (415, "bad_request")


# Messages


async def test_a_message_reaches_the_client_as_a_log_notification(town: Town, site: PageServer):
    async with town.talker() as talker, town.talker() as other:
        session = (await talker.call("navigate", url=site.url("small.html")))["session"]
        tab = await town.current(session)
        answer = await town.message(session, "console.snapshot", tab=tab, text="it broke", level="error")
        assert answer.status_code == 202, answer.text
        assert (answer.json()["messageId"], answer.json()["told"]) == ("m1", 1)
        await until(lambda: talker.heard)
        level, logger, data = talker.heard[0]
        assert (level, logger) == ("error", LOGGER)
        assert data == {
            "messageId": "m1",
            "type": "console.snapshot",
            "session": session,
            "tabId": tab,
            "payload": {"text": "it broke", "level": "error"},
        }
        assert (await town.message(talker.id, "by the client's id")).json()["told"] == 1
        await until(lambda: len(talker.heard) == 2)
        assert talker.heard[1][:2] == ("info", LOGGER)
        assert other.heard == []


async def test_the_clients_level_holds(town: Town):
    async with town.talker() as talker:
        await talker.client.set_logging_level("warning")
        assert (await town.message(talker.id, level="info")).json()["told"] == 0
        assert (await town.message(talker.id, level="nonsense")).json()["told"] == 0
        assert (await town.message(talker.id, level="critical")).json()["told"] == 1
        await until(lambda: talker.heard)
        assert [one[0] for one in talker.heard] == ["critical"]


async def test_a_request_of_the_new_generation_that_asks_for_logs_hears_it(town: Town, site: PageServer):
    session = await town.open_session()  # of the key: clients of the new generation have no connection
    found = town.house.gate.reach(town.key, session)
    assert found
    await town.done(session, "navigate", {"url": site.url("small.html")})
    assert (await town.message(session)).json()["told"] == 0
    async with town.talker(MODERN, log_level="info") as talker:
        call = asyncio.create_task(talker.call("wait_for", text="now it is there", timeout_ms=20_000))
        await until(lambda: found.busy)
        assert (await town.message(session, text="now")).json()["told"] == 1
        await until(lambda: talker.heard)
        assert talker.heard[0][2]["payload"] == {"text": "now"}
        await town.done(session, "js.execute", {"code": "document.body.append('now it is there')"})
        await call


@promise("B07")
async def test_no_event_moves_the_current_tab(town: Town, house: House, site: PageServer):
    async with town.talker() as talker:
        await talker.call("navigate", url=site.url("small.html"))
        await talker.call("new_tab", url=site.url("form.html"))
        await town.done(talker.id, "js.execute", {"code": "void window.open('/table.html')"}, tab="t1")
        session = house.gate.reach(town.key, talker.id)
        assert session
        await until(lambda: len(session.tabs) == 3)
        for tab in ("t1", "t3"):
            answer = await town.message(talker.id, "tab.activated", tab=tab, tabId=tab)
            assert answer.status_code == 202
        await town.message(talker.id, "tab.activated", tabId="t1")
        await until(lambda: len([one for one in talker.heard if one[1] == LOGGER]) == 3)
        assert await town.current(session.id) == "t2"
        assert (await talker.call("get_current_url"))["url"] == site.url("form.html")


@promise("D11", "D13", "D09")
async def test_a_message_is_redacted_bounded_counted_and_written_down(town: Town):
    async with town.talker() as talker:
        secret = "ghp_" + "a1B2" * 9
        await town.message(talker.id, text=f"it is {secret}", password="hunter2")
        await until(lambda: talker.heard)
        assert secret not in str(talker.heard)
        assert "hunter2" not in str(talker.heard)
        noted = town.notes.notes[0]
        assert (noted["kind"], noted["caller"], noted["type"], noted["told"]) == ("message", town.key, "console", 1)
        assert secret not in str(noted)
        assert code(await town.message(talker.id, text="x" * MAX_MESSAGE_BYTES)) == (413, "over_limit")
        for body in ({"type": "x"}, {"messageId": 1}, {"messageId": 1, "type": "x", "more": 1}, []):
            assert code(await town.post("/ws-message", body, talker.id)) == (400, "bad_request")
        town.rates.per_minute = 1
        await town.message(talker.id)
        limited = await town.message(talker.id)
        assert (*code(limited), "retry-after" in limited.headers) == (429, "over_limit", True)
        await until(lambda: len(talker.heard) == 2)


async def test_a_client_that_does_not_read_is_told_no_more_than_it_can_keep(town: Town):
    class Deaf:
        state: Wire = {}

        async def notify(self, method: str, params: Any, opts: Any = None) -> None:
            await asyncio.Event().wait()

    town.door.herald.add("deaf", Deaf(), town.key)
    town.door.herald.add("another's", Deaf(), "another key")
    for number in range(MAX_UNSENT):
        accepted = await town.message("deaf")
        assert (accepted.status_code, accepted.json()["queueLength"]) == (202, number + 1)
    assert code(await town.message("deaf")) == (429, "over_limit")
    assert code(await town.message("another's")) == (404, "not_found")
    shown = (await town.http.get("/debug/session/deaf")).json()["data"]
    assert shown == {
        "session": None,
        "currentTabId": None,
        "tabs": [],
        "clientConnected": True,
        "queueLength": MAX_UNSENT,
    }
    town.door.herald.remove("deaf")


# Debugging


async def test_the_state_of_a_session_is_told_for_debugging(town: Town, house: House, site: PageServer):
    async with town.talker() as talker:
        session = (await talker.call("navigate", url=site.url("small.html")))["session"]
        await talker.call("new_tab", url=site.url("form.html"))
        for name in (session, talker.id):
            told = (await town.http.get(f"/debug/session/{name}")).json()
            assert told["success"] is True
            data = told["data"]
            assert (data["session"], data["currentTabId"], data["browser"]) == (session, "t2", "isolated")
            assert (data["clientConnected"], data["queueLength"], data["callsRunning"]) == (True, 0, 0)
            assert [(tab["tabId"], tab["url"]) for tab in data["tabs"]] == [
                ("t1", site.url("small.html")),
                ("t2", site.url("form.html")),
            ]
    lone = await town.open_session()
    assert (await town.http.get(f"/debug/session/{lone}")).json()["data"]["clientConnected"] is False
    assert code(await town.http.get("/debug/session/nobody")) == (404, "not_found")
    assert code(await town.http.post(f"/debug/session/{lone}", json={})) == (405, "bad_request")


async def test_a_forbidden_page_has_no_address_there(town: Town, house: House, site: PageServer, monkeypatch: Any):
    session = await town.open_session()
    await town.done(session, "navigate", {"url": site.url("small.html")})
    found = house.gate.reach(town.key, session)
    monkeypatch.setattr(found, "forbids", lambda url: True)
    (tab,) = (await town.http.get(f"/debug/session/{session}")).json()["data"]["tabs"]
    assert tab == {"tabId": "t1", "callsWaiting": 0}


# The whole daemon


@promise("E02", "E09")
async def test_the_daemon_has_them_and_the_rules_of_mcp_sessions_hold(home: Any, site: PageServer):
    settings = Config(server=Server(port=0, debug=True))
    async with daemon_here(home, settings) as here, httpx.AsyncClient(base_url=here.url, timeout=30) as http:
        assert (await http.get("/health")).json() == {"ok": True}
        http.headers.update({"Authorization": f"Bearer {here.agent}", "Accept": "application/json, text/event-stream"})
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        session = (await http.post("/mcp", json=opening)).headers["mcp-session-id"]
        ask: Wire = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
        ask["params"] = {"name": "navigate", "arguments": {"url": site.url("small.html")}}
        version = {"mcp-protocol-version": "2025-11-25"}
        named = {**version, "mcp-session-id": session}
        assert (await http.post("/mcp", json=ask, headers=version)).status_code == 400
        assert (await http.post("/mcp", json=ask, headers={**version, "mcp-session-id": "no"})).status_code == 404
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post("/mcp", json=ready, headers=named)).status_code == 202
        assert "small.html" in (await http.post("/mcp", json=ask, headers=named)).text
        command = {"id": 1, "type": "get_current_url", "payload": {}}
        instance = {"X-Instance-ID": session}
        told = (await http.post("/commands", json=command, headers=instance)).json()
        assert told["payload"] == {"url": site.url("small.html"), "tabId": "t1"}
        assert (await http.get(f"/debug/session/{session}")).json()["data"]["currentTabId"] == "t1"
        message = {"messageId": 1, "type": "x", "payload": {}}
        assert (await http.post("/ws-message", json=message, headers=instance)).status_code == 202
        assert here.notes("message")[0]["type"] == "x"
        assert (await http.delete("/mcp", headers=named)).status_code in (200, 204)
        assert (await http.post("/mcp", json=ask, headers=named)).status_code == 404
        assert (await http.post("/ws-message", json=message, headers=instance)).status_code == 404
        await until(lambda: not here.gate.session_ids(Caller("default", session, "mcp")))
        assert (await http.post("/commands", json=command, headers=instance)).status_code == 404


async def test_without_the_option_nothing_is_told_and_without_rest_no_command_is_taken(home: Any):
    settings = Config(server=Server(port=0, rest=False))
    async with daemon_here(home, settings) as here, httpx.AsyncClient(base_url=here.url) as http:
        http.headers["Authorization"] = f"Bearer {here.agent}"
        assert code(await http.get("/debug/session/x")) == (404, "not_found")
        for path in ("/commands", "/ws-message"):
            assert code(await http.post(path, json={}, headers={"X-Instance-ID": "x"})) == (404, "not_found")


async def test_debugging_is_off_unless_it_is_asked_for(house: House):
    async with doors(house, debug=False) as town:
        session = await town.open_session()
        assert (await town.http.get(f"/debug/session/{session}")).status_code == 404
    assert Server().debug is False
