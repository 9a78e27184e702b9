"""The MCP door, which comes later than the others: its SDK takes most of a second to import.

Above: daemon. Below: mcp, the only file that knows the SDK.
"""

import asyncio
import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from pilothouse.call import Defaults
from pilothouse.doors.extras import Extras
from pilothouse.doors.herald import Herald
from pilothouse.doors.local import Open
from pilothouse.gate import Gate

if TYPE_CHECKING:
    from pilothouse.doors.mcp import McpDoor


class LateMcp:
    """It is imported in a thread while the rest starts."""

    def __init__(self, gate: Gate, defaults: Defaults, extras: Extras | None) -> None:
        self._end = asyncio.Event()
        self._door: asyncio.Future[McpDoor] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(gate, defaults, extras))

    async def _live(self, gate: Gate, defaults: Defaults, extras: Extras | None) -> None:
        try:
            module = await asyncio.to_thread(import_mcp)
            door: McpDoor = module.McpDoor(gate, defaults=defaults, extras=extras)
            async with door.run():
                self._door.set_result(door)
                await self._end.wait()
                door.close_streams()
        except Exception as error:
            if self._door.done():
                raise
            self._door.set_exception(error)

    async def door(self) -> "McpDoor":
        return await asyncio.shield(self._door)

    async def open(self) -> Open:
        return (await self.door()).open

    async def herald(self) -> Herald:
        return (await self.door()).herald

    async def close(self) -> None:
        self._end.set()
        await self._life


def import_mcp() -> Any:
    """Without what the SDK's packages bring along for others (a client, a framework): 5 MB and 0.1 s less (M)."""
    for package in ("mcp", "mcp.server"):
        spec = importlib.util.find_spec(package)
        assert spec
        sys.modules.setdefault(package, importlib.util.module_from_spec(spec))
    return importlib.import_module("pilothouse.doors.mcp")
