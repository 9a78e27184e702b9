"""What is told of a call while it lasts: when, how much of it, in which words, and never after it."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pilothouse import reporting
from pilothouse.call import Answer, Call
from pilothouse.doing import HEARD, Said, doing
from pilothouse.reporting import Report
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C11")


class Listener:
    """Who hears of a call; `reads` lets it take as long as it likes over each report."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float | None, str]] = []
        self.heard = asyncio.Event()
        self.reads: Callable[[], Awaitable[Any]] | None = None

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        if self.reads:
            await self.reads()
        self.told.append((done, total, message))
        self.heard.set()

    async def next(self) -> tuple[float, float | None, str]:
        self.heard.clear()
        await asyncio.wait_for(self.heard.wait(), 10)
        return self.told[-1]

    async def until(self, words: str) -> tuple[float, float | None, str]:
        while words not in (told := await self.next())[2]:
            pass
        return told

    @property
    def grows(self) -> bool:
        return all(one[0] < other[0] for one, other in itertools.pairwise(self.told))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "FIRST_S", 0.05)
    monkeypatch.setattr(reporting, "MOST_S", 0.1)


def called(agent: Agent, listener: Listener, tool: str, **args: Any) -> "asyncio.Task[Answer]":
    return asyncio.create_task(agent.gate.call(Call(tool, args, agent.caller, listener)))


def report(listener: Listener, *, counts: bool = False, expected_s: float | None = None) -> Report:
    return Report(listener, counts=lambda: counts, expected_s=lambda: expected_s)


async def test_seconds_are_told_of_the_time_that_it_may_take(hurried: None):
    listener = Listener()
    one = report(listener, expected_s=60)
    with one.doing.during(said("loading")):
        await listener.next()
        await listener.next()
    await one.close()
    assert {(total, words) for _, total, words in listener.told} == {(60, "loading")}
    assert 0.05 <= listener.told[0][0] < 60
    assert listener.grows


def said(words: str, *, is_persons: bool = False) -> Said:
    return Said(lambda: words, is_persons)


async def test_a_time_that_is_over_is_no_total(hurried: None):
    listener = Listener()
    one = report(listener, expected_s=0.001)
    assert (await listener.next())[1] is None
    await one.close()


async def test_a_person_who_is_waited_for_is_told_at_once_and_has_no_end():
    """Not after a second: whoever calls may have to go and look for them."""
    listener = Listener()
    one = report(listener, expected_s=60)
    with one.doing.during(said("waiting for approval of click (a1), 60 s left", is_persons=True)):
        told = await listener.next()
    await one.close()
    assert told[0] < reporting.FIRST_S
    assert told[1:] == (None, "waiting for approval of click (a1), 60 s left")


async def test_steps_are_counted_and_what_they_do_is_a_part_of_them(hurried: None):
    listener = Listener()
    one = report(listener, counts=True)
    with one.doing.during(said("a person has the wheel", is_persons=True)):
        before = await listener.next()
    await one.count(0, 2, "navigate")
    with one.doing.during(said("loading")):
        within = await listener.until("navigate: loading")
    await one.count(1, 2, "click")
    await one.count(2, 2, "done")
    await one.close()
    assert 0 <= before[0] < within[0] < 1
    assert within[1] == 2
    assert listener.told[-2:] == [(1, 2, "click"), (2, 2, "done")]
    assert listener.grows


async def test_a_part_of_a_step_grows_for_an_hour_and_stays_one():
    one = report(Listener(), counts=True)
    await one.count(1, 3, "typing")
    last = 1.0
    for age_s in range(5, 3600, 5):
        one._counted_at = asyncio.get_running_loop().time() - age_s
        so_far, total = one._so_far()
        assert last < so_far < 2
        assert total == 3
        last = so_far
    await one.close()


async def test_nothing_is_told_after_the_end(hurried: None):
    """Not even what was on its way to a client that reads slowly."""
    listener, reading, read = Listener(), asyncio.Event(), asyncio.Event()

    async def reads() -> None:
        reading.set()
        await read.wait()

    listener.reads = reads
    one = report(listener)
    await reading.wait()
    await one.close()
    read.set()
    await one.count(1, 2, "late")
    with one.doing.during(said("late", is_persons=True)):
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=reporting.FIRST_S * 3)
    assert listener.told == []


async def test_who_cannot_be_told_is_served_all_the_same(hurried: None):
    tries = 0

    async def broken(done: float, total: float | None, message: str) -> None:
        nonlocal tries
        tries += 1
        raise RuntimeError("the response is complete")

    one = Report(broken, counts=lambda: True, expected_s=lambda: None)
    await one.count(1, 2, "one")
    await one.count(2, 2, "two")
    await one.close()
    assert tries == 1


async def test_words_are_clean_and_hold_no_secret(hurried: None):
    listener = Listener()
    one = report(listener)
    with one.doing.during(said("loading https://a.test/?token=abcdefghijkl\x1b[2J")):
        told = await listener.next()
    await one.close()
    assert "abcdefghijkl" not in told[2]
    assert "\x1b" not in told[2]


# --- through the corridor, in a browser


async def test_a_wait_says_what_for(agent: Agent, site: PageServer, hurried: None):
    await agent.call("navigate", url=site.url("small.html"))
    listener = Listener()
    call = called(agent, listener, "wait_for", text="never there", timeout_ms=20_000)
    _, total, words = await listener.until("waiting for text")
    assert (total, words) == (20, 'waiting for text "never there"')
    assert listener.grows
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    count = len(listener.told)
    await agent.call("wait", time_ms=200)
    assert len(listener.told) == count


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"target": ["#a", "#b"], "gone": "Loading"}, 'target "#a | #b" or end of "Loading"'),
        ({"url": "/next"}, 'address "/next"'),
        ({"function": "false"}, "a function that holds"),
    ],
)
async def test_every_condition_has_its_words(
    agent: Agent, site: PageServer, hurried: None, args: dict[str, Any], words: str
):
    await agent.call("navigate", url=site.inline("Loading"))
    listener = Listener()
    call = called(agent, listener, "wait_for", **args)
    assert (await listener.until("waiting for "))[2] == f"waiting for {words}"
    call.cancel()


async def test_a_page_that_does_not_come_is_told_by_the_address_that_was_given(
    agent: Agent, site: PageServer, hurried: None
):
    listener = Listener()
    call = called(agent, listener, "navigate", url=site.url("hang?token=abcdefghijkl"), timeout_ms=20_000)
    _, total, words = await listener.until("1 request")
    assert total == 20
    assert words.startswith(f"loading {site.url('hang')}?token=")
    assert words.endswith("1 request open")
    assert "abcdefghijkl" not in words
    call.cancel()


async def test_who_stands_in_line_is_told_behind_whom(agent: Agent, site: PageServer, hurried: None):
    await agent.call("navigate", url=site.url("small.html"))
    ahead = asyncio.create_task(agent.ask("slow_type", target="#name", text="x" * 400, delay_ms=50))
    await agent.call("wait_for", function="document.querySelector('#name').value.length > 0")
    listener = Listener()
    call = called(agent, listener, "press_key", key="Tab")
    assert (await listener.until("in line"))[2] == "waiting in line behind slow_type"
    ahead.cancel()
    assert not (await call).failed


async def test_steps_of_a_batch_tell_what_they_wait_for(agent: Agent, site: PageServer, hurried: None):
    await agent.call("navigate", url=site.url("small.html"))
    listener = Listener()
    steps = [{"tool": "get_page_text"}, {"tool": "wait_for", "args": {"text": "never there"}}]
    call = called(agent, listener, "batch", steps=steps)
    done, total, words = await listener.until("waiting for")
    assert 1 < done < 2
    assert (total, words) == (2, 'wait_for: waiting for text "never there"')
    assert [words for _, _, words in listener.told if words in ("get_page_text", "wait_for")] == [
        "get_page_text",
        "wait_for",
    ]
    assert listener.grows
    call.cancel()


async def test_no_text_of_the_page_is_told(agent: Agent, site: PageServer, hurried: None):
    page = "<title>ZEBRA</title><p>ZEBRA</p><script>location.hash = 'ZEBRA'; setTimeout(() => fetch('/hang?ZEBRA'))</script>"
    await agent.call("navigate", url=site.inline(page))
    listener = Listener()
    call = called(agent, listener, "evaluate_js", expression="await new Promise(() => {})")
    await listener.until("running; ")
    call.cancel()
    call = called(agent, listener, "wait_for", idle=True)
    await listener.until("idle network")
    call.cancel()
    assert not any("ZEBRA" in words for _, _, words in listener.told)


async def test_a_call_that_ends_before_the_first_report_is_told_nothing(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reporting, "FIRST_S", 60.0)
    listener = Listener()
    await called(agent, listener, "navigate", url=site.url("small.html"))
    assert listener.told == []
    assert HEARD.get() is None
    with doing(lambda: "nobody hears this"):
        pass
