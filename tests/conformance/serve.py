"""A server for the official suite: the real doors over the fake gate, with the fixtures and without the secret.

Prints its URL when it is ready and serves until its standard input ends.
"""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))

from doors.fake_gate import FakeGate

from pilothouse.doors.conformance import Fixtures
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.doors.mcp import McpDoor


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    door = McpDoor(FakeGate(), extras=Fixtures())  # pyright: ignore[reportArgumentType]

    async def mcp() -> Any:
        return door

    http = HttpDoor(build_app(mcp, lambda secret: None, port=port, insecure_no_secret=True))
    async with door.run():
        await http.listen(listener)
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        door.close_streams()
        await http.close()


uvloop.run(main())
