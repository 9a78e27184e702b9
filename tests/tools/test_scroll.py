"""Scrolling inside elements, and elements into view."""

from tests.browser.looking import fails, put, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "A09")


async def test_inside_an_element(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    await agent.call("scroll_element", selector="#box")
    assert await agent.js("[box.scrollTop > 100, scrollY]") == [True, 0]
    await agent.call("scroll_element", target="#box", direction="up")
    await agent.call("scroll_element", target="#box", dx=40, dy=30)
    assert await agent.js("[box.scrollTop, box.scrollLeft]") == [30, 40]
    assert (await agent.call("scroll_element", target="#box", to="bottom"))["at_end"]
    assert "nothing moved" in await agent.text("scroll_element", target="#box", to="bottom")


async def test_an_element_comes_into_view(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    assert await agent.text("scroll_into_view", target="#middle") == 'button "Middle button" is in view'
    assert 0 < await agent.js("middle.getBoundingClientRect().top") < 800
    here = await agent.js("scrollY")
    assert "already" in await agent.text("scroll_into_view", target="#middle")
    assert await agent.js("scrollY") == here


async def test_an_element_in_a_box_that_scrolls(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    await agent.call("scroll_into_view", target="text=In the box")
    assert await agent.js(
        "const b = box.getBoundingClientRect(), r = box.querySelector('button').getBoundingClientRect(); return b.top <= r.top && r.bottom <= b.bottom"
    )


@promise("A21")
async def test_in_a_frame_of_another_site(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    inside = await ref(agent, 'button "Cross button"')
    await agent.call("evaluate_js", target=inside, expression="element.style.marginTop = '3000px'; return 0")
    await agent.call("scroll_into_view", target=inside)
    assert (await agent.call("evaluate_js", target=inside, expression="scrollY"))["value"] > 1000


async def test_in_a_tab_that_is_not_in_front(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    await agent.call("new_tab")
    await agent.call("scroll_into_view", tab="t1", target="#middle")
    await agent.call("scroll_element", tab="t1", target="#box", dy=50)
    assert (await agent.call("evaluate_js", tab="t1", expression="box.scrollTop"))["value"] == 50


async def test_two_ways_at_once_are_refused(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<div style=height:3000px>Long</div>"))
    for both in ({"to": "top", "direction": "down"}, {"to": "bottom", "dy": 10}, {"direction": "up", "dx": 5}):
        refused = await fails(agent, "bad_request", "scroll", **both)
        assert "only one of them" in refused.message
    assert await agent.js("scrollY") == 0


async def test_what_is_not_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "not_found", "scroll_into_view", target="#nowhere")
    await fails(agent, "not_found", "scroll_element", target="#nowhere")
    await put(agent, "<p id=gone hidden>x</p>")
    refused = await fails(agent, "not_actionable", "scroll_into_view", target="#gone")
    assert refused.details["reason"] == "hidden"
