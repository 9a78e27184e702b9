"""The page as a PDF file of the session."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from pilothouse.cdp.connection import Channel
from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A22", "C01")

THREE = "<style>p { break-after: page } body { background: red }</style><p>One<p>Two<p style='break-after: auto'>Three"


async def printed(agent: Agent, **options: Any) -> tuple[dict[str, Any], bytes]:
    done = await agent.call("print_to_pdf", **options)
    content = Path(done["path"]).read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(content) == done["bytes"]
    return done, content


def box(content: bytes) -> tuple[int, int]:
    found = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content)
    assert found
    return round(float(found[1])), round(float(found[2]))


async def test_a_file_with_its_pages(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(THREE))
    done, content = await printed(agent)
    assert done["pages"] == 3
    assert Path(done["path"]).name == "page.pdf"
    assert box(content) in {(595, 842), (596, 842)}
    assert Path((await printed(agent))[0]["path"]).name == "page-2.pdf"


async def test_options(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(THREE))
    done, content = await printed(agent, landscape=True, format="letter", pages="2-3", scale=0.5, margin=0)
    assert done["pages"] == 2
    assert box(content) == (792, 612)
    assert (await printed(agent, pageRanges="1"))[0]["pages"] == 1
    plain, bare = len((await printed(agent))[1]), len((await printed(agent, background=False))[1])
    assert plain != bare
    with_header = await printed(agent, header="<span style='font-size: 10px'>Head</span>")
    assert len(with_header[1]) > plain


@pytest.mark.parametrize(
    "wrong", [{"pages": "9-10"}, {"pages": "abc"}, {"margin": 9}, {"scale": 3}, {"format": "a99"}, {"margin": -1}]
)
async def test_what_cannot_be_printed(agent: Agent, site: PageServer, wrong: dict[str, Any]) -> None:
    await agent.call("navigate", url=site.inline(THREE))
    assert (await fails(agent, "bad_request", "print_to_pdf", **wrong)).suggestions
    (session,) = agent.gate.own(agent.caller).all()
    assert list(session.folder.glob("*.pdf")) == []


async def test_a_tab_behind_and_a_big_one(agent: Agent, site: PageServer) -> None:
    many = "<script>for (let n = 0; n < 150; n++) document.write(`<p style='break-after: page'>${n}`)</script>"
    await agent.call("navigate", url=site.inline(many))
    await agent.call("new_tab")
    done, _ = await printed(agent, tab="t1")
    assert done["pages"] in (150, 151)


async def test_while_a_dialog_is_open(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button onclick='alert(1)'>Go</button>"))
    await agent.call("click", target="text=Go")
    await fails(agent, "dialog_open", "print_to_pdf")


async def test_a_document_that_nobody_waits_for_is_thrown_away(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.inline(THREE))
    printing, closed = asyncio.Event(), asyncio.Event()
    send, post = Channel.send, Channel.post

    async def sent(channel: Channel, method: str, **params: Any) -> dict[str, Any]:
        if method == "Page.printToPDF":
            printing.set()
        return await send(channel, method, **params)

    def posted(channel: Channel, method: str, **params: Any) -> None:
        if method == "IO.close":
            closed.set()
        post(channel, method, **params)

    monkeypatch.setattr(Channel, "send", sent)
    monkeypatch.setattr(Channel, "post", posted)
    call = asyncio.ensure_future(agent.ask("print_to_pdf"))
    await asyncio.wait_for(printing.wait(), 10)
    call.cancel()
    await asyncio.wait([call])
    await asyncio.wait_for(closed.wait(), 10)
