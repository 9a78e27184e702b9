"""The person's Chrome goes away and comes back: nothing runs twice, nothing runs late, and everybody is told."""

import asyncio
import re
import time
from collections import Counter

import pytest

from bench import away
from bench.away import BACK_S, Told, compared, kill_often, rest, stand_still
from tests.extension.neighbour import Neighbour
from tests.promises import promise
from tests.server import PageServer

pytestmark = [promise("F02", "F03"), pytest.mark.alone]


async def test_the_worker_dies_under_load(person: Neighbour, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "LONGEST_PAUSE_S", 0.5)
    page = await person.share(site.url("/small.html"))
    report = await kill_often(person, page, 5, seed=1)
    assert not report.wrong, report.told()
    assert report.ok > 5
    assert max(report.back_s) < BACK_S, report.told()


def test_what_callers_were_told_is_held_against_what_ran() -> None:
    hits = Counter({"twice": 2, "once": 1, "denied": 1, "perhaps": 1})
    told: dict[str, Told] = {
        "once": "done",
        "missing": "done",
        "denied": "not done",
        "perhaps": "perhaps",
        "no": "not done",
    }
    assert compared(hits, told) == [
        "twice ran 2 times",
        "missing was told as done and did not run",
        "denied was told as not done and ran",
    ]


async def test_who_is_cut_off_in_the_middle_hears_that_it_may_have_run(person: Neighbour, site: PageServer) -> None:
    """Also when its time ends while the browser is away: then the last word is about the browser, not about the tool."""
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        await agent.js("window.runs = 0")
        life = person.link.boot
        script = "runs++, document.title = 'it runs', new Promise(() => {})"
        cut = asyncio.create_task(agent.ask("evaluate_js", expression=script, timeout_ms=8000))
        await page.until("document.title === 'it runs'")
        await person.chrome.kill_worker()
        error = (await cut).data["error"]
        assert (error["code"], error["details"].get("may_have_run"), error["retryable"]) == (
            "browser_gone",
            True,
            False,
        )
        await person.until(lambda: person.link.boot != life and person.link.connected)
        assert await page.js("runs") == 1


async def test_the_browser_stands_still(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    report = await stand_still(person, page, 1.5)
    assert not report.wrong, report.told()


async def test_nobody_does_anything(person: Neighbour, site: PageServer) -> None:
    await person.share(site.url("/small.html"))
    report = await rest(person, 0.02)
    assert not report.wrong, report.told()


async def test_a_dialog_that_opened_unheard(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    async with person.agent() as agent:
        await agent.js("1")
        life = person.link.boot
        opened = asyncio.Event()
        page.channel.on("Page.javascriptDialogOpening", lambda _: opened.set())
        await page.channel.send("Page.enable")
        await person.chrome.kill_worker()
        await page.js("void setTimeout(() => alert('unheard'), 0)")
        await asyncio.wait_for(opened.wait(), 10)
        await person.until(lambda: person.link.boot != life and person.link.connected)
        answer = await agent.ask("evaluate_js", expression="1+1")
        assert answer.data["error"]["code"] == "dialog_open"
        await agent.call("handle_dialog", accept=True)
        assert await agent.js("1+1") == 2


async def test_nothing_runs_after_its_deadline(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    await page.js("window.late = 0")
    async with person.agent() as agent:
        await agent.js("1")
        person.chrome.freeze(True)
        try:
            began = time.monotonic()
            answer = await agent.ask("evaluate_js", expression="late++", timeout_ms=500)
            assert answer.failed
            assert time.monotonic() - began < 2
            # What Chrome has not read yet waits in its socket; by then the deadline is over of all of it.
            await asyncio.sleep(0.75)
        finally:
            person.chrome.freeze(False)
        assert await agent.js("late") == 0


async def test_refs_frames_and_tabs_live_on(person: Neighbour, site: PageServer) -> None:
    page = await person.share(site.url("/small.html"))
    await page.js("void (document.body.innerHTML = '<button onclick=\"window.hit = 1\">Go</button>')")
    async with person.agent() as agent:
        found = re.search(r"\be\d+\b", await agent.text("get_page_state"))
        assert found
        ref = found[0]
        life = person.link.boot
        await person.chrome.kill_worker()
        await person.until(lambda: person.link.boot != life and person.link.connected)
        await agent.call("click", target=ref)
        assert await page.js("window.hit") == 1
        assert [one["tab"] for one in (await agent.call("list_tabs"))["tabs"]] == ["t1"]
        await agent.call("navigate", url=site.url("/small.html?again"))
        assert await agent.js("location.search") == "?again"
