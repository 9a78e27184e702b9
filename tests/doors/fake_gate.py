"""A gate without a browser: real tool declarations, real results, sessions that are only names."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pilothouse.browser.stream import Stream, Wanted
from pilothouse.browser.watch import Event, Watch
from pilothouse.call import Answer, Call, Caller
from pilothouse.errors import Failure
from pilothouse.guard.approvals import Approvals
from pilothouse.result import Image, Result, clean_tree
from pilothouse.tool import Access, Progress, Registry, declared, tool

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
    "53de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


class OwnSessions:
    """What the gate hands to tools that need no page."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []


class Echoed(msgspec.Struct):
    text: str
    count: int


class Nothing(msgspec.Struct):
    pass


@tool(Access.READ, example={"text": "hi"}, core=True)
async def fake_echo(sessions: OwnSessions, text: str, count: Annotated[int, Meta(ge=1, le=9)] = 1) -> Result[Echoed]:
    """Say it back."""
    return Result(text=text * count, data=Echoed(text, count))


@tool(Access.WRITE, example={}, core=True)
async def fake_fail(sessions: OwnSessions) -> Result[Nothing]:
    """Fail with a next step."""
    raise Failure("stale_ref", "e3 is gone", suggestions=["take a new snapshot"])


@tool(Access.READ, example={})
async def fake_steps(sessions: OwnSessions) -> Result[Nothing]:
    """Like a batch whose second step names no tool."""
    raise Failure("unknown_tool", "step 2 of 2 (clik) failed: there is no tool clik", details={"step": 2})


@tool(Access.VISIT, example={"name": "a"}, core=True)
async def fake_slow(sessions: OwnSessions, name: str = "", seconds: float = 30.0) -> Result[Nothing]:
    """Take long."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        sessions.cancelled.append(name)
        raise
    return Result(text="done", data=Nothing())


@tool(Access.READ, example={})
async def fake_progress(sessions: OwnSessions, progress: Progress) -> Result[Nothing]:
    """Report three steps."""
    for step in (1, 2, 3):
        await progress(step, 3, f"step {step}")
    return Result(text="done", data=Nothing())


@tool(Access.READ, example={})
async def fake_picture(sessions: OwnSessions) -> Result[Nothing]:
    """Show a picture."""
    return Result(text="a picture", data=Nothing(), images=[Image(PNG, "image/png")])


async def _silent(done: float, total: float | None, message: str) -> None:
    pass


class FakeGate:
    """Follows the contract of pilothouse.gate.Gate. Every caller owns the sessions named in `owned`."""

    def __init__(self) -> None:
        self.registry = Registry(one for one in declared() if one.name.startswith(("fake_", "test_")))
        self.sessions = OwnSessions()
        self.calls: list[Call] = []
        self.foreseen: list[tuple[str, Any, int]] = []  # tool, session, and how many calls had come by then
        self.gone: list[str] = []
        self.owned: dict[str, list[Event]] = {}
        self._listeners: set[Callable[[str, str, Event], None]] = set()
        self.streams: set[Stream] = set()
        self.approvals = Approvals()

    async def call(self, call: Call) -> Answer:
        self.calls.append(call)
        try:
            found = self.registry.find(call.tool)
            args = msgspec.structs.asdict(found.parse(call.args))
            if found.progress_name:
                args[found.progress_name] = call.progress or _silent
            result = await found.handler(self.sessions, **args)
        except Failure as failure:
            error = {"error": failure.to_dict(tool=call.tool)}
            return Answer(call.tool, failure.to_text(), error, [], failed=True, status=failure.status)
        data = msgspec.to_builtins(result.data)
        return Answer(call.tool, result.to_text(), data, result.images, failed=False, status=200)

    def foresee(self, caller: Caller, name: str, given: dict[str, Any]) -> None:
        self.foreseen.append((name, given.get("session"), len(self.calls)))

    def leave(self, connection: str) -> "asyncio.Task[None]":
        self.gone.append(connection)
        return asyncio.ensure_future(asyncio.sleep(0))

    def follow(self, listener: Callable[[str, str, Event], None]) -> Callable[[], None]:
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def events(self, caller: Caller, session: str) -> list[Event]:
        if session not in self.owned:
            raise Failure("not_found", f"there is no session {session}")
        return self.owned[session]

    def watch(self, caller: Caller, session: str, wanted: Wanted) -> Stream:
        """A real stream; only what it listens to is ours."""
        stream = Stream(wanted, clean_tree, self.streams.discard)
        stream.start([], _Heard(self, caller, session))
        self.streams.add(stream)
        return stream

    def session_ids(self, caller: Caller) -> list[str]:
        return list(self.owned)

    def happen(self, key: str, connection: str, event: Event) -> None:
        self.owned.setdefault(event.session, []).append(event)
        for listener in tuple(self._listeners):
            listener(key, connection, event)


class _Heard(Watch):
    """The events of one session, for its owner only."""

    def __init__(self, gate: FakeGate, caller: Caller, session: str) -> None:
        super().__init__(session)
        self._gate, self._owner, self._past = gate, (caller.key, caller.connection), gate.events(caller, session)

    def recent(self, since: int = 0) -> list[Event]:
        return self._past

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        def hear(key: str, connection: str, event: Event) -> None:
            if event.session == self._session and (key, connection) == self._owner:
                listener(event)

        return self._gate.follow(hear)
