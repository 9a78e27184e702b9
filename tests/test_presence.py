"""When a daemon may go."""

import asyncio
import time
from pathlib import Path
from typing import Any

from starlette.routing import WebSocketRoute
from websockets.asyncio.client import connect

from pilothouse.doors.http import BRIDGE_PATH, SIGNALING_PATH
from pilothouse.doors.signaling import SignalingDoor
from pilothouse.options import Config, Proxy
from pilothouse.presence import Presence
from tests.daemon_here import daemon_here
from tests.hub.test_signaling import Hubbed, announce, ask, hubbed
from tests.promises import promise
from tests.proxy.apps import App, running

__all__ = ["hubbed"]

pytestmark = promise("E03")


class Door:
    connections = 0


async def test_it_ends_some_time_after_the_last_client() -> None:
    door, presence = Door(), Presence(asyncio.Event())
    presence.watch(door)
    door.connections = 1
    over = asyncio.create_task(presence.until_over(0.1))
    done, _ = await asyncio.wait([over], timeout=0.3)
    assert not done
    door.connections = 0
    left = time.monotonic()
    await asyncio.wait_for(over, 5)
    assert time.monotonic() - left > 0.05


async def test_a_browser_of_the_persons_keeps_no_daemon() -> None:
    door, presence = Door(), Presence(asyncio.Event())
    door.connections = 1
    presence.watch(door, browsers=lambda: 1)

    async def app(*_: object) -> None: ...

    over = asyncio.create_task(presence.until_over(0.1))
    knocking = presence.at_web(app, BRIDGE_PATH)
    for _ in range(100):
        await knocking({"type": "websocket", "path": BRIDGE_PATH}, None, None)  # type: ignore[arg-type]
        if (await asyncio.wait([over], timeout=0.05))[0]:
            return
    raise AssertionError("it is still there")


async def test_who_looks_at_a_page_of_the_debug_proxy_keeps_it(home: Path) -> None:
    """Whose Chrome is not paired has no other tie to the daemon."""
    settings = Config(proxy=Proxy(enabled=True, port=0))
    async with running(App()) as app, daemon_here(home, settings, linger_s=1) as here:
        here.cocoons.add({"id": "shop", "target": app.url})
        port = here.cocoons.proxy.port
        async with connect(f"ws://shop.localhost:{port}/ws", host="127.0.0.1", port=port):
            done, _ = await asyncio.wait([here.running], timeout=1.6)
            assert not done
        await asyncio.wait_for(asyncio.shield(here.running), 10)


async def test_a_browser_that_offers_a_tab_keeps_it(hubbed: Hubbed) -> None:
    presence = Presence(asyncio.Event())
    routes = [one for one in hubbed.here.routes if isinstance(one, WebSocketRoute)]
    door: Any = next(one.endpoint.__self__ for one in routes if one.path == SIGNALING_PATH)  # type: ignore[attr-defined]
    assert isinstance(door, SignalingDoor)
    async with hubbed.browser() as browser:
        connections = Door()
        connections.connections = 1
        presence.watch(connections, browsers=lambda: door.idle_browsers)
        await ask(browser, "hello", browser_id="b1")
        assert presence._clients() == 0
        token = await announce(browser, hubbed, "mine")
        assert presence._clients() == 1
        await browser.send(f'{{"type":"browser_debug_tab_closed","token":"{token}"}}')
        await ask(browser, "hello", browser_id="b1")
        assert presence._clients() == 0


async def test_a_short_visit_counts() -> None:
    presence = Presence(asyncio.Event())
    presence.watch(Door())

    async def visit() -> str:
        return "seen"

    visited = presence.at_door(visit)
    over = asyncio.create_task(presence.until_over(0.2))
    for _ in range(4):
        await asyncio.wait([over], timeout=0.1)
        assert not over.done()
        assert await visited() == "seen"
    await asyncio.wait_for(over, 5)


async def test_without_lingering_only_a_stop_ends_it() -> None:
    stop = asyncio.Event()
    presence = Presence(stop)
    over = asyncio.create_task(presence.until_over(0))
    done, _ = await asyncio.wait([over], timeout=0.1)
    assert not done
    stop.set()
    await asyncio.wait_for(over, 5)


async def test_open_sessions_keep_it_though_no_client_is_there() -> None:
    stop, door, count = asyncio.Event(), Door(), [2]
    presence = Presence(stop)
    presence.watch(door, sessions=lambda: count[0])
    door.connections = 1
    assert presence.asked_to_stop("9") == {"stopping": False, "why": "2 sessions open"}
    assert not stop.is_set()
    count[0] = 0
    assert presence.asked_to_stop("9") == {"stopping": True}


async def test_who_asks_it_to_stop_does_not_count() -> None:
    stop, door = asyncio.Event(), Door()
    presence = Presence(stop)
    presence.watch(door)
    door.connections = 3
    assert presence.asked_to_stop("9") == {"stopping": False, "why": "2 clients connected"}
    assert not stop.is_set()
    door.connections = 1
    assert presence.asked_to_stop("9") == {"stopping": True}
    assert stop.is_set()
