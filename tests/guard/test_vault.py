"""The vault: what goes in comes out, for this key and this name only; nobody else can read it."""

import contextlib
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.vault import MAX_BYTES, Vault
from tests.promises import promise

pytestmark = promise("A23")

SECRET = b"the cookie of a bank"


def refused(code: str, vault: Vault, name: str) -> Failure:
    with pytest.raises(Failure) as caught:
        vault.get(name)
    assert caught.value.code == code
    return caught.value


class Ring:
    """A keyring that works."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, account: str) -> str | None:
        return self.kept.get((service, account))

    def set_password(self, service: str, account: str, password: str) -> None:
        self.kept[service, account] = password


class Broken:
    def get_password(self, *_: str) -> str:
        raise RuntimeError("no backend")

    set_password = get_password


class Forgetful(Ring):
    def set_password(self, service: str, account: str, password: str) -> None: ...


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    path = Vault(tmp_path).put("shop", SECRET)
    assert path == tmp_path / "states" / "shop.state"
    assert SECRET not in path.read_bytes()
    assert Vault(tmp_path).get("shop") == SECRET
    assert Vault(tmp_path).names() == ["shop"]


def test_only_this_user_can_read(tmp_path: Path) -> None:
    os.umask(old := os.umask(0))
    try:
        os.umask(0)
        path = Vault(tmp_path).put("shop", SECRET)
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(one.stat().st_mode) for one in (path, tmp_path / "state.key")}
    assert modes == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_one_replaces_the_first_whole(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    first = vault.put("shop", SECRET).read_bytes()
    vault.put("shop", b"new")
    assert vault.get("shop") == b"new"
    assert [one.name for one in (tmp_path / "states").iterdir()] == ["shop.state"]
    (tmp_path / "states" / "shop.state").write_bytes(first)
    assert vault.get("shop") == SECRET


def test_the_same_content_never_looks_the_same(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    assert vault.put("a", SECRET).read_bytes() != vault.put("b", SECRET).read_bytes()


@pytest.mark.parametrize("place", [0, 5, 20, 35, -1])
def test_a_changed_byte_is_noticed(tmp_path: Path, place: int) -> None:
    vault = Vault(tmp_path)
    path = vault.put("shop", SECRET)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert refused("system", vault, "shop").suggestions


def test_cut_off_swapped_and_foreign_files(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    path, other = vault.put("shop", SECRET), vault.put("other", b"x")
    content = path.read_bytes()
    for part in (b"", content[:10], content[:25], content[:-3]):
        path.write_bytes(part)
        refused("system", vault, "shop")
    other.write_bytes(content)
    refused("system", vault, "other")


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    Vault(tmp_path).put("shop", SECRET)
    (tmp_path / "state.key").unlink()
    assert "gone" in refused("system", Vault(tmp_path), "shop").message
    Vault(tmp_path).put("other", b"x")
    assert "another key" in refused("system", Vault(tmp_path), "shop").message
    (tmp_path / "state.key").write_text("short\n")
    assert "cannot be read" in refused("system", Vault(tmp_path), "shop").message


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a b", "a\0b", "ä", "x" * 101, "a\n"]
)
def test_names_lead_nowhere(tmp_path: Path, name: str) -> None:
    vault = Vault(tmp_path)
    with pytest.raises(Failure) as caught:
        vault.put(name, SECRET)
    assert caught.value.code == "bad_request"
    refused("bad_request", vault, name)
    assert list(tmp_path.rglob("*.state")) == []


def test_what_is_not_there(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    assert refused("not_found", vault, "shop").suggestions == ["save_state saves one"]
    vault.put("bank", SECRET)
    assert refused("not_found", vault, "shop").suggestions == ["saved are: bank"]


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    path = vault.put("shop", SECRET)
    path.chmod(0o644)
    refused("system", vault, "shop")
    path.chmod(0o600)
    (tmp_path / "state.key").chmod(0o640)
    refused("system", Vault(tmp_path), "shop")


def test_links_are_not_followed(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    path = vault.put("shop", SECRET)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    refused("system", vault, "shop")
    vault.put("shop", b"new")
    assert not path.is_symlink()
    assert vault.get("shop") == b"new"


def test_too_much(tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught:
        Vault(tmp_path).put("shop", bytes(MAX_BYTES + 1))
    assert caught.value.code == "over_limit"


def test_the_keyring_holds_the_key(tmp_path: Path) -> None:
    ring = Ring()
    Vault(tmp_path, lambda: ring).put("shop", SECRET)
    assert not (tmp_path / "state.key").exists()
    assert len(ring.kept) == 1
    assert Vault(tmp_path, lambda: ring).get("shop") == SECRET
    refused("system", Vault(tmp_path), "shop")
    refused("system", Vault(tmp_path, Ring), "shop")


@pytest.mark.parametrize("ring", [Broken(), Forgetful()])
def test_a_keyring_that_does_not_work_is_passed_by(tmp_path: Path, ring: Any) -> None:
    Vault(tmp_path, lambda: ring).put("shop", SECRET)
    assert (tmp_path / "state.key").exists()
    assert Vault(tmp_path).get("shop") == SECRET
    assert Vault(tmp_path, Ring).get("shop") == SECRET


def test_a_keyring_that_is_locked_for_once_costs_no_state(tmp_path: Path) -> None:
    ring = Ring()
    Vault(tmp_path, lambda: ring).put("shop", SECRET)
    locked = Vault(tmp_path, Broken)
    with pytest.raises(Failure) as caught:
        locked.put("other", b"x")
    assert (caught.value.code, caught.value.retryable) == ("system", True)
    assert refused("system", locked, "shop").retryable
    assert not (tmp_path / "state.key").exists()
    assert Vault(tmp_path, lambda: ring).get("shop") == SECRET
    locked._find_keyring = lambda: ring
    assert locked.get("shop") == SECRET


class Slow(Ring):
    """One that both threads have asked before either has given it a key."""

    def __init__(self) -> None:
        super().__init__()
        self.both = threading.Barrier(2)

    def set_password(self, service: str, account: str, password: str) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            self.both.wait(0.3)
        super().set_password(service, account, password)


def test_two_first_states_at_once_have_one_key(tmp_path: Path) -> None:
    ring = Slow()
    vault = Vault(tmp_path, lambda: ring)
    saving = [threading.Thread(target=vault.put, args=(name, SECRET)) for name in ("one", "two")]
    for one in saving:
        one.start()
    for one in saving:
        one.join()
    assert [Vault(tmp_path, lambda: ring).get(name) for name in ("one", "two")] == [SECRET, SECRET]
