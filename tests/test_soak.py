"""The judgement of the soak: growth counts from when the daemon is warm, and only what nobody expects is left over."""

import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import kills
from bench.kills import Ledger, _judged, kill_often
from bench.load import _STEPS, least_tried
from bench.soak import MOMENTS, Moment, Trial, _growth
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME, Audit
from pilothouse.guard.policy import Question
from pilothouse.tool import Access
from tests.promises import promise

pytestmark = promise("B08")


def moments(cold: list[float], warm: list[float]) -> list[Moment]:
    return [
        Moment(n, memory, 0, 0, 0, 0, 0, 0, 0, 0, n >= len(cold)) for n, memory in enumerate([*cold, *warm], start=0)
    ]


@pytest.mark.parametrize(
    ("warm", "wrong"),
    [
        ([100.0] * 20, ""),
        ([100.0] * 16 + [104.0] * 4, ""),
        ([100.0 + n for n in range(20)], "the daemon grew by"),
        ([100.0] * (MOMENTS - 1), "too short"),
    ],
)
def test_growth_counts_from_the_warm_up_on(warm: list[float], wrong: str) -> None:
    said = _growth(moments([50.0, 70.0, 90.0], warm))
    assert [one[: len(wrong)] for one in said] == ([wrong] if wrong else [])


def test_it_is_warm_when_every_door_has_taken_every_step() -> None:
    def worker(kind: str, taken: dict[str, int]) -> Any:
        return SimpleNamespace(kind=kind, taken=Counter(taken))

    every = {step.__name__: 2 for step in _STEPS}
    assert least_tried([worker("Http", every), worker("Rest", every)]) == 2
    assert least_tried([worker("Http", every), worker("Http", every)]) == 4
    assert least_tried([worker("Http", every), worker("Rest", {**every, "look": 0})]) == 0


def test_what_a_home_holds_is_no_leftover(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    for name in (
        "agent.key",
        "person.key",
        "config.toml",
        "tools.json",
        "audit.jsonl",
        "audit-000000000012.jsonl",
        "daemon.log",
    ):
        (trial.home / name).touch()
    assert trial.leftovers() == []
    (trial.home / "tools.json.x7").touch()
    (trial.temporary / "odd").touch()
    assert trial.leftovers() == ["tools.json.x7 is left", "tmp/odd is left"]


@promise("D13", "D08")
def test_killed_at_any_moment_nothing_was_done_without_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "MAX_DEEDS", 20)
    monkeypatch.setattr(kills, "LOAD_S", 2.0)
    # Not in pytest's folder: Chrome makes a socket in TMPDIR, and starts with none of a long name.
    with tempfile.TemporaryDirectory(prefix="pilothouse-") as folder:
        trial, told = Trial(Path(folder)), list[str]()
        trial.env["PILOTHOUSE_LOG_MAX_BYTES"] = "10000"
        try:
            assert kill_often(trial, 5, told.append, agents=2) == [], told
        finally:
            if trial.process:
                trial.process.end()
        assert len(told) == 5
        assert len(chain.files(trial.home / NAME)) > 1


@promise("D13")
async def test_what_has_no_line_is_seen(tmp_path: Path) -> None:
    trial, ledger = Trial(tmp_path), Ledger()
    try:
        log = Audit(trial.home)
        await log.before(Question("default", "s1", "click", Access.WRITE, {"target": "#press-1-0-7"}))
        log.close()
        ledger.note("press-1-0-7")
        ledger.note("favicon.ico")
        assert _judged(trial, ledger) == []
        ledger.note("press-1-0-8")
        ledger.note("press-1-90-1")
        with (trial.home / NAME).open("ab") as file:
            file.write(b"something else\n")
        broken, unknown, unasked = _judged(trial, ledger)
    finally:
        ledger.close()
    assert broken == f"the log is broken at {NAME}:3: changed, or no record"
    assert unknown == "2 things were done that have no line: press-1-0-8, press-1-90-1"
    assert unasked == "done without an answer: press-1-90-1"
