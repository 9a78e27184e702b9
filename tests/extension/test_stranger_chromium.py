"""E01, F01, F02: another program sits where the daemon should be. It learns nothing, and the person is told."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from pilothouse.guard.handshake import Meeting
from pilothouse.guard.pairing import ORIGIN
from tests.daemon_here import daemon_here
from tests.own_chrome import OwnChrome, Page
from tests.promises import promise

from .conftest import Desk
from .stranger import said, stranger

pytestmark = promise("E01", "F01", "F02", "F08")

WELCOME = {"type": "welcome", "payload": {"name": "mine", "version": "9"}}


class Left(NamedTuple):
    """A paired browser whose daemon has ended."""

    chrome: OwnChrome
    popup: Page
    home: Path
    port: int
    secret: str

    async def words(self, wanted: str) -> None:
        await self.popup.until(f"document.getElementById('words').textContent.includes({wanted!r})", 20)


@pytest.fixture
async def left(chrome: OwnChrome, popup: Page, tmp_path: Path) -> AsyncIterator[Left]:
    await chrome.tell(popup, "unpair")
    await chrome.tell(popup, "allow")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with daemon_here(home) as here:
        desk = Desk(chrome, popup, here)
        assert await desk.pair(await desk.code()) == ""
        port = desk.port
    (home / "daemon.json").unlink(missing_ok=True)
    secret = (await popup.js("chrome.storage.local.get('pairing')"))["pairing"]["secret"]
    yield Left(chrome, popup, home, port, secret)
    await chrome.tell(popup, "unpair")


def guessing(knock: dict[str, Any]) -> dict[str, Any]:
    """Looks like the answer of a daemon."""
    numbers = {name: secrets.token_urlsafe(32) for name in ("nonce", "proof", "salt")}
    return {**numbers, "connected": False}


async def test_it_learns_nothing_that_lets_it_in(left: Left):
    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        return said(guessing(knock))

    async with stranger(left.port, answer) as one:
        await one.asked(3)
        await left.words(f"Another program answers on port {left.port}")
    state = await left.chrome.tell(left.popup, "state")
    assert (state["mode"], state["paired"]) == ("problem", True)
    assert left.secret.encode() not in one.heard
    assert b"Sec-WebSocket" not in one.heard
    assert all(knock.keys() == {"protocol", "install", "nonce", "by"} for knock in one.knocks)
    async with daemon_here(left.home, port=left.port) as here:
        await _try_all(one.knocks, left.port)
        desk = Desk(left.chrome, left.popup, here)
        await desk.until(lambda: any(link.connected for link in here.links), "the browser at its own daemon")
        await left.words("Connected")


async def _try_all(knocks: list[dict[str, Any]], port: int) -> None:
    """The thief goes to the real daemon with everything it heard."""
    kinds: list[Callable[[dict[str, Any], dict[str, Any]], str]] = [
        lambda knock, answer: answer["proof"],
        lambda knock, answer: knock["nonce"],
        lambda knock, answer: knock["install"],
        lambda knock, answer: "",
    ]
    for knock in knocks:
        for kind in kinds:
            async with httpx.AsyncClient(headers={"Origin": ORIGIN}) as client:
                answer = (await client.post(f"http://127.0.0.1:{port}/bridge", json=knock)).json()["data"]
            proof = kind(knock, answer)
            offered = [Subprotocol("pilothouse.1"), Subprotocol(f"pilothouse.proof.{answer['nonce']}.{proof}")]
            with pytest.raises(InvalidStatus) as caught:
                async with connect(f"ws://127.0.0.1:{port}/bridge", origin=Origin(ORIGIN), subprotocols=offered):
                    pass
            assert caught.value.response.status_code == 401


async def test_it_cannot_pass_on_what_the_daemon_says_on_another_port(left: Left):
    async with daemon_here(left.home) as here:

        async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
            async with httpx.AsyncClient(headers={"Origin": ORIGIN}) as client:
                told = await client.post(f"{here.url}/bridge", json=knock)
            assert told.status_code == 200
            return 200, told.content

        async with stranger(left.port, answer) as one:
            await one.asked()
            await left.words("Another program answers")
        assert b"Sec-WebSocket" not in one.heard
        assert not any(link.connected for link in here.links)


@pytest.mark.parametrize("greeting", [WELCOME, {"type": "proof", "payload": {"proof": "x" * 43}}, {"payload": None}])
async def test_one_that_comes_after_the_first_proof_hears_no_tab(left: Left, greeting: dict[str, Any]):
    """As if the daemon had answered, ended, and the stranger had taken its place before the socket."""

    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        ours = secrets.token_urlsafe(32)
        meeting = Meeting("secret", knock["install"], knock["nonce"], ours, left.port)
        return said({"nonce": ours, "proof": meeting.proof(left.secret.encode(), "daemon"), "connected": False})

    async with stranger(left.port, answer, greeting) as one:
        await one.left.wait()
        await left.words("Another program answers")
    assert left.secret.encode() not in one.heard
    assert one.after[0] & 0x0F == 8  # a goodbye, and nothing before it
    assert len(one.after) < 14


async def test_one_that_comes_after_the_bridge_hears_of_no_page(left: Left):
    """As if the daemon had welcomed the browser, and a stranger took its place before the socket of the debug hub, with
    all that was said at the bridge."""

    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        ours, key = secrets.token_urlsafe(32), left.secret.encode()
        meeting = Meeting("secret", knock["install"], knock["nonce"], ours, left.port)
        proof = {"type": "proof", "payload": {"proof": meeting.proof(key, "socket")}}
        one.greetings = {"/bridge": [proof, WELCOME], "/signaling": [proof]}
        return said({"nonce": ours, "proof": meeting.proof(key, "daemon"), "connected": False})

    async with stranger(left.port, answer) as one:
        async with asyncio.timeout(20):
            await one.left.wait()
        (first, hello), (second, nothing) = one.talks[:2]
    assert (first, second) == ("/bridge", "/signaling")
    assert hello[0] & 0x0F == 1
    assert nothing[0] & 0x0F == 8  # a goodbye, and nothing before it
    assert len(nothing) < 14
    assert left.secret.encode() not in one.heard


@pytest.mark.parametrize(
    "answered", [(200, b"<html>"), (404, b""), (302, b""), (200, b"x" * 5_000_000), (503, b""), (200, b"[1]")]
)
async def test_whatever_it_answers_the_person_is_told(left: Left, answered: tuple[int, bytes]):
    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        return answered

    async with stranger(left.port, answer) as one:
        await one.asked()
        await left.words("Another program answers")


OTHER = json.dumps({"error": {"details": {"protocol": 2}}}).encode()


@pytest.mark.parametrize("answered", [(401, b""), (400, OTHER)])
async def test_a_refusal_is_told_as_the_word_of_whoever_answers(left: Left, answered: tuple[int, bytes]):
    """And it keeps nobody from looking for the real one soon."""

    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        return answered

    async with stranger(left.port, answer) as one:
        await one.asked()
        await left.words(f"Whoever answers on port {left.port}")
    waits = "chrome.storage.session.get('notBefore').then(it => it.notBefore - Date.now())"
    assert await left.popup.js(waits) <= 10_000


async def test_another_copy_that_has_left_is_not_told_of(left: Left):
    """The socket that was refused for its sake may be tried again at once; while it is there, the person is told."""
    there = [True]

    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        ours = secrets.token_urlsafe(32)
        meeting = Meeting("secret", knock["install"], knock["nonce"], ours, left.port)
        connected = there.pop() if there else False
        return said({"nonce": ours, "proof": meeting.proof(left.secret.encode(), "daemon"), "connected": connected})

    async with stranger(left.port, answer) as one:
        one.hangs_up = True
        await one.asked(4)
        assert "Another copy" not in (await left.chrome.tell(left.popup, "state"))["words"]
        there[:] = [True] * 20
        await left.words("Another copy of this browser is connected")


async def test_a_code_typed_for_a_port_of_its_own_stays_unknown_to_it(fresh: Desk):
    async def answer(knock: dict[str, Any]) -> tuple[int, bytes]:
        return said(guessing(knock))

    code = await fresh.code()
    letters = code.partition("-")[2]
    async with stranger(0, answer) as one:
        told = await fresh.pair(f"{one.port}-{letters}")
    assert "another program answers" in told
    assert len(one.knocks) == 1
    for part in (letters, *letters.split("-")):
        assert part.encode() not in one.heard.upper()
    assert await fresh.pair(code) == ""
