"""The breaker of one browser: what does not answer is left alone, tried once, replaced if it is dead; others go on."""

from typing import Any

import pytest

from pilothouse.browser.circuit import FAILURES, PAUSE_S, WINDOW_S, Circuit
from pilothouse.browser.pool import Pool
from pilothouse.errors import Failure
from tests.browser.test_pool import FakeBrowser, FakeGateway
from tests.house import House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B11")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeChrome:
    """A browser of which only the process is asked for."""

    connection: Any = None
    pid = 0

    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Deaf(FakeBrowser):
    """Runs, and answers nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.trouble = Failure("timeout", "the browser did not answer in time")

    async def answers(self) -> bool:
        return False


class Room:
    """A pool around a fake browser, whose circuit goes by our clock."""

    def __init__(self, clock: Clock, browser: FakeBrowser) -> None:
        self.starts = 0
        self.chrome = FakeChrome()
        self.next = browser
        self.pool = Pool(self._start, self._gateway)  # type: ignore[arg-type]
        self.pool._circuit = Circuit("the browser", clock)
        self.pool._started = self._started  # type: ignore[method-assign]
        self.pool.warm_up = lambda: None  # type: ignore[method-assign]

    async def _start(self) -> FakeChrome:
        return self.chrome

    async def _gateway(self) -> FakeGateway:
        return FakeGateway()

    async def _started(self) -> Any:
        self.starts += 1
        self.pool._chrome = self.chrome = FakeChrome()
        return self.next

    async def fail(self) -> Failure:
        with pytest.raises(Failure) as caught:
            await self.pool.take()
        return caught.value


async def test_a_browser_that_does_not_answer_is_left_alone_then_replaced() -> None:
    clock = Clock()
    room = Room(clock, Deaf())
    codes = [(await room.fail()).code for _ in range(FAILURES + 2)]
    assert codes == ["timeout"] * FAILURES + ["browser_gone"] * 2
    paused = await room.fail()
    assert paused.details == {"retry_after_s": PAUSE_S}
    assert paused.suggestions == [f"try again in {PAUSE_S:g} s"]
    first = room.chrome
    clock.now += PAUSE_S
    room.next = FakeBrowser()
    assert (await room.pool.take()).tabs
    assert first.closed
    assert room.starts == 2
    assert (await room.pool.take()).tabs, "the trial closed the circuit"


async def test_a_trial_that_fails_opens_it_again() -> None:
    clock = Clock()
    room = Room(clock, Deaf())
    for _ in range(FAILURES):
        await room.fail()
    clock.now += PAUSE_S
    assert (await room.fail()).code == "timeout"
    assert (await room.fail()).code == "browser_gone"


async def test_a_browser_that_answers_is_not_replaced_for_a_slow_minute() -> None:
    """Its sessions would lose everything for the trouble of a new one."""

    class Slow(Deaf):
        async def answers(self) -> bool:
            return True

    clock = Clock()
    room = Room(clock, Slow())
    for _ in range(FAILURES):
        await room.fail()
    clock.now += PAUSE_S
    room.pool._browser.trouble = None  # type: ignore[union-attr]
    assert (await room.pool.take()).tabs
    assert room.starts == 1
    assert not room.chrome.closed


async def test_one_browser_does_not_touch_another() -> None:
    clock = Clock()
    broken, sound = Room(clock, Deaf()), Room(clock, FakeBrowser())
    for _ in range(FAILURES + 1):
        await broken.fail()
    assert (await sound.pool.take()).tabs


def test_while_one_tries_the_others_wait() -> None:
    clock = Clock()
    circuit = Circuit("it", clock)
    for _ in range(FAILURES):
        circuit.failed()
    clock.now += PAUSE_S
    circuit.check()
    with pytest.raises(Failure):
        circuit.check()
    circuit.worked()
    circuit.check()
    circuit.check()
    clock.now += WINDOW_S
    circuit.failed()
    circuit.check()


async def test_failures_in_a_session_leave_the_others_alone(house: House, site: PageServer) -> None:
    async with house.agent() as clumsy, house.agent() as careful:
        await careful.call("navigate", url=site.url("small.html"))
        await clumsy.call("navigate", url=site.url("small.html"))
        for _ in range(FAILURES + 1):
            assert (await clumsy.ask("click", target="#nowhere", timeout_ms=20)).failed
            assert (await clumsy.ask("navigate", url="http://127.0.0.1:1/", timeout_ms=2000)).failed
        assert "Small page" in await careful.text("get_page_state")
        async with house.agent() as third:
            assert not (await third.ask("list_tabs")).failed
