"""The contracts of the single daemon: `/commands`, `/ws-message`, `/debug/session/{id}`, for callers that know them.

Above: http, which has checked Host, Origin, key, content type and size. Below: the gate runs commands, the herald
passes messages on. `X-Instance-ID` names a session of the caller's key, by its handle or by the `mcp-session-id` of the
client that works in it. No message moves a session's current tab.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Annotated, Any, Protocol, TypeVar, cast

import msgspec
from msgspec import Meta
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from pilothouse.call import Answer, Call, Caller, Defaults
from pilothouse.doors import body, parcel
from pilothouse.doors.address import Address, agent_key, told
from pilothouse.doors.herald import Herald
from pilothouse.doors.notices import LEVELS, Level, Notice
from pilothouse.doors.parcel import Refused
from pilothouse.doors.places import takes
from pilothouse.doors.waiting import patience_s, until_gone
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard.rates import Rates
from pilothouse.guard.redact import redact_tree
from pilothouse.result import clean_tree
from pilothouse.tool import Tool

# What commands are called there and tools are called here. Tools have aliases besides, such as `js.execute`.
TYPES = {
    "browser_go_back": "go_back",
    "browser_go_forward": "go_forward",
    "browser_refresh": "reload",
    "browser_click": "click",
    "browser_type": "type_text",
    "browser_select": "select_option",
    "browser_screenshot": "screenshot",
    "browser_snapshot": "get_page_state",
    "browser_tabs_list": "list_tabs",
    "browser_select_tab": "switch_tab",
    "browser_activate_tab": "switch_tab",
    "tabs.list": "list_tabs",
    "tabs.select": "switch_tab",
    "tabs.new": "new_tab",
    "tabs.close": "close_tab",
}
MAX_MESSAGE_BYTES = 64 * 1024
LOGGER = "ws-message"
GONE_STATUS = 404  # where others say 503: here, no browser is no place

Ident = Annotated[str, Meta(min_length=1, max_length=200)] | Annotated[int, Meta(ge=-(2**53), le=2**53)]
Type = Annotated[str, Meta(min_length=1, max_length=128)]
T = TypeVar("T")


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: Ident
    type: Type
    payload: dict[str, Any] = {}


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    messageId: Ident  # noqa: N815
    type: Type
    payload: Any = None


class Record(Protocol):
    """What this needs of the audit log."""

    def note(self, kind: str, **fields: Any) -> None: ...


class Place(msgspec.Struct, frozen=True):
    """Where a request belongs: a session and the connection it is of, either of which there may be none of."""

    connection: str
    session: str
    tab: str


class Contracts:
    """`herald` may still be loading with the MCP door."""

    def __init__(
        self,
        gate: Gate,
        herald: Callable[[], Awaitable[Herald]],
        rates: Rates,
        record: Record,
        *,
        defaults: Defaults | None = None,
        debug: bool = False,
    ) -> None:
        self._gate = gate
        self._herald = herald
        self._rates = rates
        self._record = record
        self._defaults = defaults or Defaults()
        self._debug = debug
        self._in_flight: set[tuple[str, str, str | int]] = set()

    def routes(self) -> list[Route]:
        routes = [
            Route("/commands", Address(agent_key, POST=self._command)),
            Route("/ws-message", Address(agent_key, POST=self._message)),
        ]
        if self._debug:
            routes.append(Route("/debug/session/{id}", Address(agent_key, GET=self._show)))
        return routes

    # Commands

    async def _command(self, scope: Scope, receive: Receive) -> Response | None:
        began, key, headers = time.monotonic(), agent_key(scope), Headers(scope=scope)
        instance = _instance(headers)
        given = _read(scope["pilothouse.body"], Command, '{"id": 1, "type": "navigate", "payload": {"url": "…"}}')
        with self._only_once(key, instance, given.id):
            call = await self._call(key, instance, headers, given)
            answer = await until_gone(self._gate.call(call), receive)
        if answer is None:
            return None
        status = GONE_STATUS if _code(answer) == "browser_gone" else answer.status
        return parcel.as_json(_outcome(answer, given.id, (time.monotonic() - began) * 1000), status)

    async def _call(self, key: str, instance: str, headers: Headers, given: Command) -> Call:
        name, place = TYPES.get(given.type, given.type), await self._place(key, instance, headers)
        caller = Caller(key, place.connection, "contract", self._defaults)
        try:
            tool = self._gate.registry.find(name)
        except Failure:
            return Call(name, {}, caller)  # the gate says the same, counts it and writes it down
        args = _arguments(tool, given.payload, instance, place)
        return Call(name, args, caller, patience_s=patience_s(headers))

    @contextlib.contextmanager
    def _only_once(self, key: str, instance: str, ident: str | int) -> Generator[None]:
        """Of two commands with one id in flight nobody could tell the answers apart."""
        if (mark := (key, instance, ident)) in self._in_flight:
            hint = "wait for its answer, or give each command an id of its own"
            raise Failure("in_use", f"a command with id {ident!r} is already in flight", suggestions=[hint])
        self._in_flight.add(mark)
        try:
            yield
        finally:
            self._in_flight.discard(mark)

    async def _place(self, key: str, instance: str, headers: Headers) -> Place:
        """What is no session here may still be one to the gate, such as a running profile."""
        tab = _header(headers, "x-tab-id")
        if session := self._gate.reach(key, instance):
            if tab and not session.has_tab(tab):
                raise _no_tab(tab, [one.name for one in session.tabs])
            return Place(session.owner[1], session.id, tab)
        if (await self._herald()).hears(key, instance):
            hint = "let it call a tool that opens one, such as navigate or open_session"
            raise Failure("not_found", "this client has no browser open", suggestions=[hint])
        return Place("", instance, tab)

    # Messages

    async def _message(self, scope: Scope, receive: Receive) -> Response:
        key, headers, raw = agent_key(scope), Headers(scope=scope), scope["pilothouse.body"]
        self._rates.count(key)
        if len(raw) > MAX_MESSAGE_BYTES:
            failure = Failure("over_limit", f"a message may have {MAX_MESSAGE_BYTES} bytes", suggestions=["send less"])
            raise Refused(413, failure)
        given = _read(raw, Message, '{"messageId": 1, "type": "console", "payload": {"text": "…"}}')
        herald = await self._herald()
        place = self._addressee(herald, key, headers)
        told_to = herald.pass_on(key, place.connection, _notice(given, place))
        self._record.note("message", caller=key, session=place.session, type=given.type, bytes=len(raw), told=told_to)
        accepted = {"success": True, "messageId": given.messageId, "told": told_to}
        return parcel.as_json({**accepted, "queueLength": herald.unsent(place.connection)}, 202)

    def _addressee(self, herald: Herald, key: str, headers: Headers) -> Place:
        """A client hears what is for it whatever sessions it has, even none; a tab is of one session."""
        instance, tab = _instance(headers), _header(headers, "x-tab-id")
        if not tab and herald.hears(key, instance):
            return Place(instance, "", "")
        session = self._gate.reach(key, instance)
        if session is None and not herald.hears(key, instance):
            raise _nobody()
        if session is None or (tab and not session.has_tab(tab)):
            raise _no_tab(tab, [one.name for one in session.tabs] if session else [])
        return Place(session.owner[1], session.id, tab)

    # Debugging

    async def _show(self, scope: Scope, receive: Receive) -> Response:
        key, name, herald = agent_key(scope), scope["path_params"]["id"], await self._herald()
        self._rates.count(key)
        session = self._gate.reach(key, name)
        if session is None and not herald.hears(key, name):
            raise _nobody()
        connection = session.owner[1] if session else name
        client = {"clientConnected": herald.hears(key, connection), "queueLength": herald.unsent(connection)}
        if session is None:
            return told({"session": None, "currentTabId": None, "tabs": [], **client})
        tabs = [
            {"tabId": tab.name, "callsWaiting": tab.turn.waiting}
            | ({} if session.forbids(tab.url) else {"url": tab.url, "title": tab.title})
            for tab in session.tabs
        ]
        current = session.current.name if session.current else None
        state = {"session": session.id, "browser": session.options.browser, "currentTabId": current, "tabs": tabs}
        return told(redact_tree(clean_tree({**state, "callsRunning": session.busy})) | client)


def _header(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    if len(values) > 1:
        raise Failure("bad_request", f"the header {name} stands twice", suggestions=["send it once"])
    return values[0].strip() if values else ""


def _instance(headers: Headers) -> str:
    if name := _header(headers, "x-instance-id"):
        return name
    hint = "send X-Instance-ID: a session's handle, or the mcp-session-id of the client whose session it is"
    raise Failure("bad_request", "the header X-Instance-ID is missing", suggestions=[hint])


def _read(raw: bytes, kind: type[T], example: str) -> T:
    try:
        return msgspec.convert(body.read(raw), kind)
    except msgspec.ValidationError as reason:
        raise Failure("bad_request", f"the body is not understood: {reason}", suggestions=[f"send {example}"]) from None


def _arguments(tool: Tool, payload: dict[str, Any], instance: str, place: Place) -> dict[str, Any]:
    """The payload; what the headers say besides must not contradict it, except that a tab may be named in both."""
    if not takes(tool, "session"):
        hint = f"use /api/tools/{tool.name}"
        raise Failure("not_found", f"{tool.name} works on no session", suggestions=[hint])
    meant = tool.accepted()
    args = {name: value for name, value in payload.items() if meant.get(name, name) != "session"}
    for name in payload.keys() - args.keys():
        if payload[name] not in (instance, place.session):
            hint = f"leave {name} out of the payload"
            raise Failure("bad_request", "X-Instance-ID names one session, the payload another", suggestions=[hint])
    names_tab = any(meant.get(name, name) == "tab" for name in args)
    if place.tab and not names_tab and takes(tool, "tab"):
        args["tab"] = place.tab
    return {**args, "session": place.session}


def _code(answer: Answer) -> str:
    return answer.data["error"]["code"] if answer.failed else ""


def _outcome(answer: Answer, ident: str | int, duration_ms: float) -> dict[str, Any]:
    envelope = parcel.envelope(answer, duration_ms)
    if answer.failed:
        return {"id": ident, **envelope}
    data = envelope.pop("data")
    return {"id": ident, **envelope, "payload": {**data, "tabId": answer.tab or None}}


def _notice(given: Message, place: Place) -> Notice:
    """Under a name of its own: nothing that is passed on looks like what the house says itself."""
    where = {name: value for name, value in (("session", place.session), ("tabId", place.tab)) if value}
    data = {"messageId": given.messageId, "type": given.type, **where, "payload": given.payload}
    return Notice(_level(given.payload), redact_tree(clean_tree(data)), LOGGER, floor="debug")


def _level(payload: Any) -> Level:
    level = cast(dict[str, Any], payload).get("level") if isinstance(payload, dict) else None
    return level if level in LEVELS else "info"


def _no_tab(tab: str, tabs: list[str]) -> Failure:
    hint = "X-Tab-ID names a tab of that session; leave it out for the current one"
    return Failure(
        "not_found", f"there is no tab {tab[:40]!r} in this session", details={"tabs": tabs}, suggestions=[hint]
    )


def _nobody() -> Failure:
    hint = "X-Instance-ID is a session's handle, or the mcp-session-id of a client of this key"
    return Failure("not_found", "there is no such session", suggestions=[hint])
