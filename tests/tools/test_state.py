"""A log-in that is saved in one session and loaded in another."""

import asyncio
from pathlib import Path

import pytest

from pilothouse.browser.backroom import backroom
from pilothouse.browser.origins import MOST, Origins
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = [promise("A23"), pytest.mark.whole("storage is read in a page that is hidden, and the shell hides none")]


async def log_in(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("login"))
    await agent.call("fill_form", fields=[{"target": "[name=user]", "value": "ada"}])
    await agent.call("type_text", target="[name=password]", text="lovelace", submit=True)
    await agent.call("wait_for", url="/account")


async def test_a_log_in_goes_from_session_to_session(agent: Agent, house: House, site: PageServer) -> None:
    await log_in(agent, site)
    await agent.js("localStorage.theme = 'dark'; localStorage['a\"b'] = '\\u2028é'; sessionStorage.gone = 1")
    await agent.call("new_tab", url=site.url("small.html", other=True))
    await agent.js("localStorage.cart = 'mug'")
    saved = await agent.call("save_state", name="shop.login-1")
    assert set(saved["origins"]) == {site.origin, site.other_origin}
    assert "skipped" not in saved
    async with house.agent() as other:
        loaded = await other.ask("load_state", name="shop.login-1")
        assert loaded.data["cookies"] == saved["cookies"] == 2
        assert "IndexedDB" in await agent.text("save_state", name="again")
        assert [tab["url"] for tab in (await other.call("list_tabs"))["tabs"]] == ["about:blank"]
        await other.call("navigate", url=site.url("account"))
        assert "Account of ada" in await other.text("get_page_text")
        assert await other.js("({...localStorage})") == {"theme": "dark", 'a"b': "\u2028é"}
        assert await other.js("sessionStorage.length") == 0
        await other.call("navigate", url=site.url("small.html", other=True))
        assert await other.js("localStorage.cart") == "mug"


async def test_storage_of_a_development_server_whose_tab_is_elsewhere(
    agent: Agent, house: House, site: PageServer
) -> None:
    """It has a port that no default names; of two, one has set a cookie and one has not."""
    await agent.call("navigate", url=site.url("small.html", other=True))
    await agent.js("localStorage.token = 'without a cookie'")
    await agent.call("navigate", url="about:blank")
    assert site.other_origin in (await agent.call("save_state", name="dev"))["origins"]
    async with house.agent() as other:
        await other.call("load_state", name="dev")
        assert site.other_origin in (await other.call("save_state", name="handed-on"))["origins"]
        await other.call("navigate", url=site.url("small.html", other=True))
        assert await other.js("localStorage.token") == "without a cookie"


async def test_a_cookie_tells_the_port_it_came_from(agent: Agent, site: PageServer) -> None:
    await log_in(agent, site)
    await agent.js("localStorage.theme = 'dark'")
    await agent.call("navigate", url="about:blank")
    (session,) = agent.gate.own(agent.caller).all()
    session.context.origins = Origins()  # as in a profile's browser, whose earlier sessions were there
    assert (await agent.call("save_state", name="port"))["origins"] == [site.origin]


def test_only_the_latest_origins_are_remembered() -> None:
    origins = Origins()
    for n in range(MOST + 10):
        origins.add(f"http://u:p@h{n}.test:3000/x?y#z")
    for url in ("about:blank", "data:text/html,x", "blob:http://a.test/1", "http://h20.test:3000"):
        origins.add(url)
    assert len(list(origins)) == MOST
    assert list(origins)[:2] == ["http://h20.test:3000", f"http://h{MOST + 9}.test:3000"]


async def test_open_session_with_a_state(agent: Agent, house: House, site: PageServer) -> None:
    await log_in(agent, site)
    await agent.js("localStorage.theme = 'dark'")
    await agent.call("save_state", name="ada")
    async with house.agent() as other:
        opened = await other.call("open_session", storage_state="ada")
        await other.call("navigate", session=opened["session"], url=site.url("account"))
        assert "Account of ada" in await other.text("get_page_text")
        assert await other.js("localStorage.theme") == "dark"
        await other.js("localStorage.clear()")
        await other.call("reload")
        assert await other.js("localStorage.length") == 0  # it was given once


async def test_a_state_that_is_not_there_opens_no_session(agent: Agent) -> None:
    for name, code in [("nobody", "not_found"), ("../x", "bad_request"), (".x", "bad_request")]:
        await fails(agent, code, "open_session", storage_state=name)
        await fails(agent, code, "load_state", name=name)
    await fails(agent, "bad_request", "save_state", name="../x")
    own = (await agent.call("list_sessions"))["sessions"]
    assert len(own) == 1  # the one that load_state was asked in


async def test_no_byte_goes_to_a_site_whose_storage_is_reached(agent: Agent) -> None:
    received: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(1000))
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    await agent.call("list_tabs")
    (session,) = agent.gate.own(agent.caller).all()
    async with backroom(session.context) as room:
        assert await room.enter(origin)
        assert await room.write([["a", "1"]])
        assert await room.read() == [["a", "1"]]
    server.close()
    await agent.leave()  # whatever the browser had opened ends now
    assert b"".join(received) == b""


async def test_no_page_is_left(agent: Agent, house: House) -> None:
    """Sites that cannot be reached, sites with a cookie only: their storage is read all the same."""
    await agent.call("set_cookie", name="a", value="1", domain="unreachable.test")
    await agent.call("set_cookie", name="b", value="1", domain=".secure.test", secure=True)
    session = agent.gate.own(agent.caller).all()[0]
    saved = await agent.call("save_state", name="away")
    assert saved == {"name": "away", "cookies": 2, "origins": []}
    assert [tab["url"] for tab in (await agent.call("list_tabs"))["tabs"]] == ["about:blank"]
    targets = await session.context.browser.root.send("Target.getTargets", filter=[{}])
    mine = [one for one in targets["targetInfos"] if one.get("browserContextId") == session.context.id]
    assert [one["url"] for one in mine if one["type"] in ("page", "other")] == ["about:blank"]
    async with house.agent() as other:
        await other.call("load_state", name="away")
        found = (await other.call("get_cookies"))["cookies"]
        assert {(one["name"], one["domain"], one["secure"]) for one in found} == {
            ("a", "unreachable.test", False),
            ("b", ".secure.test", True),
        }


async def test_on_disk_it_is_no_plain_text(agent: Agent, house: House, site: PageServer) -> None:
    await log_in(agent, site)
    await agent.call("save_state", name="sealed")
    home = house.sessions._folder.parent
    content = Path(home / "states" / "sealed.state").read_bytes()
    assert b"ada" not in content
    assert b"cookies" not in content
    Path(home / "states" / "sealed.state").write_bytes(content[:-1] + b"x")
    failure = await fails(agent, "system", "load_state", name="sealed")
    assert "changed" in failure.message
