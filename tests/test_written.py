"""Files are whole or not there, private from their first byte, and one of many wins."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pilothouse import written
from tests.promises import promise

pytestmark = promise("E01")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_replaces_in_one_step_and_leaves_nothing_beside(tmp_path: Path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"old")
    reader = path.open("rb")
    assert written.replace(path, b"new")
    assert (path.read_bytes(), reader.read(), mode(path)) == (b"new", b"old", 0o600)
    assert written.replace(str(path), b"wide", mode=0o644)
    assert mode(path) == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["a.toml"]
    reader.close()


def test_is_private_whatever_the_umask_says(tmp_path: Path):
    before = os.umask(0)
    try:
        written.replace(tmp_path / "a", b"")
        written.create(tmp_path / "b", b"")
        written.publish(tmp_path / "c", b"")
    finally:
        os.umask(before)
    assert {mode(one) for one in tmp_path.iterdir()} == {0o600}


def test_what_is_no_longer_wanted_changes_nothing(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    assert not written.replace(path, b"new", still=lambda: False)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_is_replaced_not_followed(tmp_path: Path):
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "a").symlink_to(tmp_path / "victim")
    assert not written.create(tmp_path / "a", b"x")
    written.replace(tmp_path / "a", b"x")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "a").is_symlink()


def test_of_many_who_create_one_succeeds(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: written.create(tmp_path / "a", b"%d" % n), range(32)))
    assert made.count(True) == 1
    assert (tmp_path / "a").read_bytes() == b"%d" % made.index(True)


def test_what_fails_leaves_the_old_file_and_no_draft(tmp_path: Path):
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="directory"):
        written.replace(tmp_path / "a", b"x")
    with pytest.raises(FileNotFoundError):
        written.create(tmp_path / "gone" / "a", b"x")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_much_data_comes_piece_by_piece(tmp_path: Path):
    path = tmp_path / "a"
    with written.writing(path) as file:
        file.write(b"one")
        assert not path.exists()
        file.write(b"two")
    assert (path.read_bytes(), mode(path)) == (b"onetwo", 0o600)
    with pytest.raises(FileExistsError), written.writing(path) as file:
        file.write(b"three")
    with pytest.raises(ZeroDivisionError), written.writing(path, over=True) as file:
        file.write(b"%d" % (1 // 0))
    assert path.read_bytes() == b"onetwo"
    with written.writing(path, over=True) as file:
        file.write(b"three")
    assert path.read_bytes() == b"three"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_it_is_on_the_disk_before_it_is_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("sync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("replace"), move(a, b)))
    written.replace(tmp_path / "a", b"x")
    assert done == ["sync", "replace", "sync"]
    done.clear()
    written.publish(tmp_path / "a", b"x")
    assert done == ["replace"]
