"""What did not happen is in the log as well; what cannot be recorded does not happen; no line is too long."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard import audit as module
from pilothouse.guard import chain, syncing
from pilothouse.guard.audit import MAX_LATE, MAX_LINE_BYTES, NAME, Audit
from pilothouse.guard.policy import Aim, Approved, Decision, Policy, Question
from pilothouse.guard.rates import Rates
from pilothouse.tool import Access
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D13")

CLICK = Question(caller="default", session="s1", tool="click", access=Access.WRITE, args={"target": "#go"})
ASKED = Decision(verdict="ask", rule="rule 3", risk="high")


def check(home: Path) -> chain.Report:
    return chain.verify_log(home / NAME)


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Audit]:
    one = Audit(tmp_path)
    yield one
    one.close()


async def test_a_line_tells_what_decided_and_who_approved(log: Audit):
    aims = (Aim(role="button", name="Pay now"), Aim(kind="password"))
    number = await log.before(
        Question(**{**{name: getattr(CLICK, name) for name in CLICK.__struct_fields__}, "aims": aims, "tab": "t1"}),
        ASKED,
        [Approved(by="person", scope="session", id="q7")],
    )
    log.after(number, outcome="denied", duration_ms=1, why="rule 9")
    before, after = log.tail(2)
    assert before["decision"] == {"verdict": "ask", "rule": "rule 3", "risk": "high"}
    assert before["approved"] == [{"by": "person", "scope": "session", "id": "q7"}]
    assert (before["aims"], before["tab"]) == (["button Pay now", "password"], "t1")
    assert after["why"] == "rule 9"


async def test_what_was_refused_has_one_line(log: Audit, tmp_path: Path):
    log.refused(CLICK, outcome="approval_denied", why="token=abc said no", decision=ASKED)
    line = log.tail(1)[0]
    assert (line["event"], line["outcome"], line["tool"], line["args"]) == (
        "refused",
        "approval_denied",
        "click",
        {"target": "#go"},
    )
    assert line["decision"]["risk"] == "high"
    assert line["why"] == "token=[redacted] said no"
    assert check(tmp_path).unfinished == []


async def test_notes_and_decrees(log: Audit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    synced: list[int] = []
    monkeypatch.setattr(syncing, "to_disk", synced.append)
    log.note("wrong_door", key="agent:default", path="/api/policy", password="hunter2")
    assert not synced
    await log.decree("answered", id="q1", verdict="allow")
    assert len(synced) == 1
    note, decree = log.tail(2)
    assert (note["event"], note["kind"]) == ("note", "wrong_door")
    assert note["told"] == {"key": "agent:default", "path": "/api/policy", "password": "[redacted]"}
    assert decree["told"] == {"id": "q1", "verdict": "allow"}
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    with pytest.raises(Failure, match="cannot be written"):
        await log.decree("answered", id="q2", verdict="allow")
    log.note("wrong_door", key="agent:default")


async def test_a_caller_beyond_its_limit_gets_a_line_a_minute(log: Audit, monkeypatch: pytest.MonkeyPatch):
    now = time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    for _ in range(500):
        log.limited("greedy", "too many", tool="click", session="s1")
    log.limited("other", "too many")
    now += 61
    log.limited("greedy", "too many")
    told = [one["told"] for one in log.tail(10) if one["event"] == "note"]
    assert (told[0]["tool"], told[0]["session"]) == ("click", "s1")
    assert [(one["caller"], one["left_out"]) for one in told] == [("greedy", 0), ("other", 0), ("greedy", 499)]


async def test_no_line_is_longer_than_the_bound(log: Audit, tmp_path: Path):
    nasty = "\x01" * 1000
    urls = tuple(nasty for _ in range(100))
    aims = tuple(Aim(role=nasty, name=nasty) for _ in range(100))
    args: dict[str, Any] = {f"{n}{nasty}": [nasty] * 100 for n in range(100)}
    wild = Question("c" * 9000, "s" * 9000, nasty, Access.SENSITIVE, args, nasty, nasty, urls, nasty, nasty, aims)
    decision = Decision("deny", nasty, why=nasty)
    number = await log.before(wild, decision, [Approved(nasty, nasty, nasty)] * 100)
    log.refused(wild, outcome=nasty, why=nasty, decision=decision)
    log.note(nasty, **{nasty: nasty}, many=[args] * 50)
    log.after(number, outcome=nasty, duration_ms=1, why=nasty)
    lines = (tmp_path / NAME).read_bytes().splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= MAX_LINE_BYTES
    assert check(tmp_path).whole
    assert [one["event"] for one in log.tail(4)] == ["before", "refused", "note", "after"]


@pytest.mark.parametrize("harm", ["removed", "moved", "directory", "closed"])
async def test_a_log_that_is_gone_refuses_until_it_is_back(tmp_path: Path, harm: str):
    home = tmp_path / "home"
    home.mkdir()
    log = Audit(home)
    await log.before(CLICK)
    if harm == "removed":
        shutil.rmtree(home)
    elif harm == "moved":
        home.rename(tmp_path / "elsewhere")
    elif harm == "directory":
        (home / NAME).unlink()
        (home / NAME).mkdir()
    else:
        real, log._file = log._file, os.open(tmp_path, os.O_RDONLY)
        os.close(log._file)
    with pytest.raises(Failure, match="nothing is done that is not recorded") as caught:
        await log.before(CLICK)
    assert (caught.value.code, bool(caught.value.suggestions)) == ("system", True)
    log.refused(CLICK, outcome="denied", why="late")
    if harm == "directory":
        (home / NAME).rmdir()
    elif harm == "closed":
        log._file = real  # pyright: ignore[reportPossiblyUnboundVariable]
    else:
        home.mkdir(exist_ok=True)
    await log.before(CLICK)
    log.close()
    assert [one["event"] for one in log.tail(2)] == ["refused", "before"]
    assert check(home).whole is (harm == "closed")  # where lines are gone, verify says so


_CONDITION = """
import asyncio, os, resource, subprocess, sys
from pathlib import Path
from pilothouse.errors import Failure
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME, Audit
from pilothouse.guard.policy import Question
from pilothouse.tool import Access

how, home = sys.argv[1], Path(sys.argv[2])
question = Question("default", "s1", "click", Access.WRITE, {"target": "#go" * 50})

async def full() -> None:
    if how == "disk":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", home], check=True)
    log, done = Audit(home), []
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    refusals = 0
    for _ in range(2000):
        try:
            done.append(await log.before(question))
        except Failure as failure:
            refusals += 1
            assert failure.code == "system", failure
            assert "No space" in str(failure) or "too large" in str(failure), failure
            if refusals == 3:
                break
    assert refusals == 3 and len(done) > 20
    log.after(done[-1], outcome="ok", duration_ms=1)
    recorded = {one["n"] for one in chain.records(home / NAME)}
    assert set(done) <= recorded, "an action was let through without its line"
    assert chain.verify_log(home / NAME).whole
    if how == "disk":
        subprocess.run(["mount", "-o", "remount,size=1m", home], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await log.before(question)
    log.close()
    report = chain.verify_log(home / NAME)
    assert report.whole and not report.torn, report

def read_only() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", home], check=True)
    try:
        Audit(home)
    except Failure as failure:
        assert "Read-only" in str(failure), failure
        return
    raise AssertionError("it started without a log")

read_only() if how == "read-only" else asyncio.run(full())
print("held")
"""


def _may_mount() -> bool:
    tried = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, timeout=20, check=False
    )
    return tried.returncode == 0


# A process's own limit works everywhere; where this system lets us mount, the disk is really full.
@pytest.mark.parametrize("how", ["limit", *(["disk", "read-only"] if _may_mount() else [])])
def test_a_full_or_closed_disk_lets_no_action_through(tmp_path: Path, how: str):
    inside = [] if how == "limit" else ["unshare", "-rm"]
    command = [*inside, sys.executable, "-c", _CONDITION, how, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "held\n", done.stderr


async def test_half_a_line_that_cannot_be_taken_back_is_closed_later(
    log: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write = os.write

    def half(file: int, line: bytes) -> int:
        return write(file, line[:10])

    def stuck(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        patch.setattr(os, "ftruncate", stuck)
        with pytest.raises(Failure, match="Input/output error"):
            await log.before(CLICK)
    await log.before(CLICK)
    report = check(tmp_path)
    assert (report.whole, report.torn) == (True, 1), report.faults
    assert [one["event"] for one in log.tail(2)] == ["torn", "before"]


async def test_what_waits_for_a_full_disk_is_bounded_and_the_loss_is_told(log: Audit, tmp_path: Path):
    (tmp_path / NAME).rename(tmp_path / "kept")
    (tmp_path / NAME).mkdir()
    for _ in range(MAX_LATE + 7):
        log.refused(CLICK, outcome="denied", why="x")
    (tmp_path / NAME).rmdir()
    (tmp_path / "kept").rename(tmp_path / NAME)
    await log.before(CLICK)
    lost, before = log.tail(2)
    assert (lost["event"], lost["records"], before["event"]) == ("lost", 7, "before")
    assert check(tmp_path).whole
    assert len(log.tail(5000)) == MAX_LATE + 3


async def test_old_files_go_without_a_rotation_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = Audit(tmp_path, max_bytes=3000, retention_days=1)
    for _ in range(20):
        await log.before(CLICK)
    first, second, *others, _ = chain.files(tmp_path / NAME)
    for path in (first, second):
        os.utime(path, (0, time.time() - 90_000))
    monkeypatch.setattr(log, "_max_bytes", 10_000_000)
    await log.before(CLICK)
    assert first.exists()
    log._looked_at -= module.OLD_EVERY_S + 1
    await log.before(CLICK)
    log.close()
    assert not first.exists()
    assert not second.exists()
    assert all(path.exists() for path in others)
    report = check(tmp_path)
    assert report.whole, report.faults
    assert report.first == report.dropped + 1
    dropped = [one for one in chain.records(tmp_path / NAME) if one["event"] == "dropped"]
    assert [one["file"] for one in dropped] == [first.name, second.name]


async def test_retention_leaves_one_piece(tmp_path: Path):
    """A file in the middle that looks older than the one before it stays until that one goes."""
    log = Audit(tmp_path, max_bytes=3000, retention_days=1)
    for _ in range(20):
        await log.before(CLICK)
    first, second, *_ = chain.files(tmp_path / NAME)
    os.utime(second, (0, 0))
    log._drop_old()
    assert second.exists()
    os.utime(first, (0, 0))
    log._drop_old()
    log.close()
    assert not first.exists()
    assert not second.exists()
    assert check(tmp_path).whole


# Through the gate


class _Denies(Policy):
    def weigh(self, question: Question) -> tuple[Decision, ...]:
        verdict = "deny" if question.tool == "click" else "allow"
        return (Decision(verdict, "rule 1 (no clicks)", "medium", why="clicks are forbidden"),)


def _with(
    house: House, *, policy: Policy | None = None, audit: Audit | None = None, rates: Rates | None = None
) -> Gate:
    gate = house.gate
    return Gate(
        gate.registry,
        house.sessions,
        policy or gate._policy,
        gate.approvals,
        audit or gate._audit,
        rates=rates,
    )


async def test_every_refusal_of_the_gate_is_in_the_log(house: House, site: PageServer):
    before = max((one["n"] for one in house.gate._audit.tail(1)), default=0)
    async with Agent(_with(house, policy=_Denies(), rates=Rates(5)), house.agent().caller) as agent:
        await agent.call("navigate", url=site.inline("<button>Go</button>"))
        for tool, args in (
            ("click", {"target": "text=Go"}),
            ("navigate", {"url": "javascript:alert(1)"}),
            ("no_such_tool", {}),
            ("list_tabs", {}),
            ("list_tabs", {}),
        ):
            await agent.ask(tool, **args)
        lines = [one for one in house.gate._audit.tail(20) if one["n"] > before]
    click, address, unknown = [one for one in lines if one["event"] == "refused"]
    limit = lines[-1]
    assert (unknown["tool"], unknown["outcome"]) == ("no_such_tool", "unknown_tool")
    assert (click["event"], click["outcome"], click["tool"]) == ("refused", "denied", "click")
    assert click["decision"] == {"verdict": "deny", "rule": "rule 1 (no clicks)", "risk": "medium"}
    assert click["args"]["target"] == "text=Go"
    assert (address["event"], address["tool"], address["urls"]) == ("refused", "navigate", ["javascript:alert(1)"])
    assert (limit["event"], limit["kind"], limit["told"]["caller"]) == ("note", "over_limit", "default")


async def test_an_action_that_cannot_be_recorded_does_not_reach_the_page(
    house: House, site: PageServer, tmp_path: Path
):
    log = Audit(tmp_path)
    async with Agent(_with(house, audit=log), house.agent().caller) as agent:
        await agent.call("navigate", url=site.inline("<button onclick='n = (window.n || 0) + 1'>Go</button>"))
        await agent.call("click", target="text=Go")
        (tmp_path / NAME).rename(tmp_path / "kept")
        (tmp_path / NAME).mkdir()
        refused = await agent.ask("click", target="text=Go")
        assert (refused.failed, refused.data["error"]["code"]) == (True, "system")
        (tmp_path / NAME).rmdir()
        (tmp_path / "kept").rename(tmp_path / NAME)
        assert await agent.js("window.n") == 1
        await agent.call("click", target="text=Go")
        assert await agent.js("window.n") == 2
    log.close()
    assert check(tmp_path).whole
    lines = [json.loads(line) for line in (tmp_path / NAME).read_bytes().splitlines()]
    assert [one["tool"] for one in lines if one["event"] == "before"].count("click") == 2
