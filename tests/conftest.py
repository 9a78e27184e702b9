"""What all tests share: one page server and one real house with one Chromium per run, one session per test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from pilothouse.guard.rules import read_rules
from pilothouse.providers import launch
from tests.differing import mark
from tests.extension import differs as own
from tests.extension.neighbour import in_own_chrome
from tests.house import Agent, House
from tests.processes import kill_daemon
from tests.remote import differs as far
from tests.remote.afar import on_endpoint, on_grid
from tests.server import PageServer

HOSTILE = Path(__file__).parent / "hostile"
THROUGH = {"extension": in_own_chrome, "remote": on_endpoint, "grid": on_grid}
TABLES: dict[str, Any] = {"extension": own, "remote": far, "grid": far}

# Chrome keeps one renderer in reserve, and throws it away whenever another context is used: with a context to each test
# that is a tenth of all the work (M).
launch._FLAGS = tuple(
    f"{flag},SpareRendererForSitePerProcess" if flag.startswith("--disable-features=") else flag
    for flag in launch._FLAGS
)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The daemon's own event loop."""
    return {"uvloop": uvloop.new_event_loop}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Hostile pages burn all they can get, and our deadlines must hold meanwhile."""
    if table := TABLES.get(str(config.getoption("--through"))):
        mark(items, table.DIFFERS, table.NOT_MEANT)
    for item in items:
        if HOSTILE in item.path.parents:
            item.add_marker("alone")


@pytest.fixture(scope="session")
def site() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--through", choices=["launched", *THROUGH], default="launched", help="agents' kind of browser")
    parser.addoption(
        "--crowd", type=int, default=16, help="sessions that are asked of a Grid at once (40: two minutes)"
    )


@pytest.fixture(scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> AsyncIterator[House]:
    home: Path = tmp_path_factory.mktemp("house")
    if kind := THROUGH.get(str(pytestconfig.getoption("--through"))):
        async with kind(home) as one:
            yield one
        return
    one = House(home)
    yield one
    await one.close()


@pytest.fixture
async def agent(house: House) -> AsyncIterator[Agent]:
    """A client with a session of its own."""
    if house.tidy:
        await house.tidy()
    async with house.agent() as one:
        yield one


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """For daemons of a test's own; none outlives it."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    yield folder
    kill_daemon(folder)


@pytest.fixture
async def say(house: House) -> AsyncIterator[Callable[[str], None]]:
    """Another policy, until the end of the test. Those who follow it need the loop, then too."""
    before = house.policy.rules
    yield lambda text: house.policy.replace(read_rules(text))
    house.policy.replace(before)
