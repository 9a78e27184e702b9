"""Who may announce a tab, who sees it, what is kept of it, and when it goes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.cocoons import Cocoons
from pilothouse.errors import Failure
from pilothouse.guard.token import Signer
from pilothouse.hub import hub as hubs
from pilothouse.hub import rings, visitor, waiting
from pilothouse.hub.far import FarHub
from pilothouse.hub.hub import Hub
from pilothouse.hub.visitor import Visitor
from pilothouse.hub.words import (
    MAX_FRAME,
    ConsoleEntry,
    ConsoleFilters,
    Happened,
    Missed,
    NetworkEvent,
    NetworkFilters,
    NetworkRequest,
)
from pilothouse.options import Proxy
from tests.promises import promise

pytestmark = promise("G06", "G07")

SECRET = "a secret that is long enough for it"
EMPTY = NetworkFilters(status_min=500, status_max=400)
USERS = '[[users]]\nname = "ann"\n[[users]]\nname = "ben"\n'


class World:
    """A hub with two users and a cocoon of each."""

    def __init__(self, folder: Path) -> None:
        (folder / "config.toml").write_text(USERS)
        self.cocoons = Cocoons(folder / "config.toml", Proxy(), forbidden_ports=set())
        for cocoon, owner in (("shop", "ann"), ("blog", "ben")):
            self.cocoons.add({"id": cocoon, "target": "http://127.0.0.1:3000", "owner": owner})
        self.signer = Signer([SECRET])
        self.start()

    def start(self, **more: Any) -> None:
        self.hub = Hub(self.cocoons, self.signer, **more)

    def browser(self, user: str) -> "Browser":
        return Browser(self, user)

    def token(self, cocoon: str = "shop", path: str = "/a") -> str:
        made = self.signer.mint(cocoon, path)
        assert made
        return made


class Browser:
    def __init__(self, world: World, user: str) -> None:
        self.world = world
        self.heard: list[dict[str, Any]] = []
        self.visitor = Visitor(world.hub, user, self._hear)

    def _hear(self, message: Any) -> None:
        self.heard.append(msgspec.to_builtins(message))

    def say(self, kind: str, **fields: Any) -> dict[str, Any] | None:
        before = len(self.heard)
        self.visitor.take(json.dumps({"type": f"browser_debug_{kind}", **fields}).encode())
        return self.heard[-1] if len(self.heard) > before else None

    def announce(self, token: str, url: str = "http://shop.localhost:8081/a", **more: Any) -> dict[str, Any]:
        said = self.say("tab_available", token=token, url=url, **{"title": "A", "browser_id": "b1", **more})
        assert said
        return said

    def asks(self, token: str, number: int, event: str, **data: Any) -> None:
        happened = {"request_id": str(number), "timestamp": 1000 + number, **data}
        self.say("network_event", token=token, event=event, data=happened)

    def prints(self, token: str, at: int, message: str, level: str = "log", **more: Any) -> None:
        self.say("console_event", token=token, entry={"timestamp": at, "level": level, "message": message, **more})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "AWAY_S", 0.05)
    monkeypatch.setattr(visitor, "ASK_S", 0.1)


def offered(world: World, user: str = "ann") -> tuple[Browser, str, str]:
    """A browser, the token of its tab, and the handle that the user sees."""
    browser, token = world.browser(user), world.token("shop" if user == "ann" else "blog")
    assert browser.announce(token, f"http://{'shop' if user == 'ann' else 'blog'}.localhost:8081/a")["ticket"]
    return browser, token, world.hub.tabs(user)[0].token


async def requests(world: World, handle: str, user: str = "ann", **filters: Any) -> list[NetworkRequest]:
    return await world.hub.network(user, handle, NetworkFilters(**filters))


async def entries(world: World, handle: str, user: str = "ann", **filters: Any) -> list[ConsoleEntry]:
    return await world.hub.console(user, handle, ConsoleFilters(**filters))


async def test_an_announced_tab_is_listed_to_its_owner_only(world: World):
    _, token, handle = offered(world)
    (tab,) = world.hub.tabs("ann")
    assert (tab.url, tab.title, tab.browser_id) == ("http://shop.localhost:8081/a", "A", "b1")
    assert (tab.cocoon_id, tab.cocoon_name) == ("shop", "shop")
    assert token not in str(tab)
    assert world.hub.tabs("ben") == world.hub.tabs("local") == []
    for user, asked in (("ben", handle), ("ann", token), ("ann", "nothing")):
        with pytest.raises(Failure, match="no such tab") as caught:
            await requests(world, asked, user)
        assert caught.value.code == "not_found"


@pytest.mark.parametrize(
    ("user", "url"),
    [
        ("ben", "http://shop.localhost:8081/a"),
        ("local", "http://shop.localhost:8081/a"),
        ("ann", "http://shop.localhost:8081/b"),
        ("ann", "http://shop.localhost:8082/a"),
        ("ann", "https://shop.localhost:8081/a"),
        ("ann", "http://blog.localhost:8081/a"),
        ("ann", "http://shop.localhost:8081.evil.test/a"),
        ("ann", "http://evil.test\\@shop.localhost:8081/a"),
        ("ann", "nonsense"),
    ],
)
async def test_a_token_is_for_one_page_of_its_owner(world: World, user: str, url: str):
    browser, token = world.browser(user), world.token()
    assert browser.announce(token, url)["type"] == "browser_debug_tab_refused"
    assert not world.hub.tabs(user)
    # And it was not used up by that.
    assert world.browser("ann").announce(token)["type"] == "browser_debug_tab_accepted"


async def test_a_token_is_good_for_one_announcement(world: World):
    browser, token, _ = offered(world)
    for other in (world.browser("ann"), browser):
        assert other.announce(token)["error"]["code"] == "denied"
    browser.say("tab_closed", token=token)
    assert browser.announce(token)["error"]["code"] == "denied"
    assert not world.hub.tabs("ann")


async def test_a_forged_token_announces_nothing(world: World):
    forged = Signer(["another secret that is long enough"]).mint("shop", "/a")
    assert world.browser("ann").announce(forged or "")["error"]["code"] == "denied"


async def test_nobody_speaks_for_anothers_tab(world: World):
    _, token, handle = offered(world)
    for stranger in (world.browser("ben"), world.browser("ann")):
        stranger.asks(token, 1, "request", method="GET", url="http://x.test/")
        stranger.prints(token, 1, "hello")
        stranger.say("tab_updated", token=token, url="http://evil.test", title="evil")
        stranger.say("tab_closed", token=token)
    assert await requests(world, handle) == []
    assert await entries(world, handle) == []
    assert world.hub.tabs("ann")[0].title == "A"


async def test_events_become_requests(world: World):
    browser, token, handle = offered(world)
    browser.asks(token, 1, "request", method="POST", url="http://x.test/a", headers={"Accept": "*/*"}, body="in")
    browser.asks(token, 1, "response", status=500, status_text="Oops", headers={"X": "1"}, mime_type="text/plain")
    browser.asks(token, 1, "finished", body="out", duration_ms=12.5)
    browser.asks(token, 2, "request", method="GET", url="http://x.test/b")
    browser.asks(token, 2, "failed", error="net::ERR_FAILED")
    first, second = [msgspec.to_builtins(one) for one in await requests(world, handle)]
    assert first == {
        "request_id": "1", "timestamp": 1001, "method": "POST", "url": "http://x.test/a",
        "request_headers": {"Accept": "*/*"}, "request_body": "in", "status": 500, "status_text": "Oops",
        "response_headers": {"X": "1"}, "response_body": "out", "mime_type": "text/plain", "duration_ms": 12.5,
    }  # fmt: skip
    assert (second["error"], "status" in second) == ("net::ERR_FAILED", False)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, "012345"),
        ({"url_pattern": r"/p[12]$"}, "12"),
        ({"method": ["post"]}, "135"),
        ({"method": ["GET", "POST"]}, "012345"),
        ({"status_min": 201}, "1235"),  # the last failed without an answer, which is worse than any status
        ({"status_min": 201, "status_max": 202}, "12"),
        ({"since": 1003}, "345"),
        ({"limit": 2}, "45"),
        ({"status_max": 200}, "0"),
    ],
)
async def test_every_filter_of_the_network(world: World, filters: dict[str, Any], found: str):
    browser, token, handle = offered(world)
    for number in range(6):
        method = "POST" if number % 2 else "GET"
        browser.asks(token, number, "request", method=method, url=f"http://x.test/p{number}")
        if number < 4:
            browser.asks(token, number, "response", status=200 + number)
    browser.asks(token, 5, "failed", error="net::ERR_CONNECTION_REFUSED")
    assert "".join(one.request_id for one in await requests(world, handle, **filters)) == found


async def test_a_range_without_a_status_in_it_is_refused(world: World):
    _, _, handle = offered(world)
    far = FarHub("ws://127.0.0.1:1/signaling", "key")  # which is not asked
    for asked in (world.hub.network("ann", handle, EMPTY), far.network("", handle, EMPTY)):
        with pytest.raises(Failure, match="no status is at least 500 and at most 400") as refused:
            await asked
        assert refused.value.code == "bad_request"
        assert refused.value.suggestions == ["exchange the two, or leave one out"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["a1", "b2", "a3"]),
        ({"level": ["error"]}, ["b2"]),
        ({"level": ["log", "warn"]}, ["a1", "a3"]),
        ({"message_pattern": "^a"}, ["a1", "a3"]),
        ({"since": 2}, ["b2", "a3"]),
        ({"limit": 1}, ["a3"]),
    ],
)
async def test_every_filter_of_the_console(world: World, filters: dict[str, Any], found: list[str]):
    browser, token, handle = offered(world)
    for at, (message, level) in enumerate((("a1", "log"), ("b2", "error"), ("a3", "warn")), 1):
        browser.prints(token, at, message, level)
    assert [one.message for one in await entries(world, handle, **filters)] == found


async def test_a_bad_pattern_says_so_and_a_wild_one_is_quick(world: World):
    browser, token, handle = offered(world)
    browser.prints(token, 1, "a" * 100_000)
    with pytest.raises(Failure, match="is not a pattern"):
        await requests(world, handle, url_pattern="(")
    with pytest.raises(Failure, match="is not a pattern"):
        await entries(world, handle, message_pattern="[")
    async with asyncio.timeout(2):
        assert await entries(world, handle, message_pattern="(a+)+$b") == []


async def test_secrets_are_gone_before_anything_is_kept(world: World):
    browser, token, handle = offered(world)
    secret = "hunter2-hunter2"
    url = f"http://x.test/?access_token={secret}"
    heads = {"Authorization": f"Bearer {secret}", "set-cookie": f"sid={secret}"}
    browser.asks(token, 1, "request", method="POST", url=url, headers=heads, body=json.dumps({"password": secret}))
    browser.asks(token, 1, "response", status=200, headers=heads)
    browser.asks(token, 1, "finished", body=f'{{"token": "{secret}"}}')
    browser.prints(token, 1, f"password={secret}", args=[{"password": secret}], stack_trace=f"at {url}")
    browser.say("tab_updated", token=token, url=f"http://shop.localhost:8081/a?token={secret}", title="A")
    kept = str(
        msgspec.to_builtins([await requests(world, handle), await entries(world, handle), world.hub.tabs("ann")])
    )
    assert secret not in kept
    assert secret not in str([vars(one) for one in world.hub._tabs.values()])
    assert "x.test" in kept


async def test_a_body_is_cut_where_the_cocoon_says(world: World):
    world.cocoons.add({"id": "small", "target": "http://127.0.0.1:1", "owner": "ann", "response_body_max_size": 10})
    browser, token = world.browser("ann"), world.token("small")
    told = browser.announce(token, "http://small.localhost:8081/a")
    assert told["response_body_max_size"] == 10
    handle = world.hub.tabs("ann")[0].token
    browser.asks(token, 1, "finished", body="ü" * 10)
    browser.asks(token, 2, "finished", body="x" * 10)
    first, second = await requests(world, handle)
    assert (first.response_body, first.response_body_truncated) == ("ü" * 5, True)
    assert (second.response_body, second.response_body_truncated) == ("x" * 10, None)


async def test_the_rings_hold_the_newest(world: World, monkeypatch: pytest.MonkeyPatch):
    browser, token, handle = offered(world)
    for number in range(1000):
        browser.asks(token, number, "request", method="GET", url=f"http://x.test/{number}")
    for number in range(10_000):
        browser.prints(token, number, f"line {number}")
    assert len(await requests(world, handle, limit=10_000)) == 1000
    assert [one.message for one in await entries(world, handle, limit=20_000)] == [f"line {n}" for n in range(10_000)]
    browser.prints(token, 10_000, "one more")
    told = await entries(world, handle, limit=20_000)
    assert (len(told), told[0].message, told[-1].message) == (10_000, "line 1", "one more")
    monkeypatch.setattr(rings, "MAX_BYTES", 100_000)
    for number in range(2000, 2050):
        browser.asks(token, number, "finished", body="x" * 10_000)
    kept = await requests(world, handle, limit=10_000)
    assert len(msgspec.json.encode(kept)) < 110_000
    assert kept[-1].request_id == "2049"


# Coming and going


async def test_a_closed_tab_takes_its_events_along(world: World):
    browser, token, handle = offered(world)
    browser.prints(token, 1, "x")
    browser.say("tab_closed", token=token)
    assert not world.hub.tabs("ann")
    assert not world.hub._tabs
    assert not world.hub._handles
    with pytest.raises(Failure, match="no such tab"):
        await entries(world, handle)


async def test_a_lost_browser_takes_its_tabs_along_after_a_while(world: World, soon: None):
    browser, _, handle = offered(world)
    gone = asyncio.Event()
    world.hub.follow("ann", handle, lambda what: gone.set() if what is None else None)
    browser.visitor.leave()
    assert world.hub.tabs("ann")
    await asyncio.wait_for(gone.wait(), 5)
    assert not world.hub.tabs("ann")


async def test_a_browser_that_is_back_in_time_keeps_its_handle(world: World, soon: None):
    browser, token = world.browser("ann"), world.token()
    ticket = browser.announce(token)["ticket"]
    handle = world.hub.tabs("ann")[0].token
    browser.prints(token, 1, "before")
    browser.visitor.leave()
    back = world.browser("ann")
    assert (
        back.announce(token, "http://shop.localhost:8081/moved", ticket=ticket)["type"] == "browser_debug_tab_accepted"
    )
    await asyncio.sleep(0.1)
    assert world.hub.tabs("ann")[0].token == handle
    back.prints(token, 2, "after")
    assert [one.message for one in await entries(world, handle)] == ["before", "after"]


@pytest.mark.parametrize(
    ("user", "browser_id", "ticket", "url"),
    [
        ("ben", "b1", "", "http://shop.localhost:8081/a"),
        ("ann", "b2", "", "http://shop.localhost:8081/a"),
        ("ann", "b1", "wrong", "http://shop.localhost:8081/a"),
        ("ann", "b1", "", "http://evil.test/a"),
    ],
)
async def test_nobody_else_comes_back_in_its_place(world: World, user: str, browser_id: str, ticket: str, url: str):
    browser, token = world.browser("ann"), world.token()
    good = browser.announce(token)["ticket"]
    browser.visitor.leave()
    told = world.browser(user).announce(token, url, browser_id=browser_id, ticket=ticket or good)
    assert told["type"] == "browser_debug_tab_refused"


async def test_after_a_new_start_the_browser_is_asked_for_what_was_missed(world: World):
    browser, token = world.browser("ann"), world.token()
    ticket = browser.announce(token)["ticket"]
    world.start()
    back = world.browser("ann")
    assert back.announce(token, ticket=ticket)["ticket"] == ticket
    handle = world.hub.tabs("ann")[0].token
    back.prints(token, 9, "later")
    asked = asyncio.create_task(requests(world, handle))
    while len(back.heard) < 2:
        await asyncio.sleep(0)
    assert back.heard[-1]["type"] == "browser_debug_get_network"
    missed = {
        "request_id": "1",
        "timestamp": 5,
        "method": "GET",
        "url": "http://x.test/?token=hunter2-hunter2",
        "status": 404,
    }
    back.say("network_data", request_id=back.heard[-1]["request_id"], requests=[missed])
    while len(back.heard) < 3:
        await asyncio.sleep(0)
    entry = {"timestamp": 1, "level": "log", "message": "earlier"}
    back.say("console_data", request_id=back.heard[-1]["request_id"], entries=[entry])
    (one,) = await asked
    assert (one.status, "hunter2" in one.url) == (404, False)
    assert [entry.message for entry in await entries(world, handle)] == ["earlier", "later"]
    assert len(back.heard) == 3


def back_again(world: World) -> tuple[Browser, str, str]:
    """A browser and its tab after a new start of the hub, which does not know what it missed."""
    browser, token = world.browser("ann"), world.token()
    ticket = browser.announce(token)["ticket"]
    world.start()
    back = world.browser("ann")
    back.announce(token, ticket=ticket)
    return back, token, world.hub.tabs("ann")[0].token


async def answer(browser: Browser, kind: str, **fields: Any) -> None:
    """Wait for the hub's question, and answer it."""
    async with asyncio.timeout(5):
        while browser.heard[-1]["type"] != f"browser_debug_get_{kind}":
            await asyncio.sleep(0)
    browser.say(f"{kind}_data", request_id=browser.heard[-1]["request_id"], **fields)


def request(number: int, **more: Any) -> dict[str, Any]:
    return {"request_id": str(number), "timestamp": number, "method": "GET", "url": f"http://x.test/{number}", **more}


async def test_the_newest_are_the_newest_after_a_new_start(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rings, "MAX_REQUESTS", 50)
    back, token, handle = back_again(world)
    for number in (100, 101, 102):
        said = {"type": "browser_debug_network_event", "token": token, "event": "request", "data": request(number)}
        back.visitor.take(json.dumps(said).encode())
    asked = asyncio.create_task(requests(world, handle, limit=5))
    await answer(back, "network", requests=[request(number) for number in range(103)])
    await answer(back, "console", entries=[])
    assert [one.request_id for one in await asked] == ["98", "99", "100", "101", "102"]
    kept = await requests(world, handle)
    assert (len(kept), kept[0].request_id) == (50, "53")


async def test_one_bad_thing_in_an_answer_does_not_spoil_it(world: World):
    back, _, handle = back_again(world)
    asked = asyncio.create_task(requests(world, handle))
    told = [request(1), request(2, status=70_000), request(3, duration_ms=1e300), request(4), None]
    await answer(back, "network", requests=told)
    lines = [{"timestamp": at, "level": level, "message": "x"} for at, level in ((1, "loud"), (2, "log"))]
    await answer(back, "console", entries=lines)
    assert [one.request_id for one in await asked] == ["1", "4"]
    assert [one.timestamp for one in await entries(world, handle)] == [2]


async def test_who_asks_does_not_wait_for_a_browser_that_left(world: World):
    back, token, handle = back_again(world)
    ticket = world.hub.ticket(world.hub.tab("ann", handle))
    asked = asyncio.create_task(requests(world, handle))
    while back.heard[-1]["type"] != "browser_debug_get_network":
        await asyncio.sleep(0)
    back.visitor.leave()
    async with asyncio.timeout(1):
        assert await asked == []
    again = world.browser("ann")
    again.announce(token, ticket=ticket)
    assert not world.hub.tab("ann", handle).complete


async def test_two_who_ask_at_once_are_told_the_same(world: World):
    back, _, handle = back_again(world)
    both = [asyncio.create_task(requests(world, handle)) for _ in range(2)]
    async with asyncio.timeout(5):
        answered: set[str] = set()
        while not all(one.done() for one in both):
            for one in [one for one in back.heard if one.get("request_id") and one["request_id"] not in answered]:
                answered.add(one["request_id"])
                kind = one["type"].removeprefix("browser_debug_get_")
                told = {"requests": [request(1)]} if kind == "network" else {"entries": []}
                back.say(f"{kind}_data", request_id=one["request_id"], **told)
            await asyncio.sleep(0)
    assert [[one.request_id for one in task.result()] for task in both] == [["1"], ["1"]]


async def test_all_tabs_together_have_a_bound_and_who_has_most_loses_first(world: World):
    world.start(max_bytes=100_000)
    (anns, ann_token, ann_handle), (bens, ben_token, ben_handle) = offered(world), offered(world, "ben")
    for number in range(3):
        bens.prints(ben_token, number, "b" * 5000)
    for number in range(100):
        anns.prints(ann_token, number, "a" * 2000)
        anns.asks(ann_token, number, "request", method="GET", url="http://x.test/" + "a" * 2000)
    assert len(await entries(world, ben_handle, "ben")) == 3
    lines, asked = await entries(world, ann_handle), await requests(world, ann_handle)
    assert lines[-1].timestamp == 99
    assert asked[-1].request_id == "99"
    assert 50_000 < len(msgspec.json.encode([lines, asked])) < 85_000
    anns.say("tab_closed", token=ann_token)
    assert world.hub._bytes == sum(one.bytes for one in world.hub._tabs.values())


async def test_a_browser_that_does_not_answer_holds_nobody_up(world: World, soon: None):
    browser, token = world.browser("ann"), world.token()
    ticket = browser.announce(token)["ticket"]
    world.start()
    back = world.browser("ann")
    back.announce(token, ticket=ticket)
    back.asks(token, 1, "request", method="GET", url="http://x.test/")
    async with asyncio.timeout(5):
        assert len(await requests(world, world.hub.tabs("ann")[0].token)) == 1


async def test_a_cocoon_that_changes_hands_is_seen_no_more(world: World):
    _, _, handle = offered(world)
    world.cocoons.remove("shop")
    assert not world.hub.tabs("ann")
    with pytest.raises(Failure):
        await entries(world, handle)
    world.cocoons.add({"id": "shop", "target": "http://127.0.0.1:3000", "owner": "ben"})
    for user in ("ann", "ben"):
        assert not world.hub.tabs(user)


async def test_it_can_be_followed(world: World):
    browser, token, handle = offered(world)
    heard: list[Any] = []
    stop = world.hub.follow("ann", handle, heard.append)
    browser.prints(token, 1, "x")
    browser.asks(token, 1, "request", method="GET", url="http://x.test/")
    stop()
    browser.prints(token, 2, "y")
    assert [type(one) for one in heard] == [ConsoleEntry, NetworkRequest]
    with pytest.raises(Failure):
        world.hub.follow("ben", handle, heard.append)


async def test_who_follows_too_slowly_hears_how_much_is_missing(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waiting, "MAX_BYTES", 10_000)
    browser, token, handle = offered(world)
    followed = world.hub.followed("ann", handle)
    first = asyncio.create_task(anext(followed))
    await asyncio.sleep(0)
    for at in range(20):
        browser.prints(token, at, "x" * 1000)
    got = [await first, *[await anext(followed) for _ in range(9)]]
    assert [one.timestamp for one in got if isinstance(one, ConsoleEntry)] == list(range(9))
    assert got[-1] == Missed(11)
    browser.prints(token, 30, "after")
    assert (await anext(followed)).message == "after"  # pyright: ignore
    browser.say("tab_closed", token=token)
    with pytest.raises(StopAsyncIteration):
        await anext(followed)


async def test_who_follows_hears_nothing_of_a_cocoon_that_changed_hands(world: World):
    browser, token, handle = offered(world)
    followed = world.hub.followed("ann", handle)
    first = asyncio.create_task(anext(followed))
    await asyncio.sleep(0)
    browser.prints(token, 1, "mine")
    assert (await first).message == "mine"  # pyright: ignore
    world.cocoons.remove("shop")
    browser.prints(token, 2, "not mine")
    with pytest.raises(Failure, match="no such tab"):
        await anext(followed)


@pytest.mark.parametrize(
    "frame", [b"", b"{", b"[]", b"[1,", b"\xff", b"[" * 100_000, b"[" + b"{}," * 1000 + b"{}]", b" " * (MAX_FRAME + 1)]
)
async def test_what_is_no_frame_ends_the_line(world: World, frame: bytes):
    with pytest.raises(Failure) as caught:
        world.browser("ann").visitor.take(frame)
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    "message",
    [
        b"{}", b"null", b"[]", b'{"type":"browser_debug_list_tabs"}', b'{"type":"nonsense"}',
        b'{"type":"browser_debug_tab_available"}', b'{"type":"browser_debug_tab_closed","token":1}',
        b'{"type":"browser_debug_console_event","token":"a","entry":{"timestamp":1,"level":"loud","message":""}}',
        b'{"type":"browser_debug_network_event","token":"a","event":"request","data":{"request_id":"1","timestamp":-1}}',
        b'{"type":"browser_debug_tab_updated","token":"a","title":"","url":"' + b"x" * 70_000 + b'"}',
    ],
)  # fmt: skip
async def test_a_message_that_cannot_be_read_is_answered_and_the_others_count(world: World, message: bytes):
    """A page decides what is in some of them: the other tabs of its browser are none of its business."""
    browser, token, handle = offered(world)
    entry = {"timestamp": 1, "level": "log", "message": "heard"}
    good = json.dumps({"type": "browser_debug_console_event", "token": token, "entry": entry}).encode()
    before = len(browser.heard)
    browser.visitor.take(b"[" + message + b"," + good + b"]")
    (told,) = browser.heard[before:]
    assert (told["type"], told["error"]["code"]) == ("browser_debug_error", "bad_request")
    assert [one.message for one in await entries(world, handle)] == ["heard"]


async def test_several_things_may_be_said_in_one_frame(world: World):
    browser, token, handle = offered(world)
    entries_ = [{"timestamp": at, "level": "log", "message": str(at)} for at in range(3)]
    said = [{"type": "browser_debug_console_event", "token": token, "entry": one} for one in entries_]
    browser.visitor.take(json.dumps(said).encode())
    assert [one.message for one in await entries(world, handle)] == ["0", "1", "2"]
    with pytest.raises(Failure, match="1 to 1000 things"):
        browser.visitor.take(json.dumps(said * 400).encode())


async def test_a_browser_hears_whose_pages_count(world: World):
    said = world.browser("ann").say("hello", browser_id="b1")
    assert said == {"type": "browser_debug_hub", "proxy": "http://localhost:8081"}


async def test_what_the_browser_remembers_is_put_between_what_we_heard(world: World):
    browser, token, handle = offered(world)
    for at in (1, 2):
        browser.prints(token, at, str(at))
    ring = world.hub.tab("ann", handle).entries
    ring.replace([ConsoleEntry(2, "log", "2"), ConsoleEntry(3, "log", "3")])
    browser.prints(token, 4, "4")
    assert [one.message for one in await entries(world, handle)] == ["1", "2", "3", "4"]


def test_a_browser_that_knows_less_takes_nothing_away():
    """Its worker was started anew while a request was under way: of that it has heard only the answer."""

    def told(event: Any, **data: Any) -> NetworkEvent:
        return NetworkEvent("token", event, Happened("1", **data))

    ring = rings.Requests()
    ring.take(told("request", timestamp=5, method="POST", url="http://a/", headers={"x": "1"}, body="sent"))
    ring.take(told("request", timestamp=9, method="", url="http://a/", headers={}))
    (one,) = ring.chosen(NetworkFilters())
    assert (one.timestamp, one.method, one.request_headers, one.request_body) == (5, "POST", {"x": "1"}, "sent")
    ring.merge([NetworkRequest("1", 9, url="http://a/", status=500), NetworkRequest("2", 10, status=404)])
    (one, other) = ring.chosen(NetworkFilters(method=["POST"]))  # of one whose method is unknown it may be
    assert (one.timestamp, one.method, one.request_body, one.status) == (5, "POST", "sent", 500)
    assert other.request_id == "2"
    assert [one.request_id for one in ring.chosen(NetworkFilters(method=["GET"]))] == ["2"]
