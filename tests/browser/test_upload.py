"""Files given to pages: bytes, or paths inside the declared directories only."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser import files
from pilothouse.call import Call
from tests.browser.looking import fails
from tests.hostile.conftest import tab_of
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A22")


def given(name: str, text: str) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(text.encode()).decode()}


@pytest.fixture
def roots(house: House) -> Path:
    (root,) = house.sessions.terms.upload_roots
    root.mkdir(exist_ok=True)
    return root


async def out(agent: Agent, expected: str) -> None:
    await agent.call("wait_for", text=expected)


async def test_bytes(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("upload.html"))
    for _ in range(2):
        assert (
            await agent.text("upload_file", target="#one", files=[given("a note.txt", "hello")]) == 'chose "a note.txt"'
        )
    await out(agent, "a note.txt (5, text/plain): hello")


@promise("C07")
async def test_what_a_field_does_not_ask_for_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<input type=file id=f accept='image/*, .PDF' multiple>"))
    fitting = [given("a.png", "x"), given("b.pdf", "x"), given("of.no-kind-that-we-know", "x")]
    assert "note" not in await agent.call("upload_file", target="#f", files=fitting)
    told = await agent.text("upload_file", target="#f", files=[*fitting, given("x.txt", "x")])
    assert (
        told
        == 'chose "a.png", "b.pdf", "of.no-kind-that-we-know", "x.txt" (the field asks for "image/*, .pdf", and "x.txt" does not fit)'
    )
    assert await agent.js("f.files.length") == 4


@pytest.mark.parametrize("name", ["Résumé (1).txt", ".hidden", "no ending", "many.dots.tar.gz"])
async def test_a_file_keeps_its_name(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url("upload.html"))
    await agent.call("upload_file", target="#one", files=[given(name, "x")])
    await out(agent, f"{name} (1, ")


@pytest.mark.parametrize("name", ["../../evil.sh", "/etc/passwd", "..", "a/b.txt", "", "x\0y"])
async def test_a_name_never_leads_out_of_the_folder(agent: Agent, site: PageServer, house: House, name: str) -> None:
    await agent.call("navigate", url=site.url("upload.html"))
    await agent.call("upload_file", target="#one", files=[given(name, "x")])
    chosen = await agent.js("one.files[0].name")
    assert "/" not in chosen
    assert chosen not in ("", ".", "..")


async def test_several(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("upload.html"))
    files = [given("a.txt", "1"), given("b.txt", "22")]
    assert await agent.text("upload_file", target="text=Many files", files=files) == 'chose "a.txt", "b.txt"'
    await out(agent, "a.txt (1, text/plain): 1; b.txt (2, text/plain): 22")
    await fails(agent, "bad_request", "upload_file", target="#one", files=files)


async def test_a_chooser_that_a_button_opened(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("upload.html"))
    assert "upload_file" in await agent.text("click", target="text=Choose a file")
    await fails(agent, "bad_request", "upload_file", files=[given("a.txt", "1"), given("b.txt", "2")])
    await agent.call("upload_file", files=[given("c.txt", "chosen")])
    await out(agent, "c.txt (6, text/plain): chosen")
    await fails(agent, "not_found", "upload_file", files=[given("d.txt", "x")])


async def test_a_path_inside_the_roots(agent: Agent, site: PageServer, roots: Path) -> None:
    (roots / "inside.txt").write_text("from disk")
    await agent.call("navigate", url=site.url("upload.html"))
    await agent.call("upload_file", target="#one", paths=[str(roots / "inside.txt")])
    await out(agent, "inside.txt (9, text/plain): from disk")
    await fails(agent, "not_found", "upload_file", target="#one", paths=[str(roots / "missing.txt")])


async def test_paths_outside_are_denied(agent: Agent, site: PageServer, roots: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (roots / "link.txt").unlink(missing_ok=True)
    (roots / "link.txt").symlink_to(secret)
    await agent.call("navigate", url=site.url("upload.html"))
    for path in (str(secret), str(roots / "link.txt"), f"{roots}/../secret.txt", "/etc/passwd", "secret.txt", "\0"):
        await fails(agent, "denied", "upload_file", target="#one", paths=[path])
    assert await agent.js("one.files.length") == 0


async def test_what_cannot_be_uploaded(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("upload.html"))
    await fails(agent, "bad_request", "upload_file", target="#one")
    await fails(agent, "bad_request", "upload_file", target="#one", files=[{"name": "a", "data": "not base64!"}])
    await fails(agent, "not_actionable", "upload_file", target="h1", files=[given("a.txt", "x")])


@promise("D03", "D08")
async def test_a_chooser_is_judged_by_its_frame(agent: Agent, site: PageServer, say: Callable[[str], None]) -> None:
    inner = site.inline("<input id=f type=file name=passport>", other=True)
    await agent.call("navigate", url=site.inline(f"<h1>Outer</h1><iframe src='{inner}'></iframe>"))
    await agent.call("click", target="#f")
    say('[[rules]]\nhost = "localhost"\nwrite = false\n')
    refused = await fails(agent, "denied", "upload_file", files=[given("a.txt", "1")])
    assert "localhost" in refused.message
    say('[[rules]]\nhost = "localhost"\napproval = true\n')
    answer = await agent.gate.call(Call("upload_file", {"files": [given("a.txt", "1")]}, agent.caller, patience_s=0))
    assert answer.data["error"]["code"] == "approval_pending"
    (asked,) = [one for one in agent.gate.approvals.pending() if one["session"] in agent.gate.session_ids(agent.caller)]
    assert "passport" in str(asked["aims"])


@promise("D08")
async def test_another_chooser_than_was_judged_gets_nothing(
    agent: Agent, site: PageServer, roots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.inline("<input id=one type=file><input id=two type=file>"))
    await agent.call("click", target="#two")
    tab = tab_of(agent)
    second, allowed = tab.file_chooser, files.allowed
    await agent.call("click", target="#one")
    (roots / "mine.txt").write_text("1")

    def meanwhile(*args: Any) -> Path:
        tab.file_chooser = second
        return allowed(*args)

    monkeypatch.setattr(files, "allowed", meanwhile)
    refused = await fails(agent, "not_actionable", "upload_file", paths=[str(roots / "mine.txt")])
    assert refused.details["reason"] == "changed"
    assert await agent.js("one.files.length + two.files.length") == 0


async def test_a_field_outside_the_page_opens_a_chooser(agent: Agent, site: PageServer) -> None:
    page = """<button onclick="f = document.createElement('input'); f.type = 'file'; f.click()">Attach</button>"""
    await agent.call("navigate", url=site.inline(page))
    await agent.call("click", target="button")
    await agent.call("upload_file", files=[given("a.txt", "1")])
    assert await agent.js("f.files[0].name") == "a.txt"
