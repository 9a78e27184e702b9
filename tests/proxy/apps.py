"""Apps behind the proxy: a real one on uvicorn, and one that answers whatever bytes a test wants."""

import asyncio
import contextlib
import gzip
import hashlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from pilothouse.doors.http import HttpDoor

BIG = bytes(range(256)) * 4096  # a megabyte


class App:
    """`events`: what the server-sent events say, as the test puts it in; `left`: a reader of them went away."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[str | None] = asyncio.Queue()
        self.left = asyncio.Event()
        self.uploaded: asyncio.Queue[bytes] = asyncio.Queue()
        self.url = ""
        self.asgi = Starlette(
            routes=[
                Route("/", self.page),
                Route("/health/deep", self.page),
                Route("/healthy", self.page),
                Route("/page", self.page, methods=["GET", "POST"]),
                Route("/data", lambda request: JSONResponse({"a": 1})),
                Route("/echo", self.echo, methods=["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
                Route("/hash", self.hash, methods=["POST"]),
                Route("/trickle", self.trickle, methods=["POST"]),
                Route("/big", self.big),
                Route("/gzip", self.gzip),
                Route("/events", self.sse),
                Route("/away", lambda request: RedirectResponse(f"{self.url}/page?x=1")),
                Route("/cookies", self.cookies),
                Route("/near", lambda request: RedirectResponse("/page")),
                Route("/file", lambda request: HTMLResponse("x", headers={"content-disposition": "attachment"})),
                Route("/status/{code:int}", lambda request: HTMLResponse("x", request.path_params["code"])),
                WebSocketRoute("/ws", self.ws),
                WebSocketRoute("/no-ws", self.no_ws),
            ]
        )

    async def page(self, request: Request) -> Response:
        headers = {"x-adi-debug-token": "forged", "cache-control": "max-age=100", "etag": '"1"'}
        response = HTMLResponse("<title>page</title><h1>hello</h1>", headers=headers)
        response.set_cookie("a", "1")
        response.set_cookie("b", "2")
        return response

    async def cookies(self, request: Request) -> Response:
        response = PlainTextResponse("x")
        for cookie in ("a=1; Domain=dev.test; Path=/", "b=domain=x;domain=.test;Secure", "c=3"):
            response.headers.append("set-cookie", cookie)
        return response

    async def echo(self, request: Request) -> Response:
        headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers.raw]
        told = {"method": request.method, "path": request.scope["raw_path"].decode(), "headers": headers}
        return JSONResponse({**told, "query": request.url.query, "body": (await request.body()).decode("latin-1")})

    async def hash(self, request: Request) -> Response:
        digest, size = hashlib.sha256(), 0
        async for chunk in request.stream():
            digest.update(chunk)
            size += len(chunk)
        return JSONResponse({"size": size, "sha256": digest.hexdigest()})

    async def trickle(self, request: Request) -> Response:
        async for chunk in request.stream():
            if chunk:
                self.uploaded.put_nowait(chunk)
        return PlainTextResponse("ok")

    async def big(self, request: Request) -> Response:
        start, _, end = request.headers.get("range", "").removeprefix("bytes=").partition("-")
        if not start:
            return Response(BIG, headers={"accept-ranges": "bytes"})
        part = BIG[int(start) : int(end) + 1]
        return Response(part, 206, {"content-range": f"bytes {start}-{end}/{len(BIG)}"})

    async def gzip(self, request: Request) -> Response:
        return HTMLResponse(gzip.compress(b"<p>small"), headers={"content-encoding": "gzip"})

    async def sse(self, request: Request) -> Response:
        async def told() -> AsyncIterator[str]:
            try:
                while (line := await self.events.get()) is not None:
                    yield f"data: {line}\n\n"
            finally:
                self.left.set()

        return StreamingResponse(told(), media_type="text/event-stream")

    async def ws(self, socket: WebSocket) -> None:
        await socket.accept(socket.scope["subprotocols"][0] if socket.scope["subprotocols"] else None)
        await socket.send_json(dict(socket.headers.items()))
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                message: dict[str, Any] = dict(await socket.receive())
                if message.get("text") == "bye":
                    await socket.close(4001, "as you wish")
                    return
                if message["type"] == "websocket.disconnect":
                    self.left.set()
                    return
                await (
                    socket.send_text(message["text"]) if message.get("text") else socket.send_bytes(message["bytes"])
                )

    async def no_ws(self, socket: WebSocket) -> None:
        await socket.send_denial_response(PlainTextResponse("not here", 418))


@contextlib.asynccontextmanager
async def running(app: App) -> AsyncIterator[App]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        door = HttpDoor(app.asgi)
        await door.listen(listener)
        app.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield app
        finally:
            app.events.put_nowait(None)
            await door.close()


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_app(serve: Serve) -> AsyncIterator[str]:
    """The address of a server that does what `serve` does to each connection."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def says(answer: bytes) -> Serve:
    """Reads a head and says this."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return serve
