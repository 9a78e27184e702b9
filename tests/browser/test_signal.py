"""Waiting for a condition: who is woken, and for what."""

import asyncio

import pytest

from pilothouse.browser.signal import Signal
from tests.promises import promise

pytestmark = promise("A05")


async def test_only_as_many_go_on_as_there_is_something_for() -> None:
    """Both conditions hold when it comes; whoever is woken second finds nothing and waits on."""
    signal, there = Signal(), list[str]()

    async def take() -> str:
        assert await signal.until(lambda: there)
        return there.pop()

    takers = [asyncio.ensure_future(take()) for _ in range(2)]
    await asyncio.sleep(0)
    for thing in ("one", "another"):
        there.append(thing)
        signal.stir()
        done, _ = await asyncio.wait(takers, return_when=asyncio.FIRST_COMPLETED)
        assert [one.result() for one in done] == [thing]
        takers = [one for one in takers if one not in done]


async def test_what_has_passed_before_anybody_was_woken_does_not_hold() -> None:
    signal, state = Signal(), {"open": False}
    waiting = asyncio.ensure_future(signal.until(lambda: state["open"], 0.05))
    await asyncio.sleep(0)
    for value in (True, False):
        state["open"] = value
        signal.stir()
    assert await waiting is False


async def test_what_is_changed_after_the_word_counts_too() -> None:
    """By others who are told of the same event."""
    signal, state = Signal(), {"open": False}
    waiting = asyncio.ensure_future(signal.until(lambda: state["open"], 5))
    await asyncio.sleep(0)
    signal.stir()
    state["open"] = True
    assert await waiting is True


async def test_a_condition_that_fails_is_told_to_whom_it_belongs() -> None:
    signal, broken = Signal(), list[int]()
    waiting = asyncio.ensure_future(signal.until(lambda: broken and broken[1], 5))
    await asyncio.sleep(0)
    broken.append(1)
    signal.stir()
    with pytest.raises(IndexError):
        await waiting


async def test_the_time_may_be_over_at_once() -> None:
    assert await Signal().until(lambda: False, -1) is False
    assert await Signal().until(lambda: True, -1) is True
