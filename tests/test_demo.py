"""`pilothouse demo`: the whole tour, in a real Chromium, and nothing left behind."""

import re
from pathlib import Path

import pytest

from pilothouse.commands.demo import steps
from tests.command_line import CommandLine
from tests.processes import Process, kill_daemon
from tests.promises import promise

pytestmark = promise("E08")


@pytest.fixture
def cli(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    daemon = Process("serve", home=home)
    daemon.read()
    yield CommandLine(home)
    daemon.end()
    kill_daemon(home)


def test_the_tour(cli: CommandLine, tmp_path: Path):
    done = cli.run("demo", "--headless", "--output", str(tmp_path / "demo.png"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.split(r"\n\d\. ", done.stdout)[1:]
    assert len(told) == len(steps("")) == 9
    opened, seen, filled, clicked, answered, waited, console, network, picture = told
    assert "Harbour Bakery" in opened
    assert re.search(r'button "Reserve" e\d', seen)
    assert "filled 4 fields" in filled
    assert 'confirm "Reserve 3 Sourdough for Ada?"' in clicked
    assert "accepted" in answered
    assert "met" in waited
    assert "stock is unknown" in console
    assert "/api/stock 503" in network
    assert f"saved {tmp_path}/demo.png" in picture
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert not list((cli.home / "sessions").glob("*"))


def test_a_browser_that_does_not_start_ends_the_tour(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    cli = CommandLine(home, PILOTHOUSE_CHROME="/nowhere/chrome")
    try:
        done = cli.run("demo", "--headless")
        assert done.returncode == 1
        assert "no browser at /nowhere/chrome" in done.stdout
    finally:
        cli.run("stop")
        kill_daemon(home)
