"""Two thousand sessions on a Grid that has no browsers: where one daemon's limit is, it refuses, and nothing fails."""

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from pilothouse.browser import handles
from pilothouse.options import Grid
from tests.house import House
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.stub import stub_grid

pytestmark = promise("H01", "B08")

ROOT = Path(__file__).parents[2]
MANY = 2000
AT_ONCE = 200


async def opened(house: House, number: int, at_once: asyncio.Semaphore) -> str:
    async with at_once:
        answer = await house.agent().ask("open_session")
    return answer.data["error"]["code"] if answer.failed else "ok"


async def test_it_degrades_by_refusing(tmp_path: Path) -> None:
    handles.raise_limit()
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


# A house with no limit of its own, in a process that may have few files open.
_SMALL = """
import asyncio, collections, json, resource, sys
from pathlib import Path
from pilothouse.browser import handles
from pilothouse.options import Grid
from tests.remote.afar import furnished
from tests.remote.test_two_thousand import opened

async def main(url, home, files, many):
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    handles.raise_limit()
    house = furnished(Path(home), grid=Grid(url))
    house.sessions._max_sessions = many + 1
    at_once = asyncio.Semaphore(20)
    codes = await asyncio.gather(*(opened(house, number, at_once) for number in range(many)))
    print(json.dumps(collections.Counter(codes)), flush=True)
    await house.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


@pytest.mark.parametrize(("files", "many"), [(512, 400)])
async def test_the_limit_of_the_system_is_one_of_ours(tmp_path: Path, files: int, many: int) -> None:
    """Beyond what the system gives, sessions are refused; none of those that were let in fails."""
    handles.raise_limit()
    async with stub_grid(many) as stub:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _SMALL, stub.url, str(tmp_path), str(files), str(many), cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(child.communicate(), 60)
        codes: dict[str, int] = json.loads(out)
        assert set(codes) == {"ok", "over_limit"}
        assert (files - handles.RESERVED) / 2 < codes["ok"] < files - handles.RESERVED
        assert not stub.sessions
        print(f"with {files} files: {codes['ok']} sessions, then over_limit")


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
