"""A real browser behind the sluice: pages, mapped names, WebSockets pass, the forbidden does not, and we know why."""

import asyncio
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from pilothouse.guard.sluice import Sluice
from pilothouse.providers.find import find_chrome
from tests.promises import promise

pytestmark = promise("D04")

CHROME = find_chrome("")

PAGE = """<!doctype html><script>
const tries = async () => {
  const port = location.port, result = {};
  const get = url => fetch(url, {mode: 'no-cors'}).then(() => 'passed', () => 'failed');
  result.localhost = await get(`http://localhost:${port}/x`);
  result.literal = await get(`http://127.0.0.1:${port}/x`);
  result.metadata = await get('http://169.254.169.254/latest');
  result.unknown = await get('http://nowhere.invalid/');
  result.dead = await get('http://localhost:1024/');
  result.socket = await new Promise(done => {
    const socket = new WebSocket(`ws://shop.test:${port}/socket`);
    socket.onmessage = event => done(event.data);
    socket.onerror = () => done('failed');
    socket.onopen = () => socket.send('ping');
  });
  fetch('/done?result=' + encodeURIComponent(JSON.stringify(result)));
};
tries();
</script>"""


async def test_chromium_behind_a_gateway(tmp_path: Path):
    result: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    def page(connection: ServerConnection, request: Request) -> Response | None:
        if request.path == "/socket":
            return None
        if request.path.startswith("/done") and not result.done():
            result.set_result(json.loads(parse_qs(urlsplit(request.path).query)["result"][0]))
        body = PAGE.encode() if request.path == "/" else b"x"
        return Response(200, "OK", Headers({"Content-Type": "text/html", "Content-Length": str(len(body))}), body)

    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(f"{message!s} pong")

    sluice = Sluice({"shop.test": "127.0.0.1"}, set())
    gateway = await sluice.open()
    async with serve(echo, "127.0.0.1", 0, process_request=page) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        chrome = await asyncio.create_subprocess_exec(
            str(CHROME), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={tmp_path}",
            f"--proxy-server=socks5://127.0.0.1:{gateway.port}", "--proxy-bypass-list=<-loopback>",
            f"http://shop.test:{port}/", stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            seen = await asyncio.wait_for(result, 30)
        finally:
            chrome.terminate()
            await chrome.wait()
    assert seen == {
        "localhost": "passed", "literal": "passed", "metadata": "failed", "unknown": "failed", "dead": "failed",
        "socket": "ping pong",
    }  # fmt: skip
    assert gateway.reason("169.254.169.254", 80) == "169.254.169.254 is a cloud metadata address"
    assert gateway.reason("nowhere.invalid", 80) == "unknown host nowhere.invalid"
    assert gateway.reason("localhost", 1024) == "connection refused by localhost:1024"
    sluice.close()
