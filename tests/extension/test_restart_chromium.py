"""F03: a daemon that dies, or is started anew, finds the person's Chrome and every tab in it as a first one would."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.call import Call, Caller, Defaults
from pilothouse.doors.bridge import BridgeDoor
from pilothouse.doors.http import HttpDoor, build_app
from pilothouse.guard.pairing import ORIGIN, Pairing
from pilothouse.guard.rules import read_rules
from tests.daemon_here import daemon_here
from tests.extension.neighbour import SANDBOX, Neighbour, paired
from tests.house import House
from tests.own_chrome import own_chrome
from tests.promises import promise
from tests.server import PageServer

from .conftest import Desk

pytestmark = [promise("F02", "F03"), pytest.mark.alone]

SEE_S = 20.0


@contextlib.asynccontextmanager
async def daemon(home: Path, pairing: Pairing, port: int = 0) -> AsyncIterator[tuple[House, int]]:
    """All that an extension sees of one. It ends as if it were killed: no tab is let go of, nobody is told."""
    home.mkdir(mode=0o700, exist_ok=True)
    house = House(home)
    house.policy.replace(read_rules(SANDBOX))

    async def no_mcp() -> object:
        raise AssertionError("nobody calls by MCP here")

    with socket.create_server(("127.0.0.1", port)) as listener:
        port = listener.getsockname()[1]
        bridge = BridgeDoor(pairing, house.links, house.audit, port=port)
        app = build_app(no_mcp, lambda key: None, port=port, routes=bridge.routes(), extension=ORIGIN)  # type: ignore[arg-type]
        http = HttpDoor(app)
        await http.listen(listener)
        try:
            yield house, port
        finally:
            await http.close()
            await house.close()


async def connected(house: House) -> None:
    async with asyncio.timeout(SEE_S):
        while not house.links.connected:
            await asyncio.sleep(0.01)


@pytest.fixture
def pairing(tmp_path: Path) -> Pairing:
    return Pairing(tmp_path)


async def test_a_tab_that_was_held_is_read_by_the_next_daemon(
    pairing: Pairing, tmp_path: Path, site: PageServer
) -> None:
    async with own_chrome() as chrome:
        async with daemon(tmp_path / "first", pairing) as (house, port):
            person = Neighbour(house, chrome, await paired(chrome, pairing, port), pairing, port)
            page = await person.share(site.url("/small.html"))
            await page.js("void (document.body.innerHTML = '<button onclick=\"window.hit = 1\">Go</button>')")
            agent = person.agent()
            assert await agent.js("1+1") == 2
            assert await person.attached() == 1
        async with daemon(tmp_path / "second", pairing, port) as (house, _):
            await connected(house)
            agent = house.agent(Defaults(browser="extension"))
            assert "Go" in await agent.text("get_page_state")
            await agent.call("click", target="text=Go")
            assert await page.js("window.hit") == 1
            assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Small"


async def test_a_tab_that_nobody_uses_any_more_is_let_go_of(pairing: Pairing, tmp_path: Path, site: PageServer) -> None:
    """Chrome's bar must not say for ever that somebody debugs."""
    async with own_chrome() as chrome:
        async with daemon(tmp_path / "first", pairing) as (house, port):
            person = Neighbour(house, chrome, await paired(chrome, pairing, port), pairing, port)
            await person.share(site.url("/small.html"))
            assert await person.agent().js("1+1") == 2
            assert await person.attached() == 1
        async with daemon(tmp_path / "second", pairing, port) as (house, _):
            await connected(house)
            await person.popup.until("chrome.action.getBadgeText({}).then(text => text === 'on')")
            assert await person.attached() == 0


async def test_a_daemon_that_has_just_begun_waits_for_the_browsers_it_knows(tmp_path: Path) -> None:
    async with own_chrome() as chrome:
        async with daemon_here(tmp_path) as here:
            desk = Desk(chrome, await chrome.popup(), here)
            assert await desk.pair(await desk.code()) == ""
            port = desk.port
        async with daemon_here(tmp_path, port=port) as here:
            call = Call("open_session", {"browser": "extension"}, Caller("default", "test", "mcp"))
            answer = await here.gate.call(call)
            assert not answer.failed, answer.text
        async with daemon_here(tmp_path, port=port) as here:
            desk = Desk(chrome, desk.popup, here)
            (told,) = (await desk.person("GET", "/api/extension/browsers"))["browsers"]
            assert told["state"] == "connected"


async def test_a_terminal_is_sent_nowhere_else_by_the_next_daemon(tmp_path: Path, site: PageServer) -> None:
    caller = Caller("default", "terminal-named-test", "call")
    async with own_chrome() as chrome:
        async with daemon_here(tmp_path) as here:
            desk = Desk(chrome, await chrome.popup(), here)
            assert await desk.pair(await desk.code()) == ""
            port = desk.port
            opened = await here.gate.call(Call("open_session", {"browser": "extension"}, caller))
            assert not opened.failed, opened.text
            await desk.until((tmp_path / "terminals.json").exists, "it is kept")
        async with daemon_here(tmp_path, port=port) as here:
            answer = await here.gate.call(Call("list_tabs", {}, caller))
            assert not answer.failed, answer.text
            assert "started anew" in answer.text
            (session,) = here.gate.every_session()
            assert session["browser"] == "extension"


async def test_a_tab_whose_page_has_not_come_is_no_dead_end(pairing: Pairing, tmp_path: Path, site: PageServer) -> None:
    async with own_chrome() as chrome, daemon(tmp_path / "first", pairing) as (house, port):
        house.policy.replace(read_rules('[[rules]]\nhost = "127.0.0.1"\nwrite = true'))
        person = Neighbour(house, chrome, await paired(chrome, pairing, port), pairing, port)
        silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/"
        made = await chrome.root.send("Target.createTarget", url=url)
        tab_id = await chrome.tab_id(await chrome.page(made["targetId"]), person.popup)
        await chrome.tell(person.popup, "shareTab", tabId=tab_id)
        await person.until(lambda: tab_id in person.link.tabs)
        agent = person.agent()
        answer = await agent.ask("get_page_state")
        assert not answer.failed, answer.text
        assert (await agent.call("list_tabs"))["tabs"][0]["current"]
        silent.close()
