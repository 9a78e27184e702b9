"""F02: tabs of the person's sleep while nobody uses them. Whoever comes in the wrong moment gets what they asked for, once."""

import asyncio

import pytest

from pilothouse.browser.shared import SharedBrowser, SharedSeat
from pilothouse.browser.tab import Tab
from tests.extension.neighbour import Neighbour
from tests.own_chrome import Page
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("F02", "A03")

ROUNDS = 20


def at_work(person: Neighbour) -> tuple[SharedBrowser, SharedSeat, Tab]:
    """The one agent there is."""
    (browser,) = person.house.shared.running()
    (seat,) = browser.seats
    assert isinstance(seat, SharedSeat)
    (tab,) = seat.tabs
    return browser, seat, tab


@pytest.fixture
async def page(person: Neighbour, site: PageServer) -> Page:
    made = await person.share(site.url("/small.html"))
    await made.js("window.hits = 0")
    return made


async def test_work_that_comes_while_a_tab_falls_asleep(person: Neighbour, page: Page) -> None:
    async with person.agent() as agent:
        await agent.js("1")
        browser, seat, tab = at_work(person)
        for count in range(1, ROUNDS + 1):
            seat.let_sleep(-1)  # it is told, and nobody waits until it is done
            assert not browser.relay.is_awake(tab.channel.id)
            assert await agent.js("++hits") == count
        assert browser.relay.life(tab.channel.id) == ROUNDS + 1
    assert await page.js("hits") == ROUNDS


async def test_a_tab_in_which_somebody_works_does_not_fall_asleep(person: Neighbour, page: Page) -> None:
    async with person.agent() as agent:
        await agent.js("1")
        browser, seat, tab = at_work(person)
        work = asyncio.create_task(
            agent.js("new Promise(done => { window.end = () => done(++hits); document.title = 'on' })")
        )
        await page.until("document.title === 'on'")
        seat.let_sleep(-1)
        assert browser.relay.is_awake(tab.channel.id)
        await page.js("end()")
        assert await work == 1


async def test_many_who_wake_a_tab_at_once_wake_it_once(person: Neighbour, page: Page) -> None:
    async with person.agent() as agent:
        await agent.js("1")
        browser, seat, tab = at_work(person)
        for count in range(1, ROUNDS + 1):
            lives = browser.relay.life(tab.channel.id)
            seat.let_sleep(-1)
            looks = [agent.ask("get_page_state") for _ in range(3)]
            deeds = [agent.ask("evaluate_js", expression="++hits") for _ in range(3)]
            answers = await asyncio.gather(*looks, *deeds, agent.ask("get_cookies"))
            assert not [one.text for one in answers if one.failed]
            assert await page.js("hits") == count * 3
            assert browser.relay.life(tab.channel.id) == lives + 1


async def test_a_tab_that_the_person_takes_back_while_it_wakes(person: Neighbour, page: Page) -> None:
    number = await person.tab_id(page)
    async with person.agent() as agent:
        await agent.js("1")
        _, seat, _ = at_work(person)
        seat.let_sleep(-1)
        work = asyncio.create_task(agent.ask("evaluate_js", expression="++hits", timeout_ms=8000))
        await person.chrome.tell(person.popup, "unshareTab", tabId=number)
        answer = await work
        assert not answer.failed or answer.data["error"]["code"] in ("tab_closed", "not_found", "denied")
        await person.until(lambda: number not in person.link.tabs)
        await person.popup.until("chrome.runtime.sendMessage({type: 'state'}).then(it => it.attachedTabs === 0)")
        assert await page.js("hits") <= 1
        assert answer.failed or await page.js("hits") == 1


async def test_what_came_while_it_slept_is_seen_also_when_cookies_woke_it(person: Neighbour, page: Page) -> None:
    """Cookies are asked for through any tab, which wakes it; that is not yet a look at what is there now."""
    async with person.agent() as agent:
        assert len((await agent.call("get_frames"))["frames"]) == 1
        browser, seat, tab = at_work(person)
        seat.let_sleep(-1)
        await page.js(
            "new Promise(done => { const one = document.createElement('iframe'); one.src = 'form.html'; one.onload = done;"
            "document.body.append(one) }).then(() => 1)"
        )
        await browser.root.send("Storage.getCookies", timeout=10)
        assert browser.relay.is_awake(tab.channel.id)
        assert not seat._is_met(tab)
        assert len((await agent.call("get_frames"))["frames"]) == 2
        assert seat._is_met(tab)


async def test_a_tab_that_was_let_go_unheard_is_attached_again(person: Neighbour, page: Page) -> None:
    async with person.agent() as agent:
        await agent.js("1")
        browser, _, tab = at_work(person)
        life = browser.relay.life(tab.channel.id)
        worker = await person.chrome.page(await person.chrome.worker())
        await worker.js(f"chrome.debugger.detach({{tabId: {await person.tab_id(page)}}})")
        assert browser.relay.is_awake(tab.channel.id)
        assert await agent.js("++hits") == 1
        assert browser.relay.life(tab.channel.id) == life + 1
    assert await page.js("hits") == 1
