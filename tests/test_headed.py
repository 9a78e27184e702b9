"""Browsers with a window, on a display that nobody sees: every way to ask for one, and what is told without a display.

`scripts/setup dev` installs Xvfb.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.mcp_line import LineClient
from tests.processes import PILOTHOUSE, Process, processes_of
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B03", "B09")


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """The X server picks a free number, and says it when it listens."""
    ours, theirs = os.pipe()
    command = ["Xvfb", "-displayfd", str(theirs), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[theirs], stderr=subprocess.DEVNULL)
    os.close(theirs)
    try:
        with open(ours) as told:
            yield f":{told.readline().strip()}"
    finally:
        server.terminate()
        server.wait(10)


def arguments_of(home: Path) -> list[str]:
    """The command lines of the browsers themselves, not of their helpers."""
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ") for pid in processes_of(home)]
    return [line for line in lines if "--remote-debugging-pipe" in line and "--type=" not in line]


def test_a_session_and_a_profile_with_a_window(home: Path, display: str, site: PageServer):
    daemon = Process("serve", home=home, DISPLAY=display, PILOTHOUSE_CHROME="")
    cli = CommandLine(home)
    try:
        daemon.read()
        cli.text("open-session", "--no-headless")
        cli.text("navigate", site.url("small.html"))
        cli.text("click", "text=Go")
        assert cli.data("evaluate-js", "[clicks, innerWidth, innerHeight]")["value"] == [1, 1280, 800]
        assert cli.data("evaluate-js", "outerWidth >= innerWidth && outerHeight > innerHeight")["value"] is True
        assert "small page" in cli.text("get-page-state").lower()
        cli.text("profile", "add", "Seen", "--no-headless")
        cli.text("launch-browser", "seen")
        cli.text("navigate", site.url("form.html"), "--session", "seen")
        assert "All kinds" in cli.text("get-page-text", "--session", "seen")
        assert [one["headless"] for one in cli.data("get-running-browsers")["browsers"]] == [False, False]
        assert len(arguments_of(home)) == 2
        assert "--headless" not in "".join(arguments_of(home))
    finally:
        daemon.end()


def test_a_client_that_wants_to_watch(home: Path, display: str, site: PageServer):
    environment = {"PILOTHOUSE_HOME": str(home), "PILOTHOUSE_SERVER_PORT": "0", "DISPLAY": display}
    with LineClient([PILOTHOUSE, "mcp", "--headed"], env=environment) as client:
        client.initialize()
        assert client.call("navigate", url=site.url("small.html")).ok
        assert client.call("click", target="text=Go").ok
        picture = client.call("screenshot").raw["content"][-1]
        assert (picture["type"], picture["mimeType"]) == ("image", "image/jpeg")
        assert "--headless" not in "".join(arguments_of(home))


@promise("C08")
def test_without_a_display_it_says_so(home: Path):
    cli = CommandLine(home)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        cli.environment.pop(name, None)
    try:
        cli.text("profile", "add", "Seen", "--no-headless")
        for asked in (["open-session", "--no-headless"], ["launch-browser", "seen"]):
            failed = cli.run(*asked, "--json")
            error = json.loads(failed.stdout)["error"]
            assert (failed.returncode, error["code"]) == (4, "unsupported")
            assert "needs a display" in error["message"]
            assert "xvfb-run" in " ".join(error["suggestions"])
        assert cli.run("open-session").returncode == 0
    finally:
        cli.run("stop")
