"""Every way out of the house, with a secret of every kind put in at every place.

A page has canaries in headers, cookies, addresses, bodies, console, DOM, title, storage, a file's name. Every tool that
reads is called over REST; events, streams, metrics, the daemon's log, the audit log and every file of the home are read.
Which tools there are is asked, not written down: a new one is tried here, or named below with the reason why not.
"""

import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

from pilothouse import log
from pilothouse.browser.stream import Wanted
from pilothouse.browser.watch import Event
from pilothouse.call import Caller
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.doors.metrics import metrics_route
from pilothouse.doors.rest import RestDoor
from pilothouse.options import Log
from pilothouse.tool import Access, Tool
from tests.house import House
from tests.promises import promise

pytestmark = promise("D11")

KEY = "places"
CANARIES = {
    "key": "ghp_" + "k7Q2" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJjYW5hcnkiOiIxIn0." + "c2lnbmF0dXJlLWNhbmFyeQ",
    "card": "4012 8888 8888 1881",
    "header": "hdrcanary7Q",
    "cookie": "ckcanary8W",
    "query": "qrycanary9E",
    "json": "jsncanary1R",
    "form": "frmcanary2T",
    "multipart": "mltcanary3Z",
    "console": "cnscanary3Y",
    "field": "fldcanary4U",
    "registered": 'regcanary/5I+õ & "x"',
}
# What these are asked for is in their answer; what a person registered never is.
REVEAL = {"get_cookies", "get_storage"}
LEFT_OUT = {
    **dict.fromkeys(("screenshot", "screenshot_element", "print_to_pdf"), "pictures of the page: no text to search"),
    **dict.fromkeys(("launch_browser", "kill_browser", "create_profile", "update_profile", "delete_profile",
                     "get_profile"), "profiles, of which there is none here"),
    **dict.fromkeys(("open_session", "close_session", "close_tab", "new_tab", "switch_tab", "load_state"),
                    "would leave the page"),
    **dict.fromkeys(("set_cookie", "delete_cookies", "set_storage", "clear_storage", "clear_console",
                     "clear_network_log", "clear_intercepts", "block_url", "mock_url", "upload_file", "emulate",
                     "main_frame", "switch_frame"), "answers with what it was given or with counts"),
    "handle_dialog": "no page speaks while a dialog is open: see below",
}  # fmt: skip
PAGE = f"""<!doctype html><meta charset=utf-8><title>Key {CANARIES["key"]} {CANARIES["registered"]}</title>
<h1>Cookie: oatmeal</h1><p>password: see below<p id=says>{CANARIES["key"]} {CANARIES["jwt"]} {CANARIES["card"]}
<p>{CANARIES["registered"]}<input id=pw type=password value={CANARIES["field"]}>
<input id=name placeholder="{CANARIES["key"]}"><input id=shown value='{CANARIES["registered"]}'>
<a href="/next?token={CANARIES["query"]}#access_token={CANARIES["query"]}">next</a>
<button id=go>Go</button><select id=color><option>Blue</select><table><tr><th>a<tr><td>{CANARIES["key"]}</table>
<iframe name=f srcdoc="<p>{CANARIES["key"]}"></iframe>"""
DOES = """async (values) => {
  const {key, jwt, card, header, query, json, form, multipart, console: said, registered} = values;
  const many = new FormData(); many.append('password', multipart); many.append('note', registered);
  const options = {method: 'POST', headers: {authorization: 'Bearer ' + header, 'x-auth-token': header, 'x-note': key}};
  await fetch(`/api?token=${query}&q=${encodeURIComponent(registered)}#x`, {...options, headers: {...options.headers,
    'content-type': 'application/json'}, body: JSON.stringify({password: json, card, note: registered, jwt})});
  await fetch('/api', {...options, body: new URLSearchParams({client_secret: form, note: registered, card})});
  await fetch('/api', {...options, body: many});
  await fetch('/gone?access_token=' + query).catch(() => 0);
  console.log('sending', {password: said, note: registered}, key);
  console.error('login failed: token=' + said, registered);
  console.warn(JSON.stringify({apiKey: said}));
  localStorage.kept = key + ' ' + registered; sessionStorage.kept = registered;
  location.href = '/file?token=' + query;
  setTimeout(() => { throw new Error('secret=' + said + ' ' + registered); });
  return 1 }"""


class Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        headers = {"Set-Cookie": f"visitor={CANARIES['cookie']}; HttpOnly", "Content-Type": "text/html"}
        content = PAGE.encode()
        if self.path.startswith("/file"):
            name = quote(f"report {CANARIES['key']} {CANARIES['registered']}.txt", safe="")
            headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
            content = b"content"
        self._send(404 if self.path.startswith("/gone") else 200, headers, content)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        told = {"headers": {name.lower(): value for name, value in self.headers.items()}, "body": content}
        self._send(
            200, {"X-Auth-Token": CANARIES["header"], "Content-Type": "application/json"}, json.dumps(told).encode()
        )

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 (the library's name)


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def logged(house: House) -> Iterator[Path]:
    before, level = logging.root.handlers[:], logging.root.level
    log.set_up(Log(level="debug", file=str(house.home / "places.log")))
    yield house.home / "places.log"
    logging.root.handlers[:] = before
    logging.root.setLevel(level)


@pytest.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async def no_mcp() -> Any:
        raise AssertionError

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    routes = [metrics_route(house.gate), *RestDoor(house.gate).routes()]
    http = HttpDoor(build_app(no_mcp, lambda secret: f"agent:{secret}", port=port, routes=routes))
    await http.listen(listener)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={"X-API-Key": KEY}, timeout=60) as one:
        yield one
    for session in house.sessions.of((KEY, "")):
        await house.sessions.close(session)
    await http.close()


def found(text: str, *, revealed: bool = False) -> list[str]:
    """The canaries that can be read in a text, escaped or not."""
    plain = text.encode().decode("unicode_escape", "replace") if "\\u" in text else text
    seen = [text, plain, unquote(text), text.replace('\\"', '"'), text.replace(" ", "")]
    names = ["registered"] if revealed else list(CANARIES)
    spellings = {name: {CANARIES[name], CANARIES[name].replace(" ", ""), CANARIES[name][:12]} for name in names}
    spellings = {name: ways - {"eyJhbGciOiJI", "4012 8888 88"} for name, ways in spellings.items()}
    return [name for name, ways in spellings.items() if any(way in one for way in ways for one in seen)]


def reads(tool: Tool) -> bool:
    return tool.name not in LEFT_OUT


def arguments(tool: Tool, requests: list[str]) -> list[dict[str, Any]]:
    """What a tool is called with; without a word here, its own example."""
    given: dict[str, list[dict[str, Any]]] = {
        "get_console_logs": [{}],
        "get_network_log": [{}],
        "get_network_request": [{"id": one} for one in requests],
        "get_page_state": [{"full": True}, {"full": True, "interactive": True}],
        "find": [{"pattern": "."}],
        "get_dom_context": [{}, {"target": "body", "max_chars": 100_000}],
        "get_ax_tree": [{"max_nodes": 2000}],
        "extract_data": [{"fields": {"a": "#says", "b": "#pw@value", "c": "a@href"}}, {"table": "table"}],
        "evaluate_js": [
            {"expression": "document.documentElement.outerHTML"}, {"expression": "({title: document.title, href: links()})"},
            {"expression": "[document.cookie, localStorage.kept, {password: pw.value, token: [pw.value]}]"},
            {"expression": "document.documentElement.outerHTML + 'x'.repeat(30000)"},
            {"expression": "(() => { throw new Error(document.title) })()"},
        ],
        "export_har": [{"bodies": True}],
        "get_storage": [{}, {"area": "session"}],
        "navigate": [{"url": "about:blank"}],
        "batch": [{"steps": [{"tool": "get_page_text"}, {"tool": "get_page_title"}, {"tool": "get_network_log"}]}],
        "click_ref": [{"ref": "e1"}],
        **{f"wait_for_{what}": [{}] for what in ("download", "navigation", "new_tab")},
        "wait_for_url": [{"url": "*"}],
        "wait_for_text": [{"text": "nowhere", "timeout_ms": 100}],
        "wait_for_element": [{"target": "#nowhere", "timeout_ms": 100}],
        "click": [{"target": "#nowhere"}, {"target": "#go"}],
    }  # fmt: skip
    extra: dict[str, Any] = {"snapshot": "full"} if "snapshot" in tool.takes else {}
    if "timeout_ms" in tool.takes:
        extra["timeout_ms"] = 300 if tool.name.startswith("wait") else 10_000
    return [{**extra, **args} for args in given.get(tool.name, [tool.example])]


@pytest.mark.usefixtures("logged")
async def test_no_canary_leaves_by_any_door(house: House, client: httpx.AsyncClient, url: str):
    house.secrets.set("registered", CANARIES["registered"], ["example.com"])
    caller = Caller(KEY, "", "rest")
    events: list[Event] = []
    unfollow = house.gate.follow(lambda key, _, event: events.append(event) if key == KEY else None)
    answers: list[tuple[str, str]] = []

    async def call(tool: str, **args: Any) -> dict[str, Any]:
        answer = await client.post(f"/api/browser/-/{tool}", json=args)
        answers.append((tool, answer.text))
        return answer.json()

    await call("navigate", url=f"{url}/?token={CANARIES['query']}&card={quote(CANARIES['card'])}")
    session = house.gate.session_ids(caller)[0]
    stream = house.gate.watch(caller, session, Wanted(kinds=["console", "network", "events"]))
    values = {name: value for name, value in CANARIES.items() if name != "field"}
    done = await call("evaluate_js", expression=DOES, args=[values])
    assert done["success"], done
    assert (await call("wait_for_download", timeout_ms=5000))["success"]
    listed = await call("get_network_log", limit=200)
    requests = [one["id"] for one in listed["data"]["requests"]]
    assert len(requests) >= 5
    # What changes the page comes last.
    tools = sorted((tool for tool in house.gate.registry if reads(tool)), key=lambda one: one.access is not Access.READ)
    assert {tool.name for tool in house.gate.registry} == {tool.name for tool in tools} | LEFT_OUT.keys()
    navigating = {"navigate", "reload", "go_back", "go_forward"}
    for tool in sorted(tools, key=lambda one: one.name in navigating):
        for args in arguments(tool, requests):
            await call(tool.name, **args)
    leaks = [(tool, found(text, revealed=tool in REVEAL)) for tool, text in answers]
    assert not [(tool, names) for tool, names in leaks if names]

    stream.end()
    assert not found(json.dumps(list(stream.take()), ensure_ascii=False))
    assert len(events) > 3
    assert not found(" ".join(event.text for event in events))
    assert not found(" ".join(event.text for event in house.gate.events(caller, session)))
    assert not found((await client.get("/metrics")).text)
    unfollow()
    await _check_files(house)
    house.secrets.remove("registered")
    text = dict(answers)["get_page_text"]
    assert "Cookie: oatmeal" in text
    assert "password: see below" in text
    assert "[secret:registered]" in text


async def _check_files(house: House) -> None:
    """Everything in the home but what is encrypted, or the browser's own."""
    files = [path for path in house.home.rglob("*") if path.is_file() and "browsers" not in path.parts]
    assert {"audit.jsonl", "network.har", "value.json", "places.log"} <= {path.name for path in files}
    leaks: dict[str, list[str]] = {}
    for path in files:
        content = path.read_bytes()
        if content.startswith(b"pilothouse-state-1\n"):
            continue
        names = found(content.decode("utf-8", "replace")) + found(path.name)
        if names:
            leaks[str(path)] = names
    assert not leaks


async def test_what_a_dialog_says_is_said_not_shown(house: House, url: str) -> None:
    agent = house.agent()
    await agent.call("navigate", url=url)
    await agent.ask("evaluate_js", expression="alert('Your new password: hunter2hunter')")
    answer = await agent.ask("handle_dialog", accept=True)
    assert answer.data["kind"] == "alert"
    assert "hunter2" not in answer.text + json.dumps(answer.data)
    await agent.leave()
