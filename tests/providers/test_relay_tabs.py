"""F02, F03: what the relay and a seat keep of shared tabs. The browser is a wire here that does as it is told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser.session import AS_IT_IS, Options, Session
from pilothouse.browser.shared import Shared, SharedBrowser
from pilothouse.browser.terms import Terms
from pilothouse.errors import Failure
from pilothouse.providers import frames, link
from pilothouse.providers.link import Link, Links
from pilothouse.providers.relay import Relay
from tests.promises import promise

pytestmark = promise("F02", "F03")

INSTALL = "11111111-2222-3333-4444-555555555555"
OURS = {"tabId": 1, "targetId": "T1", "ours": True, "url": "about:blank"}
THEIRS = {"tabId": 2, "targetId": "T2", "url": "about:blank"}


class Yes:
    def __init__(self, to: Link) -> None:
        self.sent: list[str] = []
        self._link = to

    def send(self, frame: bytes) -> None:
        asked = json.loads(frame)
        self.sent.append(asked["type"])
        self._say({"type": "response", "id": asked["id"], "data": {}})
        if asked["type"] == "close":
            self._say({"type": "unshared", "tabId": asked["payload"]["tabId"], "payload": {"why": "closed"}})

    def _say(self, frame: dict[str, Any]) -> None:
        told = frames.read(json.dumps(frame).encode())
        asyncio.get_running_loop().call_soon(lambda: self._link.take(told, self))

    def close(self, code: int, reason: str) -> None:
        pass


def came(
    to: Link,
    *tabs: dict[str, Any],
    share: str = "all",
    attached: tuple[dict[str, Any], ...] = (),
    wire: type[Yes] = Yes,
) -> Yes:
    told = {"version": "0.1.0", "install": INSTALL, "boot": "b", "share": share, "tabs": tabs, "attached": attached}
    on = wire(to)
    to.arrive(frames.hello(json.dumps(told).encode()), on)
    return on


def shared_by(links: Links) -> Shared:
    return Shared(lambda name: links.find(name).name, lambda name: Relay(links.find(name)))


async def test_tabs_that_agents_opened_stay_theirs_when_the_browser_was_gone() -> None:
    links = Links()
    wire = came(links.of("work", INSTALL), THEIRS, OURS)
    seat = await shared_by(links).take("work")
    first = seat.foremost()
    assert first
    assert first.target_id == "T1"  # with all tabs shared, only one of ours is begun with
    assert "open" not in wire.sent
    await seat.close()
    assert wire.sent.count("close") == 1  # and ours alone is closed


async def test_a_session_that_moves_in_again_is_told_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "RETURN_S", 0.01)
    links = Links()
    one = links.of("work", INSTALL)
    wire, shared = came(one, OURS), shared_by(links)
    options = Options(browser="extension", profile="work", viewport=AS_IT_IS)
    session = Session("s1", ("a", "b"), options, folder=tmp_path, terms=Terms(), take=lambda: shared.take("work"))
    await session.open()
    gone = asyncio.Event()
    one.on_state(lambda state: gone.set() if state == "gone" else None)
    one.leave(wire, "it broke")
    await asyncio.wait_for(gone.wait(), 5)
    came(one, OURS)
    told: list[str] = []
    session.watch.subscribe(lambda event: told.append(event.text) if event.kind == "browser" else None)
    await session.open()
    assert [("longer than 10 s" in text, "cookies" in text) for text in told] == [(True, False)]
    await session.close()


async def test_names_of_tabs_that_are_shared_no_more_are_forgotten() -> None:
    one = Links().of("work", INSTALL)
    wire = came(one, THEIRS)
    relay = Relay(one)
    relay.targets[2] = "T2"
    one.take(frames.read(b'{"type":"unshared","tabId":2}'), wire)
    assert relay.targets == {}


async def test_what_a_daemon_before_us_held_is_let_go_of_first() -> None:
    """Its session would tell nothing of what is there."""
    one = Links().of("work", INSTALL)
    wire = came(one, THEIRS, attached=({"tabId": 2, "targetId": "T2"},))
    assert wire.sent == []
    going = one.let_go(2)
    assert going
    relay = Relay(one)
    woken = asyncio.ensure_future(relay._brought(one.tabs[2]))  # pyright: ignore[reportPrivateUsage]
    await asyncio.wait_for(woken, 5)
    assert wire.sent[:3] == ["cdp", "detach", "attach"]
    assert one.let_go(2) is None


async def test_a_tab_that_slept_when_the_connection_broke_is_let_go_of_too() -> None:
    """The word to let go of it may have been lost."""
    one = Links().of("work", INSTALL)
    old = came(one, THEIRS)
    relay = Relay(one)
    held = await relay.bring(one.tabs[2])
    relay.sleep(held.session)
    one.leave(old, "it broke")
    wire = came(one, THEIRS, attached=({"tabId": 2, "targetId": "T2"},))
    assert one.let_go(2)
    assert "attach" not in wire.sent


async def test_a_fresh_daemon_waits_a_moment_for_browsers_that_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    links = Links()
    links.expect({"work": 8777, "home": 0}, 8777)
    waiting = asyncio.ensure_future(links.arrivals("work"))
    for_all = asyncio.ensure_future(links.arrivals())
    await asyncio.sleep(0)
    assert not waiting.done()
    came(links.of("work", INSTALL), THEIRS)
    await asyncio.wait_for(waiting, 1)
    assert not for_all.done()
    await asyncio.wait_for(links.arrivals("stranger"), 1)
    came(links.of("home", INSTALL.replace("1", "2")), THEIRS)
    await asyncio.wait_for(for_all, 1)
    monkeypatch.setattr(link, "ARRIVAL_S", 0.05)
    late = Links()
    late.expect({"work": 8777, "far": 9000}, 8777)
    await asyncio.wait_for(late.arrivals(), 2)
    with pytest.raises(Failure) as caught:
        late.find()
    assert caught.value.suggestions[0].startswith("far looks for Pilothouse at port 9000, and Pilothouse is at 8777")
    assert "try again" in caught.value.suggestions[1]
    came(late.of("work", INSTALL), THEIRS)
    late.forget("work", INSTALL)
    with pytest.raises(Failure) as caught:
        late.find("work")
    assert not [one for one in caught.value.suggestions if "try again" in one], "it had found us"
    with pytest.raises(Failure) as caught:
        Links().find()
    assert "open Chrome" in caught.value.suggestions[0]


class Old(Yes):
    """A browser that keeps no bodies for us when the page has gone on."""

    def send(self, frame: bytes) -> None:
        asked = json.loads(frame)
        method = asked["payload"].get("method")
        if method == "Network.configureDurableMessages":
            cdp = {"code": -32601, "message": f"'{method}' wasn't found"}
            self._say(
                {"type": "response", "id": asked["id"], "error": {"code": "cdp", "message": "refused", "cdp": cdp}}
            )
        elif method == "Page.getFrameTree":
            tree = {"frameTree": {"frame": {"id": "T2", "loaderId": "L", "url": "about:blank"}}}
            self._say({"type": "response", "id": asked["id"], "data": tree})
        elif method == "Runtime.evaluate":
            self._say({"type": "response", "id": asked["id"], "data": {"result": {"value": ""}}})
        else:
            self.sent.append(asked["type"])
            self._say({"type": "response", "id": asked["id"], "data": {}})


async def test_whether_the_browser_keeps_bodies_is_known_when_the_tab_wakes() -> None:
    """To be told of it is no reason to wake."""
    links = Links()
    wire = came(links.of("work", INSTALL), THEIRS, share="tab", wire=Old)
    seat = await shared_by(links).take("work")
    (tab,) = seat.tabs
    await tab.prepared()
    assert (tab.network.durable, "attach" in wire.sent) == (True, False)
    await seat.wake(tab)
    await tab.channel.send("Page.enable")  # the answers come in order
    assert (tab.network.durable, "attach" in wire.sent) == (False, True)
    await seat.close()


async def test_a_tab_of_the_persons_that_is_one_too_many_is_let_go_of() -> None:
    links = Links()
    wire = came(links.of("work", INSTALL), THEIRS, OURS)
    seat = await shared_by(links).take("work")
    theirs, ours = (next(one for one in seat.tabs if one.target_id == name) for name in ("T2", "T1"))
    assert (seat.is_persons(theirs), seat.is_persons(ours)) == (True, False)
    await seat.turn_away(theirs)
    assert theirs.closed
    assert "close" not in wire.sent
    await seat.close()


async def test_the_reason_of_an_unshared_tab_is_told_and_nothing_else_matters() -> None:
    one = Links().of("work", INSTALL)
    wire = came(one, THEIRS)
    relay = Relay(one)
    told: list[dict[str, Any]] = []
    relay.start(lambda frame: told.append(json.loads(frame)), lambda reason: None)
    for payload, expected in (({"why": "ungrouped"}, "ungrouped"), ({"why": 5}, "5"), ([1], None)):
        one.take(frames.read(json.dumps({"type": "shared", "tabId": 2, "payload": THEIRS}).encode()), wire)
        relay.announce(one.tabs[2])
        one.take(frames.read(json.dumps({"type": "unshared", "tabId": 2, "payload": payload}).encode()), wire)
        assert (told[-1]["method"], told[-1]["params"].get("why")) == ("Target.detachedFromTarget", expected)


async def test_rules_that_fail_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Links().of("work", INSTALL)
    wire = came(one, OURS)
    browser = SharedBrowser(Relay(one))

    async def fail() -> None:
        raise KeyError("mine")

    monkeypatch.setattr(browser, "rule", fail)
    one.leave(wire, "it broke")
    assert browser.absence()
    came(one, OURS)
    await asyncio.wait_for(browser.present(), 5)
    assert browser.absence() is None
    await browser.connection.close()


async def test_a_tab_that_is_not_there_comes_with_a_next_step() -> None:
    one = Links().of("work", INSTALL)
    came(one, OURS)
    browser = SharedBrowser(Relay(one))
    with pytest.raises(Failure) as caught:
        await browser.root.send("Target.closeTarget", targetId="T9", timeout=5)
    assert (caught.value.code, bool(caught.value.suggestions)) == ("tab_closed", True)
    await browser.connection.close()
