"""Turns: what nobody waits for stands back until nobody wants the page."""

import asyncio

from pilothouse.browser.turn import Turn
from tests.promises import promise

pytestmark = promise("A06")


async def stands_back(turn: Turn) -> asyncio.Task[None]:
    waiting = asyncio.ensure_future(turn.free_for(0.01))
    await asyncio.sleep(0)
    return waiting


async def test_who_stands_back_goes_on_when_the_last_one_is_through() -> None:
    turn = Turn()
    await turn.acquire()
    waiting = await stands_back(turn)
    another = asyncio.ensure_future(turn.acquire())
    await asyncio.sleep(0)
    turn.release()
    await another
    assert not waiting.done()
    turn.release()
    await asyncio.wait_for(waiting, 5)


async def test_who_gives_up_waiting_holds_nobody_back() -> None:
    turn = Turn()
    await turn.acquire()
    another = asyncio.ensure_future(turn.acquire())
    await asyncio.sleep(0)
    turn.release()
    another.cancel()
    await asyncio.wait({another})
    await asyncio.wait_for(turn.free_for(0), 5)


async def test_a_moment_between_two_calls_is_not_enough() -> None:
    turn = Turn()
    async with turn:
        pass
    waiting = await stands_back(turn)
    async with turn:
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        assert not done
    await asyncio.wait_for(waiting, 5)


async def test_a_turn_that_nobody_wants_is_free_at_once() -> None:
    await asyncio.wait_for(Turn().free_for(10), 1)
