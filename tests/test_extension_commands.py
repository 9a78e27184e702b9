"""E08, F01: `pilothouse extension`. The browser is a program here that speaks as the extension does."""

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from pilothouse import __version__
from pilothouse.guard.pairing import ORIGIN
from tests.caller import INSTALL, Caller, Key
from tests.command_line import CommandLine
from tests.processes import PILOTHOUSE, kill_daemon
from tests.promises import promise

pytestmark = promise("E08", "F01")

OTHER = "99999999-2222-3333-4444-555555555555"
ROOT = Path(__file__).parent.parent
# Python reads it before anything else. The daemon that the commands start waits a shorter time for browsers that do not
# answer.
IMPATIENT = """
import sys
if "serve" in sys.orig_argv:
    from pilothouse.doors import extension
    from pilothouse.providers import link
    extension.RELOAD_S = link.STOP_S = 1.0
"""


class Browser:
    """Paired by a code; it answers whatever it is asked, and remembers it. A mute one does not answer."""

    def __init__(
        self, port: int, key: Key, version: str = __version__, *, mute: bool = False, name: str = "Work"
    ) -> None:
        self.mute = mute
        self.asked: list[str] = []
        self.heard = threading.Condition()
        self._stack = contextlib.ExitStack()
        caller = Caller(key, port)
        told = httpx.post(f"http://127.0.0.1:{port}/bridge", json=caller.knock, headers={"Origin": ORIGIN})
        offered = caller.offered(told.raise_for_status().json()["data"])
        made = connect(f"ws://127.0.0.1:{port}/bridge", origin=Origin(ORIGIN), subprotocols=offered)
        self._line: ClientConnection = self._stack.enter_context(made)
        assert json.loads(self._line.recv(5))["payload"]["proof"] == caller.first
        hello = {"version": version, "install": key.install, "boot": "b"}
        self._say("hello", payload=hello | {"name": name, "tabs": [{"tabId": 1}]})
        self.welcome: dict[str, Any] = json.loads(self._line.recv(5))["payload"]
        threading.Thread(target=self._live, daemon=True).start()

    def _say(self, kind: str, **frame: Any) -> None:
        self._line.send(json.dumps({"type": kind, **frame}))

    def _live(self) -> None:
        try:
            while True:
                command = json.loads(self._line.recv())
                if command["type"] == "stop" and not self.mute:
                    self._say("stopped", payload={"by": "daemon"})
                if "id" in command and not self.mute:
                    self._say("response", id=command["id"], data={})
                with self.heard:
                    self.asked.append(command["type"])
                    self.heard.notify_all()
        except ConnectionClosed:
            with self.heard:
                self.asked.append("closed")
                self.heard.notify_all()

    def wait(self, kind: str) -> None:
        with self.heard:
            assert self.heard.wait_for(lambda: kind in self.asked, 20)

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    modules = tmp_path_factory.mktemp("modules")
    (modules / "sitecustomize.py").write_text(IMPATIENT)
    yield CommandLine(home, HOME=str(home), PYTHONPATH=str(modules))
    kill_daemon(home)


@pytest.fixture
def browser(line: CommandLine) -> Iterator[Browser]:
    one = paired(line)
    yield one
    one.close()
    line.run("extension", "forget", "work")


def paired(line: CommandLine, install: str = INSTALL, **more: Any) -> Browser:
    made = json.loads(line.text("extension", "pair", "--json"))
    assert made["code"].startswith(f"{made['port']}-")  # not the usual port, so the code says which
    return Browser(made["port"], Key("code", made["code"].partition("-")[2], install), **more)


def state(line: CommandLine) -> list[tuple[str, str]]:
    told = json.loads(line.text("extension", "list", "--json"))
    return [(one["name"], one["state"]) for one in told["browsers"]]


def finding(line: CommandLine, check: str) -> dict[str, Any]:
    told = json.loads(line.run("doctor", "--json").stdout)["checks"]
    return next(one for one in told if one["check"] == check)


def test_a_code_is_shown_with_what_to_do(line: CommandLine):
    said = line.text("extension", "pair")
    assert said.startswith("Code: ")
    assert "Pilothouse icon" in said
    assert "no browser is paired" in line.text("extension", "list")


def test_pair_list_forget(line: CommandLine, browser: Browser):
    assert browser.welcome["name"] == "work"
    assert line.text("extension", "list") == f"work  connected  shares its group: 1 now  extension {__version__}\n"
    assert line.text("extension", "forget", "work") == "work is forgotten\n"
    browser.wait("closed")
    assert state(line) == []
    port = json.loads((line.home / "daemon.json").read_text())["port"]
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        Browser(port, Key("secret", browser.welcome["secret"]))
    refused = line.run("extension", "forget", "work")
    assert (refused.returncode, "no browser work is paired" in refused.stderr) == (4, True)


def test_stop_is_told_to_the_browser(line: CommandLine, browser: Browser):
    assert line.text("extension", "stop", "work") == "everything in work is stopped\n"
    browser.wait("stop")
    assert state(line) == [("work", "stopped")]
    assert "stopped by the person" in line.text("extension", "list")
    log = [json.loads(one) for one in (line.home / "audit.jsonl").read_text().splitlines()]
    assert {"name": "work", "by": "person"} in [one.get("told") for one in log if one.get("kind") == "browser_stopped"]
    assert line.run("extension", "stop", "play").returncode == 4


def test_without_a_name_all_are_stopped(line: CommandLine):
    assert "nothing to stop" in line.text("extension", "stop")
    first = paired(line)
    second = paired(line, mute=True, install=OTHER)
    told = line.text("extension", "stop").splitlines()
    assert told[0] == "everything in work is stopped"
    assert told[1].startswith("everything in work-2 is stopped; its extension has not answered")
    assert state(line) == [("work", "stopped"), ("work-2", "stopped")]
    told = json.loads(line.text("extension", "stop", "--json"))["stopped"]
    assert [(one["stopped"], one["told"]) for one in told] == [("work", True), ("work-2", False)]
    for one, name in ((first, "work"), (second, "work-2")):
        one.close()
        line.text("extension", "forget", name)


@pytest.mark.parametrize("name", ["Work", "Home"])
def test_a_daemon_at_another_port_is_told_of(line: CommandLine, name: str):
    browser = paired(line)
    browser.close()
    before = json.loads((line.home / "daemon.json").read_text())["port"]
    kill_daemon(line.home)
    told = line.text("extension", "list")
    now = json.loads((line.home / "daemon.json").read_text())["port"]
    assert now != before
    assert told.startswith(f"work  not connected  paired on port {before}, the daemon is on {now}: ")
    assert f"server.port = {before}" in told
    found = finding(line, "extension in work")
    assert (found["state"], found["found"]) == ("warn", f"paired on port {before}, the daemon is on {now}")
    assert f"server.port = {before}" in found["fix"]
    assert line.run("doctor").stdout.splitlines()[-1].endswith("extension in work")
    again = paired(line, name=name)  # it is here now; its person may call it something else
    assert state(line) == [(name.lower(), "connected")]
    assert "port" not in line.text("extension", "list")
    again.close()
    line.text("extension", "forget", name.lower())


def test_a_stop_holds_without_the_browsers_answer_and_over_a_restart(line: CommandLine):
    mute = paired(line, mute=True)
    assert "is stopped; its extension has not answered" in line.text("extension", "stop", "work")
    assert state(line) == [("work", "stopped")]
    mute.close()
    kill_daemon(line.home)
    assert state(line) == [("work", "stopped")]
    for _ in range(2):  # also when the person says it once more; of its version nothing is known yet
        assert line.text("extension", "list").startswith("work  stopped by the person  paired on port ")
        assert "is stopped; its extension has not answered" in line.text("extension", "stop", "work")
    port = json.loads((line.home / "daemon.json").read_text())["port"]
    back = Browser(port, Key("secret", mute.welcome["secret"]))
    back.wait("stop")
    assert state(line) == [("work", "stopped")]
    back.close()
    line.text("extension", "forget", "work")


def test_doctor_knows_each_browser(line: CommandLine, browser: Browser):
    found = finding(line, "extension in work")
    assert (found["state"], found["found"]) == ("ok", f"connected, version {__version__}, shares 1 tabs")
    line.text("extension", "stop", "work")
    found = finding(line, "extension in work")
    assert (found["state"], "Allow again" in found["fix"]) == ("warn", True)
    browser.close()
    browser.wait("closed")
    older = paired(line, version="0.0.9")
    found = finding(line, "extension in work")
    assert (found["state"], "0.0.9" in found["found"], "reload" in found["fix"]) == ("warn", True, True)
    assert f"(daemon {__version__}: update the older one)" in line.text("extension", "list")
    older.close()


def test_an_agents_key_opens_none_of_it(line: CommandLine):
    import http.client

    line.text("extension", "list")
    port = json.loads((line.home / "daemon.json").read_text())["port"]
    key = (line.home / "agent.key").read_text().strip()
    for method, path in (
        ("POST", "/api/extension/pair"),
        ("GET", "/api/extension/browsers"),
        ("DELETE", "/api/extension/browsers/work"),
        ("POST", "/api/extension/browsers/work/stop"),
        ("POST", "/api/extension/browsers/work/reload"),
    ):
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        asked.request(method, path, headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        assert asked.getresponse().status == 403
        asked.close()


def test_the_folder_is_one_that_chrome_can_load(line: CommandLine):
    folder = Path(line.text("extension", "path").strip())
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["version"] == __version__
    named = [manifest["background"]["service_worker"], manifest["action"]["default_popup"], *manifest["icons"].values()]
    assert all((folder / name).is_file() for name in named)


def test_an_installed_package_carries_the_extension():
    """What hatch is told to put into the wheel is where the command looks."""
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"extension": "pilothouse/extension"}


def test_a_change_reloads_it(line: CommandLine, browser: Browser):
    command = [PILOTHOUSE, "extension", "dev"]
    with subprocess.Popen(command, env=line.environment, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        deadline = threading.Timer(60, watching.kill)
        deadline.start()
        try:
            assert watching.stdout.readline().startswith("watching ")
            browser.mute = True
            os.utime(ROOT / "extension" / "watch.html")
            assert watching.stdout.readline().startswith("watch.html: work does not reload (")
            browser.mute = False
            browser.asked.clear()
            os.utime(ROOT / "extension" / "watch.html")
            assert watching.stdout.readline() == "watch.html: work reloads\n"
            browser.wait("reload")
        finally:
            deadline.cancel()
            watching.kill()
