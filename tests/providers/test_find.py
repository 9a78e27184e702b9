"""Where a Chrome is found, and what is said when there is none."""

import os
from pathlib import Path

import pytest

from pilothouse.errors import Failure
from pilothouse.providers import find
from tests.promises import promise

pytestmark = promise("B03", "A02")


def executable(path: Path) -> str:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_configured_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTHOUSE_CHROME", executable(tmp_path / "other"))
    mine = executable(tmp_path / "mine")
    assert find.find_chrome(mine) == mine


def test_then_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = executable(tmp_path / "mine")
    monkeypatch.setenv("PILOTHOUSE_CHROME", mine)
    assert find.find_chrome("") == mine


def test_then_the_usual_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PILOTHOUSE_CHROME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = executable(tmp_path / "chromium")
    assert find.find_chrome("") == found


def test_a_wrong_path_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PILOTHOUSE_CHROME", raising=False)
    with pytest.raises(Failure, match="no browser at /nowhere/chrome") as wrong:
        find.find_chrome("/nowhere/chrome")
    assert "PILOTHOUSE_CHROME" in wrong.value.suggestions[0]


def test_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PILOTHOUSE_CHROME", raising=False)
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(Failure, match="no Chrome") as none:
        find.find_chrome("")
    assert any("apt install" in step for step in none.value.suggestions)
