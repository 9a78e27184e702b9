"""PDFs: whoever meets one is told what it is, and how to read it."""

import re
from pathlib import Path

import pytest

from pilothouse.browser.viewer import DOWNLOAD
from tests.browser.looking import look
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A08", "C07")

PDF = """%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>"""
WHOLE = pytest.mark.whole("the shell has no viewer")


def pdf(site: PageServer) -> str:
    return site.inline(PDF, type="application/pdf")


@WHOLE
async def test_it_is_told_with_what_helps(agent: Agent, site: PageServer) -> None:
    told = await agent.call("navigate", url=pdf(site))
    assert "a PDF in Chrome's viewer, whose text cannot be read here: screenshot shows it" in told["note"]
    assert (await agent.ask("screenshot")).images
    assert f'evaluate_js("{DOWNLOAD}") downloads it' in told["note"]
    await agent.call("evaluate_js", expression=DOWNLOAD)
    saved = Path((await agent.call("wait_for_download"))["path"])
    assert saved.read_text() == PDF
    for text in (await look(agent), await agent.text("get_page_text")):
        assert "(a PDF in Chrome's viewer, " in text
        assert "hidden" not in text
    log = (await agent.call("get_network_log", limit=500))["requests"]
    assert [one["url"] for one in log if not one["url"].startswith("http")] == []


@WHOLE
async def test_a_click_that_leads_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<a href='{pdf(site)}'>Paper</a>"))
    assert ": a PDF in Chrome's viewer, " in await agent.text("click", target="text=Paper")
    await agent.call("navigate", url=site.url("small.html"))
    assert "PDF" not in await look(agent)


@WHOLE
async def test_one_in_a_frame(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1><iframe src='{pdf(site)}'></iframe>"))
    seen = await look(agent)
    assert 'heading "Top"' in seen
    assert "  (a PDF in Chrome's viewer, whose text cannot be read here: screenshot shows it)" in seen


@WHOLE
@pytest.mark.parametrize("holder", ["<object data='{}'></object>", "<embed src='{}'>"], ids=["object", "embed"])
async def test_one_in_an_object_or_embed(agent: Agent, site: PageServer, holder: str) -> None:
    await agent.call("navigate", url=site.inline(holder.format(pdf(site).replace("'", "%27"))))
    assert re.search(r"^(object|embed) <\d+x\d+>$", await look(agent), re.M)


async def test_the_shell_downloads_it(agent: Agent, site: PageServer) -> None:
    assert "is a download" in (await agent.call("navigate", url=pdf(site)))["note"]
    await agent.call("wait_for_download")
