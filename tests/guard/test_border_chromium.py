"""The policy in a real browser: documents and what pages load by separate lists, questions, changes, explanations."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.policy import Decision, Question
from tests.browser.looking import fails
from tests.guard.escapes import Trap
from tests.guard.views import ByHand
from tests.house import Agent, House
from tests.processes import ENGINE
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D04", "D05")

NAMES = ("a.test", "b.test", "cdn.test", "other.test", "new.test", "evil.test")
LOAD = (
    "return await Promise.race([fetch(args[0], {mode: 'no-cors'}).then(() => 'loaded', () => 'failed'),"
    " new Promise(d => setTimeout(d, 5000, 'late'))])"
)


class Asked:
    """A person who is asked: what, and what they say."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.urls: list[str] = []
        self.heard = asyncio.Event()
        self.answered = asyncio.Event()

    async def ask(self, question: Question, decision: Decision) -> None:
        if decision.verdict == "allow":
            return
        self.urls += question.urls
        self.heard.set()
        said = await asyncio.shield(self.answer)
        self.answered.set()
        if said != "yes":
            raise Failure("approval_denied", "a person said no")


@pytest.fixture(scope="module")
async def view() -> ByHand:
    return ByHand()


@pytest.fixture(scope="module")
async def own(
    request: pytest.FixtureRequest, view: ByHand, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """In the engine alone, unless a test names another browser: "" is all of Chromium."""
    chrome: str = getattr(request, "param", ENGINE)
    house = House(tmp_path_factory.mktemp("border"), view, dict.fromkeys(NAMES, "127.0.0.1"), chrome)
    yield house
    await house.close()


@pytest.fixture
async def one(own: House, view: ByHand) -> AsyncIterator[Agent]:
    """A client in a house without rules; a test makes them, and `obeys` puts them in force."""
    view.become()
    async with own.agent() as agent:
        yield agent


@pytest.fixture
async def person(own: House, monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    monkeypatch.setattr(own.approvals, "ask", asked.ask)
    return asked


async def obeys(house: House, agent: Agent) -> None:
    """Until the rules of now are in force in every tab of an agent that has a session already."""
    house.borders.changed()
    for session in house.sessions.of((agent.caller.key, agent.caller.connection)):
        await session.context.intercept.apply()


def at(site: PageServer, host: str, path: str = "small.html") -> str:
    return f"http://{host}:{site.port}/{path}"


async def load(agent: Agent, url: str, **place: Any) -> str:
    return (await agent.call("evaluate_js", expression=LOAD, args=[url], **place))["value"]


async def failure_of(agent: Agent, pattern: str, **place: Any) -> str:
    found = (await agent.call("get_network_log", url_pattern=pattern, **place))["requests"]
    return found[-1]["failure"]


async def test_without_rules_fetch_is_off(own: House, one: Agent, site: PageServer):
    await one.call("navigate", url=at(site, "a.test"))
    (session,) = own.sessions.of((one.caller.key, one.caller.connection))
    assert session.context.intercept._wanted() == {}


async def test_a_denied_document_is_explained(view: ByHand, one: Agent, site: PageServer):
    view.become(["a.test"])
    await one.call("navigate", url=at(site, "a.test"))
    problem = await fails(one, "denied", "navigate", url=at(site, "evil.test"))
    assert "evil.test is not allowed" in problem.message
    assert problem.details["rule"] == "the rule for evil.test"
    hidden = at(site, "a.test", f"redirect?to={at(site, 'evil.test')}")
    assert "evil.test is not allowed" in (await fails(one, "denied", "navigate", url=hidden)).message
    assert await failure_of(one, "evil.test") == "evil.test is not allowed"


async def test_a_host_may_be_loaded_from_and_not_opened(view: ByHand, one: Agent, site: PageServer):
    view.become(["a.test"], resources={"a.test": ["cdn.test"]})
    await one.call("navigate", url=at(site, "a.test"))
    assert await load(one, at(site, "cdn.test")) == "loaded"
    await fails(one, "denied", "navigate", url=at(site, "cdn.test"))
    await one.call("navigate", url=at(site, "a.test"))
    frame = f"document.body.innerHTML = `<iframe src='{at(site, 'cdn.test')}'></iframe>`"
    await one.call("evaluate_js", expression=frame)
    await one.call("wait_for", idle=True)
    assert any("cdn.test" in frame["url"] for frame in (await one.call("get_frames"))["frames"])


async def test_two_open_pages_have_two_lists(view: ByHand, one: Agent, site: PageServer):
    view.become(["a.test", "b.test"], resources={"a.test": ["cdn.test"], "b.test": ["other.test"]})
    await one.call("navigate", url=at(site, "a.test"))
    await one.call("new_tab", url=at(site, "b.test"))
    first, second = (tab["tab"] for tab in (await one.call("list_tabs"))["tabs"])
    for tab, host, came in [
        (first, "cdn.test", "loaded"), (first, "other.test", "failed"),
        (second, "other.test", "loaded"), (second, "cdn.test", "failed"),
    ]:  # fmt: skip
        assert await load(one, at(site, host, f"echo?{tab}"), tab=tab) == came, (tab, host)
    assert await failure_of(one, f"*other.test*{first}", tab=first) == (
        "pages of a.test may not load from other.test (resources of the rule for a.test)"
    )
    # Neither by a redirect of its own host, nor by a frame, a worker, or a page it wrote into an empty window.
    moved = at(site, "a.test", f"redirect?to={at(site, 'other.test')}")
    assert await load(one, moved, tab=first) == "failed"
    for script in (WRITTEN, WORKER, FRAME, SHARED):
        for url, came in (
            (at(site, "other.test", "echo?x"), "failed"),
            (moved, "failed"),
            # A shared worker, which many pages may use, keeps to its own origin.
            (at(site, "cdn.test", "echo?x"), "failed" if script == SHARED else "loaded"),
            (at(site, "a.test", "echo?x"), "loaded"),
        ):
            found = await one.call("evaluate_js", expression=script, args=[url], tab=first)
            assert found["value"] == came, (script, url)
    # A page that takes another's place in the tab brings its own list.
    await one.call("navigate", url=at(site, "b.test"), tab=first)
    assert await load(one, at(site, "other.test"), tab=first) == "loaded"
    assert await load(one, at(site, "cdn.test"), tab=first) == "failed"


_TRY = "`fetch(${JSON.stringify(args[0])}, {mode: 'no-cors'}).then(() => 'loaded', () => 'failed')`"
WRITTEN = f"const w = open('about:blank'); const found = await w.eval({_TRY}); w.close(); return found"
WORKER = f"""const w = new Worker(URL.createObjectURL(new Blob([{_TRY} + '.then(postMessage)'])));
return await new Promise(done => w.onmessage = e => done(e.data))"""
SHARED = f"""const code = 'onconnect = e => ' + {_TRY} + '.then(m => e.ports[0].postMessage(m))';
const w = new SharedWorker(URL.createObjectURL(new Blob([code])));
return await new Promise(done => w.port.onmessage = e => done(e.data))"""
FRAME = f"""const f = document.createElement('iframe'); document.body.append(f);
return await f.contentWindow.eval({_TRY})"""


async def test_rules_of_the_session_go_on_below_the_policy(view: ByHand, one: Agent, site: PageServer):
    view.become(["a.test", "b.test"], resources={"a.test": ["b.test"]})
    await one.call("navigate", url=at(site, "a.test"))
    for host in ("b.test", "other.test"):
        await one.call("mock_url", pattern=host, body="mocked")
    read = "return await fetch(args[0]).then(r => r.text(), () => 'failed')"
    for host, came in (("b.test", "mocked"), ("other.test", "failed")):
        assert (await one.call("evaluate_js", expression=read, args=[at(site, host)]))["value"] == came


async def test_a_navigation_waits_for_a_person(view: ByHand, one: Agent, site: PageServer, person: Asked):
    view.become(["a.test"], ask=["new.test"])
    page = site.inline(f"<a href='{at(site, 'new.test')}' id=a>go</a>").replace("127.0.0.1", "a.test")
    await one.call("navigate", url=page)
    clicked = asyncio.ensure_future(one.call("evaluate_js", expression="void a.click()"))
    await asyncio.wait_for(person.heard.wait(), 10)
    assert person.urls == [at(site, "new.test")]
    person.answer.set_result("yes")
    await clicked
    await one.call("wait_for", url="new.test")
    assert (await one.call("navigate", url=at(site, "new.test", "form.html")))["status"] == 200
    assert len(person.urls) == 1


@pytest.mark.parametrize("how", ["open(args[0])", "open(args[0], '_blank', 'noopener')"])
async def test_a_popup_waits_for_a_person_and_a_no_keeps_it(
    view: ByHand, one: Agent, site: PageServer, person: Asked, how: str
):
    view.become(["a.test"], ask=["new.test"])
    await one.call("navigate", url=at(site, "a.test"))
    async with Trap() as trap:
        there = f"http://new.test:{trap.port}/"
        await one.call("evaluate_js", expression=f"void {how}", args=[there])
        await asyncio.wait_for(person.heard.wait(), 10)
        person.answer.set_result("no")
        popup = (await one.call("wait_for_new_tab"))["tab"]
        await one.call("wait_for", idle=True, tab=popup)
        assert trap.caught == []
        assert await failure_of(one, f"{trap.port}", tab=popup) == "a person said no"


async def test_who_does_not_wait_for_a_person_is_told_that_one_is_asked(
    view: ByHand, one: Agent, site: PageServer, person: Asked
):
    view.become(["a.test"], ask=["new.test"])
    await one.call("navigate", url=at(site, "a.test"))
    moved = at(site, "a.test", f"redirect?to={at(site, 'new.test')}")
    problem = await fails(one, "approval_pending", "navigate", url=moved, timeout_ms=1000)
    assert f"whether {at(site, 'new.test')} may be opened" in problem.message
    person.answer.set_result("yes")
    await asyncio.wait_for(person.answered.wait(), 10)  # a real one's yes holds at once; this one's has some way to go
    assert (await one.call("navigate", url=moved))["status"] == 200
    assert len(person.urls) == 1


async def test_nobody_who_answers_means_no(view: ByHand, one: Agent, site: PageServer):
    view.become(["a.test"], ask=["new.test"])
    await one.call("navigate", url=at(site, "a.test"))
    problem = await fails(one, "approval_pending", "navigate", url=at(site, "new.test"), timeout_ms=1500)
    assert "a person is being asked" in problem.message
    assert "a.test" in await one.js("location.host")


async def test_a_change_cuts_what_is_open_and_holds_at_once(own: House, view: ByHand, one: Agent, site: PageServer):
    await one.call("navigate", url=at(site, "a.test"))
    script = """const s = new WebSocket(args[0]); window.gone = new Promise(d => s.onclose = () => d('closed'));
    return await new Promise(d => { s.onopen = () => d('open'); s.onerror = () => d('failed') })"""
    socket = [f"ws://b.test:{site.port}/ws"]
    assert (await one.call("evaluate_js", expression=script, args=socket))["value"] == "open"
    view.become(["a.test"])
    await obeys(own, one)
    assert (await one.call("evaluate_js", expression="return await window.gone"))["value"] == "closed"
    assert (await one.call("evaluate_js", expression=script, args=socket))["value"] == "failed"
    await fails(one, "denied", "navigate", url=at(site, "b.test"))
    view.become()
    await obeys(own, one)
    assert (await one.call("navigate", url=at(site, "b.test")))["status"] == 200


@pytest.mark.parametrize("own", [""], indirect=True)  # the engine alone has no pages of Chrome's own
@pytest.mark.parametrize(
    "url", ["data:text/html,<h1>Hi</h1>", "chrome://version", "about:version", "file:///etc/hostname"]
)
async def test_what_no_proxy_sees_is_left_at_once(own: House, view: ByHand, one: Agent, site: PageServer, url: str):
    """The gate refuses these; here they come by another way, as if a person had typed them into a window."""
    view.become(["a.test"])
    await one.call("navigate", url=at(site, "a.test"))
    (session,) = own.sessions.of((one.caller.key, one.caller.connection))
    tab = session.current
    assert tab
    left = asyncio.Event()
    session.watch.subscribe(lambda event: left.set() if event.kind == "denied" else None)
    reply = await tab.channel.send("Page.navigate", url=url)
    if url.startswith("file:"):  # Fetch sees this one: nothing was read
        assert reply["errorText"] == "net::ERR_BLOCKED_BY_CLIENT"
    else:
        await asyncio.wait_for(left.wait(), 10)
        assert await tab.signal.until(lambda: tab.url == "about:blank", 10)


async def test_a_name_that_moves_to_another_address_is_judged_there(
    own: House, view: ByHand, one: Agent, site: PageServer
):
    """DNS rebinding: the page's own name leads elsewhere when it asks the second time."""
    hosts = own.sluice.resolver._hosts
    for private in ([], ["127.0.0.3"]):
        view.become(private=private)
        hosts["other.test"] = "127.0.0.1"
        await one.call("navigate", url=at(site, "other.test"))
        hosts["other.test"] = "127.0.0.3"
        async with Trap("127.0.0.3") as trap:
            came = await load(one, f"http://other.test:{trap.port}/")
            assert (came, bool(trap.caught)) == (("failed", False) if private else ("loaded", True))
    assert await failure_of(one, f"other.test:{trap.port}") == "127.0.0.3 is private"


async def test_a_warm_browser_knows_the_policy_of_the_day(own: House, view: ByHand, site: PageServer):
    """Its context was made, and its tab opened, before the session and before the rules."""
    own.pool.warm_up()
    view.become(["a.test"], resources={"a.test": ["cdn.test"]})
    async with own.agent() as agent:
        await agent.call("navigate", url=at(site, "a.test"))
        assert await load(agent, at(site, "cdn.test")) == "loaded"
        assert await load(agent, at(site, "other.test")) == "failed"
        await fails(agent, "denied", "navigate", url=at(site, "cdn.test"))


async def test_seats_of_one_profile_have_their_own_pages(tmp_path: Path, site: PageServer):
    """Two sessions in one browser share its way out; what their pages load is still held apart."""
    view = ByHand(["a.test", "b.test"], resources={"a.test": ["cdn.test"], "b.test": ["other.test"]})
    house = House(tmp_path, view, dict.fromkeys(NAMES, "127.0.0.1"))
    first, second = house.agent(), house.agent()
    await first.call("create_profile", name="shared")
    for agent, host in ((first, "a.test"), (second, "b.test")):
        await agent.call("open_session", profile="shared")
        await agent.call("navigate", url=at(site, host))
    assert await load(first, at(site, "cdn.test")) == "loaded"
    assert await load(first, at(site, "other.test")) == "failed"
    assert await load(second, at(site, "other.test")) == "loaded"
    await fails(second, "denied", "navigate", url=at(site, "evil.test"))
    await house.close()


async def test_a_new_page_is_not_served_by_the_list_of_the_one_before(view: ByHand, one: Agent, site: PageServer):
    """Its first request may be stopped before the browser has told that it is there."""
    view.become(["a.test", "b.test"], resources={"a.test": ["cdn.test"], "b.test": ["other.test"]})
    async with Trap() as trap:
        for number in range(10):
            await one.call("navigate", url=at(site, "a.test", f"small.html?{number}"))
            body = f"<script src=http://cdn.test:{trap.port}/></script><p>{number}"
            await one.call("navigate", url=site.inline(body).replace("127.0.0.1", "b.test"))
        assert [data for data in trap.caught if data] == []


async def test_a_password_in_the_address_still_works(view: ByHand, one: Agent, site: PageServer):
    view.become(["a.test"])
    await one.call("navigate", url=at(site, "a.test"))
    inside = at(site, "a.test", "basic-auth").replace("http://", "http://ada:lovelace@")
    assert (await one.call("navigate", url=inside))["status"] == 200
