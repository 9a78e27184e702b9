"""The web that tests browse: static files of tests/pages/ and routes that redirect, stall, stream and misbehave.

`PageServer` listens on 127.0.0.1 in a thread of its own, so a busy test loop never slows a page. The same port is
reachable as `localhost`, which is another site to Chrome: its iframes get a process of their own.
"""

import asyncio
import base64
import contextlib
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

PAGES = Path(__file__).parent / "pages"
USERS = {"ada": "lovelace"}

_PAGE = "<!doctype html><meta charset=utf-8><title>{title}</title>{body}"
_LOGIN = """<h1>Log in</h1><p role=alert>{problem}</p>
<form method=post><label>User <input name=user></label> <label>Password <input name=password type=password></label>
<button>Log in</button></form>"""
_ACCOUNT = """<h1>Account of {user}</h1><p>Visits: {visits}</p><a href=/logout>Log out</a>"""


def _html(title: str, body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=title, body=body), status)


def _number(request: Request, name: str, default: int) -> int:
    return int(request.query_params.get(name, default))


async def redirect(request: Request) -> Response:
    """`to`: where; `status`: 302 unless told; `times`: that many hops first."""
    times = _number(request, "times", 1)
    to = request.query_params.get("to", "/small.html")
    if times > 1:
        to = str(request.url.include_query_params(times=times - 1))
    return RedirectResponse(to, _number(request, "status", 302))


async def redirect_loop(request: Request) -> Response:
    """Never the same URL twice, so no cache and no loop detection ends it early."""
    return RedirectResponse(f"/redirect-loop?n={_number(request, 'n', 0) + 1}", 302)


async def slow(request: Request) -> Response:
    await asyncio.sleep(_number(request, "ms", 500) / 1000)
    return _html("Slow", "<h1>Slow page</h1>")


async def hang(_: Request) -> Response:
    await asyncio.Event().wait()
    return Response()


async def half(_: Request) -> Response:
    """A document that begins and never ends."""

    async def body() -> AsyncIterator[bytes]:
        yield _PAGE.format(title="Half", body="<h1>Half a page</h1>").encode()
        await asyncio.Event().wait()

    return StreamingResponse(body(), media_type="text/html")


async def echo(request: Request) -> Response:
    """What came; with `?unkept` nobody may keep the answer."""
    keeping = {"Cache-Control": "no-store"} if "unkept" in request.query_params else {}
    body = (await request.body()).decode("utf-8", "replace")
    return JSONResponse(
        {
            "method": request.method,
            "path": request.url.path,
            "query": request.url.query,
            "headers": dict(request.headers),
            "body": body,
        },
        headers={"Access-Control-Allow-Origin": "*", **keeping},
    )


async def login(request: Request) -> Response:
    """A log-in as servers do it: POST, 302, cookie, the account page."""
    if request.method == "GET":
        return _html("Log in", _LOGIN.format(problem=""))
    form = parse_qs((await request.body()).decode())
    user, password = form.get("user", [""])[0], form.get("password", [""])[0]
    await asyncio.sleep(_number(request, "ms", 0) / 1000)
    if not user or USERS.get(user) != password:
        return _html("Log in", _LOGIN.format(problem="Wrong user or password"), 403)
    answer = RedirectResponse("/account", 302)
    answer.set_cookie("user", user, httponly=True)
    return answer


async def account(request: Request) -> Response:
    user = request.cookies.get("user")
    if not user:
        return RedirectResponse("/login", 302)
    visits = int(request.cookies.get("visits", "0")) + 1
    answer = _html("Account", _ACCOUNT.format(user=user, visits=visits))
    answer.set_cookie("visits", str(visits))
    return answer


async def logout(_: Request) -> Response:
    answer = RedirectResponse("/login", 302)
    answer.delete_cookie("user")
    answer.delete_cookie("visits")
    return answer


async def download(request: Request) -> Response:
    """`size` bytes as an attachment called `name`."""
    name = request.query_params.get("name", "report.bin")
    body = (b"pilothouse " * (_number(request, "size", 1000) // 11 + 1))[: _number(request, "size", 1000)]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type="application/octet-stream", headers=headers)


async def download_bomb(_: Request) -> Response:
    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b"\0" * 65536
            await asyncio.sleep(0.005)

    headers = {"Content-Disposition": 'attachment; filename="bomb.bin"'}
    return StreamingResponse(body(), media_type="application/octet-stream", headers=headers)


async def sse(request: Request) -> Response:
    """`count` events, one every `ms`; without a count it never ends."""
    count, pause = _number(request, "count", 0), _number(request, "ms", 50) / 1000

    async def body() -> AsyncIterator[bytes]:
        n = 0
        while not count or n < count:
            n += 1
            yield f"id: {n}\nevent: tick\ndata: {json.dumps({'n': n})}\n\n".encode()
            await asyncio.sleep(pause)

    return StreamingResponse(body(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def ws(socket: WebSocket) -> None:
    """Echoes what it gets, text and bytes; `?ticks=MS` also sends a tick every MS milliseconds."""
    await socket.accept()
    pause = int(socket.query_params.get("ticks", 0)) / 1000

    async def tick() -> None:
        n = 0
        while True:
            await asyncio.sleep(pause)
            n += 1
            await socket.send_text(f"tick {n}")

    ticking = asyncio.create_task(tick()) if pause else None
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if message.get("text") is not None:
                await socket.send_text(f"echo {message['text']}")
            else:
                await socket.send_bytes(message["bytes"])
    except (WebSocketDisconnect, RuntimeError):
        return
    finally:
        if ticking:
            ticking.cancel()


async def basic_auth(request: Request) -> Response:
    expected = "Basic " + base64.b64encode(b"ada:lovelace").decode()
    if request.headers.get("authorization") == expected:
        return _html("Inside", "<h1>Inside</h1>")
    return Response("who are you?", 401, {"WWW-Authenticate": 'Basic realm="pages"'})


async def closes(_: Request) -> Response:
    """Says that it is done, and closes its window."""
    return HTMLResponse("<p>saved<script>close()</script>")


async def halting(request: Request) -> Response:
    """A page whose second half comes after a while."""

    async def halves() -> AsyncIterator[str]:
        asks = "<script>alert('Half way')</script>" * ("asks" in request.query_params)
        yield f"<!doctype html><title>Halting</title><h1>First half</h1>{'<!-- -->' * 200}{asks}"
        await asyncio.sleep(int(request.query_params.get("ms", "700")) / 1000)
        yield "<button onclick='this.textContent = 1'>Choose</button>"

    return StreamingResponse(halves(), media_type="text/html")


async def wrong(_: Request) -> Response:
    """Says what is wrong, and leaves."""
    return HTMLResponse("<p>the card was refused<script>location = '/small.html'</script>", 422)


async def status(request: Request) -> Response:
    code = int(request.path_params["code"])
    return (
        Response(status_code=code) if code in (204, 304) else _html(f"Status {code}", f"<h1>Status {code}</h1>", code)
    )


async def big_json(request: Request) -> Response:
    row = {"id": 1, "text": "x" * 80}
    rows = [row] * (_number(request, "kb", 100) * 1024 // len(json.dumps(row, separators=(",", ":"))) + 1)
    return JSONResponse({"rows": rows})


async def set_cookie(request: Request) -> Response:
    """Every query parameter becomes a cookie."""
    answer = _html("Cookies", "<h1>Cookies set</h1>")
    for name, value in request.query_params.items():
        answer.set_cookie(name, value)
    return answer


async def headers(request: Request) -> Response:
    """A page with the response headers that its query names (`?Content-Security-Policy=...`)."""
    answer = _html("Headers", "<h1>Headers</h1><button onclick=\"this.textContent='Clicked'\">Click</button>")
    answer.headers.update(dict(request.query_params))
    return answer


async def inline(request: Request) -> Response:
    """The very document that the query holds: `body`, its media `type`; everything else is a response header."""
    query = dict(request.query_params)
    body, media_type = query.pop("body"), query.pop("type")
    return Response(body, headers={"Content-Type": media_type, **query})


class _Pages(StaticFiles):
    """Static files, fresh each time: a cached page would make a test depend on the one before it."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        answer = super().file_response(*args, **kwargs)
        answer.headers["Cache-Control"] = "no-cache"
        return answer


def app() -> Starlette:
    everything = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return Starlette(
        routes=[
            Route("/redirect", redirect, methods=everything),
            Route("/redirect-loop", redirect_loop),
            Route("/slow", slow),
            Route("/hang", hang),
            Route("/wrong", wrong, methods=["POST"]),
            Route("/closes", closes, methods=["POST"]),
            Route("/halting", halting),
            Route("/half", half),
            Route("/echo", echo, methods=everything),
            Route("/login", login, methods=["GET", "POST"]),
            Route("/account", account),
            Route("/logout", logout),
            Route("/download", download),
            Route("/download-bomb", download_bomb),
            Route("/sse", sse, methods=["GET", "POST"]),
            WebSocketRoute("/ws", ws),
            Route("/basic-auth", basic_auth),
            Route("/status/{code:int}", status, methods=everything),
            Route("/big.json", big_json),
            Route("/set-cookie", set_cookie),
            Route("/headers", headers),
            Route("/inline", inline),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
            Mount("/", _Pages(directory=PAGES, html=True)),
        ]
    )


@contextlib.asynccontextmanager
async def stumbling(breaks: Callable[[], bool]) -> AsyncIterator[str]:
    """The address of a page whose server breaks connections off while `breaks` says so, as networks do now and then. It
    is asked at every request: a browser sends some again by itself."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            await reader.readuntil(b"\r\n\r\n")
            if breaks():
                at_once = struct.pack("ii", 1, 0)  # closing is a reset then
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            else:
                page = _PAGE.format(title="Steady", body="<link rel=icon href=data:,><h1>Steady page</h1>").encode()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + page)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


class PageServer:
    """`with PageServer() as pages: pages.url("todo.html")`; `start` and `stop` for a fixture."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        config = uvicorn.Config(
            app(),
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            timeout_graceful_shutdown=0,
        )
        self._server = uvicorn.Server(config)
        self._dead = socket.socket()
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True, name="pages")
        self.port = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def other_origin(self) -> str:
        """The same server as another site."""
        return f"http://localhost:{self.port}"

    @property
    def dead_origin(self) -> str:
        """One that refuses: bound, so that nobody else can listen there, and never listened on."""
        return f"http://127.0.0.1:{self._dead.getsockname()[1]}"

    def url(self, path: str = "", *, other: bool = False) -> str:
        return f"{self.other_origin if other else self.origin}/{path.lstrip('/')}"

    def inline(
        self,
        body: str,
        *,
        type: str = "text/html; charset=utf-8",  # noqa: A002 (the query's name)
        headers: dict[str, str] | None = None,
        other: bool = False,
    ) -> str:
        """The address of a document given here and now."""
        query = urlencode({"body": body, "type": type, **(headers or {})})
        return self.url(f"inline?{query}", other=other)

    def start(self) -> Self:
        # Listening before the thread runs: the first request waits in the backlog, so nobody polls for readiness.
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(256)
        self._dead.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread.start()
        return self

    def stop(self) -> None:
        # Both: endless responses never end by themselves, and a test run must.
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(5)
        self._socket.close()
        self._dead.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


if __name__ == "__main__":
    with PageServer() as pages:
        print(pages.url(), flush=True)
        threading.Event().wait()
