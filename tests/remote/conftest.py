"""One Chromium with a debugging port for all tests of endpoints, and a house that knows it by several names."""

from collections.abc import AsyncIterator, Iterator

import pytest

from pilothouse.options import Endpoint
from tests.house import Agent, House
from tests.remote.afar import Afar, chromium, furnished


@pytest.fixture(scope="session")
def afar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    with chromium(tmp_path_factory.mktemp("afar") / "data") as one:
        yield one


@pytest.fixture(scope="session")
async def lab(tmp_path_factory: pytest.TempPathFactory, afar: Afar) -> AsyncIterator[House]:
    """`lab` is found by discovery and shared, `socket` is named by its address and gives each session a connection."""
    endpoints = [Endpoint("lab", afar.url), Endpoint("socket", afar.socket, share=False)]
    house = furnished(tmp_path_factory.mktemp("lab"), *endpoints)
    yield house
    await house.close()


@pytest.fixture
async def guest(lab: House) -> AsyncIterator[Agent]:
    async with lab.agent() as one:
        yield one
