"""`python -m bench.proxy MITMDUMP`: our proxy beside mitmproxy's reverse mode, 100 KB at 50 connections, in one run.

The app and the load are processes of their own; what is printed are answers a second and the latency's median.
"""

import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BODY = b"x" * 102_400
CONNECTIONS = 50
RUNS = 3
SECONDS = 5.0
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n\r\n" % len(BODY)


def tell(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


class App(asyncio.Protocol):
    """As little as an app can be: one answer for each head."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while (at := self.rest.find(b"\r\n\r\n")) >= 0:
            self.rest = self.rest[at + 4 :]
            self.transport.write(HEAD + BODY)  # type: ignore[attr-defined]


async def app() -> None:
    server = await asyncio.get_running_loop().create_server(App, "127.0.0.1", 0)
    tell(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def ours(target: str) -> None:
    from pilothouse.cocoons import Cocoons
    from pilothouse.doors.proxy import ProxyDoor
    from pilothouse.guard.resolve import Resolver
    from pilothouse.guard.token import Signer
    from pilothouse.options import Proxy
    from pilothouse.proxy.lines import Lines

    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        cocoons = Cocoons(Path(folder) / "config.toml", Proxy(port=port), forbidden_ports={port})
        cocoons.add({"id": "app", "target": target})
        await ProxyDoor(cocoons, Signer(["s" * 32]), Lines(Resolver({}), {port})).listen(listener)
        tell(port)
        await asyncio.Event().wait()


async def load(port: int, host: str) -> dict[str, float]:
    """Fifty clients, each asking again as soon as it is answered."""
    times: list[float] = []
    until = time.monotonic() + SECONDS
    request = f"GET / HTTP/1.1\r\nhost: {host}:{port}\r\naccept: */*\r\n\r\n".encode()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        while (began := time.monotonic()) < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(len(BODY))
            times.append(time.monotonic() - began)
        writer.close()

    began = time.monotonic()
    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return {"per_s": len(times) / (time.monotonic() - began), "p50_ms": statistics.median(times) * 1000}


@contextlib.contextmanager
def process(*command: str, port: int = 0) -> Iterator[int]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
        try:
            assert started.stdout
            yield port or int(started.stdout.readline())
        finally:
            started.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def wait_for(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens on {port}")


def main(mitmdump: str) -> None:
    me = (sys.executable, "-m", "bench.proxy")
    mitm_port = free_port()
    with process(*me, "app") as app_port:
        target = f"http://127.0.0.1:{app_port}"
        mitm = (mitmdump, "-q", "--mode", f"reverse:{target}", "--listen-host", "127.0.0.1", "-p", str(mitm_port))
        with process(*me, "ours", target) as port, process(*mitm, port=mitm_port):
            wait_for(mitm_port)
            told: dict[str, list[dict[str, float]]] = {"app alone": [], "ours": [], "mitmproxy": []}
            for _ in range(RUNS):
                for name, at, host in (
                    ("app alone", app_port, "127.0.0.1"),
                    ("ours", port, "app.localhost"),
                    ("mitmproxy", mitm_port, "127.0.0.1"),
                ):
                    run = subprocess.run([*me, "load", str(at), host], stdout=subprocess.PIPE, check=True)
                    told[name].append(json.loads(run.stdout))
    best = {name: max(runs, key=lambda one: one["per_s"]) for name, runs in told.items()}
    for name, one in best.items():
        tell(f"{name:12}{one['per_s']:10.0f} answers/s{one['p50_ms']:10.1f} ms")
    tell(f"ours / mitmproxy: {best['ours']['per_s'] / best['mitmproxy']['per_s']:.1f}")


def run(arguments: list[str]) -> None:
    import uvloop

    match arguments:
        case ["app"]:
            uvloop.run(app())
        case ["ours", target]:
            uvloop.run(ours(target))
        case ["load", port, host]:
            tell(json.dumps(uvloop.run(load(int(port), host))))
        case [mitmdump] if os.access(mitmdump, os.X_OK):
            main(mitmdump)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    run(sys.argv[1:])
