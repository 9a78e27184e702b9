"""More sessions asked for at once than two nodes of four places have: all are served in turn, none is lost."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from pilothouse.browser import remote
from pilothouse.call import Call
from pilothouse.errors import Failure
from tests.house import Agent, House
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.hub import Hub, grid
from tests.server import PageServer

pytestmark = [promise("H01"), pytest.mark.alone]

PLACES = 8
WHOLE_S = 280


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with grid(tmp_path_factory.mktemp("crowd"), nodes=2, slots=4) as one:
        yield one


@pytest.fixture
def many(pytestconfig: pytest.Config) -> int:
    return int(str(pytestconfig.getoption("--crowd")))


class Crowd:
    """Who has a browser waits at the door, `open`, before it goes on."""

    def __init__(self, house: House, site: PageServer) -> None:
        self.house = house
        self.site = site
        self.open = asyncio.Event()
        self.inside = 0
        self.ends: list[str] = []
        self.queue: list[str] = []

    async def visitor(self, number: int) -> None:
        async with self.house.agent() as agent:
            await self._enter(agent)
            self.inside += 1
            await self.open.wait()
            self.ends.append(await self._look_around(agent, number))

    async def _enter(self, agent: Agent) -> None:
        """As an agent would: a call that took too long is made again, and keeps its place."""
        while (answer := await self.house.gate.call(Call("open_session", {}, agent.caller, self._told))).failed:
            assert answer.data["error"]["code"] in ("timeout", "browser_gone"), answer.text

    async def _look_around(self, agent: Agent, number: int) -> str:
        for page in ("small.html", "upload.html"):
            url = self.site.url(f"{page}?{number}")
            try:
                await agent.call("navigate", url=url)
                assert (await agent.call("get_page_state"))["url"] == url
            except Failure as failure:
                return failure.code
        return "served"

    async def _told(self, done: float, total: float | None, message: str) -> None:
        self.queue.append(message)


@contextlib.asynccontextmanager
async def crowded(folder: Path, hub: Hub, site: PageServer, many: int) -> AsyncIterator[Crowd]:
    """All of them have come, and those who got a browser stand at the door."""
    house = furnished(folder, grid=hub.config())
    house.sessions._max_sessions = many + 1
    crowd = Crowd(house, site)
    async with asyncio.timeout(WHOLE_S), asyncio.TaskGroup() as all_of_them:
        for number in range(many):
            all_of_them.create_task(crowd.visitor(number))
        await asyncio.to_thread(hub.until, lambda: crowd.inside == PLACES)
        yield crowd
    await house.close()


async def test_all_are_served_in_turn(
    tmp_path: Path, hub: Hub, site: PageServer, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When one node loses its power on the way, its sessions are told, and the rest finish on the node that is left."""
    async with crowded(tmp_path, hub, site, many) as crowd:
        async with crowd.house.agent() as other:
            said = await other.text("get_running_browsers")
        assert f"endpoint grid: {PLACES} browsers and {many - PLACES} asked for, {PLACES} sessions" in said
        monkeypatch.setattr(remote, "SILENCE_S", 9.0)  # from here on four browsers start at a time, no more
        hub.kill(hub.nodes[0])
        crowd.open.set()
    assert Counter(crowd.ends) == {"browser_gone": PLACES // 2, "served": many - PLACES // 2}
    assert any(f"{PLACES} of {PLACES} places are taken" in said for said in crowd.queue)
    await asyncio.to_thread(hub.until, lambda: not hub.sessions(hub.nodes[1]), 20)
