"""The sluice on real sockets: what passes, what does not, and what is said about it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from ipaddress import ip_address

import pytest

from pilothouse.guard import sluice as module
from pilothouse.guard import socks
from pilothouse.guard.address import Address
from pilothouse.guard.resolve import Resolver
from pilothouse.guard.sluice import Gateway, Sluice
from pilothouse.guard.view import Opened
from tests.guard.proxies import Proxy
from tests.promises import promise

pytestmark = promise("D04")

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def sluice() -> AsyncIterator[Sluice]:
    one = Sluice({"Shop.test": "127.0.0.1", "meta.test": "169.254.169.254"}, set())
    yield one
    one.close()


@pytest.fixture
async def gateway(sluice: Sluice) -> Gateway:
    return await sluice.open(Without("evil.test"))


class Without(Opened):
    """Everything but these hosts; others may join them later."""

    def __init__(self, *hosts: str) -> None:
        self.hosts = set(hosts)
        self.addresses: set[str] = set()

    def host(self, host: str, port: int) -> str | None:
        return "a rule says so" if host in self.hosts else None

    def address(self, host: str, address: Address, port: int) -> str | None:
        return f"{host} is at {address}" if str(address) in self.addresses else None


async def serve(handler: Handler, host: str = "127.0.0.1") -> tuple[asyncio.Server, int]:
    server = await asyncio.start_server(handler, host, 0)
    return server, server.sockets[0].getsockname()[1]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers what it got once the client has closed its half."""
    writer.write(await reader.read())
    writer.close()


@pytest.fixture
async def echo_port() -> AsyncIterator[int]:
    server, port = await serve(echo)
    yield port
    server.close()


def unused_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def ask(gateway: Gateway, host: str, port: int, early: bytes = b"") -> tuple[int, Streams]:
    """The SOCKS answer's code, and the streams behind it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(b"\x05\x01\x00")
    assert await reader.readexactly(2) == b"\x05\x00"
    name = host.encode()
    writer.write(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + struct.pack("!H", port) + early)
    answer = await reader.readexactly(10)
    return answer[1], (reader, writer)


async def round_trip(streams: Streams, data: bytes = b"hello") -> bytes:
    reader, writer = streams
    writer.write(data)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST.", "a.localhost", "shop.test", "[::ffff:127.0.0.1]"])
async def test_passes_and_half_closes(gateway: Gateway, echo_port: int, host: str):
    code, streams = await ask(gateway, host, echo_port)
    assert code == socks.GRANTED
    assert await round_trip(streams) == b"hello"
    assert gateway.reason(host, echo_port) == ""


@pytest.mark.parametrize(("kind", "raw"), [(1, ip_address("127.0.0.1").packed), (4, ip_address("::1").packed)])
async def test_takes_packed_addresses(gateway: Gateway, kind: int, raw: bytes):
    server, port = await serve(echo, str(ip_address(raw)))
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    request = b"\x05\x02\x00\x01" + b"\x05\x01\x00" + bytes([kind]) + raw + struct.pack("!H", port) + b"early"
    for byte in request:  # also one byte at a time, greeting and request and data in a row
        writer.write(bytes([byte]))
        await writer.drain()
    assert await reader.readexactly(12) == b"\x05\x00" + socks.reply(socks.GRANTED)
    writer.write_eof()
    assert await reader.read() == b"early"
    writer.close()
    server.close()


async def test_localhost_finds_a_server_on_either_address(gateway: Gateway):
    server, port = await serve(echo, "::1")
    code, streams = await ask(gateway, "localhost", port)
    assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
    server.close()


async def test_a_server_may_speak_first(gateway: Gateway):
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready")
        writer.close()

    server, port = await serve(greet)
    for _ in range(20):
        _, (reader, writer) = await ask(gateway, "127.0.0.1", port)
        assert await reader.read() == b"220 ready"
        writer.close()
    server.close()


async def test_a_server_that_speaks_too_much_too_early_waits():
    """Until the browser's connection is joined, nobody takes it; then nothing of it is missing."""
    size, arrived, go = 32 << 20, asyncio.Event(), asyncio.Event()
    arrivals: list[socks.Arrival] = []

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(size >> 20):
            writer.write(bytes(1 << 20))
            drained = asyncio.ensure_future(writer.drain())
            if not (await asyncio.wait([drained], timeout=0.3))[0]:
                arrived.set()
            await drained
        writer.close()

    async def late(addresses: Sequence[Address], port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        far, arrival = await module.direct(addresses, port)
        arrivals.append(arrival)
        await go.wait()
        return far, arrival

    server, port = await serve(pour)
    one = Sluice({}, set(), connect=late)
    asking = asyncio.ensure_future(ask(await one.open(), "127.0.0.1", port))
    await asyncio.wait_for(arrived.wait(), 5)
    assert len(arrivals[0].early) < 1 << 20
    go.set()
    _, (reader, writer) = await asking
    received = 0
    while chunk := await reader.read(1 << 20):
        received += len(chunk)
    assert received == size
    writer.close()
    server.close()
    one.close()


async def test_a_slow_reader_slows_the_writer(gateway: Gateway):
    size = 64 << 20
    sent = 0
    full = asyncio.Event()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while sent < size:
            writer.write(bytes(1 << 20))
            sent += 1 << 20
            drained = asyncio.ensure_future(writer.drain())
            done, _ = await asyncio.wait([drained], timeout=0.3)
            if not done:
                full.set()
            await drained
        writer.close()

    server, port = await serve(pour)
    _, (reader, writer) = await ask(gateway, "127.0.0.1", port)
    await asyncio.wait_for(full.wait(), 20)
    assert sent < size / 2
    received = 0
    while chunk := await reader.read(1 << 20):
        received += len(chunk)
    assert received == size
    writer.close()
    server.close()


@pytest.mark.parametrize(
    ("host", "kind", "text"),
    [
        ("evil.test", "denied", "a rule says so"),
        ("169.254.169.254", "denied", "169.254.169.254 is a cloud metadata address"),
        ("::ffff:169.254.169.254", "denied", "169.254.169.254 is a cloud metadata address"),
        ("fe80::1", "denied", "fe80::1 is a link-local address"),
        ("2852039166", "denied", "169.254.169.254 is a cloud metadata address"),
        ("meta.test", "denied", "169.254.169.254 is a cloud metadata address"),
        ("nowhere.invalid", "unknown host", "unknown host nowhere.invalid"),
        ("localhost", "refused", "connection refused by localhost:{port}"),
        ("127.0.0.1", "refused", "connection refused by 127.0.0.1:{port}"),
    ],
)
async def test_refusals_say_why(gateway: Gateway, host: str, kind: str, text: str):
    port = unused_port()
    code, (reader, writer) = await ask(gateway, host, port)
    assert code != socks.GRANTED
    assert await reader.read() == b""
    writer.close()
    found = gateway.refusal(host, port)
    assert found is not None
    assert (found.kind, found.text) == (kind, text.format(port=port))
    assert gateway.reason(f"{host.upper()}.", port) == found.text


async def test_a_reason_ends_with_the_trouble(gateway: Gateway):
    port = unused_port()
    await ask(gateway, "localhost", port)
    assert gateway.reason("localhost", port)
    server = await asyncio.start_server(echo, "127.0.0.1", port)
    code, streams = await ask(gateway, "localhost", port)
    assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")
    assert gateway.reason("localhost", port) == ""
    server.close()


async def test_reasons_are_bounded(gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MAX_REASONS", 3)
    for port in range(1, 6):
        await ask(gateway, "evil.test", port)
    assert [bool(gateway.reason("evil.test", port)) for port in range(1, 6)] == [False, False, True, True, True]


@pytest.mark.parametrize("error", [TimeoutError(), OSError(110, "x"), OSError(113, "No route to host")])
async def test_what_the_network_says_is_passed_on(error: OSError):
    async def fail(addresses: object, port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        raise error

    one = Sluice({}, set(), connect=fail)
    gateway = await one.open()
    await ask(gateway, "10.9.8.7", 80)
    assert gateway.reason("10.9.8.7", 80) in ("connection to 10.9.8.7:80 timed out", "10.9.8.7:80 is unreachable")
    one.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "shop.test", "::ffff:7f00:1"])
async def test_our_own_ports_cannot_be_reached(sluice: Sluice, gateway: Gateway, echo_port: int, host: str):
    other = await sluice.open()
    sluice.forbidden_ports.add(echo_port)
    for port in (echo_port, other.port, gateway.port):
        code, _ = await ask(gateway, host, port)
        assert code == socks.NOT_ALLOWED
        assert gateway.reason(host, port) == f"port {port} of this machine is Pilothouse itself"


async def test_nor_by_another_address_of_this_machine(echo_port: int):
    """As if 10.1.2.3 were ours: the connection arrives at the address it came from."""

    async def home(addresses: object, port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        return await asyncio.get_running_loop().create_connection(socks.Arrival, "127.0.0.1", port)

    one = Sluice({}, {echo_port}, connect=home)
    code, _ = await ask(await one.open(), "10.1.2.3", echo_port)
    assert code == socks.NOT_ALLOWED
    one.close()


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b""),
        (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b""),
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", b"\x05\x00" + socks.reply(socks.NO_COMMAND)),
        (b"\x05\x01\x00\x05\x01\x00\x09\x7f\x00\x00\x01\x00\x50", b"\x05\x00" + socks.reply(socks.NO_ADDRESS)),
        (b"\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", b"\x05\x00" + socks.reply(socks.NO_ADDRESS)),
        (b"\x05\x01\x00\x05\x01\x00\x03\x02\xff\xfe\x00\x50", b"\x05\x00" + socks.reply(socks.NO_ADDRESS)),
    ],
)
async def test_other_languages_are_cut_off(gateway: Gateway, sent: bytes, answer: bytes):
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(sent)
    assert await reader.read() == answer
    writer.close()


async def test_silence_is_cut_off(gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socks, "HANDSHAKE_S", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    assert await reader.read() == b""
    writer.close()


async def test_connections_are_counted(gateway: Gateway, echo_port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MAX_CONNECTIONS", 2)
    held = [(await ask(gateway, "127.0.0.1", echo_port))[1] for _ in range(2)]
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await ask(gateway, "127.0.0.1", echo_port)
    assert await round_trip(held.pop()) == b"hello"
    assert await round_trip(held.pop()) == b"hello"
    code, streams = await ask(gateway, "127.0.0.1", echo_port)
    assert (code, await round_trip(streams)) == (socks.GRANTED, b"hello")


async def test_withdrawn_connections_are_cut_and_others_stay(sluice: Sluice, echo_port: int):
    view = Without()
    gateway = await sluice.open(view)
    _, (reader, writer) = await ask(gateway, "shop.test", echo_port)
    _, other = await ask(gateway, "localhost", echo_port)
    assert gateway.withdraw() == 0
    view.hosts.add("shop.test")
    assert gateway.withdraw() == 1
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()
    assert gateway.reason("shop.test", echo_port) == "a rule says so"
    assert await round_trip(other) == b"hello"


async def test_addresses_are_withdrawn_too(sluice: Sluice, echo_port: int):
    view = Without()
    gateway = await sluice.open(view)
    _, (reader, writer) = await ask(gateway, "shop.test", echo_port)
    view.addresses.add("127.0.0.1")
    assert gateway.withdraw() == 1
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()
    code, _ = await ask(gateway, "shop.test", echo_port)
    assert (code, gateway.reason("shop.test", echo_port)) == (socks.NOT_ALLOWED, "shop.test is at 127.0.0.1")


async def test_a_rule_that_changes_while_a_connection_is_made_holds(echo_port: int):
    view, dialled, go = Without(), asyncio.Event(), asyncio.Event()

    async def slow(addresses: Sequence[Address], port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        made = await module.direct(addresses, port)
        dialled.set()
        await go.wait()
        return made

    one = Sluice({}, set(), connect=slow)
    asking = asyncio.ensure_future(ask(await one.open(view), "localhost", echo_port))
    await asyncio.wait_for(dialled.wait(), 5)
    view.hosts.add("localhost")
    go.set()
    code, _ = await asking
    assert code == socks.NOT_ALLOWED
    one.close()


async def test_nothing_passes_before_a_session_moves_in_and_its_rules_stay_when_it_left(sluice: Sluice, echo_port: int):
    gateway = await sluice.open_closed()
    assert (await ask(gateway, "localhost", echo_port))[0] == socks.NOT_ALLOWED
    view = Without("evil.test")
    gateway.attach(view)
    code, streams = await ask(gateway, "localhost", echo_port)
    assert code == socks.GRANTED
    gateway.detach(view)
    assert await round_trip(streams) == b"hello"
    assert (await ask(gateway, "localhost", echo_port))[0] == socks.GRANTED
    assert (await ask(gateway, "evil.test", echo_port))[0] == socks.NOT_ALLOWED


async def test_sessions_that_share_a_browser_share_its_way_out(sluice: Sluice, echo_port: int):
    gateway, one, two = await sluice.open_closed(), Without("shop.test"), Without("localhost")
    two.addresses.add("127.0.0.1")
    gateway.attach(one)
    gateway.attach(two)
    assert (await ask(gateway, "localhost", echo_port))[0] == socks.GRANTED
    # Name and address must be allowed by one and the same.
    assert (await ask(gateway, "shop.test", echo_port))[0] == socks.NOT_ALLOWED
    _, (reader, writer) = await ask(gateway, "localhost", echo_port)
    gateway.detach(one)
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()


@pytest.mark.parametrize(("answer", "code"), [("yes", socks.GRANTED), ("no", socks.NOT_ALLOWED)])
async def test_a_refusal_waits_for_who_may_still_be_asked(sluice: Sluice, echo_port: int, answer: str, code: int):
    gateway, view = await sluice.open_closed(), Without("shop.test")
    asked, answered = asyncio.Event(), asyncio.Event()
    heard: list[tuple[str, int]] = []

    async def hear_out(host: str, port: int) -> None:
        heard.append((host, port))
        asked.set()
        await answered.wait()

    gateway.attach(view, hear_out)
    assert (await ask(gateway, "localhost", echo_port))[0] == socks.GRANTED
    waiting = asyncio.ensure_future(ask(gateway, "Shop.test.", echo_port))
    await asyncio.wait_for(asked.wait(), 5)
    assert not waiting.done()
    if answer == "yes":
        view.hosts.clear()
    answered.set()
    assert (await waiting)[0] == code
    assert heard == [("shop.test", echo_port)]
    gateway.detach(view)
    view.hosts.add("shop.test")
    assert (await ask(gateway, "shop.test", echo_port))[0] == socks.NOT_ALLOWED
    assert len(heard) == 1


async def test_it_does_not_wait_longer_than_the_browser(
    sluice: Sluice, echo_port: int, monkeypatch: pytest.MonkeyPatch
):
    async def never(host: str, port: int) -> None:
        await asyncio.Event().wait()

    async def fails(host: str, port: int) -> None:
        raise OSError("something else went wrong")

    monkeypatch.setattr(module, "_HEAR_OUT_S", 0.05)
    for hear_out, code in ((never, socks.NOT_ALLOWED), (fails, socks.FAILED)):
        gateway = await sluice.open_closed()
        gateway.attach(Without("shop.test"), hear_out)
        assert (await ask(gateway, "shop.test", echo_port))[0] == code


async def test_a_proxy_is_judged_as_any_host(sluice: Sluice, echo_port: int):
    async with Proxy("socks5") as proxy:
        view = Without("127.0.0.1")
        gateway = await sluice.open(view, upstream=proxy.url())
        assert (await ask(gateway, "far.example", echo_port))[0] == socks.NOT_ALLOWED
        assert not proxy.asked
        view.hosts.clear()
        assert (await ask(gateway, "far.example", echo_port))[0] == socks.GRANTED
        view.hosts.add("far.example")
        assert gateway.withdraw() == 1


async def test_close_cuts_everything(gateway: Gateway, sluice: Sluice, echo_port: int):
    _, (reader, writer) = await ask(gateway, "localhost", echo_port)
    gateway.close()
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()
    with pytest.raises(OSError, match=r".*"):
        await asyncio.open_connection("127.0.0.1", gateway.port)
    assert not sluice.is_own(gateway.port)


async def test_a_browser_that_gives_up_takes_the_attempt_along():
    began, ended = asyncio.Event(), asyncio.Event()

    async def never(addresses: object, port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    one = Sluice({}, set(), connect=never)
    gateway = await one.open()
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(b"\x05\x01\x00\x05\x01\x00\x01\x0a\x01\x02\x03\x00\x50")
    await asyncio.wait_for(began.wait(), 5)
    writer.close()
    await asyncio.wait_for(ended.wait(), 5)
    one.close()


async def test_a_rule_that_breaks_lets_nothing_pass(sluice: Sluice, echo_port: int, caplog: pytest.LogCaptureFixture):
    class Broken(Opened):
        def host(self, host: str, port: int) -> str | None:
            raise ValueError("a bug")

    code, _ = await ask(await sluice.open(Broken()), "127.0.0.1", echo_port)
    assert code == socks.FAILED
    assert "a bug" in caplog.text


async def test_a_reset_stays_a_reset(gateway: Gateway):
    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        socks.reset(writer.transport)

    server, port = await serve(slam)
    _, (reader, writer) = await ask(gateway, "localhost", port)
    writer.write(b"x")
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()
    server.close()


async def test_a_silent_address_does_not_hold_up_the_next(echo_port: int, monkeypatch: pytest.MonkeyPatch):
    dial = module._dial

    async def dial_or_hang(address: module.Address, port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        if str(address) == "::1":
            await asyncio.Event().wait()
        return await dial(address, port)

    monkeypatch.setattr(module, "_dial", dial_or_hang)
    monkeypatch.setattr(module, "_NEXT_ADDRESS_S", 0.01)
    far, _ = await module.direct((ip_address("::1"), ip_address("127.0.0.1")), echo_port)
    assert far.get_extra_info("peername")[0] == "127.0.0.1"
    far.abort()


async def test_one_question_for_a_name_that_many_ask_for(monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []

    def answer(host: bytes, *_: object, **__: object) -> list[object]:
        asked.append(host)
        return [(socket.AF_INET, 1, 6, "", ("10.0.0.1", 0)), (socket.AF_INET6, 1, 6, "", ("fd00::1%eth0", 0, 0, 2))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    resolver = Resolver({})
    found = await asyncio.gather(*(resolver.look_up("many.example") for _ in range(6)))
    assert set(found) == {(ip_address("10.0.0.1"), ip_address("fd00::1"))}
    assert resolver.at_once("many.example") == found[0]
    assert asked == [b"many.example"]
