"""Profiles in config.toml: the file is a person's, so everything that was not asked for stays as it was."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pilothouse import tables
from pilothouse.config import load
from pilothouse.errors import Failure
from pilothouse.options import proxy_fault
from pilothouse.profiles import Profiles, Size
from tests.promises import promise

pytestmark = promise("B02", "E09")

WRITTEN = """\
# my settings
[server]
port = 1  # not the usual one

# for the office
[[profiles]]
id = "work"   # short
lang = "de"   # they write in German
tags = ["a", "b"]

# at home
[[profiles]]
id = "home"
name = "Zu Hause"
[profiles.viewport]
width = 1000
height = 700  # small

# never more
[limits]
sessions = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    return path


@pytest.fixture
def profiles(tmp_path: Path, file: Path) -> Profiles:
    return Profiles(tmp_path)


def test_a_new_one_stands_behind_the_last_and_nothing_else_moves(profiles: Profiles, file: Path) -> None:
    made = profiles.add({"name": "Büro Süd!", "timezone": "Europe/Berlin", "viewport": Size(width=800, height=600)})
    assert made.id == "buro-sud"
    new = (
        '\n[[profiles]]\nid = "buro-sud"\nname = "Büro Süd!"\ntimezone = "Europe/Berlin"\n'
        "viewport = {width = 800, height = 600}\n"
    )
    assert file.read_text() == WRITTEN.replace("# small\n", f"# small\n{new}")
    assert load(file).profiles[2] == made


def test_a_change_keeps_the_words_beside_it(profiles: Profiles, file: Path) -> None:
    changed = profiles.change("work", {"lang": "fr", "headless": False, "tags": []})
    assert (changed.lang, changed.headless, changed.tags) == ("fr", False, [])
    expected = WRITTEN.replace('"de"', '"fr"').replace('tags = ["a", "b"]\n', "headless = false\n")
    assert file.read_text() == expected


def test_a_change_in_a_table_below(profiles: Profiles, file: Path) -> None:
    profiles.change("home", {"viewport": Size(width=1200, height=700), "lang": "nl"})
    expected = WRITTEN.replace("1000", "1200").replace('"Zu Hause"\n', '"Zu Hause"\nlang = "nl"\n')
    assert file.read_text() == expected


@pytest.mark.parametrize(
    ("profile_id", "gone"),
    [
        ("work", '[[profiles]]\nid = "work"   # short\nlang = "de"   # they write in German\ntags = ["a", "b"]\n\n'),
        ("home", WRITTEN[WRITTEN.index('[[profiles]]\nid = "home"') : WRITTEN.index("# never more")]),
    ],
)
def test_one_is_taken_out_and_what_stands_below_stays(
    profiles: Profiles, file: Path, profile_id: str, gone: str
) -> None:
    profiles.remove(profile_id)
    assert file.read_text() == WRITTEN.replace(gone, "")


def test_the_last_one_too(profiles: Profiles, file: Path) -> None:
    profiles.remove("work")
    profiles.remove("home")
    assert profiles.all() == []
    for comment in ("# my settings", "# not the usual one", "# never more"):
        assert comment in file.read_text()
    assert load(file).limits.sessions == 3
    profiles.add({"name": "again"})
    assert [one.id for one in profiles.all()] == ["again"]


@pytest.mark.parametrize("text", ["", "[server]\nport = 2", "profiles = []\n", 'profiles = [{id = "a"}, {id = "b"}]\n'])
def test_files_of_every_form(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    if text:
        file.write_text(text)
    profiles = Profiles(tmp_path)
    before = len(profiles.all())
    profiles.add({"name": "new", "viewport": Size(width=300, height=300), "tags": ["x"]})
    profiles.change("new", {"lang": "de", "tags": ["y"], "viewport": Size(width=400, height=300)})
    found = profiles.get("new")
    assert (found.lang, found.tags, found.viewport) == ("de", ["y"], Size(width=400, height=300))
    profiles.remove("new")
    assert len(profiles.all()) == before
    if "port" in text:
        assert load(file).server.port == 2


def test_lists_in_pieces_are_left_to_the_person(tmp_path: Path) -> None:
    text = '[[profiles]]\nid = "a"\n[server]\nport = 1\n[[profiles]]\nid = "b"\n'
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(Failure, match="without moving its parts"):
        Profiles(tmp_path).add({"name": "c"})
    assert (tmp_path / "config.toml").read_text() == text


@pytest.mark.parametrize("mistake", ["[server]\nprot = 1\n", "[[profiles]]\nname = 'no id'\n", "[server\n"])
def test_a_file_with_a_mistake_is_not_overwritten(tmp_path: Path, mistake: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(mistake)
    for act in (lambda: Profiles(tmp_path).add({"name": "x"}), lambda: Profiles(tmp_path).all()):
        with pytest.raises(Failure, match=r"config\.toml") as caught:
            act()
        assert caught.value.code == "bad_request"
    assert file.read_text() == mistake


@pytest.mark.parametrize(
    ("values", "code", "complaint"),
    [
        ({"id": "work", "name": "x"}, "bad_request", "there is a profile work already"),
        ({"id": "../x"}, "bad_request", "profiles no. 3: id"),
        ({"name": "x", "timezone": "Mars/Base"}, "bad_request", "no time zone Mars/Base"),
        ({"name": "x", "lang": "--no-sandbox"}, "bad_request", "lang"),
        ({"name": "x", "proxy_server": "file:///etc"}, "bad_request", "proxy_server"),
        ({"name": "x", "user_data_dir": "/etc"}, "denied", "user_data_dir must be a name"),
        ({"name": "x", "user_data_dir": "../.."}, "denied", "user_data_dir must be a name"),
        ({"name": "x", "user_data_dir": "a/b"}, "denied", "user_data_dir must be a name"),
        ({"name": "x", "user_data_dir": "work"}, "bad_request", "belongs to profile work"),
        ({"name": "x", "user_data_dir": "~nosuchperson/x"}, "bad_request", "user_data_dir of profile x"),
        ({"name": "x", "user_data_dir": "a\0b"}, "bad_request", "user_data_dir of profile x"),
        ({"name": "x", "viewport": {"width": 1, "height": 700}}, "bad_request", "viewport"),
    ],
)
def test_what_may_not_be_written(
    profiles: Profiles, file: Path, values: dict[str, Any], code: str, complaint: str
) -> None:
    with pytest.raises(Failure, match=complaint) as caught:
        profiles.add(values)
    assert caught.value.code == code
    assert file.read_text() == WRITTEN


def test_a_link_out_of_the_folder_is_outside(profiles: Profiles, tmp_path: Path) -> None:
    profiles.folder.mkdir()
    (profiles.folder / "out").symlink_to(tmp_path)
    with pytest.raises(Failure, match="user_data_dir must be a name"):
        profiles.add({"name": "x", "user_data_dir": "out"})


def test_a_person_may_list_a_directory_elsewhere_but_its_data_stays(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(f'[[profiles]]\nid = "far"\nuser_data_dir = "{far}"\n')
    profiles = Profiles(home)
    assert profiles.data_dir(profiles.get("far")) == far
    assert profiles.change("far", {"lang": "de"}).user_data_dir == str(far)
    with pytest.raises(Failure, match="only a person may remove it"):
        profiles.remove("far", data=True)
    profiles.remove("far")
    assert far.exists()


def test_a_person_may_do_so_by_command_too(tmp_path: Path) -> None:
    far = str(tmp_path / "far")
    assert Profiles(tmp_path, by_person=True).add({"name": "x", "user_data_dir": far}).user_data_dir == far


def test_data_goes_only_when_asked_for(profiles: Profiles) -> None:
    for profile_id in ("work", "home"):
        (profiles.folder / profile_id).mkdir(parents=True)
    profiles.remove("work")
    profiles.remove("home", data=True)
    assert [one.name for one in profiles.folder.iterdir()] == ["work"]


def test_names_that_are_alike_get_ids_that_differ(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path)
    names = ["Shop", "Shop!", "shop?"]
    assert [profiles.add({"name": one}).id for one in names] == ["shop", "shop-2", "shop-3"]
    assert profiles.add({"name": "店"}).id == "profile"
    with pytest.raises(Failure, match="there is no profile 'nobody'") as caught:
        profiles.get("nobody")
    assert caught.value.suggestions == ["profiles: shop, shop-2, shop-3, profile"]


def test_a_name_is_given_once(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path)
    profiles.add({"name": "Work"})
    profiles.add({"id": "hand"})
    for name, taken in (("Work", "work"), ("WORK", "work"), ("hand", "hand")):
        with pytest.raises(Failure, match=f"there is a profile of this name already: {taken}") as caught:
            profiles.add({"name": name})
        assert "or choose another name" in caught.value.suggestions
    with pytest.raises(Failure, match="of this name already"):
        profiles.change("hand", {"name": "work"})
    profiles.change("work", {"name": "work"})  # its own
    assert [one.id for one in profiles.all()] == ["work", "hand"]
    file = tmp_path / "config.toml"
    file.write_text(file.read_text() + '[[profiles]]\nid = "third"\nname = "work"\n')  # a person may, by hand
    file.write_text(file.read_text().replace('id = "work"', 'id = "first"'))
    with pytest.raises(Failure, match="2 profiles have this name"):
        profiles.get("work")


@pytest.mark.parametrize(
    "address",
    [
        "http://proxy.test:3128",
        "proxy.test:3128",
        "socks5://u:p@[::1]:1080",
        "http://proxy.test",
        "u:p@h:1/",
        "ä.test:1",
    ],
)
def test_addresses_of_proxies(tmp_path: Path, address: str) -> None:
    assert proxy_fault(address) == ""
    assert Profiles(tmp_path).add({"name": "x", "proxy_server": address}).proxy_server == address


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("bogus", "say its port"),
        ("http://", "no host"),
        ("http://:3128", "no host"),
        ("h:p:1", "no host"),
        ("ftp://proxy.test:21", "scheme"),
        ("http://proxy.test:0", "port"),
        ("http://proxy.test:99999", "port"),
        ("http://proxy..test:1", "no host"),
        ("http://not a host:1", "no host"),
    ],
)
def test_what_is_no_address_of_a_proxy_is_told_when_it_is_written(tmp_path: Path, address: str, why: str) -> None:
    assert why in proxy_fault(address)
    with pytest.raises(Failure, match="proxy_server"):
        Profiles(tmp_path).add({"name": "x", "proxy_server": address})
    assert not (tmp_path / "config.toml").exists()


def test_the_mode_of_the_file_and_a_link_to_it_are_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    real.chmod(0o640)
    (tmp_path / "config.toml").symlink_to(real)
    Profiles(tmp_path).add({"name": "x"})
    assert (tmp_path / "config.toml").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    fresh = Profiles(tmp_path, tmp_path / "sub" / "other.toml")
    fresh.add({"name": "x"})
    assert (tmp_path / "sub" / "other.toml").stat().st_mode & 0o777 == 0o600


def test_an_edit_by_hand_in_between_is_respected(
    profiles: Profiles, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tables._lines
    saved: list[bool] = []

    def slowly(values: dict[str, Any]) -> str:
        if not saved:
            saved.append(True)
            file.write_text(WRITTEN + '[log]\nlevel = "debug"\n')
        return lines(values)

    monkeypatch.setattr(tables, "_lines", slowly)
    profiles.add({"name": "new"})
    assert load(file).log.level == "debug"
    assert profiles.get("new")
    assert sorted(one.name for one in file.parent.iterdir()) == [".config.toml.lock", "config.toml"]


def test_a_write_that_fails_leaves_the_old_file(
    profiles: Profiles, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(Failure, match="cannot be written: no space"):
        profiles.add({"name": "new"})
    assert file.read_text() == WRITTEN
    assert [one.name for one in file.parent.iterdir() if one.name.startswith(".config.toml.")] == [".config.toml.lock"]


_WRITER = """
import sys
from pathlib import Path
from pilothouse.profiles import Profiles
for number in range(10):
    Profiles(Path(sys.argv[1])).add({"name": "same" + "!" * (int(sys.argv[2]) * 10 + number + 1)})
"""


def test_writers_at_the_same_time_lose_nothing(file: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, file.parent, str(one)]) for one in range(3)]
    assert [one.wait(60) for one in running] == [0, 0, 0]
    ids = [one["id"] for one in tomllib.loads(file.read_text())["profiles"]]
    assert len(ids) == len(set(ids)) == 32
    assert "# never more" in file.read_text()


def test_line_ends_of_another_system_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(WRITTEN.replace("\n", "\r\n").encode())
    Profiles(tmp_path).change("Zu Hause", {"lang": "nl"})
    expected = WRITTEN.replace('"Zu Hause"\n', '"Zu Hause"\nlang = "nl"\n').replace("\n", "\r\n")
    assert file.read_bytes() == expected.encode()


def test_a_directory_has_one_profile(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path)
    profiles.add({"name": "A", "user_data_dir": "work"})
    with pytest.raises(Failure, match="belongs to profile a"):
        profiles.add({"id": "work"})
    assert profiles.add({"name": "Work"}).id == "work-2"
    profiles.add({"id": "b", "user_data_dir": "c"})
    profiles.add({"id": "d", "user_data_dir": "b"})
    with pytest.raises(Failure, match="belongs to profile d"):
        profiles.change("b", {"user_data_dir": ""})


def test_data_that_another_profile_has_too_stays(tmp_path: Path) -> None:
    text = '[[profiles]]\nid = "work"\n[[profiles]]\nid = "a"\nuser_data_dir = "work"\n'
    (tmp_path / "config.toml").write_text(text)
    profiles = Profiles(tmp_path)
    (profiles.folder / "work").mkdir(parents=True)
    assert profiles.change("work", {"lang": "de"}).lang == "de"  # what a person wrote can be changed otherwise
    with pytest.raises(Failure, match="the data of profile a is in the same directory") as caught:
        profiles.remove("work", data=True)
    assert caught.value.code == "in_use"
    profiles.remove("work")
    profiles.remove("a", data=True)
    assert not (profiles.folder / "work").exists()
