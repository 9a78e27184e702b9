"""open_session: what a session can be told to be, and that it can only be less than the policy allows."""

import asyncio

import pytest

from pilothouse.call import Caller
from pilothouse.errors import Failure
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B09")


async def refused(agent: Agent, tool: str, **args: object) -> Failure:
    with pytest.raises(Failure) as caught:
        await agent.call(tool, **args)
    return caught.value


async def test_allowed_domains_hold_for_addresses_and_for_pages(agent: Agent, site: PageServer) -> None:
    port = site.url("").rstrip("/").rpartition(":")[2]
    await agent.call("open_session", allowed_domains=[f"127.0.0.1:{port}"])
    await agent.call("navigate", url=site.url("small.html"))
    for tool, args in {"navigate": {}, "new_tab": {}}.items():
        failure = await refused(agent, tool, url=f"http://localhost:{port}/small.html", **args)
        assert failure.code == "denied", tool
        assert "localhost is not among this session's allowed_domains" in failure.message
        assert "open_session" in failure.suggestions[0]
    # The page itself is held by the network boundary, and so is a redirect.
    tried = f"fetch('http://localhost:{port}/small.html', {{mode: 'no-cors'}}).then(() => 'through', () => 'held')"
    assert await agent.js(tried) == "held"
    failure = await refused(agent, "navigate", url=site.url(f"redirect?to=http://localhost:{port}/small.html"))
    assert "allowed_domains" in failure.message
    assert (await agent.call("navigate", url="about:blank"))["url"] == "about:blank"


async def test_a_session_without_them_is_not_narrowed(agent: Agent, site: PageServer) -> None:
    await agent.call("open_session", allowed_domains=["only.test"])
    await agent.call("close_session")
    await agent.call("open_session")
    assert (await agent.call("navigate", url=site.url("small.html")))["title"] == "Small"


async def test_a_proxy_is_asked_for_what_is_not_this_machine(agent: Agent, site: PageServer) -> None:
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode())
        writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with proxy:
        await agent.call("open_session", proxy=f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        failure = await refused(agent, "navigate", url="http://shop.test/")
    assert "CONNECT shop.test:80 HTTP/1.1\r\n" in asked
    assert "proxy" in failure.message


@pytest.mark.parametrize(
    ("args", "code", "complaint"),
    [
        ({"profile": "nobody"}, "not_found", "no profile 'nobody'"),
        ({"browser": "isolated", "profile": "work"}, "bad_request", "'isolated' has no profile"),
        ({"browser": "profile"}, "bad_request", "say which profile"),
        ({"viewport": {"width": 1, "height": 1}}, "bad_request", "100"),
    ],
)
async def test_what_cannot_be_is_said_and_leaves_no_session(
    agent: Agent, args: dict[str, object], code: str, complaint: str
) -> None:
    failure = await refused(agent, "open_session", **args)
    assert (failure.code, complaint in failure.message) == (code, True), failure.message
    assert await agent.text("list_sessions") == "no session is open"


@pytest.mark.parametrize(
    ("args", "complaint"),
    [({"proxy": "ftp://x"}, "proxy"), ({"allowed_domains": ["http://a.test/x"]}, "is not a host")],
)
async def test_a_boundary_that_cannot_be_is_said(agent: Agent, args: dict[str, object], complaint: str) -> None:
    failure = await refused(agent, "open_session", **args)
    assert (failure.code, complaint in failure.message) == ("bad_request", True), failure.message
    assert await agent.text("list_sessions") == "no session is open"


@promise("B06")
async def test_sessions_are_listed_with_what_they_are(agent: Agent) -> None:
    opened = await agent.call("open_session", viewport={"width": 640, "height": 480})
    (listed,) = (await agent.call("list_sessions"))["sessions"]
    asked = agent.caller.defaults
    assert listed == {
        "session": opened["session"], "browser": asked.browser, "profile": asked.profile, "tabs": ["about:blank"],
        "mode": "auto", "allowed_domains": [], "age_s": listed["age_s"], **({"limits": opened["limits"]} if "limits" in opened else {}),
    }  # fmt: skip
    assert 0 <= listed["age_s"] < 60
    assert await agent.js("[innerWidth, innerHeight]") == [640, 480]


@promise("B06")
async def test_a_handle_that_is_nobodys(agent: Agent) -> None:
    failure = await refused(agent, "get_page_state", session="sAAAAAAAAAAAAAAAAAAAAAA")
    assert failure.code == "not_found"
    assert "open one with open_session" in failure.suggestions[-1]


async def test_sessions_are_told_apart_in_the_list(house: House, site: PageServer) -> None:
    async with house.agent() as agent:
        plain = (await agent.call("open_session"))["session"]
        narrow = await agent.call("open_session", mode="readonly", allowed_domains=["127.0.0.1"])
        await agent.call("navigate", url=site.url("small.html"), session=plain)
        first, second = (await agent.text("list_sessions")).splitlines()
        assert first.startswith(f"{plain} isolated 1 tab, ")
        assert first.endswith(f"s old: {site.url('small.html')}")
        assert second.startswith(f"{narrow['session']} isolated readonly only 127.0.0.1 1 tab, ")
        listed = (await agent.call("list_sessions"))["sessions"]
        assert [(one["mode"], one["allowed_domains"]) for one in listed] == [("auto", []), ("readonly", ["127.0.0.1"])]


@promise("B06")
async def test_who_calls_without_a_connection_is_known_by_the_key(house: House, site: PageServer) -> None:
    """README "Several clients by URL": two of one key share a session until each names its own; another key does not."""
    cursor, vscode, other = (Agent(house.gate, Caller(key, "", "mcp")) for key in ("shared", "shared", "alone"))
    try:
        await vscode.call("navigate", url=site.url("small.html"))
        assert (await cursor.call("get_page_title"))["title"] == "Small"
        assert (await other.call("list_sessions"))["sessions"] == []
        own = (await cursor.call("open_session"))["session"]
        assert (await cursor.call("get_current_url", session=own))["url"] == "about:blank"
        failure = await refused(vscode, "get_page_title")
        assert "2 sessions are open: say which one" in failure.message
    finally:
        for session in house.gate.own(cursor.caller).all():
            await cursor.call("close_session", session=session.id)
