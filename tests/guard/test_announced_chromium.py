"""Documents that a person is asked about where Fetch is off: the sluice waits for the answer, and nothing gets out
before it. Each way is tried in a real browser against a server that notes every connection."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser.late import ask_again
from pilothouse.browser.navigate import _failed
from pilothouse.browser.tab import Tab
from pilothouse.guard import sluice
from pilothouse.guard.rules import read_rules
from pilothouse.guard.view import Watch
from tests.browser.looking import fails
from tests.guard.escapes import Trap
from tests.guard.test_border_chromium import LOAD, Asked, at, failure_of
from tests.guard.views import ByHand
from tests.house import Agent, House
from tests.processes import ENGINE
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D04", "D05", "D07")

SLOW_S = 0.3  # a person who takes longer than the sluice waits
FORM = "<form id=f method=post action='{there}'><input name=word value=secret-word></form>"
# How a page goes to another by itself: while it loads, as it has loaded, and later.
WAYS = {
    "at once": "<script>location = '{there}'</script>",
    "while pictures load": "<img src='/slow?ms=3000'><script>setTimeout(() => location = '{there}', 50)</script>",
    "meta refresh": "<meta http-equiv=refresh content='0;url={there}'>",
    "a form at load": FORM + "<script>onload = () => f.submit()</script>",
    "later": "<a id=a href='{there}'>go</a><script>onload = () => setTimeout(() => a.click(), 200)</script>",
    "a redirect": "<script>location = '/redirect?to={there}'</script>",
    "the top of a frame": "<iframe srcdoc=\"<script>top.location = '{there}'</script>\"></iframe>",
}


class Unheld(ByHand):
    """As an isolated session sees a policy that asks."""

    @property
    def watch(self) -> Watch:
        return "all" if self.lists else ""


@pytest.fixture(scope="module")
async def view() -> Unheld:
    return Unheld(["a.test"], ask=["new.test"])


@pytest.fixture(scope="module")
async def own(
    request: pytest.FixtureRequest, view: Unheld, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """In the engine alone, unless a test names another browser: "" is all of Chromium."""
    chrome: str = getattr(request, "param", ENGINE)
    names = ("a.test", "new.test", "evil.test")
    house = House(tmp_path_factory.mktemp("announced"), view, dict.fromkeys(names, "127.0.0.1"), chrome)
    yield house
    await house.close()


@pytest.fixture
async def one(own: House) -> AsyncIterator[Agent]:
    async with own.agent() as agent:
        yield agent


@pytest.fixture
async def person(own: House, monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    monkeypatch.setattr(own.approvals, "ask", asked.ask)
    return asked


@pytest.fixture
async def trap() -> AsyncIterator[Trap]:
    async with Trap() as trap:
        yield trap


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sluice, "_HEAR_OUT_S", SLOW_S)


def there(trap: Trap) -> str:
    return f"http://new.test:{trap.port}/"


def page(site: PageServer, body: str, trap: Trap) -> str:
    return site.inline(body.replace("{there}", there(trap))).replace("127.0.0.1", "a.test")


def tab_of(house: House, agent: Agent) -> Tab:
    (session,) = house.sessions.of((agent.caller.key, agent.caller.connection))
    assert session.current
    return session.current


async def is_asked(person: Asked, trap: Trap) -> None:
    """A question is open, and nobody has got out."""
    await asyncio.wait_for(person.heard.wait(), 10)
    assert person.urls == [there(trap)]
    assert trap.caught == []


async def goes(agent: Agent, site: PageServer, body: str, trap: Trap) -> None:
    """A page that goes elsewhere takes the navigation along."""
    await agent.call("get_current_url")  # to open a session takes time of its own
    await agent.ask("navigate", url=page(site, body, trap), timeout_ms=1000)


@pytest.mark.parametrize("way", WAYS)
async def test_it_waits_and_a_yes_lets_it_go_on(
    own: House, one: Agent, site: PageServer, person: Asked, trap: Trap, way: str
):
    await one.call("navigate", url=at(site, "a.test"))
    tab = tab_of(own, one)
    tab.channel.post("Page.navigate", url=page(site, WAYS[way], trap))
    await is_asked(person, trap)
    assert tab._home.intercept._wanted() == {}
    person.answer.set_result("yes")
    assert await tab.signal.until(lambda: tab.url == there(trap) and tab.document.dom_ready, 10)
    assert len([data for data in trap.caught if data.startswith((b"GET / ", b"POST / "))]) == 1
    assert (b"word=secret-word" in b"".join(trap.caught)) == ("form" in way)
    assert not any(request.failure for request in tab.network.requests() if request.url == there(trap))
    assert len(person.urls) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_no_keeps_it(own: House, one: Agent, site: PageServer, person: Asked, trap: Trap, way: str):
    await one.call("navigate", url=at(site, "a.test"))
    tab = tab_of(own, one)
    tab.channel.post("Page.navigate", url=page(site, WAYS[way], trap))
    await is_asked(person, trap)
    person.answer.set_result("no")
    assert await tab.signal.until(lambda: tab.document.unreachable, 10)
    assert await failure_of(one, f"{trap.port}/") == "a person said no"
    assert trap.caught == []


@pytest.mark.parametrize("how", ["open(args[0])", "open(args[0], '_blank', 'noopener')"])
@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_popups(one: Agent, site: PageServer, person: Asked, trap: Trap, how: str, answer: str):
    await one.call("navigate", url=at(site, "a.test"))
    await one.call("evaluate_js", expression=f"void {how}", args=[there(trap)])
    await is_asked(person, trap)
    person.answer.set_result(answer)
    popup = (await one.call("wait_for_new_tab"))["tab"]
    if answer == "yes":
        await one.call("wait_for", url=there(trap), tab=popup)
        assert any(data.startswith(b"GET / ") for data in trap.caught)
    else:
        await one.call("wait_for", idle=True, tab=popup)
        assert await failure_of(one, f"{trap.port}", tab=popup) == "a person said no"
        assert trap.caught == []


async def test_what_a_page_loads_is_refused_and_not_asked_about(
    one: Agent, site: PageServer, person: Asked, trap: Trap
):
    frame = page(site, "<iframe src='{there}'></iframe><img src='{there}'>", trap)
    await one.call("navigate", url=frame)
    assert (await one.call("evaluate_js", expression=LOAD, args=[there(trap)]))["value"] == "failed"
    assert trap.caught == []
    assert person.urls == []


async def test_a_denied_document_says_by_which_rule(one: Agent, site: PageServer, trap: Trap):
    await one.call("navigate", url=at(site, "a.test"))
    problem = await fails(one, "denied", "navigate", url=f"http://evil.test:{trap.port}/")
    assert problem.details["rule"] == "the rule for evil.test"
    assert trap.caught == []


async def test_who_does_not_wait_is_told_and_repeats(one: Agent, site: PageServer, person: Asked, trap: Trap):
    moved = at(site, "a.test", f"redirect?to={there(trap)}")
    problem = await fails(one, "approval_pending", "navigate", url=moved, timeout_ms=1500)
    assert f"whether {there(trap)} may be opened" in problem.message
    assert trap.caught == []
    person.answer.set_result("yes")
    assert (await one.call("navigate", url=moved))["status"] == 200
    assert len(person.urls) == 1


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("way", WAYS)
async def test_a_late_yes_asks_for_it_again_once(
    own: House, one: Agent, site: PageServer, person: Asked, trap: Trap, way: str
):
    await one.call("navigate", url=at(site, "a.test"))
    tab = tab_of(own, one)
    tab.channel.post("Page.navigate", url=page(site, WAYS[way], trap))
    await is_asked(person, trap)
    assert await tab.signal.until(lambda: tab.document.unreachable == there(trap), 10)
    assert trap.caught == []
    problem = await fails(one, "approval_pending", "wait_for", idle=True, timeout_ms=900)
    assert "a person is being asked" in problem.message
    person.answer.set_result("yes")
    assert await tab.signal.until(lambda: tab.url == there(trap) and not tab.document.unreachable, 10)
    assert len([data for data in trap.caught if data.startswith((b"GET / ", b"POST / "))]) == 1
    assert (b"word=secret-word" in b"".join(trap.caught)) == ("form" in way)
    assert len(person.urls) == 1


@pytest.mark.usefixtures("slow")
async def test_a_late_no_stays_a_no(own: House, one: Agent, site: PageServer, person: Asked, trap: Trap):
    await goes(one, site, WAYS["at once"], trap)
    tab = tab_of(own, one)
    await is_asked(person, trap)
    assert await tab.signal.until(lambda: tab.document.unreachable == there(trap), 10)
    person.answer.set_result("no")
    problem = await fails(one, "denied", "navigate", url=there(trap))
    assert "a person said no" in problem.message
    assert trap.caught == []


@pytest.mark.usefixtures("slow")
async def test_a_form_that_was_sent_on_is_not_sent_twice(
    own: House, one: Agent, site: PageServer, person: Asked, trap: Trap
):
    """The first server has it, the second does not: nobody knows whether the first may get it again."""
    body = FORM.replace("{there}", "/redirect?status=307&to={there}") + "<script>onload = () => f.submit()</script>"
    await goes(one, site, body, trap)
    tab = tab_of(own, one)
    await is_asked(person, trap)
    assert await tab.signal.until(lambda: tab.document.unreachable == there(trap), 10)
    (session,) = own.sessions.of((one.caller.key, one.caller.connection))
    told = asyncio.Event()
    session.watch.subscribe(lambda event: told.set() if "send it again" in event.text else None)
    person.answer.set_result("yes")
    await asyncio.wait_for(told.wait(), 10)
    assert trap.caught == []
    assert (await one.call("navigate", url=there(trap)))["status"] == 200


async def test_a_tab_that_is_elsewhere_by_then_stays_there(
    own: House, one: Agent, site: PageServer, person: Asked, trap: Trap
):
    await goes(one, site, WAYS["at once"], trap)
    await is_asked(person, trap)
    await one.call("navigate", url=at(site, "a.test", "form.html"))
    person.answer.set_result("yes")
    assert (await one.call("navigate", url=at(site, "a.test")))["status"] == 200
    assert [data for data in trap.caught if data] == []  # Chrome keeps the connection, and says nothing on it
    assert tab_of(own, one).url == at(site, "a.test")


async def test_what_was_taken_back_is_left_if_it_comes_from_a_cache(
    own: House, one: Agent, site: PageServer, person: Asked
):
    """No network is asked then; a person is all the same."""
    person.answer.set_result("yes")
    cached = site.inline("<h1>Kept</h1>", headers={"Cache-Control": "max-age=600"}).replace("127.0.0.1", "new.test")
    assert (await one.call("navigate", url=cached))["status"] == 200
    await one.call("navigate", url=at(site, "a.test"))
    (session,) = own.sessions.of((one.caller.key, one.caller.connection))
    border = session.context.intercept.border
    assert border
    border.expel(f"new.test:{site.port}")  # type: ignore[attr-defined]
    person.answer, person.heard = asyncio.get_running_loop().create_future(), asyncio.Event()
    left = asyncio.Event()
    session.watch.subscribe(lambda event: left.set() if event.kind == "denied" else None)
    tab = tab_of(own, one)
    tab.channel.post("Page.navigate", url=cached)
    await asyncio.wait_for(person.heard.wait(), 10)
    await asyncio.wait_for(left.wait(), 10)
    assert await tab.signal.until(lambda: tab.url == "about:blank", 10)
    assert any(request.from_cache for request in tab.network.requests() if "Kept" in request.url)
    person.answer.set_result("yes")
    assert (await one.call("navigate", url=cached))["status"] == 200


@pytest.mark.parametrize("own", [""], indirect=True)  # the engine alone has no pages of Chrome's own
@pytest.mark.parametrize("url", ["data:text/html,<h1>Hi</h1>", "chrome://version", "file:///etc/hostname"])
async def test_what_no_proxy_sees_is_left_at_once(own: House, one: Agent, site: PageServer, url: str):
    """No page can go there by itself, and the gate refuses these: here they come as if a person had typed them."""
    await one.call("navigate", url=at(site, "a.test"))
    (session,) = own.sessions.of((one.caller.key, one.caller.connection))
    tab = tab_of(own, one)
    left = asyncio.Event()
    session.watch.subscribe(lambda event: left.set() if event.kind == "denied" else None)
    await tab.channel.send("Page.navigate", url=url)
    await asyncio.wait_for(left.wait(), 10)
    assert await tab.signal.until(lambda: tab.url == "about:blank", 10)


@pytest.mark.parametrize("url", ["'file:///etc/hostname'", "'data:text/html,x'", "'chrome://version'"])
async def test_no_page_goes_there_by_itself(own: House, one: Agent, site: PageServer, url: str):
    await one.call("navigate", url=at(site, "a.test"))
    for script in (f"location = {url}", f"open({url})"):
        await one.ask("evaluate_js", expression=f"void ({script})")
        shown = [tab["url"] for tab in (await one.call("list_tabs"))["tabs"]]
        assert all(one.startswith(("http://a.test", "about:blank")) for one in shown), shown


async def test_a_page_made_by_a_page_is_one_of_its_own(one: Agent, site: PageServer, person: Asked):
    await one.call("navigate", url=at(site, "a.test"))
    made = "location = URL.createObjectURL(new Blob(['<h1>Made</h1>'], {type: 'text/html'}))"
    await one.call("evaluate_js", expression=f"void ({made})")
    await one.call("wait_for", text="Made")
    assert person.urls == []


async def asked_of(house: House) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while not (found := house.approvals.pending()):
            await asyncio.sleep(0.005)
    return found[0]


async def test_a_real_policy_and_a_real_question(tmp_path: Path, site: PageServer, trap: Trap):
    house = House(tmp_path, hosts={"a.test": "127.0.0.1", "new.test": "127.0.0.1"}, chrome=ENGINE)
    house.policy.replace(read_rules('default = "ask"\n[[rules]]\nhost = "a.test"\nwrite = true\n'))
    try:
        agent = house.agent()
        await agent.call("navigate", url=at(site, "a.test"))
        tab = tab_of(house, agent)
        assert tab._home.intercept._wanted() == {}
        tab.channel.post("Runtime.evaluate", expression=f"location = {there(trap)!r}")
        asked = await asked_of(house)
        assert (asked["tool"], asked["urls"]) == ("navigation", [there(trap)])
        assert trap.caught == []
        await house.approvals.answer(asked["id"], "allow", "domain")
        assert (await agent.call("get_page_state"))["url"] == there(trap)
        (grant,) = house.approvals.grants()
        await agent.call("navigate", url=at(site, "a.test"))
        house.approvals.revoke(grant["id"])
        caught = list(trap.caught)
        tab.channel.post("Runtime.evaluate", expression=f"location = {there(trap)!r}")
        await house.approvals.answer((await asked_of(house))["id"], "deny")
        assert await tab.signal.until(lambda: tab.document.unreachable, 10)
        assert trap.caught == caught
    finally:
        await house.close()


@pytest.mark.usefixtures("slow")
async def test_a_late_yes_does_not_break_into_a_navigation(
    own: House, one: Agent, site: PageServer, person: Asked, trap: Trap, monkeypatch: pytest.MonkeyPatch
):
    """The page has begun to go elsewhere, and nothing was sent for it yet."""
    await goes(one, site, WAYS["at once"], trap)
    tab = tab_of(own, one)
    await is_asked(person, trap)
    assert await tab.signal.until(lambda: tab.document.unreachable == there(trap), 10)
    loader, sent = tab.document.loader_id, list[str]()
    monkeypatch.setattr(tab, "denies", lambda url: True)
    monkeypatch.setattr(tab.channel, "post", lambda method, **params: sent.append(method))
    announced = {"loaderId": loader, "request": {"url": there(trap), "method": "GET"}}
    tab.route.navigating = True
    await ask_again(tab, announced)
    assert sent == []
    tab.route.navigating = False
    await ask_again(tab, announced)
    assert sent == ["Page.reload"]
    monkeypatch.undo()
    tab.route.navigating = False


async def test_who_failed_elsewhere_is_not_told_of_a_question(own: House, one: Agent, site: PageServer) -> None:
    await one.call("navigate", url=at(site, "a.test"))
    tab = tab_of(own, one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tab._home.intercept, "asking", lambda channel: "http://new.test/")
        assert _failed(tab, "http://new.test/#part", "net::ERR_FAILED", None).code == "approval_pending"
        assert _failed(tab, "http://a.test:1/", "net::ERR_FAILED", None).code == "navigation_failed"
