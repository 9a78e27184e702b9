"""`pilothouse hub` as a process of its own: users with keys, browsers and a daemon as its clients, its restart."""

import asyncio
import contextlib
import ipaddress
import json
import shutil
import signal
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from pilothouse.errors import Failure
from pilothouse.guard.known import known
from pilothouse.guard.pairing import ORIGIN
from pilothouse.hub import far
from pilothouse.hub.far import FarHub
from pilothouse.hub.words import (
    ConsoleData,
    ConsoleEntry,
    ConsoleFilters,
    GetConsole,
    GetNetwork,
    ListTabs,
    NetworkData,
    NetworkFilters,
    NetworkRequest,
    TabInfo,
    Tabs,
)
from pilothouse.options import Config
from pilothouse.options import Hub as HubSettings
from pilothouse.users import Users
from tests import own_chrome
from tests.command_line import CommandLine
from tests.daemon_here import ALLOW, daemon_here
from tests.hub.viewers import Shop, Viewer, viewer
from tests.processes import Process
from tests.promises import promise
from tests.proxy.apps import running
from tests.proxy.conftest import SECRET, ProxyHere, proxy_here

pytestmark = promise("G06", "G07", "G08")


class Town:
    """A proxy with a cocoon for each of two users, and a hub on a port of its own that can be started again."""

    def __init__(self, home: Path, proxy: ProxyHere) -> None:
        self.home = home
        self.proxy = proxy
        self.keys = {name: Users(proxy.file).add(name) for name in ("ann", "ben")}
        proxy.file.write_text(f"[proxy]\nport = {proxy.port}\n\n{proxy.file.read_text()}")
        self.port = 0
        self.url = ""
        self.process: Process

    async def start(self) -> None:
        self.process = Process(
            "hub", "--port", str(self.port), "--config", str(self.proxy.file), home=self.home, HIVE_SECRET=SECRET
        )
        told = await asyncio.to_thread(self.process.read)
        self.url = told["url"]
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    def stop(self) -> None:
        self.process.process.send_signal(signal.SIGTERM)
        assert self.process.process.wait(5) == 0

    def client(self, user: str) -> FarHub:
        return FarHub(self.url, self.keys[user])


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with running(Shop()) as shop:
        cocoons = {"anns": {"target": shop.url, "owner": "ann"}, "bens": {"target": shop.url, "owner": "ben"}}
        async with proxy_here(tmp_path, cocoons) as proxy:
            one = Town(home, proxy)
            try:
                await one.start()
                yield one
            finally:
                one.process.process.kill()
                one.process.end()


async def until(look: Callable[[], Any], what: str, seconds: float = 10) -> Any:
    end = time.monotonic() + seconds
    while not (found := await look()):
        assert time.monotonic() < end, f"never: {what}"
        await asyncio.sleep(0.02)
    return found


async def test_two_users_two_cocoons_three_browsers(town: Town):
    async with contextlib.AsyncExitStack() as stack:
        browsers: list[Viewer] = [await stack.enter_async_context(viewer()) for _ in range(3)]
        for browser, user in zip(browsers, ("ann", "ann", "ben"), strict=True):
            await browser.use_hub(town.url, town.keys[user])
            page = await browser.chrome.open(f"{town.proxy.origin(f'{user}s')}/quiet")
            await browser.chrome.go(page, f"{town.proxy.origin(f'{user}s')}/shop")
        ids = [await browser.browser_id() for browser in browsers]
        hubs = {user: town.client(user) for user in ("ann", "ben")}
        for user, own in (("ann", ids[:2]), ("ben", ids[2:])):

            async def seen(user: str = user, own: list[str] = own) -> list[TabInfo] | None:
                tabs = await hubs[user].listed("")
                return tabs if sorted(one.browser_id for one in tabs) == sorted(own) else None

            tabs = await until(seen, f"{user} sees their own tabs")
            assert {one.cocoon_id for one in tabs} == {f"{user}s"}
            await _filters(hubs[user], tabs[0].token)
        anns = (await hubs["ann"].listed(""))[0].token
        with pytest.raises(Failure, match="no such tab"):
            await hubs["ben"].network("", anns, NetworkFilters())
        # A page of another's cocoon is not offered by one who does not own it.
        await browsers[2].chrome.open(f"{town.proxy.origin('anns')}/quiet")
        await browsers[2].chrome.open(f"{town.proxy.origin('bens')}/quiet")

        async def both() -> bool:
            return len(await hubs["ben"].listed("")) == 2

        await until(both, "ben's own second page is offered")
        assert {one.cocoon_id for one in await hubs["ben"].listed("")} == {"bens"}
        why = await browsers[2].popup.js("chrome.runtime.sendMessage({type: 'debug'}).then((told) => told.refused)")
        assert (why["url"], why["why"]) == (f"{town.proxy.origin('anns')}/quiet", "this user owns no such cocoon")
        assert len(await hubs["ann"].listed("")) == 2
        for hub in hubs.values():
            await hub.close()


async def _filters(hub: FarHub, token: str) -> None:
    async def network(**filters: Any) -> list[str]:
        found = await hub.network("", token, NetworkFilters(**filters))
        return [one.url.rpartition("/")[2] for one in found if one.duration_ms is not None]

    async def all_there() -> bool:
        return len(await network()) == 4 and len(await hub.console("", token, ConsoleFilters())) >= 5

    await until(all_there, "the page and its three requests are told")
    assert await network(status_min=400) == ["broken"]
    assert await network(status_min=500, status_max=500) == ["broken"]
    assert await network(method=["post"]) == ["items"]
    assert await network(url_pattern=r"\.js$") == ["app.js"]
    assert len(await network(limit=2)) == 2
    newest = (await hub.network("", token, NetworkFilters()))[-1].timestamp
    assert len(await network(since=newest)) >= 1
    assert await network(since=newest + 1e6) == []
    lines = await hub.console("", token, ConsoleFilters())
    assert [one.message for one in await hub.console("", token, ConsoleFilters(level=["warn"]))] == ["answer is 42"]
    assert [one.message for one in await hub.console("", token, ConsoleFilters(message_pattern="^app$"))] == ["app"]
    assert await hub.console("", token, ConsoleFilters(limit=1)) == lines[-1:]
    assert await hub.console("", token, ConsoleFilters(since=lines[-1].timestamp + 1)) == []


async def test_a_hub_that_starts_again_has_the_tabs_back_within_5_s(town: Town, tmp_path: Path):
    home = tmp_path / "daemon"
    home.mkdir(mode=0o700)
    settings = Config(hub=HubSettings(url=town.url, key=town.keys["ann"]))
    async with viewer() as browser, daemon_here(home, settings) as here:
        here.decide = lambda question: ALLOW
        await browser.use_hub(town.url, town.keys["ann"])
        page = await browser.chrome.open(f"{town.proxy.origin('anns')}/quiet")
        headers = {"authorization": f"Bearer {here.agent}"}
        async with httpx.AsyncClient(base_url=here.url, headers=headers, timeout=30) as client:

            async def call(tool: str, **args: Any) -> dict[str, Any]:
                return (await client.post(f"/api/tools/{tool}", json=args)).json()

            async def listed() -> list[dict[str, Any]]:
                told = await call("browser_debug_list_tabs")
                return told["data"]["tabs"] if told["success"] else []

            (tab,) = await until(listed, "the daemon sees it through the far hub")
            await page.js("console.log('before')")
            town.stop()
            began = time.monotonic()
            away = await call("browser_debug_get_console", token=tab["token"])
            assert not away["success"]
            assert time.monotonic() - began < 8
            assert away["error"]["retryable"]
            await page.js("console.log('meanwhile')")
            await browser.chrome.open(f"{town.proxy.origin('anns')}/moves")
            await town.start()
            began = time.monotonic()

            async def both() -> list[dict[str, Any]]:
                found = sorted(await listed(), key=lambda one: one["url"])
                return found if [one["url"].rpartition("/")[2] for one in found] == ["moved?on=1", "quiet"] else []

            _, back = await until(both, "it is back, and so is one that was opened and moved meanwhile")
            assert time.monotonic() - began < 5
            assert (back["browser_id"], back["token"]) == (tab["browser_id"], tab["token"])
            await page.js("console.log('after')")

            async def complete() -> bool:
                told = await call("browser_debug_get_console", token=back["token"])
                return [one["message"] for one in told["data"]["entries"]] == ["before", "meanwhile", "after"]

            await until(complete, "nothing is missing, nothing is twice")


async def test_a_tab_that_was_let_go_and_held_again_tells_nothing_twice(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    quick = shutil.copytree(own_chrome.EXTENSION, tmp_path / "extension")
    offers = quick / "debug-offers.js"
    assert "const AWAY_MS = 60_000;" in offers.read_text()
    offers.write_text(offers.read_text().replace("const AWAY_MS = 60_000;", "const AWAY_MS = 200;"))
    monkeypatch.setattr(own_chrome, "EXTENSION", quick)
    async with viewer() as browser:
        await browser.use_hub(town.url, town.keys["ann"])
        page = await browser.chrome.open(f"{town.proxy.origin('anns')}/quiet")
        await page.js("console.log('before')")
        hub = town.client("ann")

        async def lines() -> list[str]:
            with contextlib.suppress(Failure):
                for tab in await hub.listed(""):
                    return [one.message for one in await hub.console("", tab.token, ConsoleFilters())]
            return []

        async def let_go() -> bool:
            return await browser.held_tabs() == 0

        await until(lines, "it is offered, with its line")
        town.stop()
        await until(let_go, "nobody holds it")
        await page.js("console.log('meanwhile')")
        await town.start()

        async def all_told() -> bool:
            return "after" in await lines()

        await browser.connected()
        await page.js("console.log('after')")
        await until(all_told, "it is held again")
        assert await lines() == ["before", "meanwhile", "after"]
        await hub.close()


class Teller:
    """A browser's line to the hub with one tab, and someone who follows that tab through a far hub."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.token = town.proxy.signer.mint("anns", "/quiet")
        self.ticket = ""

    @contextlib.asynccontextmanager
    async def followed(self) -> AsyncIterator[tuple[ClientConnection, AsyncGenerator[Any], Any]]:
        """The line, what is followed, and the first that was heard: from then on nothing is missed."""
        protocols = [Subprotocol("pilothouse"), Subprotocol(f"pilothouse.key.{self.town.keys['ann']}")]
        async with connect(self.town.url, origin=Origin(ORIGIN), subprotocols=protocols) as line:
            url = f"{self.town.proxy.origin('anns')}/quiet"
            said = {"token": self.token, "browser_id": "b", "url": url, "title": "", "ticket": self.ticket}
            await line.send(json.dumps({"type": "browser_debug_tab_available", **said}))
            self.ticket = json.loads(await line.recv())["ticket"]
            hub = self.town.client("ann")
            (tab,) = await hub.listed("")
            following = hub.followed("", tab.token)
            first = asyncio.create_task(anext(following))
            async with asyncio.timeout(10):
                while not first.done():
                    await line.send(json.dumps(self._line("this is correct-horse-battery")))
                    await asyncio.wait([first], timeout=0.1)
            yield line, following, first.result()
            await hub.close()

    def _line(self, message: str) -> dict[str, Any]:
        entry = {"timestamp": 1, "level": "log", "message": message}
        return {"type": "browser_debug_console_event", "token": self.token, "entry": entry}


async def _until_its_end(following: AsyncGenerator[Any]) -> None:
    async with asyncio.timeout(10):
        async for _ in following:
            pass


async def test_who_follows_is_told_what_ended_it(town: Town):
    """Only the hub can say that the tab is gone."""
    teller = Teller(town)
    known.know("test", {"of this machine": "correct-horse-battery"})  # which no far hub can know
    async with teller.followed() as (_, following, first):
        assert first.message == "this is [secret:of this machine]"
        town.stop()
        with pytest.raises(Failure, match="broke") as broken:
            await _until_its_end(following)
        assert broken.value.retryable
    known.know("test", {})
    await town.start()
    async with teller.followed() as (line, following, _):
        await line.send(json.dumps({"type": "browser_debug_tab_closed", "token": teller.token}))
        await _until_its_end(following)
    teller = Teller(town)
    async with teller.followed() as (_, following, _):
        Users(town.proxy.file).add("ann")  # a new key
        with pytest.raises(Failure, match="does not know this key"):
            await _until_its_end(following)


async def test_what_another_hub_left_in_is_taken_out_here(monkeypatch: pytest.MonkeyPatch):
    secret = "token=hunter2-hunter2"
    told: dict[type, Any] = {
        ListTabs: Tabs([TabInfo("h", "b", f"http://x.test/?{secret}", secret, "shop", "shop")]),
        GetNetwork: NetworkData("1", [NetworkRequest("1", 1, url=f"http://x.test/?{secret}", response_body=secret)]),
        GetConsole: ConsoleData("1", [ConsoleEntry(1, "log", secret, source=f"http://x.test/?{secret}", line=1)]),
    }

    async def answered(_: FarHub, asked: Any) -> Any:
        return told[type(asked)]

    monkeypatch.setattr(FarHub, "_ask", answered)
    hub = FarHub("ws://x.test/signaling", "key")
    found = [
        *await hub.listed(""),
        *await hub.network("", "h", NetworkFilters()),
        *await hub.console("", "h", ConsoleFilters()),
    ]
    assert str(found).count("token=[redacted]") == 6
    assert "hunter2" not in str(found)


async def test_tls_at_the_plain_port_is_told_with_its_cause_and_not_each_time(town: Town):
    for _ in range(3):
        with pytest.raises((ssl.SSLError, OSError)):
            await asyncio.open_connection("127.0.0.1", town.port, ssl=ssl.create_default_context())
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{town.port}") as client:
        assert (await client.get("/health")).is_success
    town.stop()
    said = town.process.error_text()
    assert said.count("what came is not HTTP: was TLS spoken to a plain port") == 1
    assert "Invalid HTTP" not in said


async def test_a_name_that_is_not_the_hubs_is_in_its_log_and_not_each_time(town: Town):
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{town.port}") as client:
        for _ in range(3):
            assert (await client.get("/health", headers={"host": "hub.example.com"})).status_code == 421
    town.stop()
    said = town.process.error_text()
    assert said.count("a call by a name that is not ours was refused: is it among server.allowed_hosts?") == 1


async def test_a_hub_needs_the_secret_of_its_proxies(tmp_path: Path):
    home = tmp_path / "bare"
    home.mkdir(mode=0o700)
    line = CommandLine(home)
    done = await asyncio.to_thread(line.run, "hub", "--port", "0")
    assert done.returncode == 2
    assert "HIVE_SECRET" in done.stderr
    assert not (home / "hive.key").exists()


async def test_a_hub_tells_of_a_mistake_in_its_file(town: Town):
    before = town.proxy.file.read_text()
    town.proxy.file.write_text("[[users]\n")
    hub = town.client("ann")
    assert await hub.listed("") == []  # the users of before are still its users
    await until(_said(town, "stay as they were"), "the mistake is in its log")
    town.proxy.file.write_text(before)
    Users(town.proxy.file).add("eve")
    await hub.listed("")
    await until(_said(town, "user eve: key added"), "so is a new user")
    await hub.close()


async def test_a_hub_learns_of_cocoons_from_a_command_that_starts_no_daemon(town: Town):
    line = CommandLine(town.home)

    async def cocoon(*arguments: str) -> str:
        return await asyncio.to_thread(line.text, "cocoon", *arguments, "--config", str(town.proxy.file))

    async def announced(browser: ClientConnection) -> str:
        said = {"token": town.proxy.signer.mint("more", "/quiet"), "browser_id": "b", "title": ""}
        url = f"http://more.localhost:{town.proxy.port}/quiet"
        await browser.send(json.dumps({"type": "browser_debug_tab_available", **said, "url": url}))
        return json.loads(await browser.recv())["type"].removeprefix("browser_debug_tab_")

    protocols = [Subprotocol("pilothouse"), Subprotocol(f"pilothouse.key.{town.keys['ann']}")]
    hub = town.client("ann")
    async with connect(town.url, origin=Origin(ORIGIN), subprotocols=protocols) as browser:
        assert await announced(browser) == "refused"
        assert "more is in " in await cocoon("add", "more", "--owner", "ann")
        assert await announced(browser) == "accepted"
        assert [one.cocoon_id for one in await hub.listed("")] == ["more"]
        assert "more  ann  http://more.localhost:" in await cocoon("list")
        assert await cocoon("remove", "more") == "more is removed\n"
        assert await hub.listed("") == []
        assert await announced(browser) == "refused"
    await hub.close()
    assert not (town.home / "daemon.json").exists()


def _said(town: Town, words: str) -> Callable[[], Any]:
    async def look() -> bool:
        return any(words in line for line in town.process.errors)

    return look


async def test_a_line_that_goes_silent_is_made_anew(town: Town, monkeypatch: pytest.MonkeyPatch):
    """As when a network is lost: nothing is closed, nothing comes."""
    assert far.ASK_S < 15  # so long nobody waits
    async with viewer() as browser:
        await browser.use_hub(town.url, town.keys["ann"])
        await browser.chrome.open(f"{town.proxy.origin('anns')}/quiet")
        hub = town.client("ann")

        async def listed() -> list[TabInfo]:
            with contextlib.suppress(Failure):
                return await hub.listed("")
            return []

        await until(listed, "it is offered")
        monkeypatch.setattr(far, "ASK_S", 1.0)
        async with browser.chrome.hastened(2_500, 500):  # an answer to the word that says that it lives
            town.process.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            with pytest.raises(Failure, match="did not answer"):
                await hub.listed("")
            assert time.monotonic() - began < 5
            await browser.popup.until("chrome.runtime.sendMessage({type: 'debug'}).then((told) => !told.connected)")
        monkeypatch.undo()
        town.process.process.send_signal(signal.SIGCONT)
        began = time.monotonic()
        await browser.connected()
        await until(listed, "it is back")
        assert time.monotonic() - began < 5
        await hub.close()


async def test_who_may_not_come_in(town: Town):
    with pytest.raises(Failure) as refused:
        await FarHub(town.url, "wrong").listed("")
    assert refused.value.code == "unauthorized"
    Users(town.proxy.file).add("ann")  # a new key: the old one opens nothing
    with pytest.raises(Failure, match="does not know this key"):
        await town.client("ann").listed("")
    with pytest.raises(Failure) as away:
        await FarHub("ws://127.0.0.1:1/signaling", "x").listed("")
    assert away.value.retryable
    with pytest.raises(Failure) as elsewhere:
        await FarHub(town.url.removesuffix("signaling") + "nowhere", town.keys["ann"]).listed("")
    assert "ends with /signaling" in elsewhere.value.suggestions[0]
    assert "allowed_hosts" in FarHub("wss://hub.test/signaling", "x")._refusal(421).suggestions[0]
    assert "ends with /signaling" in FarHub("wss://hub.test/", "x")._refusal(404).suggestions[0]
    with pytest.raises(Failure, match="asks for a key"):
        await FarHub(town.url, "").listed("")
    async with httpx.AsyncClient() as client:
        url = town.url.replace("ws:", "http:").removesuffix("/signaling")
        assert (await client.get(f"{url}/health")).json() == {"ok": True}
        for path in ("/mcp", "/api/cocoons", "/metrics", "/bridge"):
            assert (await client.get(url + path)).status_code in (401, 403, 404)
        assert (await client.get(f"{url}/health", headers={"host": "evil.test"})).status_code == 421


async def test_wss_through_a_proxy_that_speaks_tls(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    town.stop()
    async with tls_proxy(tmp_path, lambda: town.port) as port:
        text = town.proxy.file.read_text()
        town.proxy.file.write_text(f'[server]\nallowed_hosts = ["localhost:{port}"]\n\n{text}')
        await town.start()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls.pem"))
        hub = FarHub(f"wss://localhost:{port}/signaling", town.keys["ann"])
        assert await hub.listed("") == []
        await hub.close()
        with pytest.raises(Failure, match="421"):
            await FarHub(f"wss://127.0.0.1:{port}/signaling", town.keys["ann"]).listed("")
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(Failure, match=r"certificate of the hub at .* is not good here: ") as unknown:
            await FarHub(f"wss://localhost:{port}/signaling", town.keys["ann"]).listed("")
        assert "SSL_CERT_FILE" in unknown.value.suggestions[0]


@contextlib.asynccontextmanager
async def tls_proxy(folder: Path, target: Callable[[], int]) -> AsyncIterator[int]:
    """As little as a TLS proxy can be: what comes in goes to the port, and back."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder / "tls.pem"))

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, to = await asyncio.open_connection("127.0.0.1", target())
        await asyncio.gather(copy(reader, to), copy(back, writer))

    async with await asyncio.start_server(served, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


def certificate(file: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + made.public_bytes(Encoding.PEM))
    return file
