"""Profile browsers that do not start: nothing is left open, and one that keeps failing is left alone for a while."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser import browsers as browsers_module
from pilothouse.browser.browsers import Browsers, Wish
from pilothouse.browser.circuit import FAILURES, PAUSE_S
from pilothouse.browser.signal import Signal
from pilothouse.errors import Failure
from pilothouse.profiles import Profile, Profiles
from tests.promises import promise

pytestmark = promise("B03", "B11")

changed = Signal()  # something happened to a fake


class FakeGateway:
    port = 1

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.closed = False

    def close(self) -> None:
        self.closed = True
        changed.stir()


class FakeChrome:
    pid = 1
    connection: Any = None

    def __init__(self) -> None:
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.closing = False
        self.closed = False

    async def close(self) -> None:
        self.closing = True
        changed.stir()
        await self.may_close.wait()
        self.closed = True
        changed.stir()


class FakeSeat:
    def __init__(self, browser: "FakeBrowser") -> None:
        self.browser = browser

    async def open_tab(self) -> None:
        return None


class FakeBrowser:
    """What a Chrome that started becomes; nothing is said to it."""

    def __init__(self, connection: Any, gateway: FakeGateway, *, files: Path, lang: str) -> None:
        self.gateway = gateway
        self.files = files
        self.alive = True
        self.seats: list[FakeSeat] = []

    async def start(self) -> None:
        return None

    def seat(self) -> FakeSeat:
        self.seats.append(FakeSeat(self))
        return self.seats[-1]

    def forget(self, seat: FakeSeat) -> None:
        self.seats.remove(seat)

    def give_up(self, why: str) -> None:
        self.alive = False


class FakeLauncher:
    def __init__(self) -> None:
        self.trouble: Failure | None = Failure("system", "it does not start")
        self.chromes: list[FakeChrome] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.starts = 0

    def headless(self, profile: Profile, asked: bool | None) -> bool:
        return True

    def user_of(self, data_dir: Path) -> str:
        return "pid 1 (chrome)"

    async def start_profile(self, profile: Profile, data_dir: Path, *, port: int, headless: bool | None) -> Any:
        self.starts += 1
        changed.stir()
        await self.gate.wait()
        if self.trouble:
            raise self.trouble
        self.chromes.append(FakeChrome())
        return self.chromes[-1]


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


@pytest.fixture
def good_room(room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    """Here it starts."""
    monkeypatch.setattr(browsers_module, "ProfileBrowser", FakeBrowser)
    room.launcher.trouble = None
    return room


async def until(condition: Callable[[], object]) -> None:
    assert await changed.until(condition, 20)


async def given_up(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


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
    await until(lambda: room.launcher.starts)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await room.browsers.close()
    assert room.gateways[0].closed


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


async def test_a_start_that_nobody_waits_for_goes_on_and_is_the_next_ones(good_room: Room) -> None:
    browsers, launcher = good_room.browsers, good_room.launcher
    launcher.gate.clear()
    taking = asyncio.create_task(browsers.take("work", Wish()))
    await until(lambda: launcher.starts)
    await given_up(taking)
    launcher.gate.set()
    await browsers.take("work", Wish())
    assert launcher.starts == 1
    running = browsers.find("work")
    assert running
    assert len(running.browser.seats) == 1
    await browsers.close()


async def test_an_end_that_nobody_waits_for_goes_on_and_the_next_start_waits_for_it(good_room: Room) -> None:
    browsers, launcher = good_room.browsers, good_room.launcher
    await browsers.take("work", Wish())
    (chrome,) = launcher.chromes
    chrome.may_close.clear()
    killing = asyncio.create_task(browsers.kill("work"))
    await until(lambda: chrome.closing)
    await given_up(killing)
    again = asyncio.create_task(browsers.take("work", Wish()))
    await asyncio.sleep(0)
    assert launcher.starts == 1
    chrome.may_close.set()
    await again
    assert (chrome.closed, good_room.gateways[0].closed, launcher.starts) == (True, True, 2)
    await browsers.close()


async def test_one_that_died_is_cleared_away_also_when_its_successor_is_not_waited_for(good_room: Room) -> None:
    browsers, launcher = good_room.browsers, good_room.launcher
    await browsers.take("work", Wish())
    (chrome,) = launcher.chromes
    running = browsers.find("work")
    assert running
    running.browser.give_up("it crashed")
    chrome.may_close.clear()
    taking = asyncio.create_task(browsers.take("work", Wish()))
    await until(lambda: chrome.closing)
    await given_up(taking)
    chrome.may_close.set()
    await until(lambda: chrome.closed and good_room.gateways[0].closed)
    await browsers.close()
    assert all(one.closed for one in (*launcher.chromes, *good_room.gateways))


async def test_a_trial_that_went_well_closes_the_circuit(good_room: Room) -> None:
    browsers, launcher = good_room.browsers, good_room.launcher
    launcher.trouble = Failure("system", "it does not start")
    for _ in range(FAILURES):
        with pytest.raises(Failure):
            await browsers.take("work", Wish())
    circuit = browsers._circuits["work"]
    now, real = 0.0, circuit._clock
    circuit._clock = lambda: real() + now
    now, launcher.trouble = PAUSE_S + 1, None
    await browsers.take("work", Wish())
    await browsers.kill("work")
    await browsers.take("work", Wish())
    await browsers.close()


async def test_one_that_is_taken_while_it_is_looked_at_is_not_idle(good_room: Room) -> None:
    browsers = good_room.browsers
    seat = await browsers.take("work", Wish())
    seat.browser.forget(seat)
    running = browsers.find("work")
    assert running
    running.left_at -= 1000
    async with browsers._starting["work"]:  # as one who is about to sit down has it
        sweeping = asyncio.create_task(browsers.close_idle(10))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.browser.seat()
    await sweeping
    assert browsers.find("work") is running
    await browsers.close()
