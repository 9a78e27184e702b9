"""The daemon's life as its neighbours see it: the ready line, the files in the home, the port, the end."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from processes import ENGINE, INITIALIZED, TIMEOUT_S, Process, call, initialize, is_alive, processes_of, wait_until

from pilothouse import __version__, instance
from pilothouse.home import socket_path
from tests.command_line import CommandLine
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("E01", "A02")

Start = Callable[..., Process]


@pytest.fixture
def run(home: Path) -> Iterator[Start]:
    """Run a command in the home."""
    running: list[Process] = []

    def command(*arguments: str, **environment: str) -> Process:
        running.append(Process(*arguments, home=home, **environment))
        return running[-1]

    yield command
    for one in running:
        one.end()


def test_where_the_debug_proxy_is_stands_in_the_ready_line_and_in_status(home: Path, run: Start) -> None:
    daemon = run("serve", ENABLE_PROXY="true", PROXY_PORT="0")
    url = daemon.read()["proxy"]
    assert re.fullmatch(r"http://localhost:[1-9]\d+", url)
    socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20).close()
    assert json.loads(CommandLine(home).text("status", "--json"))["proxy"] == url
    assert f"\ndebug proxy: {url}; `pilothouse cocoon list` has" in CommandLine(home).text("status")


def test_ready_line_and_files(home: Path, run: Start) -> None:
    daemon = run("serve")
    ready = daemon.read()
    url = ready["url"]
    assert ready == {"ready": True, "url": url, "mcp": f"{url}/mcp", "pid": daemon.pid}
    info = json.loads((home / "daemon.json").read_text())
    assert info == {
        "url": url,
        "port": int(url.rpartition(":")[2]),
        "pid": daemon.pid,
        "config": str(home / "config.toml"),
        "socket": socket_path(home),
        "version": __version__,
    }
    for path in (home / "daemon.json", Path(info["socket"]), home / "agent.key", home / "person.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Umask:\t0077" in Path(f"/proc/{daemon.pid}/status").read_text()  # whatever it makes is ours alone
    with urllib.request.urlopen(f"{url}/health") as answer:
        assert answer.status == 200


def test_the_command_of_the_readme_starts_it_and_says_how_to_connect(home: Path) -> None:
    """And where one runs already, the same command says so, and how to connect to it."""
    script = Path(__file__).parents[1] / "scripts" / "start"
    env = {"PILOTHOUSE_CHROME": ENGINE} | os.environ | {"PILOTHOUSE_HOME": str(home), "PILOTHOUSE_SERVER_PORT": "0"}
    pipe = subprocess.PIPE
    with subprocess.Popen([script], env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as started:
        assert started.stdout
        ready = json.loads(started.stdout.readline())
        assert ready["ready"] is True
        assert httpx.get(f"{ready['url']}/health").json() == {"ok": True}
        again = subprocess.run([script], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
        said = started.stderr.read() if started.stderr else ""
    assert f"a daemon already runs at {ready['url']}" in again.stderr
    for explained in (said, again.stderr):
        assert f"mcp add --transport http pilothouse {ready['mcp']}" in explained
        assert "install CLIENT" in explained


def test_what_few_daemons_need_is_not_loaded_by_all() -> None:
    """Megabytes and a tenth of a second: the cipher of states and tokens, the SDK's client and its framework."""
    start = "late_mcp.import_mcp(); token.Signer(['x' * 32])"
    dear = ["cryptography", "mcp.client.session", "mcp.server.mcpserver"]
    rooms = "from pilothouse import daemon; from pilothouse.doors import late_mcp; from pilothouse.guard import token"
    code = f"import sys; {rooms}; {start}; print([name for name in {dear} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_two_seconds(home: Path, run: Start, number: signal.Signals) -> None:
    daemon = run("serve")
    daemon.read()
    bridge = run("mcp")
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    before = time.perf_counter()
    daemon.process.send_signal(number)
    assert daemon.wait() == 0
    assert time.perf_counter() - before < 2
    assert not (home / "daemon.json").exists()
    assert not Path(socket_path(home)).exists()
    assert daemon.at_end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_its_browser_ends_with_it(home: Path, run: Start, number: signal.Signals) -> None:
    daemon = run("serve", PILOTHOUSE_BROWSER_PREWARM="true")
    daemon.read()
    wait_until(lambda: processes_of(home))
    daemon.process.send_signal(number)
    wait_until(lambda: daemon.process.poll() is not None and not processes_of(home), 2)


class Client:
    """Calls tools through a bridge, which also passes on what happens in the browser."""

    def __init__(self, bridge: Process) -> None:
        self.bridge, self.last = bridge, 0
        bridge.send(initialize(), INITIALIZED)
        self.answer()

    def send(self, tool: str, **args: Any) -> None:
        self.last += 1
        self.bridge.send(call(self.last, "tools/call", name=tool, arguments=args))

    def answer(self) -> dict[str, Any]:
        while (message := self.bridge.read()).get("id") != self.last:
            assert "id" not in message, message
        return message["result"]

    def ask(self, tool: str, **args: Any) -> dict[str, Any]:
        self.send(tool, **args)
        return self.answer()


def begin_a_loop(client: Client) -> None:
    """It is known to run when what was fetched just before has been asked for."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_S)
        port = server.getsockname()[1]
        loop = f"fetch('http://127.0.0.1:{port}/', {{mode: 'no-cors'}}); while (1);"
        client.send("evaluate_js", expression=loop, timeout_ms=60_000)
        server.accept()[0].close()


def wait_behind_an_alert(client: Client) -> None:
    assert "Hello" in json.dumps(client.ask("evaluate_js", expression="void setTimeout(() => alert('Hello'))"))
    client.send("wait_for_download", timeout_ms=60_000)


@promise("A02", "A06", "E03")
@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("begin", [begin_a_loop, wait_behind_an_alert])
def test_its_browser_ends_with_it_whatever_a_page_does(
    home: Path, run: Start, site: PageServer, begin: Callable[[Client], None], number: signal.Signals
) -> None:
    daemon = run("serve")
    daemon.read()
    client = Client(run("mcp"))
    assert not client.ask("navigate", url=site.url("small.html")).get("isError")
    begin(client)
    browser = processes_of(home)
    assert browser
    daemon.process.send_signal(number)
    wait_until(lambda: daemon.process.poll() is not None and not any(map(is_alive, browser)), 2)
    assert client.answer()["structuredContent"]["error"]["code"] == "browser_gone"
    assert not processes_of(home)


def test_a_second_daemon_says_who_is_there(run: Start) -> None:
    first = run("serve")
    first.read()
    second = run("serve")
    assert second.wait() == 1
    assert f"pid {first.pid}" in second.error_text()
    assert second.at_end()


@pytest.mark.parametrize(
    ("command", "port", "told"),
    [("serve", "PROXY_PORT", "proxy.port in config.toml"), ("hub", "PILOTHOUSE_HUB_PORT", "hub.port in config.toml")],
)
def test_a_taken_port_of_proxy_or_hub_ends_it_as_one_of_the_server_does(run: Start, command: str, port: str, told: str):
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = {port: str(server.getsockname()[1]), "ENABLE_PROXY": "true", "HIVE_SECRET": "s" * 32}
        ended = run(command, **given)
        assert ended.wait() == 1
        assert f"; choose another: {told}" in ended.error_text()


def test_a_taken_port_is_told_with_its_owner(home: Path, run: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        daemon = run("serve", "--port", str(server.getsockname()[1]))
        assert daemon.wait() == 1
        assert f"is taken by pid {os.getpid()} (" in daemon.error_text()
    assert not (home / "daemon.json").exists()


def test_after_kill_9_the_next_one_starts_in_the_same_place(home: Path, run: Start) -> None:
    first = run("serve")
    first.read()
    first.process.kill()
    first.wait()
    assert (home / "daemon.json").exists()
    assert instance.published(str(home)) is None
    second = run("serve")
    assert second.read()["pid"] == second.pid
    assert (instance.published(str(home)) or {})["pid"] == second.pid


@promise("E01")
@pytest.mark.parametrize(
    ("host", "config"),
    [
        ("0.0.0.0", ""),
        ("192.0.2.1", 'allowed_hosts = ["house.test"]'),
        ("::", 'tls_proxy = "192.0.2.7"'),
        ("::", 'allowed_hosts = ["house.test"]\ntls_proxy = "proxy.test"'),
    ],
)
def test_an_address_that_others_reach_is_refused(home: Path, run: Start, host: str, config: str) -> None:
    (home / "config.toml").write_text(f"[server]\n{config}\n")
    daemon = run("serve", "--host", host)
    assert daemon.wait() == 2
    assert "give its IP address as server.tls_proxy" in daemon.error_text()


@promise("E01")
def test_a_name_is_no_address(run: Start) -> None:
    daemon = run("serve", "--host", "example.com")
    assert daemon.wait() == 2
    assert "neither an address nor localhost" in daemon.error_text()


@promise("E01")
def test_with_a_proxy_that_is_named_it_listens_everywhere(home: Path, run: Start) -> None:
    named = 'allowed_hosts = ["house.test:443"]\ntls_proxy = "192.0.2.7"'
    (home / "config.toml").write_text(f'[server]\nhost = "0.0.0.0"\n{named}\n')
    url = run("serve").read()["url"]
    assert url.startswith("http://127.0.0.1:")
    assert httpx.get(f"{url}/health").status_code == 200
    assert httpx.get(f"{url}/health", headers={"Host": "house.test"}).status_code == 200
    assert httpx.get(f"{url}/health", headers={"Host": "other.test"}).status_code == 421


def test_a_mistake_in_the_configuration_is_told(home: Path, run: Start) -> None:
    other = home / "other.toml"
    other.write_text("[server]\nport = 'high'\n")
    daemon = run("serve", "--config", str(other))
    assert daemon.wait() == 2
    assert "other.toml" in daemon.error_text()


@promise("E08")
def test_another_file_than_the_homes_is_its_own_too(home: Path, run: Start) -> None:
    """A command that names it goes through the daemon, which records what it changes."""
    other = home / "other.toml"
    other.touch()
    run("serve", "--config", str(other)).read()
    line = CommandLine(home)
    assert line.text("cocoon", "add", "shop", "http://127.0.0.1:1", "--config", str(other)).startswith("shop is at ")
    assert "shop" in other.read_text()
    assert '"cocoon_added"' in line.text("log", "show", "--json")


def test_started_by_a_bridge_it_ends_when_it_was_alone_long_enough(home: Path, run: Start) -> None:
    run("serve", "--auto", "--linger-s", "1").read()
    info = instance.published(str(home))
    assert info is not None
    bridge = run("mcp")
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    left = time.monotonic()
    bridge.stdin.close()
    wait_until(lambda: not is_alive(info["pid"]))
    assert time.monotonic() - left > 0.7
    assert not (home / "daemon.json").exists()


@promise("A02")
def test_a_client_that_is_killed_takes_its_browser_with_it(home: Path, run: Start, site: PageServer) -> None:
    run("serve", "--auto", "--linger-s", "1").read()
    info = instance.published(str(home))
    assert info is not None
    bridge = run("mcp")
    assert not Client(bridge).ask("navigate", url=site.url("small.html")).get("isError")
    assert processes_of(home)
    bridge.process.kill()
    wait_until(lambda: not is_alive(info["pid"]) and not processes_of(home))


@promise("B10")
def test_chrome_starts_with_the_first_session(home: Path, run: Start) -> None:
    run("serve").read()
    client = Client(run("mcp"))
    assert client.ask("list_sessions")["structuredContent"]["sessions"] == []
    assert not processes_of(home)
    client.ask("open_session")
    assert processes_of(home)


def test_a_newer_bridge_may_end_it_only_when_nobody_else_is_here(home: Path, run: Start) -> None:
    daemon = run("serve")
    daemon.read()
    bridge = run("mcp")
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    hello = b'{"pilothouse": "9.9.9", "door": "stop"}'
    assert instance.ask(str(home), hello) == {"stopping": False, "why": "1 client connected"}
    bridge.send(call(1, "tools/list"))
    bridge.read()
    bridge.stdin.close()
    bridge.wait()
    wait_until(lambda: instance.ask(str(home), hello)["stopping"])
    assert daemon.wait() == 0


@pytest.mark.parametrize("flags", [[], ["--insecure-no-secret-for-conformance"]])
def test_only_the_loud_switch_lets_a_caller_in_without_a_key(run: Start, flags: list[str]) -> None:
    daemon = run("serve", *flags)
    url = daemon.read()["mcp"]
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(initialize()).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    daemon.process.terminate()
    assert status == (200 if flags else 401)
    assert ("INSECURE" in daemon.error_text()) == bool(flags)


def test_the_log_is_lines_of_json(run: Start) -> None:
    daemon = run("serve")
    daemon.read()
    daemon.process.terminate()
    daemon.wait()
    lines = [json.loads(line) for line in daemon.error_text().splitlines()]
    assert any(line["from"] == "daemon" and line["message"].startswith("ready at") for line in lines)
    assert {"time", "level", "from", "message"} <= lines[0].keys()


def test_the_log_level_is_an_option(run: Start) -> None:
    daemon = run("serve", PILOTHOUSE_LOG_LEVEL="error")
    daemon.read()
    daemon.process.terminate()
    daemon.wait()
    assert daemon.error_text() == ""


@promise("E06")
def test_rest_is_there_unless_switched_off(home: Path, run: Start) -> None:
    def status(url: str) -> int:
        key = (home / "agent.key").read_text().strip()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers={"X-API-Key": key})) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    daemon = run("serve")
    url = daemon.read()["url"]
    assert [status(f"{url}{path}") for path in ("/api/tools", "/api/docs")] == [200, 200]
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait() == 0
    url = run("serve", PILOTHOUSE_SERVER_REST="false").read()["url"]
    assert [status(f"{url}{path}") for path in ("/api/tools", "/api/docs", "/api/health")] == [404, 404, 200]
