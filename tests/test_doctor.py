"""`pilothouse doctor`: finds what is wrong, says the fix, and is content with what is right."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from pilothouse.guard.pairing import Pairing
from tests.command_line import CommandLine
from tests.processes import FakeDaemon, Process
from tests.promises import promise

pytestmark = promise("E08")


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return CommandLine(home, HOME=str(tmp_path))


def checks(cli: CommandLine) -> dict[str, dict[str, Any]]:
    done = cli.run("doctor", "--json")
    told = json.loads(done.stdout)
    found = {one["check"]: one for one in told["checks"]}
    failed = [one for one in found.values() if one["state"] == "fail"]
    assert done.returncode == (1 if failed else 0)
    assert told["ok"] == (not failed)
    assert all(one["fix"] for one in found.values() if one["state"] in ("warn", "fail"))
    return found


def test_a_healthy_home(cli: CommandLine):
    found = checks(cli)
    assert not [one for one in found.values() if one["state"] == "fail"]
    assert found["browser start"]["found"].startswith("headless in ")
    assert found["browser"]["state"] == "ok"
    assert found["daemon"]["found"].startswith("not running")
    assert "while no daemon runs" in found["extension"]["found"]
    assert not list((cli.home / "browsers").glob("*"))


def test_the_daemon_its_port_and_keys(cli: CommandLine):
    daemon = Process("serve", home=cli.home)
    try:
        ready = daemon.read()
        found = checks(cli)
        assert found["daemon"]["state"] == "ok"
        assert ready["url"] in found["daemon"]["found"]
        assert "port" not in found  # the daemon's line says it
        assert found["agent.key"]["state"] == found["person.key"]["state"] == "ok"
        assert "no browser is paired" in found["extension"]["found"]
        (cli.home / "agent.key").chmod(0o644)
        (cli.home / "person.key").write_text("")
        assert found["browsers.json"]["found"] == "0 paired"
        (cli.home / "browsers.json").touch(mode=0o600)
        found = checks(cli)
        assert "pair them again" in found["browsers.json"]["fix"]  # with such a file no daemon starts
        assert found["agent.key"]["fix"].startswith("chmod 600 ")
        assert found["person.key"]["state"] == "fail"
    finally:
        daemon.end()


def test_a_browser_that_looks_for_the_daemon_elsewhere(cli: CommandLine):
    install = "11111111-2222-3333-4444-555555555555"
    Pairing(cli.home).add(install, "work", 9123)
    cli.environment["PILOTHOUSE_SERVER_PORT"] = "9124"
    found = checks(cli)["browsers.json"]
    assert (found["state"], found["found"]) == ("warn", "1 paired; work looks for the daemon on port 9123, not on 9124")
    assert "server.port = 9123" in found["fix"]
    Pairing(cli.home).add(install, "work", 9124)
    assert checks(cli)["browsers.json"]["state"] == "ok"


def test_a_wrong_configuration(cli: CommandLine):
    (cli.home / "config.toml").write_text("[server]\nprot = 1\n")
    found = checks(cli)["config.toml"]
    assert found["state"] == "fail"
    assert "server.port" in found["found"]


def test_a_taken_port(cli: CommandLine):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        cli.environment["PILOTHOUSE_SERVER_PORT"] = str(port)
        found = checks(cli)["port"]
    assert found["state"] == "fail"
    assert f"{port} is taken by pid" in found["found"]


@pytest.mark.parametrize("script", [None, "#!/bin/sh\necho it hurts >&2\nexit 1\n"])
def test_a_browser_that_is_none(cli: CommandLine, tmp_path: Path, script: str | None):
    browser = tmp_path / "chrome"
    if script:
        browser.write_text(script)
        browser.chmod(0o755)
    cli.environment["PILOTHOUSE_CHROME"] = str(browser)
    found = checks(cli)
    if script:
        assert found["browser start"]["state"] == "fail"
        assert "it hurts" in found["browser start"]["found"]
    else:
        assert found["browser"]["state"] == "fail"
        assert "PILOTHOUSE_CHROME" in found["browser"]["fix"]


def test_a_daemon_of_another_version(cli: CommandLine):
    from pilothouse import instance

    with instance.Claim(str(cli.home)):
        fake = FakeDaemon(cli.home, version="9.9.9")
        instance.publish(str(cli.home), {"url": "http://x", "port": 1, "pid": 1, "version": "9.9.9"})
        found = checks(cli)["daemon"]
        fake.close()
    assert found["state"] == "warn"
    assert "9.9.9" in found["found"]


def test_a_home_that_is_not_ours(tmp_path: Path):
    (tmp_path / "thesis.txt").touch()
    tmp_path.chmod(0o755)
    told = CommandLine(tmp_path).run("doctor")
    assert told.returncode == 1
    assert "fail  home: " in told.stdout
    assert "fix: " in told.stdout


def test_clients_that_start_something_that_is_gone(cli: CommandLine, tmp_path: Path):
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"pilothouse": {"command": "/gone/pilothouse"}}}')
    found = checks(cli)["cursor"]
    assert found["state"] == "fail"
    assert found["fix"] == "pilothouse install cursor"
    assert cli.run("install", "cursor", "--yes").returncode == 0
    assert checks(cli)["clients"]["found"] == "Cursor"


def test_a_person_reads_lines(cli: CommandLine):
    told = cli.run("doctor")
    assert told.stdout.startswith("ok    python: 3.")
    warned = [line[6:].partition(":")[0] for line in told.stdout.splitlines() if line.startswith("warn ")]
    worth = f"no check failed; worth a look: {', '.join(warned)}" if warned else "all is well"
    assert told.stdout.splitlines()[-1] == worth
    assert told.stderr == ""
    assert "\x1b" not in told.stdout


@promise("D13")
def test_a_log_that_cannot_be_written(cli: CommandLine):
    """Then nothing can be done, so not all is well."""
    daemon = Process("serve", home=cli.home)
    try:
        daemon.read()
        assert checks(cli)["audit log"]["state"] == "ok"
        assert "calls are refused" not in cli.text("status")
        log = cli.home / "audit.jsonl"
        log.rename(log.with_suffix(".away"))
        log.mkdir()  # who runs this may be root, for whom no mode is a hindrance
        found = checks(cli)["audit log"]
        assert (found["state"], str(log) in found["found"], "chattr -i" in found["fix"]) == ("fail", True, True)
        assert f"none could be recorded: {log}" in cli.text("status")
    finally:
        daemon.process.terminate()
        daemon.wait()
        daemon.end()
