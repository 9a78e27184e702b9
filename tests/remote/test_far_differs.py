"""The table of differences is what the docs print, and names tests that exist."""

from pathlib import Path

import pytest

from tests.differing import TOOLS, is_a_test, table
from tests.promises import promise
from tests.remote.differs import DIFFERS, NOT_MEANT, WHERE

pytestmark = promise("A03", "B01")

PAGE = Path(__file__).parents[2] / "docs" / "remote.md"


def test_the_docs_print_it() -> None:
    assert table(WHERE, DIFFERS) in PAGE.read_text()


@pytest.mark.parametrize("test", [test for one in DIFFERS for test in one.tests])
def test_what_differs_is_a_test(test: str) -> None:
    assert is_a_test(test)


def test_it_is_short() -> None:
    assert len(DIFFERS) <= 6
    assert all((TOOLS / name).exists() for name in NOT_MEANT)
