"""Forty sessions asked for at once on two nodes of four places: all are served in turn, none is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.call import Call
from tests.house import House
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.hub import Hub, grid
from tests.server import PageServer

pytestmark = [promise("H01"), pytest.mark.alone]

CROWD = 40


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with grid(tmp_path_factory.mktemp("crowd"), nodes=2, slots=4) as one:
        yield one


class Crowd:
    def __init__(self, house: House, site: PageServer) -> None:
        self.house = house
        self.site = site
        self.served = 0
        self.queue: list[str] = []

    async def visitor(self, number: int) -> None:
        """As an agent would: a call that took too long is made again, and keeps its place."""
        async with self.house.agent() as agent:
            while (answer := await self.house.gate.call(Call("open_session", {}, agent.caller, self.told))).failed:
                assert answer.data["error"]["code"] == "timeout", answer.text
            for page in ("small.html", "upload.html"):
                url = self.site.url(f"{page}?{number}")
                answer = await agent.ask("navigate", url=url)
                assert not answer.failed, answer.text
                assert (await agent.call("get_page_state"))["url"] == url
        self.served += 1

    async def told(self, done: float, total: float | None, message: str) -> None:
        self.queue.append(message)


async def crowded(folder: Path, hub: Hub, site: PageServer) -> Crowd:
    house = furnished(folder, grid=hub.config())
    house.sessions._max_sessions = CROWD
    crowd = Crowd(house, site)
    async with asyncio.timeout(400):
        await asyncio.gather(*(crowd.visitor(number) for number in range(CROWD)))
    await house.close()
    return crowd


async def test_all_are_served_in_turn(tmp_path: Path, hub: Hub, site: PageServer) -> None:
    crowd = await crowded(tmp_path, hub, site)
    assert crowd.served == CROWD
    assert any("8 of 8 places are taken" in said for said in crowd.queue)
    await asyncio.to_thread(hub.until, lambda: not hub.sessions(), 60)
