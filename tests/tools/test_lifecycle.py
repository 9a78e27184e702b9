"""Browsers of profiles: launched once, shared by sessions, ended cleanly, and back with their cookies."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pilothouse.call import Caller, Defaults
from pilothouse.errors import Failure
from pilothouse.providers.occupied import user_of
from pilothouse.tool import Access
from tests.browser.looking import ref
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("B03", "B01")

SEEN = "[navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, innerWidth, new Date(0).getHours()]"


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    one = House(tmp_path)
    yield one
    await one.close()


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def refused(agent: Agent, tool: str, **args: object) -> Failure:
    with pytest.raises(Failure) as caught:
        await agent.call(tool, **args)
    return caught.value


def restore_tabs(data_dir: Path) -> None:
    """As a person would set it: continue where you left off."""
    file = data_dir / "Default" / "Preferences"
    tree = json.loads(file.read_text())
    tree.setdefault("session", {})["restore_on_startup"] = 1
    file.write_text(json.dumps(tree))


@promise("A11")
async def test_a_ref_of_a_browser_that_ended_presses_nothing_in_the_next(own_house: House, site: PageServer) -> None:
    agent = own_house.agent()
    await agent.call("navigate", url=site.inline("<button>One</button><button>Two</button>"))
    two = await ref(agent, '"Two"')
    (session,) = own_house.gate.own(agent.caller).all()
    browser = session.context.browser
    await browser.root.send("Browser.close")
    await until(lambda: not browser.alive)
    page = "<button>Keep</button><button onclick='gone = 1'>Delete all</button>"
    await agent.call("navigate", url=site.inline(page))
    assert await ref(agent, '"Delete all"') != two
    assert (await refused(agent, "click", target=two)).code == "stale_ref"
    assert await agent.js("typeof gone") == "undefined"


@promise("B02", "B09")
async def test_the_life_of_a_profile_browser(own_house: House, site: PageServer, tmp_path: Path) -> None:
    one, two = own_house.agent(), own_house.agent()
    profile = {"lang": "de-DE", "timezone": "Asia/Tokyo", "viewport": {"width": 900, "height": 700}}
    await one.call("create_profile", name="Work", **profile)
    data_dir = tmp_path / "profiles" / "work"
    data_dir.mkdir(parents=True)
    (data_dir / "SingletonLock").symlink_to(f"{socket.gethostname()}-4194303")  # left by one that was killed

    launched = await one.call("launch_browser", profile="Work")
    assert launched["headless"] is True
    await one.call("navigate", url=site.url("popup.html"))
    assert await one.js(SEEN) == ["de-DE", "Asia/Tokyo", 900, 9]
    await one.js("document.cookie = 'kept=yes; max-age=1000'; localStorage.kept = 'too'")

    # The second caller has a session of its own on the same browser.
    joined = await two.call("launch_browser", profile="work")
    assert joined["pid"] == launched["pid"]
    assert joined["session"] != launched["session"]
    assert (await one.call("launch_browser", profile="work"))["session"] == launched["session"]
    await two.call("navigate", url=site.url("small.html"), session="work")
    assert await two.js("document.cookie") == "kept=yes"
    assert len((await one.call("list_tabs"))["tabs"]) == 1
    await one.call("click", target="text=New tab without opener")
    await one.call("wait_for_new_tab")
    assert len((await one.call("list_tabs"))["tabs"]) == 2
    assert len((await two.call("list_tabs"))["tabs"]) == 1

    # What it is cannot be changed while it runs, nor can another Pilothouse have it.
    assert (await refused(one, "delete_profile", profile="work")).code == "in_use"
    assert "next launch" in await one.text("update_profile", profile="work", tags=["x"])
    failure = await refused(two, "open_session", profile="work", headless=False, allowed_domains=["a.test"])
    assert (failure.code, "headless, allowed_domains" in failure.message) == ("in_use", True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.toml").write_text(f'[[profiles]]\nid = "mine"\nuser_data_dir = "{data_dir}"\n')
    elsewhere = House(tmp_path / "other")
    failure = await refused(elsewhere.agent(), "launch_browser", profile="mine")
    await elsewhere.close()
    assert failure.code == "in_use"
    assert f"in use by pid {launched['pid']}" in failure.message

    (running,) = (await two.call("get_running_browsers"))["browsers"]
    assert {key: running[key] for key in ("browser", "profile", "pid", "sessions", "tabs")} == {
        "browser": "profile", "profile": "work", "pid": launched["pid"], "sessions": 2, "tabs": 3,
    }  # fmt: skip
    assert "profile work 1 tab," in await two.text("list_sessions")

    # Its end: everybody is told, and nobody starts it again by accident.
    pending = asyncio.ensure_future(two.ask("wait_for", text="never there", timeout_ms=20_000))
    await until(lambda: two.gate.own(two.caller).all()[0].busy)
    assert (await one.call("kill_browser", profile="work"))["sessions_closed"] == 2
    assert (await asyncio.wait_for(pending, 5)).data["error"]["code"] == "browser_gone"
    failure = await refused(two, "get_page_state", session=joined["session"])
    assert (failure.code, "kill_browser" in failure.message) == ("not_found", True)
    failure = await refused(two, "get_page_state", session="work")
    assert failure.suggestions == ["launch_browser starts it: profile=work"]
    assert (await refused(two, "kill_browser", profile="work")).code == "not_found"
    assert user_of(data_dir) == ""

    # Its return: cookies and storage are there, and so are the tabs if the person wants that.
    restore_tabs(data_dir)
    again = await one.call("launch_browser", profile="work")
    await until(lambda: len(one.gate.own(one.caller).all()[0].tabs) == 4)
    await one.call("navigate", url=site.url("small.html"))
    assert await one.js("[document.cookie, localStorage.kept]") == ["kept=yes", "too"]

    # A crash: the session is told and goes on in a new one.
    os.killpg(again["pid"], signal.SIGKILL)
    await until(lambda: own_house.browsers.find("work") is None)
    answer = await one.ask("navigate", url=site.url("small.html"))
    assert "the browser ended and was started anew: its tabs are gone" in answer.text
    assert await one.js("document.cookie") == "kept=yes"
    assert own_house.browsers.find("work")

    # Without sessions it stays, until it was unused for too long.
    await one.call("close_session")
    await own_house.browsers.close_idle(600)
    assert own_house.browsers.find("work")
    await own_house.browsers.close_idle(0)
    assert (await one.call("get_running_browsers"))["browsers"] == []
    deleting = asyncio.ensure_future(one.call("delete_profile", profile="work", data=True))
    await until(lambda: own_house.approvals.pending())  # what cannot be had back is asked about
    await own_house.approvals.answer(own_house.approvals.pending()[0]["id"], "allow")
    await deleting
    assert not data_dir.exists()
    assert list((tmp_path / "browsers").glob("*work*")) == []


@promise("B06", "A19")
async def test_a_door_that_was_started_with_a_profile(own_house: House, site: PageServer) -> None:
    own_house.profiles.add({"name": "door"})
    defaults = Defaults(browser="profile", profile="door")
    one, two = (Agent(own_house.gate, Caller("default", name, "mcp", defaults)) for name in ("a", "b"))
    started = (one.ask("navigate", url=site.url("download.html")), two.ask("navigate", url=site.url("small.html")))
    assert all("session: s" in answer.text for answer in await asyncio.gather(*started))
    running = own_house.browsers.find("door")
    assert running
    assert len(running.browser.seats) == 2

    # Downloads of two sessions come to their own folders.
    await one.call("click", target="text=Report")
    (session,) = one.gate.own(one.caller).all()
    await until(lambda: any("completed" in event.text for event in session.watch.recent()))
    (file,) = [path for path in session.folder.iterdir() if path.is_file()]
    assert file.stat().st_size == 5000

    # A page that does not want to be left keeps nobody.
    await two.call("navigate", url=site.inline("<input id=x><script>onbeforeunload = e => e.preventDefault()</script>"))
    await two.call("type_text", target="#x", text="unsaved")
    await two.call("close_session")
    assert len(running.browser.seats) == 1
    targets = await running.browser.root.send("Target.getTargets")
    assert sum(one["type"] == "page" for one in targets["targetInfos"]) == 1

    # A name that is no profile's, by the door's flag.
    lost = Agent(own_house.gate, Caller("default", "c", "mcp", Defaults(browser="profile", profile="nobody")))
    failure = await refused(lost, "get_page_state")
    assert (failure.code, failure.suggestions) == ("not_found", ["profiles: door"])


async def test_the_shared_browser_is_listed_too(house: House, agent: Agent) -> None:
    await agent.call("navigate", url="about:blank")
    (shared,) = [one for one in (await agent.call("get_running_browsers"))["browsers"] if one["browser"] == "isolated"]
    assert shared["sessions"] >= 1
    assert shared["pid"] == getattr(house.pool._chrome, "pid")  # noqa: B009


@promise("B06")
async def test_first_calls_side_by_side_share_one_session(own_house: House) -> None:
    own_house.profiles.add({"name": "door"})
    door = Agent(own_house.gate, Caller("default", "a", "mcp", Defaults(browser="profile", profile="door")))
    answers = await asyncio.gather(*(door.ask("list_tabs") for _ in range(3)))
    assert [answer.failed for answer in answers] == [False] * 3
    assert len(door.gate.own(door.caller).all()) == 1
    by_name = Agent(own_house.gate, Caller("default", "b", "rest"))
    answers = await asyncio.gather(*(by_name.ask("list_tabs", session="door") for _ in range(3)))
    assert [answer.failed for answer in answers] == [False] * 3
    assert len(by_name.gate.own(by_name.caller).all()) == 1


@promise("B11")
async def test_launching_again_after_a_crash_goes_on_in_the_same_session(own_house: House) -> None:
    agent = own_house.agent()
    own_house.profiles.add({"name": "work"})
    first = await agent.call("launch_browser", profile="work")
    failure = await refused(agent, "launch_browser", profile="work", headless=False)
    assert (failure.code, "another headless" in failure.message) == ("in_use", True)
    os.killpg(first["pid"], signal.SIGKILL)
    await until(lambda: own_house.browsers.find("work") is None)
    again = await agent.call("launch_browser", profile="work")
    assert (again["session"], again["pid"] != first["pid"]) == (first["session"], True)
    assert len((await agent.call("list_sessions"))["sessions"]) == 1
    assert (await agent.call("list_tabs", session="work"))["tabs"]

    # Asked to be otherwise than it was, it is a new session.
    os.killpg(again["pid"], signal.SIGKILL)
    await until(lambda: own_house.browsers.find("work") is None)
    other = await agent.call("launch_browser", profile="work", headless=True)
    assert other["session"] != again["session"]
    assert len((await agent.call("list_sessions"))["sessions"]) == 1


@promise("B11")
async def test_an_end_that_is_given_up_goes_on(own_house: House, tmp_path: Path) -> None:
    agent = own_house.agent()
    own_house.profiles.add({"name": "work"})
    await agent.call("launch_browser", profile="work")
    (session,) = agent.gate.own(agent.caller).all()
    killing = asyncio.create_task(agent.ask("kill_browser", profile="work"))
    await until(lambda: session.closed)
    killing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await killing
    await until(lambda: not agent.gate.own(agent.caller).all())
    assert list((tmp_path / "browsers").glob("files-*")) == []
    failure = await refused(agent, "list_tabs", session=session.id)
    assert "kill_browser" in failure.message
    assert (await agent.call("launch_browser", profile="work"))["session"] != session.id


def test_ending_what_others_work_in_is_a_sensitive_act(own_house: House) -> None:
    assert own_house.gate.registry.find("kill_browser").access is Access.SENSITIVE
