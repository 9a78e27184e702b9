"""Which addresses a cookie's domain stands for."""

import pytest

from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from pilothouse.guard.sites import sites
from tests.promises import promise

pytestmark = promise("D01")

BOTH = {"http://shop.test/", "https://shop.test/"}


@pytest.mark.parametrize(
    ("place", "rule", "more"),
    [
        ("shop.test", "other.test", set[str]()),
        ("Shop.test", "shop.test:3000", {"http://shop.test:3000/", "https://shop.test:3000/"}),
        ("shop.test", "a.shop.test", set[str]()),
        (".shop.test", "a.shop.test", {"http://a.shop.test/", "https://a.shop.test/"}),
        (".shop.test", "https://a.shop.test:8443", {"https://a.shop.test:8443/"}),
        (".shop.test", "*.shop.test", {"http://any.shop.test/", "https://any.shop.test/"}),
        (".shop.test", "*.b.shop.test", {"http://any.b.shop.test/", "https://any.b.shop.test/"}),
        (".shop.test", "myshop.test", set[str]()),
    ],
)
def test_a_domain_is_every_address_that_rules_tell_apart(place: str, rule: str, more: set[str]):
    assert set(sites(place, read_rules(f'[[rules]]\nhost = "{rule}"'))) == BOTH | more


@pytest.mark.parametrize("place", ["::1", "[::1]"])
def test_an_ipv6_address(place: str):
    urls = ["http://[::1]/", "https://[::1]/", "http://[::1]:3000/", "https://[::1]:3000/"]
    assert sites(place, read_rules('[[rules]]\nhost = "[::1]:3000"')) == urls


def test_an_address_is_itself():
    assert sites("http://shop.test:3000", read_rules("")) == ["http://shop.test:3000"]


@pytest.mark.parametrize(
    ("rule", "barred", "unasked"),
    [
        ("write = false", True, True),
        ("read = false", True, True),
        ("approval = true", False, True),
        ("write = true", False, False),
    ],
)
@pytest.mark.parametrize("host", ["http://intra.test", "https://intra.test", "intra.test:81", "intra.test"])
def test_any_rule_of_it_holds(host: str, rule: str, barred: bool, unasked: bool):
    policy = Policy(read_rules(f'[[rules]]\nhost = "{host}"\n{rule}'))
    assert policy.bars("isolated", "auto", "intra.test", True) is barred
    assert policy.bars("isolated", "auto", "intra.test", False) is unasked
    assert not policy.bars("isolated", "auto", "other.test", False)


def test_what_is_no_host_is_out_of_reach():
    assert Policy().bars("isolated", "auto", "a b*", True)
