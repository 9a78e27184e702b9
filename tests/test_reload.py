"""The configuration file while the daemon runs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp_line import LineClient
from tests.processes import PILOTHOUSE, Process, wait_until
from tests.promises import promise

pytestmark = promise("E09")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def daemon(home: Path) -> Iterator[Process]:
    process = Process("serve", home=home)
    process.read()
    yield process
    process.process.terminate()
    process.wait()
    process.end()


def write(home: Path, text: str) -> None:
    draft = home / "draft"
    draft.write_text(text)
    os.replace(draft, home / "config.toml")


def test_limits_are_taken_over_and_mistakes_are_told(home: Path, daemon: Process):
    client = LineClient([PILOTHOUSE, "mcp"], env={"PILOTHOUSE_HOME": str(home)})
    try:
        client.initialize()
        assert client.call("open_session").ok
        write(home, "[limits]\nsessions = 1\n")
        wait_until(lambda: any("was read again" in line for line in daemon.errors))
        refused = client.call("open_session")
        assert refused.error == "over_limit"
        assert "10 sessions" not in refused.text  # the limit it began with
        write(home, "[limits]\nsessions = 'many'\n")
        wait_until(lambda: any("stays as it was" in line for line in daemon.errors))
        assert client.call("open_session").error == "over_limit"
    finally:
        client.close()
