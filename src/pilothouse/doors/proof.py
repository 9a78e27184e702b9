"""A paired browser's proof, as it stands among the protocols that its WebSocket offers, and ours as the first frame.

Above: the bridge's door and the hub's. Below: guard's handshake.
"""

from typing import Any

from pilothouse.errors import Failure
from pilothouse.guard.handshake import Door, Handshake, Proven
from pilothouse.providers import frames

CHOSEN = f"pilothouse.{frames.PROTOCOL}"
PROOF = "pilothouse.proof."  # and our number of the meeting, a dot, the extension's proof


def is_shown(offered: list[str]) -> bool:
    return any(one.startswith(PROOF) for one in offered)


def proven(handshake: Handshake, offered: list[str], door: Door) -> Proven:
    if CHOSEN not in offered:
        raise Failure("bad_request", "this door speaks another protocol", suggestions=[f"offer {CHOSEN}"])
    said = next((one.removeprefix(PROOF) for one in offered if one.startswith(PROOF)), "")
    nonce, _, proof = said.partition(".")
    return handshake.finish(nonce, proof, door)


def first_frame(one: Proven) -> dict[str, Any]:
    return {"type": "proof", "payload": {"proof": one.proof}}
