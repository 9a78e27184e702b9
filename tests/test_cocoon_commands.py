"""`pilothouse cocoon`, the door behind it, and the proxy of a real daemon: from the command to the page."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pilothouse import instance
from pilothouse.admin import main
from pilothouse.guard import audit
from pilothouse.instance import Claim, StartError
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
    one = CommandLine(home, ENABLE_PROXY="true", PROXY_PORT=str(port))
    one.text("list-sessions")  # starts the daemon
    yield one
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
    assert line.text("cocoon", "add", "loud", app.replace("http", "HTTP")).startswith("loud is at ")
    assert fetch(port, "loud.localhost")[0] == 200
    assert line.text("cocoon", "remove", "loud") == "loud is removed\n"


def test_what_cannot_be_added_says_why(line: CommandLine, app: str, port: int):
    daemon: dict[str, Any] = json.loads((line.home / "daemon.json").read_text())
    for arguments, told in (
        (("Shop", app), "no id of a cocoon"),
        (("a.b", app), "no id of a cocoon"),
        (("shop", "ftp://x"), "pilothouse: target: it has to be http://127.0.0.1:3000 or https://host"),
        (("shop", "http://user:pass@host"), "pilothouse: target: it has to be "),
        (("shop", "http://127.0.0.1:0"), "nobody can listen on port 0\n- name the port that the app listens on"),
        (("shop", "http://169.254.169.254"), "metadata"),
        (("shop", daemon["url"]), "Pilothouse itself"),
        (("shop", f"http://localhost:{port}"), "Pilothouse itself"),
        (("shop", app, "--owner", "nobody"), "there is no user"),
        (("shop", app, "--owner", "NO!"), "'NO!' cannot be the name of a user\n- lower-case letters, digits, - and _"),
    ):
        done = line.run("cocoon", "add", *arguments)
        assert done.returncode
        assert told in done.stderr, done.stderr
    told = "pilothouse: there is no cocoon 'none'\n- none yet: `pilothouse cocoon add ID TARGET` adds one\n"
    assert line.run("cocoon", "remove", "none").stderr == told
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


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[CommandLine]:
    """A home where no daemon runs, and none is to be started."""
    home = tmp_path / "alone"
    home.mkdir(mode=0o700)
    yield CommandLine(home)
    assert not (home / "daemon.json").exists()
    kill_daemon(home)


def test_without_a_daemon_the_file_is_changed_and_none_is_started(alone: CommandLine, app: str):
    file = alone.home / "config.toml"
    file.write_text("# mine\n[proxy]\nbase_host = 'apps.test' # ours\n")
    added = alone.run("cocoon", "add", "shop", app)
    assert (added.returncode, added.stdout) == (0, f"shop is in {file}, for http://shop.apps.test:8081/\n")
    assert "no daemon runs: a hub that runs with this file knows its cocoons at once" in added.stderr
    assert "enabled = true" in added.stderr
    unserved = "without a target: only `pilothouse hub` counts it"  # which serves none
    assert alone.text("cocoon", "add", "blog") == f"blog is in {file}, {unserved}\n"
    assert alone.text("cocoon", "list").splitlines() == [
        f"shop  local  http://shop.apps.test:8081/  {app}",
        f"blog  local  http://blog.apps.test:8081/  ({unserved})",
    ]
    assert alone.text("cocoon", "remove", "blog") == "blog is removed\n"
    assert json.loads(alone.text("cocoon", "list", "--json"))["cocoons"][0]["target"] == app
    assert file.read_text().startswith("# mine\n[proxy]\nbase_host = 'apps.test' # ours\n")
    log = alone.text("log", "show", "--json")
    assert [json.loads(one)["told"]["id"] for one in log.splitlines() if '"cocoon_added"' in one] == ["shop", "blog"]
    assert alone.text("log", "verify")


def test_what_a_running_daemon_does_not_count_is_named(line: CommandLine, port: int):
    file = line.home / "config.toml"
    text = file.read_text()
    file.write_text(f'{text}\n[[cocoons]]\nid = "blog"\n')
    listed = line.run("cocoon", "list")
    assert listed.stdout.startswith("no cocoons")
    assert "the cocoon blog does not count: a cocoon needs a target" in listed.stderr
    told = json.loads(line.text("cocoon", "list", "--json"))
    assert [one["id"] for one in told["left_out"]] == ["blog"]
    status, _, body = fetch(port, "blog.localhost")
    assert (status, b"the cocoon blog does not count" in body, b"cocoon add" in body) == (404, True, False)
    assert line.text("cocoon", "remove", "blog") == "blog is removed\n"
    assert not json.loads(line.text("cocoon", "list", "--json"))["left_out"]


def test_a_file_that_counts_for_nothing_is_named(line: CommandLine, app: str):
    """What is listed is what holds; that the file says something else is told beside it."""
    line.text("cocoon", "add", "shop", app)
    file = line.home / "config.toml"
    text = file.read_text()
    for more, why in (
        (f'\n[[cocoons]]\nid = "shop"\ntarget = "{app}"\n', "its id shop is that of no. 1"),
        ("[[coc", "at end of document"),
    ):
        file.write_text(text + more)
        listed = line.run("cocoon", "list")
        assert listed.stdout.startswith("shop  local  ")
        assert f"users and cocoons stay as they were: {file}: " in listed.stderr
        assert why in listed.stderr
        assert why in json.loads(line.text("cocoon", "list", "--json"))["mistake"]
    file.write_text(text)
    assert line.run("cocoon", "list").stderr == ""
    assert json.loads(line.text("cocoon", "list", "--json"))["mistake"] == ""
    line.text("cocoon", "remove", "shop")


def test_the_file_of_a_running_daemon_is_changed_by_that_daemon(line: CommandLine, app: str, tmp_path: Path):
    link = tmp_path / "link.toml"
    link.symlink_to(line.home / "config.toml")
    for name in (line.home / "config.toml", link):
        told = line.text("cocoon", "add", "shop", app, "--config", str(name))
        assert told.startswith("shop is at ")
        assert line.text("cocoon", "remove", "shop", "--config", str(name))
    kinds = [json.loads(one).get("kind") for one in line.text("log", "show", "--json").splitlines()]
    assert kinds[-4:] == ["cocoon_added", "cocoon_removed"] * 2


def test_while_a_daemon_starts_or_ends_nothing_is_changed(alone: CommandLine, app: str):
    with Claim(str(alone.home)):
        done = alone.run("cocoon", "add", "shop", app, "--json")
    told = json.loads(done.stdout)["error"]
    assert (done.returncode, told["code"], told["retryable"]) == (5, "system", True)
    assert "a daemon is starting or ending" in told["message"]
    assert not (alone.home / "config.toml").exists()
    assert alone.text("cocoon", "add", "shop", app)


def test_commands_at_the_same_time_are_all_done_and_recorded(alone: CommandLine, app: str):
    names = [f"shop{number}" for number in range(4)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: alone.text("cocoon", "add", name, app), names))
    log = alone.text("log", "show", "--json").splitlines()
    assert sorted(json.loads(one)["told"]["id"] for one in log if '"cocoon_added"' in one) == names
    assert {one["id"] for one in json.loads(alone.text("cocoon", "list", "--json"))["cocoons"]} == set(names)
    assert alone.text("log", "verify")


def test_a_daemon_that_starts_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, info = str(tmp_path), {"url": "http://127.0.0.1:1"}
    with Claim(home):
        monkeypatch.setattr(time, "sleep", lambda seconds: instance.publish(home, info))
        assert instance.settled(home) == info
    assert instance.settled(home) is None
    with Claim(home):
        instance.withdraw(home)
        with pytest.raises(StartError, match="starting or ending"):
            instance.settled(home, 0)


def test_what_cannot_be_recorded_is_not_changed(
    home: Path, app: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PILOTHOUSE_HOME", str(home))
    assert main(["cocoon", "add", "shop", app]) == 0
    text, write = (home / "config.toml").read_text(), audit._write

    def full(file: int, line: bytes, size: int) -> None:
        if b"cocoon_" in line:
            raise OSError(28, "No space left on device")
        write(file, line, size)

    monkeypatch.setattr(audit, "_write", full)
    for arguments in (["add", "blog", app], ["remove", "shop"]):
        assert main(["cocoon", *arguments]) == 5
        assert "No space left on device" in capsys.readouterr().err
    assert (home / "config.toml").read_text() == text


@pytest.mark.parametrize("command", [["cocoon", "add", "shop", "http://127.0.0.1:1"], ["user", "add", "ann"]])
def test_another_file_has_to_be_there_and_to_be_ours_to_write(alone: CommandLine, tmp_path: Path, command: list[str]):
    file = tmp_path / "mistyped" / "hub.toml"
    done = alone.run(*command, "--config", str(file))
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)
    assert not file.parent.exists()
    file.parent.mkdir()
    file.touch()
    (file.parent / f".{file.name}.lock").mkdir()
    done = alone.run(*command, "--config", str(file))
    assert done.returncode in (1, 5)
    assert f"{file} cannot be written: Is a directory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (alone.home / "audit.jsonl").exists()  # what is another's is no matter of our log


def test_a_hub_whose_file_has_the_proxys_enabled_is_told_what_to_leave_out(alone: CommandLine):
    file = alone.home / "config.toml"
    proxy = "[proxy]\nbase_host = 'apps.test'\nhttps = true\npublic_port = 443\n"
    file.write_text(f"{proxy}enabled = true\n")
    alone.text("user", "add", "ann")
    refused = alone.run("cocoon", "add", "shop", "--owner", "ann")
    assert refused.returncode == 2
    assert (
        "- where `pilothouse hub` runs alone it needs none, if [proxy] in config.toml has no `enabled" in refused.stderr
    )
    file.write_text(file.read_text().replace("enabled = true\n", ""))
    assert alone.text("cocoon", "add", "shop", "--owner", "ann").startswith(f"shop is in {file}, without a target")


def test_without_a_daemon_what_cannot_be_added_says_why(alone: CommandLine, app: str):
    proxied = CommandLine(alone.home, ENABLE_PROXY="true", PROXY_PORT="8099")
    for arguments, told in (
        (("Shop", app), "no id of a cocoon"),
        (("shop",), "needs a target"),
        (("shop", "ftp://x"), "it has to be http://127.0.0.1:3000 or https://host"),
        (("shop", "http://169.254.169.254"), "metadata"),
        (("shop", "http://localhost:8099"), "Pilothouse itself"),
        (("shop", app, "--owner", "nobody"), "there is no user"),
    ):
        done = proxied.run("cocoon", "add", *arguments)
        assert done.returncode
        assert told in done.stderr, done.stderr
    assert "there is no cocoon" in proxied.run("cocoon", "remove", "none").stderr
    assert proxied.text("cocoon", "list").startswith("no cocoons")
    assert "cocoon_" not in proxied.text("log", "show", "--json")
    told = proxied.run("cocoon", "add", "shop", app)
    assert "the proxy when one is started" in told.stderr
    (alone.home / "config.toml").write_text("[proxy]\nport = 'x'\n")
    wrong = alone.run("cocoon", "list", "--json")
    assert (wrong.returncode, json.loads(wrong.stdout)["error"]["code"]) == (2, "bad_request")


def test_browser_debug(line: CommandLine):
    assert "no tab is offered" in line.text("browser-debug", "list-tabs")
    for kind in ("network", "console"):
        done = line.run("browser-debug", kind, "nothing", "--since", "5", "--json")
        assert json.loads(done.stdout)["error"]["code"] == "not_found"
        for follow in ((), ("--follow",)):
            for handle in (["nothing"], ["--handle", "nothing"], ["--token", "nothing"]):
                gone = line.run("browser-debug", kind, *handle, *follow)
                assert gone.returncode == 4, gone.stderr
            assert "- pilothouse browser-debug list-tabs lists those of now" in gone.stderr


@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_help_of_browser_debug(line: CommandLine, asked: str):
    told = line.text("browser-debug", asked)
    assert told.startswith("Usage: pilothouse browser-debug list-tabs | network HANDLE | console HANDLE\n")
    assert told.count("--follow (-f)") == 2
    for kind, more in (("network", "--status-min N"), ("console", "--message-pattern TEXT")):
        for arguments in ((kind, asked), (kind, "handle", asked, "--follow")):
            told = line.text("browser-debug", *arguments)
            assert told.startswith(f"Usage: pilothouse browser-debug {kind} HANDLE [OPTIONS]\n")
            assert "  HANDLE                    of pilothouse browser-debug list-tabs\n" in told
            assert f"Example: pilothouse browser-debug {kind} handle --" in told
            assert "-f, --follow " in told
            assert more in told
            assert "--limit N" in told
    told = line.text("browser-debug", "list-tabs", asked)
    assert told.startswith("Usage: pilothouse browser-debug list-tabs [OPTIONS]\n")
    assert "--follow" not in told


@pytest.mark.parametrize(
    ("words", "told", "hint"),
    [
        (["list-tabs", "--follow"], "does not go on", "pilothouse browser-debug network HANDLE --follow"),
        (["list-tabs", "x"], "browser-debug list-tabs: too many arguments: 'x'", "it takes options only"),
        (["network"], "browser-debug network: missing: HANDLE", "Try 'pilothouse browser-debug network --help'."),
        (["network", "-f"], "browser-debug network: missing: HANDLE", "Try 'pilothouse browser-debug network --help'."),
        (["console", "a", "b"], "browser-debug console: too many arguments: 'b'", "it takes HANDLE"),
        (["network", "a", "--statusmin", "4"], "there is no option --statusmin", "did you mean --status-min?"),
        (["console", "a", "--level", "loud"], "level: 'loud' is none of debug, error", "console --help'"),
        (["console", "a", "-f", "-o", "x"], "--output and --timeout do not go with --follow", "> FILE"),
    ],
)
def test_wrong_usage_of_browser_debug_says_what_is_right(line: CommandLine, words: list[str], told: str, hint: str):
    wrong = line.run("browser-debug", *words)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert told in wrong.stderr
    assert hint in wrong.stderr
    as_json = json.loads(line.run("browser-debug", *words, "--json").stdout)["error"]
    assert told in as_json["message"]


@pytest.mark.parametrize("more", [[], ["--follow"]])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["network", "h", "--status-min", "1000"], "browser-debug network: --status-min: expected `int` <= 999"),
        (["console", "h", "--limit", "0"], "browser-debug console: --limit: expected `int` >= 1"),
        (["console", "h" * 65], "browser-debug console: HANDLE: expected `str` of length <= 64"),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_the_name_it_was_typed_under(
    line: CommandLine, words: list[str], told: str, more: list[str]
):
    wrong = line.run("browser-debug", *words, *more)
    hint = f"- Try 'pilothouse browser-debug {words[0]} --help'."
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == f"bad_request: {told}\n{hint}\n"
