"""E06, B06, E05: REST over real HTTP to a real browser, and its page in that browser."""

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.doors.rest import RestDoor
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("E06", "B06")

_numbers = itertools.count(1)


async def no_mcp() -> Any:
    raise AssertionError("nobody asks for MCP here")


def who(secret: str) -> str | None:
    return f"agent:{secret}" if secret.startswith("rest-") else None


@pytest.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a key of its own, so that no other test's session is its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    http = HttpDoor(build_app(no_mcp, who, port=port, routes=RestDoor(house.gate).routes()))
    await http.listen(listener)
    key = f"rest-{next(_numbers)}"
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={"X-API-Key": key}, timeout=30) as one:
        yield one
    for session in house.sessions.of((key, "")):
        await house.sessions.close(session)
    await http.close()


async def call(client: httpx.AsyncClient, path: str, **args: Any) -> dict[str, Any]:
    answer = await client.post(f"/api/{path}", json=args)
    told = answer.json()
    assert answer.status_code == 200, told
    return told


async def test_a_form_is_filled_by_plain_calls(client: httpx.AsyncClient, site: PageServer):
    told = await call(client, "browser/default/navigate", url=site.url("form.html"))
    session = told["metadata"]["session"]
    assert told["data"]["session"] == session
    await call(client, f"browser/{session}/type_text", target="#text", text="Ann")
    read = await call(client, "browser/-/evaluate_js", expression="document.querySelector('#text').value")
    assert read["data"]["value"] == "Ann"
    state = (await client.get(f"/api/browser/{session}/get_page_state?interactive=true&budget=500")).json()
    assert "Ann" in state["data"]["snapshot"]
    assert "Ann" in state["metadata"]["text"]
    clicked = await client.post(f"/api/browser/{session}/click", json={"target": "#nowhere", "timeout_ms": 1})
    assert (clicked.status_code, clicked.json()["success"]) == (400, False)
    missing = await client.post(f"/api/browser/{session}/click", json={"target": "#nowhere"})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert missing.json()["metadata"]["session"] == session


async def test_sessions_are_named_by_address_and_header_and_several_must_be(
    client: httpx.AsyncClient, site: PageServer
):
    one = (await call(client, "tools/open_session"))["data"]["session"]
    two = (await call(client, "tools/open_session"))["data"]["session"]
    for session, page in ((one, "small.html"), (two, "form.html")):
        await call(client, f"browser/{session}/navigate", url=site.url(page))
    unnamed = await client.get("/api/tools/list_tabs")
    assert (unnamed.status_code, unnamed.json()["error"]["details"]["sessions"]) == (400, [one, two])
    named = await client.get("/api/tools/list_tabs", headers={"X-Instance-ID": two})
    assert "form.html" in named.text
    await call(client, f"browser/{one}/new_tab", url=site.url("table.html"))
    tab = await client.get(f"/api/browser/{one}/get_page_text", headers={"X-Tab-ID": "t1"})
    assert tab.status_code == 200
    nowhere = await client.get(f"/api/browser/{one}/get_page_text", headers={"X-Tab-ID": "t99"})
    assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "not_found")
    await call(client, f"browser/{two}/close_session")
    assert (await client.get(f"/api/browser/{two}/list_tabs")).status_code == 404


async def test_a_session_is_its_owners_only(client: httpx.AsyncClient):
    session = (await call(client, "tools/open_session"))["data"]["session"]
    stranger = {"X-API-Key": "rest-stranger"}
    answer = await client.get(f"/api/browser/{session}/list_tabs", headers=stranger)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_a_screenshot_is_a_picture(client: httpx.AsyncClient, site: PageServer):
    await call(client, "browser/-/navigate", url=site.url("small.html"))
    path = "/api/browser/-/screenshot?format=png"
    answer = await client.get(path, headers={"Accept": "image/*"})
    assert (answer.headers["content-type"], answer.content[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    told = (await client.get(path)).json()
    assert told["images"][0]["mime_type"] == "image/png"


@pytest.mark.parametrize(
    ("accept", "query", "kind"),
    [
        ("image/png", "", "image/png"),
        ("image/webp", "", "image/webp"),
        ("image/avif, image/png;q=0.8, */*;q=0.1", "", "image/png"),
        ("image/*", "", "image/jpeg"),
        ("image/*", "?format=webp", "image/webp"),
        ("application/json, image/png;q=0.5", "", "application/json"),
    ],
)
async def test_the_picture_is_of_the_kind_that_is_taken(
    client: httpx.AsyncClient, site: PageServer, accept: str, query: str, kind: str
):
    await call(client, "browser/-/navigate", url=site.url("small.html"))
    answer = await client.get(f"/api/browser/-/screenshot{query}", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)


async def test_a_kept_file_is_sent_as_it_is(client: httpx.AsyncClient, site: PageServer):
    await call(client, "browser/-/navigate", url=site.url("small.html"))
    body = {"expression": "Array.from({length: 40000}, (_, i) => 'item ' + i)"}
    told = await call(client, "browser/-/evaluate_js", **body)
    assert told["data"]["path"].endswith("value.json")
    headers = {"Accept": "application/octet-stream"}
    answer = await client.post("/api/browser/-/evaluate_js", json=body, headers=headers)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert len(json.loads(answer.content)) == 40000


async def test_who_hangs_up_ends_the_wait(client: httpx.AsyncClient, site: PageServer, house: House):
    await call(client, "browser/-/navigate", url=site.url("small.html"))
    (session,) = house.sessions.of((client.headers["X-API-Key"], ""))
    body = {"text": "never there", "timeout_ms": 60_000}
    asked = asyncio.create_task(client.post("/api/browser/-/wait_for", json=body))
    async with asyncio.timeout(10):
        while not session.busy:
            await asyncio.sleep(0.01)
        asked.cancel()
        while session.busy:
            await asyncio.sleep(0.01)
    assert (await client.get("/api/browser/-/get_page_text")).status_code == 200


@promise("E05")
async def test_what_happens_in_the_browser_is_followed(client: httpx.AsyncClient, site: PageServer):
    told = await call(client, "browser/-/navigate", url=site.url("small.html"))
    session = told["metadata"]["session"]
    url = str(client.base_url).replace("http", "ws").rstrip("/")
    headers = {"X-API-Key": client.headers["X-API-Key"]}
    async with connect(f"{url}/api/browser/{session}/follow", additional_headers=headers) as followed:
        await call(client, "browser/-/evaluate_js", expression="console.error('it broke')")
        async with asyncio.timeout(10):
            while "it broke" not in (line := json.loads(await followed.recv()))["text"]:
                pass
    assert (line["kind"], line["event"], line["session"]) == ("event", "console_error", session)


@promise("E05")
async def test_console_and_network_are_followed(client: httpx.AsyncClient, site: PageServer):
    await call(client, "browser/-/navigate", url=site.url("small.html"))
    url = str(client.base_url).replace("http", "ws").rstrip("/")
    headers = {"X-API-Key": client.headers["X-API-Key"]}
    query = "kinds=console,network&level=error&url_pattern=echo"
    async with connect(f"{url}/api/browser/-/follow?{query}", additional_headers=headers) as followed:
        script = "console.log('no'); fetch('/echo').then(one => one.text()).then(() => console.error('it broke'))"
        await call(client, "browser/-/evaluate_js", expression=script)
        async with asyncio.timeout(10):
            told = [json.loads(await followed.recv()), json.loads(await followed.recv())]
    by_kind = {one["kind"]: one for one in told}
    assert by_kind["console"]["text"] == "it broke"
    assert (by_kind["network"]["url"], by_kind["network"]["status"]) == (site.url("echo"), 200)


@promise("E01")
async def test_the_page_shows_the_document_to_who_has_the_key(client: httpx.AsyncClient, agent: Agent):
    await agent.call("navigate", url=f"{client.base_url}/api/docs")
    assert "select_option" not in await agent.text("get_page_text")
    await agent.call("type_text", target="#key", text="wrong", submit=True)
    await agent.call("wait_for", text="the key is missing or wrong")
    await agent.call("type_text", target="#key", text=client.headers["X-API-Key"], submit=True)
    await agent.call("wait_for", text="select_option")
    await agent.call("type_text", target="#filter", text="select_option")
    await agent.call("wait_for", text="1 shown")
    await agent.call("click", target="text=/api/browser/{id}/select_option")
    text = await agent.text("get_page_text")
    assert "values *" in text
    assert "curl" in text
    logs = await agent.call("get_console_logs", level=["error", "warn"])
    assert [line for line in logs["lines"] if "401" not in line["text"]] == []  # nothing that the policy blocked
    names = await agent.text("get_page_state", interactive=True)
    assert 'textbox "Agent key"' in names
    assert "Filter" in names
