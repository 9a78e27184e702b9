"""F02, F03: a browser that comes and goes. Nothing waits for it, nothing is sent twice, and every call ends."""

import asyncio
import json
import time
from typing import Any

import msgspec
import pytest

from pilothouse.errors import Failure
from pilothouse.providers import frames, link
from pilothouse.providers.frames import Hello, Problem
from pilothouse.providers.link import Link, Links
from tests.promises import promise

pytestmark = promise("F02", "F03")

INSTALL = "11111111-2222-3333-4444-555555555555"


class Wire:
    """A socket that remembers."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.closed = ""

    def send(self, frame: bytes) -> None:
        self.sent.append(json.loads(frame))

    def close(self, code: int, reason: str) -> None:
        self.closed = reason


def hello(**more: Any) -> Hello:
    told = {"protocol": 1, "version": "0.1.0", "install": INSTALL, "boot": "b1", "tabs": [{"tabId": 1}]} | more
    return frames.hello(json.dumps(told).encode())


def say(one: Link, **frame: Any) -> None:
    assert one._wire  # pyright: ignore[reportPrivateUsage]
    one.take(frames.read(json.dumps(frame).encode()), one._wire)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def there(wire: Wire) -> Link:
    one = Link("work", INSTALL)
    one.arrive(hello(), wire)
    return one


async def failed(future: "asyncio.Future[Any]") -> Failure:
    with pytest.raises(Failure) as caught:
        await future
    return caught.value


async def test_a_question_and_its_answer(there: Link, wire: Wire):
    asked = there.post("attach", {"tabId": 1}, timeout=5)
    sent = wire.sent[0]
    assert (sent["type"], sent["payload"]) == ("attach", {"tabId": 1})
    say(there, type="response", id=sent["id"], data={"targetId": "T"})
    assert await asked == {"targetId": "T"}


async def test_a_deadline_travels_and_holds_here_too(there: Link, wire: Wire):
    given_up_at = (time.time() + 0.05) * 1000
    failure = await failed(there.post("tabs", {}, timeout=0.05))
    assert failure.code == "timeout"
    assert given_up_at - 20 < wire.sent[0]["deadline"] < given_up_at - 2  # whatever was given up here is too late there
    say(there, type="response", id=wire.sent[0]["id"], data={})  # too late, and nobody minds


async def test_replies_and_events_keep_their_order(there: Link, wire: Wire):
    order: list[Any] = []
    there.on_event(lambda kind, tab, raw: order.append((kind, tab, bytes(raw))))
    there.post_raw(1, "Page.enable", {}, timeout=5, reply=lambda data, problem: order.append(bytes(data or b"")))
    say(there, type="cdp", tabId=1, payload={"method": "A"})
    say(there, type="response", id=wire.sent[0]["id"], data={"x": 1})
    say(there, type="cdp", tabId=1, payload={"method": "B"})
    assert order == [("cdp", 1, b'{"method": "A"}'), b'{"x": 1}', ("cdp", 1, b'{"method": "B"}')]


async def test_chromes_own_error_arrives_as_it_was(there: Link, wire: Wire):
    got: list[Any] = []
    there.post_raw(1, "No.such", msgspec.Raw(b"{}"), timeout=5, session_id="S", reply=lambda *told: got.append(told))
    assert wire.sent[0]["payload"] == {"tabId": 1, "sessionId": "S", "method": "No.such", "params": {}}
    error = {"code": "protocol", "message": "not found", "cdp": {"code": -32601, "message": "not found"}}
    say(there, type="response", id=wire.sent[0]["id"], error=error)
    assert got == [(None, Problem("protocol", "not found", {"code": -32601, "message": "not found"}))]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("tab_closed", "tab_closed"),
        ("not_attached", "tab_closed"),
        ("not_shared", "denied"),
        ("refused", "denied"),
        ("stopped", "denied"),
        ("unsupported", "unsupported"),
        ("too_late", "timeout"),
        ("ended", "browser_gone"),
        ("protocol", "system"),
        ("anything", "system"),
    ],
)
async def test_what_the_extension_refuses_is_one_of_our_errors(there: Link, wire: Wire, told: str, code: str):
    asked = there.post("attach", {"tabId": 1}, timeout=5)
    say(there, type="response", id=wire.sent[0]["id"], error={"code": told, "message": "why"})
    failure = await failed(asked)
    assert (failure.code, bool(failure.suggestions)) == (code, True)


async def test_what_is_under_way_when_the_socket_breaks_may_have_run(there: Link, wire: Wire):
    asked = there.post("close", {"tabId": 1}, timeout=5)
    there.leave(wire, "it broke")
    failure = await failed(asked)
    assert (failure.code, failure.retryable, failure.details) == ("browser_gone", False, {"may_have_run": True})
    assert there.state == "away"


async def test_nothing_waits_for_a_browser_that_is_away(there: Link, wire: Wire):
    there.leave(wire, "it broke")
    assert (await failed(there.post("close", {"tabId": 1}, timeout=5))).code == "browser_gone"
    again = Wire()
    there.arrive(hello(boot="b2"), again)
    assert (there.boot, there.connected, again.sent) == ("b2", True, [])


async def test_who_does_not_return_is_gone(there: Link, wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(link, "RETURN_S", 0.05)
    states: asyncio.Queue[str] = asyncio.Queue()
    there.on_state(states.put_nowait)
    there.leave(wire, "it broke")
    told = [await asyncio.wait_for(states.get(), 5) for _ in range(2)]
    assert (told, there.tabs) == (["away", "gone"], {})


async def test_who_returns_in_time_was_never_gone(there: Link, wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(link, "RETURN_S", 0.05)
    states: list[str] = []
    there.on_state(states.append)
    there.leave(wire, "it broke")
    there.arrive(hello(), Wire())
    await asyncio.sleep(0.1)
    assert states == ["away", "connected"]


async def test_an_old_socket_that_ends_does_not_end_the_new_one(there: Link, wire: Wire):
    there.arrive(hello(), Wire())
    there.leave(wire, "late")
    assert there.connected


async def test_tabs_are_kept_true(there: Link):
    say(there, type="shared", tabId=2, payload={"tabId": 2, "title": "two \ud800", "openerTabId": 1})
    say(there, type="tab", tabId=1, payload={"tabId": 1, "url": "https://a.test/"})
    say(there, type="tab", tabId=9, payload={"tabId": 9})
    assert {number: tab.url for number, tab in there.tabs.items()} == {1: "https://a.test/", 2: ""}
    assert there.tabs[2].title == "two \ufffd"
    say(there, type="unshared", tabId=1, payload={"why": "closed"})
    assert list(there.tabs) == [2]


async def test_there_is_an_end_to_how_many_tabs(there: Link, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frames, "MAX_TABS", 3)
    for number in range(2, 6):
        say(there, type="shared", tabId=number, payload={"tabId": number})
    say(there, type="shared", tabId=3, payload={"tabId": 3, "title": "known"})
    assert {number: tab.title for number, tab in there.tabs.items()} == {1: "", 2: "", 3: "known"}


async def test_stopped_means_stopped_until_it_is_allowed(there: Link, wire: Wire):
    say(there, type="stopped", payload={"by": "popup"})
    assert (there.stopped, there.tabs) == (True, {})
    failure = await failed(there.post("tabs", {}, timeout=5))
    assert (failure.code, wire.sent) == ("denied", [])
    say(there, type="allowed")
    assert not there.stopped
    there.arrive(hello(stopped=True), Wire())
    assert there.stopped


async def test_stop_reaches_who_is_away_when_they_come_back(there: Link, wire: Wire):
    there.leave(wire, "it broke")
    await there.stop()
    assert there.stopped
    again = Wire()
    there.arrive(hello(), again)
    assert there.stopped
    assert [one["type"] for one in again.sent] == ["stop"]
    once_more = Wire()
    there.arrive(hello(), once_more)  # it left before it had said that it knows
    assert (there.stopped, [one["type"] for one in once_more.sent]) == (True, ["stop"])
    say(there, type="allowed")  # older than the stop that is under way
    assert there.stopped
    say(there, type="stopped", payload={"by": "daemon"})
    say(there, type="allowed")
    there.arrive(hello(), (last := Wire()))
    assert (there.stopped, last.sent) == (False, [])


async def test_stop_holds_here_at_once_whatever_the_browser_does(
    there: Link, wire: Wire, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(link, "STOP_S", 0.05)
    stopping = asyncio.create_task(there.stop())
    await asyncio.sleep(0)
    assert there.stopped
    assert (await failed(there.post("tabs", {}, timeout=5))).code == "denied"
    await stopping  # nobody answered it
    assert (there.stopped, there.stopping) == (True, True)
    async with asyncio.timeout(5):
        while len(wire.sent) < 3:  # it is told again until it says that it knows
            await asyncio.sleep(0.01)
    assert {one["type"] for one in wire.sent} == {"stop"}


async def test_a_socket_that_breaks_under_a_stop_leaves_it_stopped(there: Link, wire: Wire):
    stopping = asyncio.create_task(there.stop())
    await asyncio.sleep(0)
    there.leave(wire, "it broke")
    await stopping
    assert there.stopped
    there.arrive(hello(stopped=True), (again := Wire()))
    assert (there.stopped, there.stopping, again.sent) == (True, False, [])


async def test_a_socket_that_was_replaced_is_closed_and_says_nothing_any_more(there: Link, wire: Wire):
    there.arrive(hello(), (new := Wire()))
    assert (wire.closed, new.closed) == ("it connected anew", "")
    heard: list[str] = []
    there.on_event(lambda kind, *_: heard.append(kind))
    asked = there.post("tabs", {}, timeout=0.05)
    for frame in ({"type": "stopped"}, {"type": "response", "id": new.sent[0]["id"]}, {"type": "cdp", "tabId": 1}):
        there.take(frames.read(json.dumps(frame).encode()), wire)
    assert (there.stopped, heard) == (False, [])
    assert (await failed(asked)).code == "timeout"


async def test_a_browser_that_answers_is_there(there: Link, wire: Wire):
    asked = asyncio.create_task(there.ping(5))
    await asyncio.sleep(0)
    say(there, type="response", id=wire.sent[0]["id"], data={})
    assert await asked
    assert not await there.ping(0.05)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "shared", "tabId": 2, "payload": {"tabId": "two"}},
        {"type": "shared", "tabId": 2, "payload": {"tabId": 2, "url": "x" * 3000}},
        {"type": "tab", "tabId": 2, "payload": []},
    ],
)
async def test_news_that_do_not_fit_are_refused_whole(there: Link, frame: dict[str, Any]):
    with pytest.raises(ValueError):  # noqa: PT011
        say(there, **frame)
    assert list(there.tabs) == [1]


async def test_a_listener_that_fails_costs_nobody_the_browser(there: Link):
    heard: list[str] = []

    def fail(*_: Any) -> None:
        raise RuntimeError("mine")

    there.on_event(fail)
    leave = there.on_event(lambda kind, *_: heard.append(kind))
    say(there, type="cdp", tabId=1, payload={})
    leave()
    say(there, type="cdp", tabId=1, payload={})
    assert heard == ["cdp"]


async def test_the_only_browser_is_found_and_several_are_told_apart():
    links = Links()
    with pytest.raises(Failure, match="no Chrome"):
        links.find()
    links.of("work", INSTALL).arrive(hello(), Wire())
    assert links.find().name == "work"
    links.of("home", "other").arrive(hello(), Wire())
    with pytest.raises(Failure) as caught:
        links.find()
    assert caught.value.suggestions == ["name one of them: work, home"]
    assert links.find("home").install == "other"
    with pytest.raises(Failure, match="no browser play"):
        links.find("play")


async def test_a_forgotten_browser_ends():
    links, wire = Links(), Wire()
    one = links.of("work", INSTALL)
    one.arrive(hello(), wire)
    assert links.of("work", INSTALL) is one
    heard: list[tuple[str, str]] = []
    links.on_forgotten(lambda name: heard.append((name, one.state)))
    links.forget("work", "another")
    assert one.connected
    links.forget("work", INSTALL)
    assert heard == [("work", "connected")]  # before anybody could look for another browser of that name
    assert (wire.closed, one.state) == ("the person forgot this browser", "gone")
    assert links.of("work", INSTALL) is not one


async def test_another_browser_of_the_name_ends_what_was_there():
    links, wire = Links(), Wire()
    heard: list[str] = []
    links.on_forgotten(heard.append)
    links.of("work", INSTALL).arrive(hello(), wire)
    assert links.of("work", "another").install == "another"
    assert (heard, wire.closed) == (["work"], "the person forgot this browser")
