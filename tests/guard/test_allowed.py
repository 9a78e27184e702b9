"""A session that is narrowed to some hosts: nothing else is reached, and the reason is told."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilothouse.errors import Failure
from pilothouse.guard import socks
from pilothouse.guard.domains import read_domains
from pilothouse.guard.sluice import Sluice
from tests.guard.proxies import Proxy
from tests.guard.test_sluice import ask, round_trip
from tests.promises import promise

pytestmark = promise("B09", "D04")


@pytest.fixture
async def sluice() -> AsyncIterator[Sluice]:
    one = Sluice(dict.fromkeys(("shop.test", "a.shop.test", "other.test"), "127.0.0.1"), set())
    yield one
    one.close()


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("example.com", ["example.com"], ["a.example.com", "badexample.com", "example.com.evil.test", "com"]),
        ("*.example.com", ["a.example.com", "b.a.example.com"], ["example.com", "badexample.com", "a.example.com.x"]),
        ("EXAMPLE.com.", ["example.com"], ["example.org"]),
        ("bücher.example", ["xn--bcher-kva.example"], ["bucher.example"]),
        ("0x7f.1", ["127.0.0.1"], ["127.0.0.2", "localhost"]),
        ("[::1]", ["::1"], ["127.0.0.1"]),
        ("*", ["anything.test", "127.0.0.1"], []),
    ],
)
def test_patterns(pattern: str, inside: list[str], outside: list[str]):
    domains = read_domains([pattern])
    assert [host for host in inside + outside if domains.admit(host, 443)] == inside


def test_a_pattern_may_name_a_port():
    domains = read_domains(["localhost:3000", "*.a.test:80", "b.test"])
    asked = [("localhost", 3000), ("localhost", 3001), ("x.a.test", 80), ("x.a.test", 81), ("b.test", 1)]
    assert [domains.admit(*one) for one in asked] == [True, False, True, False, True]


@pytest.mark.parametrize(
    "pattern", ["", "http://a.test", "a.test/x", "a*.test", "*.*.test", "u@a.test", "a b", "a.test:99999", "*.", "\\"]
)
def test_what_is_no_pattern(pattern: str):
    with pytest.raises(Failure, match="is not a host") as caught:
        read_domains(["good.test", pattern])
    assert caught.value.code == "bad_request"


def test_patterns_are_bounded():
    with pytest.raises(Failure, match="more than 500"):
        read_domains([f"h{n}.test" for n in range(501)])


async def test_connections_beyond_are_refused_with_the_reason(sluice: Sluice, echo_port: int):
    gateway = await sluice.open(allowed=("shop.test", "*.shop.test"))
    for host in ("shop.test", "a.shop.test"):
        code, streams = await ask(gateway, host, echo_port)
        assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
    for host in ("other.test", "localhost", "127.0.0.1"):
        code, _ = await ask(gateway, host, echo_port)
        assert code == socks.NOT_ALLOWED
        assert gateway.reason(host, echo_port) == f"{host} is not among this session's allowed_domains"
        assert gateway.denies(host, echo_port)


async def test_other_gateways_are_as_open_as_before(sluice: Sluice, echo_port: int):
    await sluice.open(allowed=("shop.test",))
    code, streams = await ask(await sluice.open(), "other.test", echo_port)
    assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")


async def test_it_holds_in_front_of_a_proxy(sluice: Sluice, echo_port: int):
    async with Proxy("socks5") as proxy:
        gateway = await sluice.open(upstream=proxy.url(), allowed=("far.example",))
        await asyncio.gather(ask(gateway, "other.example", echo_port), ask(gateway, "10.1.2.3", echo_port))
        assert proxy.asked == []
        code, streams = await ask(gateway, "far.example", echo_port)
        assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
