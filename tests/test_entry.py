"""The `pilothouse` command, and what it imports on the way to the bridge."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from processes import PILOTHOUSE, Installed, kill_daemon

from pilothouse import __version__, admin
from pilothouse.instance import Claim
from tests.promises import promise

pytestmark = promise("E03", "E08")


def _run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PILOTHOUSE_HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run([PILOTHOUSE, *arguments], env=environment, capture_output=True, text=True, timeout=20)


def test_version(tmp_path: Path) -> None:
    assert _run("--version", home=tmp_path).stdout == f"pilothouse {__version__}\n"


def test_help_names_the_commands(tmp_path: Path) -> None:
    helped = _run("--help", home=tmp_path)
    assert helped.returncode == 0
    for command in ("serve", "mcp", "status", "stop"):
        assert command in helped.stdout


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve", "--nonsense"], ["serve", "--port", "x"]])
def test_wrong_usage(tmp_path: Path, arguments: list[str]) -> None:
    wrong = _run(*arguments, home=tmp_path)
    assert wrong.returncode == 2
    assert "Try 'pilothouse" in wrong.stderr


def test_status_and_stop(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert _run("status", home=home).returncode == 1
    assert _run("stop", home=home).stdout == "not running\n"
    daemon = Installed("serve", home=home)
    try:
        ready = daemon.read()
        shown = _run("status", home=home)
        assert shown.returncode == 0
        assert ready["url"] in shown.stdout
        told = json.loads(_run("status", "--json", home=home).stdout)
        assert (told["running"], told["pid"], told["home"]) == (True, daemon.pid, str(home))
        assert _run("stop", home=home).stdout == "stopped\n"
        assert daemon.wait() == 0
    finally:
        daemon.end()
        kill_daemon(home)


def test_a_daemon_that_starts_is_no_daemon_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PILOTHOUSE_HOME", str(tmp_path))
    monkeypatch.setattr(admin, "STOP_TIMEOUT_S", 0.1)
    with Claim(str(tmp_path)):
        told = CliRunner().invoke(admin.commands, ["stop"], standalone_mode=False)
    assert (told.return_value, told.stdout) == (1, "")
    assert "is starting or ending; try again" in told.stderr


def test_a_home_that_is_not_ours_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").touch()
    for arguments in (["status"], ["serve"], ["mcp"]):
        told = _run(*arguments, home=tmp_path)
        assert told.returncode == 1
        assert "chmod 700" in told.stderr


def test_the_way_to_the_bridge_imports_nothing_slow() -> None:
    """Each of these costs 5 ms or more of the 50 that a bridge has."""
    slow = [
        "json",
        "socket",
        "re",
        "enum",
        "typing",
        "pathlib",
        "subprocess",
        "threading",
        "click",
        "msgspec",
        "asyncio",
    ]
    code = f"""
import sys
before = set(sys.modules)
sys.argv = ["pilothouse", "mcp", "--help"]
from pilothouse.entry import main
main()
sys.exit(str(sorted((set(sys.modules) - before) & set({slow}))) if (set(sys.modules) - before) & set({slow}) else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
