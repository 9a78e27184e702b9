"""Limits count for a key: the same over stdio, over HTTP with sessions (2025-11-25) and without (2026-07-28)."""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.load import Http, Place
from tests.mcp_line import LineClient, to_reply
from tests.processes import PILOTHOUSE, Process, kill_daemon
from tests.promises import promise

from .wires import ENVELOPE, MODERN

pytestmark = promise("D09")

PER_MINUTE = 6
Ask = Callable[[], dict[str, Any]]  # the error of a call, empty if there is none


class Daemon(Place):
    """Where it is, and what to close in the end."""

    def __init__(self, url: str, key: str, env: dict[str, str]) -> None:
        super().__init__(url, key, [PILOTHOUSE], env)
        self.opened = contextlib.ExitStack()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Daemon]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    env = {"PILOTHOUSE_HOME": str(home), "PILOTHOUSE_LIMITS_REQUESTS_PER_MINUTE": str(PER_MINUTE)}
    daemon = Process("serve", home=home, **env)
    url = daemon.read()["url"]
    one = Daemon(url, (home / "agent.key").read_text().strip(), env)
    with one.opened:
        yield one
    daemon.end()
    kill_daemon(home)


def over_stdio(place: Daemon) -> Ask:
    client = LineClient([*place.command, "mcp"], env=place.env)
    place.opened.callback(client.close)
    client.initialize()

    def ask() -> dict[str, Any]:
        return client.call("list_sessions").data.get("error", {})

    return ask


def with_sessions(place: Daemon) -> Ask:
    door = Http(place)
    place.opened.callback(door.close)

    def ask() -> dict[str, Any]:
        return door.call("list_sessions")[1].get("error", {})

    return ask


def without_sessions(place: Daemon) -> Ask:
    headers = {
        **place.headers,
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "list_sessions",
    }

    def ask() -> dict[str, Any]:
        params = {"name": "list_sessions", "arguments": {}, "_meta": ENVELOPE}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        text = httpx.post(f"{place.url}/mcp", headers=headers, json=body, timeout=30).text
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        return to_reply(json.loads(lines[-1] if lines else text)["result"]).data.get("error", {})

    return ask


def over_rest(place: Daemon) -> Ask:
    def ask() -> dict[str, Any]:
        answer = httpx.post(f"{place.url}/api/tools/list_sessions", headers=place.headers, json={}, timeout=30)
        return answer.json().get("error") or {}

    return ask


WIRES = [over_stdio, with_sessions, without_sessions, over_rest]


@pytest.mark.parametrize("first", WIRES)
def test_one_key_has_one_rate_over_all_wires(place: Daemon, first: Callable[[Daemon], Ask]):
    """Whichever wire uses it up, the others find it used up, with the same answer."""
    spend = first(place)
    assert [spend() for _ in range(PER_MINUTE)] == [{}] * PER_MINUTE
    errors = [open_wire(place)() for open_wire in WIRES]
    assert {error["code"] for error in errors} == {"over_limit"}
    assert all(1 <= error["details"]["retry_after_s"] <= 60 for error in errors)
    assert len({error["message"] for error in errors}) == 1
    assert {error["retryable"] for error in errors} == {True}


def test_calls_that_alternate_between_the_wires_add_up(place: Daemon):
    wires = itertools.cycle([open_wire(place) for open_wire in WIRES])
    assert [next(wires)() for _ in range(PER_MINUTE)] == [{}] * PER_MINUTE
    assert [next(wires)()["code"] for _ in range(4)] == ["over_limit"] * 4


def test_another_key_has_a_rate_of_its_own(place: Daemon):
    home = Path(place.env["PILOTHOUSE_HOME"])
    (home / "keys").mkdir(mode=0o700)
    (home / "keys" / "other.key").touch(0o600)
    (home / "keys" / "other.key").write_text("o" * 43)
    spend = without_sessions(place)
    assert [spend() for _ in range(PER_MINUTE)] == [{}] * PER_MINUTE
    other = Daemon(place.url, "o" * 43, place.env)
    assert [with_sessions(other)() for _ in range(3)] == [{}] * 3
    assert [without_sessions(other)() for _ in range(3)] == [{}] * 3
    assert without_sessions(other)()["code"] == "over_limit"
    other.opened.close()
