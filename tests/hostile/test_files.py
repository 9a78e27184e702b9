"""The files of a session: together they take no more than they may, whoever writes them."""

import secrets
from pathlib import Path

import pytest

from pilothouse.browser import files
from pilothouse.browser.files import Folder
from pilothouse.errors import Failure
from tests.browser.looking import fails
from tests.hostile.conftest import QUOTA, kept, session_of, until
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B08")

LONG = "'x'.repeat(150_000)"


def test_what_does_not_fit_is_not_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 100)
    folder.keep("a", bytes(60))
    with pytest.raises(Failure) as caught:
        folder.keep("b", bytes(50), "deeper")
    assert caught.value.code == "over_limit"
    assert caught.value.suggestions
    assert kept(tmp_path) == 60
    assert folder.keep("b", bytes(40), "deeper") == tmp_path / "deeper" / "b"
    assert not folder.has_room(1)


def test_what_was_taken_away_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path, 100)
    path = folder.keep("a", bytes(90))
    path.unlink()
    folder.keep("b", bytes(70))
    with pytest.raises(Failure):
        folder.keep("c", bytes(50))  # the disk was asked a moment ago
    monkeypatch.setattr(files, "RECOUNT_S", 0.0)
    (tmp_path / "b").unlink()
    (tmp_path / "coming.crdownload").write_bytes(bytes(80))
    assert folder.has_room(80, {"coming"})  # these are counted once
    with pytest.raises(Failure):
        folder.keep("c", bytes(101))


def test_a_file_that_could_not_be_written_counts_nothing(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "none", 100)
    (tmp_path / "none").write_bytes(b"in the way")
    for _ in range(3):
        with pytest.raises(OSError):  # noqa: PT011
            folder.keep("a", bytes(60))
    assert folder.has_room(100)


async def test_every_tool_that_writes_counts(thrifty: Agent, site: PageServer) -> None:
    await thrifty.call("navigate", url=site.url("form.html"))
    for _ in range(2):
        await thrifty.call("evaluate_js", expression=LONG)
    session = session_of(thrifty)
    await fails(thrifty, "over_limit", "evaluate_js", expression=LONG)
    await thrifty.js(f"localStorage.much = {LONG}; return 0")
    await fails(thrifty, "over_limit", "get_storage")
    await thrifty.js("document.body.innerHTML = '<input type=file>'")
    one = {"name": "a.txt", "data": "eHh4" * 50_000}
    await fails(thrifty, "over_limit", "upload_file", target="input", files=[one])
    session.files.keep("rest", bytes(QUOTA - kept(session.folder) - 100))
    await fails(thrifty, "over_limit", "print_to_pdf")
    await fails(thrifty, "over_limit", "export_har")
    assert kept(session.folder) == QUOTA - 100


async def test_other_files_leave_no_room_for_downloads(thrifty: Agent, site: PageServer) -> None:
    await thrifty.call("navigate", url=site.url("download.html"))
    session = session_of(thrifty)
    session.files.keep("full", secrets.token_bytes(QUOTA))
    await thrifty.call("click", target="text=Report")
    await until(lambda: [one for one in session.context.downloads.all() if one.state != "inProgress"])
    await until(lambda: kept(session.folder) == QUOTA)


async def test_the_count_outlives_the_browser(thrifty: Agent, site: PageServer) -> None:
    await thrifty.call("navigate", url=site.url("form.html"))
    for _ in range(2):
        await thrifty.call("evaluate_js", expression=LONG)
    session = session_of(thrifty)
    before = session.context.browser
    before.root.post("Browser.crash")
    await until(lambda: not before.alive)
    await thrifty.call("navigate", url=site.url("form.html"))
    await fails(thrifty, "over_limit", "evaluate_js", expression=LONG)


async def test_a_download_that_was_whole_before_it_could_be_stopped_is_removed(
    thrifty: Agent, site: PageServer
) -> None:
    await thrifty.call("navigate", url=site.url("download.html"))
    session = session_of(thrifty)
    session.context._over_quota = _Any()
    await thrifty.call("click", target="text=Report")
    await until(lambda: [one for one in session.context.downloads.all() if one.state == "canceled"])
    assert kept(session.folder) == 0


class _Any(set[str]):
    """Every id is in it."""

    def __contains__(self, one: object) -> bool:
        return True
