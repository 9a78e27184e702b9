"""Whose a user data directory is: a living browser's, another machine's, or nobody's."""

import os
import socket
from pathlib import Path

import pytest

from pilothouse.providers.occupied import user_of
from tests.promises import promise

pytestmark = promise("B03")


def mark(folder: Path, host: str, pid: int) -> None:
    (folder / "SingletonLock").symlink_to(f"{host}-{pid}")


def test_a_directory_without_a_mark_is_free(tmp_path: Path) -> None:
    assert user_of(tmp_path) == ""
    assert user_of(tmp_path / "not there") == ""


def test_a_mark_of_a_dead_process_is_stale(tmp_path: Path) -> None:
    mark(tmp_path, socket.gethostname(), 4_194_303)
    assert user_of(tmp_path) == ""


def test_a_number_that_is_another_programs_by_now_is_stale(tmp_path: Path) -> None:
    mark(tmp_path, socket.gethostname(), os.getpid())
    assert user_of(tmp_path) == ""
    (tmp_path / "SingletonSocket").symlink_to(tmp_path / "gone")
    assert user_of(tmp_path) == ""


def test_one_who_listens_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    mark(tmp_path, socket.gethostname(), os.getpid())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        listener.listen()
        Path("SingletonSocket").symlink_to("s")
        assert user_of(Path()).startswith(f"pid {os.getpid()} (")


def test_a_browser_on_another_machine_is_named(tmp_path: Path) -> None:
    mark(tmp_path, "some-other-host", 1)
    assert user_of(tmp_path) == "a browser on the machine 'some-other-host'"
