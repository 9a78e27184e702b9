"""Profile browsers that do not start: nothing is left open, and one that keeps failing is left alone for a while."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser.browsers import Browsers, Wish
from pilothouse.browser.circuit import FAILURES
from pilothouse.errors import Failure
from pilothouse.profiles import Profile, Profiles
from tests.promises import promise

pytestmark = promise("B03", "B11")


class FakeGateway:
    port = 1

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.closed = False

    def close(self) -> None:
        self.closed = True


class FakeLauncher:
    def __init__(self) -> None:
        self.trouble = Failure("system", "it does not start")
        self.gate = asyncio.Event()
        self.gate.set()
        self.starts = 0

    def headless(self, profile: Profile, asked: bool | None) -> bool:
        return True

    def user_of(self, data_dir: Path) -> str:
        return "pid 1 (chrome)"

    async def start_profile(self, profile: Profile, data_dir: Path, *, port: int, headless: bool | None) -> Any:
        self.starts += 1
        await self.gate.wait()
        raise self.trouble


class Room:
    def __init__(self, home: Path) -> None:
        self.gateways: list[FakeGateway] = []
        self.launcher = FakeLauncher()
        profiles = Profiles(home)
        profiles.add({"name": "work", "proxy_server": "socks5://p.test:1080"})
        gateway: Any = self.open_gateway
        self.browsers = Browsers(profiles, self.launcher, gateway, home / "browsers")

    async def open_gateway(self, **asked: Any) -> FakeGateway:
        self.gateways.append(FakeGateway(asked))
        return self.gateways[-1]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def test_one_that_keeps_failing_is_left_alone_for_a_while(room: Room) -> None:
    for _ in range(FAILURES):
        with pytest.raises(Failure, match="it does not start"):
            await room.browsers.take("work", Wish())
    with pytest.raises(Failure, match="the browser of profile work") as caught:
        await room.browsers.take("work", Wish())
    assert caught.value.code == "browser_gone"
    assert room.launcher.starts == FAILURES
    assert all(gateway.closed for gateway in room.gateways)


async def test_a_profile_that_others_use_is_no_failure_of_the_browser(room: Room) -> None:
    room.launcher.trouble = Failure("in_use", "somebody has it")
    for _ in range(FAILURES + 1):
        with pytest.raises(Failure, match="somebody has it"):
            await room.browsers.take("work", Wish())


async def test_who_stops_waiting_leaves_nothing_open(room: Room) -> None:
    room.launcher.gate.clear()
    taking = asyncio.create_task(room.browsers.take("work", Wish()))
    async with asyncio.timeout(5):
        while not room.launcher.starts:
            await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert room.gateways[0].closed
    await room.browsers.close()


@promise("B09")
async def test_the_way_to_the_network_is_the_profiles_or_the_sessions(room: Room) -> None:
    for wish in (Wish(), Wish(proxy="http://q.test", allowed=("a.test",))):
        with pytest.raises(Failure):
            await room.browsers.take("work", wish)
    assert [one.asked for one in room.gateways] == [
        {"upstream": "socks5://p.test:1080", "allowed": ()},
        {"upstream": "http://q.test", "allowed": ("a.test",)},
    ]


async def test_a_closed_room_starts_nothing(room: Room) -> None:
    await room.browsers.close()
    with pytest.raises(Failure, match="the daemon is stopping"):
        await room.browsers.take("work", Wish())
    assert room.launcher.starts == 0


async def test_data_that_another_browser_uses_is_not_deleted(room: Room) -> None:
    with pytest.raises(Failure, match=r"is running: pid 1 \(chrome\)"):
        async with room.browsers.still("work"):
            raise AssertionError("it is not still")
