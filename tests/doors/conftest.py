"""A door of each kind over the fake gate, on a real socket and a real port."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from .fake_gate import FakeGate

SECRET = "s3cret-of-the-default-agent"
PERSON = "s3cret-of-the-person"


def who(secret: str) -> str | None:
    return {SECRET: "agent:default", "other": "agent:other", PERSON: "person"}.get(secret)


@pytest.fixture
def gate() -> FakeGate:
    return FakeGate()


@pytest.fixture
async def door(gate: FakeGate) -> AsyncIterator[Any]:
    from pilothouse.doors.mcp import McpDoor

    made = McpDoor(gate)  # pyright: ignore[reportArgumentType]
    started, over = asyncio.Event(), asyncio.Event()

    async def live() -> None:  # a task of its own: the fixture's two halves may run in different ones
        async with made.run():
            started.set()
            await over.wait()
            made.close_streams()

    living = asyncio.create_task(live())
    await started.wait()
    yield made
    over.set()
    await living


@pytest.fixture
async def local(door: Any, tmp_path: Path) -> AsyncIterator[Path]:
    """The path of a listening local door."""
    from pilothouse.doors.local import LocalDoor

    async def opener() -> Any:
        return door.open

    listening = LocalDoor({"mcp": opener}, stop=lambda version: {"stopping": False, "why": "busy"})
    path = tmp_path / "p.sock"
    await listening.listen(path)
    yield path
    await listening.close()


@pytest.fixture
async def url(door: Any) -> AsyncIterator[str]:
    """The address of a listening HTTP door."""
    from pilothouse.doors.http import HttpDoor, build_app

    async def mcp() -> Any:
        return door

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    http = HttpDoor(build_app(mcp, who, port=port))
    await http.listen(listener)
    yield f"http://127.0.0.1:{port}"
    await http.close()
