"""The greeting as the daemon gets it."""

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from pilothouse import __version__
from pilothouse.home import socket_path
from pilothouse.reach import attach
from tests.promises import promise

pytestmark = promise("E03")


class Listener:
    """Stands where a daemon would, and keeps what it is greeted with."""

    def __init__(self, home: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(socket_path(str(home)))
        self._socket.listen()
        self._socket.settimeout(5)
        self.heard: Any = None

    def answer(self) -> None:
        with self._socket, self._socket.accept()[0] as link:
            self.heard = json.loads(link.makefile("rb").readline())
            link.sendall(json.dumps({"pilothouse": __version__, "pid": 1}).encode() + b"\n")


@pytest.mark.parametrize("profile", ["work", "TrueNorth", "FalseFriends", "a'b", 'x"y', "bäcker", ""])
def test_a_greeting_arrives_as_it_was_meant(tmp_path: Path, profile: str):
    listener = Listener(tmp_path)
    thread = threading.Thread(target=listener.answer)
    thread.start()
    hello = {"pilothouse": __version__, "door": "mcp", "profile": profile, "headed": True, "again": False}
    attach(str(tmp_path), hello).close()
    thread.join(5)
    assert listener.heard == hello
