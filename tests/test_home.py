"""The home: private, found by one rule, and cheap to ask for."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from platformdirs.unix import Unix

from pilothouse import home
from tests.promises import promise

pytestmark = promise("E01", "E09")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "deep" / "home"
    monkeypatch.setenv("PILOTHOUSE_HOME", str(path))
    return path


def test_is_made_private(place: Path):
    assert home.home() == place
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("names", [[], ["config.toml"]])
def test_tightens_a_directory_of_ours(place: Path, names: list[str]):
    place.mkdir(parents=True, mode=0o755)
    for name in names:
        (place / name).touch()
    home.home()
    assert place.stat().st_mode & 0o777 == 0o700


def test_refuses_to_take_over_a_shared_directory(place: Path):
    place.mkdir(parents=True)
    place.chmod(0o755)
    (place / "holiday.jpg").touch()
    with pytest.raises(PermissionError, match="chmod 700"):
        home.home()
    assert place.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(sys.platform != "linux", reason="compares with platformdirs for Linux")
@pytest.mark.parametrize("state", ["", "/somewhere/state"])
def test_default_is_the_one_of_platformdirs(monkeypatch: pytest.MonkeyPatch, state: str):
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert os.path.expanduser(home._default()) == Unix("pilothouse", appauthor=False).user_state_dir


def test_socket_lies_in_the_home(place: Path):
    assert home.socket_path("/srv/pilot") == "/srv/pilot/daemon.sock"
    assert home.daemon_file("/srv/pilot") == "/srv/pilot/daemon.json"


def test_socket_of_a_long_home_fits_and_is_private(tmp_path: Path):
    long = tmp_path / ("x" * 120)
    path = home.socket_path(long)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
        assert path == home.socket_path(str(long))
        assert path != home.socket_path(str(long) + "y")
        assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
    finally:
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
        os.rmdir(os.path.dirname(home.socket_path(str(long) + "y")))


def test_socket_directory_of_someone_else_is_refused(tmp_path: Path):
    long = tmp_path / ("z" * 120)
    directory = os.path.dirname(home.socket_path(long))
    os.chmod(directory, 0o755)
    try:
        with pytest.raises(PermissionError, match="not a private directory"):
            home.socket_path(long)
        os.rmdir(directory)
        os.symlink(tmp_path, directory)
        with pytest.raises(PermissionError, match="not a private directory"):
            home.socket_path(long)
    finally:
        os.unlink(directory)


def test_costs_the_bridge_nothing(place: Path):
    code = (
        "import sys; bare = set(sys.modules); from pilothouse import home; home.socket_path(home.directory());"
        "print(*(set(sys.modules) - bare))"
    )
    run = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) <= {"pilothouse", "pilothouse.home", "__future__"}
