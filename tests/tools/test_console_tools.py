"""Console tools of the seeds: capture that is always on, and forgetting."""

from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "A16")


async def test_capture_is_always_on(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<script>console.log('before anybody asked')</script>"))
    said = await agent.ask("enable_console_capture")
    assert said.data["enabled"] is True
    assert "always on; 1 line kept" in said.text
    (line,) = (await agent.call("get_console_logs"))["lines"]
    assert line["text"] == "before anybody asked"


async def test_clearing_forgets_this_tab_only(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<script>console.log(1)</script>"))
    await agent.call("new_tab", url=site.inline("<script>console.log(2)</script>"))
    seen = (await agent.call("get_console_logs", tab="t1"))["next"]
    assert (await agent.call("clear_console", tab="t1"))["cleared"] == 1
    assert (await agent.call("get_console_logs", tab="t1"))["lines"] == []
    assert len((await agent.call("get_console_logs", tab="t2"))["lines"]) == 1
    await agent.call("evaluate_js", tab="t1", expression="console.log('later')")
    later = await agent.call("get_console_logs", tab="t1", since=seen)
    assert [one["text"] for one in later["lines"]] == ["later"]  # numbers go on, so `since` still holds


async def test_while_a_dialog_is_open(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button onclick=\"console.log(1); alert('hi')\">Go</button>"))
    await agent.call("click", target="text=Go")
    assert (await agent.call("clear_console"))["cleared"] == 1
    await fails(agent, "not_found", "clear_console", tab="t9")
