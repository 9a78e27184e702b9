"""Downloads: told as they happen, kept under a name of our own."""

import re
from pathlib import Path

import pytest

from pilothouse.browser import settle
from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = [promise("A19"), pytest.mark.whole("downloads are no part of the engine")]

TIMES = 20


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that tests keep busy, the word that a download begins takes longer now and then than anybody waits for
    it: 1 of some hundred times."""
    monkeypatch.setattr(settle, "FILE_S", 5.0)


async def told(agent: Agent, tool: str, **args: str) -> str:
    """What the action says, which is that a download has begun, and the calls after it until it has ended."""
    said = await agent.text(tool, **args)
    assert "download: " in said
    for _ in range(100):
        if "completed" in said:
            return said
        said += "\n" + await agent.text("evaluate_js", expression="new Promise((done) => setTimeout(done, 20))")
    raise AssertionError(said)


@pytest.mark.parametrize(
    ("link", "name", "content"),
    [
        ("Report", "report.bin", ("pilothouse " * 455)[:5000]),
        ("Note", "note.txt", "hello"),
        ("Made in the page", "blob.txt", "from a blob"),
    ],
)
async def test_a_download_is_told_and_kept(agent: Agent, site: PageServer, link: str, name: str, content: str) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    said = await told(agent, "click", target=f"text={link}")
    assert f'download: "{name}" completed ({len(content)} bytes)' in said
    path = re.search(r"completed \(\d+ bytes\): \"?([^\s\"]+)", said)
    assert path
    assert Path(path[1]).read_text() == content
    assert await agent.js("document.title") == "Download"


@pytest.mark.parametrize("control", ["Report", "Note", "A page", "Send"])
async def test_the_click_itself_tells_of_its_download(agent: Agent, site: PageServer, control: str) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    for _ in range(TIMES):
        await told(agent, "click", target=f"text={control}")


@pytest.mark.parametrize("css", ["a", "a[download]", "input"])
async def test_the_key_itself_tells_of_its_download(agent: Agent, site: PageServer, css: str) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    await agent.call("evaluate_js", expression=f"document.querySelector({css!r}).focus()")
    for _ in range(TIMES):
        await told(agent, "press_key", key="Enter")


async def test_only_where_a_file_may_come_it_is_waited_for(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For longer than a call may take, so that a call that waits fails."""
    monkeypatch.setattr(settle, "FILE_S", 60.0)
    await agent.call("navigate", url=site.url("download.html"))
    await agent.call("click", target="text=Nothing")
    await agent.call("right_click", target="text=Note")
    await agent.call("evaluate_js", expression="document.querySelector('a[download]').focus()")
    await agent.call("press_key", key="Tab")
    assert "Wait" in await agent.text("click", target="text=Asks first")
    await agent.call("handle_dialog", accept=True)
    await agent.call("click", target="h1")
    assert await agent.js("document.title") == "Download"


async def test_an_odd_name_leads_nowhere(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    said = await told(agent, "click", target="text=Odd name")
    path = re.search(r"completed \(\d+ bytes\): \"?([^\s\"]+)", said)
    assert path
    assert ".." not in path[1]
    assert Path(path[1]).is_file()


async def test_navigating_to_a_download(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    arrived = await agent.call("navigate", url=site.url("download?size=10"))
    assert "download" in arrived["note"]
    assert arrived["url"] == site.url("download.html")
    await fails(agent, "not_found", "click", target="#nowhere")
