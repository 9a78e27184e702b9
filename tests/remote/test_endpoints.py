"""Sessions in a browser that somebody else runs: found by a name, apart from each other, and nothing else is touched."""

import asyncio
import time
from pathlib import Path

import pytest

from pilothouse.browser import remote
from pilothouse.call import Defaults
from pilothouse.options import Endpoint
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.remote.afar import Afar, furnished
from tests.server import PageServer

pytestmark = promise("H02", "B01", "A03")


async def pages(afar: Afar) -> list[str]:
    """What the browser itself says is open."""
    from pilothouse.cdp.connection import Connection
    from pilothouse.cdp.socket import Socket

    connection = Connection(await Socket.open(afar.socket))
    told = await connection.root.send("Target.getTargets", filter=[{"type": "page"}])
    await connection.close()
    return [one["url"] for one in told["targetInfos"]]


@pytest.mark.parametrize("endpoint", ["lab", "socket"])
async def test_a_session_works_as_any_other(lab: House, site: PageServer, endpoint: str) -> None:
    async with lab.agent(Defaults()) as agent:
        opened = await agent.call("open_session", browser="remote", endpoint=endpoint)
        assert "runs elsewhere" in opened["limits"]
        arrived = await agent.call("navigate", url=site.url("small.html"))
        assert arrived["title"] == "Small"
        assert "Small" in await agent.text("get_page_state")
        (listed,) = (await agent.call("list_sessions"))["sessions"]
        assert (listed["browser"], listed["profile"]) == ("remote", endpoint)
        assert f"endpoint {endpoint}" in await agent.text("list_sessions")


async def test_the_first_call_opens_a_session_at_the_door_s_endpoint(guest: Agent, site: PageServer) -> None:
    assert (await guest.call("navigate", url=site.url("small.html")))["title"] == "Small"
    (listed,) = (await guest.call("list_sessions"))["sessions"]
    assert listed["browser"] == "remote"


async def test_cookies_are_apart(lab: House, site: PageServer) -> None:
    async with lab.agent() as one, lab.agent() as other:
        for agent in (one, other):
            await agent.call("navigate", url=site.url("small.html"))
        await one.call("set_cookie", name="who", value="one", url=site.url(""))
        assert "who=one" in await one.js("document.cookie")
        assert await other.js("document.cookie") == ""


@promise("B03")
async def test_it_is_among_the_running_browsers(lab: House, site: PageServer) -> None:
    async with lab.agent() as one, lab.agent() as two:
        for agent in (one, two):
            await agent.call("navigate", url=site.url("small.html"))
        await two.call("new_tab", url=site.url("small.html"))
        told = (await one.call("get_running_browsers"))["browsers"]
        (row,) = [row for row in told if row.get("endpoint") == "lab"]
        since = row.pop("since")
        assert row == {
            "browser": "remote", "endpoint": "lab", "browsers": 1, "waiting": 0, "sessions": 2, "tabs": 3
        }  # fmt: skip
        assert 0 < since <= time.time() * 1000
        assert "endpoint lab: 1 browser, 2 sessions, 3 tabs" in await one.text("get_running_browsers")
        numbers = {(it.name, it.labels): it.value for it in await lab.gate.samples()}
        assert numbers["endpoint_browsers", (("endpoint", "lab"),)] == 1
        assert numbers["endpoint_waiting", (("endpoint", "lab"),)] == 0


async def test_only_our_own_tabs(lab: House, afar: Afar, site: PageServer) -> None:
    """The browser's own window stays as it is, during the session and after it."""
    before = await pages(afar)
    async with lab.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        tabs = (await agent.call("list_tabs"))["tabs"]
        assert [tab["url"] for tab in tabs] == [site.url("small.html")]
        assert len(await pages(afar)) == len(before) + 1
    assert sorted(await pages(afar)) == sorted(before)


async def test_a_tab_that_another_opens_meanwhile_is_left_alone(lab: House, afar: Afar, site: PageServer) -> None:
    from pilothouse.cdp.connection import Connection
    from pilothouse.cdp.socket import Socket

    async with lab.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        neighbour = Connection(await Socket.open(afar.socket))
        made = await neighbour.root.send("Target.createTarget", url="about:blank")
        attached = await neighbour.root.send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        channel = neighbour.channel(attached["sessionId"])
        reply = await channel.send("Runtime.evaluate", expression="6 * 7", returnByValue=True, timeout=5)
        assert reply["result"]["value"] == 42
        assert len((await agent.call("list_tabs"))["tabs"]) == 1
        await neighbour.root.send("Target.closeTarget", targetId=made["targetId"])
        await neighbour.close()


async def test_a_popup_is_the_session_s(guest: Agent, site: PageServer) -> None:
    await guest.call("navigate", url=site.url("small.html"))
    await guest.call("evaluate_js", expression="open(location.href + '?popup'); return 0")
    assert (await guest.call("wait_for_new_tab"))["url"].endswith("?popup")


async def test_many_at_once(lab: House, site: PageServer) -> None:
    async def visit(number: int) -> str:
        async with lab.agent() as agent:
            await agent.call("navigate", url=site.url(f"small.html?{number}"))
            return (await agent.call("get_page_state"))["url"]

    urls = await asyncio.gather(*(visit(number) for number in range(6)))
    assert urls == [site.url(f"small.html?{number}") for number in range(6)]


# What is refused


async def test_an_agent_cannot_give_an_address(lab: House, afar: Afar) -> None:
    async with lab.agent(Defaults()) as agent:
        failure = await fails(agent, "not_found", "open_session", browser="remote", endpoint=afar.socket)
        assert "endpoint=lab" in failure.suggestions


async def test_several_and_none_is_named(lab: House) -> None:
    async with lab.agent(Defaults()) as agent:
        failure = await fails(agent, "bad_request", "open_session", browser="remote")
        assert failure.suggestions == ["endpoint=lab", "endpoint=socket"]


async def test_none_is_configured(tmp_path: Path) -> None:
    house = furnished(tmp_path)
    async with house.agent(Defaults()) as agent:
        failure = await fails(agent, "unsupported", "open_session", browser="remote")
        assert "[[endpoints]]" in failure.suggestions[0]
    await house.close()


@pytest.mark.parametrize("other", [{"browser": "isolated"}, {"profile": "work"}])
async def test_an_endpoint_goes_with_nothing_else(lab: House, other: dict[str, str]) -> None:
    async with lab.agent(Defaults()) as agent:
        await fails(agent, "bad_request", "open_session", endpoint="lab", **other)


@pytest.mark.parametrize("what", [{"allowed_domains": ["example.com"]}, {"proxy": "socks5://127.0.0.1:1080"}])
async def test_what_could_not_be_held_is_refused(guest: Agent, what: dict[str, object]) -> None:
    failure = await fails(guest, "unsupported", "open_session", **what)
    assert "sluice.advertise" in failure.suggestions[0]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:9", "connection refused"),
        ("ws://127.0.0.1:9/devtools/browser/token-abcdef", "connect"),
        ("{site}", "status 404"),
        ("{socket}/small.html", "answers with status"),
    ],
)
async def test_nobody_there_is_told_without_the_address(tmp_path: Path, site: PageServer, url: str, said: str) -> None:
    origin = site.url("").rstrip("/")
    url = url.format(site=origin, socket=origin.replace("http", "ws"))
    house = furnished(tmp_path, Endpoint("lab", url))
    async with house.agent() as agent:
        failure = await fails(agent, "browser_gone", "open_session")
        assert said in failure.message
        assert "lab" in failure.message
        assert "127.0.0.1" not in failure.message + str(failure.suggestions)
        assert "token-abcdef" not in failure.message
    await house.close()


async def test_a_shared_browser_stays_while_somebody_is_in_it(
    tmp_path: Path, afar: Afar, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is let go some time after the last session, however many have left before."""
    monkeypatch.setattr(remote, "LINGER_S", 0.3)
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    async with house.agent() as agent:
        for _ in range(6):
            await agent.call("navigate", url=site.url("small.html"))
            await agent.call("close_session")
        await agent.call("navigate", url=site.url("small.html"))
        (browser,) = house.remotes._every
        await fails(agent, "timeout", "wait_for", text="never", timeout_ms=700)
        assert browser.usable
    async with asyncio.timeout(5):
        await browser.connection.closed
    await house.close()


async def test_one_that_comes_when_nobody_wants_it_is_let_go(
    tmp_path: Path, afar: Afar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LINGER_S", 0.1)
    house = furnished(tmp_path, Endpoint("lab", afar.url))
    source = house.elsewhere.sources()["lab"]
    browser = await house.remotes._connected(source)
    async with asyncio.timeout(5):
        await browser.connection.closed
    assert house.remotes.places() == []
    await house.close()


@promise("B08")
async def test_what_it_costs_is_not_counted_here(lab: House, site: PageServer) -> None:
    """Its processes are another machine's, where the same numbers mean others."""
    async with lab.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        await lab.sessions.warden.look()
        assert lab.sessions.warden.costs == []
