"""The table of differences is what the docs print, and names tests that exist."""

from pathlib import Path

import pytest

from tests.differing import is_a_test, table
from tests.extension.differs import DIFFERS, NOT_MEANT, WHERE
from tests.promises import promise

pytestmark = promise("A03")

ROOT = Path(__file__).parent.parent


def test_the_docs_print_it() -> None:
    assert table(WHERE, DIFFERS) in (ROOT.parent / "docs" / "own-chrome.md").read_text()


@pytest.mark.parametrize("test", [test for one in DIFFERS for test in one.tests])
def test_what_differs_is_a_test(test: str) -> None:
    assert is_a_test(test)


def test_it_is_short() -> None:
    assert len(DIFFERS) <= 12
    assert all((ROOT / "tools" / name).exists() for name in NOT_MEANT)
