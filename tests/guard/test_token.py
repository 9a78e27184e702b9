"""No byte of a debug token can be changed, moved, replayed, dated otherwise or spelled otherwise."""

import base64
import itertools
import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse.errors import Failure
from pilothouse.guard import token as tokens
from pilothouse.guard.token import Claim, Signer, Spent
from tests.promises import promise

pytestmark = promise("G03")

NOW = 1_800_000_000.0
SECRET, OTHER = "s" * 32, "o" * 40
ALPHABET = string.ascii_letters + string.digits + "-_"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def signer(clock: Clock) -> Signer:
    return Signer([SECRET], clock)


def minted(signer: Signer, cocoon: str = "shop", path: str = "/a/b") -> str:
    made = signer.mint(cocoon, path)
    assert made
    return made


def told(token: str) -> dict[str, Any]:
    return json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def spelled(claim: Any) -> str:
    return raw_spelled(json.dumps(claim, separators=(",", ":")).encode())


def raw_spelled(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def refused(signer: Signer, token: str) -> bool:
    try:
        signer.verify(token)
    except Failure as failure:
        return failure.code == "denied"
    return False


def test_a_token_says_what_it_was_minted_for(signer: Signer):
    claim = signer.verify(minted(signer))
    assert (claim.c, claim.p, claim.t) == ("shop", "/a/b", int(NOW * 1000))
    assert list(told(minted(signer))) == ["c", "p", "n", "t", "s"]


def test_no_two_are_alike(signer: Signer):
    assert len({minted(signer) for _ in range(100)}) == 100


def test_every_other_character_at_every_place_is_refused(signer: Signer):
    token = minted(signer)
    for at, was in enumerate(token):
        assert all(refused(signer, token[:at] + one + token[at + 1 :]) for one in ALPHABET if one != was), at


def test_every_bit_of_what_it_carries_counts(signer: Signer):
    token = minted(signer)
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    for at in range(len(raw)):
        for bit in range(8):
            changed = raw[:]
            changed[at] ^= 1 << bit
            assert refused(signer, raw_spelled(bytes(changed))), (at, bit)


def test_a_byte_more_or_less_is_refused(signer: Signer):
    token = minted(signer)
    for at in range(len(token)):
        assert refused(signer, token[:at] + token[at + 1 :])
        assert refused(signer, token[:at] + "A" + token[at:])
    assert all(refused(signer, token[:at]) for at in range(len(token)))
    assert all(refused(signer, token + one) for one in (*ALPHABET, "=", "==", " ", "\n", ".", "é", "\ud800"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("c", "shop2"), ("c", "Shop"), ("c", ""), ("c", None), ("c", 1), ("p", "/a/c"), ("p", "/a/b/"), ("p", "/A/b"),
        ("p", "/a/%62"), ("p", "/a//b"), ("p", ""), ("n", "A" * 22), ("n", ""), ("t", NOW * 1000), ("t", str(int(NOW * 1000))),
        ("t", int(NOW * 1000) + 1), ("t", -1), ("t", True), ("t", 1 << 60), ("s", "A" * 43), ("s", ""), ("s", None),
    ],
)  # fmt: skip
def test_no_field_can_be_changed(signer: Signer, field: str, value: Any):
    claim = told(minted(signer))
    assert refused(signer, spelled({**claim, field: value}))
    assert refused(signer, spelled({key: kept for key, kept in claim.items() if key != field}))


def test_characters_cannot_move_between_fields(signer: Signer):
    """By plain concatenation `shop` + `/1/x` and `shop/1` + `/x` would be signed alike."""
    claim = told(minted(signer, "shop1", "/2/x"))
    keys = ["c", "p", "n", "t"]
    for left, right in itertools.pairwise(keys):
        first, second = str(claim[left]), str(claim[right])
        for at in range(1, 5):
            for pair in ((first[:-at], first[-at:] + second), (first + second[:at], second[at:])):
                moved: dict[str, Any] = {**claim, left: pair[0], right: pair[1]}
                if str(moved["t"]).isdigit():
                    moved["t"] = int(moved["t"])
                assert refused(signer, spelled(moved))


def test_there_is_one_spelling(signer: Signer):
    token = minted(signer)
    claim = told(token)
    plain = json.dumps(claim, separators=(",", ":"))
    others = [
        json.dumps(claim),
        json.dumps(claim, indent=1),
        json.dumps(dict(reversed(claim.items())), separators=(",", ":")),
        json.dumps({**claim, "x": 1}, separators=(",", ":")),
        plain[:-1] + ',"c":"shop"}',
        '{"c":"evil",' + plain[1:],
        plain.replace("shop", "\\u0073hop"),
        plain.replace("/a/b", "\\/a\\/b"),
        plain.replace(str(claim["t"]), f"{claim['t']}.0"),
        plain.replace(str(claim["t"]), f"{claim['t']}e0"),
        plain + " ",
        "\ufeff" + plain,
        json.dumps([claim]),
        json.dumps(list(claim.values())),
    ]
    assert all(refused(signer, raw_spelled(one.encode())) for one in others)
    padded = [one + "=" * (-len(one) % 4) for path in ("/a", "/ab", "/abc") if (one := minted(signer, path=path))]
    assert sum(one.endswith("=") for one in padded) == 2
    assert all(refused(signer, one) for one in padded if one.endswith("="))
    assert refused(signer, base64.b64encode(plain.encode()).decode() + "==")
    assert refused(signer, f" {token}")
    assert raw_spelled(plain.encode()) == token


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=300), st.text(ALPHABET, max_size=300), st.binary(max_size=300).map(raw_spelled)))
def test_nothing_else_verifies(text: str):
    assert refused(Signer([SECRET], lambda: NOW), text)


@settings(max_examples=300, deadline=None)
@given(st.text("abz019-", min_size=1, max_size=63), st.text(max_size=200))
def test_what_is_minted_verifies_or_is_not_minted(cocoon: str, path: str):
    signer = Signer([SECRET], lambda: NOW)
    made = signer.mint(cocoon, path)
    if made is not None:
        claim = signer.verify(made)
        assert (claim.c, claim.p) == (cocoon, path)


def test_a_path_too_long_gets_none(signer: Signer):
    assert signer.mint("shop", "/" + "x" * tokens.MAX_PATH) is None
    longest = minted(signer, "c" * 63, "/" + "x" * (tokens.MAX_PATH - 1))
    assert len(longest) <= tokens.MAX_BYTES
    assert signer.verify(longest)


@pytest.mark.parametrize(
    ("age_s", "good"), [(0, True), (120, True), (149, True), (151, False), (-29, True), (-31, False)]
)
def test_it_expires_and_cannot_come_from_the_future(signer: Signer, clock: Clock, age_s: float, good: bool):
    token = minted(signer)
    clock.now += age_s
    assert refused(signer, token) is not good


def test_it_cannot_be_dated_otherwise(signer: Signer, clock: Clock):
    old = told(minted(signer))
    clock.now += 1000
    assert refused(signer, spelled({**old, "t": int(clock.now * 1000)}))


def test_another_secret_signs_nothing_here(signer: Signer, clock: Clock):
    assert refused(signer, minted(Signer([OTHER], clock)))


def test_two_secrets_hold_while_one_is_replaced(signer: Signer, clock: Clock):
    both = Signer([OTHER, SECRET], clock)
    assert both.verify(minted(signer)).c == "shop"
    assert Signer([OTHER], clock).verify(minted(both)).c == "shop"
    assert refused(signer, minted(both))


@pytest.mark.parametrize("secret", ["", "short", "s" * 31])
def test_a_short_secret_is_refused_with_what_to_do(secret: str):
    with pytest.raises(Failure, match="needs 32") as caught:
        Signer([secret])
    assert any("HIVE_SECRET=" in step for step in caught.value.suggestions)


def test_no_secret_is_refused():
    with pytest.raises(Failure, match="HIVE_SECRET is not set"):
        Signer([])


def test_it_is_good_once(signer: Signer, clock: Clock):
    spent = Spent(clock)
    claim = signer.verify(minted(signer))
    spent.use(claim)
    for _ in range(3):
        with pytest.raises(Failure, match="not valid"):
            spent.use(claim)
    spent.use(signer.verify(minted(signer)))


def test_a_used_one_is_remembered_as_long_as_it_verifies(signer: Signer, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens, "MAX_SPENT", 2)
    spent = Spent(clock)
    token = minted(signer)
    spent.use(signer.verify(token))
    clock.now += 149
    spent.use(signer.verify(minted(signer)))
    with pytest.raises(Failure, match="too many"):
        spent.use(signer.verify(minted(signer)))
    with pytest.raises(Failure):
        spent.use(signer.verify(token))
    clock.now += 60
    spent.use(signer.verify(minted(signer)))
    assert refused(signer, token)


def test_the_claim_is_what_the_seed_says():
    assert Claim.__struct_fields__ == ("c", "p", "n", "t", "s")


def test_a_ticket_brings_one_browser_of_one_user_back(signer: Signer, clock: Clock):
    token = minted(signer)
    ticket = signer.ticket(token, "ann", "b1")
    clock.now += 100_000
    assert signer.returned(token, ticket, "ann", "b1").c == "shop"
    assert Signer([OTHER, SECRET], clock).returned(token, ticket, "ann", "b1").c == "shop"
    other = minted(signer)
    for wrong in (
        (token, ticket, "ben", "b1"),
        (token, ticket, "ann", "b2"),
        (token, ticket, "annb", "1"),
        (other, ticket, "ann", "b1"),
        (token, "", "ann", "b1"),
        (token, ticket[:-1], "ann", "b1"),
        (token, told(token)["s"], "ann", "b1"),
        (token[:-2], ticket, "ann", "b1"),
    ):
        with pytest.raises(Failure, match="not valid"):
            signer.returned(*wrong)


def test_a_handle_is_the_same_for_the_same_tab_alone(signer: Signer, clock: Clock):
    token, other = minted(signer), minted(signer)
    handle = signer.handle(token, "ann", "b1")
    assert Signer([SECRET], clock).handle(token, "ann", "b1") == handle
    for tab in ((other, "ann", "b1"), (token, "ben", "b1"), (token, "ann", "b2"), (token, "annb", "1")):
        assert signer.handle(*tab) != handle
    assert Signer([OTHER], clock).handle(token, "ann", "b1") != handle
    assert Signer([OTHER, SECRET], clock).handle(token, "ann", "b1") == handle  # while the secret is replaced
    assert base64.urlsafe_b64encode(handle).rstrip(b"=") != signer.ticket(token, "ann", "b1").encode()


def test_a_token_of_another_secret_is_noticed(signer: Signer, clock: Clock):
    """By whoever runs the hub; who brought it hears no more than of any other token."""
    noticed: list[bool] = []
    signer.on_foreign = lambda: noticed.append(True)
    with pytest.raises(Failure, match="not valid"):
        signer.verify(minted(Signer([OTHER], clock)))
    assert noticed == [True]
    with pytest.raises(Failure, match="not valid"):
        signer.verify("nonsense")
    assert noticed == [True]
