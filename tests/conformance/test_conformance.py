"""E04: the official conformance suite passes in full on both wires. `scripts/tools` installs what runs here."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.promises import promise

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".tools" / "node_modules" / ".bin"

pytestmark = promise("E04")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real daemon, with the suite's fixtures and without the secret, which the suite cannot send."""
    command = [str(Path(sys.executable).with_name("pilothouse")), "serve", "--port", "0"]
    env = os.environ | {"PILOTHOUSE_HOME": str(tmp_path_factory.mktemp("conformance"))}
    server = subprocess.Popen(
        [*command, "--insecure-no-secret-for-conformance"], env=env, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    yield json.loads(server.stdout.readline())["mcp"]
    server.terminate()
    server.wait(10)


def run(tool: str, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run([str(BIN / tool), *args], env=env, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize(("version", "checks"), [("2025-11-25", 84), ("2026-07-28", 152)])
def test_the_whole_suite_passes(url: str, version: str, checks: int) -> None:
    done = run("conformance", "server", "--url", url, "--suite", "all", "--spec-version", version)
    failing = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    passed, failed = re.findall(r"Total: (\d+) passed, (\d+) failed", done.stdout)[-1]
    assert not failing, done.stdout[-4000:]
    assert (int(passed), int(failed)) == (checks, 0)


def test_the_inspector_calls_a_tool_over_http(url: str) -> None:
    done = run(
        "mcp-inspector", "--cli", url, "--method", "tools/call", "--tool-name", "evaluate_js",
        "--tool-arg", "expression=6 * 7",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"value": 42' in done.stdout


def test_the_inspector_tells_a_tools_error_by_its_exit_code(url: str) -> None:
    done = run("mcp-inspector", "--cli", url, "--method", "tools/call", "--tool-name", "go_back")
    assert done.returncode == 5, done.stderr
    assert "not_found" in done.stdout


def test_the_inspector_finds_every_schema_portable(url: str) -> None:
    done = run("mcp-inspector", "--cli", url, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
