"""What a Grid is owed, on one without browsers: signs of life, browsers given back, credentials, no belief in its words."""

import asyncio
import datetime
import json
import logging
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pilothouse.browser import sessions
from pilothouse.browser.usage import processes
from pilothouse.browser.warden import Bounds
from pilothouse.call import Call, Caller, Defaults
from pilothouse.cdp.flags import NO_UDP
from pilothouse.options import Config, Endpoint, Grid
from pilothouse.options import Sluice as Gateways
from pilothouse.providers.grid import GridSource
from tests.browser.looking import fails
from tests.daemon_here import daemon_here
from tests.house import Agent, House
from tests.processes import INITIALIZED, Process, call, initialize, kill_daemon
from tests.promises import promise
from tests.remote.afar import furnished
from tests.remote.stub import Stub, stub_grid
from tests.remote.test_queue import until
from tests.server import PageServer

pytestmark = promise("H01", "B01")


# Signs of life, and the end


async def test_a_session_is_kept_alive(tmp_path: Path) -> None:
    """The Grid ends sessions that say nothing; those that nobody keeps alive any more go by themselves."""
    async with stub_grid(2) as grid:
        grid.timeout_s = 1.0
        house = furnished(tmp_path, grid=Grid(grid.url, keep_alive_s=0.1))
        async with house.agent() as agent:
            await agent.call("open_session")
            (kept,) = grid.sessions
            await until(lambda: grid.signs[kept] >= 15)
            assert kept in grid.sessions
            house.elsewhere.configure([], Grid(grid.url, keep_alive_s=100))
            async with house.agent() as other:
                await other.call("open_session")
                (silent,) = set(grid.sessions) - {kept}
                await until(lambda: silent not in grid.sessions)
            assert kept in grid.sessions
        await house.close()


@promise("B08")
async def test_an_idle_session_gives_its_browser_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SWEEP_S", 0.05)
    async with stub_grid(1) as grid:
        house = furnished(tmp_path, grid=Grid(grid.url))
        await house.agent().call("open_session")
        assert len(grid.sessions) == 1
        house.sessions._idle_s = 0.1
        await until(lambda: not grid.sessions)
        await house.close()


class Daemon:
    """A real one, in a process of its own, whose Grid is the stub."""

    def __init__(self, home: Path, grid: Stub) -> None:
        (home / "config.toml").write_text(f'[grid]\nurl = "{grid.url}"\nkeep_alive_s = 1\n')
        self._home = home
        self.process = Process("serve", home=home)

    async def opens_a_session(self) -> None:
        url = (await asyncio.to_thread(self.process.read))["url"]
        await asyncio.to_thread(self._post, f"{url}/api/tools/open_session", {"browser": "remote"})

    def _post(self, url: str, data: dict[str, Any]) -> None:
        key = (self._home / "agent.key").read_text().strip()
        headers = {"X-API-Key": key, "Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(data).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.loads(answer.read())["success"]


async def test_a_daemon_that_is_told_to_stop_gives_all_back(home: Path) -> None:
    async with stub_grid(1) as grid:
        daemon = Daemon(home, grid)
        await daemon.opens_a_session()
        assert len(grid.sessions) == 1
        daemon.process.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(daemon.process.wait) == 0
        assert not grid.sessions
        daemon.process.end()


async def test_after_a_kill_the_grid_s_own_time_out_ends_it(home: Path) -> None:
    async with stub_grid(1) as grid:
        grid.timeout_s = 2.5
        daemon = Daemon(home, grid)
        await daemon.opens_a_session()
        (ident,) = grid.sessions
        await until(lambda: grid.signs[ident] >= 3)  # by then it would be over, without them
        assert ident in grid.sessions
        daemon.process.process.kill()
        await until(lambda: not grid.sessions)
        daemon.process.end()


@promise("E03")
async def test_the_sessions_of_mcp_cdp_are_on_the_grid(home: Path) -> None:
    async with stub_grid(1) as grid:
        (home / "config.toml").write_text(f'[grid]\nurl = "{grid.url}"\n')
        line = Process("mcp", "--cdp", "grid", home=home)
        line.send(initialize(), INITIALIZED, call(1, "tools/call", name="list_tabs", arguments={}))
        while (answer := await asyncio.to_thread(line.read)).get("id") != 1:
            pass
        assert "runs elsewhere" in answer["result"]["structuredContent"]["limits"]
        assert len(grid.sessions) == 1
        line.end()
        await until(lambda: not grid.sessions)  # a connection that is gone has no sessions
        kill_daemon(home)


# What is sent, and to whom


async def test_who_the_grid_does_not_know(tmp_path: Path) -> None:
    async with stub_grid(1) as grid:
        grid.user = "router:right-word"
        house = furnished(tmp_path, grid=Grid(grid.url, username="router", password="right-word"))
        async with house.agent() as agent:
            await agent.call("open_session")
            assert len(grid.sessions) == 1
        await until(lambda: not grid.sessions)
        for wrong in (Grid(grid.url, username="router", password="wrong-word"), Grid(grid.url)):
            house.elsewhere.configure([], wrong)
            async with house.agent() as agent:
                failure = await fails(agent, "browser_gone", "open_session")
                assert "user and password" in failure.message
                assert "grid.password" in failure.suggestions[0]
        await house.close()


async def test_a_password_that_was_changed_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who cannot give a browser back any more says so: it stays until the Grid's time-out."""
    async with stub_grid(1) as grid:
        house = furnished(tmp_path, grid=Grid(grid.url))
        async with house.agent() as agent:
            await agent.call("open_session")
            grid.ending = 401
            await agent.call("close_session")
        await until(lambda: "status 401" in caplog.text)
        assert caplog.records[-1].levelno == logging.WARNING
        await house.close()


@promise("H02")
@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_headers_are_on_the_wire(tmp_path: Path, scheme: str) -> None:
    async with stub_grid(1) as far:
        url = far.url if scheme == "http" else f"{far.url.replace('http', 'ws')}/session/only/se/cdp"
        house = furnished(tmp_path, Endpoint("lab", url, headers={"X-API-Key": "word-of-the-lab"}))
        async with house.agent() as agent:
            await agent.call("open_session")
        assert len(far.headers) == (2 if scheme == "http" else 1)
        assert {one["x-api-key"] for one in far.headers} == {"word-of-the-lab"}
        await house.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of `localhost`, trusted by nobody yet."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    ident = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(ident, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ident), critical=False)
        .sign(key, hashes.SHA256())
    )
    formats = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path / "certificate.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(key.private_bytes(pem, *formats) + made.public_bytes(pem))
    return file


def through_tls(home: Path, far: Stub, kind: str) -> House:
    if kind == "grid":
        return furnished(home, grid=Grid(far.url))
    socket = f"{far.url.replace('https', 'wss')}/session/only/se/cdp"
    return furnished(home, Endpoint("lab", socket if kind == "wss" else far.url))


@promise("H02")
@pytest.mark.parametrize("kind", ["grid", "https", "wss"])
async def test_tls_is_spoken_with_who_is_trusted(
    tmp_path: Path, certificate: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stub_grid(1, certificate) as far:
        house = through_tls(tmp_path, far, kind)
        async with house.agent() as agent:
            await fails(agent, "browser_gone", "open_session")
            assert not far.headers
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            await agent.call("open_session")
            assert far.headers
        await house.close()


@promise("D04")
@pytest.mark.parametrize(
    ("capabilities", "key"),
    [
        ({}, "goog:chromeOptions"),
        ({"goog:chromeOptions": {"args": ["--headless=new"], "binary": "/x"}}, "goog:chromeOptions"),
        ({"browserName": "MicrosoftEdge"}, "ms:edgeOptions"),
    ],
)
async def test_browsers_behind_a_gateway_are_asked_to_send_no_udp_past_it(
    capabilities: dict[str, Any], key: str
) -> None:
    async with stub_grid(2) as grid:
        for holds in (True, False):
            source = GridSource(Grid(grid.url, capabilities=capabilities), lambda text, origin: text, holds=holds)
            await (await source.connect()).release()
        held, unheld = grid.wanted
        before = capabilities.get(key, {})
        assert held[key] == {**before, "args": [*before.get("args", []), NO_UDP]}
        assert unheld == {"browserName": "chrome", **capabilities}


@promise("D04")
async def test_the_daemon_s_own_gateways(home: Path) -> None:
    """As it opens them itself: the browser is told where, and asked to go out by no other way."""
    gateways = Gateways(advertise="pilothouse.internal", nodes=["127.0.0.0/8"], listen="127.0.0.1")
    async with stub_grid(1) as grid, daemon_here(home, Config(grid=Grid(grid.url), sluice=gateways)) as here:
        here.decide = lambda question: None
        opened = await here.gate.call(Call("open_session", {"browser": "remote"}, Caller("default", "c", "mcp")))
        assert "through the gateway" in opened.data["limits"]
        told = grid.heard["Target.createBrowserContext"]
        assert told["proxyServer"].startswith("socks5://pilothouse.internal:")
        assert NO_UDP in grid.wanted[0]["goog:chromeOptions"]["args"]


@promise("D05")
async def test_the_daemon_s_own_sessions_do_not_reach_the_grid(home: Path, site: PageServer) -> None:
    async with stub_grid(1) as grid, daemon_here(home, Config(grid=Grid(grid.url))) as here:
        here.decide = lambda question: None
        agent = Agent(here.gate, Caller("default", "c", "mcp"))
        failure = await fails(agent, "denied", "navigate", url=f"{grid.url}/json/version")
        assert "where browsers elsewhere are had from" in failure.message
        await agent.call("navigate", url=site.url("small.html"))
        script = "return await fetch(args[0], {mode: 'no-cors'}).then(() => 'came', () => 'held')"
        for url in (grid.url, grid.url.replace("127.0.0.1", "localhost")):
            told = await agent.call("evaluate_js", expression=script, args=[f"{url}/json/version"])
            assert told["value"] == "held"
        assert grid.headers == []


async def test_a_key_among_the_capabilities_is_written_out(tmp_path: Path) -> None:
    async with stub_grid(1) as grid:
        house = furnished(tmp_path, grid=Grid(grid.url, capabilities={"cloud:options": {"keys": ["secret:cloud"]}}))
        house.secrets.set("cloud", "the-key-of-the-cloud", ["127.0.0.1"])
        async with house.agent() as agent:
            await agent.call("open_session")
        assert grid.wanted[0]["cloud:options"] == {"keys": ["the-key-of-the-cloud"]}
        await house.close()


# What a Grid tells is not believed


@pytest.mark.parametrize("told", ["ws://[bad/session/x", ""])
async def test_an_address_that_is_none_costs_no_browser(tmp_path: Path, told: str) -> None:
    async with stub_grid(1) as grid:
        grid.cdp = told
        house = furnished(tmp_path, grid=Grid(grid.url))
        async with house.agent() as agent:
            answer = await agent.ask("open_session")
            assert answer.data["error"]["code"] in ("browser_gone", "unsupported")
            await until(lambda: not grid.sessions)
        await house.close()


@promise("B08", "B11")
@pytest.mark.parametrize(
    "told",
    [{}, {"processInfo": 5}, {"processInfo": [5]}, {"processInfo": [{"id": "x", "type": [], "cpuTime": None}]}],
)
async def test_an_odd_browser_does_not_blind_the_warden(
    tmp_path: Path, house: House, site: PageServer, told: dict[str, Any]
) -> None:
    """What it says of its processes is nothing; what others cost is still seen, and held."""
    async with stub_grid(1) as grid:
        grid.says["SystemInfo.getProcessInfo"] = told
        grid.silent.add("Runtime.terminateExecution")
        far = furnished(tmp_path, grid=Grid(grid.url))
        async with far.agent() as odd, house.agent(Defaults()) as greedy:
            await odd.call("open_session")
            (session,) = far.sessions.every()
            session.tabs[0].channel.post("Runtime.terminateExecution")  # somebody waits for it, so it is asked
            assert await processes(session.context.browser, elsewhere=True) == []
            await greedy.call("navigate", url=site.url("small.html"))
            mine = house.sessions.of((greedy.caller.key, greedy.caller.connection))
            warden = far.sessions.warden
            warden._sessions = lambda: [session, *mine]
            warden.bounds = Bounds(session_memory_bytes=1)
            await warden.look()
            assert "a page was ended" in (await greedy.ask("list_tabs")).text
        await far.close()


async def test_processes_of_another_machine_are_not_looked_up_here(tmp_path: Path) -> None:
    """In a container nearly every small number is one of ours."""
    async with stub_grid(1) as grid:
        us = {"id": os.getpid(), "cpuTime": 1.5}
        told = [{"type": "browser", **us}, {"type": "renderer", **us}]
        grid.says["SystemInfo.getProcessInfo"] = {"processInfo": told}
        grid.silent.add("Runtime.terminateExecution")
        house = furnished(tmp_path, grid=Grid(grid.url))
        async with house.agent() as agent:
            await agent.call("open_session")
            (session,) = house.sessions.every()
            await until(lambda: not session.context.browser.connection.waits)
            assert await processes(session.context.browser, elsewhere=True) == []  # nobody waits for it
            session.tabs[0].channel.post("Runtime.terminateExecution")
            found = await processes(session.context.browser, elsewhere=True)
            assert [(one.kind, one.memory_bytes, one.cpu_s) for one in found] == [
                ("browser", 0, 1.5),
                ("renderer", 0, 1.5),
            ]
        await house.close()


async def test_who_gave_up_leaves_no_context_in_a_browser_that_others_share(tmp_path: Path) -> None:
    async with stub_grid(1) as grid:
        grid.silent.add("Target.createBrowserContext")
        house = furnished(tmp_path, grid=Grid(grid.url, share=True))
        async with house.agent() as agent:
            waiting = asyncio.create_task(agent.call("open_session"))
            await until(lambda: "Target.createBrowserContext" in grid.heard)
            waiting.cancel()
            await asyncio.wait([waiting])
            grid.silent.clear()
            await grid.speak_up()
            await until(lambda: "Target.disposeBrowserContext" in grid.heard)
        await house.close()
