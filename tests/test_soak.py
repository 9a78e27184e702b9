"""The judgement of the soak: growth counts from when the daemon is warm, and only what nobody expects is left over."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.load import _STEPS, least_tried
from bench.soak import MOMENTS, Moment, Trial, _growth
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
    for name in ("agent.key", "person.key", "config.toml", "tools.json", "audit.jsonl", "audit.jsonl.1", "daemon.log"):
        (trial.home / name).touch()
    assert trial.leftovers() == []
    (trial.home / "tools.json.x7").touch()
    (trial.temporary / "odd").touch()
    assert trial.leftovers() == ["tools.json.x7 is left", "tmp/odd is left"]
