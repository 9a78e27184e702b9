"""E01, F01: a web page, another extension, another local port and a second client want the bridge. The first one stays."""

import hashlib
import json

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from pilothouse.guard.pairing import EXTENSION_ID, ORIGIN
from tests.caller import Caller, Key
from tests.own_chrome import Page
from tests.promises import promise
from tests.server import PageServer

from .conftest import INTRUDER, Desk

pytestmark = promise("E01", "F01", "F08")

KNOCK = """new Promise(done => {{
    const socket = new WebSocket({address}, ["pilothouse.1", {proof}]);
    socket.onopen = () => done("open");
    socket.onclose = () => done("refused");
}})"""


async def knock(desk: Desk, page: Page, proof: str, host: str = "127.0.0.1") -> str:
    address = f"ws://{host}:{desk.port}/bridge"
    return await page.js(KNOCK.format(address=json.dumps(address), proof=json.dumps(proof)))


async def proofs(desk: Desk) -> list[str]:
    """Everything there is to know, and what can be made of it: as if they had read the person's disk."""
    secret = (await desk.popup.js("chrome.storage.local.get('pairing')"))["pairing"]["secret"]
    install = (await desk.popup.js("chrome.storage.local.get('install')"))["install"]
    code = (await desk.code()).partition("-")[2]
    offered: list[str] = []
    async with httpx.AsyncClient(base_url=desk.here.url, headers={"Origin": ORIGIN}) as client:
        for key in (Key("secret", secret, install), Key("code", code, install)):
            caller = Caller(key, desk.port)
            offered.append(caller.offered((await client.post("/bridge", json=caller.knock)).json()["data"])[1])
    return [*offered, f"pilothouse.key.{desk.here.person}"]


async def stays(desk: Desk, boot: str) -> None:
    assert (desk.link.boot, desk.link.connected) == (boot, True)
    assert await desk.link.ping()


async def test_web_pages_of_every_kind_are_refused(desk: Desk, site: PageServer):
    boot, known = desk.link.boot, await proofs(desk)
    page = await desk.chrome.open("about:blank")
    for address in (site.url("small.html"), site.url("small.html", other=True), "data:text/html,x"):
        await desk.chrome.go(page, address)
        for proof in known:
            assert await knock(desk, page, proof) == "refused"
    assert await knock(desk, page, known[0], "localhost") == "refused"
    await stays(desk, boot)
    assert not desk.here.notes("bridge_second")  # none came far enough to be a second one


async def intruder(desk: Desk) -> Page:
    """Chrome names an extension without a key after its folder."""
    digest = hashlib.sha256(str(INTRUDER.resolve()).encode()).hexdigest()[:32]
    name = "".join(chr(ord("a") + int(digit, 16)) for digit in digest)
    return await desk.chrome.open(f"chrome-extension://{name}/page.html")


async def test_another_extension_is_refused(desk: Desk):
    boot = desk.link.boot
    page = await intruder(desk)
    for proof in await proofs(desk):
        assert await knock(desk, page, proof) == "refused"
    await stays(desk, boot)


async def test_another_extension_cannot_talk_to_ours(desk: Desk):
    page = await intruder(desk)
    told = await page.js(f"chrome.runtime.sendMessage('{EXTENSION_ID}', {{type: 'stop'}}).catch(String)")
    assert "Could not establish connection" in told
    gone = f"new Promise(done => chrome.runtime.connect('{EXTENSION_ID}', {{name: 'popup'}}).onDisconnect.addListener(() => done('gone')))"
    assert await page.js(gone) == "gone"
    assert not desk.link.stopped


async def test_a_web_page_cannot_load_anything_of_ours(desk: Desk, site: PageServer):
    page = await desk.chrome.open(site.url("small.html"))
    for name in ("popup.html", "worker.js", "memory.js"):
        assert await page.js(f"fetch('{ORIGIN}/{name}').then(() => 'loaded', () => 'refused')") == "refused"


async def test_a_program_that_says_it_is_the_extension_is_a_second_one(desk: Desk):
    """It has the origin and the secret, as a copy of the profile would; the first one answers, so it stays."""
    boot, address = desk.link.boot, f"ws://127.0.0.1:{desk.port}/bridge"
    for _ in range(3):
        proof, *_ = await proofs(desk)
        with pytest.raises(InvalidStatus) as caught:
            async with connect(
                address, origin=Origin(ORIGIN), subprotocols=[Subprotocol("pilothouse.1"), Subprotocol(proof)]
            ):
                pass
        assert caught.value.response.status_code == 409
    await stays(desk, boot)
    assert {"why": "work"} in desk.here.notes("bridge_second")


async def test_forms_and_requests_of_pages_reach_nothing(desk: Desk, site: PageServer):
    page, codes = await desk.chrome.open(site.url("small.html")), len(desk.here.notes("pairing_code"))
    for path in ("/bridge", "/api/extension/pair", "/api/extension/browsers"):
        told = f"fetch('http://127.0.0.1:{desk.port}{path}', {{method: 'POST', mode: 'no-cors'}}).then(it => it.type, String)"
        await page.js(told)
    assert [one["name"] for one in (await desk.person("GET", "/api/extension/browsers"))["browsers"]] == ["work"]
    assert len(desk.here.notes("pairing_code")) == codes
