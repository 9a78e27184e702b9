"""What the way through a Selenium Grid adds to a CDP call: one browser, asked through the hub and by its own port."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import msgspec

from pilothouse.cdp.connection import Connection
from pilothouse.cdp.socket import Socket
from pilothouse.providers.endpoint import discovered
from pilothouse.providers.grid import GridSource
from tests.remote.hub import Hub, grid

CALLS = 200


def command_ms() -> float:
    with tempfile.TemporaryDirectory() as folder, grid(Path(folder), nodes=1, slots=1) as hub:
        return asyncio.run(_added(hub))


async def _added(hub: Hub) -> float:
    far = await GridSource(hub.config(), lambda text, origin: text).connect()
    direct = Connection(await Socket.open(await discovered(f"http://{_port(hub)}", {})))
    try:
        both = (direct, far.connection)
        taken: dict[Connection, list[float]] = {one: [] for one in both}
        for _ in range(CALLS):
            for one in both:
                taken[one].append(await _timed(one))
        # The quickest tenth: what else the machine does makes calls slower, and never faster.
        quick, through = (statistics.quantiles(taken[one], n=10)[0] for one in both)
        return max(through - quick, 0.01)
    finally:
        await direct.close()
        await far.release()


def _port(hub: Hub) -> str:
    """Where the browser itself listens, as the Grid was told by its driver."""
    (session,) = hub.told()
    return str(msgspec.convert(session["capabilities"], dict[str, object])["goog:chromeOptions"]["debuggerAddress"])  # type: ignore[index]


async def _timed(connection: Connection) -> float:
    await asyncio.sleep(0.01)
    began = time.perf_counter()
    await connection.root.send("Browser.getVersion")
    return (time.perf_counter() - began) * 1000
