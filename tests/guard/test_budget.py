"""Steps a session, steps an hour: counted for the key, on a clock that nobody can set."""

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.budget import HOUR_S, MAX_SESSIONS, Budget
from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from tests.guard.clock import Clock
from tests.promises import promise

pytestmark = promise("D09")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budget(clock: Clock) -> Budget:
    return Budget(clock)


def refused(budget: Budget, key: str, session: str, **limits: object) -> Failure:
    with pytest.raises(Failure) as caught:
        budget.count(key, session, **{"step_budget": 0, "hourly": {}, **limits})  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "over_limit"
    return caught.value


def test_a_session_has_so_many_steps(budget: Budget, clock: Clock):
    for _ in range(3):
        budget.count("key", "s1", step_budget=3, hourly={})
    problem = refused(budget, "key", "s1", step_budget=3)
    assert "3 steps" in problem.message
    assert not problem.retryable
    assert not any("close_session" in one for one in problem.suggestions)  # who asks for more asks a person
    clock.now += 10 * HOUR_S
    refused(budget, "key", "s1", step_budget=3)
    budget.count("key", "s2", step_budget=3, hourly={})
    assert (budget.steps("s1"), budget.steps("s2")) == (3, 1)
    budget.count("key", "s1", step_budget=4, hourly={})  # the person raised it
    budget.count("key", "s1", step_budget=0, hourly={})  # and took it away
    assert budget.refused == 2


def test_an_hour_has_so_many_steps_and_waiting_helps(budget: Budget, clock: Clock):
    for _ in range(2):
        budget.count("key", "s1", step_budget=0, hourly={"a.test": 2})
        clock.now += 60
    problem = refused(budget, "key", "s1", hourly={"a.test": 2})
    assert problem.details == {"rule": "rule a.test", "retry_after_s": HOUR_S - 120}
    assert "try again in 3480 s" in problem.suggestions
    clock.now += HOUR_S - 120
    budget.count("key", "s1", step_budget=0, hourly={"a.test": 2})
    refused(budget, "key", "s1", hourly={"a.test": 2})


def test_a_new_session_renews_nothing_another_key_is_another_count(budget: Budget):
    budget.count("key", "s1", step_budget=0, hourly={"a.test": 1})
    refused(budget, "key", "s2", hourly={"a.test": 1})
    budget.count("other", "s3", step_budget=0, hourly={"a.test": 1})
    budget.count("key", "s1", step_budget=0, hourly={"b.test": 1})


def test_what_is_refused_counts_nowhere(budget: Budget):
    budget.count("key", "s1", step_budget=0, hourly={"a.test": 1})
    for _ in range(5):
        refused(budget, "key", "s1", hourly={"b.test": 1, "a.test": 1})
    budget.count("key", "s1", step_budget=0, hourly={"b.test": 1})
    assert budget.steps("s1") == 2


def test_another_limit_looks_at_the_steps_that_were_made(budget: Budget):
    for _ in range(5):
        budget.count("key", "s1", step_budget=0, hourly={"a.test": 10})
    refused(budget, "key", "s1", hourly={"a.test": 3})
    budget.count("key", "s1", step_budget=0, hourly={"a.test": 6})


def test_memory_is_bounded(budget: Budget, clock: Clock):
    for number in range(MAX_SESSIONS + 10):
        budget.count("key", f"s{number}", step_budget=5, hourly={})
    assert len(budget._sessions) == MAX_SESSIONS
    for number in range(100):
        budget.count(f"key{number}", "s", step_budget=0, hourly={"a.test": 5})
    clock.now += HOUR_S
    budget.count("new", "s", step_budget=0, hourly={"a.test": 5})
    assert len(budget._hours) == 1


def test_the_rule_is_the_domain_that_counts():
    text = '[[rules]]\nhost = "*.shop.test"\nmax_steps_per_hour = 5\n[[rules]]\nhost = "free.test"\n'
    policy = Policy(read_rules(text))
    many = ["http://a.shop.test/1", "http://b.shop.test/2", "http://free.test", "http://else.test", "about:blank", "?"]
    assert policy.hourly(many) == {"*.shop.test": 5}


@promise("B08")
def test_locked_has_a_slower_pace_unless_a_person_sets_one():
    assert Policy(read_rules('template = "locked"')).requests_per_minute(600, 600) == 60
    assert Policy(read_rules('template = "locked"')).requests_per_minute(200, 600) == 200
    assert Policy(read_rules('template = "locked"')).requests_per_minute(0, 600) == 0
    assert Policy().requests_per_minute(600, 600) == 600
