"""A person's proxy behind the sluice: what goes through it, what does not, and what is said when it fails."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_address

import pytest

from pilothouse.errors import Failure
from pilothouse.guard import sluice as module
from pilothouse.guard import socks
from pilothouse.guard.sluice import Gateway, Sluice
from pilothouse.guard.upstream import read_upstream
from tests.guard.proxies import Proxy
from tests.guard.test_sluice import ask, round_trip, serve, unused_port
from tests.promises import promise

pytestmark = promise("B09", "D04")

KINDS = ["http", "socks5", "socks4"]


@pytest.fixture
async def sluice() -> AsyncIterator[Sluice]:
    one = Sluice({"mapped.test": "127.0.0.1", "moved.test": "10.1.2.3", "alias.test": "real.example"}, set())
    yield one
    one.close()


async def refused(gateway: Gateway, host: str, port: int) -> str:
    code, _ = await ask(gateway, host, port)
    assert code != socks.GRANTED
    return gateway.reason(host, port)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [False, True])
async def test_the_proxy_gets_the_name(sluice: Sluice, echo_port: int, kind: str, pieces: bool):
    async with Proxy(kind, pieces=pieces) as proxy:
        gateway = await sluice.open(upstream=proxy.url())
        code, streams = await ask(gateway, "Far.example", echo_port)
        assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
        assert proxy.asked == [("far.example", echo_port)]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_comes_with_the_answer_belongs_to_the_browser(sluice: Sluice, echo_port: int, kind: str):
    async with Proxy(kind) as proxy:
        proxy.early = b"220 ready"
        gateway = await sluice.open(upstream=proxy.url())
        code, streams = await ask(gateway, "far.example", echo_port)
        assert (code, await round_trip(streams)) == (socks.GRANTED, b"220 readyhello")


@pytest.mark.parametrize(("host", "kinds"), [("10.9.8.7", KINDS), ("fd00::1", ["http", "socks5"])])
async def test_addresses_go_through_it_too(sluice: Sluice, echo_port: int, host: str, kinds: list[str]):
    for kind in kinds:
        async with Proxy(kind) as proxy:
            gateway = await sluice.open(upstream=proxy.url())
            code, streams = await ask(gateway, host, echo_port)
            assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
            assert proxy.asked == [(host, echo_port)]


async def test_a_name_that_a_person_mapped_goes_where_it_leads(sluice: Sluice, echo_port: int):
    async with Proxy("socks5") as proxy:
        gateway = await sluice.open(upstream=proxy.url())
        await round_trip((await ask(gateway, "moved.test", echo_port))[1])
        await round_trip((await ask(gateway, "alias.test", echo_port))[1])
        assert proxy.asked == [("10.1.2.3", echo_port), ("real.example", echo_port)]


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "127.0.0.1", "127.1.2.3", "mapped.test"])
async def test_loopback_is_reached_directly(sluice: Sluice, echo_port: int, host: str):
    async with Proxy("http") as proxy:
        gateway = await sluice.open(upstream=proxy.url())
        await ask(gateway, host, echo_port)
        assert proxy.asked == []


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_user_and_password(sluice: Sluice, echo_port: int, kind: str):
    async with Proxy(kind, user="ada", password="p:w@d%") as proxy:
        good = await sluice.open(upstream=proxy.url("ada:p%3Aw%40d%25"))
        code, streams = await ask(good, "far.example", echo_port)
        assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
        for credentials in ("", "ada:wrong"):
            said = await refused(await sluice.open(upstream=proxy.url(credentials)), "far.example", echo_port)
            assert f"the proxy {kind}://127.0.0.1:{proxy.port} " in said
            assert "password" in said
            assert "wrong" not in said


async def test_a_user_for_socks4(sluice: Sluice, echo_port: int):
    async with Proxy("socks4", user="ada") as proxy:
        gateway = await sluice.open(upstream=proxy.url("ada:"))
        code, streams = await ask(gateway, "far.example", echo_port)
        assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [("http", 503, "answered 503 for far.example:80"), ("socks5", 5, "was refused by it (far.example:80)"),
     ("socks5", 99, "answered 99 (far.example:80)"), ("socks4", 91, "answered 91 for far.example:80")],
)  # fmt: skip
async def test_what_the_proxy_says_is_told_as_its_own(sluice: Sluice, kind: str, answer: int, said: str):
    async with Proxy(kind) as proxy:
        proxy.answer = answer
        gateway = await sluice.open(upstream=proxy.url("ada:lovelace") if kind == "http" else proxy.url())
        assert await refused(gateway, "far.example", 80) == f"the proxy {kind}://127.0.0.1:{proxy.port} {said}"
        assert not gateway.denies("far.example", 80)


async def test_a_proxy_that_is_not_there(sluice: Sluice):
    port = unused_port()
    gateway = await sluice.open(upstream=f"socks5://ada:lovelace@127.0.0.1:{port}")
    said = await refused(gateway, "far.example", 80)
    assert said == f"the proxy cannot be used: connection refused by socks5://127.0.0.1:{port}"
    gateway = await sluice.open(upstream="http://nowhere.invalid:3128")
    assert await refused(gateway, "far.example", 80) == (
        "the proxy http://nowhere.invalid:3128: unknown host nowhere.invalid"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [b"", b"SSH-2.0-x\r\n\r\n" + bytes(20), b"\xff" * 70_000])
async def test_something_else_answers(sluice: Sluice, kind: str, noise: bytes):
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(noise)
        writer.close()

    server, port = await serve(other)
    gateway = await sluice.open(upstream=f"{kind}://127.0.0.1:{port}")
    assert f"the proxy {kind}://127.0.0.1:{port}" in await refused(gateway, "far.example", 80)
    server.close()


async def test_a_proxy_that_says_nothing(sluice: Sluice, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_PROXY_S", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server, port = await serve(silent)
    gateway = await sluice.open(upstream=f"http://127.0.0.1:{port}")
    assert await refused(gateway, "far.example", 80) == f"the proxy http://127.0.0.1:{port} did not answer in time"
    server.close()


@pytest.mark.parametrize("host", ["169.254.169.254", "metadata.google.internal", "fe80::1"])
async def test_what_no_page_may_reach_is_not_reached_through_it(sluice: Sluice, host: str):
    async with Proxy("http") as proxy:
        gateway = await sluice.open(upstream=proxy.url())
        await refused(gateway, host, 80)
        assert gateway.denies(host, 80)
        assert proxy.asked == []


async def test_our_own_ports_are_no_proxy(sluice: Sluice, echo_port: int):
    sluice.forbidden_ports.add(echo_port)
    for upstream in (f"http://127.0.0.1:{echo_port}", f"socks5://localhost:{(await sluice.open()).port}"):
        gateway = await sluice.open(upstream=upstream)
        assert "Pilothouse itself" in await refused(gateway, "far.example", 80)
        assert gateway.denies("far.example", 80)


async def test_nor_by_a_name_that_has_other_addresses_too(sluice: Sluice, monkeypatch: pytest.MonkeyPatch):
    """Such as one whose DNS server wants to lead us astray."""
    visitors: list[str] = []

    async def ours(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.append("someone")
        writer.close()

    server, port = await serve(ours)
    sluice.forbidden_ports.add(port)
    mixed = (ip_address("127.0.0.1"), ip_address("203.0.113.1"))
    monkeypatch.setattr(sluice.resolver, "at_once", {"astray.test": mixed}.get)
    monkeypatch.setattr(module, "_PROXY_S", 0.3)
    await refused(await sluice.open(upstream=f"socks5://astray.test:{port}"), "far.example", 80)
    assert visitors == []
    server.close()


async def test_nor_by_another_address_of_this_machine(sluice: Sluice, echo_port: int, monkeypatch: pytest.MonkeyPatch):
    """As if 127.0.0.1 were such an address: the connection arrives where it came from."""
    sluice.forbidden_ports.add(echo_port)
    monkeypatch.setattr(module, "is_loopback", lambda address: False)
    gateway = await sluice.open(upstream=f"socks5://127.0.0.1:{echo_port}")
    assert "Pilothouse itself" in await refused(gateway, "far.example", 80)
    assert gateway.denies("far.example", 80)


@pytest.mark.parametrize(
    ("url", "shown"),
    [("proxy.example:3128", "http://proxy.example:3128"), ("SOCKS5h://u:p@Proxy.Example", "socks5://proxy.example:1080"),
     ("http://[::1]", "http://[::1]:80"), ("socks4://u@h:1", "socks4://h:1"), ("socks5://h:80/", "socks5://h:80"), ("http://h:443", "http://h:443")],
)  # fmt: skip
def test_addresses_of_proxies(url: str, shown: str):
    assert read_upstream(url).shown == shown


@pytest.mark.parametrize(
    "url", ["ftp://h", "https://h", "http://", "http://h/path", "http://h?x", "http://u:secret@h:99999", "socks5://a b"]
)
def test_what_is_no_proxy(url: str):
    with pytest.raises(Failure, match=r"^proxy: ") as caught:
        read_upstream(url)
    assert caught.value.code == "bad_request"
    assert "secret" not in caught.value.message
