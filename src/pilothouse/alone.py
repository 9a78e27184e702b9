"""`pilothouse hub`: the signaling hub alone, for browsers and daemons on other machines, behind a TLS proxy.

Above: the `hub` command. Below: hub, its door, cocoons. It knows users by the hashes of their keys in config.toml and
cocoons by their owners there; a changed file counts at once. It has no browsers, no tools and no other routes.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pilothouse import log
from pilothouse.cocoons import Cocoons
from pilothouse.config import load
from pilothouse.doors.debugging import hive_secrets
from pilothouse.doors.http import SIGNALING_PATH, Front, HttpDoor, allowed_hosts
from pilothouse.doors.signaling import SignalingDoor
from pilothouse.errors import Failure
from pilothouse.guard.keys import Keys
from pilothouse.guard.pairing import ORIGIN
from pilothouse.guard.token import Signer
from pilothouse.home import directory
from pilothouse.hub.hub import Hub
from pilothouse.options import Config

CLOSE_S = 1.5
_log = logging.getLogger(__name__)


def serve(*, port: int | None, config: str | None) -> int:
    """Run until a signal; the result is the exit code."""
    os.umask(0o077)
    try:
        home = Path(directory())
        file = Path(config or home / "config.toml").absolute()
        settings = load(file, os.environ, {"hub.port": port})
        log.set_up(settings.log, file="", max_bytes=settings.log.file_max_bytes)
        with _bound(settings.hub.port) as listener:
            asyncio.run(run(settings, file, home, listener))
    except Failure as error:
        sys.stderr.write(f"pilothouse: {error}\n")
        return 2 if error.code == "bad_request" else 1
    except OSError as error:
        sys.stderr.write(f"pilothouse: {error}\n")
        return 1
    return 0


async def run(settings: Config, file: Path, home: Path, listener: socket.socket) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    port: int = listener.getsockname()[1]
    cocoons = Cocoons(file, settings.proxy, forbidden_ports=set(), served=False, on_mistake=_log.warning)
    cocoons.on_users = lambda name, change: _log.info("user %s: key %s", name, change)
    signer = Signer(_secrets(home))
    signer.on_foreign = log.Sparing(
        _log, "a token that another secret has signed: is HIVE_SECRET the one that the proxy has?"
    )
    hub = Hub(cocoons, signer, settings.hub.memory_mb * 1_000_000)
    door = HttpDoor(front(hub, cocoons, settings, port))
    await door.listen(listener)
    _announce(port)
    try:
        await stop.wait()
    finally:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(door.close(), CLOSE_S)


def _secrets(home: Path) -> list[str]:
    """A secret of its own would be of no use: the proxies whose tokens it reads are elsewhere."""
    if not os.environ.get("HIVE_SECRET") and not (home / "hive.key").exists():
        hints = ["export HIVE_SECRET=…  # the one that the proxy has", f"or copy the proxy's hive.key into {home}"]
        raise Failure("bad_request", f"the hub needs the proxy's HIVE_SECRET; {hints[1]}", suggestions=hints)
    return hive_secrets(Keys(home))


def front(hub: Hub, cocoons: Cocoons, settings: Config, port: int) -> Front:
    """Two routes behind the same checks as every door's."""
    refused = log.Sparing(_log, "a key that is nobody's was refused")
    signaling = SignalingDoor(hub, cocoons, on_refused=lambda key: refused())
    inner = Starlette(routes=[*signaling.routes(), Route("/health", _health, methods=["GET"])])
    hosts = allowed_hosts(port, settings.server.allowed_hosts)
    misnamed = log.Sparing(_log, "a call by a name that is not ours was refused: is it among server.allowed_hosts?")
    return Front(
        inner, lambda secret: None, hosts=hosts, extension=ORIGIN, insecure_no_secret=False, on_misnamed=misnamed
    )


async def _health(request: Request) -> Response:
    return JSONResponse({"ok": True})


def _bound(port: int) -> socket.socket:
    """Plain HTTP is for this machine only: what comes from others comes through TLS."""
    try:
        return socket.create_server(("127.0.0.1", port), backlog=128)
    except OSError as error:
        hint = "choose another: hub.port in config.toml, or --port"
        message = f"the hub cannot listen on port {port}: {error.strerror}"
        raise Failure("system", f"{message}; {hint}", suggestions=[hint]) from None


def _announce(port: int) -> None:
    url = f"ws://127.0.0.1:{port}{SIGNALING_PATH}"
    _log.info("the hub is at %s", url)
    with contextlib.suppress(OSError):  # who started us may be gone by now
        os.write(1, json.dumps({"ready": True, "url": url, "pid": os.getpid()}).encode() + b"\n")
