"""F07: one live picture of a tab, however many look. One that could not start leaves nobody before a dead one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pilothouse.browser import screencast
from pilothouse.browser.screencast import Screencasts
from pilothouse.browser.signal import Signal
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure
from tests.promises import promise

pytestmark = promise("F07")


class Channel:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.may_answer = asyncio.Event()
        self.fails = False

    def on(self, method: str, handler: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        return lambda: None

    def post(self, method: str, **params: Any) -> None:
        self.calls.append(method)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        self.calls.append(method)
        await self.may_answer.wait()
        if self.fails:
            raise ProtocolError(method, {"code": -1, "message": "it has no picture"})
        return {}


class FakeTab:
    closed = False

    def __init__(self) -> None:
        self.channel = Channel()
        self.document = object()
        self.signal = Signal()


def seen_by(casts: Screencasts, tab: FakeTab, left: list[object]) -> "asyncio.Task[Any]":
    return asyncio.create_task(casts.join(tab, lambda frame: None, left.append))  # pyright: ignore[reportArgumentType]


async def test_who_came_first_may_go_first():
    casts, tab, left = Screencasts(), FakeTab(), list[object]()
    first, second = seen_by(casts, tab, left), seen_by(casts, tab, left)
    await asyncio.sleep(0)
    first.cancel()
    tab.channel.may_answer.set()
    viewer = await asyncio.wait_for(second, 5)
    assert tab.channel.calls == ["Page.stopScreencast", "Page.startScreencast"]
    assert not left
    viewer.leave()
    assert left == [tab]


async def test_a_page_that_is_just_being_replaced_is_shown_when_its_successor_is_there():
    casts, tab, left = Screencasts(), FakeTab(), list[object]()
    tab.channel.fails = True
    tab.channel.may_answer.set()
    watching = seen_by(casts, tab, left)
    while tab.channel.calls.count("Page.startScreencast") < 1:
        await asyncio.sleep(0)
    tab.channel.fails = False
    tab.document = object()
    tab.signal.stir()
    (await asyncio.wait_for(watching, 5)).leave()
    assert tab.channel.calls.count("Page.startScreencast") == 2


async def test_who_leaves_while_it_is_tried_leaves_nothing_behind():
    casts, tab, left = Screencasts(), FakeTab(), list[object]()
    tab.channel.fails = True
    tab.channel.may_answer.set()
    watching = seen_by(casts, tab, left)
    while tab.channel.calls.count("Page.startScreencast") < 1:
        await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait([watching], timeout=5)
    assert left == [tab]
    calls = list(tab.channel.calls)
    tab.document = object()
    tab.signal.stir()
    for _ in range(10):
        await asyncio.sleep(0)
    assert tab.channel.calls == calls


async def test_a_start_that_failed_is_tried_again_by_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(screencast, "START_S", 0.0)
    monkeypatch.setattr(screencast, "FIRST_S", 0.01)
    casts, tab, left = Screencasts(), FakeTab(), list[object]()
    tab.channel.fails = True
    tab.channel.may_answer.set()
    both = await asyncio.gather(seen_by(casts, tab, left), seen_by(casts, tab, left), return_exceptions=True)
    assert [type(one) for one in both] == [Failure, Failure]
    tab.channel.fails = False
    (await asyncio.wait_for(seen_by(casts, tab, left), 5)).leave()
    assert tab.channel.calls.count("Page.startScreencast") == 2


async def test_all_who_look_are_told_why_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(screencast, "START_S", 0.0)
    casts, tab = Screencasts(), FakeTab()
    tab.channel.fails = True
    tab.channel.may_answer.set()
    with pytest.raises(Failure, match="cannot be shown"):
        await seen_by(casts, tab, [])
