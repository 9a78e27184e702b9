"""The person's Chrome goes away and comes back, again and again, under load: its extension's worker is killed, or the
whole browser stands still for a while, as a laptop that sleeps. Or nothing happens, for an hour.

`scripts/soak --extension-kill 50` runs it, and a shorter form is a test. Every action has a name that it leaves in the
page, so that one which ran twice, or after its caller was told that it would not, is seen.
"""

import asyncio
import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.extension.neighbour import Neighbour, neighbour
from tests.house import Agent
from tests.own_chrome import Page
from tests.server import PageServer

DEADLINE_MS = 8_000
LATE_S = 1.0  # no call outlives its deadline by more
BACK_S = 2.0
LOOK_EVERY_S = 20.0
LONGEST_PAUSE_S = 1.5
Told = Literal["done", "not done", "perhaps"]
CLEAR = {"browser_gone", "timeout", "tab_closed", "dialog_open"}
_PAGE = """document.body.innerHTML = '<button id=go onclick="did(this.name)">Go</button>';
window.hits = {}; window.did = (name) => { hits[name] = (hits[name] || 0) + 1; }"""


class Report(msgspec.Struct):
    """What came of it; `wrong` is empty when all is well."""

    calls: int = 0
    ok: int = 0
    codes: dict[str, int] = {}
    back_s: list[float] = []
    wrong: list[str] = []

    def told(self) -> str:
        slowest = max(self.back_s, default=0.0)
        codes = ", ".join(f"{number} {code}" for code, number in sorted(self.codes.items()))
        lines = [f"{self.calls} calls: {self.ok} done, {codes or 'none failed'}; back after {slowest:.2f} s at most"]
        return "\n".join([*lines, *self.wrong])


class Load:
    """One agent at work in a page of the person's."""

    def __init__(self, agent: Agent, tab: str, report: Report) -> None:
        self._agent = agent
        self._tab = tab
        self._report = report
        self._number = 0
        self.told: dict[str, Told] = {}  # what was asked for, by name

    async def run(self, over: asyncio.Event) -> None:
        while not over.is_set():
            for step in (self._note, self._press, self._look):
                await step()

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}{self._number}"

    async def _note(self) -> None:
        name = self._name("note")
        self.told[name] = await self._script(f"did('{name}')")

    async def _press(self) -> None:
        name = self._name("press")
        if await self._script(f"void (document.querySelector('#go').name = '{name}')") == "done":
            self.told[name] = await self._call("click", target="#go")

    async def _script(self, expression: str) -> Told:
        return await self._call("evaluate_js", expression=expression, timeout_ms=DEADLINE_MS)

    async def _look(self) -> None:
        await self._call("get_page_state")

    async def _call(self, tool: str, **args: Any) -> Told:
        began = time.monotonic()
        answer = await self._agent.ask(tool, tab=self._tab, **args)
        took = time.monotonic() - began
        code = answer.data["error"]["code"] if answer.failed else ""
        self._report.calls += 1
        self._report.ok += not code
        if took > DEADLINE_MS / 1000 + LATE_S:
            self._report.wrong.append(f"{tool} took {took:.1f} s")
        if code:
            self._report.codes[code] = self._report.codes.get(code, 0) + 1
            if code not in CLEAR:
                self._report.wrong.append(f"{tool} failed with {answer.text}")
            await asyncio.sleep(0.01)
        return _told(answer.data["error"]) if code else "done"


async def kill_often(person: Neighbour, page: Page, times: int, seed: int = 0) -> Report:
    """Kill the worker at random moments while an agent works in the page, which the person shares."""
    rolls, report = random.Random(seed), Report()
    async with _at_work(person, page, report):
        for _ in range(times):
            await asyncio.sleep(rolls.uniform(0.05, LONGEST_PAUSE_S))
            life = person.link.boot
            began = time.monotonic()
            await person.chrome.kill_worker()
            await person.until(lambda life=life: person.link.boot != life and _is_back(person), 30)
            report.back_s.append(time.monotonic() - began)
    return report


async def stand_still(person: Neighbour, page: Page, seconds: float) -> Report:
    """The whole browser stands still for a while."""
    report = Report()
    async with _at_work(person, page, report):
        await asyncio.sleep(0.5)
        person.chrome.freeze(True)
        try:
            await asyncio.sleep(seconds)
        finally:
            person.chrome.freeze(False)
        before = report.ok
        await person.until(lambda: report.ok > before + 3, 30)
    return report


async def rest(person: Neighbour, minutes: float) -> Report:
    """Nobody does anything. The connection stands, what the person sees is true, and the next call finds its tab."""
    report, losses = Report(), []
    unhear = person.link.on_state(losses.append)
    async with person.agent() as agent:
        answers = [await agent.ask("evaluate_js", expression="1+1")]
        ends = time.monotonic() + minutes * 60
        while (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(left, LOOK_EVERY_S))
            report.wrong += await _untrue(person)
        answers.append(await agent.ask("evaluate_js", expression="1+1"))
    unhear()
    report.calls, report.ok = len(answers), sum(not one.failed for one in answers)
    report.wrong += [one.text for one in answers if one.failed] + [f"it was {state}" for state in losses]
    return report


async def _untrue(person: Neighbour) -> list[str]:
    """What the badge says, beside what is so. It is read past the worker: a question would keep that awake."""
    badge = await person.popup.js("chrome.action.getBadgeText({})")
    tabs = [(one.relay, tab) for one in person.house.shared.running() for seat in one.seats for tab in seat.tabs]
    held = [tab for relay, tab in tabs if relay.is_awake(tab.channel.id)]
    meant = "off" if not person.link.connected else "●" if held else "on"
    return [] if badge == meant else [f"the badge says {badge} instead of {meant}"]


def _is_back(person: Neighbour) -> bool:
    return person.link.connected and all(not one.absence() for one in person.house.shared.running())


@contextlib.asynccontextmanager
async def _at_work(person: Neighbour, page: Page, report: Report) -> AsyncIterator[None]:
    await page.js(_PAGE)
    over = asyncio.Event()
    async with person.agent() as agent:
        await agent.call("open_session", browser="extension", timeout_ms=DEADLINE_MS)
        tab = (await agent.call("list_tabs"))["tabs"][0]["tab"]
        load = Load(agent, tab, report)
        working = asyncio.create_task(load.run(over))
        yield
        over.set()
        await asyncio.wait_for(working, DEADLINE_MS / 1000 * 4)
    report.wrong += compared(Counter(await page.js("hits")), load.told)


def _told(error: dict[str, Any]) -> Told:
    """What a caller may believe who got this error: a browser that is away did nothing, unless it says that it may."""
    is_sure = error["code"] == "browser_gone" and not error["details"].get("may_have_run")
    return "not done" if is_sure or "nothing was done" in error["message"] else "perhaps"


def compared(hits: "Counter[str]", told: dict[str, Told]) -> list[str]:
    """Where what ran in the page is not what callers were told."""
    twice = [f"{name} ran {number} times" for name, number in hits.items() if number > 1]
    missing = [f"{name} was told as done and did not run" for name in told if told[name] == "done" and not hits[name]]
    denied = [f"{name} was told as not done and ran" for name in told if told[name] == "not done" and hits[name]]
    return twice + missing + denied


async def soak(kills: int, pause_s: float, idle_minutes: float, seed: int) -> int:
    """The long form; the answer is the exit code."""
    with tempfile.TemporaryDirectory() as folder, PageServer() as site:
        async with neighbour(Path(folder)) as person:
            page = await person.share(site.url("/small.html"))
            killed = await kill_often(person, page, kills, seed)
            killed.wrong += [f"it took {one:.1f} s to come back" for one in killed.back_s if one > BACK_S]
            reports = [_shown("killed", killed)]
            reports.append(_shown("stood still", await stand_still(person, page, pause_s)))
            reports.append(_shown("rested", await rest(person, idle_minutes)))
    return int(any(one.wrong for one in reports))


def _shown(what: str, report: Report) -> Report:
    print(f"{what}: {report.told()}", flush=True)  # noqa: T201
    return report
