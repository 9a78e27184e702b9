"""Three daemons behind one name, with the very nginx configuration that docs/remote.md prints (`scripts/afar`)."""

import asyncio
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import PILOTHOUSE, Process, wait_until
from tests.promises import promise
from tests.remote.hub import free_port
from tests.remote.stub import stub_grid
from tests.remote.test_grid_manners import certificate

__all__ = ["certificate"]

pytestmark = promise("H01", "E01")

PAGE = Path(__file__).parents[2] / "docs" / "remote.md"
NAME = "pilothouse.internal"
CALLERS = [f"agent-{number}" for number in range(8)]


class Name:
    """What callers see: one address, and whose key they bring."""

    def __init__(self, port: int, certificate: Path, keys: dict[str, str]) -> None:
        self._url = f"https://localhost:{port}"
        self._trust = ssl.create_default_context(cafile=str(certificate))
        self._keys = keys

    def call(self, caller: str, tool: str, **args: Any) -> dict[str, Any]:
        headers = {"Host": NAME, "Authorization": f"Bearer {self._keys[caller]}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}/api/tools/{tool}", json.dumps(args).encode(), headers)
        with urllib.request.urlopen(request, timeout=30, context=self._trust) as answer:
            return json.loads(answer.read())["data"]


def printed() -> str:
    (found,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


@pytest.fixture
def nginx(tmp_path: Path, certificate: Path) -> Iterator[tuple[int, list[int]]]:
    """The printed text, with ports and files of this test."""
    port, daemons = free_port(), [free_port() for _ in range(3)]
    text = printed().replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    for number, daemon in enumerate(daemons, 1):
        text = text.replace(f"127.0.0.1:877{number}", f"127.0.0.1:{daemon}")
    for kind in ("crt", "key"):
        text = text.replace(f"/etc/nginx/pilothouse.{kind}", str(certificate))
    file = tmp_path / "nginx.conf"
    own = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file.write_text(f"daemon off;\npid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{own}{text}}}\n")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    process = subprocess.Popen([program, "-c", str(file), "-e", str(tmp_path / "errors")])
    try:
        wait_until(lambda: _answers(port))
        yield port, daemons
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def furnish(home: Path, port: int, grid: str) -> None:
    home.mkdir(mode=0o700)
    server = f'[server]\nport = {port}\nallowed_hosts = ["{NAME}:443"]\n'
    (home / "config.toml").write_text(f'{server}[grid]\nurl = "{grid}"\n')


def add_keys(homes: list[Path]) -> dict[str, str]:
    for caller in CALLERS:
        environment = {"PILOTHOUSE_HOME": str(homes[0]), "PATH": "/usr/bin:/bin"}
        subprocess.run([PILOTHOUSE, "key", "add", caller], env=environment, check=True, capture_output=True)
    for home in homes[1:]:
        shutil.copytree(homes[0] / "keys", home / "keys")
    return {caller: (homes[0] / "keys" / f"{caller}.key").read_text().strip() for caller in CALLERS}


async def test_a_caller_comes_to_the_same_daemon_each_time(
    tmp_path: Path, nginx: tuple[int, list[int]], certificate: Path
) -> None:
    port, ports = nginx
    homes = [tmp_path / str(number) for number in range(3)]
    async with stub_grid(len(CALLERS) * 2) as grid:
        for home, own in zip(homes, ports, strict=True):
            furnish(home, own, grid.url)
        daemons = [
            Process("serve", home=home, PILOTHOUSE_SERVER_PORT=str(own)) for home, own in zip(homes, ports, strict=True)
        ]
        try:
            for daemon in daemons:
                await asyncio.to_thread(daemon.read)
            name = Name(port, certificate, await asyncio.to_thread(add_keys, homes))
            opened = {
                caller: (await asyncio.to_thread(name.call, caller, "open_session", browser="remote"))["session"]
                for caller in CALLERS
            }
            for caller, session in [*opened.items()] * 3:
                listed = (await asyncio.to_thread(name.call, caller, "list_sessions"))["sessions"]
                assert [one["session"] for one in listed] == [session]
            folders = {home: {one.name for one in (home / "sessions").iterdir()} for home in homes}
            assert sum(bool(set(opened.values()) & had) for had in folders.values()) >= 2
            await _goes_on_without(daemons, homes, name, opened)
        finally:
            for daemon in daemons:
                daemon.end()


async def _goes_on_without(daemons: list[Process], homes: list[Path], name: Name, opened: dict[str, str]) -> None:
    """One daemon ends: its callers come to another and begin anew, everybody else stays."""
    lost = next(number for number, home in enumerate(homes) if (home / "sessions" / opened[CALLERS[0]]).exists())
    daemons[lost].process.send_signal(signal.SIGTERM)
    theirs = {one for one, ident in opened.items() if (homes[lost] / "sessions" / ident).exists()}
    await asyncio.to_thread(daemons[lost].wait)
    for caller, session in opened.items():
        listed = (await asyncio.to_thread(name.call, caller, "list_sessions"))["sessions"]
        assert [one["session"] for one in listed] == ([] if caller in theirs else [session])
    await asyncio.to_thread(name.call, CALLERS[0], "open_session", browser="remote")
    with pytest.raises(urllib.error.HTTPError) as gone:
        await asyncio.to_thread(name.call, CALLERS[0], "close_session", session=opened[CALLERS[0]])
    assert gone.value.code == 404
