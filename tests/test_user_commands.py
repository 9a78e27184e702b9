"""`pilothouse user`: a key for a user of the hub, shown once and kept as a hash."""

import hashlib
import shlex
import tomllib
from pathlib import Path

import pytest

from pilothouse.admin import main
from pilothouse.cocoons import Cocoons
from pilothouse.options import Proxy
from tests.promises import promise

pytestmark = promise("G06", "G08")


@pytest.fixture
def file(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PILOTHOUSE_HOME", str(home))
    return home / "config.toml"


def test_a_key_is_shown_once_and_only_its_hash_is_kept(file: Path, capsys: pytest.CaptureFixture[str]):
    file.write_text("# mine\n[server]\nport = 9000 # my port\n")
    assert main(["user", "add", "ann"]) == 0
    key = capsys.readouterr().out.strip()
    assert len(key) >= 40
    text = file.read_text()
    assert key not in text
    assert text.startswith("# mine\n[server]\nport = 9000 # my port\n")
    assert tomllib.loads(text)["users"] == [{"name": "ann", "key_sha256": hashlib.sha256(key.encode()).hexdigest()}]
    cocoons = Cocoons(file, Proxy(), forbidden_ports=set())
    told: list[tuple[str, str]] = []
    cocoons.on_users = lambda name, change: told.append((name, change))
    assert cocoons.user_of(key) == "ann"
    assert main(["user", "add", "ann"]) == 0  # another key takes its place
    new = capsys.readouterr().out.strip()
    assert (cocoons.user_of(key), cocoons.user_of(new)) == (None, "ann")
    assert main(["user", "list"]) == 0
    assert capsys.readouterr().out == "ann\n"
    assert main(["user", "remove", "ann"]) == 0
    assert cocoons.user_of(new) is None
    assert told == [("ann", "removed"), ("ann", "added"), ("ann", "removed")]


def test_what_does_not_count_is_told(file: Path):
    """Of the rest of the file everything counts."""
    file.write_text(
        '[[users]]\nname = "ann"\n[[cocoons]]\nid = "shop"\nowner = "ann"\n'
        '[[cocoons]]\nid = "blog"\nowner = "annn"\ntarget = "http://127.0.0.1:1"\n'
    )
    told: list[str] = []
    assert Cocoons(file, Proxy(), forbidden_ports=set(), on_mistake=told.append).all() == []
    assert [one.partition(": ")[0] for one in told] == [
        "the cocoon shop does not count",
        "the cocoon blog does not count",
    ]
    assert "needs a target" in told[0]
    assert "no user 'annn'" in told[1]
    told.clear()
    alone = Cocoons(file, Proxy(), forbidden_ports=set(), served=False, on_mistake=told.append)  # as a hub has them
    assert [one.id for one in alone.all()] == ["shop"]
    assert len(told) == 1
    file.write_text("[[users")
    assert [one.id for one in alone.all()] == ["shop"]
    assert told[1].startswith("users and cocoons stay as they were")


@pytest.mark.parametrize("name", ["local", "Ann", "", "a b", "../x", "a" * 65])
def test_names_that_nobody_can_have(file: Path, name: str, capsys: pytest.CaptureFixture[str]):
    assert main(["user", "add", name]) == 2
    assert not file.exists()
    assert "pilothouse:" in capsys.readouterr().err


def test_one_who_owns_something_is_not_removed(file: Path, capsys: pytest.CaptureFixture[str]):
    file.write_text('[[users]]\nname = "ann"\n[[cocoons]]\nid = "shop"\nowner = "ann"\n')
    assert main(["user", "remove", "ann"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == ["pilothouse: ann owns shop: first remove it", "- pilothouse cocoon remove shop"]
    assert main(["user", "remove", "ben"]) == 1
    assert "there is no user 'ben'\n- users: ann" in capsys.readouterr().err
    file.write_text("")
    assert main(["user", "remove", "ann"]) == 1
    assert "there is no user 'ann'\n- none yet: `pilothouse user add NAME` makes one" in capsys.readouterr().err


def test_what_has_to_be_removed_first_is_told_as_it_is_typed(file: Path, capsys: pytest.CaptureFixture[str]):
    hubs = file.with_name("the hub's.toml")
    hubs.write_text(
        '[[users]]\nname = "ann"\n' + "".join(f'[[cocoons]]\nid = "{one}"\nowner = "ann"\n' for one in "ab")
    )
    assert main(["user", "remove", "ann", "--config", str(hubs)]) == 2
    first, *steps = capsys.readouterr().err.splitlines()
    assert first == "pilothouse: ann owns a, b: first remove them"
    for step in steps[:2]:
        assert main(shlex.split(step.removeprefix("- pilothouse "))) == 0
    assert main(["user", "remove", "ann", "--config", str(hubs)]) == 0
