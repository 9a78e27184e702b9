"""What all tests share: one page server and one real house with one Chromium per run, one session per test.

That Chromium is the headless shell where there is one: the same engine without windows, in half the time (M). Tests
that are about more than the engine say so with the mark `whole`, and have a house with all of Chromium.
"""

import asyncio
import functools
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import uvloop

from pilothouse.daemon import YOUNG_OBJECTS
from pilothouse.guard.rules import read_rules
from pilothouse.providers import launch
from tests import limit
from tests.differing import mark
from tests.extension import differs as own
from tests.extension.neighbour import in_own_chrome
from tests.house import Agent, House
from tests.processes import ENGINE, kill_daemon
from tests.remote import differs as far
from tests.remote.afar import on_endpoint, on_grid
from tests.server import PageServer

HERE = Path(__file__).parent
HOSTILE = HERE / "hostile"
AFAR = HERE / "remote"
OUTSIDE = {HERE / "conformance", AFAR}  # where others' programs take their time
THROUGH = {"extension": in_own_chrome, "remote": on_endpoint, "grid": on_grid}
TABLES: dict[str, Any] = {"extension": own, "remote": far, "grid": far}
# What takes long is begun first, or one half of a run would wait for the other at the end.
LONG = {HERE / one for one in (
    "guard/test_escapes.py", "parity/test_parity.py", "flows/test_refs.py", "flows/test_flows.py",
    "walker/test_truth.py", "test_cli.py", "flows/test_crowd.py", "guard/test_border_chromium.py",
    "extension/test_connection_chromium.py", "test_soak.py", "extension/test_own_tabs.py", "test_headed.py",
)}  # fmt: skip

# Every new client would read the system's certificates again, 50 ms each time (M).
for transport in (httpx._transports.default, httpx2._transports.default):
    transport.create_ssl_context = functools.cache(transport.create_ssl_context)  # pyright: ignore
# All of Chromium gives every site a process of its own; the shell must be told to.
launch._FLAGS += ("--site-per-process",)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The daemon's own event loop."""
    return {"uvloop": limit.remembered(uvloop.new_event_loop)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What hostile pages do to a browser, they do to all of it. Browsers elsewhere are for scripts/afar. The longest
    files come first."""
    if table := TABLES.get(str(config.getoption("--through"))):
        mark(items, table.DIFFERS, table.NOT_MEANT)
    for item in items:
        if HOSTILE in item.path.parents:
            item.add_marker("whole")
        if AFAR in item.path.parents:
            item.add_marker("afar")
        if item.path in LONG or OUTSIDE & {*item.path.parents}:
            item.add_marker(pytest.mark.limit(limit.LONG_S))
    items.sort(key=lambda item: item.path not in LONG)


def pytest_collection_finish() -> None:
    """As in the daemon: what is loaded now stays, no later collection need walk it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


pytest_configure, pytest_runtest_protocol = limit.pytest_configure, limit.pytest_runtest_protocol


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
async def whole_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """In the browser that people have."""
    one = House(tmp_path_factory.mktemp("whole"))
    yield one
    await one.close()


@pytest.fixture(scope="session")
async def shell_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """In the headless shell, if it is there and nobody named another browser."""
    one = House(tmp_path_factory.mktemp("shell"), chrome=ENGINE)
    yield one
    await one.close()


@pytest.fixture(scope="session")
async def other_house(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> AsyncIterator[House]:
    """Where `--through` says."""
    async with THROUGH[str(pytestconfig.getoption("--through"))](tmp_path_factory.mktemp("other")) as one:
        yield one


@pytest.fixture
def house(request: pytest.FixtureRequest) -> House:
    if request.config.getoption("--through") in THROUGH:
        return request.getfixturevalue("other_house")
    return request.getfixturevalue("whole_house" if request.node.get_closest_marker("whole") else "shell_house")


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
