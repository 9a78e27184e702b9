"""One daemon and one Chromium of the person's for all tests of the pages; agents have sessions of their own."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from pilothouse.options import Browser, Config
from pilothouse.providers.find import find_chrome
from tests.daemon_here import ALLOW, Here, asks_for_writes, daemon_here
from tests.own_chrome import OwnChrome, own_chrome
from tests.ui.dashboard import Dashboard, open_dashboard


@pytest.fixture(scope="session")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    """Its agents have all of Chromium: a person's hand goes another way there than in the engine alone."""
    whole = Config(browser=Browser(path=find_chrome("")))
    async with daemon_here(tmp_path_factory.mktemp("here"), whole) as one:
        yield one


@pytest.fixture(scope="session")
async def chrome() -> AsyncIterator[OwnChrome]:
    async with own_chrome() as one:
        yield one


@pytest.fixture
async def dashboard(here: Here, chrome: OwnChrome) -> AsyncIterator[Dashboard]:
    one = await open_dashboard(here, chrome)
    yield one
    await chrome.close(one.page)


class RestAgent:
    """A client with an agent's key and one session."""

    def __init__(self, line: httpx.AsyncClient) -> None:
        self.line = line
        self.session = ""

    async def call(self, tool: str, **args: Any) -> dict[str, Any]:
        """The whole answer."""
        return (await self.line.post(f"/api/browser/{self.session}/{tool}", json=args)).json()

    async def do(self, tool: str, **args: Any) -> dict[str, Any]:
        told = await self.call(tool, **args)
        assert told["success"], told
        return told["data"]


@pytest.fixture
async def agent(here: Here) -> AsyncIterator[RestAgent]:
    here.decide = lambda question: ALLOW
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.agent}, timeout=90) as line:
        one = RestAgent(line)
        one.session = (await line.post("/api/tools/open_session", json={})).json()["data"]["session"]
        yield one
        here.decide = lambda question: ALLOW
        await here.gate.end_session(one.session)


@pytest.fixture
def asking(here: Here) -> None:
    """Every write asks."""
    here.decide = asks_for_writes
