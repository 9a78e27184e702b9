"""A Grid without browsers: it speaks the HTTP and the CDP of one, and gives as many places as it is told."""

import asyncio
import base64
import contextlib
import json
import secrets
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

SWEEP_S = 0.05


class Stub:
    """`user` is who may come; `timeout_s` after how long without a command it ends a session, as a node does."""

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.most = places
        self.sessions: dict[str, float] = {}  # when the last command came
        self.waiting = 0
        self.url = ""
        self.user = ""
        self.timeout_s = float("inf")
        self.cdp = "ws://hub/session/{ident}/se/cdp"
        self.wanted: list[dict[str, Any]] = []  # capabilities, as they were asked for
        self.signs: Counter[str] = Counter()
        self.counted = 0  # how often somebody asked how full it is
        self.headers: list[dict[str, str]] = []
        self.ending = 200  # the status of its answers to who gives a browser back
        self.says: dict[str, Any] = {}  # a browser's own answers, by method
        self.silent: set[str] = set()
        self.heard: dict[str, dict[str, Any]] = {}  # what was asked of its browsers last, by method
        self._unsaid: list[tuple[WebSocket, dict[str, Any]]] = []
        self._lines: set[WebSocket] = set()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/session", self._make, methods=["POST"]),
                Route("/session/{ident}", self._end, methods=["DELETE"]),
                Route("/session/{ident}/timeouts", self._timeouts),
                Route("/graphql", self._counts, methods=["POST"]),
                Route("/json/version", self._version),
                WebSocketRoute("/session/{ident}/se/cdp", self._drive),
            ]
        )

    async def cut(self) -> None:
        """The node dies: its browsers are gone, and the Grid says so."""
        for line in tuple(self._lines):
            await line.close()
        for ident in tuple(self.sessions):
            self._free(ident)

    async def sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            oldest = time.monotonic() - self.timeout_s
            for ident in [one for one, heard in self.sessions.items() if heard < oldest]:
                self._free(ident)

    def _is_stranger(self, request: HTTPConnection) -> bool:
        self.headers.append(dict(request.headers))
        pair = base64.b64encode(self.user.encode()).decode()
        return bool(self.user) and request.headers.get("authorization") != f"Basic {pair}"

    def _free(self, ident: str) -> None:
        if self.sessions.pop(ident, None) is not None:
            self.places.release()

    async def _make(self, request: Request) -> JSONResponse:
        if self._is_stranger(request):
            return JSONResponse({"value": None}, 401)
        self.wanted.append((await request.json())["capabilities"]["alwaysMatch"])
        self.waiting += 1
        await self.places.acquire()
        self.waiting -= 1
        ident = secrets.token_hex(16)
        self.sessions[ident] = time.monotonic()
        capabilities = {"browserName": "chrome", "se:cdp": self.cdp.format(ident=ident)}
        return JSONResponse({"value": {"sessionId": ident, "capabilities": capabilities}})

    async def _end(self, request: Request) -> JSONResponse:
        if not self._is_stranger(request) and self.ending == 200:
            self._free(request.path_params["ident"])
        return JSONResponse({"value": None}, self.ending)

    async def _timeouts(self, request: Request) -> JSONResponse:
        ident = request.path_params["ident"]
        self.signs[ident] += 1
        if ident in self.sessions:
            self.sessions[ident] = time.monotonic()
        return JSONResponse({"value": {}})

    async def _counts(self, request: Request) -> JSONResponse:
        if self._is_stranger(request):
            return JSONResponse({}, 401)
        self.counted += 1
        now = {"sessionQueueSize": self.waiting, "sessionCount": len(self.sessions), "maxSession": self.most}
        return JSONResponse({"data": {"grid": {**now, "nodeCount": 1}}})

    async def _version(self, request: Request) -> JSONResponse:
        """As the debugging port of a browser, which calls itself by a name that means nothing elsewhere."""
        self.headers.append(dict(request.headers))
        return JSONResponse({"webSocketDebuggerUrl": "ws://itself/session/only/se/cdp"})

    async def _drive(self, line: WebSocket) -> None:
        if self._is_stranger(line):
            await line.close()
            return
        await line.accept()
        self._lines.add(line)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the second: it was cut
            while True:
                command = json.loads(await line.receive_text())
                self.heard[command["method"]] = command.get("params", {})
                if command["method"] in self.silent:
                    self._unsaid.append((line, command))
                else:
                    await self._answer(line, command)
        self._lines.discard(line)

    async def speak_up(self) -> None:
        """What was not answered is answered now."""
        unsaid, self._unsaid = self._unsaid, []
        for line, command in unsaid:
            await self._answer(line, command)

    async def _answer(self, line: WebSocket, command: dict[str, Any]) -> None:
        frames = _answers(command)
        if command["method"] in self.says:
            frames[-1]["result"] = self.says[command["method"]]
        for frame in frames:
            await line.send_text(json.dumps(frame))


def _answers(command: dict[str, Any]) -> list[dict[str, Any]]:
    """What a browser says that has one page in one context."""
    method, events, result = command["method"], [], dict[str, Any]()
    if method == "Target.createBrowserContext":
        result = {"browserContextId": "C"}
    elif method == "SystemInfo.getInfo":
        result = {"commandLine": "chrome --user-data-dir=/tmp/data"}
    elif method == "Target.createTarget":
        result = {"targetId": "T"}
        info = {"targetId": "T", "type": "page", "title": "", "url": "about:blank", "browserContextId": "C"}
        event = {"sessionId": "S", "targetInfo": {**info, "attached": True}, "waitingForDebugger": True}
        events = [{"method": "Target.attachedToTarget", "params": event}]
    elif method == "Page.getFrameTree":
        frame = {"id": "T", "loaderId": "L", "url": "about:blank", "securityOrigin": "://", "mimeType": "text/html"}
        result = {"frameTree": {"frame": frame}}
    reply = {"id": command["id"], "result": result}
    if session := command.get("sessionId"):
        reply["sessionId"] = session
    return [*events, reply]


@contextlib.asynccontextmanager
async def stub_grid(places: int, certificate: Path | None = None) -> AsyncIterator[Stub]:
    stub = Stub(places)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        scheme, host = ("https", "localhost") if certificate else ("http", "127.0.0.1")
        stub.url = f"{scheme}://{host}:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            stub.app(),
            log_level="warning",
            lifespan="off",
            ws="websockets-sansio",
            access_log=False,
            ssl_certfile=certificate,
        )
        server = uvicorn.Server(config)
        serving, sweeping = asyncio.create_task(server.serve([listener])), asyncio.create_task(stub.sweep())
        try:
            yield stub
        finally:
            sweeping.cancel()
            server.should_exit = server.force_exit = True
            await serving
