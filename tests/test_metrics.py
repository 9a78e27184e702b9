"""Numbers: a text that Prometheus reads, labels that nobody can multiply, and next to no cost."""

import asyncio
import re
import time
from pathlib import Path

import httpx
import pytest

from pilothouse.browser.turn import Turn
from pilothouse.guard.keys import Keys
from pilothouse.metrics import CONTENT_TYPE, Metrics, Sample
from tests.house import Agent, House
from tests.processes import Process
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("E10")

_LINE = re.compile(r'pilothouse_[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9.e+-]+(\+Inf)?')


def lines(text: str) -> dict[str, float]:
    """Every sample by its name and labels; what is no sample is a comment."""
    assert text.endswith("\n")
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not re.fullmatch(r"# (HELP pilothouse_[a-z_]+ .+|TYPE pilothouse_[a-z_]+ (counter|gauge|histogram))", line):
            assert _LINE.fullmatch(line), line
            name, _, value = line.rpartition(" ")
            assert name not in found
            found[name] = float(value)
    return found


async def test_calls_are_counted_by_tool_and_outcome(house: House, agent: Agent, site: PageServer) -> None:
    before = lines(house.gate.metrics.text([], "1"))
    await agent.call("navigate", url=site.url("small.html"))
    await agent.ask("click", target="#nowhere", timeout_ms=50)
    for number in range(20):
        await agent.ask(f"no_such_tool_{number}")
    late = asyncio.ensure_future(agent.ask("wait_for", text="never there"))
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.wait({late})
    after = lines(house.gate.metrics.text([], "1"))

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown('pilothouse_calls_total{tool="navigate",outcome="ok"}') == 1
    assert grown('pilothouse_calls_total{tool="unknown",outcome="unknown_tool"}') == 20
    assert grown('pilothouse_calls_total{tool="wait_for",outcome="cancelled"}') == 1
    assert grown('pilothouse_failures_total{code="unknown_tool"}') == 20
    assert grown('pilothouse_call_duration_seconds_count{tool="navigate"}') == 1
    assert not [name for name in after if "no_such_tool" in name]


def test_a_histogram_adds_up() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.005, 0.2, 70):
        metrics.called("click", "ok", seconds)
    told = lines(metrics.text([], "1"))
    bucket = 'pilothouse_call_duration_seconds_bucket{tool="click",le="%s"}'
    assert [told[bucket % le] for le in ("0.005", "0.1", "0.25", "30.0", "+Inf")] == [2, 2, 3, 3, 4]
    assert told['pilothouse_call_duration_seconds_sum{tool="click"}'] == pytest.approx(70.206)


def test_what_a_label_says_cannot_break_the_text() -> None:
    text = Metrics().text([Sample("x", 1, "X.", (("name", 'a"b\\c\nd'),))], "1")
    assert 'pilothouse_x{name="a\\"b\\\\c\\nd"} 1' in text.splitlines()


async def test_what_is_open_is_told(house: House, agent: Agent) -> None:
    await agent.call("list_tabs")
    await agent.call("new_tab")
    await house.sessions.warden.look()
    told = {(one.name, one.labels): one.value for one in await house.gate.samples()}
    assert told["sessions", ()] >= 1
    assert told["tabs", ()] >= 2
    assert told["browsers", ()] == 1
    (memory,) = [value for (name, _), value in told.items() if name == "browser_memory_bytes"]
    assert 50e6 < memory < 5e9
    assert told["calls_waiting", ()] == 0


async def test_who_waits_for_a_turn_is_counted() -> None:
    turn = Turn()
    await turn.acquire()
    waiting = [asyncio.ensure_future(turn.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    assert turn.waiting == 3
    waiting.pop().cancel()
    turn.release()
    await waiting[0]
    assert turn.waiting == 1
    turn.release()
    await waiting[1]
    assert turn.waiting == 0


@pytest.mark.alone
def test_counting_costs_next_to_nothing() -> None:
    metrics = Metrics()
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        for number in range(10_000):
            metrics.called("click", "ok", number / 10_000)
        times.append((time.perf_counter() - began) / 10_000)
    assert min(times) < 20e-6  # other work on the machine says nothing about us


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("metrics")
    one = Process("serve", home=home)
    yield one.read()["url"], home
    one.process.terminate()
    one.wait()
    one.end()


def test_the_route_wants_an_agents_key(daemon: tuple[str, Path]) -> None:
    url, home = daemon
    keys = Keys(home)
    with httpx.Client(base_url=url) as client:
        assert client.get("/metrics").status_code == 401
        person = client.get("/metrics", headers={"X-API-Key": keys.person()})
        assert (person.status_code, person.json()["error"]["code"]) == (403, "unauthorized")
        told = client.get("/metrics", headers={"Authorization": f"Bearer {keys.agent()}"})
        assert told.status_code == 200
        assert told.headers["content-type"] == CONTENT_TYPE
        found = lines(told.text)
        assert found["pilothouse_sessions"] == 0
        assert 10e6 < found["pilothouse_daemon_memory_bytes"] < 1e9
        assert found["pilothouse_daemon_tasks"] > 0
        assert found["pilothouse_daemon_open_files"] > 3
