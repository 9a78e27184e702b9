"""E05, E08: `pilothouse console --follow` and its sisters, against a real daemon and a real Chromium."""

import json
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine
from tests.processes import PILOTHOUSE, Process, kill_daemon
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("E05", "E08")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("follow") / "home"
    folder.mkdir(mode=0o700)
    daemon = Process("serve", home=folder)
    daemon.read()
    yield folder
    daemon.end()
    kill_daemon(folder)


@pytest.fixture
def cli(home: Path, request: pytest.FixtureRequest, site: PageServer) -> Iterator[CommandLine]:
    """A terminal of its own for each test, with a page open in it."""
    one = CommandLine(home, terminal=request.node.name)
    one.text("navigate", site.url("small.html"))
    yield one
    one.run("close-session")


class Following:
    """A command that goes on; each line that it prints is waited for."""

    def __init__(self, cli: CommandLine, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [PILOTHOUSE, *arguments], env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def read(self) -> str:
        return self._lines.get(timeout=20)

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)

    def __enter__(self) -> "Following":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)


def said(cli: CommandLine, script: str) -> None:
    cli.text("evaluate-js", script)


def test_the_console_is_followed_after_its_past(cli: CommandLine):
    said(cli, "console.log('old')")
    with Following(cli, "console", "--follow") as following:
        assert following.read() == "t1 [log] old"
        said(cli, "console.error('now')")
        assert following.read() == "t1 [error] now"
        assert following.interrupt() == 130


def test_levels_patterns_and_json(cli: CommandLine):
    said(cli, "console.error('a ready'); console.log('b no')")
    with Following(cli, "console", "-f", "--level", "error", "--pattern", "^a", "--json") as following:
        assert json.loads(following.read())["text"] == "a ready"
        said(cli, "console.log('a log'); console.error('b error'); console.error('a hit')")
        told: dict[str, Any] = json.loads(following.read())
        assert (told["kind"], told["tab"], told["level"], told["text"]) == ("console", "t1", "error", "a hit")


def test_the_network_is_followed(cli: CommandLine, site: PageServer):
    with Following(cli, "network", "--follow", "--type", "document", "--type", "fetch") as following:
        first = following.read().split()
        assert first[2:6] == ["GET", site.url("small.html"), "200", "Document"]
        said(cli, "fetch('/status/404').then(() => 0)")
        told = following.read().split()
        assert (told[0], told[3:6]) == ("t1", [site.url("status/404"), "404", "Fetch"])


def test_events_are_followed(cli: CommandLine, site: PageServer):
    with Following(cli, "events", "--follow", "--json") as following:
        assert json.loads(following.read())["event"] == "navigation"
        said(cli, "window.open('/form.html'), 0")
        while json.loads(following.read())["event"] != "tab_opened":
            pass


def test_without_follow_only_the_past_is_printed(cli: CommandLine):
    said(cli, "console.log('one'); console.log('two'); console.log('three')")
    assert cli.text("console", "--limit", "2") == "t1 [log] two\nt1 [log] three\n"
    assert cli.text("console", "--level", "error") == ""


def test_the_end_of_the_session_is_the_end(cli: CommandLine):
    said(cli, "console.log('ready')")
    with Following(cli, "console", "--follow") as following:
        following.read()
        cli.text("close-session")
        assert following.process.wait(20) == 0
        assert following.process.stderr
        assert following.process.stderr.read() == "pilothouse: the session is closed\n"


def test_a_reader_that_ends_is_the_end(cli: CommandLine):
    said(cli, "console.log('ready')")
    command = [PILOTHOUSE, "console", "--follow"]
    with subprocess.Popen(command, env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as following:
        assert following.stdout
        assert following.stderr
        assert following.stdout.readline() == b"t1 [log] ready\n"
        following.stdout.close()
        said(cli, "console.log('for nobody')")
        assert following.wait(20) == 0
        assert following.stderr.read() == b""


def test_what_cannot_be_followed(cli: CommandLine, home: Path):
    for options in (["--pattern", "("], ["--pattern", "x" * 1001], ["--session", "nonsense"]):
        done = cli.run("console", "--follow", *options)
        assert done.returncode in (2, 4), done.stderr
        assert done.stderr
    nobody = CommandLine(home, terminal="nobody").run("console", "--follow")
    assert "no session is open" in nobody.stderr
    assert nobody.returncode != 0


def test_help_says_how(cli: CommandLine):
    for name in ("console", "network", "events"):
        told = cli.text(name, "--help")
        assert "--follow" in told
        assert "Ctrl-C" in told
