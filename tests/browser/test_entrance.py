"""How we come into a page: late enough to cost it nothing, early enough for whoever looks, and without a trace."""

import asyncio
from typing import Any

import pytest

from pilothouse.browser import entrance
from pilothouse.browser.tab import Tab
from tests.browser.looking import fails
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


def tab_of(agent: Agent) -> Tab:
    (session,) = agent.gate.own(agent.caller).all()
    assert session.current
    return session.current


@promise("A08")
async def test_a_page_finds_no_trace(agent: Agent, site: PageServer) -> None:
    """Neither in its own window at the first moment, nor in one that it makes, nor in a page of another window."""
    look = f"<script>window.seen = {SEEN}</script>"
    inner = f"<iframe srcdoc='{look}'></iframe>"
    opens = f"<script>window.blank = open('about:blank'); window.other = open('{site.inline(look)}')</script>"
    await agent.call("navigate", url=site.inline(f"{look}{inner}{opens}"))
    for arrive in ("navigate", "reload"):
        if arrive == "reload":
            await agent.call("reload")
        frames = "[seen, frames[0].seen, frames[0].eval(seeing), blank.eval(seeing), other.seen, other.eval(seeing)]"
        assert await agent.js(f"const seeing = {SEEN!r}; {frames}") == [[]] * 6


@promise("A08")
async def test_a_page_that_watches_its_prototypes_sees_nobody(agent: Agent, site: PageServer) -> None:
    arrived = await agent.call("navigate", url=site.inline(NOSY))
    assert arrived["title"] == "Nosy"
    assert await agent.js("caught") == []


@promise("A08")
@pytest.mark.whole("elsewhere a frame that is used again has its worlds still")
async def test_the_world_comes_when_the_page_has_arrived(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or when somebody asks for it."""
    monkeypatch.setattr(entrance, "SOON_S", 1000)
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    await agent.call("get_page_state")
    await tab.channel.send("Runtime.evaluate", expression="0")  # what was said to the page before is done, too
    worlds: list[bool] = []
    tab.channel.on("Page.loadEventFired", lambda _: worlds.append(tab.frames.main.world is not None))
    await agent.call("navigate", url=site.url("small.html?late"))
    assert worlds == [False]
    assert "Go" in await agent.text("get_page_state")
    with tab.entrance.shut():
        loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tab.channel.on("Page.loadEventFired", lambda _: loaded.set_result(None))
        await tab.channel.send("Page.navigate", url=site.url("small.html?never"))
        await loaded
        assert tab.frames.main.world is None
        assert (await tab.call("page", timeout=5))["title"] == "Small"


@promise("A08")
async def test_a_page_that_never_ends_is_seen_while_it_loads(agent: Agent, site: PageServer) -> None:
    html = f"<title>Slow</title><p>Here</p><iframe srcdoc='<p>And here'></iframe><img src='{site.url('hang')}'>"
    await agent.call("navigate", url=site.url("small.html"))
    going = asyncio.ensure_future(agent.call("navigate", url=site.inline(html)))
    await agent.call("wait_for", text="Here", timeout_ms=5000)
    await agent.call("wait_for", text="And here", timeout_ms=5000)
    assert not going.done()
    going.cancel()


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
async def test_it_is_open_again_whatever_became_of_the_way(agent: Agent, site: PageServer) -> None:
    link = f"<title>Start</title><a href='{site.inline('<title>Next</title><button>End</button>')}'>On</a>"
    await agent.call("navigate", url=site.inline(link))
    await fails(agent, "navigation_failed", "navigate", url=site.dead_origin)
    await fails(agent, "timeout", "navigate", url=site.url("hang"), timeout_ms=200)
    await agent.call("navigate", url=site.inline(f"<script>location.replace('{site.inline(link)}')</script>"))
    await agent.call("click", target="text=On")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Next"
    assert "End" in await agent.text("get_page_state")
    await agent.js("document.title = 'Changed'; 0")
    assert (await agent.call("list_tabs"))["tabs"][0]["title"] == "Changed"
