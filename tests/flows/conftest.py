"""One daemon, one page server and one agent for all flows; the daemon's home is thrown away with it."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# `tests.` and `bench.` are imported by these names from both sides, so the root must be on the path.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.flows.agent import Agent
from tests.server import PageServer


@pytest.fixture(scope="session")
def site() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


@pytest.fixture(scope="session")
def flow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    yield home
    with contextlib.suppress(OSError, ValueError):
        os.kill(json.loads((home / "daemon.json").read_text())["pid"], signal.SIGTERM)


@pytest.fixture(scope="session")
def new_agent(flow_home: Path) -> Iterator[Callable[[], Agent]]:
    """Each agent is a bridge process with a session of its own."""
    env = {
        "PILOTHOUSE_HOME": str(flow_home),
        "PILOTHOUSE_SERVER_PORT": "0",
        # Full speed from one caller, and more sessions than a person would open.
        "PILOTHOUSE_LIMITS_SESSIONS": "32",
        "PILOTHOUSE_LIMITS_REQUESTS_PER_MINUTE": "0",
    }
    agents: list[Agent] = []

    def make() -> Agent:
        agents.append(Agent([str(Path(sys.executable).with_name("pilothouse")), "mcp"], env=env))
        return agents[-1]

    yield make
    for agent in agents:
        agent.close()


@pytest.fixture
def agent(new_agent: Callable[[], Agent]) -> Iterator[Agent]:
    one = new_agent()
    yield one
    one.close()
