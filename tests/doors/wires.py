"""Both ways to reach the doors, for the official client and for raw bytes."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from .conftest import SECRET

MODERN = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Line:
    """A raw connection to the local door, greeted."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.hello: dict[str, Any] = {}

    def send(self, message: Any) -> None:
        self.writer.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")

    async def receive(self, timeout: float = 5.0) -> Any:
        return json.loads(await asyncio.wait_for(self.reader.readline(), timeout))

    async def ask(self, message: Any) -> Any:
        self.send(message)
        return await self.receive()

    async def call(self, method: str, params: Any = None, id: Any = 1) -> Any:  # noqa: A002
        return await self.ask({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})

    async def initialize(self) -> None:
        assert "result" in await self.call("initialize", INITIALIZE, id="init")
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


@contextlib.asynccontextmanager
async def line(path: Path, **hello: Any) -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_unix_connection(str(path), limit=1 << 26)
    opened = Line(reader, writer)
    opened.hello = await opened.ask({"pilothouse": "0", "door": "mcp", **hello})
    yield opened
    writer.close()


@contextlib.asynccontextmanager
async def _local_transport(path: Path) -> AsyncIterator[Any]:
    incoming, read = anyio.create_memory_object_stream[Any](100)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](100)
    async with line(path) as opened, anyio.create_task_group() as group:

        async def pump_in() -> None:
            while raw := await opened.reader.readline():
                await incoming.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(raw)))

        async def pump_out() -> None:
            async for one in outgoing:
                opened.send(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

        group.start_soon(pump_in)
        group.start_soon(pump_out)
        yield read, write
        group.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def official(where: str | Path, mode: str, **options: Any) -> AsyncIterator[Client]:
    """The official client, over HTTP for an address and over the local socket for a path; it hears notices by now."""
    hears = asyncio.Event()

    async def answered(response: httpx2.Response) -> None:
        if response.request.method == "GET" and response.status_code == 200:
            hears.set()

    async with contextlib.AsyncExitStack() as stack:
        if isinstance(where, Path):
            transport: Any = _local_transport(where)
            hears.set()
        else:
            headers = {"Authorization": f"Bearer {SECRET}"}
            made = httpx2.AsyncClient(headers=headers, timeout=30, event_hooks={"response": [answered]})
            transport = streamable_http_client(f"{where}/mcp", http_client=await stack.enter_async_context(made))
        client = Client(transport, mode=mode, read_timeout_seconds=10, **options)  # pyright: ignore[reportArgumentType]
        entered = await stack.enter_async_context(client)
        if mode == "legacy":  # over HTTP it opens its stream for notices after the handshake
            await asyncio.wait_for(hears.wait(), 10)
        yield entered
