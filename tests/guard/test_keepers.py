"""Where browsers elsewhere are had from: whoever reaches it has browsers without a policy, so no session does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from ipaddress import ip_address, ip_network

import pytest

from pilothouse.guard import socks
from pilothouse.guard.keepers import Keepers, is_own
from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from pilothouse.guard.sluice import Sluice
from pilothouse.tool import Access
from tests.guard.test_netrules import fits
from tests.guard.test_sluice import ask, echo, serve
from tests.promises import promise

pytestmark = promise("D05", "B01")

SANDBOX = 'template = "sandbox"\n'
URLS = ["http://127.0.0.1:4444", "ws://10.0.0.5:9222/devtools/browser/x", "wss://browsers.example/?token=secret:a"]


def policy(text: str, *urls: str) -> Policy:
    keepers = Keepers()
    keepers.replace(urls or URLS)
    return Policy(read_rules(text), keepers=keepers)


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("http://127.0.0.1:4444/ui", "deny"),
        ("http://localhost:4444/", "deny"),
        ("http://a.localhost:4444/", "deny"),
        ("http://[::1]:4444/", "deny"),
        ("http://[::ffff:127.0.0.1]:4444/", "deny"),
        ("http://0.0.0.0:4444/", "deny"),
        ("https://127.0.0.1:4444/", "deny"),
        ("http://10.0.0.5:9222/json", "deny"),
        ("https://browsers.example/", "deny"),
        ("http://127.0.0.1:4445/", "allow"),
        ("http://10.0.0.5/", "allow"),
        ("http://browsers.example/", "allow"),
        ("http://127.0.0.1:9222/", "allow"),
    ],
)
@pytest.mark.parametrize("browser", ["isolated", "profile", "remote", "extension"])
def test_it_is_closed_by_every_name_of_it(url: str, verdict: str, browser: str) -> None:
    said = policy(SANDBOX).decide_document(browser, "auto", url)
    assert said.verdict == verdict
    assert verdict == "allow" or said.rule == "built in"


@pytest.mark.parametrize("host", ["*.example", "127.0.0.1", "browsers.example", "*.browsers.example:443"])
def test_a_rule_that_means_more_does_not_open_it(host: str) -> None:
    text = f'{SANDBOX}[[rules]]\nhost = "{host}"\nwrite = true\n'
    for url in ("http://127.0.0.1:4444/", "https://browsers.example/"):
        assert policy(text).decide_document("isolated", "auto", url).verdict == "deny"


def test_a_rule_for_that_very_host_and_port_does() -> None:
    text = f'{SANDBOX}[[rules]]\nhost = "127.0.0.1:4444"\n[[rules]]\nhost = "browsers.example:443"\n'
    for url in ("http://127.0.0.1:4444/", "http://localhost:4444/", "https://browsers.example/x"):
        assert policy(text).decide_document("isolated", "auto", url).verdict == "allow"
    assert policy(text).decide_document("isolated", "auto", "http://10.0.0.5:9222/").verdict == "deny"


def test_the_line_that_would_open_it_is_told_to_who_knows_its_name() -> None:
    said = policy(SANDBOX).decide_document("isolated", "auto", "https://browsers.example/")
    assert 'host = "browsers.example:443"' in said.line
    said = policy(SANDBOX).decide_document("isolated", "auto", "http://localhost:4444/")
    assert "127.0.0.1" not in said.line + said.why


def test_lists_of_resources_do_not_open_it() -> None:
    text = f'{SANDBOX}[[rules]]\nhost = "a.test"\nresources = ["*", "127.0.0.1:4444"]\n'
    view = policy(text).view("isolated", "auto")
    assert view.host("127.0.0.1", 4444)
    assert view.host("127.0.0.1", 4445) is None


def test_what_no_gateway_holds_is_shown_to_us_first() -> None:
    assert policy(SANDBOX).view("remote", "auto").watch == "documents"
    assert policy(SANDBOX).view("isolated", "auto").watch == ""


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:4444/x", "ws://localhost:4444/", "http://10.0.0.5:9222/", "https://browsers.example/"]
)
def test_in_the_person_s_own_chrome(url: str) -> None:
    def blocks(text: str) -> bool:
        rules = [one for one in policy(text).view("extension", "auto").net_rules(()) if fits(one["condition"], url)]
        return bool(rules) and max(rules, key=lambda one: one["priority"])["action"]["type"] == "block"

    assert blocks(SANDBOX)
    named = ("127.0.0.1:4444", "10.0.0.5:9222", "browsers.example:443")
    assert not blocks(SANDBOX + "".join(f'[[rules]]\nhost = "{one}"\n' for one in named))


def test_an_agent_may_not_act_there_either() -> None:
    judge = policy(SANDBOX)._judge("isolated", "auto")
    assert judge.judge("http://127.0.0.1:4444/", Access.SENSITIVE, "high").verdict == "deny"


def test_changes_are_told() -> None:
    told: list[str] = []
    keepers = Keepers()
    keepers.on_change = lambda: told.append("changed")
    keepers.replace(["http://a.test"])
    keepers.replace(["http://a.test/"])
    keepers.replace([])
    assert told == ["changed", "changed"]
    assert keepers.all() == ()


def test_what_is_this_machine_s() -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address("192.0.2.1"))


@pytest.fixture
async def hub_port() -> AsyncIterator[int]:
    server, port = await serve(echo)
    yield port
    server.close()


def sluice_before(port: int, text: str, host: str = "127.0.0.1", **more: object) -> tuple[Sluice, Policy]:
    keepers = Keepers()
    keepers.replace([f"http://{host}:{port}"])
    hosts = {"hub.test": "127.0.0.1", "alias.test": "127.0.0.1"}
    return Sluice(hosts, set(), keepers=keepers, **more), Policy(read_rules(text), keepers=keepers)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "alias.test", "::1", "::ffff:7f00:1"])
@pytest.mark.parametrize("keeper", ["127.0.0.1", "hub.test"])
async def test_no_name_leads_there(hub_port: int, name: str, keeper: str) -> None:
    sluice, policy = sluice_before(hub_port, SANDBOX, keeper)
    gateway = await sluice.open(policy.view("isolated", "auto"))
    code, _ = await ask(gateway, name, hub_port)
    assert code == socks.NOT_ALLOWED
    assert "where browsers elsewhere are had from" in gateway.reason(name, hub_port)
    sluice.close()


@pytest.mark.parametrize("name", ["hub.test", "alias.test"])
async def test_a_rule_for_it_opens_every_name(hub_port: int, name: str) -> None:
    sluice, policy = sluice_before(hub_port, f'{SANDBOX}[[rules]]\nhost = "hub.test:{hub_port}"\n', "hub.test")
    code, _ = await ask(await sluice.open(policy.view("isolated", "auto")), name, hub_port)
    assert code == socks.GRANTED
    sluice.close()


async def test_nor_by_another_address_of_this_machine(hub_port: int) -> None:
    """As if 10.1.2.3 were ours: the connection arrives at the address it came from."""

    async def home(addresses: object, port: int) -> tuple[asyncio.Transport, socks.Arrival]:
        return await asyncio.get_running_loop().create_connection(socks.Arrival, "127.0.0.1", port)

    sluice, policy = sluice_before(hub_port, SANDBOX, connect=home)
    code, _ = await ask(await sluice.open(policy.view("isolated", "auto")), "10.1.2.3", hub_port)
    assert code == socks.NOT_ALLOWED
    sluice.close()


# Gateways for other machines


@pytest.mark.parametrize(("rule", "code"), [("", socks.NOT_ALLOWED), ("alias.test", socks.GRANTED)])
@promise("D04")
async def test_loopback_here_is_not_meant_for_machines_elsewhere(hub_port: int, rule: str, code: int) -> None:
    text = SANDBOX + (f'[[rules]]\nhost = "{rule}"\n' if rule else "")
    sluice = Sluice({"alias.test": "127.0.0.1"}, set())
    gateway = await sluice.open_abroad("127.0.0.1", [ip_network("127.0.0.0/8")])
    gateway.attach(Policy(read_rules(text)).view("remote", "auto"))
    assert (await ask(gateway, "alias.test", hub_port))[0] == code
    sluice.close()


@promise("D04")
async def test_a_gateway_abroad_says_why_nobody_comes() -> None:
    sluice = Sluice({}, set())
    gateway = await sluice.open_abroad("127.0.0.1", [ip_network("10.0.0.0/8")])
    assert "may not reach sluice.advertise" in gateway.reason("a.test", 443)
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    assert await reader.read() == b""
    assert gateway.reason("a.test", 443) == "the browser came from 127.0.0.1, which sluice.nodes does not name"
    writer.close()
    sluice.close()


@promise("D04")
async def test_a_gateway_abroad_is_not_for_everybody() -> None:
    with pytest.raises(ValueError, match="which"):
        await Sluice({}, set()).open_abroad("127.0.0.1", [])


async def test_what_becomes_a_keeper_is_cut_off(hub_port: int) -> None:
    """A person names a Grid while pages are connected to it, by another name."""
    sluice, policy = sluice_before(1, SANDBOX)
    gateway = await sluice.open(policy.view("isolated", "auto"))
    code, (reader, _) = await ask(gateway, "alias.test", hub_port)
    assert code == socks.GRANTED
    sluice.keepers.replace([f"http://127.0.0.1:{hub_port}"])
    assert gateway.withdraw() == 1
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(5):
            assert await reader.read() == b""
    sluice.close()
