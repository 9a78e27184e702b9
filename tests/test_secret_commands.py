"""`pilothouse secret` and the door behind it: a person's only; values go in and never come out."""

import json
import os
import pty
import select
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine
from tests.processes import PILOTHOUSE, kill_daemon
from tests.promises import promise

pytestmark = promise("D12")

VALUE = "a value that nobody sees"


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    yield CommandLine(home)
    kill_daemon(home)


def told(home: Path) -> dict[str, Any]:
    return json.loads((home / "daemon.json").read_text())


def ask(home: Path, key: str, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    secret = (home / key).read_text().strip() if key else "wrong"
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(told(home)["url"] + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_set_list_remove(line: CommandLine):
    assert "no secrets" in line.text("secret", "list")
    said = line.text("secret", "set", "github", "--domain", "github.com", "-d", "*.github.io", stdin=f"{VALUE}\n")
    assert "secret:github on github.com, *.github.io" in said
    listed = line.text("secret", "list")
    assert "github  github.com, *.github.io  set 2" in listed
    data = json.loads(line.text("secret", "list", "--json"))
    assert [(one["name"], one["any_field"]) for one in data["secrets"]] == [("github", False)]
    assert VALUE not in said + listed + str(data)
    assert "short" in line.text("secret", "set", "pin", "-d", "a.com", "--any-field", "--note", "card", stdin="4711")
    assert "any field  card" in line.text("secret", "list")
    assert line.text("secret", "remove", "pin") == "pin is removed\n"
    gone = line.run("secret", "remove", "pin")
    assert gone.returncode == 4
    assert "no secret 'pin'" in gone.stderr


def test_a_value_is_never_an_argument(line: CommandLine):
    done = line.run("secret", "set", "x", VALUE, "-d", "a.com", stdin=VALUE)
    assert done.returncode == 2
    assert VALUE not in done.stdout + done.stderr
    done = line.run("secret", "set", "x", stdin=VALUE)
    assert (done.returncode, "--domain" in done.stderr) == (2, True)
    done = line.run("secret", "set", "x", "-d", "*.com", "--json", stdin=VALUE)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "bad_request")
    done = line.run("secret", "set", "x", "-d", "a.com", stdin="y" * 20_000)
    assert done.returncode == 2


def test_in_a_terminal_it_is_asked_for_without_an_echo(line: CommandLine):
    line.text("secret", "list")
    pid, screen = pty.fork()
    if pid == 0:
        os.execve(PILOTHOUSE, [PILOTHOUSE, "secret", "set", "typed", "-d", "a.com"], line.environment)
    shown = ""
    try:
        for awaited in ("Value of typed: ", "Repeat for confirmation: "):
            shown += read_until(screen, awaited)
            os.write(screen, f"{VALUE}\n".encode())
        shown += read_until(screen, "typed is kept")
    finally:
        os.close(screen)
        os.waitpid(pid, 0)
    assert VALUE not in shown


def read_until(screen: int, awaited: str) -> str:
    shown, deadline = "", time.monotonic() + 30
    while awaited not in shown:
        ready, _, _ = select.select([screen], [], [], max(deadline - time.monotonic(), 0))
        assert ready, shown
        shown += os.read(screen, 65536).decode()
    return shown


def test_no_other_key_opens_the_door(line: CommandLine):
    line.text("secret", "set", "github", "-d", "github.com", stdin=VALUE)
    tries = [("GET", "/api/secrets", None), ("PUT", "/api/secrets/x", {"value": VALUE, "domains": ["a.com"]}),
             ("DELETE", "/api/secrets/github", None), ("PUT", "/api/secrets/github", {"value": "other", "domains": ["b.com"]})]  # fmt: skip
    for method, path, body in tries:
        status, answer = ask(line.home, "agent.key", method, path, body)
        assert (status, answer["success"]) == (403, False)
        assert ask(line.home, "", method, path, body)[0] == 401
    status, answer = ask(line.home, "person.key", "GET", "/api/secrets")
    assert status == 200
    assert [one["domains"] for one in answer["data"]["secrets"] if one["name"] == "github"] == [["github.com"]]
    assert VALUE not in str(answer)


def test_bad_bodies_are_refused_without_an_echo(line: CommandLine):
    line.text("secret", "list")
    for body in ({}, {"value": VALUE}, {"value": VALUE, "domains": "a.com"}, {"value": 5, "domains": ["a.com"]},
                 {"value": VALUE, "domains": ["a.com"], "more": 1}, [VALUE], {"value": VALUE, "domains": ["a.com"] * 200}):  # fmt: skip
        status, answer = ask(line.home, "person.key", "PUT", "/api/secrets/x", body)
        assert status == 400
        assert VALUE not in str(answer)
    assert ask(line.home, "person.key", "PUT", "/api/secrets/a%20b", {"value": VALUE, "domains": ["a.com"]})[0] == 400
    assert ask(line.home, "person.key", "POST", "/api/secrets", {})[0] in (403, 404, 405)


def test_the_log_has_the_name_and_every_try(line: CommandLine):
    line.text("secret", "set", "logged", "-d", "a.com", stdin=VALUE)
    ask(line.home, "agent.key", "GET", "/api/secrets")
    log = (line.home / "audit.jsonl").read_text()
    assert '"secret set"' in log
    assert '"name":"logged"' in log
    assert "/api/secrets" in log
    files = [path for path in line.home.rglob("*") if path.is_file()]
    assert not [path for path in files if VALUE.encode() in path.read_bytes()]
