"""D13, F07: the log page by page, over rotated files too, and as it is written: the same records either way."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.guard.audit import Audit
from tests.promises import promise

pytestmark = promise("D13", "F07")

LINES = 400


@pytest.fixture
async def audit(tmp_path: Path) -> AsyncIterator[Audit]:
    one = Audit(tmp_path, max_bytes=10_000)  # so that it is rotated many times
    for number in range(LINES):
        one.note("filler", number=number)
    yield one
    one.close()


def numbers(records: list[dict[str, Any]]) -> list[int]:
    return [one["n"] for one in records]


async def test_reading_on(audit: Audit, tmp_path: Path):
    assert len(list(tmp_path.glob("audit-*.jsonl"))) > 3
    last = audit.number
    assert numbers(audit.after_number(0, 10_000)) == list(range(1, last + 1))
    assert numbers(audit.after_number(last - 5, 100)) == list(range(last - 4, last + 1))
    assert numbers(audit.after_number(17, 3)) == [18, 19, 20]
    assert audit.after_number(last, 100) == []


async def test_reading_back(audit: Audit):
    last = audit.number
    assert numbers(audit.before_number(0, 3)) == [last - 2, last - 1, last]
    assert numbers(audit.before_number(100, 4)) == [96, 97, 98, 99]
    assert numbers(audit.before_number(3, 100)) == [1, 2]
    assert audit.before_number(1, 100) == []


async def test_who_follows_hears_what_is_written(audit: Audit):
    heard: list[dict[str, Any]] = []
    unfollow = audit.follow(heard.append)
    audit.note("one", name="a")
    audit.note("two", name="b")
    unfollow()
    audit.note("three", name="c")
    assert [one["kind"] for one in heard] == ["one", "two"]
    assert heard == audit.after_number(heard[0]["n"] - 1, 2)
