"""The door of the command line: one tool call a line, its progress and one answer as lines back; or a session followed.

Above: local hands it lines. Below: gate. A command is over in a moment and its session is not: sessions belong to the
terminal it was typed in, and end by themselves when nobody uses them or the terminal is gone.
"""

import asyncio
import base64
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from pilothouse.browser.stream import Stream, Wanted
from pilothouse.call import Answer, Call, Caller, Defaults
from pilothouse.doors import places, wire
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.hub.following import Following

MAX_IN_FLIGHT = 16
LEAVING_S = 2.0
MAX_UNSENT_BYTES = 4 * 1024 * 1024
UNREAD_S = 0.1  # so long a follower that does not read is left alone

Send = Callable[[bytes], None]
IsGone = Callable[[str], bool]


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a client. `id` comes back with everything that belongs to it."""

    tool: str
    args: dict[str, Any] = {}
    id: int = 0


class Followed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other kind: what a session says comes back as lines, the answer with its end. Not `live`: only the past."""

    watch: Wanted
    session: str = ""
    live: bool = True
    id: int = 0


class Offered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The third kind: a debug tool's answer as lines, and then what happens in that tab until it is gone."""

    follow: Literal["browser_debug_get_network", "browser_debug_get_console"]
    args: dict[str, Any] = {}
    id: int = 0


class CommandDoor:
    """`is_gone` tells of a terminal whether nobody can come from it any more."""

    def __init__(self, gate: Gate, *, defaults: Defaults, is_gone: IsGone) -> None:
        self._gate = gate
        self._defaults = defaults
        self._is_gone = is_gone
        self._terminals: set[str] = set()
        self._sweep: asyncio.Task[None] | None = None

    def open(self, caller: Caller, send: Send, unsent_bytes: Callable[[], int]) -> "Commands":
        if self._sweep is None or self._sweep.done():
            self._sweep = asyncio.get_running_loop().create_task(self._leave_gone(set(self._terminals)))
        leaving = self._sweep
        self._terminals.add(caller.connection)
        caller = msgspec.structs.replace(caller, defaults=caller.defaults.over(self._defaults))
        return Commands(self._gate, caller, send, unsent_bytes, leaving)

    async def _leave_gone(self, known: set[str]) -> None:
        """A closed terminal never comes back: its name holds the start of its process. To look may take a while."""
        gone = await asyncio.to_thread(lambda: {one for one in known if self._is_gone(one)}) if known else known
        self._terminals -= gone
        if gone:
            await asyncio.wait([self._gate.leave(one) for one in gone])


class Commands:
    """One connection. Its end cancels what still runs; the terminal's sessions stay."""

    def __init__(
        self,
        gate: Gate,
        caller: Caller,
        send: Send,
        unsent_bytes: Callable[[], int],
        leaving: asyncio.Task[None],
    ) -> None:
        self._gate = gate
        self._leaving = leaving  # whose place may be needed
        self._caller = caller
        self._send = send
        self._unsent_bytes = unsent_bytes
        self._running: set[asyncio.Task[None]] = set()

    def feed(self, raw: bytes) -> None:
        given: dict[str, Any] = {}
        try:
            given = wire.decode(raw)
            kind = Followed if "watch" in given else Offered if "follow" in given else Asked
            asked = msgspec.convert(given, kind)
        except (wire.Malformed, msgspec.ValidationError) as reason:
            ident = given.get("id")
            self._refuse(f"a line is {{tool, args}} or {{watch}}: {reason}", ident if isinstance(ident, int) else 0)
            return
        if len(self._running) >= MAX_IN_FLIGHT:
            self._refuse(f"more than {MAX_IN_FLIGHT} calls at once", asked.id)
            return
        task = asyncio.get_running_loop().create_task(self._doing(asked))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _doing(self, asked: Asked | Followed | Offered) -> None:
        match asked:
            case Asked():
                await self._answer(asked)
            case Followed():
                await self._follow(asked)
            case Offered():
                await self._follow_offered(asked)

    def close(self) -> None:
        for task in self._running:
            task.cancel()
        if not self._caller.connection.startswith("terminal-"):
            self._gate.leave(self._caller.connection)

    async def _answer(self, asked: Asked) -> None:
        async def progress(done: float, total: float | None, message: str) -> None:
            if self._unsent_bytes() < MAX_UNSENT_BYTES:
                told = {"done": done, "total": total, "message": message}
                self._send(wire.encode({"id": asked.id, "progress": told}))

        if not self._leaving.done():
            await asyncio.wait([self._leaving], timeout=LEAVING_S)
        answer = await self._gate.call(Call(asked.tool, asked.args, self._caller, progress))
        self._send(wire.encode({"id": asked.id, "answer": _to_wire(answer)}))

    async def _follow_offered(self, asked: Offered) -> None:
        """The call itself is judged and logged as any other; only who may make it hears the rest."""
        following = Following(self._gate.offered(), asked.follow, asked.args)
        try:
            answer = await self._gate.call(Call(asked.follow, asked.args, self._caller))
            if not answer.failed:
                await self._tell_offered(following, answer.data, asked.id)
                answer = Answer("", "the tab is gone", {})
        except Failure as failure:
            self._fail(failure, asked.id)
            return
        finally:
            following.close()
        self._send(wire.encode({"id": asked.id, "answer": _to_wire(answer)}))

    async def _tell_offered(self, following: Following, past: dict[str, Any], ident: int) -> None:
        async for line in following.lines(past):
            self._send(wire.encode({"id": ident, "line": line}))
            while self._unsent_bytes() > MAX_UNSENT_BYTES:  # noqa: ASYNC110 - nobody tells when it is read
                await asyncio.sleep(UNREAD_S)

    async def _follow(self, asked: Followed) -> None:
        try:
            session = places.own_session(self._gate, self._caller, asked.session)
            stream = self._gate.watch(self._caller, session, asked.watch)
        except Failure as failure:
            self._fail(failure, asked.id)
            return
        try:
            await self._tell(stream, asked)
        finally:
            stream.end()
        answer = Answer("", "the session is closed" if asked.live else "", {})
        self._send(wire.encode({"id": asked.id, "answer": _to_wire(answer)}))

    async def _tell(self, stream: Stream, asked: Followed) -> None:
        if not asked.live:
            stream.end()
        async for line in stream:
            self._send(wire.encode({"id": asked.id, "line": line}))
            while self._unsent_bytes() > MAX_UNSENT_BYTES:  # noqa: ASYNC110 - nobody tells when it is read
                await asyncio.sleep(UNREAD_S)

    def _refuse(self, reason: str, ident: int = 0) -> None:
        self._fail(Failure("bad_request", reason), ident)

    def _fail(self, failure: Failure, ident: int) -> None:
        answer = Answer("", failure.to_text(), {"error": failure.to_dict()}, failed=True, status=failure.status)
        self._send(wire.encode({"id": ident, "answer": _to_wire(answer)}))


def _to_wire(answer: Answer) -> dict[str, Any]:
    images = [{"data": base64.b64encode(one.data).decode(), "mime_type": one.mime_type} for one in answer.images]
    return {"tool": answer.tool, "text": answer.text, "data": answer.data, "images": images, "failed": answer.failed}
