"""Downloads as tools: listed, waited for, under a plain name of their own, told once."""

from pathlib import Path

import pytest

from pilothouse.browser import files
from pilothouse.browser.watch import Watch
from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A19", "C01")


async def fetched(agent: Agent, site: PageServer, name: str) -> dict[str, str]:
    """What comes of a download that the page calls by this name. A person's own Chrome asks before a site begins a second
    one by itself, and takes no more from there, also for a click: hence a site that no other test downloads from."""
    await agent.call("navigate", url=site.url("download.html", other=True))
    link = "const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob(['content']));"
    await agent.call("evaluate_js", expression=f"{link} a.download = args[0]; a.click(); return 0", args=[name])
    return await agent.call("wait_for_download")


async def test_waiting_and_listing(agent: Agent, site: PageServer) -> None:
    assert (await agent.call("list_downloads"))["total"] == 0
    await agent.call("navigate", url=site.url("download.html"))
    await agent.call("click", target="text=Report")
    one = await agent.call("wait_for_download")
    assert (one["name"], one["state"], one["bytes"]) == ("report.bin", "completed", 5000)
    path = Path(one["path"])
    assert path.name == "report.bin"
    assert path.read_bytes() == (b"pilothouse " * 455)[:5000]
    (listed,) = (await agent.call("list_downloads"))["downloads"]
    assert listed["path"] == one["path"]
    assert "report.bin" in await agent.text("list_downloads")


async def test_each_one_is_answered_once(agent: Agent, site: PageServer) -> None:
    first, second = await fetched(agent, site, "a.txt"), await fetched(agent, site, "a.txt")
    assert [Path(one["path"]).name for one in (first, second)] == ["a.txt", "a-2.txt"]
    failure = await fails(agent, "timeout", "wait_for_download", timeout_ms=100)
    assert "start one first" in failure.suggestions[0]


async def test_what_older_actions_brought_is_not_waited_for(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    (session,) = agent.gate.own(agent.caller).all()
    downloads = session.context.downloads
    for count, target in enumerate(("text=Made in the page", "text=Note"), 1):
        await agent.call("click", target=target)
        assert await downloads.signal.until(lambda: [one.state for one in downloads.all()] == ["completed"] * count, 20)  # noqa: B023
    await agent.call("click", target="text=Report")
    assert (await agent.call("wait_for_download"))["name"] == "report.bin"
    await agent.call("click", target="h1")
    await fails(agent, "timeout", "wait_for_download", timeout_ms=100)


async def test_an_older_one_that_is_under_way_may_still_end(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    await agent.call("click", target="text=Endless")
    await agent.call("click", target="h1")
    failure = await fails(agent, "timeout", "wait_for_download", timeout_ms=100)
    assert "1 under way" in failure.message
    await agent.call("click", target="text=Note")
    assert (await agent.call("wait_for_download"))["name"] == "note.txt"


async def test_one_that_does_not_end(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    await agent.call("click", target="text=Endless")
    failure = await fails(agent, "timeout", "wait_for_download", timeout_ms=300)
    assert "1 under way" in failure.message
    assert failure.details["downloads"][0]["name"] == "bomb.bin"


@pytest.mark.parametrize(
    "name",
    [
        "../../x.sh",
        "CON",
        "nul.txt",
        "",
        "a" * 300 + ".pdf",
        "ü" * 300,
        "in\u202evoice\u200b.txt.exe",
        "...bashrc",
        "a\nb.txt",
    ],
)
async def test_hostile_names(agent: Agent, site: PageServer, name: str) -> None:
    one = await fetched(agent, site, name)
    path = Path(one["path"])
    (session,) = agent.gate.own(agent.caller).all()
    assert path.parent == session.folder
    assert path.read_text() == "content"
    assert path.name == files.visible(path.name)
    assert len(path.name.encode()) <= 190


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("report.pdf", "report.pdf"),
        ("../../x", "x"),
        ("..\\..\\x.exe", "x.exe"),
        ("C:\\Users\\x.txt", "x.txt"),
        ("CON", "_CON"),
        ("con.tar.gz", "_con.tar.gz"),
        ("com1.txt", "_com1.txt"),
        ("content.txt", "content.txt"),
        ("", "file"),
        ("...", "file"),
        (" . ", "file"),
        ("/", "file"),
        (".bashrc", "bashrc"),
        ("a" * 300 + ".pdf", "a" * 150 + ".pdf"),
        ("字" * 300 + ".pdf", "字" * 50 + ".pdf"),
        ("a." + "b" * 300, "a." + "b" * 148),
        ("in\u202etxt.exe", "intxt.exe"),
        ("a\x00b\tc\x1b[31m.txt", "ab c.txt"),
        ("a:b|c?.txt", "a_b_c_.txt"),
        ("\ud800.txt", "\ufffd.txt"),
        ("trailing. . ", "trailing"),
        ("_.._evil.sh", "_._evil.sh"),
    ],
)
def test_visible_names(name: str, plain: str) -> None:
    assert files.visible(name) == plain
    assert files.visible(plain) == plain


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    for content in (b"1", b"2", b"3"):
        (tmp_path / "random").write_bytes(content)
        files.name_again(tmp_path / "random", "a.txt")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {
        "a.txt": b"1",
        "a-2.txt": b"2",
        "a-3.txt": b"3",
    }


def test_what_goes_on_is_told_once() -> None:
    watch = Watch("s1")
    watch.add("download", "t1", "started", "guid")
    watch.add("download", "t1", "completed", "guid")
    assert [one.text for one in watch.unseen()] == ["completed"]
    watch.add("download", "t1", "started", "slow")
    assert [one.text for one in watch.unseen()] == ["started"]
    watch.add("download", "t1", "completed", "slow")
    assert [one.text for one in watch.unseen()] == ["completed"]
    assert [one.text for one in watch.recent()] == ["completed", "started", "completed"]


def test_what_a_result_tells_of_is_no_news_beside_it() -> None:
    watch = Watch("s1")
    watch.add("download", "t1", "one", "guid-1")
    watch.add("download", "t1", "two", "guid-2")
    watch.tell("guid-1")
    watch.tell("nobody")
    assert [one.text for one in watch.unseen()] == ["two"]
    watch.tell("guid-2")  # told already
    watch.add("download", "t1", "one again", "guid-1")
    assert [one.text for one in watch.unseen()] == ["one again"]


async def test_a_download_is_told_once(agent: Agent, site: PageServer) -> None:
    link = "<a href='data:text/plain,hi' download='a.txt'>Get</a>"
    await agent.call("navigate", url=site.inline(link))
    await agent.call("click", target="text=Get")
    waited = await agent.text("wait_for_download")
    assert waited.count("completed (2 bytes)") == 1
    await agent.call("click", target="text=Get")
    (session,) = agent.gate.own(agent.caller).all()
    downloads = session.context.downloads
    assert await downloads.signal.until(lambda: [one.state for one in downloads.all()] == ["completed"] * 2, 20)
    listed = await agent.ask("list_downloads")
    assert listed.text.count("a-2.txt") <= 1
    assert "download:" not in listed.text
    assert "events" not in listed.data


async def test_a_quick_download_is_told_by_its_end_only(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("download.html"))
    (session,) = agent.gate.own(agent.caller).all()
    link = "const a = document.createElement('a'); a.href = 'data:,hi'; a.download = 'hi.txt'; a.click(); return 0"
    task = agent.ask("evaluate_js", expression=f"{link}")
    said = (await task).text
    await session.context.downloads.signal.until(
        lambda: [one for one in session.context.downloads.all() if one.state == "completed"], 5
    )
    said += "\n" + await agent.text("list_tabs")
    assert said.count("completed") == 1
    assert said.index("completed") > said.find("started")
