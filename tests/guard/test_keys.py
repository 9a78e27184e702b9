"""Keys: made once, private, and told apart."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.keys import Keys
from tests.promises import promise

pytestmark = promise("E01")


def test_are_made_on_first_use_and_stay(tmp_path: Path):
    keys = Keys(tmp_path)
    secrets = {keys.agent(), keys.person(), keys.agent("ci")}
    assert len(secrets) == 3
    assert all(len(secret) >= 43 for secret in secrets)
    assert {Keys(tmp_path).agent(), Keys(tmp_path).person(), Keys(tmp_path).agent("ci")} == secrets
    files = {"agent.key", "person.key", "keys/ci.key"}
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == files
    assert all((tmp_path / name).stat().st_mode & 0o777 == 0o600 for name in files)
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_whoever_masks_them_hears_of_each(tmp_path: Path):
    heard: list[dict[str, str]] = []
    keys = Keys(tmp_path, heard.append)
    agent, person = keys.agent(), keys.person()
    assert keys.who(agent) == keys.who(agent) == "agent:default"
    assert heard == [{"agent:default": agent, "person": person}]
    ci = keys.add("ci").secret
    keys.who("")
    keys.revoke("ci")
    keys.who("")
    assert [one.get("agent:ci") for one in heard] == [None, ci, None]


def test_tell_who_is_calling(tmp_path: Path):
    keys = Keys(tmp_path)
    assert keys.who("") is None
    assert keys.who(keys.agent()) == "agent:default"
    assert keys.who(keys.agent("ci")) == "agent:ci"
    assert keys.who(keys.person()) == "person"
    for wrong in ("", "x", keys.agent()[:-1], keys.agent() + "x", keys.person().swapcase(), "ü", "\ud800"):
        assert keys.who(wrong) is None
    assert keys.names() == ["default", "ci"]


def test_removed_key_opens_nothing_any_more(tmp_path: Path):
    keys = Keys(tmp_path)
    secret = keys.agent("ci")
    (tmp_path / "keys" / "ci.key").unlink()
    assert keys.who(secret) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_file_open_to_others_is_refused_with_the_fix(tmp_path: Path, mode: int):
    keys = Keys(tmp_path)
    secret = keys.agent()
    (tmp_path / "agent.key").chmod(mode)
    with pytest.raises(Failure, match=r"agent\.key can be read by other users") as caught:
        keys.agent()
    assert caught.value.suggestions[0].startswith("chmod 600 ")
    assert keys.who(secret) is None


@pytest.mark.parametrize("harm", ["open", "short", "link", "directory", "pipe"])
def test_one_bad_file_does_not_lock_the_others_out(tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: str):
    keys = Keys(tmp_path)
    secret, bad = keys.agent("good"), tmp_path / "keys" / "bad.key"
    if harm == "open":
        bad.write_text("a" * 43)
        bad.chmod(0o644)
    elif harm == "short":
        bad.touch(0o600)
    elif harm == "link":
        bad.symlink_to(tmp_path / "keys" / "good.key")
    elif harm == "directory":
        bad.mkdir(0o700)
    else:
        os.mkfifo(bad, 0o600)
    assert [keys.who(secret), keys.who(secret), keys.who("a" * 43)] == ["agent:good", "agent:good", None]
    assert len([record for record in caplog.records if "bad.key" in record.getMessage()]) == 1


def test_links_and_stubs_are_no_keys(tmp_path: Path):
    (tmp_path / "secret").write_text("a" * 43)
    (tmp_path / "agent.key").symlink_to(tmp_path / "secret")
    with pytest.raises(Failure, match="cannot read the key file"):
        Keys(tmp_path).agent()
    (tmp_path / "person.key").touch(0o600)
    with pytest.raises(Failure, match="too short"):
        Keys(tmp_path).person()


@pytest.mark.parametrize("name", ["", "../x", "A", "a/b", "person.key", "x" * 33])
def test_names_cannot_leave_the_directory(tmp_path: Path, name: str):
    with pytest.raises(Failure, match="no key name"):
        Keys(tmp_path).agent(name)


def test_two_who_start_together_agree(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: Keys(tmp_path).agent(), range(32)))
    assert made == {Keys(tmp_path).agent()}
    assert [path.name for path in tmp_path.iterdir()] == ["agent.key"]
