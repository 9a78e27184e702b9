"""A Grid without browsers: it speaks the HTTP and the CDP of one, and gives as many places as it is told."""

import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect


class Stub:
    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.most = places
        self.sessions: set[str] = set()
        self.waiting = 0
        self.url = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/session", self._make, methods=["POST"]),
                Route("/session/{ident}", self._end, methods=["DELETE"]),
                Route("/session/{ident}/timeouts", self._timeouts),
                Route("/graphql", self._counts, methods=["POST"]),
                WebSocketRoute("/session/{ident}/se/cdp", self._drive),
            ]
        )

    async def _make(self, request: Request) -> JSONResponse:
        self.waiting += 1
        await self.places.acquire()
        self.waiting -= 1
        ident = secrets.token_hex(16)
        self.sessions.add(ident)
        capabilities = {"browserName": "chrome", "se:cdp": f"ws://hub/session/{ident}/se/cdp"}
        return JSONResponse({"value": {"sessionId": ident, "capabilities": capabilities}})

    async def _end(self, request: Request) -> JSONResponse:
        ident = request.path_params["ident"]
        if ident in self.sessions:
            self.sessions.discard(ident)
            self.places.release()
        return JSONResponse({"value": None})

    async def _timeouts(self, request: Request) -> JSONResponse:
        return JSONResponse({"value": {}})

    async def _counts(self, request: Request) -> JSONResponse:
        now = {"sessionQueueSize": self.waiting, "sessionCount": len(self.sessions), "maxSession": self.most}
        return JSONResponse({"data": {"grid": {**now, "nodeCount": 1}}})

    async def _drive(self, line: WebSocket) -> None:
        await line.accept()
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                command = json.loads(await line.receive_text())
                for frame in _answers(command):
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
async def stub_grid(places: int) -> AsyncIterator[Stub]:
    stub = Stub(places)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        stub.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            stub.app(), log_level="warning", lifespan="off", ws="websockets-sansio", access_log=False
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield stub
        finally:
            server.should_exit = server.force_exit = True
            await serving
