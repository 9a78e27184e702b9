"""Which nodes are nearest to those in view; what that means in a page is shown in test_listeners.py."""

import random
import time

import pytest

from pilothouse.browser.inview import nearest
from tests.promises import promise

pytestmark = promise("A10")


@pytest.mark.parametrize("seed", range(50))
def test_nobody_who_is_left_out_is_nearer(seed: int) -> None:
    chance = random.Random(seed)
    nodes = sorted(chance.sample(range(1000), chance.randint(1, 200)))
    seen = [chance.randrange(1200) for _ in range(chance.randint(1, 15))]
    most = chance.randint(0, 100)
    found = nearest(nodes, seen, most)
    assert len(found) == len(set(found)) <= most
    far = {node: min(abs(node - one) for one in seen) for node in nodes}
    others = [far[node] for node in nodes if node not in found]
    limit = min(others, default=1000)
    assert all(far[node] < limit for node in found) or not others
    assert len(found) + others.count(limit) > most or not others  # no more of them would have fitted


def test_a_page_that_shows_nothing_begins_with_its_first() -> None:
    assert nearest([3, 5, 8], [], 2) == [3, 5]


def test_of_few_all_are_near() -> None:
    assert nearest([3, 5, 8], [900], 3) == [3, 5, 8]


@pytest.mark.alone
def test_it_keeps_nobody_waiting() -> None:
    nodes = list(range(0, 60_000, 3))
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        assert len(nearest(nodes, list(range(30_000, 30_150, 10)), 500)) > 490
        times.append(time.perf_counter() - began)
    assert min(times) < 0.005
