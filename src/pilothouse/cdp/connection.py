"""One connection to one browser, in flatten mode: calls out, replies and events in, by session.

Above: browser. Below: a transport. A call ends with its reply, its deadline, the end of its target, or an
interruption (a crash, a dialog), whichever comes first; nothing waits for ever.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from contextvars import Context
from typing import Any, cast

import msgspec

from pilothouse.cdp.decode import decode, mend
from pilothouse.cdp.transport import Transport
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

CALL_TIMEOUT_S = 30.0
OWN_WORDS = "pilothouse"
"""In an error: the parts of a `Failure`, from a transport of ours that knows better than the browser."""

Handler = Callable[[dict[str, Any]], None]


class ProtocolError(Exception):
    """The browser refused a command. The rooms above know what that means for the user."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        super().__init__(f"{method}: {error.get('message', 'refused')}")
        self.method = method
        self.reason = str(error.get("message", ""))


class _Frame(msgspec.Struct):
    """The envelope only: parameters stay raw until somebody wants them."""

    id: int = 0
    method: str = ""
    sessionId: str = ""  # noqa: N815 (CDP's spelling)
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: dict[str, Any] | None = None


class _Pending(msgspec.Struct):
    future: asyncio.Future[dict[str, Any]]
    channel: "Channel"
    method: str
    timer: asyncio.TimerHandle
    steadfast: bool


_encode = msgspec.json.Encoder().encode
_ID = re.compile(rb'\{"id":(\d{1,15}),')
_envelope = msgspec.json.Decoder(_Frame).decode


class Channel:
    """One CDP session: a tab, a frame, a worker; the browser itself has the empty id."""

    def __init__(self, connection: "Connection", session_id: str) -> None:
        self.id = session_id
        self.gone: Failure | None = None
        self._connection = connection
        self._handlers: dict[str, list[Handler]] = {}
        self._children: set[str] = set()
        self._complained: set[str] = set()

    @property
    def connection(self) -> "Connection":
        return self._connection

    def post(
        self, method: str, *, timeout: float = CALL_TIMEOUT_S, steadfast: bool = False, **params: Any
    ) -> asyncio.Future[dict[str, Any]]:
        """Send now, answer later: commands posted in a row travel together. `steadfast` calls outlast interruptions."""
        return self._connection.post(self, method, params, timeout, steadfast)

    async def send(
        self, method: str, *, timeout: float = CALL_TIMEOUT_S, steadfast: bool = False, **params: Any
    ) -> dict[str, Any]:
        return await self._connection.post(self, method, params, timeout, steadfast)

    def on(self, method: str, handler: Handler) -> Callable[[], None]:
        """Call `handler` with the parameters of every such event; the answer unsubscribes."""
        handlers = self._handlers.setdefault(method, [])
        handlers.append(handler)
        return lambda: handlers.remove(handler) if handler in handlers else None

    def child(self, session_id: str) -> "Channel":
        """The channel of a target that was attached through this one; it ends with this one at the latest."""
        self._children.add(session_id)
        return self._connection.channel(session_id)

    def interrupt(self, failure: Failure) -> None:
        """End all calls under way; the channel lives on."""
        self._connection.fail(self, failure)

    def end(self, failure: Failure) -> None:
        self.gone = self.gone or failure
        self._connection.fail(self, failure, steadfast_too=True)
        for session_id in self._children:
            self._connection.drop(session_id, failure)

    def dispatch(self, method: str, raw: msgspec.Raw) -> None:
        handlers = self._handlers.get(method)
        if not handlers:
            return
        # Events belong to no call, but a transport runs in the context of the one that had it made.
        Context().run(self._hand_out, method, tuple(handlers), decode(raw))

    def _hand_out(self, method: str, handlers: tuple[Handler, ...], params: dict[str, Any]) -> None:
        for handler in handlers:
            try:
                handler(params)
            except Exception:  # one listener's mistake must not cost everybody the browser
                if method not in self._complained:  # a page may cause ten thousand such events a second
                    log.exception("a listener of %s failed", method)
                self._complained.add(method)


class Connection:
    """`ours`: the transport may speak in our own words; from any other they are as foreign as the rest."""

    def __init__(self, transport: Transport, *, ours: bool = False) -> None:
        self._transport = transport
        self._ours = ours
        self._pending: dict[int, _Pending] = {}
        self._last_id = 0
        self.heard = 0  # frames so far
        self._complained = False
        self.root = Channel(self, "")
        self._channels: dict[str, Channel] = {"": self.root}
        self.closed = asyncio.get_running_loop().create_future()
        transport.start(self._receive, self._lost)

    def channel(self, session_id: str) -> Channel:
        return self._channels.setdefault(session_id, Channel(self, session_id))

    def post(
        self, channel: Channel, method: str, params: dict[str, Any], timeout: float, steadfast: bool
    ) -> asyncio.Future[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[dict[str, Any]] = loop.create_future()
        future.add_done_callback(_heard)
        if channel.gone is not None:
            future.set_exception(_copy(channel.gone))
            return future
        self._last_id = number = self._last_id + 1
        command: dict[str, Any] = {"id": number, "method": method, "params": params}
        if channel.id:
            command["sessionId"] = channel.id
        frame = _encoded(command)
        timer = loop.call_later(max(timeout, 0), self._expire, number, timeout)
        self._pending[number] = _Pending(future, channel, method, timer, steadfast)
        self._transport.send(frame, timeout)
        return future

    def fail(self, channel: Channel, failure: Failure, *, steadfast_too: bool = False) -> None:
        hit = [n for n, p in self._pending.items() if p.channel is channel and (steadfast_too or not p.steadfast)]
        for number in hit:
            self._settle(number, _copy(failure))

    def drop(self, session_id: str, failure: Failure) -> None:
        """A session is over."""
        if channel := self._channels.pop(session_id, None):
            channel.end(failure)

    async def close(self) -> None:
        await self._transport.close()

    @property
    def waits(self) -> bool:
        """Whether anybody waits for an answer."""
        return bool(self._pending)

    def abandon(self, reason: str) -> None:
        """Nothing will come any more, though nobody has said so."""
        self._lost(reason)

    def _receive(self, data: bytes) -> None:
        self.heard += 1
        try:
            self._take(_frame(data))
        except RecursionError:
            self._take(_Frame(id=_id_of(data), error={"message": "the answer is nested too deeply"}))
        except Exception:  # whatever it is, it must not end the reading: others wait for theirs
            self._complain(data)
            self._take(_Frame(id=_id_of(data), error={"message": "the answer cannot be read"}))

    def _complain(self, data: bytes) -> None:
        """Once: who talks nonsense may talk much of it."""
        if not self._complained:
            self._complained = True
            log.exception("the browser sent a frame that cannot be read: %r", data[:200])

    def _take(self, frame: _Frame) -> None:
        if frame.id:
            self._reply(frame)
            return
        if channel := self._channels.get(frame.sessionId):
            channel.dispatch(frame.method, frame.params)
        if frame.method == "Target.detachedFromTarget":
            gone = Failure("tab_closed", "the tab or frame was closed during the call")
            self.drop(decode(frame.params)["sessionId"], gone)

    def _reply(self, frame: _Frame) -> None:
        pending = self._pending.get(frame.id)
        if pending is None:
            return
        if frame.error is None:
            self._settle(frame.id, _result(frame.result, pending.method))
        elif self._ours and (told := frame.error.get(OWN_WORDS)):
            self._settle(frame.id, Failure(**told))
        elif "session" in str(frame.error.get("message", "")).lower() and frame.error.get("code") == -32001:
            self._settle(frame.id, Failure("tab_closed", "the tab is closed"))
        else:
            self._settle(frame.id, ProtocolError(pending.method, frame.error))

    def _settle(self, number: int, outcome: dict[str, Any] | Exception) -> None:
        pending = self._pending.pop(number, None)
        if pending is None:
            return
        pending.timer.cancel()
        if pending.future.done():
            return
        if isinstance(outcome, Exception):
            pending.future.set_exception(outcome)
        else:
            pending.future.set_result(outcome)

    def _expire(self, number: int, timeout: float) -> None:
        method = self._pending[number].method
        steps = ["try again", "if the page hangs: reload, or navigate elsewhere"]
        log.debug("no answer to %s within %g s", method, timeout)
        message = f"the browser did not answer within {timeout:g} s"
        self._settle(number, Failure("timeout", message, suggestions=steps))

    def _lost(self, reason: str) -> None:
        failure = gone(reason)
        for channel in tuple(self._channels.values()):
            channel.end(failure)
        if not self.closed.done():
            self.closed.set_result(reason)


def _heard(future: asyncio.Future[dict[str, Any]]) -> None:
    """A posted command nobody awaits may fail quietly: what matters is awaited."""
    if not future.cancelled():
        future.exception()


def _encoded(command: dict[str, Any]) -> bytes:
    try:
        return _encode(command)
    except UnicodeEncodeError:  # callers may send lone surrogates too
        return _encode(mend(command))


def _frame(data: bytes) -> _Frame:
    try:
        return _envelope(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _envelope(_encode(decode(data)))


def _result(raw: msgspec.Raw, method: str) -> "dict[str, Any] | ProtocolError":
    told: Any = decode(raw)
    return cast(dict[str, Any], told) if isinstance(told, dict) else ProtocolError(method, {"message": "no answer"})


def _id_of(data: bytes) -> int:
    """Of a frame that cannot be read otherwise; 0 when it is an event."""
    found = _ID.match(data)
    return int(found[1]) if found else 0


def _copy(failure: Failure) -> Failure:
    """Each caller gets its own: it may add to the message, and its traceback must not grow with every raise."""
    return Failure(
        failure.code,
        failure.message,
        details=dict(failure.details),
        suggestions=list(failure.suggestions),
        retryable=failure.retryable,
    )


def gone(reason: str) -> Failure:
    hint = "look before you repeat it: it may have been done; the next call starts a browser"
    return Failure("browser_gone", f"the browser is gone: {reason}", suggestions=[hint])
