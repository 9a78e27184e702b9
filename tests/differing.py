"""Differences between kinds of browsers, as short tables: printed in the docs, and held to by the tests of the tools.

With `--through KIND` every test of a tool must pass in that kind of browser, except those that its table names, which
must fail: a difference that is gone has no place in the table.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

TOOLS = Path(__file__).parent / "tools"


class Difference(NamedTuple):
    what: str
    instead: str
    tests: tuple[str, ...] = ()


def table(where: str, differs: Sequence[Difference]) -> str:
    """As the docs show it."""
    rows = [f"| {one.what} | {one.instead} |" for one in differs]
    return "\n".join([f"| different {where} | what to do instead |", "|---|---|", *rows])


def mark(items: list[pytest.Item], differs: Sequence[Difference], not_meant: Sequence[str]) -> None:
    """Those that are not meant go; those that differ must fail."""
    items[:] = [item for item in items if item.path.name not in not_meant]
    for item in items:
        for one in differs:
            if _is_one_of(item, one.tests):
                item.add_marker(pytest.mark.xfail(strict=True, reason=one.what))


def _is_one_of(item: pytest.Item, tests: tuple[str, ...]) -> bool:
    plain = getattr(item, "originalname", item.name)
    names = {f"{item.path.name}::{item.name}", f"{item.path.name}::{plain}"}
    return not names.isdisjoint(tests)


def is_a_test(named: str) -> bool:
    file, _, name = named.partition("::")
    return f"def {name.partition('[')[0]}(" in (TOOLS / file).read_text()
