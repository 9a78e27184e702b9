"""Emulation: what a tab pretends to be holds in its frames and workers, over navigations, and can be taken off."""

import asyncio
import struct
from typing import Any

import pytest

from pilothouse.browser.devices import DEVICES
from pilothouse.browser.emulation import emulate
from tests.browser.looking import fails
from tests.hostile.conftest import tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A20", "C01")

SEEN = """({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, number: (1.5).toLocaleString(),
  language: navigator.language, agent: navigator.userAgent, online: navigator.onLine })"""
WORKER = """new Promise((done) => { const source = `postMessage(%s)`;
  const worker = new Worker(URL.createObjectURL(new Blob([source]))); worker.onmessage = (event) => done(event.data) })"""
VIEW = "[innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints, 'ontouchstart' in window]"


async def test_viewport(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("emulate", viewport={"width": 500, "height": 400, "scale": 2})
    assert await agent.js(VIEW) == [500, 400, 2, 0, False]
    answer = await agent.ask("screenshot", format="png")
    assert (answer.data["width"], answer.data["height"]) == (500, 400)
    assert struct.unpack(">II", answer.images[0].data[16:24]) == (500, 400)
    await agent.call("navigate", url=site.url("todo.html", other=True))
    assert (await agent.js(VIEW))[:3] == [500, 400, 2]
    await agent.call("emulate", reset=True)
    assert await agent.js(VIEW) == [1280, 800, 1, 0, False]


@pytest.mark.parametrize("name", list(DEVICES))
async def test_every_device(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.inline("<meta name=viewport content='width=device-width'>hi"))
    worn = (await agent.call("emulate", device=name.lower()))["emulation"]
    device = DEVICES[name]
    await agent.call("reload")
    width, height, ratio, points, touch = await agent.js(VIEW)
    assert (width, height, round(ratio, 3)) == (device.width, device.height, device.scale)
    assert (points > 0, touch) == (device.kind != "desktop",) * 2
    agent_name = await agent.js("navigator.userAgent")
    assert agent_name == worn.get("user_agent", agent_name)
    kinds = {"iphone": "iPhone", "ipad": "iPad", "android": " Mobile Safari", "tablet": "Android", "desktop": "X11"}
    assert kinds[device.kind] in agent_name


async def test_client_hints_of_a_phone(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html", other=True))
    await agent.call("emulate", device="Pixel 10")
    await agent.call("reload")
    hints = await agent.js(
        "navigator.userAgentData && [navigator.userAgentData.mobile, navigator.userAgentData.platform]"
    )
    assert hints == [True, "Android"]


async def test_language_time_and_name_everywhere(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    await agent.call("emulate", locale="de_DE", timezone="Asia/Tokyo", user_agent="Pretender/1.0")
    wanted = {"zone": "Asia/Tokyo", "number": "1,5", "language": "de-DE", "agent": "Pretender/1.0", "online": True}
    assert await agent.js(SEEN) == wanted
    inside = {"target": "text=Cross button", "expression": SEEN}
    assert (await agent.call("evaluate_js", **inside))["value"] == wanted
    assert await agent.js(WORKER % SEEN) == wanted
    headers = (await agent.js("fetch('/echo').then((r) => r.json())"))["headers"]
    assert headers["user-agent"] == "Pretender/1.0"
    assert headers["accept-language"].startswith("de-DE")
    # and in what comes later: another page, a frame of another process in it
    await agent.call("navigate", url=site.url(f"frames.html?other={site.origin}", other=True))
    await agent.call("wait_for", target="text=Cross button")
    assert await agent.js(SEEN) == wanted
    assert (await agent.call("evaluate_js", **inside))["value"] == wanted
    await agent.call("emulate", reset=True)
    plain = await agent.js(SEEN)
    assert (plain["language"], plain["number"], plain["zone"]) == ("en-US", "1.5", "UTC")
    assert "Chrome" in plain["agent"]


async def test_place(agent: Agent, site: PageServer) -> None:
    where = """new Promise((done) => navigator.geolocation.getCurrentPosition(
      ({ coords }) => done([coords.latitude, coords.longitude, coords.accuracy]), (error) => done(error.code)))"""
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("emulate", geolocation={"latitude": 52.52, "longitude": 13.4})
    assert await agent.js(where) == [52.52, 13.4, 10]
    await agent.call("emulate", geolocation={"latitude": 0, "longitude": 0, "accuracy": 5})
    assert await agent.js(where) == [0, 0, 5]
    assert await agent.js("navigator.permissions.query({name: 'geolocation'}).then((p) => p.state)") == "granted"
    await agent.call("emulate", reset=True)
    assert await agent.js("navigator.permissions.query({name: 'geolocation'}).then((p) => p.state)") == "prompt"


async def test_a_place_is_kept_when_another_tab_gives_its_own_up(agent: Agent, site: PageServer) -> None:
    state = "navigator.permissions.query({name: 'geolocation'}).then((p) => p.state)"
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("small.html"))
    for tab in ("t1", "t2"):
        await agent.call("emulate", tab=tab, geolocation={"latitude": 1, "longitude": 2})
    await agent.call("emulate", tab="t2", reset=True)
    assert (await agent.call("evaluate_js", tab="t1", expression=state))["value"] == "granted"
    await agent.call("emulate", tab="t1", reset=True)
    assert (await agent.call("evaluate_js", tab="t1", expression=state))["value"] == "prompt"


async def test_who_gives_up_leaves_no_frame_behind(agent: Agent, site: PageServer) -> None:
    """The call is cancelled when the page has been told and its frame has not."""
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    tab = tab_of(agent)
    calling = asyncio.ensure_future(emulate(tab, {"user_agent": "Pretender/1.0"}))
    while tab.guise.user_agent != "Pretender/1.0":
        await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await agent.call("emulate", color_scheme="dark")
    inner = await agent.call("evaluate_js", target="text=Cross button", expression="navigator.userAgent")
    assert inner["value"] == "Pretender/1.0"


async def test_colours_and_motion(agent: Agent, site: PageServer) -> None:
    seen = "['dark', 'light'].map((one) => matchMedia(`(prefers-color-scheme: ${one})`).matches)"
    still = "matchMedia('(prefers-reduced-motion: reduce)').matches"
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("emulate", colorScheme="dark", reduced_motion=True)
    assert await agent.js(seen) == [True, False]
    assert await agent.js(still) is True
    await agent.call("emulate", color_scheme="light", reduced_motion=False)
    assert await agent.js(seen) == [False, True]
    assert await agent.js(still) is False


async def test_offline_and_slow(agent: Agent, site: PageServer) -> None:
    ask = "fetch('/echo').then(() => 'came', () => 'failed')"
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("emulate", offline=True)
    assert await agent.js(ask) == "failed"
    assert await agent.js("navigator.onLine") is False
    await fails(agent, "navigation_failed", "navigate", url=site.url("todo.html"))
    await agent.call("emulate", offline=False, network="fast-3g")
    await agent.call("navigate", url=site.url("small.html"))
    took = f"(async () => {{ const start = performance.now(); await {ask}; return performance.now() - start }})()"
    assert await agent.js(took) > 400
    await agent.call("emulate", network="none")
    assert await agent.js(took) < 400


async def test_shared_workers_pretend_too(agent: Agent, site: PageServer) -> None:
    """One that was there before, and one that comes later."""
    answer = f"fetch('/echo').then(() => 'came', () => 'failed').then((said) => port.postMessage([said, {SEEN}]))"
    source = f"onconnect = (event) => {{ const port = event.ports[0]; port.onmessage = () => {answer} }}"
    script = site.inline(source, type="text/javascript").removeprefix(site.origin)
    ask = """new Promise((done) => { const { port } = new SharedWorker(%r, '%s');
      port.onmessage = (event) => done(event.data); port.postMessage(1) })"""
    await agent.call("navigate", url=site.url("small.html"))
    assert (await agent.js(ask % (script, "first")))[0] == "came"
    await agent.call("emulate", timezone="Asia/Tokyo", locale="de-DE")
    for name in ("first", "second"):
        said, seen = await agent.js(ask % (script, name))
        assert (said, seen["zone"], seen["number"]) == ("came", "Asia/Tokyo", "1,5")
    await agent.call("emulate", offline=True)
    assert (await agent.js(ask % (script, "first")))[0] == "failed"
    await agent.call("emulate", reset=True)
    said, seen = await agent.js(ask % (script, "first"))
    assert (said, seen["zone"]) == ("came", "UTC")


async def test_a_slow_processor(agent: Agent, site: PageServer) -> None:
    spin = "(() => { const start = performance.now(); let n = 0; for (let i = 0; i < 3e7; i++) n += i % 7; return performance.now() - start })()"
    await agent.call("navigate", url=site.url("small.html"))
    quick = min([await agent.js(spin) for _ in range(3)])
    await agent.call("emulate", cpu=20)
    slow = max([await agent.js(spin) for _ in range(3)])
    await agent.call("emulate", cpu=1)
    assert slow > quick * 3


async def test_touch(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("emulate", touch=True)
    assert await agent.js("navigator.maxTouchPoints") == 5
    assert await agent.js("matchMedia('(pointer: coarse)').matches") is True
    await agent.call("emulate", touch=False)
    assert await agent.js("matchMedia('(pointer: coarse)').matches") is False


async def test_one_tab_only_and_one_behind(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("small.html"))
    await agent.call("emulate", tab="t1", viewport={"width": 333, "height": 444}, color_scheme="dark")
    assert await agent.js("innerWidth") == 1280
    sizes = (await agent.call("evaluate_js", tab="t1", expression="[innerWidth, innerHeight]"))["value"]
    assert sizes == [333, 444]


async def test_reset_goes_back_to_what_the_session_was_opened_with(agent: Agent, site: PageServer) -> None:
    opened = await agent.call("open_session", viewport={"width": 700, "height": 500}, user_agent="Mine/1.0")
    place: dict[str, Any] = {"session": opened["session"]}
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"), **place)
    await agent.call("wait_for", target="text=Cross button", **place)
    seen = "[innerWidth, navigator.userAgent]"
    inner = await agent.call("evaluate_js", target="text=Cross button", expression="navigator.userAgent", **place)
    assert inner["value"] == "Mine/1.0"
    await agent.call("emulate", device="iPhone SE", **place)
    said = await agent.call("emulate", reset=True, color_scheme="dark", **place)
    assert said["emulation"]["color_scheme"] == "dark"
    assert (await agent.call("evaluate_js", expression=seen, **place))["value"] == [700, "Mine/1.0"]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({}, "give device"),
        ({"device": "Nokia 3310"}, "iPhone 16 Pro"),
        ({"timezone": "Mars/Olympus"}, "Europe/Berlin"),
        ({"locale": "no such"}, "en-GB"),
        ({"locale": "xx-XX"}, "en-GB"),
        ({"network": "5g"}, "network"),
        ({"cpu": 0.5}, "cpu"),
        ({"geolocation": {"latitude": 91, "longitude": 0}}, "geolocation"),
        ({"viewport": {"width": 0, "height": 10}}, "viewport"),
        ({"color_scheme": "blue"}, "color_scheme"),
    ],
)
async def test_what_cannot_be(agent: Agent, site: PageServer, wrong: dict[str, Any], hint: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    failure = await fails(agent, "bad_request", "emulate", **wrong)
    assert hint in failure.suggestions[0]
    assert await agent.js("Intl.DateTimeFormat().resolvedOptions().timeZone") == "UTC"
