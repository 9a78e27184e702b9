"""Local and session storage: of the frame one is in, whatever the page has done to its own globals."""

from pathlib import Path

import pytest

from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A22", "C01")

HOSTILE = """<!doctype html><form name=localStorage><input name=getItem></form><script>
Storage.prototype.getItem = Storage.prototype.setItem = Storage.prototype.clear = () => { throw 1 };
Array.prototype.map = null; localStorage.own = 'mine'; Object.defineProperty(window, 'sessionStorage', {value: 1})
</script>"""


@pytest.mark.parametrize("area", ["local", "session"])
async def test_write_read_clear(agent: Agent, site: PageServer, area: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("set_storage", area=area, key="theme", value="dark")
    await agent.call("set_storage", area=area, key="", value="empty key")
    assert await agent.js(f"{area}Storage.theme") == "dark"
    found = await agent.call("get_storage", area=area)
    assert found["items"] == {"theme": "dark", "": "empty key"}
    assert found["origin"] == site.origin
    assert (await agent.call("get_storage", area=area, key="theme"))["items"] == {"theme": "dark"}
    assert (await agent.call("clear_storage", area=area, key="theme"))["count"] == 1
    await fails(agent, "not_found", "get_storage", area=area, key="theme")
    await fails(agent, "not_found", "clear_storage", area=area, key="theme")
    assert (await agent.call("clear_storage", area=area))["count"] == 1
    assert "nothing was stored" in await agent.text("clear_storage", area=area)
    assert await agent.js(f"{area}Storage.length") == 0


async def test_the_two_areas_are_two(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("set_storage", key="a", value="local")
    await agent.call("set_storage", key="a", value="session", type="session")
    assert (await agent.call("get_storage"))["items"] == {"a": "local"}
    assert (await agent.call("get_storage", storage_type="session"))["items"] == {"a": "session"}
    await fails(agent, "bad_request", "get_storage", area="cloud")


async def test_a_hostile_page_changes_nothing(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(HOSTILE))
    await agent.call("set_storage", key="token", value="abc123abc123")
    assert (await agent.call("get_storage"))["items"] == {"own": "mine", "token": "abc123abc123"}
    assert (await agent.call("clear_storage"))["count"] == 2


async def test_the_frame_one_is_in(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    await agent.call("set_storage", key="where", value="outside")
    frames = (await agent.call("get_frames"))["frames"]
    across = next(one["frame"] for one in frames if one["url"].startswith(site.other_origin))
    await agent.call("switch_frame", frame=across)
    assert (await agent.call("get_storage"))["origin"] == site.other_origin
    assert (await agent.call("get_storage"))["items"] == {}


async def test_pages_without_storage(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("hi", headers={"Content-Security-Policy": "sandbox allow-scripts"}))
    for tool, args in [("get_storage", {}), ("set_storage", {"key": "a", "value": "b"}), ("clear_storage", {})]:
        failure = await fails(agent, "unsupported", tool, **args)
        assert failure.suggestions


async def test_much_goes_into_a_file_and_too_much_is_said(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("set_storage", key="big", value="x" * 100_000)
    answer = await agent.ask("get_storage")
    assert len(answer.text) < 2000
    assert answer.data["items"] == {}
    assert len(Path(answer.data["path"]).read_text()) > 100_000
    await fails(agent, "over_limit", "set_storage", key="more", value="x" * 9_000_000)


async def test_in_a_tab_behind(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("todo.html", other=True))
    await agent.call("set_storage", tab="t1", key="a", value="behind")
    assert (await agent.call("get_storage", tab="t1"))["items"] == {"a": "behind"}
    assert (await agent.call("get_storage"))["items"].get("a") is None
