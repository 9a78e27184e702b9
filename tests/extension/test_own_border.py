"""What holds at the edge of an agent's tabs in the person's own Chrome: from the first moment, in every tab, and also
when the connection breaks or the person says stop. 127.0.0.1 is allowed, localhost is not, or has to be asked about."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from pilothouse.browser.shared import SharedSeat
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.guard.rules import read_rules
from tests.extension.neighbour import SANDBOX, Neighbour
from tests.guard.escapes import Trap
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D04", "F02")

ALLOWED = '[[rules]]\nhost = "127.0.0.1"\nwrite = true\n'
FORBIDS = f'{ALLOWED}[[rules]]\nhost = "localhost"\nread = false'
ASKS = f'template = "sandbox"\ndefault = "ask"\n{ALLOWED}'
QUIET_S = 1.0
SAID = """chrome.tabs.query({}).then(all => all.map(one => one.title)).then(
    titles => titles.includes('blocked') && !titles.includes('waiting'))"""

Say = Callable[[str], None]


@pytest.fixture
async def says(person: Neighbour) -> AsyncIterator[Say]:
    yield lambda text: person.house.policy.replace(read_rules(text))
    person.house.policy.replace(read_rules(SANDBOX))


@pytest.fixture
async def trap() -> AsyncIterator[Trap]:
    async with Trap() as one:
        yield one


def seat_and_tab(person: Neighbour, part: str) -> tuple[SharedSeat, Tab]:
    seats = [seat for one in person.house.shared.running() for seat in one.seats if isinstance(seat, SharedSeat)]
    return next((seat, tab) for seat in seats for tab in seat.tabs if part in tab.url)


async def nothing_comes(trap: Trap) -> None:
    """No request, that is: Chrome connects ahead, and says nothing."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(QUIET_S):
            while not any(trap.caught):
                trap.arrival.clear()
                await trap.arrival.wait()
    assert not any(trap.caught)


def fetching(trap: Trap) -> str:
    return f"fetch('http://localhost:{trap.port}/', {{mode: 'no-cors'}}).then(() => 'came', () => 'blocked')"


async def test_a_new_tab_is_held_from_the_beginning(person: Neighbour, site: PageServer, says: Say, trap: Trap) -> None:
    says(FORBIDS)
    page = site.inline(f"<title>waiting</title><script>{fetching(trap)}.then(said => document.title = said)</script>")
    async with person.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        for _ in range(3):
            await agent.call("new_tab", url=page)
            await person.popup.until(SAID)
    assert not trap.caught


async def test_a_window_that_a_tab_of_the_persons_opens(
    person: Neighbour, site: PageServer, says: Say, trap: Trap
) -> None:
    says(FORBIDS)
    await person.share(site.inline(f"<a id=go target=_blank href='{site.url('form.html')}'>go</a>"))
    async with person.agent() as agent:
        await agent.call("click", target="#go")
        await person.until(lambda: any("form.html" in one.url for one in person.link.tabs.values()))
        seat, tab = seat_and_tab(person, "form.html")
        await person.until(lambda: tab.target_id in seat.ruled)
        opened = await person.chrome.page(tab.target_id)
        assert await opened.js(fetching(trap)) == "blocked"
    assert not trap.caught


async def asked_about(person: Neighbour, site: PageServer, agent: Agent, trap: Trap) -> None:
    """A document of the trap's is held, and nobody answers."""
    await agent.call("navigate", url=site.url("small.html?held"))
    seat, tab = seat_and_tab(person, "?held")
    page = await person.chrome.page(tab.target_id)
    await page.js(f"void setTimeout(() => location.href = 'http://localhost:{trap.port}/', 0)")
    await person.until(lambda: seat.intercept.asking(tab.channel))


async def test_what_is_held_does_not_go_on_when_the_worker_dies(
    person: Neighbour, site: PageServer, says: Say, trap: Trap
) -> None:
    says(ASKS)
    async with person.agent() as agent:
        await asked_about(person, site, agent, trap)
        life = person.link.boot
        await person.chrome.kill_worker()
        await person.until(lambda: person.link.boot != life and person.link.connected)
        await nothing_comes(trap)


async def test_nor_when_the_person_stops_everything(person: Neighbour, site: PageServer, says: Say, trap: Trap) -> None:
    says(ASKS)
    async with person.agent() as agent:
        await asked_about(person, site, agent, trap)
        await person.chrome.tell(person.popup, "stop")
        await nothing_comes(trap)


async def test_nor_does_a_tab_fall_asleep_then(person: Neighbour, site: PageServer, says: Say, trap: Trap) -> None:
    says(ASKS)
    async with person.agent() as agent:
        await asked_about(person, site, agent, trap)
        seat, tab = seat_and_tab(person, "")
        seat.let_sleep(-1)
        assert person.house.shared.running()[0].relay.is_awake(tab.channel.id)
        await nothing_comes(trap)


async def test_rules_that_cannot_be_held_stop_the_work(person: Neighbour, site: PageServer, says: Say) -> None:
    async with person.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        says(SANDBOX + "".join(f'\n[[rules]]\nhost = "h{number}.test"\nread = false' for number in range(1000)))
        with pytest.raises(Failure) as raised:
            await agent.call("get_page_state")
        assert raised.value.code == "over_limit"


async def test_no_rule_stays_behind(person: Neighbour, site: PageServer, says: Say) -> None:
    says(FORBIDS)
    await person.share(site.url("small.html"))
    async with person.agent() as agent:
        await agent.call("get_page_state")
        assert await person.popup.js("chrome.declarativeNetRequest.getSessionRules().then(all => all.length)")
    await person.popup.until("chrome.declarativeNetRequest.getSessionRules().then(all => !all.length)")


@promise("D01")
async def test_cookies_of_other_sites_are_the_persons(person: Neighbour, site: PageServer) -> None:
    other = await person.chrome.open(site.url("small.html").replace("127.0.0.1", "localhost"))
    await other.js("void (document.cookie = 'session=hunter2')")
    async with person.agent() as agent:
        await agent.call("navigate", url=site.url("small.html"))
        await agent.js("void (document.cookie = 'mine=1')")
        assert [one["name"] for one in (await agent.call("get_cookies"))["cookies"]] == ["mine"]
    async with person.agent() as agent:
        await agent.call("open_session", browser="extension", allowed_domains=["127.0.0.1"])
        await agent.call("navigate", url=site.url("small.html"))
        assert (await agent.call("get_cookies", domain="localhost"))["total"] == 0
        with pytest.raises(Failure) as raised:
            await agent.call("set_cookie", name="a", value="1", domain="localhost")
        assert raised.value.code == "denied"
