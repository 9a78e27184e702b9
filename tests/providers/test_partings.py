"""F06, F03: whoever worked in the person's Chrome and was put out hears why, and is moved into no other browser."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.abodes import FILE, Abodes
from pilothouse.browser.partings import begun_anew
from pilothouse.browser.session import AS_IT_IS, Options
from pilothouse.browser.sessions import OwnSessions, Sessions
from pilothouse.browser.terms import Terms
from pilothouse.errors import Failure
from pilothouse.providers import frames
from pilothouse.providers.link import Link, Links
from tests.browser.test_sessions import FakePool
from tests.promises import promise
from tests.providers.test_relay_tabs import INSTALL, THEIRS, came, shared_by

pytestmark = promise("F06", "F03")

OWNER = ("key", "terminal-named-a")
THERE = Options(browser="extension", profile="work", viewport=AS_IT_IS, mode="ask")


class Desk:
    """Sessions of a caller whose default is a private browser."""

    def __init__(self, tmp_path: Path) -> None:
        self.links = Links()
        self.pool = FakePool()
        shared = shared_by(self.links)
        shared.is_open = self.links.is_open
        self.links.on_stopped(shared.stopped)
        self.links.on_forgotten(shared.forgotten)
        pools = {True: self.pool}
        self.sessions = Sessions(pools, tmp_path / "s", max_sessions=5, idle_s=600, terms=Terms(), shared=shared)  # type: ignore[arg-type]
        self.link: Link = self.links.of("work", INSTALL)
        self.own = OwnSessions(self.sessions, OWNER, Options())

    async def refused(self, session: str = "") -> Failure:
        with pytest.raises(Failure) as caught:
            await self.own.find(session)
        assert self.pool.contexts == []
        return caught.value


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    one = Desk(tmp_path)
    yield one
    await one.sessions.shut()


async def test_who_was_stopped_hears_it_until_it_is_allowed_again(desk: Desk) -> None:
    wire = came(desk.link, THEIRS, share="group")
    opened = await desk.own.open(THERE)
    desk.link.halt()
    for session in ("", "", opened.id, ""):
        said = await desk.refused(session)
        assert (said.code, said.message) == ("denied", "the person stopped everything in work")
        assert "popup" in said.suggestions[0]
    assert desk.own.all() == []
    desk.link.take(frames.read(b'{"type":"stopped"}'), wire)
    desk.link.take(frames.read(b'{"type":"allowed"}'), wire)
    desk.link.take(frames.read(json.dumps({"type": "shared", "tabId": 2, "payload": THEIRS}).encode()), wire)
    again, is_new = await desk.own.find("")
    assert (is_new, again.options) == (True, THERE)  # as narrow as it was
    assert [one.text for one in again.watch.recent() if "stopped everything" in one.text]
    assert (await desk.own.find(""))[0] is again
    assert (await desk.refused(opened.id)).code == "denied"


async def test_who_comes_after_it_was_allowed_again_goes_on_and_is_told(desk: Desk) -> None:
    wire = came(desk.link, THEIRS, share="group")
    opened = await desk.own.open(THERE)
    desk.link.halt()
    desk.link.take(frames.read(b'{"type":"stopped"}'), wire)
    desk.link.take(frames.read(b'{"type":"allowed"}'), wire)
    desk.link.take(frames.read(json.dumps({"type": "shared", "tabId": 2, "payload": THEIRS}).encode()), wire)
    again, is_new = await desk.own.find("")
    assert (is_new, again is opened, again.options) == (True, False, THERE)
    assert [one.text for one in again.watch.recent() if "stopped everything" in one.text]


async def test_a_call_that_had_found_its_session_hears_it_too(desk: Desk) -> None:
    came(desk.link, THEIRS, share="group")
    opened = await desk.own.open(THERE)
    desk.link.halt()
    with pytest.raises(Failure, match="stopped everything in work"):
        await opened.tab()


async def test_who_says_where_to_work_instead_works_there(desk: Desk) -> None:
    came(desk.link, THEIRS, share="group")
    await desk.own.open(THERE)
    desk.link.halt()
    elsewhere = await desk.own.open(Options())
    assert (await desk.own.find(""))[0] is elsewhere


async def test_a_forgotten_browser_is_told_as_such(desk: Desk) -> None:
    came(desk.link, THEIRS, share="group")
    opened = await desk.own.open(THERE)
    desk.links.forget("work", INSTALL)
    for session in ("", "", opened.id):
        said = await desk.refused(session)
        assert (said.code, said.message) == ("denied", "work was forgotten: it is not paired any more")


async def test_who_was_away_for_long_goes_on_where_they_were(desk: Desk) -> None:
    came(desk.link, THEIRS, share="group")
    session = await desk.own.open(THERE)
    await desk.sessions._sweep_out(session)  # pyright: ignore[reportPrivateUsage]
    again, _ = await desk.own.find("")
    assert again.options == THERE
    assert [one.text for one in again.watch.recent() if "nobody had used it for 10 minutes" in one.text]


async def test_nobody_is_sent_elsewhere_by_a_daemon_that_starts_anew(desk: Desk, tmp_path: Path) -> None:
    abodes = Abodes(tmp_path, lambda connection: False)
    assert await abodes.recall() == {}
    abodes.keep(OWNER, THERE)
    abodes.keep(("key", "local-1"), THERE)  # such a connection never comes back
    await asyncio.gather(*abodes._tasks)  # pyright: ignore[reportPrivateUsage]
    (kept,) = (await Abodes(tmp_path, lambda connection: False).recall()).items()
    assert kept == (OWNER, THERE)
    desk.sessions.partings.note(OWNER, begun_anew("work", THERE))
    assert (await desk.refused()).code in ("not_found", "browser_gone")  # Chrome is not there yet
    came(desk.link, THEIRS, share="group")
    again, _ = await desk.own.find("")
    assert again.options == THERE
    assert [one.text for one in again.watch.recent() if "started anew" in one.text]


async def test_what_is_kept_of_terminals_ends_with_them(tmp_path: Path) -> None:
    abodes = Abodes(tmp_path, lambda connection: False)
    abodes.keep(OWNER, THERE)
    abodes.keep(("key", "terminal-9.9"), THERE)
    abodes.keep(OWNER, None)
    while abodes._tasks:  # pyright: ignore[reportPrivateUsage]
        await asyncio.gather(*abodes._tasks)  # pyright: ignore[reportPrivateUsage]
    assert list(await Abodes(tmp_path, lambda connection: False).recall()) == [("key", "terminal-9.9")]
    assert await Abodes(tmp_path, lambda connection: True).recall() == {}
    (tmp_path / FILE).write_text("no json")
    assert await Abodes(tmp_path, lambda connection: False).recall() == {}


async def test_where_a_caller_works_is_told_as_it_changes(desk: Desk) -> None:
    told: list[Options | None] = []
    desk.sessions.on_abode = lambda owner, options: told.append(options)
    came(desk.link, THEIRS, share="group")
    session = await desk.own.open(THERE)
    await desk.own.close(session)
    await desk.own.open(THERE)
    desk.link.halt()  # a daemon that starts now must not send them elsewhere either
    assert told == [THERE, None, THERE]
