"""D07, D08: people answer over HTTP, agents wait or come again, on both generations of MCP; the whole daemon runs."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import mcp_types as types
import pytest
import websockets
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.asyncio.client import ClientConnection, connect

from pilothouse.doors import questions
from pilothouse.guard.policy import Decision
from tests.daemon_here import ALLOW, Here, asks_for_writes, daemon_here
from tests.promises import promise

from .wires import line

pytestmark = promise("D07", "D08")

HANDSHAKE, MODERN = "legacy", "2026-07-28"
# It changes something, and needs no browser.
CALL = {"name": "asked"}


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    async with daemon_here(tmp_path_factory.mktemp("here")) as one:
        yield one


@pytest.fixture(autouse=True)
async def anew(here: Here, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """No question, denial or answer of another test."""
    here.decide = asks_for_writes
    here.gate.approvals.adjust(timeout_s=60, client_answers="never")
    monkeypatch.setattr(questions, "PATIENCE_S", 0.05)
    yield
    for one in here.gate.approvals.pending():
        await here.gate.approvals.answer(one["id"], "deny")
    here.gate.approvals._denials.clear()
    here.gate.approvals._tickets.clear()
    (here.home / "config.toml").unlink(missing_ok=True)


def client(here: Here, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=here.url, headers={"Authorization": f"Bearer {key}"}, timeout=20)


@pytest.fixture
async def person(here: Here) -> AsyncIterator[httpx.AsyncClient]:
    async with client(here, here.person) as one:
        yield one


@pytest.fixture
async def agent(here: Here) -> AsyncIterator[httpx.AsyncClient]:
    async with client(here, here.agent) as one:
        yield one


async def asked(here: Here) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while not (found := here.gate.approvals.pending()):
            await asyncio.sleep(0.005)
    return found[0]


def data(answer: httpx.Response, status: int = 200) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    return answer.json()["data"]


def error(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["code"] == code
    return answer.json()["error"]


# REST


async def test_a_question_is_listed_and_answered(here: Here, person: httpx.AsyncClient, agent: httpx.AsyncClient):
    call = asyncio.create_task(agent.post("/api/profiles", json=CALL))
    await asked(here)
    (question,) = data(await person.get("/api/approvals"))["pending"]
    assert (question["tool"], question["caller"], question["risk"]) == ("create_profile", "default", "medium")
    assert question["args"]["name"] == "asked"
    ended = data(await person.post(f"/api/approvals/{question['id']}", json={"answer": "deny"}))
    assert ended["outcome"] == "denied"
    error(await call, 403, "approval_denied")
    told = data(await person.get("/api/approvals"))
    assert told["pending"] == []
    assert told["recent"][0]["id"] == question["id"]
    again = await person.post(f"/api/approvals/{question['id']}", json={"answer": "allow"})
    assert "denied by person" in error(again, 404, "not_found")["message"]


async def test_a_yes_over_rest(here: Here, person: httpx.AsyncClient, agent: httpx.AsyncClient):
    call = asyncio.create_task(agent.post("/api/profiles", json=CALL))
    ident = (await asked(here))["id"]
    data(await person.post(f"/api/approvals/{ident}", json={"answer": "allow", "scope": "once"}))
    data(await call)
    here.decide = lambda question: asks_for_writes(question) if question.tool == "x" else _allowed
    data(await agent.delete("/api/profiles/asked"))


async def test_who_prefers_not_to_wait_comes_again(here: Here, person: httpx.AsyncClient, agent: httpx.AsyncClient):
    async def call() -> httpx.Response:
        return await agent.post("/api/profiles", json={"name": "again"}, headers={"Prefer": "respond-async"})

    first = await call()
    ident = error(first, 202, "approval_pending")["details"]["approval"]
    assert "`pilothouse approvals`, or the dashboard" in error(first, 202, "approval_pending")["suggestions"][0]
    assert error(first, 202, "approval_pending")["details"]["why"] == here.gate.approvals.pending()[0]["why"] != ""
    assert first.headers["retry-after"] == "2"
    assert error(await call(), 202, "approval_pending")["details"]["approval"] == ident
    data(await person.post(f"/api/approvals/{ident}", json={"answer": "allow"}))
    data(await call())
    assert error(await call(), 202, "approval_pending")["details"]["approval"] != ident


async def test_who_waits_some_seconds(here: Here, agent: httpx.AsyncClient):
    answer = await agent.post("/api/profiles", json={"name": "waits"}, headers={"Prefer": "handling=strict, wait=0"})
    error(answer, 202, "approval_pending")


async def test_who_hangs_up_is_denied(here: Here, agent: httpx.AsyncClient):
    call = asyncio.create_task(agent.post("/api/profiles", json={"name": "gone"}))
    await asked(here)
    call.cancel()
    async with asyncio.timeout(5):
        while here.gate.approvals.pending():
            await asyncio.sleep(0.005)


async def test_progress_is_told_as_events(here: Here, agent: httpx.AsyncClient):
    headers = {"Accept": "text/event-stream"}
    async with agent.stream("POST", "/api/profiles", json={"name": "events"}, headers=headers) as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == "event: progress"
        told = json.loads((await anext(lines)).removeprefix("data: "))
        assert "waiting for approval of create_profile" in told["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"answer": "maybe"}, 400),
        ({"answer": "allow", "scope": "for ever"}, 400),
        ({"answer": "allow", "by": "me"}, 400),
        ({}, 400),
        ([], 400),
    ],
)
async def test_what_is_no_answer(here: Here, person: httpx.AsyncClient, body: Any, status: int):
    error(await person.post("/api/approvals/a123456", json=body), status, "bad_request")


async def test_wrong_addresses_and_methods(person: httpx.AsyncClient):
    error(await person.post("/api/approvals/a123456", json={"answer": "allow"}), 404, "not_found")
    error(await person.delete("/api/grants/g123456"), 404, "not_found")
    error(await person.post("/api/approvals", json={}), 405, "bad_request")
    error(await person.put("/api/grants", json={}), 405, "bad_request")


async def test_grants_over_rest(here: Here, person: httpx.AsyncClient, agent: httpx.AsyncClient):
    here.decide = lambda question: asks_for_writes(question) if question.tool == "click" else _allowed
    session = data(await agent.post("/api/tools/open_session", json={}))["session"]
    data(await agent.post(f"/api/browser/{session}/navigate", json={"url": "about:blank"}))
    call = asyncio.create_task(agent.post(f"/api/browser/{session}/click", json={"target": "body"}))
    ident = (await asked(here))["id"]
    data(await person.post(f"/api/approvals/{ident}", json={"answer": "allow", "scope": "session"}))
    data(await call)
    (grant,) = data(await person.get("/api/grants"))["grants"]
    assert (grant["tool"], grant["session"], grant["by"]) == ("click", session, "person")
    data(await agent.post(f"/api/browser/{session}/click", json={"target": "body"}))
    data(await person.delete(f"/api/grants/{grant['id']}"))
    assert data(await person.get("/api/grants"))["grants"] == []
    headers = {"Prefer": "respond-async"}
    error(
        await agent.post(f"/api/browser/{session}/click", json={"target": "body"}, headers=headers),
        202,
        "approval_pending",
    )
    data(await agent.post("/api/tools/close_session", json={"session": session}))
    assert here.gate.approvals.pending() == []


_allowed = Decision(verdict="allow", rule="test")


# WebSocket


@contextlib.asynccontextmanager
async def live(here: Here, **more: Any) -> AsyncIterator[ClientConnection]:
    headers = more.pop("headers", {"Authorization": f"Bearer {here.person}"})
    address = here.url.replace("http", "ws") + "/api/approvals/live"
    async with connect(address, additional_headers=headers, **more) as opened:
        yield opened


async def heard(opened: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(opened.recv(), 5))


async def test_live_tells_what_comes_and_takes_answers(here: Here, agent: httpx.AsyncClient):
    async with live(here) as opened:
        assert (await heard(opened))["kind"] == "state"
        call = asyncio.create_task(agent.post("/api/profiles", json={"name": "live"}))
        told = await heard(opened)
        assert (told["kind"], told["approval"]["tool"]) == ("pending", "create_profile")
        await opened.send(json.dumps({"id": told["approval"]["id"], "answer": "deny"}))
        kinds = {(await heard(opened))["kind"], (await heard(opened))["kind"]}
        assert kinds == {"answered", "accepted"}
        error(await call, 403, "approval_denied")
        for nonsense in ("nonsense", '{"id": 1}', json.dumps({"id": "a000000", "answer": "allow"}), "x" * 20_000):
            await opened.send(nonsense)
            assert (await heard(opened))["kind"] == "error"


async def test_live_begins_with_all_that_is_open(here: Here, agent: httpx.AsyncClient):
    await agent.post("/api/profiles", json={"name": "open"}, headers={"Prefer": "respond-async"})
    async with live(here, headers={}, subprotocols=["pilothouse", f"pilothouse.key.{here.person}"]) as opened:
        assert opened.subprotocol == "pilothouse"
        state = await heard(opened)
        assert [one["args"] for one in state["pending"]] == [{"name": "open"}]


async def test_live_is_for_the_person(here: Here):
    for headers, status in (({}, 401), ({"X-API-Key": here.agent}, 403), ({"X-API-Key": "wrong"}, 401)):
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with live(here, headers=headers):
                pass
        assert refused.value.response.status_code == status


# MCP


@contextlib.asynccontextmanager
async def connected(here: Here, mode: str, **more: Any) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {here.agent}"}, timeout=30) as http:
        transport = streamable_http_client(f"{here.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=20, **more) as made:  # pyright: ignore[reportArgumentType]
            yield made


def outcome(result: Any) -> str:
    return result.structured_content["error"]["code"] if result.is_error else "ok"


def user(answers: list[str], action: str = "accept") -> Any:
    """A client's user, or whoever plays it; every form they are shown is kept."""
    shown: list[Any] = []

    async def callback(context: Any, params: Any) -> types.ElicitResult:
        shown.append(params)
        return types.ElicitResult(action=action, content={"answer": answers[len(shown) - 1]})  # pyright: ignore[reportArgumentType]

    callback.shown = shown  # pyright: ignore[reportFunctionMemberAccess]
    return callback


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_a_call_waits_and_hears_of_it(here: Here, mode: str):
    told: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with connected(here, mode) as mcp:
        call = asyncio.create_task(
            mcp.call_tool("create_profile", {"name": f"w{mode[:2]}"}, progress_callback=progress)
        )
        await here.gate.approvals.answer((await asked(here))["id"], "allow")
        assert outcome(await call) == "ok"
    assert any("waiting for approval" in one for one in told)


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_without_progress_it_comes_again(here: Here, mode: str):
    async with connected(here, mode) as mcp:
        args = {"name": f"p{mode[:2]}"}
        first = await mcp.call_tool("create_profile", args)
        assert outcome(first) == "approval_pending"
        ident = first.structured_content["error"]["details"]["approval"]
        await here.gate.approvals.answer(ident, "allow")
        assert outcome(await mcp.call_tool("create_profile", args)) == "ok"
        assert outcome(await mcp.call_tool("create_profile", args)) == "approval_pending"


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_the_clients_user_is_not_asked_by_default(here: Here, mode: str):
    callback = user(["allow"])
    async with connected(here, mode, elicitation_callback=callback) as mcp:
        assert outcome(await mcp.call_tool("create_profile", {"name": f"n{mode[:2]}"})) == "approval_pending"
    assert callback.shown == []


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
@pytest.mark.parametrize(("answer", "action", "code"), [
    ("allow", "accept", "ok"),
    ("deny", "accept", "approval_denied"),
    ("allow", "decline", "approval_denied"),
])  # fmt: skip
async def test_the_clients_user_answers_what_they_may(here: Here, mode: str, answer: str, action: str, code: str):
    here.gate.approvals.adjust(timeout_s=60, client_answers="medium")
    callback = user([answer], action)
    async with connected(here, mode, elicitation_callback=callback) as mcp:
        args = {"name": f"c{mode[:2]}{answer}{action}".lower()}
        assert outcome(await mcp.call_tool("create_profile", args)) == code
    (form,) = callback.shown
    assert form.message.startswith("Pilothouse: may the agent run create_profile, once? Risk: medium")
    assert json.dumps(args["name"]) in form.message
    assert here.gate.approvals.grants() == []


@promise("D10")
@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_the_clients_user_allows_a_new_domain(here: Here, mode: str):
    new = Decision("ask", "mode ask", why="new.test is new", once_for="new.test")
    here.decide = lambda question: new if question.tool == "list_tabs" else ALLOW
    here.gate.approvals.adjust(timeout_s=60, client_answers="medium")
    callback = user(["allow"])
    async with connected(here, mode, elicitation_callback=callback) as mcp:
        session = (await mcp.call_tool("open_session", {})).structured_content["session"]
        for _ in range(2):
            assert outcome(await mcp.call_tool("list_tabs", {"session": session})) == "ok"
    (form,) = callback.shown
    assert "may the agent go to new.test and read it until this session ends?" in form.message


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_above_that_risk_they_are_not_asked(here: Here, mode: str):
    here.gate.approvals.adjust(timeout_s=60, client_answers="low")
    callback = user(["allow"])
    async with connected(here, mode, elicitation_callback=callback) as mcp:
        assert outcome(await mcp.call_tool("create_profile", {"name": f"h{mode[:2]}"})) == "approval_pending"
    assert callback.shown == []


async def test_who_closes_the_form_has_not_answered(here: Here):
    here.gate.approvals.adjust(timeout_s=60, client_answers="medium")
    callback = user(["allow"], "cancel")
    async with connected(here, MODERN, elicitation_callback=callback) as mcp:
        assert outcome(await mcp.call_tool("create_profile", {"name": "closed"})) == "approval_pending"
    assert len(callback.shown) == 1
    assert len(here.gate.approvals.pending()) == 1


async def test_the_first_answer_wins_over_an_open_form(here: Here):
    here.gate.approvals.adjust(timeout_s=60, client_answers="medium")
    opened, closed = asyncio.Event(), asyncio.Event()

    async def callback(context: Any, params: Any) -> types.ElicitResult:
        opened.set()
        await closed.wait()
        return types.ElicitResult(action="accept", content={"answer": "allow"})

    async with connected(here, HANDSHAKE, elicitation_callback=callback) as mcp:
        call = asyncio.create_task(mcp.call_tool("create_profile", {"name": "first"}))
        await asyncio.wait_for(opened.wait(), 10)
        await here.gate.approvals.answer((await asked(here))["id"], "deny")
        assert outcome(await call) == "approval_denied"
        closed.set()


async def test_a_made_up_answer_approves_nothing(here: Here):
    made_up: Any = {"approval": types.ElicitResult(action="accept", content={"answer": "allow"})}
    async with connected(here, MODERN, elicitation_callback=user([])) as mcp:
        before = len(here.notes("answer_ignored"))
        for _ in range(3):
            result = await mcp.call_tool("create_profile", {"name": "forged"}, input_responses=made_up)
            assert outcome(result) == "approval_pending"
        assert len(here.notes("answer_ignored")) == before + 3
        ident = here.gate.approvals.pending()[0]["id"]
        with pytest.raises(Exception, match="requestState"):
            await mcp.call_tool("create_profile", {"name": "forged"}, input_responses=made_up, request_state=ident)
        assert len(here.notes("answer_ignored")) == before + 4
    assert here.gate.approvals.pending()[0]["id"] == ident


async def test_a_sealed_question_answers_only_its_own_call(here: Here):
    """What was given back for one call does not fit another one's arguments."""
    here.gate.approvals.adjust(timeout_s=60, client_answers="medium")
    answer: Any = {"approval": types.ElicitResult(action="accept", content={"answer": "allow"})}
    async with connected(here, MODERN, elicitation_callback=user([])) as mcp:
        first: Any = await mcp.session.call_tool("create_profile", {"name": "one"}, allow_input_required=True)
        assert first.result_type == "input_required"
        with pytest.raises(Exception, match="requestState"):
            await mcp.call_tool(
                "create_profile", {"name": "two"}, input_responses=answer, request_state=first.request_state
            )
        # The configuration became stricter between question and answer.
        here.gate.approvals.adjust(timeout_s=60, client_answers="low")
        late = await mcp.call_tool(
            "create_profile", {"name": "one"}, input_responses=answer, request_state=first.request_state
        )
        assert outcome(late) == "approval_pending"


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_a_cancelled_call_takes_its_question_back(here: Here, mode: str):
    async def progress(progress: float, total: float | None, message: str | None) -> None:
        return None

    async with connected(here, mode) as mcp:
        call = asyncio.create_task(mcp.call_tool("create_profile", {"name": "left"}, progress_callback=progress))
        ident = (await asked(here))["id"]
        call.cancel()
        async with asyncio.timeout(5):
            while here.gate.approvals.pending():
                await asyncio.sleep(0.005)
    assert here.gate.approvals.recent()[0]["id"] == ident
    assert here.gate.approvals.recent()[0]["outcome"] == "withdrawn"


async def test_the_end_of_a_line_takes_its_questions_back(here: Here):
    async with line(here.socket) as opened:
        await opened.initialize()
        params = {"name": "create_profile", "arguments": {"name": "gone"}, "_meta": {"progressToken": 1}}
        opened.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        await asked(here)
    async with asyncio.timeout(5):
        while here.gate.approvals.pending():
            await asyncio.sleep(0.005)
