"""The policy at a distance: documents are held by Fetch, everything by a gateway that the far browser can reach."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pilothouse.browser.remote import Remotes
from pilothouse.call import Defaults
from pilothouse.cdp.flags import NO_UDP
from pilothouse.errors import Failure
from pilothouse.guard.abroad import Abroad
from pilothouse.guard.rules import read_rules
from pilothouse.options import Endpoint, Grid
from pilothouse.options import Sluice as Gateways
from tests.browser.looking import fails
from tests.guard.escapes import ALLOWED, DENIED, NEVER, WAYS, Trap, Web
from tests.guard.test_escapes import Noting, happens
from tests.house import Agent, House
from tests.promises import promise
from tests.remote.afar import SANDBOX, Afar, chromium, furnished
from tests.server import PageServer

pytestmark = promise("D02", "D04", "H02")

HOSTS = 'template = "sandbox"\n[[rules]]\nhost = "{pattern}"\nread = false\n'


async def test_a_document_that_the_policy_forbids(guest: Agent, lab: House, site: PageServer) -> None:
    await guest.call("navigate", url=site.url("small.html"))
    before, other = lab.policy.rules, site.url("small.html").replace("127.0.0.1", "localhost")
    lab.policy.replace(read_rules(HOSTS.format(pattern="localhost")))
    try:
        await fails(guest, "denied", "navigate", url=other)
        await fails(guest, "denied", "evaluate_js", expression=f"location.href = {other!r}; return 0")
    finally:
        lab.policy.replace(before)


async def test_the_template_is_careful(tmp_path: Path, afar: Afar, site: PageServer) -> None:
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    house.policy.replace(read_rules(""))
    async with house.agent() as agent:
        await agent.call("open_session")
        failure = await fails(agent, "denied", "navigate", url=site.url("small.html"))
        assert "template careful" in failure.message
    await house.close()


def through_gateways(house: House, nodes: str) -> None:
    """As the daemon opens them for other machines; here the other machine is this one."""
    settings = Gateways(advertise="127.0.0.1", nodes=[nodes])
    house.remotes = house.sessions.remotes = Remotes(house.elsewhere.sources, Abroad(house.sluice, settings))


OWN_HOSTS = "".join(f'\n[[rules]]\nhost = "{host}"' for host in ("127.0.0.1", "localhost"))


@pytest.fixture
async def advertised(tmp_path: Path, afar: Afar) -> AsyncIterator[House]:
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    house.policy.replace(read_rules(SANDBOX + OWN_HOSTS))
    through_gateways(house, "127.0.0.0/8")
    yield house
    await house.close()


async def test_everything_passes_the_gateway(advertised: House, site: PageServer) -> None:
    async with advertised.agent() as agent:
        opened = await agent.call("open_session", allowed_domains=["127.0.0.1"])
        assert "through the gateway" in opened["limits"]
        assert NO_UDP in opened["limits"]  # it was not started with it, and nobody can add it now
        await agent.call("navigate", url=site.url("small.html"))
        other = site.url("small.html").replace("127.0.0.1", "localhost")
        script = "return await fetch(args[0], {mode: 'no-cors'}).then(() => 'came', () => 'held')"
        assert (await agent.call("evaluate_js", expression=script, args=[other]))["value"] == "held"
        await fails(agent, "denied", "navigate", url=other)


async def test_this_machine_s_own_services_are_not_meant(advertised: House, site: PageServer) -> None:
    advertised.policy.replace(read_rules(SANDBOX))
    async with advertised.agent() as agent:
        await agent.call("open_session")
        failure = await fails(agent, "denied", "navigate", url=site.url("small.html"))
        assert "if a rule names it" in failure.message


async def test_strangers_are_cut_off(tmp_path: Path, afar: Afar, site: PageServer) -> None:
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    through_gateways(house, "10.0.0.0/8")
    async with house.agent() as agent:
        failure = await fails(agent, "navigation_failed", "navigate", url=site.url("small.html"))
        assert "came from 127.0.0.1, which sluice.nodes does not name" in failure.message
    await house.close()


@pytest.fixture
def view() -> Noting:
    return Noting([ALLOWED], alone=True)


@pytest.fixture
async def trapped(tmp_path: Path, view: Noting) -> AsyncIterator[House]:
    """A browser elsewhere as our own are started, behind a gateway, and one host that is denied."""
    with chromium(tmp_path / "far", NO_UDP, whole=True) as one:
        house = House(tmp_path, view, {DENIED: "127.0.0.1", ALLOWED: "127.0.0.1"})
        house.elsewhere.configure([Endpoint("lab", one.url)], Grid())
        house.policy.replace(read_rules(SANDBOX))
        house.defaults = Defaults(browser="remote", profile="lab")
        through_gateways(house, "127.0.0.0/8")
        yield house
        await house.close()


# Of each kind one; all of them, and that they exist, are tried in a browser of our own (tests/guard/test_escapes.py).
TRIED = (
    "navigate", "redirect 302", "iframe", "object", "img", "font", "script", "prefetch", "download",
    "fetch", "fetch, keepalive", "beacon", "WebSocket", "EventSource", "TURN over TCP", "worker", "shared worker",
    "service worker", "worklet", "127.0.0.1",
)  # fmt: skip


async def test_no_way_leads_to_a_denied_host(trapped: House, view: Noting, site: PageServer) -> None:
    """The same ways out as at home; and those over UDP, which no proxy sees."""
    opened = await trapped.agent().call("open_session")
    assert "WebRTC" not in opened["limits"]
    leaks: dict[str, list[bytes]] = {}
    untried: list[str] = []
    turns = asyncio.Semaphore(4)

    async def attempt(name: str, way: Callable[[Web], str]) -> None:
        async with turns, Trap() as trap, trapped.agent() as agent:
            with suppress(Failure):  # of a navigation that is refused
                await agent.call("navigate", url=way(Web(site, trap)))
            if name in NEVER:
                await agent.call("wait_for", function="document.title == 'done'")
            elif not await happens(view.event(trap.port)):
                untried.append(name)
            if trap.caught:
                leaks[name] = trap.caught

    ways = {name: WAYS[name] for name in TRIED} | NEVER
    await asyncio.gather(*(attempt(name, way) for name, way in ways.items()))
    assert not untried, "neither arrived nor refused: these prove nothing"
    assert leaks == {}


async def test_webrtc_goes_past_a_gateway_if_chrome_was_not_started_for_it(advertised: House, site: PageServer) -> None:
    """Which is why the session's limits say so, and a Grid is asked for the flag."""
    async with Trap() as trap, advertised.agent() as agent:
        assert NO_UDP in (await agent.call("open_session"))["limits"]
        await agent.call("navigate", url=NEVER["STUN"](Web(site, trap)))
        assert await happens(trap.arrival)
        assert trap.caught[0].startswith(b"UDP")
