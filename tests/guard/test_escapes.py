"""A page tries every way out to a host that the policy denies: nothing arrives there, not even a connection.

Each way is tried in a real browser, held by the sluice alone, and by the sluice and Fetch together. scripts/afar tries
them with a profile too, and with the host allowed: that proves that the way exists, and is Chrome's business; what does
not arrive then is listed apart.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.policy import Decision
from pilothouse.guard.view import Watch
from tests.guard.escapes import AHEAD, ALLOWED, DENIED, NEVER, WAYS, Trap, Web
from tests.guard.views import ALL, ByHand
from tests.house import Agent, House
from tests.processes import ENGINE
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D04", "D05")

AT_A_TIME = 4
ARRIVAL_S = 20.0


class Noting(ByHand):
    """Tells which ports were refused, and when."""

    def __init__(self, *args: object, alone: bool = False, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.alone = alone
        self.refused: dict[int, asyncio.Event] = {}

    @property
    def watch(self) -> Watch:
        return "" if self.alone else super().watch

    def host(self, host: str, port: int) -> str | None:
        why = super().host(host, port)
        if why:
            self.event(port).set()
        return why

    def document(self, url: str) -> Decision:
        decision = super().document(url)
        if decision.verdict == "deny":
            self.event(urlsplit(url).port or 0).set()
        return decision

    def event(self, port: int) -> asyncio.Event:
        return self.refused.setdefault(port, asyncio.Event())


class Held(NamedTuple):
    house: House
    view: Noting
    profile: str

    @property
    def ways(self) -> dict[str, Callable[[Web], str]]:
        """Only a browser with a profile connects ahead; that the other ways exist is shown without one."""
        if not self.profile:
            return WAYS
        return AHEAD if self.lets_pass else {**WAYS, **AHEAD}

    @property
    def lets_pass(self) -> bool:
        return self.view.documents == ALL

    async def tries(self, way: Callable[[Web], str], site: PageServer, trap: Trap) -> Agent:
        agent = self.house.agent()
        if self.profile:
            await agent.call("open_session", profile=self.profile)
        with suppress(Failure):  # of a navigation that is refused
            await agent.call("navigate", url=way(Web(site, trap)))
        return agent


@asynccontextmanager
async def holding(how: str, home: Path, chrome: str = "") -> AsyncIterator[Held]:
    view = Noting(ALL if "allowed" in how else [ALLOWED], alone="alone" in how)
    profile = "trapped" if "profile" in how else ""
    house = House(home, view, {DENIED: "127.0.0.1", ALLOWED: "127.0.0.1"}, chrome)
    if profile:
        await house.agent().call("create_profile", name=profile)
    yield Held(house, view, profile)
    await house.close()


def afar(*how: str) -> list[Any]:
    return [pytest.param(one, marks=pytest.mark.afar) for one in how]


HELD = ["the sluice alone", "Fetch too"]


@pytest.fixture(params=[*HELD, *afar("allowed", *(f"profile, {how}" for how in (*HELD, "allowed")))])
async def held(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Held]:
    """With a profile in all of Chromium; without in its engine alone, at a third of the work."""
    async with holding(request.param, tmp_path, "" if "profile" in request.param else ENGINE) as one:
        yield one


@pytest.fixture(params=[*HELD, *afar("profile, allowed")])
async def held_whole(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Held]:
    """All of Chromium: the engine alone has no windows, prefetches nothing, and never ends its search for a way by UDP."""
    async with holding(request.param, tmp_path) as one:
        yield one


async def happens(event: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(event.wait(), ARRIVAL_S)
    except TimeoutError:
        return False
    return True


async def test_no_way_leads_to_a_denied_host(held: Held, site: PageServer):
    turns = asyncio.Semaphore(AT_A_TIME)
    leaks: dict[str, list[bytes]] = {}
    untried: list[str] = []

    async def attempt(name: str, way: Callable[[Web], str]) -> None:
        async with turns, Trap() as trap:
            agent = await held.tries(way, site, trap)
            if not await happens(trap.arrival if held.lets_pass else held.view.event(trap.port)):
                untried.append(name)
            await agent.leave()
            if trap.caught:
                leaks[name] = trap.caught

    await asyncio.gather(*(attempt(name, way) for name, way in held.ways.items()))
    assert not untried, "neither arrived nor refused: these prove nothing"
    assert set(leaks) == (set(held.ways) if held.lets_pass else set())


async def test_what_a_chrome_of_ours_never_does(held_whole: Held, site: PageServer):
    async with Trap() as trap:
        for way in NEVER.values():
            agent = await held_whole.tries(way, site, trap)
            await agent.call("wait_for", function="document.title == 'done'")
            await agent.leave()
        assert trap.caught == []


def test_there_are_enough_ways():
    assert len(WAYS) >= 34
