"""The Inspector through `pilothouse mcp`, the stdio bridge: it starts a daemon and lists and calls tools."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises import promise

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".tools" / "node_modules" / ".bin"

pytestmark = promise("E03", "E04")


def inspect(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PILOTHOUSE_HOME": str(home)}
    bridge = str(Path(sys.executable).with_name("pilothouse"))
    command = [
        str(BIN / "mcp-inspector"),
        "--cli",
        "-e",
        f"PILOTHOUSE_HOME={home}",
        "-e",
        "PILOTHOUSE_SERVER_PORT=0",
        bridge,
        "mcp",
        *args,
    ]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def home(tmp_path: Path):
    yield tmp_path
    stop = [str(Path(sys.executable).with_name("pilothouse")), "stop"]
    subprocess.run(
        stop, env=os.environ | {"PILOTHOUSE_HOME": str(tmp_path)}, capture_output=True, timeout=20, check=False
    )


def test_the_inspector_lists_and_calls_tools_over_stdio(home: Path) -> None:
    listed = inspect(home, "--method", "tools/list")
    assert listed.returncode == 0, listed.stderr
    assert '"navigate"' in listed.stdout
    called = inspect(home, "--method", "tools/call", "--tool-name", "list_tabs")
    assert called.returncode == 0, called.stderr
