"""E01, F01: the daemon and an extension prove to each other what they know; whoever listens learns nothing to use."""

from pathlib import Path

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.handshake import MEETING_S, MOST_OPEN, Handshake, Meeting, Proven
from pilothouse.guard.pairing import CODE_TRIES, Pairing, stretched
from tests.guard.clock import Clock
from tests.promises import promise

pytestmark = promise("E01", "F01")

INSTALL = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"
PORT = 8777
NONCE = "n" * 43


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pairing(tmp_path: Path, clock: Clock) -> Pairing:
    return Pairing(tmp_path, clock)


@pytest.fixture
def handshake(pairing: Pairing, clock: Clock) -> Handshake:
    return Handshake(pairing, PORT, clock)


@pytest.fixture
def key(pairing: Pairing) -> bytes:
    return pairing.add(INSTALL, "work")[1].encode()


def refused(handshake: Handshake, nonce: str, proof: str) -> str:
    with pytest.raises(Failure) as caught:
        handshake.finish(nonce, proof)
    assert (caught.value.code, bool(caught.value.suggestions)) == ("unauthorized", True)
    return caught.value.message


def met(handshake: Handshake) -> Meeting:
    return Meeting("secret", INSTALL, NONCE, handshake.answer("secret", INSTALL, NONCE).nonce, PORT)


def test_both_know_it(handshake: Handshake, pairing: Pairing, key: bytes):
    answer = handshake.answer("secret", INSTALL, NONCE)
    meeting = Meeting("secret", INSTALL, NONCE, answer.nonce, PORT)
    assert (answer.proof, answer.salt) == (meeting.proof(key, "daemon"), "")
    proven = handshake.finish(answer.nonce, meeting.proof(key, "extension"))
    assert (proven.install, proven.paired) == (INSTALL, pairing.of(INSTALL))
    assert proven.proof == meeting.proof(key, "socket")


def test_a_code_once(handshake: Handshake, pairing: Pairing):
    code = pairing.new_code()
    one, two = handshake.answer("code", INSTALL, NONCE), handshake.answer("code", OTHER, NONCE)
    key = stretched(code, one.salt)
    first, second = (Meeting("code", *who, PORT) for who in ((INSTALL, NONCE, one.nonce), (OTHER, NONCE, two.nonce)))
    assert one.proof == first.proof(key, "daemon")
    proven = handshake.finish(one.nonce, first.proof(key, "extension"))
    assert (proven.install, proven.paired) == (INSTALL, None)
    assert "no pairing code" in refused(handshake, two.nonce, second.proof(key, "extension"))


def test_a_proof_is_made_of_everything(key: bytes):
    """Whatever is different in a meeting, or in where its parts end, makes another proof."""
    meetings = [
        Meeting("secret", INSTALL, NONCE, "ours", PORT),
        Meeting("code", INSTALL, NONCE, "ours", PORT),
        Meeting("secret", OTHER, NONCE, "ours", PORT),
        Meeting("secret", INSTALL, "m" * 43, "ours", PORT),
        Meeting("secret", INSTALL, NONCE, "others", PORT),
        Meeting("secret", INSTALL, NONCE, "ours", PORT + 1),
        Meeting("secret", INSTALL, NONCE + "o", "urs", PORT),
        Meeting("secret", INSTALL, NONCE, "ours8", 777),
    ]
    proofs = {one.proof(key, role) for one in meetings for role in ("daemon", "extension", "socket")}
    proofs |= {one.proof(key + b"x", "daemon") for one in meetings}
    proofs |= {one.proof(key, role, "signaling") for one in meetings for role in ("extension", "socket")}
    assert len(proofs) == len(meetings) * 6
    assert not any(key.decode() in one for one in proofs)


def test_a_proof_is_for_one_door(handshake: Handshake, pairing: Pairing, key: bytes):
    meeting = met(handshake)
    assert refused(handshake, meeting.ours, meeting.proof(key, "extension", "signaling")) == "this proof is wrong"
    meeting = met(handshake)
    with pytest.raises(Failure, match="this proof is wrong"):
        handshake.finish(meeting.ours, meeting.proof(key, "extension"), "signaling")
    meeting = met(handshake)
    proven = handshake.finish(meeting.ours, meeting.proof(key, "extension", "signaling"), "signaling")
    assert (proven.paired, proven.proof) == (pairing.of(INSTALL), meeting.proof(key, "socket", "signaling"))


def test_a_code_is_for_the_bridge_and_not_worn_out_elsewhere(handshake: Handshake, pairing: Pairing):
    code, salt = pairing.new_code(), ""
    for _ in range(CODE_TRIES + 1):
        answer = handshake.answer("code", INSTALL, NONCE)
        salt = answer.salt
        proof = Meeting("code", INSTALL, NONCE, answer.nonce, PORT).proof(
            stretched(code, answer.salt), "extension", "signaling"
        )
        with pytest.raises(Failure, match="the bridge only"):
            handshake.finish(answer.nonce, proof, "signaling")
    assert pairing.code_key()[0] == stretched(code, salt)


def test_what_was_proven_holds_until_it_is_forgotten_or_paired_anew(handshake: Handshake, pairing: Pairing, key: bytes):
    def proven(known: bytes) -> Proven:
        meeting = met(handshake)
        return handshake.finish(meeting.ours, meeting.proof(known, "extension"))

    first = proven(key)
    pairing.add(OTHER, "other")
    assert handshake.holds(first)
    second = pairing.add(INSTALL, "work")[1].encode()
    assert not handshake.holds(first)
    last = proven(second)
    assert handshake.holds(last)
    pairing.forget("work")
    assert not handshake.holds(last)


def test_every_meeting_has_one_try(handshake: Handshake, key: bytes):
    meeting = met(handshake)
    assert refused(handshake, meeting.ours, "\ud800") == "this proof is wrong"
    assert "used before" in refused(handshake, meeting.ours, meeting.proof(key, "extension"))


def test_a_meeting_ends_after_ten_seconds(handshake: Handshake, key: bytes, clock: Clock):
    meeting = met(handshake)
    clock.now += MEETING_S
    assert "old" in refused(handshake, meeting.ours, meeting.proof(key, "extension"))


def test_a_browser_forgotten_meanwhile_stays_out(handshake: Handshake, pairing: Pairing, key: bytes):
    meeting = met(handshake)
    pairing.forget("work")
    assert "not paired" in refused(handshake, meeting.ours, meeting.proof(key, "extension"))
    with pytest.raises(Failure, match="not paired"):
        handshake.answer("secret", INSTALL, NONCE)


def test_one_paired_again_meanwhile_needs_its_new_secret(handshake: Handshake, pairing: Pairing, key: bytes):
    meeting = met(handshake)
    pairing.add(INSTALL, "work")
    assert refused(handshake, meeting.ours, meeting.proof(key, "extension")) == "this proof is wrong"


def test_many_who_ask_and_never_come_cost_no_memory(handshake: Handshake, key: bytes):
    lost = met(handshake)
    for _ in range(MOST_OPEN - 1):
        met(handshake)
    last = met(handshake)
    assert len(handshake._open) == MOST_OPEN
    assert "used before" in refused(handshake, lost.ours, lost.proof(key, "extension"))
    assert handshake.finish(last.ours, last.proof(key, "extension")).paired
