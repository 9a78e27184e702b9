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
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from pilothouse.doors import bridge as bridge_door
from pilothouse.doors import wire
from pilothouse.doors.bridge import BridgeDoor
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.guard.pairing import EXTENSION_ID, ORIGIN, Pairing
from pilothouse.providers.link import Links
from tests.caller import INSTALL, Caller, Key
from tests.promises import promise

from .conftest import PERSON, SECRET, who

pytestmark = promise("E01", "F01", "F02")

OTHER = "99999999-2222-3333-4444-555555555555"


class Notes:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def note(self, kind: str, **fields: Any) -> None:
        self.told.append((kind, fields))


class Refused(Exception):
    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.error = status, json.loads(body)["error"]
        super().__init__(self.error["message"])


class Bridge:
    def __init__(self, home: Path, port: int) -> None:
        self.pairing = Pairing(home)
        self.links = Links()
        self.notes = Notes()
        self.door = BridgeDoor(self.pairing, self.links, self.notes, port=port)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    async def ask(self, knock: Any, origin: str | None = ORIGIN) -> dict[str, Any]:
        """The POST before a socket."""
        headers = {"Origin": origin} if origin else {}
        async with httpx.AsyncClient(base_url=self.url, headers=headers) as client:
            told = await client.post("/bridge", json=knock)
        if told.status_code != 200:
            raise Refused(told.status_code, told.content)
        return told.json()["data"]

    @contextlib.asynccontextmanager
    async def enter(self, offered: list[Subprotocol], origin: str | None = ORIGIN) -> AsyncIterator[ClientConnection]:
        address, more = self.url.replace("http", "ws") + "/bridge", {"ping_interval": None}
        try:
            async with connect(address, origin=origin and Origin(origin), subprotocols=offered, **more) as one:  # type: ignore[arg-type]
                yield one
        except InvalidStatus as problem:
            raise Refused(problem.response.status_code, bytes(problem.response.body or b"")) from None

    @contextlib.asynccontextmanager
    async def visit(self, key: Key, origin: str | None = ORIGIN) -> AsyncIterator[ClientConnection]:
        """As the extension does it, up to its hello."""
        caller = Caller(key, self.port)
        offered = caller.offered(await self.ask(caller.knock))
        async with self.enter(offered, origin) as one:
            assert await hear(one) == {"type": "proof", "payload": {"proof": caller.first}}
            yield one

    async def refused(self, key: Key, **more: Any) -> tuple[int, str]:
        with pytest.raises(Refused) as caught:
            async with self.visit(key, **more):
                pass
        assert caught.value.error["suggestions"]
        return caught.value.status, str(caught.value)

    async def left(self, name: str) -> None:
        while self.links.find(name).connected:
            await asyncio.sleep(0.01)

    def paired(self, install: str = INSTALL, wish: str = "") -> Key:
        return Key("secret", self.pairing.add(install, wish)[1], install)

    def code(self) -> Key:
        return Key("code", self.pairing.new_code())


async def listening(socket: WebSocket) -> None:
    """A WebSocket that is not the bridge's."""
    await socket.accept()
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await socket.send_text(str(len(await socket.receive_text())))


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    made = Bridge(tmp_path, port)

    async def no_mcp() -> Any:
        raise NotImplementedError

    routes = [*made.door.routes(), WebSocketRoute("/api/other", listening)]
    http = HttpDoor(build_app(no_mcp, who, port=port, routes=routes, extension=ORIGIN))
    await http.listen(listener)
    yield made
    made.links.close()
    await http.close()


async def say(one: ClientConnection, kind: str, **frame: Any) -> None:
    await one.send(json.dumps({"type": kind, **frame}))


async def hear(one: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(one.recv(), 5))


async def greet(one: ClientConnection, install: str = INSTALL, **more: Any) -> dict[str, Any]:
    payload = {"version": "0.1.0", "install": install, "boot": "b", "name": "Work", **more}
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
    async with bridge.visit(bridge.code()) as one:
        assert one.subprotocol == "pilothouse.1"
        told = await greet(one)
        assert (told["type"], told["payload"]["name"], told["payload"]["protocol"]) == ("welcome", "work", 1)
    async with bridge.visit(Key("secret", told["payload"]["secret"])) as one:
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
    secret, code = bridge.paired(), bridge.code()
    for key in (secret, code):
        assert (await bridge.refused(key, origin=origin))[0] == 403
        with pytest.raises(Refused) as caught:
            await bridge.ask(Caller(key, bridge.port).knock, origin)
        assert caught.value.status == 403
    async with bridge.visit(code):  # it was not even looked at
        pass


async def test_another_host_name_is_refused(bridge: Bridge):
    caller = Caller(bridge.paired(), bridge.port)
    offered = caller.offered(await bridge.ask(caller.knock))
    address, place = f"ws://evil.test:{bridge.port}/bridge", {"host": "127.0.0.1", "port": bridge.port}
    with pytest.raises(InvalidStatus) as caught:
        async with connect(address, origin=Origin(ORIGIN), subprotocols=offered, **place):  # type: ignore[arg-type]
            pass
    assert caught.value.response.status_code == 421


@pytest.mark.parametrize("key", [Key("secret", "wrong"), Key("code", "AAAA-AAAA"), Key("secret", "x", OTHER)])
async def test_without_its_key_the_extension_is_refused(bridge: Bridge, key: Key):
    bridge.paired()
    bridge.code()
    assert (await bridge.refused(key))[0] == 401
    assert bridge.notes.told[-1][0] == "bridge_refused"


@pytest.mark.parametrize("proof", ["", "pilothouse.proof.", "pilothouse.proof.x.y", f"pilothouse.key.{PERSON}"])
async def test_without_a_meeting_there_is_no_socket(bridge: Bridge, proof: str):
    secret = bridge.paired().text
    for offered in ([proof] if proof else [], [f"pilothouse.secret.{secret}"], [f"pilothouse.proof.{secret}"]):
        with pytest.raises(Refused) as caught:
            async with bridge.enter([Subprotocol(one) for one in ("pilothouse.1", *offered)]):
                pass
        assert caught.value.status == 401


@pytest.mark.parametrize("key", [SECRET, PERSON])
async def test_no_key_of_ours_opens_it(bridge: Bridge, key: str):
    bridge.paired()
    headers = {"Authorization": f"Bearer {key}", "X-API-Key": key, "Origin": ORIGIN}
    knock = Caller(Key("secret", key, OTHER), bridge.port).knock
    async with httpx.AsyncClient(base_url=bridge.url, headers=headers) as client:
        assert (await client.post("/bridge", json=knock)).status_code == 401
    assert (await bridge.refused(Key("secret", key)))[0] == 401


async def test_a_secret_opens_nothing_else(bridge: Bridge):
    secret = bridge.paired().text
    async with httpx.AsyncClient(base_url=bridge.url) as client:
        for headers in ({"Authorization": f"Bearer {secret}"}, {"Authorization": f"Bearer {SECRET}", "Origin": ORIGIN}):
            assert (await client.get("/mcp", headers=headers)).status_code in (401, 403)


async def test_a_proof_is_good_once_and_for_its_own_meeting(bridge: Bridge):
    key = bridge.paired()
    one, two = Caller(key, bridge.port), Caller(key, bridge.port)
    first, second = one.offered(await bridge.ask(one.knock)), two.offered(await bridge.ask(two.knock))
    crossed = [first[0], Subprotocol(f"{second[1].rpartition('.')[0]}.{first[1].rpartition('.')[2]}")]
    with pytest.raises(Refused, match="wrong"):
        async with bridge.enter(crossed):
            pass
    with pytest.raises(Refused, match="used before"):  # one try a meeting, also for the one it belongs to
        async with bridge.enter(second):
            pass
    async with bridge.enter(first):
        pass
    with pytest.raises(Refused, match="used before"):
        async with bridge.enter(first):
            pass


async def test_the_daemons_own_proof_lets_nobody_in(bridge: Bridge):
    """What it tells to whoever asks is of another role, and of another port than its own nothing is told."""
    key = bridge.paired()
    caller = Caller(key, bridge.port)
    answer = await bridge.ask(caller.knock)
    with pytest.raises(Refused) as caught:
        async with bridge.enter(
            [Subprotocol("pilothouse.1"), Subprotocol(f"pilothouse.proof.{answer['nonce']}.{answer['proof']}")]
        ):
            pass
    assert caught.value.status == 401
    elsewhere = Caller(key, bridge.port + 1)
    offered = elsewhere.offered(await bridge.ask(elsewhere.knock))
    assert not elsewhere.is_daemon
    with pytest.raises(Refused):
        async with bridge.enter(offered):
            pass


async def test_wrong_codes_wear_the_code_out(bridge: Bridge):
    code = bridge.code()
    for _ in range(5):
        assert (await bridge.refused(Key("code", "AAAA-AAAA")))[0] == 401
    assert "no pairing code is open" in (await bridge.refused(code))[1]


@pytest.mark.parametrize(
    "knock",
    [
        None,
        [],
        {},
        {"protocol": "1"},
        {"protocol": 1},
        {"protocol": 1, "install": INSTALL, "nonce": "short", "by": "secret"},
        {"protocol": 1, "install": INSTALL, "nonce": "x" * 43, "by": "key"},
        {"protocol": 1, "install": "x" * 1000, "nonce": "x" * 43, "by": "secret"},
    ],
)
async def test_what_is_no_knock_is_refused(bridge: Bridge, knock: Any):
    bridge.paired()
    with pytest.raises(Refused) as caught:
        await bridge.ask(knock)
    assert (caught.value.status, caught.value.error["code"]) == (400, "bad_request")


async def test_a_protocol_must_be_offered(bridge: Bridge):
    for protocols in ([], [Subprotocol("pilothouse.2")]):
        caller = Caller(bridge.paired(), bridge.port)
        proof = caller.offered(await bridge.ask(caller.knock))[1]
        with pytest.raises(Refused) as caught:
            async with bridge.enter([*protocols, proof]):
                pass
        assert caught.value.status == 400


async def test_a_second_one_is_refused_while_the_first_answers(bridge: Bridge):
    key = bridge.paired()
    async with bridge.visit(key) as first:
        await greet(first)
        link = bridge.links.find()
        answering = asyncio.create_task(answer_pings(first))
        for _ in range(3):
            status, message = await bridge.refused(key)
            assert (status, "connected already" in message) == (409, True)
        assert await link.ping()
        answering.cancel()
    assert ("bridge_second", {"why": "chrome"}) in bridge.notes.told


async def test_many_at_once_leave_one(bridge: Bridge):
    """However they race: one gets in, and stays."""
    key = bridge.paired()
    stays = asyncio.Event()

    async def come() -> bool:
        with contextlib.suppress(Refused):
            async with bridge.visit(key) as one:
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
    key = bridge.paired()
    async with bridge.visit(key) as dead:
        await greet(dead)
        async with bridge.visit(key) as alive:  # after a second in which the dead one did not answer
            await greet(alive, boot="second")
            assert bridge.links.find().boot == "second"
            assert await closed_with(dead) == 4409
            assert bridge.links.find().connected


async def test_a_secret_is_good_for_its_own_browser_only(bridge: Bridge):
    async with bridge.visit(bridge.paired()) as one:
        told = await greet(one, install=OTHER)
        assert (told["type"], told["payload"]["code"]) == ("refused", "unauthorized")
        assert await closed_with(one) == 4403


async def test_a_browser_that_is_paired_anew_under_another_name_has_that_one_only(bridge: Bridge):
    async with bridge.visit(bridge.paired(wish="work")) as one:
        await greet(one)
    await asyncio.wait_for(bridge.left("work"), 5)
    async with bridge.visit(bridge.code()) as one:
        assert (await greet(one, name="Home"))["payload"]["name"] == "home"
        assert [link.name for link in bridge.links] == ["home"]
        assert [(paired.name, paired.port) for paired in bridge.pairing.browsers()] == [("home", bridge.port)]


async def test_another_browser_of_the_same_name_gets_another(bridge: Bridge):
    bridge.paired(OTHER, "work")
    async with bridge.visit(bridge.code()) as one:
        assert (await greet(one))["payload"]["name"] == "work-2"


@pytest.mark.parametrize(("protocol", "older"), [(0, "extension"), (2, "daemon")])
async def test_versions_that_do_not_fit_are_told(
    bridge: Bridge, protocol: int, older: str, monkeypatch: pytest.MonkeyPatch
):
    key = bridge.paired()
    for install in (None, 7, OTHER):  # anybody may say so, and no person is troubled with it
        with pytest.raises(Refused, match=f"the {older} is older") as caught:
            await bridge.ask({"protocol": protocol, "install": install, "whatever": ["it", "says"]})
        assert caught.value.error["details"] == {"protocol": 1}
        assert bridge.door.misfit == ""
    for seconds, told in ((600.0, f"chrome: {caught.value}"), (0.0, "")):
        monkeypatch.setattr(bridge_door, "MISFIT_S", seconds)
        with pytest.raises(Refused):
            await bridge.ask({"protocol": protocol, "install": INSTALL})
        assert bridge.door.misfit == told
    monkeypatch.undo()
    async with bridge.visit(key) as one:
        await greet(one)
        assert bridge.door.misfit == ""


@pytest.mark.parametrize(
    "first",
    [
        "{",
        "[]",
        '{"type":"alive"}',
        '{"type":"hello"}',
        '{"type":"hello","payload":{"version":"1"}}',
        json.dumps({"type": "hello", "payload": {"version": "x" * 300, "install": INSTALL, "boot": ""}}),
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


async def test_only_a_proven_browser_may_say_something_large(bridge: Bridge):
    large = "x" * (wire.MAX_BYTES + 1)
    async with bridge.visit(bridge.paired()) as one:
        await greet(one)
        await say(one, "cdp", tabId=1, payload={"method": large})
        await say(one, "alive")
        assert await hear(one) == {"type": "alive"}
    address = bridge.url.replace("http", "ws") + "/api/other"
    async with connect(address, additional_headers={"Authorization": f"Bearer {SECRET}"}) as other:
        await other.send("small")
        assert await other.recv() == "5"
        with contextlib.suppress(ConnectionClosed):
            await other.send(large)
        assert await closed_with(other) == 1009


async def test_a_knock_is_short(bridge: Bridge):
    knock = Caller(bridge.paired(), bridge.port).knock
    await bridge.ask(knock | {"more": "x" * 3000})
    with pytest.raises(Refused, match="4096 bytes") as caught:
        await bridge.ask(knock | {"more": "x" * 4096})
    assert caught.value.status == 413


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
    key = bridge.paired()
    async with bridge.visit(key) as one:
        await greet(one)
        bridge.pairing.forget("chrome")
        bridge.links.forget("chrome", INSTALL)
        assert await closed_with(one) == 1000
    assert (await bridge.refused(key))[0] == 401


@pytest.mark.parametrize("anew", [False, True])
async def test_who_is_forgotten_while_it_comes_in_stays_out(bridge: Bridge, anew: bool):
    async with bridge.visit(bridge.paired()) as one:  # its proof was good
        bridge.pairing.forget("chrome")
        if anew:
            bridge.paired()
        told = await greet(one)
        assert (told["type"], told["payload"]["code"]) == ("refused", "unauthorized")
        assert await closed_with(one) == 4403
    assert not any(link.connected for link in bridge.links)


async def test_a_browser_whose_person_forgot_the_pairing_takes_it_along(bridge: Bridge):
    key = bridge.paired()
    ended: list[str] = []
    bridge.links.on_forgotten(ended.append)
    async with bridge.visit(key) as one:
        await greet(one)
        await say(one, "forgotten")
        await closed_with(one)
        async with asyncio.timeout(5):
            while not ended:
                await asyncio.sleep(0.01)
    assert (ended, bridge.pairing.browsers(), list(bridge.links)) == (["chrome"], [], [])
    assert ("browser_forgotten", {"name": "chrome", "by": "browser"}) in bridge.notes.told
    assert (await bridge.refused(key))[0] == 401


async def test_a_stop_outlives_the_daemon_until_the_browser_knows(bridge: Bridge, tmp_path: Path):
    key = bridge.paired()
    Pairing(tmp_path).owe_stop(INSTALL, True)  # a daemon before this one
    bridge.pairing.__init__(tmp_path)  # type: ignore[misc]
    for _ in range(2):  # it hears of it as often as it comes, until it has said so
        async with bridge.visit(key) as one:
            await greet(one)
            assert bridge.links.find().stopped
            assert (await hear(one))["type"] == "stop"
    async with bridge.visit(key) as one:
        await greet(one)
        await say(one, "stopped", payload={"by": "daemon"})
        async with asyncio.timeout(5):
            while Pairing(tmp_path).owes_stop(INSTALL):
                await asyncio.sleep(0.01)
        await say(one, "allowed")
    async with bridge.visit(key) as one:
        await greet(one)
        assert not bridge.links.find().stopped


async def test_an_extension_hears_whether_it_is_connected_already(bridge: Bridge):
    key = bridge.paired()
    assert not (await bridge.ask(Caller(key, bridge.port).knock))["connected"]
    async with bridge.visit(key) as one:
        await greet(one)
        assert (await bridge.ask(Caller(key, bridge.port).knock))["connected"]
    with pytest.raises(Refused, match="not paired") as caught:
        await bridge.ask(Caller(Key("secret", "x", OTHER), bridge.port).knock)
    assert caught.value.status == 401


async def test_who_comes_without_a_key_hears_which_one_opens_what_is_a_persons(bridge: Bridge):
    async with httpx.AsyncClient(base_url=bridge.url) as client:
        told = await client.get("/api/extension/browsers")
    assert told.status_code == 401
    assert "person.key" in told.json()["error"]["suggestions"][0]


async def test_no_page_may_read_what_it_answers(bridge: Bridge):
    knock = Caller(bridge.paired(), bridge.port).knock
    async with httpx.AsyncClient(base_url=bridge.url, headers={"Origin": ORIGIN}) as client:
        told = await client.post("/bridge", json=knock)
    assert (told.status_code, told.headers["connection"]) == (200, "close")
    assert "access-control-allow-origin" not in told.headers
