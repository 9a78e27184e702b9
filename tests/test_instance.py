"""Locks, files and ports of an instance."""

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from pilothouse import instance
from pilothouse.home import daemon_file, socket_path
from tests.promises import promise

pytestmark = promise("E01", "E03")


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path)


def test_one_claim_at_a_time(home: str) -> None:
    assert not instance.is_held(home)
    with instance.Claim(home):
        assert instance.is_held(home)
        with pytest.raises(instance.StartError, match=f"pid {os.getpid()}"):
            instance.Claim(home)
    assert not instance.is_held(home)


def test_looking_at_the_lock_does_not_keep_a_daemon_from_it(home: str) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            instance.is_held(home)

    looker = threading.Thread(target=look)
    looker.start()
    try:
        for _ in range(50):
            with instance.Claim(home):
                pass
    finally:
        stop.set()
        looker.join()


def test_what_is_published_counts_only_while_its_daemon_lives(home: str) -> None:
    with instance.Claim(home):
        instance.publish(home, {"pid": 1})
        assert instance.published(home) == {"pid": 1}
        assert stat.S_IMODE(os.stat(daemon_file(home)).st_mode) == 0o600
    assert instance.published(home) is None
    instance.withdraw(home)
    instance.withdraw(home)
    assert sorted(os.listdir(home)) == ["daemon.lock"]


def test_the_owner_of_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert instance.port_owner(server.getsockname()[1]).startswith(f"pid {os.getpid()} (")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        assert instance.port_owner(server.getsockname()[1]).startswith(f"pid {os.getpid()} (")
    assert instance.port_owner(1) == "another program"


def test_a_full_log_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    instance.trim_log(str(path), 10)
    path.write_text("short")
    instance.trim_log(str(path), 10)
    assert path.exists()
    path.write_text("quite a bit longer")
    instance.trim_log(str(path), 10)
    assert not path.exists()
    assert (tmp_path / "daemon.log.1").read_text() == "quite a bit longer"


def test_a_daemon_that_hangs_up_before_it_answers(home: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_path(home))
        server.listen()
        threading.Thread(target=lambda: server.accept()[0].close()).start()
        with pytest.raises(OSError):  # noqa: PT011
            instance.ask(home, b"{}")
