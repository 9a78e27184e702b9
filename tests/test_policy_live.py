"""The policy of a running daemon: its file, the person's REST routes, `pilothouse policy`; and agents, who get nothing."""

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pilothouse.guard.pairing import Pairing
from tests.command_line import CommandLine
from tests.mcp_line import LineClient
from tests.processes import PILOTHOUSE, Process, wait_until
from tests.promises import promise

pytestmark = promise("D14", "D01", "D02")

RULES = "# ours\n[[rules]]\nhost = 'shop.test' # we buy here\nwrite = true\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


class Daemon:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.process = Process("serve", home=home)
        self.url = str(self.process.read()["url"])

    def ask(self, method: str, path: str, body: Any = None, *, key: str = "person") -> tuple[int, dict[str, Any]]:
        place = urlsplit(self.url)
        link = http.client.HTTPConnection(str(place.hostname), place.port, timeout=20)
        secret = (self.home / f"{key}.key").read_text().strip()
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        try:
            link.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = link.getresponse()
            return response.status, json.loads(response.read())
        finally:
            link.close()

    def data(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        status, answer = self.ask(method, path, body)
        assert status == 200, answer
        return answer["data"]

    def says(self, words: str) -> None:
        wait_until(lambda: any(words in line for line in self.process.errors))

    def end(self) -> None:
        self.process.process.terminate()
        self.process.wait()
        self.process.end()


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    (home / "policy.toml").write_text(RULES)
    one = Daemon(home)
    yield one
    one.end()


def write(home: Path, text: str) -> None:
    draft = home / "draft"
    draft.write_text(text)
    os.replace(draft, home / "policy.toml")


def hosts(told: dict[str, Any]) -> list[str]:
    return [one["host"] for one in told["policy"]["rules"]]


def test_a_policy_that_cannot_be_read_starts_nothing(home: Path):
    for wrong in ("mode = 'often'\n", "[[rules]]\nhost = 'a b'\n", "x", "\x00"):
        (home / "policy.toml").write_text(wrong)
        process = Process("serve", home=home)
        assert process.wait() == 2
        assert str(home / "policy.toml") in process.error_text()
        process.end()
    (home / "policy.toml").unlink()
    Daemon(home).end()  # no file: the templates as they are


def test_the_file_is_taken_over_and_mistakes_are_told(home: Path, daemon: Daemon):
    client = LineClient([PILOTHOUSE, "mcp"], env={"PILOTHOUSE_HOME": str(home)})
    cli = CommandLine(home)
    try:
        client.initialize()
        assert client.call("navigate", url="about:blank").ok
        write(home, 'mode = "readonly"\n')
        daemon.says("policy.toml was read again")
        refused = client.call("press_key", key="Tab")
        assert refused.error == "denied"
        assert "mode readonly" in refused.text
        write(home, 'mode = "off"\n')
        daemon.says("the policy stays as it was")
        log = cli.text("log", "show")
        assert "policy_edited by=the file" in log
        assert "policy_not_taken_over by=the file" in log
        assert client.call("press_key", key="Tab").error == "denied"
        told = daemon.data("GET", "/api/policy")
        assert "line 1: mode" in told["problem"]
        assert (told["policy"]["mode"], told["text"]) == ("readonly", 'mode = "off"\n')
        assert "policy.toml is not taken over" in cli.text("status")
        shown = cli.run("policy", "show")
        assert shown.returncode == 1
        assert "NOT TAKEN OVER" in shown.stdout
        failed = [one for one in json.loads(cli.run("doctor", "--json").stdout)["checks"] if one["state"] == "fail"]
        assert "policy.toml" in [one["check"] for one in failed]
        assert cli.run("policy", "deny", "a.test").returncode == 2  # a broken file is not edited
        write(home, 'mode = "auto"\n')
        wait_until(lambda: daemon.data("GET", "/api/policy")["policy"]["mode"] == "auto")
        assert daemon.data("GET", "/api/policy")["problem"] == ""
        assert client.call("press_key", key="Tab").ok
    finally:
        client.close()


def test_a_file_that_vanishes_or_is_emptied_takes_nothing_back(home: Path, daemon: Daemon):
    """An editor, a full disk: nobody's word that all may be done."""
    cli, file = CommandLine(home), home / "policy.toml"
    write(home, 'template = "locked"\nmode = "readonly"\n')
    wait_until(lambda: daemon.data("GET", "/api/policy")["policy"]["template"] == "locked")
    edited = "policy_edited by=the file template=locked mode=readonly default=by template rules=0"
    wait_until(lambda: edited in cli.text("log", "show"))
    for said, empty in (("is gone", file.unlink), ("is empty", lambda: file.write_text("# nothing\n"))):
        empty()
        wait_until(lambda said=said: said in daemon.data("GET", "/api/policy")["problem"])
        told = daemon.data("GET", "/api/policy")["policy"]
        assert (told["template"], told["mode"]) == ("locked", "readonly")
    assert "policy.toml is not taken over" in cli.text("status")
    wait_until(lambda: "policy_not_taken_over by=the file" in cli.text("log", "show"))
    daemon.says("the policy stays as it was")
    checks = {one["check"]: one for one in json.loads(cli.run("doctor", "--json").stdout)["checks"]}
    assert (checks["policy.toml"]["state"], "is empty" in checks["policy.toml"]["found"]) == ("fail", True)
    refused = cli.run("policy", "allow", "shop.test")  # that rule would be all that holds
    assert (refused.returncode, "policy template" in refused.stderr) == (4, True)
    assert daemon.data("GET", "/api/policy")["policy"]["template"] == "locked"
    assert "template: sandbox" in cli.text("policy", "template", "sandbox")
    told = daemon.data("GET", "/api/policy")
    assert (told["policy"]["template"], told["policy"]["mode"], told["problem"]) == ("sandbox", "auto", "")


def test_a_person_edits_it_over_rest(home: Path, daemon: Daemon):
    told = daemon.data("GET", "/api/policy")
    assert hosts(told) == ["shop.test"]
    assert told["policy"]["rules"][0]["by"] == "the file"
    told = daemon.data("POST", "/api/policy/rules", {"host": "*.Bank.test", "read": False})
    assert hosts(told) == ["shop.test", "*.bank.test"]
    assert told["policy"]["rules"][1]["by"] == "person"
    assert "# we buy here" in told["text"]
    told = daemon.data("POST", "/api/policy/rules", {"host": "shop.test", "write": None, "max_steps_per_hour": 9})
    assert (told["policy"]["rules"][0]["write"], told["policy"]["rules"][0]["max_steps_per_hour"]) == (None, 9)
    told = daemon.data("DELETE", "/api/policy/rules?host=*.bank.test")
    assert hosts(told) == ["shop.test"]
    told = daemon.data("PATCH", "/api/policy", {"template": "locked"})
    assert told["policy"]["template"] == "locked"
    whole = daemon.data("PUT", "/api/policy", {"text": 'default = "deny"\n', "version": told["version"]})
    assert (whole["policy"]["default"], whole["policy"]["rules"]) == ("deny", [])
    assert (home / "policy.toml").read_text() == 'default = "deny"\n'


def test_what_is_refused_changes_nothing(home: Path, daemon: Daemon):
    for method, path, body, status in (
        ("PUT", "/api/policy", {"text": "mode = 1"}, 400),
        ("PUT", "/api/policy", {"text": "", "version": "old"}, 409),
        ("PUT", "/api/policy", {"test": ""}, 400),
        ("PATCH", "/api/policy", {"mode": "off"}, 400),
        ("PATCH", "/api/policy", {}, 400),
        ("PATCH", "/api/policy", {"template": "locked", "mode": "off"}, 400),
        ("POST", "/api/policy/rules", {"host": "a b"}, 400),
        ("POST", "/api/policy/rules", {"host": "a", "by": "somebody else"}, 400),
        ("POST", "/api/policy/rules", {"host": "a", "read": "yes"}, 400),
        ("DELETE", "/api/policy/rules?host=none.test", None, 404),
        ("DELETE", "/api/policy/rules", None, 400),
        ("POST", "/api/policy", {}, 405),
        ("GET", "/api/policy/test", None, 405),
        ("POST", "/api/policy/test", {"url": "http://a", "tool": "no_such_tool"}, 404),
        ("POST", "/api/policy/test", {"url": ""}, 400),
    ):
        got, answer = daemon.ask(method, path, body)
        assert (got, answer["success"]) == (status, False), (method, path, body, answer)
    assert (home / "policy.toml").read_text() == RULES
    assert hosts(daemon.data("GET", "/api/policy")) == ["shop.test"]


def test_what_would_happen(daemon: Daemon):
    daemon.data("PATCH", "/api/policy", {"template": "locked"})
    said = daemon.data("POST", "/api/policy/test", {"url": "shop.test", "tool": "click"})
    assert said["says"]["click"][0]["verdict"] == "allow"
    said = daemon.data("POST", "/api/policy/test", {"url": "http://OTHER.test"})
    assert said["url"] == "http://other.test/"
    assert {name: one[0]["verdict"] for name, one in said["says"].items()} == dict.fromkeys(
        ("read", "write", "sensitive"), "deny"
    )
    own = daemon.data("POST", "/api/policy/test", {"url": daemon.url})
    assert "Pilothouse itself" in own["says"]["read"][0]["why"]


@promise("D08")
def test_an_agent_gets_nothing_and_leaves_a_trace(home: Path, daemon: Daemon):
    for method, path, body in (
        ("GET", "/api/policy", None),
        ("PUT", "/api/policy", {"text": ""}),
        ("PATCH", "/api/policy", {"mode": "auto"}),
        ("POST", "/api/policy/rules", {"host": "evil.test", "write": True}),
        ("DELETE", "/api/policy/rules?host=shop.test", None),
        ("POST", "/api/policy/test", {"url": "http://shop.test"}),
        ("OPTIONS", "/api/policy", None),
    ):
        status, answer = daemon.ask(method, path, body, key="agent")
        assert (status, answer["error"]["code"]) == (403, "unauthorized")
        assert "shop.test" not in json.dumps(answer)
    assert (home / "policy.toml").read_text() == RULES
    records = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    tried = [one["told"] for one in records if one.get("kind") == "door_refused"]
    assert [one["caller"] for one in tried] == ["default"] * 7
    assert {one["why"] for one in tried} == {"only a person may do this"}
    shown = CommandLine(home).text("log", "show", "--refused")
    assert shown.count("door_refused") == 7


def test_changes_are_in_the_log(home: Path, daemon: Daemon):
    daemon.data("POST", "/api/policy/rules", {"host": "new.test", "write": True})
    daemon.ask("PATCH", "/api/policy", {"mode": "off"})
    records = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    made, refused = [one for one in records if one.get("caller") == "person"]
    assert (made["tool"], made["args"]) == ("POST /api/policy/rules", {"host": "new.test", "write": True})
    outcomes = {one["of"]: one["outcome"] for one in records if "of" in one}
    assert (outcomes[made["n"]], outcomes[refused["n"]]) == ("ok", "bad_request")


@promise("E08")
@pytest.mark.parametrize("running", [False, True])
def test_who_has_paired_a_browser_is_told_of_both(home: Path, running: bool):
    Pairing(home).add("11111111-2222-3333-4444-555555555555", "work")
    daemon = Daemon(home) if running else None
    cli = CommandLine(home)
    try:
        told = cli.text("policy", "test", "http://127.0.0.1:8000").splitlines()
        assert told[:3] == ["http://127.0.0.1:8000/", "isolated browser:", "read: allow by template sandbox"]
        own = told[told.index("your own Chrome:") + 1 :]
        assert own[0].startswith("read: deny by template careful: 127.0.0.1:8000 is in a private network")
        both = json.loads(cli.text("policy", "test", "http://127.0.0.1:8000", "--json"))
        assert both["says"]["read"][0]["verdict"] == "allow"
        assert both["own_chrome"]["says"]["read"][0]["verdict"] == "deny"
        assert "your own Chrome" not in cli.text("policy", "test", "http://127.0.0.1:8000", "--browser", "profile")
    finally:
        if daemon:
            daemon.end()


@pytest.mark.parametrize("running", [False, True])
def test_the_command(home: Path, running: bool):
    (home / "policy.toml").write_text(RULES)
    daemon = Daemon(home) if running else None
    cli = CommandLine(home)
    try:
        assert "shop.test: read, write (set by the file" in cli.text("policy", "show")
        assert "*.bank.test: denied (set by person" in cli.text("policy", "deny", "*.bank.test")
        assert "read; 5 steps an hour" in cli.text(
            "policy", "allow", "http://news.test/", "--read-only", "--steps", "5"
        )
        assert "bank.test: read, write by template" in cli.text("policy", "allow", "*.bank.test")
        refused = cli.run("policy", "allow", "http://news.test/admin/only")  # it would be for the whole site
        assert (refused.returncode, "http://news.test" in refused.stderr) == (2, True)
        assert cli.run("policy", "remove", "news.test/admin").returncode == 2
        assert "template: locked" in cli.text("policy", "template", "locked")
        assert "bank.test: read; write: no (template locked)" in cli.text("policy", "show")
        assert "mode: ask" in cli.text("policy", "mode", "ask")
        told = cli.text("policy", "test", "http://other.test")
        assert "read: deny by template locked: no rule names other.test" in told
        assert '    host = "other.test"' in told
        told = json.loads(cli.text("policy", "test", "shop.test", "--tool", "click", "--json"))
        assert told["says"]["click"][0]["verdict"] == "allow"
        assert "own_chrome" not in told
        assert "news.test" not in cli.text("policy", "remove", "http://news.test")
        assert cli.run("policy", "remove", "http://news.test").returncode == 4
        assert cli.run("policy", "allow", "a b").returncode == 2
        assert cli.run("policy", "mode", "off").returncode == 2
        assert "# we buy here" in (home / "policy.toml").read_text()
        assert "right" in cli.text("policy", "check")
        (home / "other.toml").write_text("mode = 1")
        wrong = cli.run("policy", "check", "other.toml")
        assert wrong.returncode == 2
        assert "line 1: mode" in wrong.stderr
        assert json.loads(cli.run("policy", "check", "other.toml", "--json").stdout)["success"] is False
        assert hosts(json.loads(cli.text("policy", "show", "--json"))) == ["shop.test", "*.bank.test"]
    finally:
        if daemon:
            daemon.end()
