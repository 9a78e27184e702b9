"""`pilothouse cocoon`, the door behind it, and the proxy of a real daemon: from the command to the page."""

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine
from tests.processes import kill_daemon
from tests.promises import promise

pytestmark = promise("G01", "G04", "E08")


class App(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<title>hello</title>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), App) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[CommandLine]:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    yield CommandLine(home, ENABLE_PROXY="true", PROXY_PORT=str(port))
    kill_daemon(home)


def fetch(port: int, host: str, path: str = "/") -> tuple[int, dict[str, str], bytes]:
    headers = {"host": f"{host}:{port}", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {}, error.read()


def test_add_list_open_remove(line: CommandLine, app: str, port: int):
    assert "no cocoons" in line.text("cocoon", "list")
    assert line.text("cocoon", "add", "shop", app) == f"shop is at http://shop.localhost:{port}/\n"
    assert f"shop  local  http://shop.localhost:{port}/  {app}" in line.text("cocoon", "list")
    status, headers, body = fetch(port, "shop.localhost")
    assert (status, body) == (200, b"<title>hello</title>")
    assert headers["x-adi-debug-token"]
    assert headers["cache-control"] == "no-store"
    assert json.loads(line.text("cocoon", "list", "--json"))["cocoons"][0]["id"] == "shop"
    assert line.text("cocoon", "remove", "shop") == "shop is removed\n"
    assert fetch(port, "shop.localhost")[0] == 404


def test_what_cannot_be_added_says_why(line: CommandLine, app: str, port: int):
    daemon: dict[str, Any] = json.loads((line.home / "daemon.json").read_text())
    for arguments, told in (
        (("Shop", app), "no id of a cocoon"),
        (("a.b", app), "no id of a cocoon"),
        (("shop", "ftp://x"), "target"),
        (("shop", "http://user:pass@host"), "target"),
        (("shop", "http://169.254.169.254"), "metadata"),
        (("shop", daemon["url"]), "Pilothouse itself"),
        (("shop", f"http://localhost:{port}"), "Pilothouse itself"),
        (("shop", app, "--owner", "nobody"), "there is no user"),
    ):
        done = line.run("cocoon", "add", *arguments)
        assert done.returncode
        assert told in done.stderr, done.stderr
    assert "there is no cocoon" in line.run("cocoon", "remove", "none").stderr
    assert not json.loads(line.text("cocoon", "list", "--json"))["cocoons"]


def test_an_agents_key_opens_nothing_here(line: CommandLine, app: str):
    line.text("cocoon", "list")
    daemon: dict[str, Any] = json.loads((line.home / "daemon.json").read_text())
    key = (line.home / "agent.key").read_text().strip()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    for method, path in (("GET", "/api/cocoons"), ("PUT", "/api/cocoons/x"), ("DELETE", "/api/cocoons/x")):
        data = json.dumps({"target": app}).encode() if method == "PUT" else None
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(
                urllib.request.Request(daemon["url"] + path, data, headers, method=method), timeout=20
            )
        assert caught.value.code == 403


def test_the_secret_is_kept_for_this_user_only(line: CommandLine):
    line.text("cocoon", "list")
    assert (line.home / "hive.key").stat().st_mode & 0o777 == 0o600


def test_a_short_secret_stops_the_daemon_with_what_to_do(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    line = CommandLine(home, ENABLE_PROXY="true", PROXY_PORT="0", HIVE_SECRET="short")
    done = line.run("serve", "--port", "0")
    assert done.returncode == 2
    assert "HIVE_SECRET has 5 bytes and needs 32" in done.stderr


def test_browser_debug(line: CommandLine):
    assert "no tab is offered" in line.text("browser-debug", "list-tabs")
    for kind in ("network", "console"):
        done = line.run("browser-debug", kind, "nothing", "--since", "5", "--json")
        assert json.loads(done.stdout)["error"]["code"] == "not_found"
        told = line.text("browser-debug", kind, "--help")
        assert "--limit" in told
        assert f"browser-debug {kind} … --follow" in told
