"""What an extension says to come in, for tests that are one themselves."""

import secrets
from typing import Any, Literal, NamedTuple

from websockets.typing import Subprotocol

from pilothouse.guard.handshake import Door, Meeting
from pilothouse.guard.pairing import stretched

INSTALL = "11111111-2222-3333-4444-555555555555"


class Key(NamedTuple):
    """What it knows."""

    by: Literal["secret", "code"]
    text: str
    install: str = INSTALL


class Caller:
    """One meeting: `knock` is the body of the POST, `offered` goes into the WebSocket, `first` is the daemon's answer."""

    def __init__(self, key: Key, port: int, door: Door = "bridge") -> None:
        self._key = key
        self._port = port
        self._door: Door = door
        self._nonce = secrets.token_urlsafe(32)
        self.first = ""

    @property
    def knock(self) -> dict[str, Any]:
        return {"protocol": 1, "install": self._key.install, "nonce": self._nonce, "by": self._key.by}

    def offered(self, answer: dict[str, Any]) -> list[Subprotocol]:
        """Also of a daemon that knows another key: the proof is then as wrong as the key."""
        text = self._key.text
        key = stretched(text, answer["salt"]) if self._key.by == "code" else text.encode()
        meeting = Meeting(self._key.by, self._key.install, self._nonce, answer["nonce"], self._port)
        self.is_daemon = meeting.proof(key, "daemon") == answer["proof"]
        self.first = meeting.proof(key, "socket", self._door)
        proof = meeting.proof(key, "extension", self._door)
        return [Subprotocol("pilothouse.1"), Subprotocol(f"pilothouse.proof.{answer['nonce']}.{proof}")]
