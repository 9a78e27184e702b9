"""How we come into a page: late enough to cost it nothing, early enough for whoever looks, and without a trace."""

import asyncio
from typing import Any

import pytest

from pilothouse.browser import entrance
from pilothouse.browser.listeners import look_ahead, told_ahead
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import NAME
from tests.browser.looking import fails, tab_of
from tests.browser.test_memory import until
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

SEEN = "Object.getOwnPropertyNames(window).filter(name => /^_[0-9a-f]{24}$|^ph[A-Z]?/.test(name))"
# Everything that a careless herald would call by a name that the page has a say in.
NOSY = """<title>Nosy</title><script>
window.caught = [];
const call = Reflect.apply.call.bind(Reflect.apply, Reflect);
[[String.prototype, "slice"], [Reflect, "apply"], [Function.prototype, "call"], [Function.prototype, "apply"],
 [EventTarget.prototype, "addEventListener"]].forEach(([owner, name]) => {
  const real = owner[name];
  owner[name] = function (...given) { caught.push(name); return call(real, this, given); };
});
Object.defineProperty(Document.prototype, "title", { get() { caught.push("title"); return "Forged"; } });
dispatchEvent(new Event("DOMContentLoaded"));
</script>"""
WHOLE = pytest.mark.whole("elsewhere a frame that is used again has its worlds still")
LISTENING = "<div>Press me</div><script>document.querySelector('div').addEventListener('click', () => 0)</script>"
FRAMED = "<title>Framed</title><iframe srcdoc='<button>Inner</button>'></iframe>"


async def gone_to(tab: Tab, url: str) -> None:
    """By nobody who would ask for our world, or open the way for it."""
    loaded = asyncio.Event()
    leave = tab.channel.on("Page.loadEventFired", lambda _: loaded.set())
    await tab.channel.send("Page.navigate", url=url)
    await asyncio.wait_for(loaded.wait(), 10)
    leave()


async def said_before(tab: Tab) -> None:
    """What was said to the page before is done."""
    await tab.channel.send("Runtime.evaluate", expression="0")


async def at_home(agent: Agent, site: PageServer) -> Tab:
    """In a page that has our world, and the browser has said so."""
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("get_page_state")
    await said_before(tab_of(agent))
    return tab_of(agent)


@promise("A08")
async def test_a_page_finds_no_trace(agent: Agent, site: PageServer) -> None:
    """Neither in its own window at the first moment, nor in one that it makes, nor in a page of another window."""
    look = f"<script>window.seen = {SEEN}</script>"
    inner = f"<iframe srcdoc='{look}'></iframe>"
    tells = f"{look}<script>opener.postMessage('here', '*')</script>"
    opens = (
        "<script>window.came = new Promise(done => addEventListener('message', done)); "
        f"window.blank = open('about:blank'); window.other = open('{site.inline(tells)}')</script>"
    )
    await agent.call("navigate", url=site.inline(f"{look}{inner}{opens}"))
    for arrive in ("navigate", "reload"):
        if arrive == "reload":
            await agent.call("reload")
        frames = "[seen, frames[0].seen, frames[0].eval(seeing), blank.eval(seeing), other.seen, other.eval(seeing)]"
        assert await agent.js(f"const seeing = {SEEN!r}; came.then(() => {frames})") == [[]] * 6


@promise("A08")
async def test_a_page_that_watches_its_prototypes_sees_nobody(agent: Agent, site: PageServer) -> None:
    arrived = await agent.call("navigate", url=site.inline(NOSY))
    assert arrived["title"] == "Nosy"
    assert await agent.js("caught") == []


@promise("A08")
@WHOLE
async def test_the_world_comes_when_the_page_has_arrived(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or when somebody asks for it. Nor is the page asked for its document before."""
    monkeypatch.setattr(entrance, "SOON_S", 1000)
    tab = await at_home(agent, site)
    main, there = tab.frames.main, list[bool]()
    tab.channel.on("Page.loadEventFired", lambda _: there.extend((main.world is not None, main.document is not None)))
    await agent.call("navigate", url=site.url("small.html?late"))
    assert there == [False, False]
    assert "Go" in await agent.text("get_page_state")
    assert main.document is not None
    with tab.entrance.shut():
        await gone_to(tab, site.url("small.html?never"))
        assert tab.frames.main.world is None
        assert (await tab.call("page", timeout=5))["title"] == "Small"


@promise("A10")
@WHOLE
@pytest.mark.parametrize("ahead", [False, True])
async def test_who_listens_is_known_however_late_our_world_comes(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    """Whether the first snapshot asks for it, or somebody did while its agent thought."""
    monkeypatch.setattr(entrance, "SOON_S", 1000)
    tab = await at_home(agent, site)
    with tab.entrance.shut():
        await gone_to(tab, site.inline(LISTENING))
        assert tab.frames.main.world is None
        if ahead:
            look_ahead(tab)
            assert await tab.signal.until(lambda: tab.frames.main.world, 5)
            await until(lambda: told_ahead(tab))
            assert tab.document.told
        assert 'clickable "Press me"' in await agent.text("get_page_state")


@promise("A08")
async def test_a_page_that_never_ends_is_seen_while_it_loads(agent: Agent, site: PageServer) -> None:
    html = f"<title>Slow</title><p>Here</p><iframe srcdoc='<p>And here'></iframe><img src='{site.url('hang')}'>"
    await agent.call("navigate", url=site.url("small.html"))
    going = asyncio.ensure_future(agent.call("navigate", url=site.inline(html)))
    await agent.call("wait_for", text="Here", timeout_ms=5000)
    await agent.call("wait_for", text="And here", timeout_ms=5000)
    assert not going.done()
    going.cancel()
    await asyncio.wait({going})


@promise("A08")
async def test_each_change_of_the_title_is_told_once(agent: Agent, site: PageServer) -> None:
    """However often the tab was sent to the same document."""
    url = site.inline("<title>One</title>")
    await agent.call("navigate", url=url)
    for place in ("#a", "#b"):
        await agent.call("navigate", url=f"{url}{place}")
    told: list[dict[str, Any]] = []
    tab_of(agent).channel.on("Runtime.bindingCalled", told.append)
    await agent.js("document.title = 'Two'; 0")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Two"
    assert [one["payload"] for one in told] == ["Two"]


@promise("A08")
@WHOLE
@pytest.mark.parametrize("way", ["refused", "late", "sent on", "crashed"])
async def test_it_is_open_again_whatever_became_of_the_way(agent: Agent, site: PageServer, way: str) -> None:
    """The next document has our world before anybody asks for it."""
    tab = await at_home(agent, site)
    if way == "refused":
        await fails(agent, "navigation_failed", "navigate", url=site.dead_origin)
    elif way == "late":
        await fails(agent, "timeout", "navigate", url=site.url("hang"), timeout_ms=200)
    elif way == "sent on":
        await agent.call(
            "navigate", url=site.inline(f"<script>location.replace('{site.url('small.html?b')}')</script>")
        )
    else:
        endless = site.inline(f"<img src='{site.url('hang')}'><script>0</script>")
        came = asyncio.Event()
        tab.channel.on("Page.frameNavigated", lambda _: came.set())
        going = asyncio.ensure_future(agent.ask("navigate", url=endless))
        await came.wait()
        tab.channel.post("Page.crash")
        await going
        assert await tab.signal.until(lambda: tab.crashed, 10)
        await fails(agent, "tab_crashed", "get_page_state")
    await agent.call("get_page_state")
    await said_before(tab)
    await gone_to(tab, site.inline(FRAMED))
    assert all(frame.world for frame in tab.frames)
    assert "Inner" in await agent.text("get_page_state")
    await agent.js("document.title = 'Changed'; 0")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Changed"


@promise("A08")
@WHOLE
async def test_a_page_that_takes_longer_has_it_soon(agent: Agent, site: PageServer) -> None:
    """Though nobody asks for it."""
    tab = await at_home(agent, site)
    made = asyncio.Event()
    tab.channel.on("Runtime.executionContextCreated", lambda p: made.set() if p["context"]["name"] == NAME else None)
    going = asyncio.ensure_future(agent.ask("navigate", url=site.inline(f"<img src='{site.url('hang')}'>")))
    await asyncio.wait_for(made.wait(), 10)
    assert not going.done()
    going.cancel()
    await asyncio.wait({going})


@promise("A08")
@WHOLE
async def test_a_page_that_was_left_too_early_is_read_when_it_comes_back(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never had our world; nor had the frame in it."""
    monkeypatch.setattr(entrance, "SOON_S", 1000)
    tab = await at_home(agent, site)
    with tab.entrance.shut():
        await gone_to(tab, site.inline(FRAMED))
        assert not any(frame.world for frame in tab.frames)
        await gone_to(tab, site.url("small.html?next"))
    assert "Go" in await agent.text("get_page_state")
    assert (await agent.call("go_back"))["title"] == "Framed"
    assert tab.document.whole, "Chrome has not kept it"
    assert "Inner" in await agent.text("get_page_state")
