"""Everything on the one port: the checks that every request and WebSocket passes first, then the routes.

Above: uvicorn, in the daemon's own event loop. Below: mcp (which may still be loading), and the routes that other
doors add. The MCP SDK's own checks cover one route and accept any local Origin, so none of them is relied on.
"""

import asyncio
import contextlib
import logging
import re
import socket
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from pilothouse.doors import wire
from pilothouse.doors.objections import given_twice, worded
from pilothouse.doors.person import PERSONS
from pilothouse.errors import Failure
from pilothouse.hub.words import MAX_FRAME
from pilothouse.overlong import HINT

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # half a sign, as an escape of JSON
HEADER_TIMEOUT_S = 10.0
BODY_TIMEOUT_S = 30.0
MAX_CONNECTIONS = 256
MAX_HEAD = 64 * 1024
# Of the bridge's WebSocket: a picture of a long page in the person's Chrome comes in one piece.
MAX_MESSAGE = 128 * 1024 * 1024
MAX_KNOCK = 4096
# A body that is too large is still read up to here, so that its sender can finish and read the answer.
MAX_DISCARDED = 64 * 1024 * 1024
# No secret is needed to hear that we are here, nor for pages without data, which ask for the secret themselves.
OPEN_PATHS = frozenset(
    {"/", "/health", "/api/health", "/api/docs", "/api/docs/page.js", "/api/docs/page.css", "/dashboard"}
    | {"/dashboard/enter"}  # which takes a ticket
)
OPEN_FOLDER = "/ui/"
BRIDGE_PATH = "/bridge"  # asks for a secret of its own
SIGNALING_PATH = "/signaling"  # so does this one: users of the hub have keys that open nothing else
KEY_PROTOCOL = "pilothouse.key."  # a browser's WebSocket can carry a key only as the name of a protocol

# What a WebSocket may say at once; any other path has wire.MAX_BYTES, and so have these until somebody is let in.
_MOST_SAID = {BRIDGE_PATH: MAX_MESSAGE, SIGNALING_PATH: MAX_FRAME}
MAX_LAST_WORDS = 4096  # bytes of one that was turned away: its greeting, under way already, and its closing
_TURNED_AWAY = "pilothouse.turned_away"

RECHECK_S = 1.0  # a stream's key is looked at again this often
_END_OF: dict[str, Message] = {
    "websocket": {"type": "websocket.close", "code": 4401, "reason": "the key was revoked"},
    "http": {"type": "http.response.body", "body": b"", "more_body": False},
}

Who = Callable[[str], str | None]


class Mcp(Protocol):
    """What this door needs of mcp.McpDoor."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def objection(self, headers: Mapping[str, str], message: wire.Message) -> wire.Message | None: ...

    def claim(self, session: str, message: wire.Message) -> bool: ...

    def release(self, session: str, message: wire.Message) -> None: ...


def build_app(
    mcp: Callable[[], Awaitable[Mcp]],
    who: Who,
    *,
    port: int,
    hosts: Iterable[str] = (),
    peers: Iterable[str] = (),
    routes: Sequence[BaseRoute] = (),
    extension: str = "",
    insecure_no_secret: bool = False,
) -> ASGIApp:
    """The application behind its front. `who` names the owner of a secret: "agent:NAME", "person" or None; `extension`
    is the one origin that may come to the bridge; `peers` are addresses that may call besides those of loopback."""
    own: list[BaseRoute] = [
        Route("/mcp", _McpRoute(mcp)),
        Route("/health", _health, methods=["GET"]),
        Route("/api/health", _health, methods=["GET"]),
    ]
    inner = Starlette(
        routes=[*own, *routes], exception_handlers={404: _plain_error, 405: _plain_error, 500: _own_error}
    )
    known = allowed_hosts(port, hosts)
    return Front(inner, who, hosts=known, peers=peers, extension=extension, insecure_no_secret=insecure_no_secret)


def allowed_hosts(port: int, more: Iterable[str] = ()) -> frozenset[str]:
    """Every value of a Host header that means this server, and no other. Names without a port get ours; those that were
    given are also good as they stand: a proxy in front may leave the port out."""
    given = {name.lower() for name in more}
    hosts = {name if _has_port(name) else f"{name}:{port}" for name in given | {"127.0.0.1", "localhost", "[::1]"}}
    # Whoever calls a scheme's own port leaves it out.
    return frozenset(given | hosts | {host.rpartition(":")[0] for host in hosts if host.endswith((":80", ":443"))})


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]


class Front:
    """The outermost layer. What it lets through carries `pilothouse.who` and, for agents, `pilothouse.key`.
    `on_misnamed`: somebody calls it by a name that is not its own."""

    def __init__(
        self,
        app: ASGIApp,
        who: Who,
        *,
        hosts: frozenset[str],
        insecure_no_secret: bool,
        extension: str = "",
        peers: Iterable[str] = (),
        on_misnamed: Callable[[], None] = lambda: None,
    ) -> None:
        self._app = app
        self._who = who
        self._hosts = hosts
        self._peers = frozenset(map(ip_address, peers))
        self._extension = [extension] if extension else None
        self._origins = frozenset(f"{scheme}://{host}" for host in hosts for scheme in ("http", "https"))
        self._insecure = insecure_no_secret
        self._on_misnamed = on_misnamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope, Headers(scope=scope))
            if scope["type"] == "http":
                receive = await _with_body(scope, receive)
        except _Refused as refused:
            if self._is_browsers_line(scope):
                await turn_away(WebSocket(scope, receive, send), refused.response.status_code, str(refused))
            else:
                await refused.response(scope, receive, send)
            return
        await self._app(scope, receive, self._while_known(scope, send))

    def _is_browsers_line(self, scope: Scope) -> bool:
        """Of our own extension to the hub: it is told why not."""
        is_line = scope["type"] == "websocket" and scope["path"] == SIGNALING_PATH
        return is_line and Headers(scope=scope).getlist("origin") == self._extension

    def _while_known(self, scope: Scope, send: Send) -> Send:
        """What is told for long, by a stream or a WebSocket, ends soon after the key behind it was revoked."""
        owner = scope.get("pilothouse.who")
        looked_at, over = time.monotonic(), False

        async def checked(message: Message) -> None:
            nonlocal looked_at, over
            if over:
                return
            ends = (
                message["type"] == "websocket.close"
            )  # a session that ends with its key must not sound like a goodbye
            lasting = message["type"] == "websocket.send" or message.get("more_body", False)
            if owner and (ends or (lasting and time.monotonic() - looked_at > RECHECK_S)):
                looked_at = time.monotonic()
                over = self._owner(scope, _secret(Headers(scope=scope))) != owner
            await send(_END_OF[scope["type"]] if over else message)

        return checked

    def _admits(self, client: tuple[str, int] | None) -> bool:
        """Whether an address may call; a socket of this machine may have none."""
        if client is None:
            return True
        peer = ip_address(client[0])
        peer = getattr(peer, "ipv4_mapped", None) or peer
        return peer.is_loopback or peer in self._peers

    def _check(self, scope: Scope, headers: Headers) -> None:
        if not self._admits(scope.get("client")):
            hint = "other machines call the TLS proxy that server.tls_proxy names"
            raise _Refused(403, "unauthorized", "this machine may not call", hint=hint)
        host, origin = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            self._on_misnamed()
            hint = "call it as 127.0.0.1, with the port; server.allowed_hosts has other names"
            raise _Refused(421, "unauthorized", "this Host is not ours", hint=hint)
        if scope["path"] == BRIDGE_PATH:
            if origin != self._extension:
                hint = "only the Pilothouse extension connects here; programs have /mcp and /api"
                raise _Refused(403, "unauthorized", "this Origin is not the extension's", hint=hint)
            return  # the bridge knows the secrets of browsers; no key of ours opens it
        if scope["path"] == SIGNALING_PATH and origin in ([], self._extension):
            return
        is_panel = origin == self._extension and scope["path"].startswith(PERSONS)
        if origin and not is_panel and (len(origin) > 1 or origin[0].lower() not in self._origins):
            hint = "pages of other origins may not call; a program leaves the header Origin out"
            raise _Refused(403, "unauthorized", "this Origin is not allowed", hint=hint)
        if scope["path"] in OPEN_PATHS or scope["path"].startswith(OPEN_FOLDER):
            return
        if any(len(headers.getlist(name)) > 1 for name in ("authorization", "x-api-key")):
            raise _Refused(400, "bad_request", "the key is given more than once", hint="send it in one header, once")
        owner = self._owner(scope, _secret(headers))
        if owner is None:
            file = "person.key" if scope["path"].startswith(PERSONS) else "agent.key"
            hint = f"send the key in {file} of Pilothouse's home as `Authorization: Bearer KEY` or `X-API-Key: KEY`"
            asks = {"www-authenticate": "Bearer"}
            raise _Refused(401, "unauthorized", "the key is missing or wrong", asks, hint=hint)
        scope["pilothouse.who"] = owner
        if owner.startswith("agent:"):
            scope["pilothouse.key"] = owner.removeprefix("agent:")
        if scope["type"] == "http" and scope["method"] in ("POST", "PUT", "PATCH") and not _is_fit(headers):
            hint = "add the header `Content-Type: application/json`; only an empty body needs none"
            raise _Refused(415, "bad_request", "the body is not said to be JSON", hint=hint)

    def _owner(self, scope: Scope, secret: str) -> str | None:
        if self._insecure and scope.get("client", ("",))[0] in ("127.0.0.1", "::1"):
            return "agent:default"
        return self._who(secret) if secret else None


def _secret(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    offered = [one.strip() for one in headers.get("sec-websocket-protocol", "").split(",")]
    named = (one.removeprefix(KEY_PROTOCOL) for one in offered if one.startswith(KEY_PROTOCOL))
    return headers.get("x-api-key") or next(named, "")


def bearer(scope: Scope) -> str:
    """The secret that a request came with."""
    return _secret(Headers(scope=scope))


async def turn_away(socket: WebSocket, status: int, reason: str) -> None:
    """A script learns nothing of a WebSocket that is refused with a status, but the code of one that is closed. Chrome
    wants one of its protocols chosen; those that carry a key or a proof are not repeated."""
    socket.scope[_TURNED_AWAY] = True
    await socket.accept(next((one for one in socket.scope["subprotocols"] if one.count(".") < 2), None))
    await socket.close(4000 + status, reason[:100])


def _is_fit(headers: Headers) -> bool:
    """JSON, or nothing of no kind."""
    if "content-type" not in headers and "transfer-encoding" not in headers:
        return headers.get("content-length", "0") == "0"
    kinds = headers.getlist("content-type")
    kind = kinds[0].replace(" ", "").lower() if len(kinds) == 1 else ""
    return kind in ("application/json", "application/json;charset=utf-8")


async def _with_body(scope: Scope, receive: Receive) -> Receive:
    """Read the whole body within its time and size; the rest of the application gets it in one piece."""
    if scope["method"] in ("GET", "HEAD", "DELETE", "OPTIONS"):
        return receive
    try:
        most = MAX_KNOCK if scope["path"] == BRIDGE_PATH else wire.MAX_BYTES
        body = await asyncio.wait_for(_read(receive, most), BODY_TIMEOUT_S)
    except TimeoutError:
        closing = {"connection": "close"}
        raise _Refused(408, "timeout", "the body did not come in time", closing, hint="send it whole") from None
    if body is None:
        told = f"a body may have {most} bytes"
        raise _Refused(413, "over_limit", told, {"connection": "close"}, hint=HINT)
    scope["pilothouse.body"] = body
    return _whole(body, receive)


def _whole(body: bytes, receive: Receive) -> Receive:
    whole: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def replay() -> Message:
        nonlocal whole
        message, whole = whole, None
        return message or await receive()

    return replay


async def _read(receive: Receive, most: int) -> bytes | None:
    chunks: list[bytes] = []
    size, more = 0, True
    while more and size <= MAX_DISCARDED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Refused(400, "bad_request", "the body ended early", hint="send as many bytes as content-length says")
        more = message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > most:
            chunks.clear()
        else:
            chunks.append(message.get("body", b""))
    return b"".join(chunks) if size <= most else None


class _McpRoute:
    """`/mcp`: what JSON-RPC itself forbids is answered here; the SDK sees only sound messages."""

    def __init__(self, mcp: Callable[[], Awaitable[Mcp]]) -> None:
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "pilothouse.key" not in scope:
            refused = _Refused(403, "unauthorized", "this door takes an agent's key", hint="send the one in agent.key")
            await refused.response(scope, receive, send)
            return
        mcp, headers = await self._mcp(), Headers(scope=scope)
        try:
            message = _message(scope, headers)
        except wire.Malformed as problem:
            await JSONResponse(problem.reply, 400)(scope, receive, send)
            return
        send = worded(send, message)
        if scope["method"] != "POST":
            await mcp.handle(scope, receive, send)
            return
        if objection := mcp.objection(headers, message):
            await JSONResponse(objection, 400)(scope, receive, send)
            return
        session = headers.get("mcp-session-id", "")
        if not mcp.claim(session, message):
            reply = wire.error(message["id"], wire.INVALID_REQUEST, f"id {message['id']!r} is already in flight")
            await JSONResponse(reply, 400)(scope, receive, send)
            return

        if _SURROGATE.search(scope["pilothouse.body"]):  # the SDK refuses what wire.read has mended
            receive = _whole(wire.encode(message), receive)

        async def watched(event: Message) -> None:
            if event["type"] == "http.response.start" and event["status"] >= 400:
                mcp.release(session, message)
            await send(event)

        await mcp.handle(scope, receive, watched)


def _message(scope: Scope, headers: Headers) -> wire.Message:
    """What was sent; nothing, by who only listens."""
    message = wire.read(scope["pilothouse.body"]) if scope["method"] == "POST" else {}
    if why := given_twice(headers):
        raise wire.Malformed(wire.INVALID_REQUEST, why, message.get("id"))
    return message


async def _health(request: Any) -> Response:
    return JSONResponse({"ok": True})


async def _plain_error(request: Any, problem: Any) -> Response:
    code = "not_found" if problem.status_code == 404 else "bad_request"
    hint = "the doors are /mcp, /api/ and /metrics; /api/docs tells of every address"
    return _Refused(problem.status_code, code, str(problem.detail), hint=hint).response


async def _own_error(request: Any, problem: Exception) -> Response:
    """uvicorn writes it into the log; the client reads no more than that."""
    hint = "look at what the daemon wrote: daemon.log in its home, or its own terminal"
    return _Refused(500, "system", "Pilothouse failed; its log says why", hint=hint).response


class _Refused(Exception):
    """A request that ends here, told in the shape of every other error."""

    def __init__(
        self, status: int, code: str, reason: str, headers: dict[str, str] | None = None, *, hint: str
    ) -> None:
        super().__init__(reason)
        self.response = JSONResponse(_envelope(code, reason, hint), status, headers=headers)


def _envelope(code: str, reason: str, hint: str) -> dict[str, Any]:
    metadata = {"timestamp": int(time.time() * 1000)}
    error = Failure(code, reason, suggestions=[hint]).to_dict(**metadata)
    return {"success": False, "error": error, "metadata": metadata}


def _last_words(status: str, code: str, reason: str, hint: str) -> bytes:
    """A whole answer to a request whose head never was one."""
    body = wire.encode(_envelope(code, reason, hint))
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


_CROWDED = ("503 Service Unavailable", "over_limit", "too many connections", "close some, or try again later")
_LATE = ("408 Request Timeout", "timeout", "the request's head did not come in time", "send it whole")
_CUT = ("400 Bad Request", "bad_request", "the request ended early", "send as many bytes as content-length says")
_LONG = (
    "431 Request Header Fields Too Large",
    "bad_request",
    f"the request's head is larger than {MAX_HEAD} bytes",
    "send long arguments by POST, as JSON",
)


class Http(HttpToolsProtocol):
    """uvicorn waits for ever for a request's head, of any size, and keeps the blanks around header values."""

    max_connections = 0  # as everywhere
    _deadline: asyncio.TimerHandle | None = None
    _head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio does so itself, but not for a listener made without naming TCP; each answer would wait 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > (self.max_connections or MAX_CONNECTIONS):
            transport.write(_last_words(*_CROWDED))
            transport.close()
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is not None:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._give_up(_LONG)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self._head_came()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._head_came()
        self._head_size = 0
        self._deadline = self.loop.call_later(HEADER_TIMEOUT_S, self._give_up)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Who ends in the middle of a request may still listen, and is answered. Who ends after a whole one has gone
        away, as far as anybody can tell: its connection ends, and with it what nobody waits for any more. True: it
        stays, for the answer to a request before that one is on its way."""
        if self.pipeline:
            return True
        if self._deadline is not None and self._head_size:
            self._give_up(_CUT)
        elif self.cycle and self.cycle.more_body and not self.cycle.response_started:
            self.transport.write(_last_words(*_CUT))
            self.transport.close()
        return None

    def send_400_response(self, msg: str) -> None:
        hint = "send HTTP/1.1, and only what it allows in an address or a header"
        self.transport.write(_last_words("400 Bad Request", "bad_request", "this is not HTTP", hint))
        self.transport.close()

    def _give_up(self, why: tuple[str, str, str, str] = _LATE) -> None:
        self._head_came()
        # A pipelined request may be late while the answer to the one before is still being written.
        busy = bool(self.cycle) and not self.cycle.response_complete
        if not busy and not self.transport.is_closing():
            self.transport.write(_last_words(*why))
        self.transport.close()


class _Socket(WebSocketsSansIOProtocol):
    """uvicorn has one size for the messages of all WebSockets, and reads on for ten seconds after its own closing."""

    _is_turned_away = False
    _last_words = 0

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.accept":
            self._is_turned_away = _TURNED_AWAY in self.scope
            if not self._is_turned_away and (most := _MOST_SAID.get(self.scope["path"])):
                self.conn.max_message_size = most
        await super().send(message)

    def data_received(self, data: bytes) -> None:
        if self._is_turned_away:
            self._last_words += len(data)
            if self._last_words > MAX_LAST_WORDS:
                self.transport.close()
                return
        super().data_received(data)


class _Quiet(uvicorn.Server):
    """The daemon owns the signals, and an idle one should not wake up ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.over = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), 1.0)


def _is_news(record: logging.LogRecord) -> bool:
    return record.msg != "ASGI callable returned without completing handshake."  # said of every refused WebSocket (M)


logging.getLogger("uvicorn.error").addFilter(_is_news)


class HttpDoor:
    """uvicorn on a socket that is already bound, inside the running event loop."""

    def __init__(self, app: ASGIApp, http: type[Http] = Http, *, dated: bool = True) -> None:
        config = uvicorn.Config(
            app,
            http=http,
            ws=_Socket,
            ws_max_size=wire.MAX_BYTES,
            ws_per_message_deflate=False,  # it never leaves the machine
            ws_ping_timeout=90.0,  # a laptop may sleep for a minute
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=dated,
            proxy_headers=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=1,
        )
        self._server = _Quiet(config)
        self._task: asyncio.Task[None] | None = None

    async def listen(self, listener: socket.socket) -> None:
        self._task = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listener]))
        while not self._server.started:
            if self._task.done():
                self._task.result()
            await asyncio.sleep(0.001)

    @property
    def connections(self) -> int:
        return len(self._server.server_state.connections)

    async def close(self) -> None:
        self._server.should_exit = True
        self._server.over.set()
        if self._task is not None:
            await self._task
