"""A proxy in the test's own process, and a real app behind it."""

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from pilothouse.cocoons import Cocoons
from pilothouse.doors.proxy import ProxyDoor
from pilothouse.guard.resolve import Resolver
from pilothouse.guard.token import Signer
from pilothouse.options import Proxy
from pilothouse.proxy.lines import Lines
from tests.proxy.apps import App, Serve, raw_app, running

SECRET = "a secret that is long enough for it"
NAVIGATES = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html,*/*;q=0.8"}


class ProxyHere:
    """A running proxy. `client` asks it as a browser at the given cocoon would."""

    def __init__(self, port: int, cocoons: Cocoons, file: Path) -> None:
        self.port = port
        self.cocoons = cocoons
        self.file = file
        self.signer = Signer([SECRET])
        self.door: ProxyDoor

    def origin(self, cocoon: str) -> str:
        return f"http://{cocoon}.localhost:{self.port}"

    def client(self, cocoon: str = "shop", **more: Any) -> httpx.AsyncClient:
        headers = {"host": f"{cocoon}.localhost:{self.port}" if cocoon else f"localhost:{self.port}"}
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=20, **more)


@contextlib.asynccontextmanager
async def proxy_here(folder: Path, cocoons: dict[str, dict[str, Any]], **settings: Any) -> AsyncIterator[ProxyHere]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        proxy = msgspec.structs.replace(Proxy(enabled=True), port=port, **settings)
        own_ports = {port, 8777}
        kept = Cocoons(folder / "config.toml", proxy, forbidden_ports=own_ports)
        (folder / "config.toml").write_text('[[users]]\nname = "ann"\n[[users]]\nname = "ben"\n')
        for cocoon, values in cocoons.items():
            kept.add({"id": cocoon, **values})
        here = ProxyHere(port, kept, folder / "config.toml")
        door = ProxyDoor(kept, here.signer, Lines(Resolver({"meta.test": "169.254.169.254"}), own_ports))
        here.door = door
        await door.listen(listener)
        try:
            yield here
        finally:
            await door.close()


@contextlib.asynccontextmanager
async def behind(folder: Path, serve: Serve, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the proxy in front of a server that does what `serve` does."""
    async with (
        raw_app(serve) as url,
        proxy_here(folder, {"shop": {"target": url}}, **settings) as proxy,
        proxy.client() as client,
    ):
        yield client


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with running(App()) as one:
        yield one


@pytest.fixture
async def proxy(app: App, tmp_path: Path) -> AsyncIterator[ProxyHere]:
    async with proxy_here(tmp_path, {"shop": {"target": app.url}}) as here:
        yield here
