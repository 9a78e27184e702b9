"""The hub's door in a whole daemon: who comes in as what, and a page from the proxy to the one who asks."""

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pilothouse.doors import http, signaling
from pilothouse.guard.handshake import Door
from pilothouse.guard.pairing import ORIGIN, Pairing
from pilothouse.options import Config, Proxy
from pilothouse.users import Users
from tests.caller import INSTALL, Caller, Key
from tests.daemon_here import Here, daemon_here
from tests.promises import promise
from tests.proxy.apps import App, running
from tests.proxy.conftest import NAVIGATES, ProxyHere

pytestmark = promise("G06", "G08", "E01")

ANN, BEN = "key-of-ann-which-is-long", "key-of-ben-which-is-long"


class Hubbed:
    def __init__(self, here: Here, proxy: ProxyHere, secret: str) -> None:
        self.here = here
        self.proxy = proxy
        self.secret = secret

    def reach(self, *protocols: str, origin: str | None = None, path: str = "/signaling", **headers: str) -> connect:
        more: dict[str, Any] = {"subprotocols": ["pilothouse", *protocols]} if protocols else {}
        url = self.here.url.replace("http:", "ws:") + path
        return connect(url, origin=origin, additional_headers=headers, max_size=None, **more)  # type: ignore[arg-type]

    async def proof(self, key: Key | None = None, door: Door = "signaling") -> tuple[Caller, list[str]]:
        """As the extension does it: the daemon has proved itself, and this is what the socket offers."""
        caller = Caller(key or Key("secret", self.secret), int(self.here.url.rpartition(":")[2]), door)
        async with httpx.AsyncClient(base_url=self.here.url, headers={"Origin": ORIGIN}) as client:
            answer = (await client.post("/bridge", json=caller.knock)).json()["data"]
        return caller, [str(one) for one in caller.offered(answer)]

    @contextlib.asynccontextmanager
    async def browser(self, key: str = "") -> AsyncIterator[ClientConnection]:
        """A paired one that has heard the daemon's second proof, or one with a user's key."""
        caller, offered = (None, [f"pilothouse.key.{key}"]) if key else await self.proof()
        async with self.reach(*offered, origin=ORIGIN) as line:
            if caller:
                assert line.subprotocol == "pilothouse.1"
                assert json.loads(await line.recv()) == {"type": "proof", "payload": {"proof": caller.first}}
            yield line

    def client(self, key: str = ANN) -> connect:
        return self.reach(Authorization=f"Bearer {key}")

    async def token(self, cocoon: str) -> str:
        async with self.proxy.client(cocoon) as page:
            return (await page.get("/page", headers=NAVIGATES)).headers["x-adi-debug-token"]


async def ask(line: ClientConnection, kind: str, **fields: Any) -> dict[str, Any]:
    await line.send(json.dumps({"type": f"browser_debug_{kind}", **fields}))
    return json.loads(await asyncio.wait_for(line.recv(), 10))


async def announce(line: ClientConnection, hubbed: Hubbed, cocoon: str, browser_id: str = "b1") -> str:
    token, url = await hubbed.token(cocoon), f"{hubbed.proxy.origin(cocoon)}/page"
    told = await ask(line, "tab_available", token=token, browser_id=browser_id, url=url, title=cocoon)
    assert told["type"] == "browser_debug_tab_accepted", told
    return token


@pytest.fixture
async def hubbed(home: Path) -> AsyncIterator[Hubbed]:
    users = "".join(
        f'[[users]]\nname = "{name}"\nkey_sha256 = "{hashlib.sha256(key.encode()).hexdigest()}"\n'
        for name, key in (("ann", ANN), ("ben", BEN))
    )
    (home / "config.toml").write_text(users)
    _, secret = Pairing(home).add(INSTALL, "test")
    async with running(App()) as app, daemon_here(home, Config(proxy=Proxy(enabled=True, port=0))) as here:
        for cocoon, owner in (("mine", "local"), ("anns", "ann"), ("bens", "ben")):
            here.cocoons.add({"id": cocoon, "target": app.url, "owner": owner})
        proxy = ProxyHere(here.cocoons.proxy.port, here.cocoons, home / "config.toml")
        yield Hubbed(here, proxy, secret)


async def test_from_a_page_of_the_proxy_to_the_one_who_asks(hubbed: Hubbed):
    async with hubbed.browser(ANN) as browser, hubbed.client() as client:
        token = await announce(browser, hubbed, "anns")
        (tab,) = (await ask(client, "list_tabs"))["tabs"]
        assert (tab["cocoon_id"], tab["title"]) == ("anns", "anns")
        data = {"request_id": "1", "timestamp": 5, "method": "GET", "url": "http://x.test/", "headers": {}}
        event = {"type": "browser_debug_network_event", "token": token, "event": "request", "data": data}
        await browser.send(json.dumps(event))
        await browser.send('{"type":"alive"}')
        assert json.loads(await browser.recv()) == {"type": "alive"}
        told = await ask(client, "get_network", request_id="q", token=tab["token"], filters={"method": ["GET"]})
        assert (told["type"], told["request_id"]) == ("browser_debug_network_data", "q")
        assert told["requests"][0]["url"] == "http://x.test/"
        told = await ask(client, "get_console", request_id="r", token=tab["token"])
        assert (told["type"], told["entries"]) == ("browser_debug_console_data", [])


async def test_each_user_sees_their_own(hubbed: Hubbed):
    async with contextlib.AsyncExitStack() as stack:
        lines = {
            name: await stack.enter_async_context(hubbed.browser(key)) for name, key in (("ann", ANN), ("ben", BEN))
        }
        await announce(lines["ann"], hubbed, "anns", "b1")
        await announce(lines["ann"], hubbed, "anns", "b2")
        await announce(lines["ben"], hubbed, "bens", "b3")
        for key, seen in ((ANN, ["b1", "b2"]), (BEN, ["b3"])):
            client = await stack.enter_async_context(hubbed.client(key))
            assert [one["browser_id"] for one in (await ask(client, "list_tabs"))["tabs"]] == seen
        anns = await stack.enter_async_context(hubbed.client(ANN))
        handle = (await ask(anns, "list_tabs"))["tabs"][0]["token"]
        bens = await stack.enter_async_context(hubbed.client(BEN))
        told = await ask(bens, "get_network", request_id="1", token=handle)
        assert (told["request_id"], told["error"]["code"]) == ("1", "not_found")
        url = f"{hubbed.proxy.origin('anns')}/page"
        stolen = await ask(
            lines["ben"], "tab_available", token=await hubbed.token("anns"), browser_id="b3", url=url, title=""
        )
        assert stolen["error"]["code"] == "denied"


async def test_who_may_not_come_in(hubbed: Hubbed):
    for protocols, origin, headers in (
        ((), None, {}),
        ((), None, {"Authorization": "Bearer wrong"}),
        ((), None, {"Authorization": f"Bearer {hubbed.here.person}"}),
        ((), None, {"Authorization": f"Bearer {hubbed.here.agent}"}),
        ((), None, {"X-API-Key": hubbed.here.agent}),
        ((f"pilothouse.secret.{hubbed.secret}",), ORIGIN, {}),  # said, not proved
        ((f"pilothouse.key.{hubbed.secret}",), ORIGIN, {}),
        (("pilothouse.1", "pilothouse.proof."), ORIGIN, {}),
        ((await hubbed.proof(Key("secret", "wrong")))[1], ORIGIN, {}),
        ((await hubbed.proof(door="bridge"))[1], ORIGIN, {}),
        ((await hubbed.proof())[1], None, {}),
        ((await hubbed.proof())[1], "https://evil.test", {}),
        ((await hubbed.proof())[1], hubbed.proxy.origin("mine"), {}),
        ((f"pilothouse.key.{hubbed.here.agent}",), ORIGIN, {}),
        ((f"pilothouse.key.{ANN}",), "null", {}),
    ):
        if origin == ORIGIN:  # a script learns nothing of a status: it is let in, and told at once
            assert await turned_away(hubbed.reach(*protocols, origin=origin)) == 4401, protocols
            continue
        with pytest.raises(InvalidStatus) as caught:
            await hubbed.reach(*protocols, origin=origin, **headers)
        assert caught.value.response.status_code in (401, 403), (protocols, origin)
    # Keys of this daemon that came to the wrong door are in its log.
    tried = [(one["caller"], one["path"]) for one in hubbed.here.notes("door_refused")]
    assert tried == [("person", "/signaling"), *[("default", "/signaling")] * 3]


async def turned_away(reaching: connect) -> int:
    """The code with which a line is closed before anything was said on it."""
    async with reaching as line:
        assert line.subprotocol in ("pilothouse", "pilothouse.1")  # never one with a key in it
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(line.recv(), 10)
    assert closed.value.rcvd
    return closed.value.rcvd.code


async def test_the_extension_is_told_why_it_may_not_come_in(hubbed: Hubbed):
    assert await turned_away(hubbed.reach(f"pilothouse.key.{ANN}", origin=ORIGIN, Host="hub.test")) == 4421
    with pytest.raises(InvalidStatus) as caught:
        await hubbed.reach(f"pilothouse.key.{ANN}", origin="https://evil.test", Host="hub.test")
    assert caught.value.response.status_code == 421


@pytest.mark.parametrize("host", ["", "hub.test"], ids=["by the door", "by the front"])
async def test_who_is_turned_away_is_not_listened_to(hubbed: Hubbed, host: str):
    """Neither a large message nor a small one that goes on for ever is read to its end."""
    own = hubbed.here.url.removeprefix("http://")
    head = f"GET /signaling HTTP/1.1\r\nHost: {host or own}\r\nOrigin: {ORIGIN}\r\nUpgrade: websocket\r\nConnection: "
    head += "Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    name, port = own.split(":")
    reader, writer = await asyncio.open_connection(name, int(port))
    writer.write(head.encode())
    assert b"101" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    assert (await asyncio.wait_for(reader.readexactly(2), 10))[0] == 0x88  # its closing
    writer.write(b"\x82\xff" + (1 << 20).to_bytes(8, "big") + bytes(4 + http.MAX_LAST_WORDS))
    with contextlib.suppress(ConnectionResetError):
        await asyncio.wait_for(reader.read(), 5)  # uvicorn's own end of it comes after ten seconds
    writer.close()


async def test_a_proof_is_good_once_and_not_at_the_bridge(hubbed: Hubbed):
    _, offered = await hubbed.proof()
    async with hubbed.reach(*offered, origin=ORIGIN):
        pass
    assert await turned_away(hubbed.reach(*offered, origin=ORIGIN)) == 4401
    _, fresh = await hubbed.proof()
    with pytest.raises(InvalidStatus) as caught:
        await hubbed.reach(*fresh, origin=ORIGIN, path="/bridge")
    assert caught.value.response.status_code == 401


@pytest.mark.parametrize("anew", [False, True])
async def test_a_browser_that_is_not_paired_any_more_leaves(
    hubbed: Hubbed, monkeypatch: pytest.MonkeyPatch, anew: bool
):
    monkeypatch.setattr(signaling, "LOOK_S", 0.05)
    async with hubbed.browser() as browser:
        await announce(browser, hubbed, "mine")
        if anew:
            hubbed.here.pairing.add(INSTALL, "test")
        else:
            hubbed.here.pairing.forget("test")
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(browser.recv(), 10)
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 4401


async def test_a_client_does_not_speak_for_a_browser(hubbed: Hubbed):
    async with hubbed.client() as client, hubbed.browser() as browser:
        url = f"{hubbed.proxy.origin('mine')}/page"
        told = await ask(client, "tab_available", token=await hubbed.token("mine"), browser_id="x", url=url, title="")
        assert told["error"]["code"] == "bad_request"
        assert (await ask(client, "list_tabs"))["tabs"] == []
        told = await ask(browser, "list_tabs")
        assert (told["type"], told["error"]["code"]) == ("browser_debug_error", "bad_request")
        await browser.send("no message")
        with pytest.raises(ConnectionClosed) as closed:
            await browser.recv()
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 4400


async def test_what_no_client_asks_is_answered_and_the_line_stays(hubbed: Hubbed):
    async with hubbed.client() as client:
        for frame in ("", "{", "[]", '{"type": "x"}', '{"type": "browser_debug_get_network", "request_id": "1"}'):
            await client.send(frame)
            assert json.loads(await client.recv())["error"]["code"] == "bad_request"
        bad = await ask(client, "get_network", request_id="1", token="x", filters={"limit": 0})
        assert bad["error"]["code"] == "bad_request"
        assert (await ask(client, "list_tabs", request_id="7"))["request_id"] == "7"


async def test_a_revoked_key_ends_the_line(hubbed: Hubbed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(signaling, "LOOK_S", 0.05)
    async with hubbed.client(ANN) as client:
        assert (await ask(client, "list_tabs"))["tabs"] == []
        text = hubbed.proxy.file.read_text()
        hubbed.proxy.file.write_text(text.replace(hashlib.sha256(ANN.encode()).hexdigest(), ""))
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(client.recv(), 10)
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 4401


async def test_ten_megabytes_that_the_hub_missed_come_in_one_frame(hubbed: Hubbed):
    """An ordinary app has more in its bodies than any other door takes at once."""
    async with hubbed.browser(ANN) as browser, hubbed.client() as client:
        token, url = await hubbed.token("anns"), f"{hubbed.proxy.origin('anns')}/page"
        said = {"token": token, "browser_id": "b1", "url": url, "title": ""}
        ticket = (await ask(browser, "tab_available", **said))["ticket"]
        assert (await ask(browser, "tab_available", **said, ticket=ticket))["ticket"] == ticket  # as after a lost line
        (tab,) = (await ask(client, "list_tabs"))["tabs"]
        asking = {"type": "browser_debug_get_network", "request_id": "q", "token": tab["token"]}
        await client.send(json.dumps({**asking, "filters": {"limit": 1000}}))
        missed = [
            {"request_id": str(number), "timestamp": number, "url": "http://x.test/", "response_body": "x" * 100_000}
            for number in range(100)
        ]
        question = json.loads(await asyncio.wait_for(browser.recv(), 10))
        told = {"type": "browser_debug_network_data", "request_id": question["request_id"], "requests": missed}
        await browser.send(json.dumps(told))
        question = json.loads(await asyncio.wait_for(browser.recv(), 10))
        told = {"type": "browser_debug_console_data", "request_id": question["request_id"], "entries": []}
        await browser.send(json.dumps(told))
        answer = json.loads(await asyncio.wait_for(client.recv(), 20))
        assert sum(len(one["response_body"]) for one in answer["requests"]) == 10_000_000
        await browser.send('{"type":"alive"}')
        assert json.loads(await browser.recv()) == {"type": "alive"}


async def test_a_new_cocoon_is_told_to_the_log_from_one_thread(hubbed: Hubbed):
    """A user who is found in the file on the way is written into the log as well, whose lines are a chain."""
    threads: list[int] = []
    tell = hubbed.here.cocoons.on_users
    hubbed.here.cocoons.on_users = lambda name, change: (threads.append(threading.get_ident()), tell(name, change))[1]
    Users(hubbed.proxy.file).add("eve")
    headers = {"authorization": f"Bearer {hubbed.here.person}"}
    async with httpx.AsyncClient(base_url=hubbed.here.url, headers=headers) as client:
        for owner, status in (("eve", 200), ("nobody", 400)):
            given = {"target": "http://127.0.0.1:3000", "owner": owner}
            assert (await client.put(f"/api/cocoons/of-{owner}", json=given)).status_code == status
        assert (await client.delete("/api/cocoons/none")).status_code == 404
    assert threads == [threading.get_ident()]
    # And the log does not tell of what was not done.
    assert [one["id"] for one in hubbed.here.notes("cocoon_added")] == ["of-eve"]
    assert hubbed.here.notes("cocoon_removed") == []
