"""Two thousand sessions on a Grid that has no browsers: where one daemon's limit is, it refuses, and nothing fails."""

import asyncio
import time
from pathlib import Path

from pilothouse.config import Grid
from tests.house import House
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.stub import stub_grid

pytestmark = promise("H01", "B08")

MANY = 2000
AT_ONCE = 200


async def opened(house: House, number: int, at_once: asyncio.Semaphore) -> str:
    async with at_once:
        answer = await house.agent().ask("open_session")
    return answer.data["error"]["code"] if answer.failed else "ok"


async def test_it_degrades_by_refusing(tmp_path: Path) -> None:
    async with stub_grid(MANY) as stub:
        house = furnished(tmp_path, grid=Grid(stub.url))
        house.sessions._max_sessions = MANY - 100
        began, at_once = time.monotonic(), asyncio.Semaphore(AT_ONCE)
        codes = await asyncio.gather(*(opened(house, number, at_once) for number in range(MANY)))
        took = time.monotonic() - began
        assert {code: codes.count(code) for code in set(codes)} == {"ok": MANY - 100, "over_limit": 100}
        assert len(stub.sessions) == MANY - 100
        assert took < 120
        print(f"{MANY - 100} sessions in {took:.1f} s, {took * 1000 / (MANY - 100):.1f} ms each")
        await house.close()
        assert not stub.sessions


async def test_a_queue_that_is_longer_than_a_call(tmp_path: Path) -> None:
    """Places become free one by one; who waits is served in turn, and nobody is lost."""
    async with stub_grid(5) as stub:
        house = furnished(tmp_path, grid=Grid(stub.url))
        house.sessions._max_sessions = 100

        async def visit() -> None:
            async with house.agent() as agent:
                await agent.call("open_session")
                await agent.call("list_sessions")

        await asyncio.gather(*(visit() for _ in range(100)))
        assert not stub.sessions
        await house.close()
