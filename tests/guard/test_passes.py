"""D08, F07: how the person's page gets in. A ticket opens once and soon; a pass holds with its key and its time."""

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.passes import MAX_TICKETS, PASS_S, TICKET_S, Passes
from tests.promises import promise

pytestmark = promise("D08", "F07")


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_ticket_opens_once(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    ticket = passes.new_ticket()
    assert passes.opens(passes.redeem(ticket))
    with pytest.raises(Failure, match="used, or is too old"):
        passes.redeem(ticket)


def test_a_ticket_ends(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    ticket = passes.new_ticket()
    clock.now += TICKET_S + 1
    with pytest.raises(Failure):
        passes.redeem(ticket)


def test_a_ticket_is_no_key(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    assert not passes.opens(passes.new_ticket())


def test_tickets_do_not_pile_up(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    first, *others = [passes.new_ticket() for _ in range(MAX_TICKETS + 1)]
    with pytest.raises(Failure):
        passes.redeem(first)
    assert passes.redeem(others[-1])


def test_a_pass_ends_with_its_time(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    made = passes.new_pass()
    assert passes.opens(made)
    clock.now += PASS_S + 1
    assert not passes.opens(made)


def test_a_pass_ends_with_the_daemon(clock: Clock):
    """Whoever listened on its port afterwards may have heard it."""
    made = Passes(lambda: "the person's key", clock=clock).new_pass()
    assert not Passes(lambda: "the person's key", clock=clock).opens(made)


def test_a_panels_pass_ends_with_its_pairing(clock: Clock):
    paired = {"one"}
    passes = Passes(lambda: "the person's key", lambda install: install in paired, clock)
    made = passes.new_pass("one")
    assert passes.opens(made)
    assert passes.holder(made) == "one"
    assert not passes.opens(passes.new_pass("two"))
    paired.clear()
    assert not passes.opens(made)


def test_what_a_panel_opens_ends_with_its_pairing_too(clock: Clock):
    paired = {"one"}
    passes = Passes(lambda: "the person's key", lambda install: install in paired, clock)
    asked_with = passes.new_pass("one")
    opened = passes.redeem(passes.new_ticket(passes.holder(asked_with)))
    assert passes.opens(opened)
    renewed = passes.new_pass(passes.holder(opened))
    paired.clear()
    assert not passes.opens(opened)
    assert not passes.opens(renewed)


def test_the_key_itself_is_nobodys(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    assert passes.opens(passes.redeem(passes.new_ticket(passes.holder("the person's key"))))


def test_a_pass_ends_with_the_key(clock: Clock):
    key = "the person's key"
    passes = Passes(lambda: key, clock=clock)
    made = passes.new_pass()
    key = "another one"
    assert not passes.opens(made)
    key = ""
    assert not passes.opens(made)


@pytest.mark.parametrize(
    "forged", ["", "pass", "pass....", "pass.9.9.-.9", "pass.99999999999999999.a.-.b", "pass.²³.a.-.b"]
)
def test_nonsense_opens_nothing(clock: Clock, forged: str):
    assert not Passes(lambda: "the person's key", clock=clock).opens(forged)


def test_a_pass_cannot_be_stretched(clock: Clock):
    passes = Passes(lambda: "the person's key", clock=clock)
    _, until, nonce, holder, seal = passes.new_pass().split(".")
    assert not passes.opens(f"pass.{int(until) + 1}.{nonce}.{holder}.{seal}")
    assert not passes.opens(f"pass.{until}.{nonce}0.{holder}.{seal}")
    assert not passes.opens(f"pass.{until}.{nonce}.one.{seal}")
