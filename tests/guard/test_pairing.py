"""F01: a browser is paired by a person's code, once; what is kept of it only this user can read, and nobody is shown."""

import json
import threading
from pathlib import Path

import pytest

from pilothouse.errors import Failure
from pilothouse.guard import pairing as pairing_module
from pilothouse.guard.known import known
from pilothouse.guard.pairing import CODE_S, CODE_TRIES, MOST, Pairing, stretched
from tests.guard.clock import Clock
from tests.promises import promise

pytestmark = promise("F01")

INSTALL = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pairing(tmp_path: Path, clock: Clock) -> Pairing:
    return Pairing(tmp_path, clock)


def another(code: str) -> str:
    return ("A" if code[0] != "A" else "B") + code[1:]


def redeem(pairing: Pairing, code: str) -> None:
    """As one does who types it: the salt is told, the key made of both."""
    _, salt = pairing.code_key()
    pairing.redeem(lambda key: key == stretched(code, salt))


def refused(pairing: Pairing, code: str) -> str:
    with pytest.raises(Failure) as caught:
        redeem(pairing, code)
    assert caught.value.code == "unauthorized"
    assert caught.value.suggestions
    return caught.value.message


def test_a_code_is_good_once(pairing: Pairing):
    code = pairing.new_code()
    redeem(pairing, code)
    assert "no pairing code is open" in refused(pairing, code)


def test_a_code_ends_after_five_minutes(pairing: Pairing, clock: Clock):
    code = pairing.new_code()
    clock.now += CODE_S
    assert "no pairing code is open" in refused(pairing, code)


def test_a_code_that_ends_while_it_is_stretched_is_refused(pairing: Pairing, clock: Clock):
    pairing.new_code()
    pairing.code_key()
    clock.now += CODE_S
    with pytest.raises(Failure, match="no pairing code is open"):
        pairing.redeem(lambda key: True)


def test_wrong_tries_wear_a_code_out(pairing: Pairing):
    code = pairing.new_code()
    for _ in range(CODE_TRIES - 1):
        assert refused(pairing, another(code)) == "that is not the code"
    assert "void" in refused(pairing, another(code))
    refused(pairing, code)


def test_a_new_code_takes_the_place_of_the_last(pairing: Pairing):
    first, second = pairing.new_code(), pairing.new_code()
    refused(pairing, first)
    redeem(pairing, second)


def test_no_code_no_entry(pairing: Pairing):
    refused(pairing, "ABCD-EFGH")


def test_each_code_is_stretched_with_a_salt_of_its_own(pairing: Pairing):
    pairing.new_code()
    first = pairing.code_key()
    pairing.new_code()
    assert not set(first) & set(pairing.code_key())


def test_a_secret_is_kept_for_this_user_alone_and_shown_to_nobody(pairing: Pairing, tmp_path: Path):
    paired, secret = pairing.add(INSTALL, "Anna's Chrome!")
    assert paired.name == "anna-s-chrome"
    assert (pairing.of(INSTALL), pairing.secret(INSTALL), pairing.secret(OTHER)) == (paired, secret, None)
    file = tmp_path / "browsers.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret not in repr(pairing.browsers())
    assert known.holds(f"it says {secret} somewhere")
    again = Pairing(tmp_path)
    assert (again.of(INSTALL), again.secret(INSTALL)) == (paired, secret)


def test_a_file_that_others_can_read_is_no_secret_any_more(pairing: Pairing, tmp_path: Path):
    pairing.add(INSTALL, "")
    (tmp_path / "browsers.json").chmod(0o644)
    with pytest.raises(Failure, match="other users") as caught:
        Pairing(tmp_path)
    assert caught.value.suggestions


def test_each_browser_has_a_name_of_its_own(pairing: Pairing):
    names = [
        pairing.add(f"{n:08}-2222-3333-4444-555555555555", wish)[0].name for n, wish in enumerate(["", "Chrome", "  "])
    ]
    assert names == ["chrome", "chrome-2", "chrome-3"]


@pytest.mark.parametrize("wish", ["work", "Work!", "", " "])
def test_the_same_browser_paired_again_keeps_its_name_and_loses_its_old_secret(pairing: Pairing, wish: str):
    pairing.add(OTHER, "work")
    first, old = pairing.add(INSTALL, "work")
    again, new = pairing.add(INSTALL, wish)
    assert again.name == first.name == "work-2"
    assert pairing.secret(INSTALL) == new != old
    assert len(pairing.browsers()) == 2


@pytest.mark.parametrize(
    ("wish", "name"), [("Other name", "other-name"), ("work-shop", "work-shop"), ("Home", "home-2")]
)
def test_it_gets_another_name_when_its_person_says_one(pairing: Pairing, wish: str, name: str):
    pairing.add(OTHER, "home")
    pairing.add(INSTALL, "work")
    assert pairing.add(INSTALL, wish)[0].name == name
    assert [one.name for one in pairing.browsers()] == ["home", name]


def test_the_port_at_which_it_was_paired_is_kept(pairing: Pairing, tmp_path: Path):
    pairing.add(INSTALL, "work", 8777)
    assert [one.port for one in pairing_module.kept(tmp_path)] == [8777]
    pairing.add(INSTALL, "", 9000)
    assert [(one.name, one.port) for one in Pairing(tmp_path).browsers()] == [("work", 9000)]
    file = tmp_path / "browsers.json"
    file.write_text(file.read_text().replace('"port": 9000', '"other": 1'))  # of a version that did not keep it
    assert [one.port for one in pairing_module.kept(tmp_path)] == [0]


def test_what_is_forgotten_stays_out(pairing: Pairing):
    _, gone = pairing.add(INSTALL, "work")
    _, stays = pairing.add(OTHER, "home")
    pairing.forget("work")
    assert (pairing.secret(INSTALL), pairing.secret(OTHER)) == (None, stays)
    assert not known.holds(gone)
    with pytest.raises(Failure, match="no browser work") as caught:
        pairing.forget("work")
    assert caught.value.suggestions == ["paired: home"]


def test_there_is_an_end_to_how_many(pairing: Pairing):
    for n in range(MOST):
        pairing.add(f"{n:08}-2222-3333-4444-555555555555", "")
    with pytest.raises(Failure) as caught:
        pairing.new_code()
    assert caught.value.code == "over_limit"


@pytest.mark.parametrize(
    "kept",
    [
        {"browsers": [{"name": 1}]},
        {"browsers": [{"name": "work", "install": INSTALL, "paired_at": 1.0}]},
        {"browsers": [], "secrets": {INSTALL: "x"}},
    ],
)
def test_a_file_nobody_can_read_says_what_to_do(tmp_path: Path, kept: object):
    (tmp_path / "browsers.json").write_text(json.dumps(kept))
    (tmp_path / "browsers.json").chmod(0o600)
    with pytest.raises(Failure) as caught:
        Pairing(tmp_path)
    assert "pair them again" in caught.value.suggestions[0]
    with pytest.raises(Failure):
        pairing_module.kept(tmp_path)


def test_only_a_file_of_this_users_is_read(pairing: Pairing, tmp_path: Path):
    pairing.add(INSTALL, "work")
    assert [one.name for one in pairing_module.kept(tmp_path)] == ["work"]
    (tmp_path / "browsers.json").rename(tmp_path / "elsewhere.json")
    (tmp_path / "browsers.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(Failure):
        Pairing(tmp_path)


def test_many_at_once_lose_nobody(pairing: Pairing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They come from threads, and each writes the whole file."""
    installs = [f"{n:08}-2222-3333-4444-555555555555" for n in range(8)]
    begun = threading.Barrier(len(installs))
    free_name = pairing_module._free_name  # pyright: ignore[reportPrivateUsage]

    def slowly(wish: str, taken: set[str]) -> str:
        threading.Event().wait(0.02)  # what was read grows old
        return free_name(wish, taken)

    monkeypatch.setattr(pairing_module, "_free_name", slowly)

    def come(install: str) -> None:
        begun.wait()
        pairing.add(install, "work")

    coming = [threading.Thread(target=come, args=(install,)) for install in installs]
    for one in coming:
        one.start()
    for one in coming:
        one.join()
    kept = Pairing(tmp_path).browsers()
    assert {one.install for one in kept} == set(installs)
    assert len({one.name for one in kept}) == len(installs)


def test_a_stop_is_kept_until_it_is_heard_and_goes_with_its_browser(pairing: Pairing, tmp_path: Path):
    paired, _ = pairing.add(INSTALL, "work")
    pairing.owe_stop(OTHER, True)  # nobody's
    pairing.owe_stop(INSTALL, True)
    again = Pairing(tmp_path)
    assert (again.owes_stop(INSTALL), again.owes_stop(OTHER)) == (True, False)
    assert pairing.of(INSTALL) is paired
    pairing.add(INSTALL, "work")
    assert pairing.owes_stop(INSTALL)
    assert not pairing.drop(paired)  # it was paired anew since
    pairing.forget("work")
    pairing.add(INSTALL, "work")
    assert not Pairing(tmp_path).owes_stop(INSTALL)
