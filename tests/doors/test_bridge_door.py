"""E01, F01, F02: who may come to the bridge. Everything is checked before the socket stands, and the first one stays."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from pilothouse.doors import bridge as bridge_door
from pilothouse.doors.bridge import BridgeDoor
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.guard.pairing import EXTENSION_ID, ORIGIN, Pairing
from pilothouse.providers.link import Links
from tests.promises import promise

from .conftest import PERSON, SECRET, who

pytestmark = promise("E01", "F01", "F02")

INSTALL = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"


class Notes:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def note(self, kind: str, **fields: Any) -> None:
        self.told.append((kind, fields))


class Bridge:
    def __init__(self, home: Path) -> None:
        self.pairing = Pairing(home)
        self.links = Links()
        self.notes = Notes()
        self.door = BridgeDoor(self.pairing, self.links, self.notes)
        self.url = ""

    @contextlib.asynccontextmanager
    async def visit(self, proof: str, **more: Any) -> AsyncIterator[ClientConnection]:
        offered = more.pop("subprotocols", ["pilothouse.1", *([proof] if proof else [])])
        origin = more.pop("origin", ORIGIN)
        address = self.url.replace("http", "ws") + "/bridge"
        async with connect(address, origin=origin, subprotocols=offered, ping_interval=None, **more) as one:
            yield one

    async def refused(self, proof: str, **more: Any) -> tuple[int, str]:
        with pytest.raises(InvalidStatus) as caught:
            async with self.visit(proof, **more):
                pass
        told = json.loads(caught.value.response.body or b"")
        assert told["error"]["suggestions"]
        return caught.value.response.status_code, told["error"]["message"]

    def paired(self, install: str = INSTALL, wish: str = "") -> str:
        return "pilothouse.secret." + self.pairing.add(install, wish)[1]


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    made = Bridge(tmp_path)
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]

    async def no_mcp() -> Any:
        raise NotImplementedError

    http = HttpDoor(build_app(no_mcp, who, port=port, routes=made.door.routes(), extension=ORIGIN))
    await http.listen(listener)
    made.url = f"http://127.0.0.1:{port}"
    yield made
    made.links.close()
    await http.close()


async def say(one: ClientConnection, kind: str, **frame: Any) -> None:
    await one.send(json.dumps({"type": kind, **frame}))


async def hear(one: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(one.recv(), 5))


async def greet(one: ClientConnection, install: str = INSTALL, **more: Any) -> dict[str, Any]:
    payload = {"protocol": 1, "version": "0.1.0", "install": install, "boot": "b", "name": "Work", **more}
    await say(one, "hello", payload=payload)
    return await hear(one)


async def answer_pings(one: ClientConnection) -> None:
    with contextlib.suppress(ConnectionClosed):
        async for text in one:
            command = json.loads(text)
            if command["type"] == "ping":
                await say(one, "response", id=command["id"], data={})


async def closed_with(one: ClientConnection) -> int:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await asyncio.wait_for(one.recv(), 5)
    return one.close_code or 0


def test_the_id_follows_from_the_key_in_the_manifest():
    import base64
    import hashlib

    manifest = json.loads((Path(__file__).parents[2] / "extension" / "manifest.json").read_text())
    digest = hashlib.sha256(base64.b64decode(manifest["key"])).hexdigest()[:32]
    assert "".join(chr(ord("a") + int(digit, 16)) for digit in digest) == EXTENSION_ID


async def test_a_code_pairs_and_gives_a_secret_that_opens_from_then_on(bridge: Bridge):
    async with bridge.visit(f"pilothouse.code.{bridge.pairing.new_code()}") as one:
        assert one.subprotocol == "pilothouse.1"
        told = await greet(one)
        assert (told["type"], told["payload"]["name"], told["payload"]["protocol"]) == ("welcome", "work", 1)
    secret = f"pilothouse.secret.{told['payload']['secret']}"
    async with bridge.visit(secret) as one:
        again = await greet(one)
        assert (again["payload"]["name"], "secret" in again["payload"]) == ("work", False)
        assert bridge.links.find("work").connected
    assert ("browser_paired", {"name": "work", "install": INSTALL}) in bridge.notes.told


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://127.0.0.1:{port}",
        "http://evil.test",
        "http://localhost:3000",
        "chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ORIGIN + ".evil.test",
        ORIGIN.upper(),
        ORIGIN + "/",
    ],
)
async def test_every_other_origin_is_refused_whatever_it_knows(bridge: Bridge, origin: str | None):
    origin = origin and origin.format(port=bridge.url.rpartition(":")[2])
    assert (await bridge.refused(bridge.paired(), origin=origin))[0] == 403
    code = bridge.pairing.new_code()
    assert (await bridge.refused(f"pilothouse.code.{code}", origin=origin))[0] == 403
    bridge.pairing.redeem(code)  # it was not even looked at


async def test_another_host_name_is_refused(bridge: Bridge):
    proof = bridge.paired()
    port = int(bridge.url.rpartition(":")[2])
    address, offered = f"ws://evil.test:{port}/bridge", [Subprotocol("pilothouse.1"), Subprotocol(proof)]
    with pytest.raises(InvalidStatus) as caught:
        async with connect(address, host="127.0.0.1", port=port, origin=Origin(ORIGIN), subprotocols=offered):
            pass
    assert caught.value.response.status_code == 421


@pytest.mark.parametrize(
    "proof", ["", "pilothouse.secret.wrong", "pilothouse.code.AAAA-AAAA", f"pilothouse.key.{PERSON}"]
)
async def test_without_its_proof_the_extension_is_refused(bridge: Bridge, proof: str):
    bridge.paired()
    bridge.pairing.new_code()
    assert (await bridge.refused(proof))[0] == 401
    assert bridge.notes.told[-1][0] == "bridge_refused"


@pytest.mark.parametrize("key", [SECRET, PERSON])
async def test_no_key_of_ours_opens_it(bridge: Bridge, key: str):
    headers = {"Authorization": f"Bearer {key}", "X-API-Key": key}
    assert (await bridge.refused("", additional_headers=headers))[0] == 401


async def test_a_secret_opens_nothing_else(bridge: Bridge):
    secret = bridge.paired().removeprefix("pilothouse.secret.")
    async with httpx.AsyncClient(base_url=bridge.url) as client:
        for headers in ({"Authorization": f"Bearer {secret}"}, {"Authorization": f"Bearer {SECRET}", "Origin": ORIGIN}):
            assert (await client.get("/mcp", headers=headers)).status_code in (401, 403)


async def test_a_protocol_must_be_offered(bridge: Bridge):
    proof = bridge.paired()
    assert (await bridge.refused(proof, subprotocols=[proof]))[0] == 400
    assert (await bridge.refused(proof, subprotocols=["pilothouse.2", proof]))[0] == 400


async def test_a_second_one_is_refused_while_the_first_answers(bridge: Bridge):
    proof = bridge.paired()
    async with bridge.visit(proof) as first:
        await greet(first)
        link = bridge.links.find()
        answering = asyncio.create_task(answer_pings(first))
        for _ in range(3):
            status, message = await bridge.refused(proof)
            assert (status, "connected already" in message) == (409, True)
        assert await link.ping()
        answering.cancel()
    assert ("bridge_second", {"why": "chrome"}) in bridge.notes.told


async def test_many_at_once_leave_one(bridge: Bridge):
    """However they race: one gets in, and stays."""
    proof = bridge.paired()
    stays = asyncio.Event()

    async def come() -> bool:
        with contextlib.suppress(InvalidStatus):
            async with bridge.visit(proof) as one:
                await greet(one)
                answering = asyncio.create_task(answer_pings(one))
                await stays.wait()
                answering.cancel()
                return True
        return False

    coming = [asyncio.create_task(come()) for _ in range(5)]
    async with asyncio.timeout(10):
        while sum(one.done() for one in coming) < 4:
            await asyncio.sleep(0.01)
    assert await bridge.links.find().ping()
    stays.set()
    assert sorted(await asyncio.gather(*coming)) == [False] * 4 + [True]


async def test_a_dead_first_one_is_replaced(bridge: Bridge):
    proof = bridge.paired()
    async with bridge.visit(proof) as dead:
        await greet(dead)
        async with bridge.visit(proof) as alive:  # after a second in which the dead one did not answer
            await greet(alive, boot="second")
            assert bridge.links.find().boot == "second"


async def test_a_secret_is_good_for_its_own_browser_only(bridge: Bridge):
    async with bridge.visit(bridge.paired()) as one:
        told = await greet(one, install=OTHER)
        assert (told["type"], told["payload"]["code"]) == ("refused", "unauthorized")
        assert await closed_with(one) == 4403


async def test_another_browser_of_the_same_name_gets_another(bridge: Bridge):
    bridge.paired(OTHER, "work")
    async with bridge.visit(f"pilothouse.code.{bridge.pairing.new_code()}") as one:
        assert (await greet(one))["payload"]["name"] == "work-2"


@pytest.mark.parametrize(("protocol", "older"), [(0, "extension"), (2, "daemon")])
async def test_versions_that_do_not_fit_are_told(bridge: Bridge, protocol: int, older: str):
    async with bridge.visit(bridge.paired()) as one:
        told = await greet(one, protocol=protocol)
        assert told["payload"]["code"] == "version"
        assert told["payload"]["message"].startswith(f"the {older} is older")
        assert bridge.door.misfit == told["payload"]["message"]
    async with bridge.visit(bridge.paired()) as one:
        await greet(one)
        assert bridge.door.misfit == ""


@pytest.mark.parametrize(
    "first",
    [
        "{",
        "[]",
        '{"type":"alive"}',
        '{"type":"hello"}',
        '{"type":"hello","payload":{"protocol":1}}',
        json.dumps({"type": "hello", "payload": {"protocol": 1, "version": "x" * 300, "install": INSTALL, "boot": ""}}),
        "[" * 100_000,
    ],
)
async def test_who_does_not_greet_is_shown_out(bridge: Bridge, first: str):
    async with bridge.visit(bridge.paired()) as one:
        await one.send(first)
        assert await closed_with(one) == 4403
    assert not any(link.connected for link in bridge.links)


async def test_who_says_nothing_is_shown_out(bridge: Bridge, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge_door, "HELLO_S", 0.05)
    async with bridge.visit(bridge.paired()) as one:
        assert (await hear(one))["payload"]["code"] == "timeout"


@pytest.mark.parametrize("frame", ["{", '{"id":1}', '{"type":"tab","payload":[]}', "[" * 100_000])
async def test_what_is_no_frame_ends_the_connection(bridge: Bridge, frame: str):
    async with bridge.visit(bridge.paired()) as one:
        await greet(one)
        await one.send(frame)
        assert await closed_with(one) == 1007
    assert bridge.links.find().state == "away"


async def test_a_value_that_a_page_nested_too_deeply_costs_only_its_own_call(bridge: Bridge):
    async with bridge.visit(bridge.paired()) as one:
        await greet(one)
        link = bridge.links.find()
        deep = "[" * 100_000 + "]" * 100_000
        asked = asyncio.create_task(link.ping(5))
        number = (await hear(one))["id"]
        await one.send(f'{{"type":"cdp","tabId":1,"payload":{deep}}}')
        await one.send(f'{{"type":"response","id":{number},"data":{deep}}}')
        assert not await asked
        assert link.connected


async def test_too_much_news_ends_the_connection(bridge: Bridge, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge_door, "NEWS_PER_MINUTE", 10)
    async with bridge.visit(bridge.paired()) as one:
        await greet(one)
        for _ in range(11):
            await say(one, "tab", tabId=1, payload={"tabId": 1})
        assert await closed_with(one) == 1008


async def test_silence_ends_the_connection_and_a_word_is_answered(bridge: Bridge, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bridge_door, "SILENCE_S", 0.3)
    async with bridge.visit(bridge.paired()) as one:
        await greet(one)
        await say(one, "alive")
        assert await hear(one) == {"type": "alive"}
        await closed_with(one)


async def test_a_forgotten_browser_is_shown_out_and_stays_out(bridge: Bridge):
    proof = bridge.paired()
    async with bridge.visit(proof) as one:
        await greet(one)
        bridge.pairing.forget("chrome")
        bridge.links.forget("chrome")
        assert await closed_with(one) == 1000
    assert (await bridge.refused(proof))[0] == 401


async def test_an_extension_can_ask_why_it_is_refused(bridge: Bridge):
    secret = bridge.paired().removeprefix("pilothouse.secret.")
    async with httpx.AsyncClient(base_url=bridge.url, headers={"Origin": ORIGIN}) as client:
        told = await client.post("/bridge", headers={"Authorization": f"Bearer {secret}"})
        assert told.json()["data"] == {"paired": True, "connected": False, "version": "0.1.0"}
        assert (await client.post("/bridge", headers={"Authorization": "Bearer x"})).status_code == 401
        assert (await client.post("/bridge")).status_code == 401
        assert "access-control-allow-origin" not in told.headers
