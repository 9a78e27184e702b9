"""The policy at a distance: documents are held by Fetch, everything by a gateway that the far browser can reach."""

import ipaddress
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from pilothouse.browser.remote import Remotes
from pilothouse.config import Endpoint
from pilothouse.guard.rules import read_rules
from pilothouse.guard.sluice import Gateway
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.remote.afar import Afar, furnished
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


class Abroad:
    """As the daemon opens gateways for other machines; here the other machine is this one."""

    def __init__(self, house: House, nodes: str) -> None:
        self._house = house
        self._nodes = [ipaddress.ip_network(nodes)]

    async def __call__(self, *, upstream: str = "", allowed: Sequence[str] = ()) -> tuple[Gateway, str]:
        gateway = await self._house.sluice.open_abroad("0.0.0.0", self._nodes, upstream=upstream, allowed=allowed)
        return gateway, "127.0.0.1"


@pytest.fixture
async def advertised(tmp_path: Path, afar: Afar) -> AsyncIterator[House]:
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    house.sessions.remotes = Remotes(house.elsewhere.sources, Abroad(house, "127.0.0.0/8"))
    yield house
    await house.close()


async def test_everything_passes_the_gateway(advertised: House, site: PageServer) -> None:
    async with advertised.agent() as agent:
        opened = await agent.call("open_session", allowed_domains=["127.0.0.1"])
        assert "through the gateway" in opened["limits"]
        await agent.call("navigate", url=site.url("small.html"))
        other = site.url("small.html").replace("127.0.0.1", "localhost")
        script = "return await fetch(args[0], {mode: 'no-cors'}).then(() => 'came', () => 'held')"
        assert (await agent.call("evaluate_js", expression=script, args=[other]))["value"] == "held"
        await fails(agent, "denied", "navigate", url=other)


async def test_strangers_are_cut_off(tmp_path: Path, afar: Afar, site: PageServer) -> None:
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    house.sessions.remotes = Remotes(house.elsewhere.sources, Abroad(house, "10.0.0.0/8"))
    async with house.agent() as agent:
        await fails(agent, "navigation_failed", "navigate", url=site.url("small.html"))
    await house.close()
