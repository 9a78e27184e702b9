"""The example of every tool, through MCP, REST and the command line of one daemon: the same data each time."""

import contextlib
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

import pilothouse.tools
from pilothouse.guard.pairing import ORIGIN, Pairing
from pilothouse.guard.token import Signer
from pilothouse.tool import Access, Tool, declared
from tests.caller import INSTALL, Caller, Key
from tests.parity.doors import Cli, Door, Mcp, Rest
from tests.processes import Process
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C04", "E06", "E08")

for module in pkgutil.iter_modules(pilothouse.tools.__path__):
    importlib.import_module(f"pilothouse.tools.{module.name}")
TOOLS = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.")]

HIVE_SECRET = "a secret that is long enough for it"
# What an example needs besides the page it is called on.
BEFORE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "go_back": [("navigate", {"url": "/small.html"})],
    "go_forward": [("navigate", {"url": "/small.html"}), ("go_back", {})],
    "wait_for_url": [("navigate", {"url": "/small.html"})],
    "wait_for_navigation": [("click", {"target": "#next"})],
    "click_ref": [("get_page_state", {})],
    "type_ref": [("get_page_state", {})],
    "focus_ref": [("get_page_state", {})],
    "close_tab": [("new_tab", {})],
    "wait_for_new_tab": [("click", {"target": "#new"})],
    "handle_dialog": [("evaluate_js", {"expression": "void setTimeout(() => alert('Hello'))"})],
    "upload_file": [("click", {"target": "#file"})],
    "wait_for_download": [("click", {"target": "#load"})],
    "load_state": [("save_state", {"name": "shop"})],
    "get_profile": [("create_profile", {"name": "Work"})],
    "update_profile": [("create_profile", {"name": "Work"})],
    "delete_profile": [("create_profile", {"name": "Work"})],
    "launch_browser": [("create_profile", {"name": "Work"})],
    "kill_browser": [("create_profile", {"name": "Work"}), ("launch_browser", {"profile": "work"})],
}
AFTER: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "create_profile": [("delete_profile", {"profile": "work"})],
    "get_profile": [("delete_profile", {"profile": "work"})],
    "update_profile": [("delete_profile", {"profile": "work"})],
    "launch_browser": [("kill_browser", {"profile": "work"}), ("delete_profile", {"profile": "work"})],
    "kill_browser": [("delete_profile", {"profile": "work"})],
}
# Groups whose tools touch the page at most.
ON_THE_PAGE = {"forms", "keyboard", "mouse", "observe", "pdf", "people", "script", "scroll", "touch", "waits"}
# What no two calls have in common: times, sizes that hang on them, handles, places of files.
VOLATILE = re.compile(r"(_ms|_s|_mb|_bytes|timestamp|time|timing|date|since|next|pid|path|session|expires|number|at)$")
HANDLE = re.compile(r"\bs[a-z]{28}\b|(?<=scrolled to )\d+, \d+")  # how far a swipe throws hangs on its speed


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parity")
    folder.chmod(0o700)
    return folder


@pytest.fixture(scope="module")
def secret(home: Path) -> str:
    """Of a browser that is paired."""
    return Pairing(home).add(INSTALL, "test")[1]


@pytest.fixture(scope="module")
def doors(home: Path, secret: str) -> Iterator[list[Door]]:
    (home / "config.toml").write_text('[[cocoons]]\nid = "shop"\ntarget = "http://127.0.0.1:3000"\n')
    daemon = Process("serve", home=home, PILOTHOUSE_LIMITS_REQUESTS_PER_MINUTE="0", HIVE_SECRET=HIVE_SECRET)
    url = daemon.read()["url"]
    without = {one.name for one in TOOLS if one.scope not in ("Tab", "Session")}
    opened = [Mcp(home), Rest(url, home, without), Cli(home)]
    yield list(opened)
    for door in opened:
        door.close()
    daemon.process.terminate()
    assert daemon.wait() == 0
    daemon.end()


def leaves_no_trace(tool: Tool) -> bool:
    """But on the page, and the next one makes good for that."""
    return (tool.access is Access.READ or tool.group in ON_THE_PAGE) and tool.name not in BEFORE


@pytest.mark.parametrize("tool", sorted(TOOLS, key=leaves_no_trace), ids=lambda one: one.name)
def test_every_door_gives_the_same(doors: list[Door], site: PageServer, home: Path, secret: str, tool: Tool):
    # Profiles belong to all callers: there the doors come one after the other.
    at_once = 1 if tool.group in ("profiles", "lifecycle") else len(doors)
    offered = offered_tab(home, secret) if tool.group == "debug" else contextlib.nullcontext()
    with offered, ThreadPoolExecutor(at_once) as threads:
        called = [(door.name, threads.submit(through, door, site, tool)) for door in doors]
    results = {name: one.result() for name, one in called}
    assert "error" not in results["mcp"], results["mcp"]
    assert results["rest"] == results["mcp"]
    assert results["cli"] == results["mcp"]


@contextlib.contextmanager
def offered_tab(home: Path, secret: str) -> Iterator[None]:
    """A browser with a tab that can be debugged."""
    url = json.loads((home / "daemon.json").read_text())["url"]
    caller = Caller(Key("secret", secret), int(url.rpartition(":")[2]), "signaling")
    protocols = caller.offered(
        httpx.post(f"{url}/bridge", json=caller.knock, headers={"Origin": ORIGIN}).json()["data"]
    )
    token = Signer([HIVE_SECRET]).mint("shop", "/")
    page = {"url": "http://shop.localhost:8081/", "title": "Shop", "browser_id": "b1"}
    happened = {
        "request_id": "1",
        "timestamp": 5,
        "method": "GET",
        "url": "http://shop.localhost:8081/x",
        "status": 500,
    }
    entry = {"timestamp": 6, "level": "error", "message": "oh"}
    with connect(f"{url.replace('http:', 'ws:')}/signaling", origin=Origin(ORIGIN), subprotocols=protocols) as line:
        assert json.loads(line.recv(timeout=20))["payload"] == {"proof": caller.first}

        def say(kind: str, **fields: Any) -> None:
            line.send(json.dumps({"type": f"browser_debug_{kind}", "token": token, **fields}))

        say("tab_available", **page)
        assert json.loads(line.recv(timeout=20))["type"] == "browser_debug_tab_accepted"
        say("network_event", event="request", data=happened)
        say("network_event", event="response", data=happened)
        say("console_event", entry=entry)
        line.send('{"type":"alive"}')
        assert json.loads(line.recv(timeout=20)) == {"type": "alive"}
        yield
        say("tab_closed")
        line.send('{"type":"alive"}')
        assert json.loads(line.recv(timeout=20)) == {"type": "alive"}


def through(door: Door, site: PageServer, tool: Tool) -> Any:
    """In a session of its own, so that nothing hangs on what was called before, or among tools that leave no trace."""
    on_a_page = tool.scope in ("Tab", "Session", "OwnSessions")
    if on_a_page:
        if not (door.clean and leaves_no_trace(tool)):
            leave(door)
        door.clean = False
        door.call("navigate", url=site.url("example.html"))
    for name, args in BEFORE.get(tool.name, []):
        done = door.call(name, **on(site, args))
        assert "error" not in done, done
    try:
        args = on(site, tool.example)
        if "token" in args:  # whatever the handle of the one tab is
            args["token"] = door.call("browser_debug_list_tabs")["tabs"][0]["token"]
        result = steady(door.call(tool.name, **args))
    finally:
        for name, args in AFTER.get(tool.name, []):
            door.call(name, **args)
    if on_a_page:
        door.clean = leaves_no_trace(tool) and "error" not in result
    return result


def leave(door: Door) -> None:
    for session in door.call("list_sessions")["sessions"]:
        door.call("close_session", session=session["session"])


def on(site: PageServer, args: dict[str, Any]) -> dict[str, Any]:
    """Addresses in examples are those of the page server."""
    return {
        name: site.url(value[1:]) if name == "url" and value.startswith("/") else value for name, value in args.items()
    }


def steady(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: steady(value) for name, value in data.items() if not VOLATILE.search(name) and name != "events"}
    if isinstance(data, list):
        return [steady(one) for one in data]
    return HANDLE.sub("<handle>", data) if isinstance(data, str) else json.loads(json.dumps(data))
