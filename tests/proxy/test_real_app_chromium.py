"""JupyterLab, as it comes from PyPI, through the proxy: its page, its files byte for byte, its kernel's WebSocket."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.house import Agent
from tests.promises import promise
from tests.proxy.conftest import proxy_here

pytestmark = promise("G01", "G02")

START_S = 60.0
LAB = Path(__file__).parents[2] / ".tools" / "jupyter" / "bin" / "jupyter-lab"
# What JupyterLab's own page does to run a cell: a kernel by POST, its channels by WebSocket.
RUN = """(async () => {
  const headers = {'X-XSRFToken': document.cookie.match(/_xsrf=([^;]*)/)?.[1] ?? '', 'content-type': 'application/json'};
  const kernel = await (await fetch('/api/kernels', {method: 'POST', headers, body: '{}'})).json();
  const session = crypto.randomUUID();
  const socket = new WebSocket(`ws://${location.host}/api/kernels/${kernel.id}/channels?session_id=${session}`);
  await new Promise((done, fail) => { socket.onopen = done; socket.onerror = () => fail(new Error('no socket')) });
  const header = {msg_id: crypto.randomUUID(), msg_type: 'execute_request', session, username: '', version: '5.3'};
  const content = {code: '"".join(map(str, range(5))) * 20_000', silent: false, store_history: false};
  const answer = new Promise((done) => { socket.onmessage = ({data}) => {
    const told = JSON.parse(data);
    if (told.msg_type === 'execute_result') done(told.content.data['text/plain'].length);
  }});
  socket.send(JSON.stringify({header, parent_header: {}, metadata: {}, content, channel: 'shell', buffers: []}));
  const length = await answer;
  socket.close();
  await fetch(`/api/kernels/${kernel.id}`, {method: 'DELETE', headers});
  return length;
})()"""


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[str]:
    command = os.environ.get("PILOTHOUSE_TEST_JUPYTER", str(LAB))
    assert Path(command).exists(), "JupyterLab is not there: scripts/tools brings it along"
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    process = await asyncio.create_subprocess_exec(
        command,
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        cwd=tmp_path,
        env=os.environ | folders | {"HOME": str(tmp_path)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        await _answers(url)
        yield url
    finally:
        process.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 10)
        if process.returncode is None:
            process.kill()


async def _answers(url: str) -> None:
    end = time.monotonic() + START_S
    async with httpx.AsyncClient() as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"{url}/api")).status_code == 200:
                    return
            assert time.monotonic() < end, "JupyterLab does not answer"
            await asyncio.sleep(0.1)


async def test_jupyterlab_works_through_the_proxy(tmp_path: Path, lab: str, agent: Agent):
    folder = tmp_path / "proxy"
    folder.mkdir()
    async with proxy_here(folder, {"lab": {"target": lab}}) as proxy:
        await agent.call("navigate", url=f"{proxy.origin('lab')}/lab", timeout_ms=60_000)
        await agent.call("wait_for_element", target=".jp-Launcher", timeout_ms=60_000)
        assert await agent.js(RUN) == 100_002
        loaded = await agent.js(
            "performance.getEntriesByType('resource').map((one) => one.name).filter((one) => one.includes('/static/'))"
        )
        assert len(loaded) > 5
        async with httpx.AsyncClient() as direct, proxy.client("lab") as through:
            for url in loaded:
                path = url.removeprefix(proxy.origin("lab"))
                ours, theirs = await through.get(path), await direct.get(lab + path)
                assert ours.status_code == theirs.status_code == 200
                assert ours.content == theirs.content, path
