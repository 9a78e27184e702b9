"""The connection over the memory transport: how every call ends, and what events do."""

import asyncio
import json
import logging
from contextvars import ContextVar
from typing import Any

import pytest

from pilothouse.cdp.connection import Connection, ProtocolError
from pilothouse.cdp.transport import Memory
from pilothouse.errors import Failure
from tests.promises import promise


class Wire:
    """A connection and the browser behind it, both in our hands."""

    def __init__(self) -> None:
        self.browser = Memory()
        self.connection = Connection(self.browser)
        self.root = self.connection.root

    def last(self) -> dict[str, Any]:
        return json.loads(self.browser.sent[-1])

    def push(self, **frame: Any) -> None:
        self.browser.push(json.dumps(frame).encode())


@pytest.fixture
async def wire() -> Wire:
    return Wire()


@promise("A01")
async def test_a_reply_answers_its_call_whatever_the_order(wire: Wire) -> None:
    first, second = wire.root.post("A.one"), wire.root.post("A.two", x=1)
    assert wire.last() == {"id": 2, "method": "A.two", "params": {"x": 1}}
    wire.push(id=2, result={"n": 2})
    wire.push(id=1, result={"n": 1})
    assert (await first, await second) == ({"n": 1}, {"n": 2})


@promise("A04", "C11")
async def test_an_event_belongs_to_no_call() -> None:
    """Transports run in the context of the call that had the browser started."""
    caller: ContextVar[str] = ContextVar("caller", default="nobody")
    token = caller.set("the first caller")
    try:
        wire, heard = Wire(), list[str]()
        wire.root.on("A.event", lambda params: heard.append(caller.get()))
        wire.push(method="A.event", params={})
        assert heard == ["nobody"]
    finally:
        caller.reset(token)


@promise("A01")
async def test_a_channel_names_its_session(wire: Wire) -> None:
    wire.connection.channel("S1").post("A.one")
    assert wire.last()["sessionId"] == "S1"


@promise("A05")
async def test_a_refusal_is_a_protocol_error(wire: Wire) -> None:
    call = wire.root.post("A.one")
    wire.push(id=1, error={"code": -32000, "message": "no such thing"})
    with pytest.raises(ProtocolError, match=r"A\.one: no such thing"):
        await call


@promise("A05")
async def test_the_deadline_ends_a_call(wire: Wire) -> None:
    with pytest.raises(Failure, match="did not answer") as late:
        await wire.root.send("A.one", timeout=0.01)
    assert late.value.code == "timeout"
    assert "A.one" not in late.value.message  # which is the browser's word, not a caller's
    wire.push(id=1, result={})  # too late, and nobody minds


@promise("A05")
async def test_a_detached_target_ends_its_calls_and_refuses_new_ones(wire: Wire) -> None:
    tab = wire.connection.channel("S1")
    call, steadfast, other = tab.post("A.one"), tab.post("A.two", steadfast=True), wire.root.post("A.three")
    wire.push(method="Target.detachedFromTarget", params={"sessionId": "S1"})
    for ended in (call, steadfast, tab.post("A.four")):
        with pytest.raises(Failure) as closed:
            await ended
        assert closed.value.code == "tab_closed"
    assert not other.done()


@promise("A05")
async def test_the_children_of_a_target_end_with_it(wire: Wire) -> None:
    frame = wire.connection.channel("S1").child("S2").child("S3")
    call = frame.post("A.one")
    wire.push(method="Target.detachedFromTarget", params={"sessionId": "S1"})
    with pytest.raises(Failure) as closed:
        await call
    assert closed.value.code == "tab_closed"


@promise("A05")
async def test_an_interruption_spares_steadfast_calls_and_the_channel(wire: Wire) -> None:
    call, steadfast = wire.root.post("A.one"), wire.root.post("A.two", steadfast=True)
    wire.root.interrupt(Failure("dialog_open", "a dialog"))
    with pytest.raises(Failure, match="a dialog"):
        await call
    wire.push(id=2, result={"fine": True})
    assert await steadfast == {"fine": True}
    assert wire.root.gone is None


@promise("A05")
async def test_each_call_gets_a_failure_of_its_own(wire: Wire) -> None:
    calls = [wire.root.post("A.one"), wire.root.post("A.two")]
    wire.root.interrupt(Failure("dialog_open", "a dialog"))
    first, second = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(first, Failure)
    first.message += " and more"
    assert str(getattr(second, "message", "")) == "a dialog"


@promise("A05")
async def test_a_lost_browser_fails_everything_at_once(wire: Wire) -> None:
    calls = [wire.root.post("A.one", steadfast=True), wire.connection.channel("S1").post("A.two")]
    wire.browser.drop("the pipe broke")
    calls.append(wire.root.post("A.three"))
    for ended in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(ended, Failure)
        assert ended.code == "browser_gone"
        assert "the pipe broke" in ended.message
    assert wire.connection.closed.result() == "the pipe broke"


@promise("A05")
async def test_closing_fails_what_is_pending(wire: Wire) -> None:
    call = wire.root.post("A.one")
    await wire.connection.close()
    with pytest.raises(Failure) as gone:
        await call
    assert gone.value.code == "browser_gone"


@promise("A05")
async def test_a_cancelled_call_leaves_nothing_behind(wire: Wire) -> None:
    task = asyncio.ensure_future(wire.root.send("A.one"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    wire.push(id=1, result={})
    assert not wire.connection._pending


@promise("A04")
async def test_events_arrive_in_order_and_before_the_reply_that_follows_them(wire: Wire) -> None:
    seen: list[int] = []
    wire.root.on("A.happened", lambda params: seen.append(params["n"]))
    call = wire.root.post("A.act")
    for n in range(100):
        wire.push(method="A.happened", params={"n": n})
    wire.push(id=1, result={})
    await call
    assert seen == list(range(100))


@promise("A04")
async def test_an_unsubscribed_listener_hears_no_more(wire: Wire) -> None:
    seen: list[Any] = []
    stop = wire.root.on("A.happened", seen.append)
    stop()
    stop()
    wire.push(method="A.happened", params={})
    assert seen == []


@promise("A05")
async def test_a_listener_that_fails_costs_nobody_else(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []
    wire.root.on("A.happened", lambda params: params["missing"])
    wire.root.on("A.happened", seen.append)
    with caplog.at_level(logging.ERROR):
        wire.push(method="A.happened", params={})
    assert seen == [{}]
    assert "A.happened" in caplog.text


@promise("A05")
@pytest.mark.parametrize("frame", [b"", b"{", b"[]", b'{"id":"x"}', b"\xff\xfe", b'{"id":99,"result":{}}', b"{}"])
async def test_frames_that_make_no_sense_are_dropped(wire: Wire, frame: bytes) -> None:
    call = wire.root.post("A.one")
    wire.browser.push(frame)
    wire.push(method="Unknown.event", params={}, sessionId="nobody")
    wire.push(id=1, result={"fine": True})
    assert await call == {"fine": True}


@promise("A07")
async def test_lone_surrogates_in_replies_and_events(wire: Wire) -> None:
    seen: list[Any] = []
    wire.root.on("A.happened", seen.append)
    call = wire.root.post("A.one")
    wire.browser.push(rb'{"id":1,"result":{"a\ud800":["x\udc00y",{"b":"\ud83d\ude00"}]}}')
    wire.browser.push(rb'{"method":"A.happened","params":{"text":"\ud83d"}}')
    assert await call == {"a\ufffd": ["x\ufffdy", {"b": "\U0001f600"}]}
    assert seen == [{"text": "\ufffd"}]


@promise("A07")
async def test_broken_utf8_in_a_frame(wire: Wire) -> None:
    call = wire.root.post("A.one")
    wire.browser.push(b'{"id":1,"result":{"a":"x\xed\xa0\x80y"}}')
    assert (await call)["a"].replace("\ufffd", "") == "xy"


@promise("A07")
async def test_lone_surrogates_of_a_caller_are_mended_too(wire: Wire) -> None:
    wire.root.post("A.one", text="x\ud800y")
    assert wire.last()["params"] == {"text": "x\ufffdy"}


@promise("A05")
async def test_an_answer_too_deep_to_read_fails_its_call_only(wire: Wire) -> None:
    deep, next_one = wire.root.post("A.one"), wire.root.post("A.two")
    wire.browser.push(b'{"id":1,"result":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}")
    wire.push(id=2, result={})
    with pytest.raises(ProtocolError, match="nested too deeply"):
        await deep
    assert await next_one == {}
