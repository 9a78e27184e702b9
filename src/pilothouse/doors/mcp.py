"""MCP for both generations of clients: the one file that knows the SDK.

Above: local opens pipes on it and http hands it requests; the daemon imports it late and in a thread, because the
SDK takes 0.9 s to import. Below: gate. Handlers return plain dicts in wire form, which the SDK checks by version.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, cast

import mcp_types as types
import msgspec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.connection import Connection, NotifyOnlyOutbound, allowed_log_levels
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import ServerRunner, modern_error_data, serve_one
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.transport_context import TransportContext
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

import pilothouse
from pilothouse.browser.watch import Event
from pilothouse.call import Call, Caller, Defaults
from pilothouse.doors import notices, wire
from pilothouse.doors.extras import Extras
from pilothouse.doors.herald import Herald
from pilothouse.doors.instructions import INSTRUCTIONS, instructions
from pilothouse.doors.pipe import ClientRefused, Exchange, Params, Pipe
from pilothouse.doors.questions import Questions
from pilothouse.doors.replay import Replay, Replays
from pilothouse.doors.seal import Seal
from pilothouse.doors.shapes import answer_to_wire, tool_to_wire
from pilothouse.doors.unfit import MAX_READ, in_words, unfit
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.tool import Progress

Context = ServerRequestContext[Any, Any]
Wire = dict[str, Any]
Handler = Callable[[Context, Any], Awaitable[HandlerResult]]

_LASTING = CacheHint(ttl_ms=3_600_000, scope="private")
_FLEETING = CacheHint(ttl_ms=0, scope="private")
_CACHE: dict[CacheableMethod, CacheHint] = {
    "server/discover": _LASTING,
    "tools/list": _LASTING,
    "prompts/list": _LASTING,
    "resources/templates/list": _LASTING,
    "resources/list": _FLEETING,
    "resources/read": _FLEETING,
}
_MAX_NAME = 128


class _Server(Server[Any]):
    """The legacy HTTP path asks the server itself for its options, and would deny that lists can change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class McpDoor:
    """One server for every connection of the daemon. `defaults` are those of callers over HTTP."""

    def __init__(self, gate: Gate, *, defaults: Defaults | None = None, extras: Extras | None = None) -> None:
        self.gate = gate
        self._defaults = defaults or Defaults()
        self._extras = extras
        self._lists: dict[str, Wire] = {}
        self.herald = Herald()
        self._questions = Questions(gate.approvals)
        self._sessions: dict[tuple[str, str], list[str]] = {}
        self._buses: dict[str, tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        self._busy: set[tuple[str, str]] = set()  # the SDK keeps the answer to 5 where it keeps that to "5"
        self.server = self._build()
        self._manager = _Manager(self.server, retry_interval=1000, max_sessions=1000)

    def _build(self) -> Server[Any]:
        server = _Server(
            "pilothouse",
            version=pilothouse.__version__,
            title="Pilothouse",
            instructions=INSTRUCTIONS,
            cache_hints=_CACHE,
            get_tool_input_schema=self._input_schema,
        )
        handlers: dict[str, tuple[Any, Handler]] = {
            "tools/list": (types.PaginatedRequestParams, self._list_tools),
            "tools/call": (types.CallToolRequestParams, self._call_tool),
            "resources/list": (types.PaginatedRequestParams, self._list_resources),
            "resources/templates/list": (types.PaginatedRequestParams, self._list_templates),
            "resources/read": (types.ReadResourceRequestParams, self._read_resource),
            "resources/subscribe": (types.SubscribeRequestParams, self._subscribe),
            "resources/unsubscribe": (types.UnsubscribeRequestParams, self._unsubscribe),
            "logging/setLevel": (types.SetLevelRequestParams, self._set_level),
            "subscriptions/listen": (types.SubscriptionsListenRequestParams, self._listen),
        }
        if self._extras is not None:
            handlers |= {
                "prompts/list": (types.PaginatedRequestParams, self._list_prompts),
                "prompts/get": (types.GetPromptRequestParams, self._get_prompt),
                "completion/complete": (types.CompleteRequestParams, self._complete),
            }
        for method, (params, handler) in handlers.items():
            server.add_request_handler(method, params, _completed(handler))
        # Without the tracing that the SDK puts here: nobody collects it, and it costs a tenth of a millisecond.
        seal = Seal(lambda ctx: self.caller(ctx).key)
        server.middleware[:] = [self._attend, _tell_unfit, self._check_sets, self._tell_forgery, seal]
        return server

    # Who is calling

    def caller(self, ctx: Context) -> Caller:
        """The local door puts its caller beside each message; over HTTP the front has checked the key."""
        if isinstance(ctx.request, Caller):
            return ctx.request
        request = cast(Request, ctx.request)
        session = connection_of(ctx).session_id or ""
        return Caller(key=request.scope["pilothouse.key"], connection=session, door="mcp", defaults=self._defaults)

    async def _attend(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Remember a lasting connection for notices, and forget a request's id when it is done."""
        connection = connection_of(ctx)
        session = connection.session_id
        if session is None:
            return await call_next(ctx)
        if not self.herald.knows(session):
            self.herald.add(session, connection, self.caller(ctx).key)
            connection.exit_stack.callback(self._left, session)
        try:
            return await call_next(ctx)
        finally:
            if ctx.request_id is not None:
                self._busy.discard((session, str(ctx.request_id)))

    def _left(self, session: str) -> None:
        self.herald.remove(session)
        self._sessions = {owner: ids for owner, ids in self._sessions.items() if owner[1] != session}
        self._busy = {pair for pair in self._busy if pair[0] != session}
        self.gate.leave(session)

    # Tools

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        for tool in self._extras.tools if self._extras else ():
            if tool["name"] == name:
                return tool["inputSchema"]
        with contextlib.suppress(Failure):
            return self.gate.registry.find(name).input_schema
        return None

    async def _check_sets(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Whoever was started with tools that do not exist learns it first of all."""
        if ctx.method in ("initialize", "server/discover"):
            try:
                self._listed(self.caller(ctx).defaults.tools)
            except Failure as failure:
                raise MCPError(types.INVALID_PARAMS, failure.to_text(), failure.to_dict()) from None
        return await call_next(ctx)

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> Wire:
        return self._listed(self.caller(ctx).defaults.tools)

    def _listed(self, sets: str) -> Wire:
        if sets not in self._lists:
            wanted = f"{sets},{self._extras.groups}" if self._extras else sets
            listed = [tool_to_wire(tool) for tool in self.gate.registry.listed(wanted)]
            self._lists[sets] = {"tools": listed + (self._extras.tools if self._extras else [])}
        return self._lists[sets]

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Wire:
        args = params.arguments or {}
        if len(params.name) > _MAX_NAME:
            raise MCPError(types.INVALID_PARAMS, f"a tool's name has at most {_MAX_NAME} characters")
        caller, client = self.caller(ctx), _Client(self, ctx, params)
        if self._extras is not None and (special := await self._extras.call(client, params.name, args)) is not None:
            return special
        has_answered = await self._questions.take(client, caller.key)
        call = Call(tool=params.name, args=args, caller=caller, progress=_progress(ctx))
        call.dialog = self._questions.dialog(client)
        call.patience_s = self._questions.patience_s(client, returns=not has_answered)
        with self._request_log(ctx, caller):
            answer = await self.gate.call(call)
        self._notice_sessions(caller)
        if not has_answered and (question := self._questions.returned(client, answer)):
            return question
        if answer.failed and _is_of_no_tool(answer.data["error"]):
            raise MCPError(types.INVALID_PARAMS, answer.text, answer.data["error"])
        return answer_to_wire(answer)

    async def _tell_forgery(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """A returned question comes back sealed; the SDK refuses what we did not seal, and the log hears of it."""
        try:
            return await call_next(ctx)
        except MCPError as refused:
            data: Any = refused.data
            if isinstance(data, dict) and cast(Wire, data).get("reason") == "invalid_request_state":
                await self._questions.forged(self.caller(ctx).key)
            raise

    # Resources: what happened in each of the caller's sessions

    async def _list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> Wire:
        ids = self.gate.session_ids(self.caller(ctx))
        own = [{"uri": notices.uri_of(one), "name": f"events of {one}", **_JSON} for one in ids]
        return {"resources": [*own, *(self._extras.resources if self._extras else ())]}

    async def _list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> Wire:
        own = {"uriTemplate": notices.TEMPLATE, "name": "events of a session", **_JSON}
        return {"resourceTemplates": [own, *(self._extras.templates if self._extras else ())]}

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Wire:
        if self._extras is not None and (extra := self._extras.read(str(params.uri))) is not None:
            return extra
        events = self._events(ctx, str(params.uri))
        return {"contents": [{"uri": str(params.uri), "text": notices.to_json(events), **_JSON}]}

    def _events(self, ctx: Context, uri: str) -> list[Event]:
        session = notices.session_of(uri)
        missing = types.INVALID_PARAMS if _is_modern(ctx.protocol_version) else -32002
        if session is None:
            raise MCPError(missing, "Resource not found", {"uri": uri})
        try:
            return self.gate.events(self.caller(ctx), session)
        except Failure as failure:
            raise MCPError(missing, failure.message, {"uri": uri}) from None

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Wire:
        if self._extras is None or self._extras.read(str(params.uri)) is None:
            self._events(ctx, str(params.uri))
        connection_of(ctx).state.setdefault("subscribed", set()).add(str(params.uri))
        return {}

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Wire:
        connection_of(ctx).state.setdefault("subscribed", set()).discard(str(params.uri))
        return {}

    # Prompts and completion: we have none of our own

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams) -> Wire:
        return {"prompts": list(self._extras.prompts if self._extras else ())}

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Wire:
        assert self._extras is not None
        found = await self._extras.prompt(_Client(self, ctx, params), params.name, dict(params.arguments or {}))
        if found is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such prompt")
        return found

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> Wire:
        assert self._extras is not None
        return {"completion": {"values": self._extras.complete(params.argument.name, params.argument.value)}}

    # Notices

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Wire:
        connection_of(ctx).state["level"] = params.level
        return {}

    async def _listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> HandlerResult:
        return await self._bus(self.caller(ctx).key)[1](ctx, params)

    def _bus(self, key: str) -> tuple[InMemorySubscriptionBus, ListenHandler]:
        """Each key has a bus of its own, so that nobody learns from notices what others do."""
        if key not in self._buses:
            bus = InMemorySubscriptionBus()
            self._buses[key] = (bus, ListenHandler(bus, max_subscriptions=64))
        return self._buses[key]

    def publish(self, key: str, event: ServerEvent) -> None:
        if key in self._buses:
            self.herald.spawn(("bus", key), self._buses[key][0].publish(event))

    def _on_event(self, key: str, connection: str, event: Event) -> None:
        self.publish(key, ResourceUpdated(uri=notices.uri_of(event.session)))
        self.herald.tell(key, connection, event)

    def _request_log(self, ctx: Context, caller: Caller) -> contextlib.AbstractContextManager[None]:
        """The new generation asks for log messages request by request, on that request's own stream."""
        if not _is_modern(ctx.protocol_version) or types.LOG_LEVEL_META_KEY not in (ctx.meta or {}):
            return contextlib.nullcontext()

        async def listener(notice: notices.Notice) -> None:
            await log(ctx, notice)

        return self.herald.listening(caller.key, caller.connection, listener)

    def _notice_sessions(self, caller: Caller) -> None:
        """The list of resources is the list of sessions: say so when a call opened or closed one."""
        owner, ids = (caller.key, caller.connection), self.gate.session_ids(caller)
        if ids != self._sessions.get(owner, []):
            self._sessions[owner] = ids
            self.publish(caller.key, ResourcesListChanged())
            self.herald.list_changed(caller.connection)

    # Wires

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Serve until the block ends; then every stream is closed."""
        unfollow = self.gate.follow(self._on_event)
        try:
            async with self._manager.run():
                yield
        finally:
            unfollow()

    def close_streams(self) -> None:
        """Tell listening clients that the server is going away."""
        for _, listening in self._buses.values():
            listening.close()

    def open(self, caller: Caller, send: Callable[[bytes], None], unsent_bytes: Callable[[], int]) -> Pipe:
        """A new line of messages: each request is served in the generation it speaks."""
        caller = msgspec.structs.replace(caller, defaults=caller.defaults.over(self._defaults))
        pipe = Pipe(send, unsent_bytes, refusal=NoBackChannelError)
        pipe.transport = TransportContext(kind="stdio", can_send_request=True)
        pipe.metadata = ServerMessageMetadata(request_context=caller)
        legacy = Connection.for_loop(pipe, session_id=caller.connection)
        runner = ServerRunner(self.server, legacy, {})
        outbound = NotifyOnlyOutbound(pipe)
        told = instructions(caller.defaults.browser)

        def introduced(result: Wire) -> Wire:
            """What an agent reads first is about the browser that it was started for."""
            return result | {"instructions": told} if "instructions" in result else result

        async def answer(exchange: Exchange, method: str, params: Params) -> Wire:
            try:
                if method == "initialize" or not _is_enveloped(method, params):
                    return {"result": introduced(await runner.on_request(exchange, method, params))}
                return {"result": introduced(await self._serve_modern(exchange, method, params, outbound))}
            except Exception as problem:
                return {"error": _error_to_wire(problem)}

        pipe.answer = answer
        pipe.foresee = lambda method, params: self._foresee(caller, method, params)
        pipe.notice = runner.on_notify
        pipe.on_close = lambda: self._left(caller.connection)
        return pipe

    def _foresee(self, caller: Caller, method: str, params: Params) -> None:
        """What the SDK will find out, a little later, and check."""
        if method == "tools/call" and params and isinstance(name := params.get("name"), str):
            args: Any = params.get("arguments")
            self.gate.foresee(caller, name, cast(Wire, args) if isinstance(args, dict) else {})

    async def _serve_modern(
        self, exchange: Exchange, method: str, params: Params, outbound: NotifyOnlyOutbound
    ) -> Wire:
        route = classify_inbound_request({"method": method, "params": params})
        if isinstance(route, InboundLadderRejection):
            raise MCPError(route.code, route.message, route.data)
        exchange.can_send_request = False
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities, outbound=outbound
        )
        return await serve_one(self.server, exchange, method, params, connection=connection, lifespan_state={})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP request that http has checked. The SDK lets a session be used only by the user who opened it."""
        key: str = scope["pilothouse.key"]
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=key, scopes=[]))
        await self._manager.handle_request(scope, receive, send)

    def objection(self, headers: Mapping[str, str], message: wire.Message) -> wire.Message | None:
        """What the SDK would take for something else: a version that nobody speaks, or one that is left out."""
        ident, method = message.get("id"), str(message.get("method", ""))
        version = headers.get("mcp-protocol-version")
        if "method" not in message:
            return None
        if version is None:
            is_modern = method != "initialize" and _is_enveloped(method, message.get("params"))
            if "mcp-session-id" in headers or not is_modern:
                return None
            told = "the header mcp-protocol-version is missing; it repeats what the envelope in params._meta says"
            return wire.error(ident, types.HEADER_MISMATCH, told)
        if version in KNOWN_PROTOCOL_VERSIONS or method == "initialize":
            return None
        told = f"the header mcp-protocol-version names a version that is not spoken here: {version[:40]!r}"
        # What can be had by naming it: older ones are agreed on by `initialize`, and discovery names the same.
        data = {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": version[:40]}
        return wire.error(ident, types.UNSUPPORTED_PROTOCOL_VERSION, told, data)

    def claim(self, session: str, message: wire.Message) -> bool:
        """Whether a request's id is free in its HTTP session. The SDK would mix up the answers of two."""
        pair = (session, str(message.get("id", "")))
        if not self.herald.knows(session) or "method" not in message or "id" not in message:
            return True
        if pair in self._busy:
            return False
        self._busy.add(pair)
        return True

    def release(self, session: str, message: wire.Message) -> None:
        self._busy.discard((session, str(message.get("id", ""))))


class _Client:
    """`extras.Client` and `questions.Asked` over the SDK."""

    def __init__(self, door: McpDoor, ctx: Context, params: types.InputResponseRequestParams) -> None:
        self._door = door
        self._ctx = ctx
        self._key = door.caller(ctx).key
        self.is_modern = _is_modern(ctx.protocol_version)
        self.shows_forms = _shows_forms(ctx)
        self.hears_progress = _progress(ctx) is not None
        self.responses: Wire = {name: _dump(one) for name, one in (params.input_responses or {}).items()}
        self.state = params.request_state

    @property
    def capabilities(self) -> Wire:
        return _dump(self._ctx.session.client_capabilities)

    async def ask(self, method: str, params: Wire) -> Wire:
        request, result = _QUESTIONS[method]
        metadata = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        question = request.model_validate({"params": params})
        return _dump(await self._ctx.session.send_request(question, result, metadata=metadata))

    async def log(self, level: notices.Level, data: Any) -> None:
        floor = connection_of(self._ctx).state.get("level", "debug")
        if notices.admits(floor, level):
            await log(self._ctx, notices.Notice(level, data))

    async def progress(self, done: float, total: float) -> None:
        await self._ctx.session.report_progress(done, total)

    async def drop_stream(self) -> None:
        if self._ctx.close_sse_stream is not None:
            await self._ctx.close_sse_stream()

    def require(self, capability: str) -> None:
        if capability not in self.capabilities:
            data: Wire = {"requiredCapabilities": {capability: {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client must support {capability}", data)

    def changed(self, kind: str) -> None:
        self._door.publish(self._key, ToolsListChanged() if kind == "tools" else PromptsListChanged())


class _Manager(StreamableHTTPSessionManager):
    """Gives each session a memory of its own. The SDK would give all the same one, and as it names a stream by its
    request's id and we number the events, a client could fetch what was answered to others."""

    def __init__(self, app: Server[Any], *, retry_interval: int, max_sessions: int) -> None:
        self._replays = Replays()
        super().__init__(app, retry_interval=retry_interval, max_sessions=max_sessions)

    @property
    def event_store(self) -> EventStore | None:  # the SDK reads it once for each session it opens
        return _Store(self._replays.open())

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The SDK's constructor sets the one that all would share."""


class _Store(EventStore):
    """A `Replay` as the SDK takes it."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        content = message.model_dump() if message is not None else None
        return str(self._replay.keep(stream_id, message, content))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = self._replay.find(last_event_id)
        if last is None:
            return None
        for kept in self._replay.after(last):
            if kept.message is not None:
                await send_callback(EventMessage(kept.message, str(kept.number)))
        return last.stream


_JSON = {"mimeType": "application/json"}
_SPEECHLESS = "Invalid request parameters"
_QUESTIONS: dict[str, tuple[Any, Any]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
}


def _is_of_no_tool(error: dict[str, Any]) -> bool:
    """A batch is known, whatever its steps name."""
    return error["code"] == "unknown_tool" and "step" not in error["details"]


def _completed(handler: Handler) -> Handler:
    """The new generation wants each result to say that it is complete; the old must not read it."""

    async def completed(ctx: Context, params: Any) -> HandlerResult:
        if isinstance(params, types.PaginatedRequestParams) and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, f'{ctx.method}: "params.cursor" is none of ours: every list is whole')
        try:
            result = await handler(ctx, params)
        except Failure as failure:
            raise MCPError(types.INVALID_PARAMS, failure.to_text(), failure.to_dict()) from None
        if isinstance(result, dict) and _is_modern(ctx.protocol_version):
            return {"resultType": "complete", **result}
        return result

    return completed


async def _tell_unfit(ctx: Context, call_next: CallNext) -> HandlerResult:
    """The SDK says of every request that does not fit, or comes too early, that its parameters are invalid."""
    try:
        return await call_next(ctx)
    except ValidationError as error:
        few = error.error_count() <= MAX_READ
        told = unfit(error.errors(include_url=False, include_context=False, include_input=False)) if few else []
        fields = {"fields": [one._asdict() for one in told]}
        raise MCPError(types.INVALID_PARAMS, in_words(ctx.method, told), fields) from None
    except MCPError as refused:
        if refused.message == _SPEECHLESS and not connection_of(ctx).initialize_accepted:
            told = f"{ctx.method[:80]}: this connection is not initialized: send initialize first"
            raise MCPError(types.INVALID_PARAMS, told) from None
        raise


def connection_of(ctx: Context) -> Connection:
    """The SDK's request context has no public way to the connection it belongs to."""
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]


async def log(ctx: Context, notice: notices.Notice) -> None:
    """A log message on the request's own stream, if its client takes it there."""
    if notice.level in allowed_log_levels(ctx.protocol_version, ctx.meta):
        params = types.LoggingMessageNotificationParams.model_validate(notice.to_wire())
        await ctx.session.send_notification(types.LoggingMessageNotification(params=params), ctx.request_id)


def _error_to_wire(problem: Exception) -> Wire:
    if isinstance(problem, ClientRefused):
        return {"code": wire.INTERNAL_ERROR, "message": f"the client refused: {problem}"}
    return modern_error_data(problem).model_dump(mode="json", exclude_none=True)


def _progress(ctx: Context) -> Progress | None:
    if not ctx.meta or ctx.meta.get("progress_token") is None:
        return None

    async def progress(done: float, total: float | None, message: str) -> None:
        await ctx.session.report_progress(done, total, message)

    return progress


def _shows_forms(ctx: Context) -> bool:
    """Whether the client said that it can put a form to its user; without naming a kind, it is forms that are meant."""
    capabilities = ctx.session.client_capabilities
    offered = capabilities.elicitation if capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


def _is_modern(version: str) -> bool:
    return version in MODERN_PROTOCOL_VERSIONS


def _is_enveloped(method: str, params: Params) -> bool:
    meta: Any = params.get("_meta") if isinstance(params, dict) else None
    return method == "server/discover" or (isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta)


def _dump(model: BaseModel | None) -> Wire:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if model is not None else {}
