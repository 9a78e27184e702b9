"""Cookies of a session: read with their values, set, deleted; those of other sessions are never touched."""

from pathlib import Path

import pytest

from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A22", "C01")

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"


async def names(agent: Agent, **filters: object) -> set[str]:
    return {one["name"] for one in (await agent.call("get_cookies", **filters))["cookies"]}


async def test_reading_what_servers_set(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("login"))
    await agent.call("fill_form", fields=[{"target": "[name=user]", "value": "ada"}])
    await agent.call("type_text", target="[name=password]", text="lovelace", submit=True)
    await agent.call("wait_for", url="/account")
    found = {one["name"]: one for one in (await agent.call("get_cookies"))["cookies"]}
    assert found["user"]["value"] == "ada"
    assert found["user"]["http_only"] is True
    assert found["visits"]["http_only"] is False
    assert found["user"]["expires"] is None
    assert "user=ada 127.0.0.1/ HttpOnly" in await agent.text("get_cookies")


async def test_the_secret_that_was_asked_for_is_shown(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"set-cookie?sid={TOKEN}"))
    answer = await agent.ask("get_cookies", name="sid")
    assert answer.data["cookies"][0]["value"] == TOKEN
    assert TOKEN in answer.text
    assert TOKEN not in await agent.text("evaluate_js", expression="document.cookie")


async def test_filters(agent: Agent, site: PageServer) -> None:
    for name, place in [("a", ".shop.test"), ("b", "www.shop.test"), ("c", "myshop.test")]:
        await agent.call("set_cookie", name=name, value="1", domain=place)
    await agent.call("set_cookie", name="d", value="1", url="https://shop.test/deep/", path="/deep", secure=True)
    assert await names(agent, domain="shop.test") == {"a", "b", "d"}
    assert await names(agent, urls=["http://www.shop.test/x"]) == {"a", "b"}
    assert await names(agent, urls=["https://shop.test/deep/er"]) == {"a", "d"}
    assert await names(agent, urls=["http://shop.test/deep/er", "https://shop.test/deeper"]) == {"a"}
    assert await names(agent, name="c") == {"c"}
    assert await names(agent, name="nothing") == set()
    cut = await agent.call("get_cookies", limit=1)
    assert (len(cut["cookies"]), cut["total"]) == (1, 4)
    await fails(agent, "bad_request", "get_cookies", urls=["no address"])
    await fails(agent, "bad_request", "get_cookies", urls=["http://[oops/"])


async def test_setting_for_the_current_page(agent: Agent, site: PageServer) -> None:
    await fails(agent, "bad_request", "set_cookie", name="a", value="1")
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("set_cookie", name="theme", value="dark", httpOnly=True, sameSite="Strict", expires=4_000_000_000)
    (one,) = (await agent.call("get_cookies"))["cookies"]
    assert one["expires"] > 1_700_000_000
    assert (one["domain"], one["http_only"], one["same_site"]) == ("127.0.0.1", True, "Strict")
    assert await agent.js("document.cookie") == ""
    sent = "fetch('/echo').then((r) => r.json()).then((r) => r.headers.cookie.split('=').join(' is '))"
    assert await agent.js(sent) == "theme is dark"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "x", "value": "y" * 4096, "domain": "shop.test"},
        {"name": "__Host-x", "value": "1", "url": "http://shop.test/"},
        {"name": "a;b", "value": "1", "domain": "shop.test"},
        {"name": "x", "value": "1", "domain": "no domain;"},
        {"name": "x", "value": "1", "same_site": "Sometimes", "domain": "shop.test"},
    ],
)
async def test_what_the_browser_refuses(agent: Agent, wrong: dict[str, str]) -> None:
    failure = await fails(agent, "bad_request", "set_cookie", **wrong)
    assert failure.suggestions
    assert (await agent.call("get_cookies"))["total"] == 0


async def test_deleting_some(agent: Agent) -> None:
    for name, place in [("a", "shop.test"), ("b", "shop.test"), ("a", "other.test")]:
        await agent.call("set_cookie", name=name, value="1", domain=place)
    await agent.call("set_cookie", name="host", value="1", url="http://shop.test/")
    await agent.call("set_cookie", name="host", value="1", url="http://shop.test/x/", path="/x")
    await fails(agent, "bad_request", "delete_cookies")
    assert (await agent.call("delete_cookies", name="a", domain="shop.test"))["deleted"] == 1
    assert (await agent.call("delete_cookies", name="host", path="/x"))["deleted"] == 1
    assert (await agent.call("delete_cookies", url="http://shop.test/"))["deleted"] == 2
    assert (await agent.call("get_cookies"))["cookies"][0]["domain"] == "other.test"
    assert (await agent.call("delete_cookies", name="gone"))["deleted"] == 0


async def test_all_means_all_of_this_session(agent: Agent, house: House) -> None:
    async with house.agent() as other:
        for one in (agent, other):
            await one.call("set_cookie", name="a", value="1", domain="shop.test")
            await one.call("set_cookie", name="b", value="1", url="https://[::1]:8443/", secure=True)
        assert (await agent.call("delete_cookies", all=True))["deleted"] == 2
        assert (await agent.call("get_cookies"))["total"] == 0
        assert (await other.call("get_cookies"))["total"] == 2


async def test_very_much_goes_into_a_file(agent: Agent) -> None:
    for number in range(10):
        await agent.call("set_cookie", name=f"c{number}", value="v" * 4000, domain="shop.test")
    answer = await agent.ask("get_cookies")
    assert len(answer.text) < 2000
    assert answer.data["total"] == 10
    assert len(Path(answer.data["path"]).read_text()) > 40_000
