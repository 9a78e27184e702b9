"""A rule that forbids an address holds for every name and spelling that leads there."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilothouse.guard import socks
from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from pilothouse.guard.sluice import Gateway, Sluice
from tests.guard.proxies import Proxy
from tests.guard.test_netrules import blocked
from tests.guard.test_sluice import ask, echo, serve
from tests.promises import promise

pytestmark = promise("D04", "D01")

SPELLINGS = ["127.0.0.1", "localhost", "a.localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "named.test"]


def rule(host: str, read: str = "false") -> str:
    return f'[[rules]]\nhost = "{host}"\nread = {read}\n'


@pytest.fixture
async def echo_port() -> AsyncIterator[int]:
    server, port = await serve(echo)
    yield port
    server.close()


async def gateway(policy: str, upstream: str = "") -> Gateway:
    sluice = Sluice({"named.test": "127.0.0.1"}, set())
    return await sluice.open(Policy(read_rules(policy)).view("isolated", "auto"), upstream=upstream)


@pytest.mark.parametrize("host", SPELLINGS)
@pytest.mark.parametrize("forbidden", ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:{port}"])
async def test_loopback_is_one_place(echo_port: int, host: str, forbidden: str) -> None:
    written = forbidden.format(port=echo_port)
    one = await gateway(rule(written))
    code, _ = await ask(one, host, echo_port)
    assert code == socks.NOT_ALLOWED
    assert f"rule {written} forbids" in one.reason(host, echo_port)
    one.close()


async def test_other_ports_stay_open(echo_port: int) -> None:
    one = await gateway(rule(f"127.0.0.1:{echo_port + 1}"))
    for host in ("127.0.0.1", "localhost", "named.test"):
        assert (await ask(one, host, echo_port))[0] == socks.GRANTED


@pytest.mark.parametrize(
    ("policy", "host", "passes"),
    [
        (rule("127.0.0.1") + rule("localhost", "true"), "localhost", True),
        (rule("127.0.0.1") + rule("localhost", "true"), "named.test", False),
        (rule("127.0.0.1") + rule("named.test", "true"), "named.test", True),
        (rule("127.0.0.1") + rule("*.test", "true"), "named.test", False),  # it does not name it
        (rule("127.0.0.1:{port}") + rule("localhost", "true"), "localhost", False),  # less exact
        (rule("127.0.0.1:{port}") + rule("localhost:{port}", "true"), "localhost", True),
        (rule("127.0.0.1") + rule("127.0.0.1:{port}", "true"), "named.test", True),
        (rule("127.0.0.7"), "localhost", True),
        (rule("app.localhost"), "localhost", True),
    ],
)
async def test_who_names_the_host_as_it_is_spelled_may(echo_port: int, policy: str, host: str, passes: bool) -> None:
    one = await gateway(policy.replace("{port}", str(echo_port)))
    code, _ = await ask(one, host, echo_port)
    assert code == (socks.GRANTED if passes else socks.NOT_ALLOWED)


async def test_an_address_that_is_not_loopback_too() -> None:
    sluice = Sluice({"named.test": "203.0.113.7"}, set())
    one = await sluice.open(Policy(read_rules(rule("203.0.113.7"))).view("isolated", "auto"))
    async with asyncio.timeout(5):
        assert (await ask(one, "named.test", 80))[0] == socks.NOT_ALLOWED
    assert one.reason("named.test", 80) == "rule 203.0.113.7 forbids 203.0.113.7, which named.test is"
    sluice.close()


async def test_a_proxy_too(echo_port: int) -> None:
    async with Proxy("socks5") as proxy:
        address = proxy.url().replace("127.0.0.1", "localhost")
        one = await gateway(rule("127.0.0.1"), upstream=address)
        assert (await ask(one, "far.example", echo_port))[0] == socks.NOT_ALLOWED
        assert "rule 127.0.0.1 forbids localhost" in one.reason("far.example", echo_port)
        assert not proxy.asked
        named = await gateway(rule("127.0.0.1"), upstream=address.replace("localhost", "named.test"))
        assert (await ask(named, "far.example", echo_port))[0] == socks.NOT_ALLOWED
        assert not proxy.asked


def test_a_scheme_is_told_apart() -> None:
    policy = Policy(read_rules(rule("http://127.0.0.1:3000")))
    view = policy.view("isolated", "auto")
    assert view.host("localhost", 3000) is None, "https is open, and no connection tells: documents are shown to us"
    assert view.watch == "documents"
    assert policy.decide_document("isolated", "auto", "http://localhost:3000/").verdict == "deny"
    assert policy.decide_document("isolated", "auto", "https://localhost:3000/").verdict == "allow"


def test_a_call_is_told_before_it_leaves() -> None:
    said = Policy(read_rules(rule("127.0.0.1"))).decide_document("isolated", "auto", "http://localhost:3000/")
    assert (said.verdict, said.rule) == ("deny", "rule 127.0.0.1")
    assert said.why == "rule 127.0.0.1 forbids localhost:3000, which is the same place"


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"])
def test_in_chromes_own_words_too(host: str) -> None:
    policy = f'template = "sandbox"\n{rule("127.0.0.1:3000")}'
    assert blocked(policy, f"http://{host}:3000/")
    assert not blocked(policy, f"http://{host}:3001/")
    assert not blocked(policy + rule("localhost:3000", "true"), "http://localhost:3000/")
