"""What is left behind goes: idle sessions, files of closed ones, folders of browsers that nobody ended."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pilothouse.browser.folders import Folders
from pilothouse.browser.terms import Terms
from pilothouse.errors import Failure
from pilothouse.options import Browser
from pilothouse.providers.launch import Launcher
from tests.house import House
from tests.processes import ENGINE
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B08")

HOUR = 3600
ONE, TWO, THREE = ("s" + letter * 22 for letter in "abc")


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    one = House(tmp_path, chrome=ENGINE)
    yield one
    await one.close()


def aged(folder: Path, name: str, hours: float) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "file.txt").write_text("x")
    then = time.time() - hours * HOUR
    os.utime(made, (then, then))
    return made


async def test_folders_of_old_sessions_go_and_nothing_else(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    old, young, used = aged(sessions, ONE, 25), aged(sessions, TWO, 23), aged(sessions, THREE, 25)
    other = aged(sessions, "notes of a person", 1000)
    elsewhere = aged(tmp_path, "elsewhere", 1000)
    link = sessions / ("s" + "l" * 22)
    link.symlink_to(elsewhere)
    os.utime(link, (0, 0), follow_symlinks=False)
    folders = Folders(sessions, 24 * HOUR, lambda: {THREE})
    await until(lambda: not old.exists())
    folders.close()
    assert young.exists()
    assert used.exists()
    assert other.exists()
    assert link.is_symlink()
    assert (elsewhere / "file.txt").exists()


async def test_a_house_without_folders_is_swept_too(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "none", HOUR, set)
    folders.remove_old()
    folders.close()


async def test_files_outlive_their_session_from_its_close(own_house: House, site: PageServer) -> None:
    async with own_house.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        (session,) = own_house.sessions.of((agent.caller.key, agent.caller.connection))
        (session.folder / "kept.txt").write_text("x")
        os.utime(session.folder, (0, 0))
        own_house.sessions._folders.remove_old()
        assert session.folder.exists(), "it is in use"
        await agent.call("close_session")
        own_house.sessions._folders.remove_old()
        assert (session.folder / "kept.txt").exists(), "its time runs from its close"
        os.utime(session.folder, (0, 0))
        own_house.sessions._folders.remove_old()
        assert not session.folder.exists()


async def test_who_comes_back_to_an_idle_session_is_told(own_house: House) -> None:
    sessions = own_house.sessions
    agent = own_house.agent()
    opened = (await agent.call("open_session"))["session"]
    (session,) = sessions.of((agent.caller.key, agent.caller.connection))
    await sessions._sweep_out(session)
    with pytest.raises(Failure, match="nobody had used it for 10 minutes") as caught:
        await agent.call("list_tabs", session=opened)
    assert caught.value.code == "not_found"
    stranger = own_house.agent()
    with pytest.raises(Failure, match="there is no such session"):
        await stranger.call("list_tabs", session=opened)
    told = await agent.text("list_tabs")
    assert "the session before was closed: nobody had used it for 10 minutes" in told
    assert "session before" not in await agent.text("list_tabs")


async def test_a_full_house_says_when_to_come_back(own_house: House) -> None:
    sessions = own_house.sessions
    sessions._max_sessions = 2
    agent = own_house.agent()
    first = await agent.call("open_session")
    await agent.call("open_session")
    (oldest, _) = sessions.of((agent.caller.key, agent.caller.connection))
    oldest.used_at = asyncio.get_running_loop().time() - 500
    full = await agent.ask("open_session")
    assert full.data["error"]["code"] == "over_limit"
    assert 95 <= full.data["error"]["details"]["retry_after_s"] <= 100
    assert "try again in" in full.text
    await agent.call("close_session", session=first["session"])
    assert not (await agent.ask("open_session")).failed


async def test_tabs_over_the_limit_say_what_to_do(own_house: House) -> None:
    own_house.sessions.terms = Terms(max_tabs=1)
    async with own_house.agent() as agent:
        full = await agent.ask("new_tab")
        assert full.data["error"]["code"] == "over_limit"
        assert "close_tab" in full.text


def test_what_browsers_of_a_dead_daemon_left_is_removed(tmp_path: Path) -> None:
    dead, ours = tmp_path / "browsers" / "browser-4194300-ab", tmp_path / "browsers" / f"browser-{os.getpid()}-cd"
    for folder in (dead, ours):
        folder.mkdir(parents=True)
    Launcher(Browser(), tmp_path)._sweep()
    assert not dead.exists()
    assert ours.exists()
