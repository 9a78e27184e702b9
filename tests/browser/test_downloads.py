"""Downloads: told as they happen, kept under a name of our own."""

import re
from pathlib import Path

import pytest

from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = [promise("A19"), pytest.mark.whole("downloads are no part of the engine")]


async def told(agent: Agent, target: str) -> str:
    """What the click and the calls after it say, until the download has ended."""
    said = await agent.text("click", target=target)
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
    said = await told(agent, f"text={link}")
    assert f'download: "{name}" completed ({len(content)} bytes)' in said
    path = re.search(r"completed \(\d+ bytes\): \"?([^\s\"]+)", said)
    assert path
    assert Path(path[1]).read_text() == content
    assert await agent.js("document.title") == "Download"


async def test_an_odd_name_leads_nowhere(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    said = await told(agent, "text=Odd name")
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
