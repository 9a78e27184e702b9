"""Files given to pages: bytes, or paths inside the declared directories only."""

import base64
from pathlib import Path

import pytest

from tests.browser.looking import fails
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
