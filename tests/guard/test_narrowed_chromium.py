"""A real browser behind a narrowed gateway and behind a proxy: what navigate and the network log say about it."""

import pytest

from pilothouse.guard.domains import read_domains
from pilothouse.guard.sluice import Gateway
from pilothouse.guard.upstream import read_upstream
from tests.browser.looking import fails
from tests.guard.proxies import Proxy
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B09", "D04")


@pytest.fixture
async def gateway(agent: Agent, house: House) -> Gateway:
    """The session's own, before it has connected to anything."""
    await agent.call("open_session")
    (session,) = house.sessions.of((agent.caller.key, agent.caller.connection))
    assert isinstance(session.context.gateway, Gateway)
    return session.context.gateway


async def test_beyond_the_allowed_domains(agent: Agent, gateway: Gateway, site: PageServer):
    gateway._domains = read_domains(["127.0.0.1"])
    assert (await agent.call("navigate", url=site.url("small.html")))["status"] == 200
    why = "localhost is not among this session's allowed_domains"
    problem = await fails(agent, "denied", "navigate", url=site.url("small.html", other=True))
    assert why in problem.message
    hidden = site.url(f"redirect?to={site.url('small.html', other=True)}")
    assert why in (await fails(agent, "denied", "navigate", url=hidden)).message
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(f"await fetch('{site.url('echo?beyond', other=True)}').catch(() => 0); return 0")
    socket = site.other_origin.replace("http", "ws") + "/ws"
    await agent.js(f"return await new Promise(d => {{ const s = new WebSocket('{socket}'); s.onclose = () => d(1) }})")
    for pattern in ("?beyond", "/ws"):
        (one,) = (await agent.call("get_network_log", url_pattern=pattern))["requests"]
        assert one["failure"] == why


@pytest.mark.parametrize("kind", ["http", "socks5", "socks4"])
async def test_through_a_proxy(agent: Agent, gateway: Gateway, site: PageServer, kind: str):
    async with Proxy(kind) as proxy:
        gateway._upstream = read_upstream(proxy.url())
        arrived = await agent.call("navigate", url=f"http://far.example:{site.port}/small.html")
        assert arrived["status"] == 200
        assert ("far.example", site.port) in proxy.asked
        assert (await agent.call("navigate", url=site.url("form.html")))["status"] == 200
        assert {host for host, _ in proxy.asked} == {"far.example"}
        proxy.answer = 503 if kind == "http" else 4 if kind == "socks5" else 91
        problem = await fails(agent, "navigation_failed", "navigate", url="http://other.example/")
        assert f"the proxy {kind}://127.0.0.1:{proxy.port} " in problem.message
