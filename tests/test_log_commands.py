"""`pilothouse log`: what was done, for people, without a daemon; broken places by file and line; nothing that moves a
cursor."""

import asyncio
import json
import os
import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pilothouse.commands.records import parse_since, plain
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME, Audit
from pilothouse.guard.policy import Aim, Approved, Decision, Question
from pilothouse.tool import Access
from tests.command_line import CommandLine
from tests.processes import PILOTHOUSE, Process
from tests.promises import promise

pytestmark = promise("D13", "E08")


def question(tool: str = "click", session: str = "s1abc", caller: str = "default", **args: Any) -> Question:
    urls, aims = ("http://localhost:3000/cart",), (Aim(role="button", name="Pay now"),)
    return Question(caller, session, tool, Access.WRITE, args, urls=urls, aims=aims)


async def fill(home: Path, **options: Any) -> None:
    log = Audit(home, **options)
    log.after(await log.before(question(target="#pay")), outcome="ok", duration_ms=12.34)
    log.after(await log.before(question("navigate", "s2def", "ci")), outcome="timeout", duration_ms=30_000)
    denied = Decision("deny", "rule 2 (shop.test)", "high")
    log.refused(question("evaluate_js"), outcome="denied", why="no script here", decision=denied)
    log.refused(question("fill"), outcome="approval_denied", why="said no", decision=denied)
    log.note("wrong_door", caller="ci", path="/api/policy")
    yes = Approved(by="person", scope="once", id="a1b2c3")
    await log.before(question("press_key", key="Enter"), approved=[yes])
    log.close()


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    asyncio.run(fill(home))
    return CommandLine(home)


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_show_tells_one_line_for_each_deed(cli: CommandLine):
    start, click, visit, script, _, note, key = lines(cli.text("log", "show"))
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d start boot=\w+ pid=\d+ #1$", start)
    assert click.endswith(
        " click target=#pay [button Pay now] at http://localhost:3000/cart 12.3 ms (default, s1abc) #2"
    )
    assert " timeout    navigate " in visit
    assert "(ci, s2def)" in visit
    assert " denied     evaluate_js " in script
    assert "because no script here by rule 2 (shop.test) (risk high)" in script
    assert "approved by person (once, a1b2c3)" in key
    assert "wrong_door caller=ci path=/api/policy" in note
    assert " unfinished press_key key=Enter" in key
    assert "\x1b" not in cli.text("log", "show")


def test_show_selects(cli: CommandLine):
    def tools(*arguments: str) -> list[str]:
        shown = lines(cli.text("log", "show", "--json", *arguments))
        return [one.get("tool", one["event"]) for one in map(json.loads, shown) if one["event"] != "after"]

    assert tools("--tool", "press-key") == ["press_key"]
    assert tools("--session", "s2") == ["navigate"]
    assert tools("--caller", "ci") == ["navigate", "note"]
    assert tools("--refused") == ["evaluate_js", "fill"]
    assert tools("--limit", "2") == ["note", "press_key"]
    assert tools("--limit", "1", "--refused") == ["fill"]
    assert len(tools("--limit", "0", "--since", "1h")) == 7
    tomorrow = datetime.fromtimestamp(time.time() + 86_400, UTC).isoformat()
    assert tools("--since", tomorrow) == []
    wrong = cli.run("log", "show", "--since", "yesterday-ish")
    assert (wrong.returncode, "use 30m, 2h" in wrong.stderr) == (2, True)


def test_refused_is_everything_that_was_kept_from_happening_with_its_reason(cli: CommandLine):
    """Also what was refused at a door, beyond a limit, or while it ran."""

    async def write() -> None:
        log = Audit(cli.home)
        typing = await log.before(question("type_text", text="secret:github"))
        log.after(typing, outcome="denied", duration_ms=1, why="secret:github is for github.com")
        log.note("door_refused", caller="ci", method="GET", path="/api/policy", why="only a person may do this")
        log.limited("ci", "too many", tool="hover", session="s9")
        log.after(await log.before(question("hover")), outcome="not_found", duration_ms=1)
        log.close()

    asyncio.run(write())
    *_, typing, door, limit = lines(cli.text("log", "show", "--refused"))
    assert "because secret:github is for github.com" in typing
    assert "why=only a person may do this" in door
    assert "tool=hover session=s9" in limit
    assert lines(cli.text("log", "show", "--session", "s9")) == [limit]


def test_json_is_the_records_themselves_with_their_ends(cli: CommandLine):
    before, after = map(json.loads, lines(cli.text("log", "show", "--json", "--tool", "click")))
    assert (before["args"], after["of"], after["outcome"]) == ({"target": "#pay"}, before["n"], "ok")
    assert after["prev"] == before["hash"]


def test_times_are_those_of_this_machine_and_of_the_log():
    now = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
    assert parse_since("90m", now) == "2026-11-16T10:30:00.000Z"
    assert parse_since("7d", now) == "2026-11-09T12:00:00.000Z"
    assert parse_since("2026-11-16T10:00+02:00", now) == "2026-11-16T08:00:00.000Z"
    local = datetime(2026, 11, 16).astimezone().astimezone(UTC)
    assert parse_since("2026-11-16", now)[:16] == f"{local:%Y-%m-%dT%H:%M}"


def test_a_terminal_gets_colour_and_nothing_of_a_page_moves_it(cli: CommandLine):
    nasty = "\x1b[2J\x1b]0;owned\x07\r\nok\u202ereversed\u200b\U000e0041"

    async def write() -> None:
        log = Audit(cli.home)
        asked = Question("default", "s1", "click", Access.WRITE, {"target": nasty, nasty: 1}, urls=(nasty,))
        log.refused(asked, outcome="denied", why=nasty, decision=Decision("deny", nasty, "high"))
        log.note("odd", **{nasty: nasty})
        log.close()

    asyncio.run(write())
    shown = cli.in_terminal(f"{PILOTHOUSE} log show --refused; {PILOTHOUSE} log tail -n 2", TERM="xterm")
    assert "\x1b[31mdenied" in shown
    assert set(re.findall(r"\x1b[^m]*m?", shown)) <= {f"\x1b[{code}m" for code in (0, 1, 2, 31, 33)}
    assert not set("\x07\r\u202e\u200b\U000e0041") & set(shown)
    assert "\\u001b[2J" in shown
    assert "ok" not in [line.strip() for line in shown.split("\n")]
    assert "\\u001b" in cli.text("log", "show", "--json", "--refused")
    assert plain("a" * 500) == "a" * 120 + "…"
    assert (plain(True), plain(None), plain(["a"]), plain(2.5)) == ("true", "null", '["a"]', "2.5")


def test_verify_says_whole_and_how_far(cli: CommandLine):
    said = cli.text("log", "verify")
    assert said.startswith("whole: 9 records, 1 to 9\n")
    assert "1 call has no end" in said
    report = json.loads(cli.text("log", "verify", "--json"))
    assert (report["whole"], report["last"], report["unfinished"]) == (True, 9, [9])
    assert report["digest"] in said
    assert cli.run("log", "verify", "--seen", report["digest"]).returncode == 0


@pytest.mark.parametrize(
    ("harm", "place", "why"),
    [
        ("change", f"{NAME}:4", "changed, or no record"),
        ("remove", f"{NAME}:4", "record 5 does not follow record 3"),
        ("swap", f"{NAME}:4", "record 5 does not follow record 3"),
        ("head", f"{NAME}:1", "the log begins with record 3"),
    ],
)
def test_verify_names_the_first_broken_place(cli: CommandLine, harm: str, place: str, why: str):
    path = cli.home / NAME
    found = path.read_bytes().splitlines(keepends=True)
    if harm == "change":
        found[3] = found[3].replace(b"navigate", b"navigaTe")
    elif harm == "remove":
        del found[3]
    elif harm == "swap":
        found[3], found[4] = found[4], found[3]
    else:
        del found[:2]
    path.write_bytes(b"".join(found))
    done = cli.run("log", "verify")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].startswith(f"broken {place}: {why}")
    assert "NOT whole" in done.stdout
    assert "note the last hash" not in done.stdout
    report = json.loads(cli.run("log", "verify", "--json").stdout)
    first = report["faults"][0]
    assert (report["whole"], f"{first['file']}:{first['line']}") == (False, place)
    assert cli.run("log", "show").returncode == 0  # one can still read it
    assert ("no record" in cli.run("log", "show").stderr) is (harm == "change")


def test_a_cut_end_is_seen_by_who_noted_it(cli: CommandLine):
    digest = json.loads(cli.text("log", "verify", "--json"))["digest"]
    path = cli.home / NAME
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert cli.run("log", "verify").returncode == 0
    done = cli.run("log", "verify", "--seen", digest)
    assert (done.returncode, f"no record has the hash {digest}" in done.stdout) == (1, True)


def test_no_log_is_not_a_whole_one(tmp_path: Path):
    cli = CommandLine(tmp_path)
    done = cli.run("log", "verify")
    assert (done.returncode, done.stdout) == (1, "there is no log\n")
    assert cli.text("log", "show") == ""


def test_forged_records_that_are_sealed_break_no_reader(cli: CommandLine):
    base = {"time": "never", "event": "before"}
    wild: list[dict[str, Any]] = [
        {"n": 10, **base, "tool": 5, "args": 7, "urls": {"a": 1}, "decision": "x", "approved": 9, "aims": 3},
        {"n": "x", **base},
        {"n": 11, "event": "after", "time": "t"},
        {"n": 11, "event": "dropped", "time": "t", "last": "x"},
        {"n": 11, "event": "note", "time": "t", "told": []},
    ]
    with (cli.home / NAME).open("ab") as file:
        for record in wild:
            file.write(chain.seal(record, "0" * 64)[0])
        file.write(b'{"n":' + b"[" * 100_000 + b"\n")
    assert cli.run("log", "show").returncode == 0
    assert cli.run("log", "verify").returncode == 1
    assert cli.run("log", "tail").returncode == 0


def test_export_is_private_proves_itself_and_overwrites_nothing(cli: CommandLine, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    assert cli.text("log", "export", str(out)) == f"9 records in {out}\n"
    assert out.stat().st_mode & 0o777 == 0o600
    assert out.read_bytes() == (cli.home / NAME).read_bytes()
    assert cli.run("log", "export", str(out)).returncode == 1
    times = [json.loads(line)["time"] for line in out.read_bytes().splitlines()]
    first = next(
        number for number, time in enumerate(times, 1) if time > times[0]
    )  # several may fall into one millisecond
    assert "in" in cli.text("log", "export", str(out), "--since", times[first - 1], "--force")
    part = cli.text("log", "verify", str(out))
    assert "whole" not in part
    assert part.startswith(
        f"unbroken: {10 - first} records, {first} to 9\nwhat was before record {first} is not in this file"
    )
    told = json.loads(cli.text("log", "verify", str(out), "--json"))
    assert (told["whole"], told["unbroken"], told["is_begun"]) == (False, True, False)
    out.write_bytes(out.read_bytes().replace(b"evaluate_js", b"evaluate_jx"))
    assert cli.run("log", "verify", str(out)).returncode == 1
    assert cli.text("log", "export", "-").encode() == (cli.home / NAME).read_bytes()
    assert cli.run("log", "export", str(tmp_path / "no" / "where")).returncode == 1


def test_tail_follows_across_a_rotation(cli: CommandLine):
    process = Process("log", "tail", "-f", "-n", "2", "--json", home=cli.home)
    try:
        assert process.read()["event"] == "note"  # what has not ended waits for its end

        async def go_on() -> None:
            log = Audit(cli.home, max_bytes=2500)
            for number in range(12):
                log.after(await log.before(question(target=f"#b{number}")), outcome="ok", duration_ms=1)
            log.close()

        asyncio.run(go_on())
        assert len(chain.files(cli.home / NAME)) > 2
        shown = [process.read() for _ in range(25)]
    finally:
        process.end()
    clicks = [one["args"]["target"] for one in shown if one.get("tool") == "click"]
    assert clicks == [f"#b{number}" for number in range(12)]
    assert shown[0]["event"] == "start"


def test_who_stops_reading_is_no_error(cli: CommandLine):
    async def many() -> None:
        log = Audit(cli.home)
        for _ in range(3000):
            log.note("n", x="y" * 200)
        log.close()

    asyncio.run(many())
    shell = f"{PILOTHOUSE} log show --limit 0 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], env=cli.environment, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)
    assert os.path.exists(cli.home / NAME)
