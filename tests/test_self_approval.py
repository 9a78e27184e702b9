"""D08: an agent with its key tries every way there is to approve itself, to widen the policy, to read what is secret.

The routes are those that the daemon has, so that one added tomorrow is tried too: whatever opens for an agent's key
must be named here.
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import mcp_types as types
import pytest
import websockets
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import connect

from pilothouse.doors import questions
from pilothouse.guard.keys import Keys
from pilothouse.guard.policy import Decision, Question
from tests.daemon_here import Here, daemon_here
from tests.doors.wires import ENVELOPE, line
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D08", "D07")

# What the daemon's routes give to an agent. All of it but the tools' addresses only reads the agent's own.
OPEN_TO_AGENTS = {
    "/metrics", "/commands", "/ws-message", "/api/{path:path}", "/api/browser/{session}/follow",
}  # fmt: skip
NO_KEY_OPENS = {"/bridge"}  # only the extension comes there, by its Origin: whoever else tries is nobody for the log
# Files without data, and a door that takes a ticket that only a person can make.
OPEN_TO_AGENTS |= {"/", "/dashboard", "/dashboard/enter", "/ui/{name}"}
PERSONS = {"/api/approvals", "/api/approvals/{id}", "/api/approvals/live", "/api/grants", "/api/grants/{id}"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TOOLS = (
    "approve", "approvals", "allow", "answer", "answer_approval", "approve_call", "grant", "grants", "revoke", "set_policy",
    "update_policy", "add_rule", "get_secret", "read_secret", "list_secrets", "person_key", "get_key", "add_key", "read_log",
)  # fmt: skip
ASK = Decision(verdict="ask", rule="rule of the test", risk="low")
CALL = {"name": "self-approved"}


def decide(question: Question) -> Decision | None:
    """Everything else is as the real policy has it."""
    return ASK if question.tool == "create_profile" else None


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    async with daemon_here(tmp_path_factory.mktemp("here")) as one:
        one.decide = decide
        yield one


@pytest.fixture
async def agent(here: Here, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setattr(questions, "PATIENCE_S", 0.05)
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.agent}, timeout=20) as one:
        yield one


@pytest.fixture
async def ident(here: Here, agent: httpx.AsyncClient) -> AsyncIterator[str]:
    """A question of the agent's own. Whatever the test tries, it is open in the end, and nothing has happened."""
    before = _fixed(here.home)
    answer = await agent.post("/api/profiles", json=CALL, headers={"Prefer": "respond-async"})
    ident = answer.json()["error"]["details"]["approval"]
    here.gate.approvals._by_id[ident].ends_at += 600
    yield ident
    assert [one["id"] for one in here.gate.approvals.pending()] == [ident]
    assert here.gate.approvals.grants() == []
    assert (await agent.get("/api/profiles")).json()["data"]["profiles"] == []
    assert _fixed(here.home) == before
    assert not [one for one in here.records() if one.get("kind") == "approval_allowed"]
    here.gate.approvals._end(here.gate.approvals._by_id[ident], "withdrawn", why="the test is over")


def _fixed(home: Path) -> dict[str, str]:
    """The files that only a person changes."""
    kept = [path for path in home.rglob("*") if path.suffix in (".key", ".toml") and path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept if "sessions" not in path.parts}


def _filled(path: str, ident: str) -> str:
    return re.sub(r"\{[^}]*\}", ident, path.replace("{n:int}", "1"))


def _mentions(here: Here, since: int, *words: str) -> bool:
    return any(all(word in json.dumps(one) for word in words) for one in here.records()[since:])


def _bodies(ident: str) -> list[Any]:
    return [{"answer": "allow"}, {"id": ident, "answer": "allow", "scope": "session", "by": "person"}]


async def test_every_route_and_method(here: Here, agent: httpx.AsyncClient, ident: str):
    tried: set[str] = set()
    for route in (one for one in here.routes if isinstance(one, Route)):
        for method in METHODS:
            for body in _bodies(ident) if method in ("POST", "PUT", "PATCH") else [None]:
                since = len(here.records())
                path = _filled(route.path, ident)
                answer = await agent.request(method, path, json=body, params={"answer": "allow", "who": "person"})
                _holds_no_secret(here, answer)
                if route.path in OPEN_TO_AGENTS:
                    continue
                if route.methods and method not in route.methods:  # it falls through to the tools' addresses
                    assert answer.status_code in (403, 404, 405), f"{method} {route.path}: {answer.text[:300]}"
                    continue
                assert answer.status_code == 403, f"{method} {route.path} opens for an agent: {answer.text[:300]}"
                assert route.path in NO_KEY_OPENS or _mentions(here, since, path), f"{method} {path} is not in the log"
                tried.add(route.path)
    assert PERSONS - {"/api/approvals/live"} <= tried


async def test_every_address_that_could_mean_it(here: Here, agent: httpx.AsyncClient, ident: str):
    """The tools' addresses take any name: none of them is a way to a person's doors."""
    words = ("approvals", "grants", "policy", "secrets", "keys", "person", "log", "audit", "config", "person.key")
    tails = ("", f"/{ident}", f"/{ident}/allow", "/live")
    for word, tail in itertools.product(words, tails):
        for path in (
            f"/api/tools/{word}{tail}",
            f"/api/browser/-/{word}{tail}",
            f"/api//{word}{tail}",
            f"/{word}{tail}",
        ):
            answer = await agent.post(path, json={"answer": "allow"})
            assert answer.status_code in (401, 403, 404, 405), f"{path}: {answer.text[:300]}"
            _holds_no_secret(here, answer)
    for path in (
        "/api/docs/../../person.key",
        "/api/docs/%2e%2e/person.key",
        "/person.key",
        "/api/docs/..%2f..%2fperson.key",
    ):
        _holds_no_secret(here, await agent.get(path))


async def test_every_way_to_say_who_one_is(here: Here, agent: httpx.AsyncClient, ident: str):
    forged = [
        {"pilothouse.who": "person"},
        {"X-Pilothouse-Who": "person"},
        {"Authorization": "Bearer person"},
        {"Authorization": f"Bearer {here.agent}", "X-API-Key": "person"},
        {"Authorization": f"Bearer {here.agent} person"},
        {"X-API-Key": here.agent, "Sec-WebSocket-Protocol": "pilothouse.key.person"},
        {"X-Forwarded-User": "person", "X-Forwarded-For": "127.0.0.1"},
        {"X-HTTP-Method-Override": "POST", "X-Original-URL": "/health"},
        {"Cookie": f"key={here.agent}; who=person"},
        {"Origin": here.url},
    ]
    for headers in forged:
        answer = await agent.post(f"/api/approvals/{ident}", json={"answer": "allow"}, headers=headers)
        assert answer.status_code in (401, 403), f"{headers}: {answer.text[:300]}"
    for path in (
        "/health/../api/approvals",
        "/api/approvals/",
        "//api/approvals",
        "/api/approvals;x",
        "/API/approvals",
    ):
        assert (await agent.get(path)).status_code in (307, 403, 404), path


async def _answer_by_socket(address: str, ident: str, how: dict[str, Any]) -> None:
    async with connect(address, **how) as opened:
        await opened.send(json.dumps({"id": ident, "answer": "allow"}))
        await opened.recv()


async def test_every_socket(here: Here, ident: str):
    found = {one.path for one in here.routes if isinstance(one, WebSocketRoute)}
    assert "/api/approvals/live" in found
    for path in found | {"/api/approvals", f"/api/approvals/{ident}", "/api/grants", "/api/policy", "/mcp"}:
        hows: list[dict[str, Any]] = [
            {"additional_headers": {"X-API-Key": here.agent}},
            {"subprotocols": ["pilothouse", f"pilothouse.key.{here.agent}"]},
        ]
        for how in hows:
            since = len(here.records())
            address = here.url.replace("http", "ws") + _filled(path, ident)
            closed = (websockets.InvalidStatus, websockets.ConnectionClosed)
            with contextlib.suppress(*closed) if path in OPEN_TO_AGENTS else pytest.raises(closed):
                await _answer_by_socket(address, ident, how)
            if path in found - OPEN_TO_AGENTS - NO_KEY_OPENS:
                assert _mentions(here, since, _filled(path, ident)), f"the socket {path} is not in the log"


async def test_every_tool_that_there_is_not(here: Here, agent: httpx.AsyncClient, ident: str):
    since = len(here.records())
    for name in TOOLS:
        answer = await agent.post(f"/api/tools/{name}", json={"id": ident, "answer": "allow"})
        assert answer.status_code == 404
    async with mcp(here, "legacy") as client, line(here.socket, door="call", terminal="attack") as local:
        for name in TOOLS:
            with pytest.raises(Exception, match="no tool called"):
                await client.call_tool(name, {"id": ident, "answer": "allow"})
            told = await local.ask({"tool": name, "args": {"id": ident, "answer": "allow"}, "id": 1})
            assert told["answer"]["data"]["error"]["code"] == "unknown_tool"
    tried = [json.dumps(one) for one in here.records()[since:]]
    for name in TOOLS:  # once by each door
        assert sum(f'"{name}"' in one and "unknown_tool" in one for one in tried) == 3, name


async def test_no_tool_takes_an_answer(here: Here):
    """A tool of that kind would be a hole whatever it does: none is called so, and none takes such arguments."""
    for tool in here.gate.registry:
        assert not re.search(r"approv|grant(?!_perm)|policy|secret|person", tool.name), tool.name


async def test_every_line_to_the_local_socket(here: Here, ident: str):
    since = len(here.records())
    for door in ("approvals", "person", "policy", "rest", "grants", ""):
        async with line(here.socket, door=door) as opened:
            assert "no door called" in opened.hello["error"]
        assert _mentions(here, since, "door_refused", f'"{door}"')
    answers = (
        {"id": 1, "answer": "allow", "approval": ident},
        {"tool": "create_profile", "args": CALL, "approved": True},
        {"tool": "create_profile", "args": {**CALL, "approval": ident}},
        {"tool": "create_profile", "args": CALL, "who": "person"},
    )
    async with line(here.socket, door="call", terminal="attack", who="person", key=here.agent) as opened:
        for answer in answers:
            told = await opened.ask({"id": 1, **answer})
            assert told["answer"]["failed"], answer
            assert told["answer"]["data"]["error"]["code"] == "bad_request", answer


async def test_repeating_the_call_is_no_answer(here: Here, agent: httpx.AsyncClient, ident: str):
    async def call(**more: Any) -> httpx.Response:
        return await agent.post("/api/profiles", json={**CALL, **more}, headers={"Prefer": "respond-async"})

    answers = await asyncio.gather(*(call() for _ in range(30)))
    assert {one.json()["error"]["details"]["approval"] for one in answers} == {ident}
    for extra in ({"approved": True}, {"approval": ident}, {"answer": "allow"}, {"_approved": ident}):
        assert (await call(**extra)).status_code == 400


# The returned question, and forms


@contextlib.asynccontextmanager
async def mcp(here: Here, mode: str, **more: Any) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {here.agent}"}, timeout=30) as http:
        transport = streamable_http_client(f"{here.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=20, **more) as made:  # pyright: ignore[reportArgumentType]
            yield made


async def _says_yes(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": "allow"})


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_agent_that_plays_its_own_user(here: Here, ident: str, mode: str):
    async with mcp(here, mode, elicitation_callback=_says_yes) as client:
        for _ in range(3):
            result = await client.call_tool("create_profile", CALL)
            assert result.structured_content["error"]["details"]["approval"] == ident


async def test_answering_a_question_that_was_not_put(here: Here, ident: str):
    yes = {"action": "accept", "content": {"answer": "allow"}}
    names = ("approval", ident, "answer", "elicitation")
    async with line(here.socket) as opened:
        for number, name in enumerate(names):
            since = len(here.records())
            params = {"name": "create_profile", "arguments": CALL, "_meta": ENVELOPE, "inputResponses": {name: yes}}
            told = await opened.call("tools/call", params, id=f"m{number}")
            assert told["result"]["structuredContent"]["error"]["details"]["approval"] == ident
            assert _mentions(here, since, "answer_ignored"), name
        for state in (ident, "", "x" * 5000, json.dumps({"id": ident}), ident.encode().hex()):
            since = len(here.records())
            params = {
                "name": "create_profile", "arguments": CALL, "_meta": ENVELOPE,
                "inputResponses": {"approval": yes}, "requestState": state,
            }  # fmt: skip
            told = await opened.call("tools/call", params, id=f"s{state[:9]}")
            assert "error" in told
            assert _mentions(here, since, "answer_ignored"), state


async def test_answers_to_guessed_requests(here: Here, ident: str):
    """A client that answers what it was never asked, under the numbers that we would use."""
    async with line(here.socket) as opened:
        await opened.initialize()
        for number in range(1, 50):
            result = {"action": "accept", "content": {"answer": "allow"}}
            opened.send({"jsonrpc": "2.0", "id": f"pilothouse-{number}", "result": result})
        told = await opened.call("tools/call", {"name": "create_profile", "arguments": CALL})
        assert told["result"]["structuredContent"]["error"]["details"]["approval"] == ident


async def test_what_clients_may_answer_is_not_for_agents_to_say(here: Here, ident: str):
    hello = {"client_answers": "medium", "approvals": {"client_answers": "medium"}, "mode": "auto", "policy": "sandbox"}
    async with line(here.socket, **hello) as opened:
        await opened.initialize()
        told = await opened.call("tools/call", {"name": "create_profile", "arguments": CALL})
        assert told["result"]["structuredContent"]["error"]["details"]["client_may_answer"] is False


# Through the browser


async def test_through_the_browser(here: Here, agent: httpx.AsyncClient, ident: str, site: PageServer):
    port = here.url.rpartition(":")[2]
    session = (await agent.post("/api/tools/open_session", json={})).json()["data"]["session"]

    async def call(tool: str, **args: Any) -> httpx.Response:
        return await agent.post(f"/api/browser/{session}/{tool}", json=args)

    addresses = [
        f"{here.url}/api/approvals",
        f"http://localhost:{port}/api/approvals",
        f"http://[::1]:{port}/api/approvals",
        f"http://2130706433:{port}/api/approvals",
        f"http://0.0.0.0:{port}/",
        f"file://{here.home}/person.key",
        f"view-source:file://{here.home}/person.key",
        "devtools://devtools/bundled/inspector.html",
    ]
    for address in addresses:
        since = len(here.records())
        answer = await call("navigate", url=address)
        assert answer.status_code in (400, 403, 502), f"{address}: {answer.text[:300]}"
        _holds_no_secret(here, answer)
        assert _mentions(here, since, "navigate"), address
    assert (await call("navigate", url=site.inline("<input type=file>"))).status_code == 200
    answer_it = f"""await fetch("{here.url}/api/approvals/{ident}", {{
        method: "POST", mode: "no-cors", headers: {{"x-api-key": "{here.agent}"}}, body: '{{"answer": "allow"}}'
    }})"""
    assert (await call("evaluate_js", expression=f"(async () => {answer_it})()")).status_code == 422
    for path in (here.home / "person.key", here.home / "sessions" / ".." / "person.key"):
        answer = await call("upload_file", target="input", paths=[str(path)])
        assert answer.status_code >= 400, path
        _holds_no_secret(here, answer)
    await agent.post("/api/tools/close_session", json={"session": session})


@promise("D05", "D11")
async def test_a_key_that_comes_up_somewhere_is_masked(here: Here, agent: httpx.AsyncClient, site: PageServer):
    """Whatever way led to it: a page that holds it is one."""
    session = (await agent.post("/api/tools/open_session", json={})).json()["data"]["session"]
    new = Keys(here.home).add("masked").secret
    await agent.post("/api/tools/save_state", json={"session": session, "name": "masked"})
    state = (here.home / "state.key").read_text().strip()
    told = {"person": here.person, "agent:default": here.agent, "agent:masked": new, "": state}
    page = "".join(f"<p>{secret}</p>" for secret in told.values())
    await agent.post(
        f"/api/browser/{session}/navigate", json={"url": site.inline(f"{page}<script>{here.person}</script>")}
    )
    text, log = [
        (await agent.post(f"/api/browser/{session}/{tool}", json={})).text
        for tool in ("get_page_text", "get_console_logs")
    ]
    for name, secret in told.items():
        assert secret not in text + log
        assert (f"[secret:key of {name}]" if name else "[secret:key of the saved states]") in text
    await agent.post("/api/tools/close_session", json={"session": session})


def _holds_no_secret(here: Here, answer: httpx.Response) -> None:
    assert here.person not in answer.text
    for path in here.home.glob("*.key"):
        if path.name != "agent.key":
            assert path.read_text("utf-8", "replace").strip() not in answer.text
