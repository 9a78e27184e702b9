"""How the daemon and a browser's extension show each other that they know the same key, and neither ever says it.

Above: the doors that paired browsers come to. Below: pairing, which has the keys. Whoever sits on the daemon's port
while it is down learns from an extension two things that open nothing: the name of its install, and a number that it
made up. The daemon shows its knowledge first, for one port; then the extension, once and for one door; then the daemon
again, on the socket that came of it.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.pairing import Paired, Pairing

MEETING_S = 10.0
MOST_OPEN = 64

By = Literal["secret", "code"]
Role = Literal["daemon", "extension", "socket"]
Door = Literal["bridge", "signaling"]


class Meeting(msgspec.Struct, frozen=True):
    """What both sides said before a socket: every proof is made of all of it."""

    by: By
    install: str
    theirs: str
    ours: str
    port: int

    def proof(self, key: bytes, role: Role, door: Door = "bridge") -> str:
        """Each part with its length before it, so that no two meetings read the same."""
        parts = [f"pilothouse-{door}-1", role, self.by, self.install, self.theirs, self.ours, str(self.port)]
        message = b"".join(len(part).to_bytes(4, "big") + part for part in (one.encode() for one in parts))
        return base64.urlsafe_b64encode(hmac.digest(key, message, hashlib.sha256)).decode().rstrip("=")


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the extension hears; `salt` is what a code is stretched with."""

    nonce: str
    proof: str
    salt: str = ""


class Proven(msgspec.Struct, frozen=True):
    """Somebody who knows the key. `paired` is None for one that came with a code; `proof` is ours for its socket."""

    install: str
    paired: Paired | None
    proof: str


class _Open(msgspec.Struct, frozen=True):
    meeting: Meeting
    until: float


class Handshake:
    """Meetings that wait for the extension's proof, each for ten seconds and one try; of too many the oldest go."""

    def __init__(self, pairing: Pairing, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._pairing = pairing
        self._port = port
        self._clock = clock
        self._open: dict[str, _Open] = {}

    def answer(self, by: By, install: str, nonce: str) -> Answer:
        """Our proof, for an extension that asks; `unauthorized` when there is no key that both could know."""
        key, salt = self._pairing.code_key() if by == "code" else (self._secret(install), "")
        meeting = Meeting(by, install, nonce, secrets.token_urlsafe(32), self._port)
        self._open[meeting.ours] = _Open(meeting, self._clock() + MEETING_S)
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]
        return Answer(meeting.ours, meeting.proof(key, "daemon"), salt)

    def finish(self, nonce: str, proof: str, door: Door = "bridge") -> Proven:
        """The extension's proof: right or wrong, the only one for that meeting, and good at one door. A right one uses
        its code up."""
        opened = self._open.pop(nonce, None)
        if opened is None or self._clock() >= opened.until:
            raise _refused("this proof is old, or was used before", "ask anew: POST /bridge begins")
        meeting = opened.meeting

        def fits(key: bytes) -> bool:
            right = meeting.proof(key, "extension", door)
            return hmac.compare_digest(right.encode(), proof.encode("utf-8", "replace"))

        if meeting.by == "code":
            if door != "bridge":
                raise _refused("a code opens the bridge only", _PAIR)
            key, paired = self._pairing.redeem(fits), None
        else:
            key, paired = self._secret(meeting.install), self._pairing.of(meeting.install)
            if not fits(key):
                raise _refused("this proof is wrong", _PAIR)
        return Proven(meeting.install, paired, meeting.proof(key, "socket", door))

    def holds(self, proven: Proven) -> bool:
        """Whether it is paired still, and was not paired anew meanwhile."""
        return proven.paired is not None and self._pairing.of(proven.install) is proven.paired

    def _secret(self, install: str) -> bytes:
        secret = self._pairing.secret(install)
        if secret is None:
            raise _refused("this browser is not paired (any more)", _PAIR)
        return secret.encode()


_PAIR = "pair it: `pilothouse extension pair` shows a code for the extension's popup"


def _refused(why: str, hint: str) -> Failure:
    return Failure("unauthorized", why, suggestions=[hint])
