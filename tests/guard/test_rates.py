"""Calls a minute: counted by key, on a clock that never goes back, a batch and each of its steps."""

import itertools
from typing import Any

import pytest

from pilothouse.call import Call, Caller
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard.rates import WINDOW_S, Rates
from tests.house import Agent, House
from tests.promises import promise

pytestmark = promise("B08", "D09")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(rates: Rates, key: str = "a") -> int | None:
    """The seconds to wait, or None when the call may go on."""
    try:
        rates.count(key)
    except Failure as failure:
        return failure.details["retry_after_s"]
    return None


def test_a_window_that_slides() -> None:
    clock = Clock()
    rates = Rates(3, clock)
    for _ in range(3):
        assert refused(rates) is None
        clock.now += 10
    assert refused(rates) == 30
    assert refused(rates) == 30  # asking in vain makes nothing worse
    clock.now += 30
    assert refused(rates) is None
    assert refused(rates) == 10
    assert rates.refused == 3


def test_a_refusal_says_when_to_try_again() -> None:
    rates = Rates(1, Clock())
    rates.count("a")
    with pytest.raises(Failure, match="1 calls within a minute") as caught:
        rates.count("a")
    assert caught.value.code == "over_limit"
    assert "try again in 60 s" in caught.value.suggestions


def test_no_minute_has_more_calls_than_allowed() -> None:
    clock = Clock()
    rates, taken = Rates(50, clock), list[float]()
    for step in itertools.islice(itertools.cycle([0.1, 0.7, 3.0, 0.0, 0.01]), 2000):
        clock.now += step
        if refused(rates) is None:
            taken.append(clock.now)
    assert len(taken) > 500
    assert all(later - earlier >= WINDOW_S for earlier, later in zip(taken, taken[50:], strict=False))


def test_keys_do_not_touch_each_other_and_zero_is_no_limit() -> None:
    clock = Clock()
    rates = Rates(1, clock)
    assert refused(rates, "a") is None
    assert refused(rates, "b") is None
    assert refused(rates, "a") == 60
    free = Rates(0, clock)
    assert all(refused(free) is None for _ in range(10_000))


def test_keys_that_fell_silent_are_forgotten() -> None:
    clock = Clock()
    rates = Rates(5, clock)
    for number in range(1000):
        clock.now += 1
        rates.count(f"key {number}")
    assert len(rates._calls) <= WINDOW_S + 1


def test_a_limit_that_is_lowered_holds_at_once() -> None:
    rates = Rates(10, Clock())
    for _ in range(8):
        rates.count("a")
    rates.per_minute = 5
    assert refused(rates) == 60
    rates.per_minute = 9
    assert refused(rates) is None


class Limited:
    """The gate of a house, as a daemon with a rate would have it."""

    def __init__(self, house: House, per_minute: int, clock: Clock) -> None:
        gate = house.gate
        self.gate = Gate(
            gate.registry,
            house.sessions,
            gate._policy,
            gate.approvals,
            gate._audit,
            rates=Rates(per_minute, clock),
        )
        self._connections = itertools.count(1)

    def agent(self, key: str = "default") -> Agent:
        return Agent(self.gate, Caller(key, f"rates-{next(self._connections)}", "mcp"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def code(agent: Agent, tool: str, **args: Any) -> str:
    answer = await agent.gate.call(Call(tool, args, agent.caller))
    return answer.data["error"]["code"] if answer.failed else "ok"


async def test_a_new_connection_renews_nothing(house: House, clock: Clock) -> None:
    limited = Limited(house, 3, clock)
    codes = [await code(limited.agent(), "list_sessions") for _ in range(4)]
    assert codes == ["ok", "ok", "ok", "over_limit"]
    assert await code(limited.agent("another key"), "list_sessions") == "ok"


async def test_what_fails_counts_too(house: House, clock: Clock) -> None:
    agent = Limited(house, 2, clock).agent()
    calls = [("no_such_tool", {}), ("list_sessions", {"no": "such argument"}), ("list_sessions", {})]
    codes = [await code(agent, tool, **args) for tool, args in calls]
    assert codes == ["unknown_tool", "bad_request", "over_limit"]


async def test_a_batch_counts_and_so_do_its_steps(house: House, clock: Clock) -> None:
    async with Limited(house, 7, clock).agent() as agent:
        steps = [{"tool": "list_tabs"}] * 3
        assert await code(agent, "batch", steps=steps) == "ok"
        stopped = await agent.ask("batch", steps=steps)
        error = stopped.data["error"]
        assert (error["code"], error["details"]["step"]) == ("over_limit", 3)
        assert error["details"]["retry_after_s"] == 60
        assert error["retryable"]
        clock.now += 60
        assert await code(agent, "batch", steps=steps) == "ok"


async def test_a_batch_of_nothing_counts(house: House, clock: Clock) -> None:
    async with Limited(house, 3, clock).agent() as agent:
        steps = [{"tool": "no_such_tool"}]
        codes = [await code(agent, "batch", steps=steps) for _ in range(4)]
        assert codes[:1] == ["unknown_tool"]
        assert codes[-1] == "over_limit"
