"""`pilothouse key`: made once, shown once, taken back at once, also from what a daemon is just telling."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

from pilothouse.guard.audit import Audit
from pilothouse.guard.policy import Question
from pilothouse.tool import Access
from tests.command_line import CommandLine
from tests.processes import Process, kill_daemon
from tests.promises import promise

pytestmark = promise("E08", "E01")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    home = tmp_path_factory.mktemp("keys") / "home"
    home.mkdir(mode=0o700)
    process = Process("serve", home=home)
    yield home, process.read()["url"]
    process.end()
    kill_daemon(home)


def ask(url: str, key: str, tool: str = "list_sessions", **args: Any) -> httpx.Response:
    return httpx.post(f"{url}/api/tools/{tool}", headers={"X-API-Key": key}, json=args, timeout=30)


def test_add_prints_the_key_alone_and_makes_no_second(tmp_path: Path):
    cli = CommandLine(tmp_path)
    done = cli.run("key", "add", "ci")
    assert done.returncode == 0
    secret = done.stdout.strip()
    assert (len(secret) >= 43, "\n" in secret) == (True, False)
    file = tmp_path / "keys" / "ci.key"
    assert (file.read_text().strip(), file.stat().st_mode & 0o777) == (secret, 0o600)
    again = cli.run("key", "add", "ci")
    assert (again.returncode, again.stdout, "there is a key ci already" in again.stderr) == (2, "", True)
    assert file.read_text().strip() == secret
    assert json.loads(cli.text("key", "add", "bot", "--json"))["name"] == "bot"
    for name in ("../x", "Ci", "person", ""):
        assert cli.run("key", "add", name).returncode == 2


def test_list_tells_when_they_were_made_and_used(tmp_path: Path):
    cli = CommandLine(tmp_path)
    assert "none yet" in cli.text("key", "list")
    for name in ("ci", "bot", "c"):
        cli.text("key", "add", name)

    async def use() -> None:
        log = Audit(tmp_path, max_bytes=2000)
        for _ in range(3):
            await log.before(Question("ci", "s1", "click", Access.WRITE, {}))
        for _ in range(20):  # of others, and one that speaks of a caller
            await log.before(Question("bot", "s1", "mock_url", Access.READ, {"headers": {"caller": "c"}}))
        log.close()

    asyncio.run(use())
    found = {one["name"]: one for one in json.loads(cli.text("key", "list", "--json"))}
    assert list(found) == ["bot", "c", "ci"]
    assert found["ci"]["made"][:19] <= found["ci"]["used"][:19]
    assert found["ci"]["used"] < found["bot"]["used"]
    assert found["c"]["used"] == ""
    shown = cli.text("key", "list")
    assert not any((tmp_path / "keys" / f"{name}.key").read_text().strip() in shown for name in found)
    assert "c                made" in shown


def test_revoke_says_what_is_not_there(tmp_path: Path):
    done = CommandLine(tmp_path).run("key", "revoke", "ghost")
    assert (done.returncode, "there is no key ghost" in done.stderr) == (1, True)


def test_a_revoked_key_opens_nothing_from_the_next_call_on(daemon: tuple[Path, str]):
    home, url = daemon
    cli = CommandLine(home)
    key = cli.text("key", "add", "brief").strip()
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30) as kept:
        assert kept.post(f"{url}/api/tools/list_sessions", json={}).status_code == 200
        cli.text("key", "revoke", "brief")
        assert kept.post(f"{url}/api/tools/list_sessions", json={}).status_code == 401
        assert kept.post(f"{url}/mcp", json={}).status_code == 401
    assert ask(url, key).status_code == 401
    fresh = cli.text("key", "add", "brief").strip()
    assert fresh != key
    assert (ask(url, key).status_code, ask(url, fresh).status_code) == (401, 200)


def test_the_default_key_can_be_changed_while_the_daemon_runs(daemon: tuple[Path, str]):
    home, url = daemon
    cli, old = CommandLine(home), (home / "agent.key").read_text().strip()
    assert ask(url, old).status_code == 200
    cli.text("key", "revoke", "default")
    assert ask(url, old).status_code == 401
    fresh = cli.text("key", "add", "default").strip()
    assert ask(url, fresh).status_code == 200


def notes(home: Path) -> list[tuple[str, str]]:
    records = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    return [(one["kind"], one["told"]["key"]) for one in records if one.get("kind", "").startswith("key_")]


@promise("D13", "D08")
def test_a_new_key_of_an_old_name_inherits_nothing(daemon: tuple[Path, str]):
    home, url = daemon
    cli = CommandLine(home)
    old = cli.text("key", "add", "heir").strip()
    session = ask(url, old, "open_session").json()["data"]["session"]
    assert session in ask(url, old).text
    cli.text("key", "revoke", "heir")
    fresh = cli.text("key", "add", "heir").strip()
    assert ask(url, fresh).json()["data"]["sessions"] == []
    assert ask(url, fresh, "list_tabs", session=session).json()["success"] is False
    mine = [kind for kind, key in notes(home) if key == "agent:heir"]
    assert mine == ["key_added", "key_revoked", "key_added"]


@promise("D13")
def test_the_log_has_it_without_a_daemon_too(tmp_path: Path):
    cli = CommandLine(tmp_path)
    cli.text("key", "add", "ci")
    cli.text("key", "revoke", "ci")
    cli.run("key", "revoke", "ci")
    assert notes(tmp_path) == [("key_added", "agent:ci"), ("key_revoked", "agent:ci")]
    assert cli.run("log", "verify").returncode == 0


async def _listen(socket: ClientConnection) -> None:
    while True:
        await socket.recv()


async def test_what_is_being_told_to_a_revoked_key_ends(daemon: tuple[Path, str]):
    home, url = daemon
    cli = CommandLine(home)
    key = (await asyncio.to_thread(cli.text, "key", "add", "listener")).strip()
    session = (await asyncio.to_thread(ask, url, key, "open_session")).json()["data"]["session"]
    place = f"{url.replace('http', 'ws')}/api/browser/{session}/follow?kinds=console"
    noise = "setInterval(() => console.log('tick'), 20)"
    try:
        async with connect(place, additional_headers={"X-API-Key": key}) as socket:
            await asyncio.to_thread(ask, url, key, "evaluate_js", session=session, expression=noise)
            assert "tick" in str(await asyncio.wait_for(socket.recv(), 10))
            await asyncio.to_thread(cli.text, "key", "revoke", "listener")
            with pytest.raises(websockets.ConnectionClosed) as caught:
                await asyncio.wait_for(_listen(socket), 10)
        assert caught.value.rcvd
        assert caught.value.rcvd.code == 4401
    finally:
        (home / "keys" / "listener.key").unlink(missing_ok=True)
