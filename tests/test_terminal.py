"""The name of a terminal where the system has no /proc, and `ps` is asked."""

import os
import subprocess
import sys
from typing import Any

import pytest

from pilothouse.commands.terminal import identity, is_gone
from tests.promises import promise

pytestmark = promise("B06")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delenv("PILOTHOUSE_TERMINAL", raising=False)


@pytest.mark.parametrize("trouble", [subprocess.TimeoutExpired("ps", 2), FileNotFoundError(2, "no ps")])
def test_a_terminal_is_not_given_up_because_nobody_answers(monkeypatch: pytest.MonkeyPatch, trouble: Exception):
    def fail(*_: Any, **__: Any) -> Any:
        raise trouble

    monkeypatch.setattr(subprocess, "run", fail)
    assert not is_gone("terminal-1234.Mon-Nov-16")
    assert identity() == f"{os.getppid()}.0"


def test_a_process_that_ps_does_not_know_is_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, ""))  # pyright: ignore
    assert is_gone("terminal-1234.Mon-Nov-16")
