"""Requests and answers on one duplex line of messages: who is in flight, who is cancelled, who waits for the client.

Above: local feeds it lines, mcp answers its requests. Below: wire. It knows JSON-RPC and nothing of MCP's types;
an `Exchange` has the shape of the SDK's `DispatchContext`, so the SDK's kernel runs on it without streams or threads.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import anyio

from pilothouse.doors import wire

MAX_IN_FLIGHT = 256
MAX_UNSENT_BYTES = 4 * 1024 * 1024
# What a client may miss. The rest of the notifications belong to a request of its own or of ours.
_ADVISORY = tuple(f"notifications/{kind}" for kind in ("message", "progress", "resources/", "tools/", "prompts/"))

Params = Mapping[str, Any] | None
Answer = Callable[["Exchange", str, Params], Awaitable[dict[str, Any]]]
Notice = Callable[["Exchange", str, Params], Awaitable[None]]


class Exchange:
    """One request or notification in progress, and the way back to its sender."""

    def __init__(self, pipe: "Pipe", request_id: wire.Id | None, progress_token: wire.Id | None) -> None:
        self._pipe = pipe
        self._progress_token = progress_token
        self.request_id = request_id
        self.transport = pipe.transport
        self.message_metadata = pipe.metadata
        self.can_send_request = True
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, params: Params, opts: Any = None) -> dict[str, Any]:
        if not self.can_send_request:
            raise self._pipe.refusal(method)
        return await self._pipe.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Params, opts: Any = None) -> None:
        await self._pipe.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._progress_token is None:
            return
        params: dict[str, Any] = {"progressToken": self._progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.notify("notifications/progress", params)


class Pipe:
    """Both directions of one connection. `send` must not block: it buffers, and `unsent_bytes` says how much."""

    def __init__(
        self, send: Callable[[bytes], None], unsent_bytes: Callable[[], int], *, refusal: Callable[[str], Exception]
    ) -> None:
        self.refusal = refusal
        self.transport: Any = None
        self.metadata: Any = None
        self.answer: Answer
        self.notice: Notice
        # A request has come, whatever stands in it. Must not raise: that would end the line.
        self.foresee: Callable[[str, Params], None] = lambda method, params: None
        self.on_close: Callable[[], None] = lambda: None
        self._send = send
        self._unsent_bytes = unsent_bytes
        self._closed = False
        self._numbers = itertools.count(1)
        self._in_flight: dict[wire.Id, tuple[Exchange, asyncio.Task[None]]] = {}
        self._notices: set[asyncio.Task[None]] = set()
        self._waiting: dict[wire.Id, asyncio.Future[dict[str, Any]]] = {}

    def feed(self, raw: bytes) -> None:
        """One line from the client. Every request gets exactly one answer, unless the client cancels it."""
        try:
            message = wire.read(raw)
        except wire.Malformed as problem:
            self.write(problem.reply)
            return
        if "method" not in message:
            self._resolve(message)
        elif "id" in message:
            self._start(message)
        else:
            self._observe(message)

    def write(self, message: wire.Message) -> None:
        if not self._closed:
            self._send(wire.encode(message))

    def close(self) -> None:
        """The client is gone: nobody waits for an answer any more."""
        if self._closed:
            return
        self._closed = True
        for _, task in self._in_flight.values():
            task.cancel()
        for waiter in self._waiting.values():
            waiter.cancel()
        self.on_close()

    async def notify(self, method: str, params: Params, opts: Any = None) -> None:
        """Dropped when the client does not read: pages make events without end, and we would keep them all."""
        if method.startswith(_ADVISORY) and self._unsent_bytes() > MAX_UNSENT_BYTES:
            return
        message: wire.Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.write(message)

    async def send_raw_request(self, method: str, params: Params, opts: Any = None) -> dict[str, Any]:
        """Ask the client something (elicitation, sampling, roots, ping) and wait for its answer."""
        number = f"pilothouse-{next(self._numbers)}"
        waiter = self._waiting[number] = asyncio.get_running_loop().create_future()
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})})
        try:
            return await asyncio.wait_for(waiter, cast(wire.Message, opts or {}).get("timeout"))
        except (asyncio.CancelledError, TimeoutError):
            await self.notify("notifications/cancelled", {"requestId": number})
            raise
        finally:
            del self._waiting[number]

    def _start(self, message: wire.Message) -> None:
        ident: wire.Id = message["id"]
        if ident in self._in_flight:
            self.write(wire.error(ident, wire.INVALID_REQUEST, f"id {ident!r} is already in flight"))
            return
        if len(self._in_flight) >= MAX_IN_FLIGHT:
            self.write(wire.error(ident, wire.INVALID_REQUEST, f"more than {MAX_IN_FLIGHT} requests in flight"))
            return
        exchange = Exchange(self, ident, _progress_token(message.get("params")))
        self.foresee(message["method"], message.get("params"))
        task = asyncio.get_running_loop().create_task(self._serve(exchange, message))
        self._in_flight[ident] = (exchange, task)
        # Not a `finally` in the task: one that is cancelled before its first step never gets there.
        task.add_done_callback(lambda _: self._in_flight.pop(ident))

    async def _serve(self, exchange: Exchange, message: wire.Message) -> None:
        body = await self.answer(exchange, message["method"], message.get("params"))
        if not exchange.cancel_requested.is_set():
            self.write({"jsonrpc": "2.0", "id": message["id"], **body})

    def _observe(self, message: wire.Message) -> None:
        method: str = message["method"]
        params: wire.Message = message.get("params", {})
        if method == "notifications/cancelled":
            self._cancel(params.get("requestId"))
        exchange = Exchange(self, None, None)

        async def run() -> None:
            await self.notice(exchange, method, params)

        task = asyncio.get_running_loop().create_task(run())
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    def _cancel(self, ident: Any) -> None:
        found = self._in_flight.get(ident) if isinstance(ident, str | int) else None
        if found is not None:
            exchange, task = found
            exchange.cancel_requested.set()
            task.cancel()

    def _resolve(self, message: wire.Message) -> None:
        waiter = self._waiting.get(message.get("id") or "")
        if waiter is None or waiter.done():
            return
        if isinstance(message.get("result"), dict):
            waiter.set_result(message["result"])
        else:
            waiter.set_exception(ClientRefused(message.get("error")))


class ClientRefused(Exception):
    """The client answered a question of ours with an error."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error)[:500])


def _progress_token(params: Params) -> wire.Id | None:
    meta: Any = (params or {}).get("_meta")
    token = cast(wire.Message, meta).get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None
