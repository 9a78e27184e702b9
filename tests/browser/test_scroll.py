"""Scrolling: by a screenful, by pixels, to an end, inside boxes and frames."""

from tests.browser.looking import fails, put, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A09")


async def test_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    down = await agent.call("scroll", direction="down")
    assert 600 < down["y"] < 800
    assert not down["at_end"]
    assert await agent.js("scrollY") == down["y"]
    assert (await agent.call("scroll", dy=100))["y"] == down["y"] + 100
    assert (await agent.call("scroll", direction="up", dy=0))["y"] < down["y"]
    assert "nothing moved" in await agent.text("scroll", to="top") or await agent.js("scrollY") == 0
    assert "nothing moved" in await agent.text("scroll", to="top")


async def test_to_the_end_of_a_list_that_grows(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    seen = 0
    for _ in range(3):
        end = await agent.call("scroll", to="bottom")
        assert end["at_end"]
        await agent.call("wait_for", function=f"rows > {seen + 19}")
        seen = await agent.js("rows")
    assert seen >= 60


async def test_a_box_inside_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    await agent.call("scroll", target="#box", direction="down")
    await agent.call("scroll", target="#box", dx=50)
    assert await agent.js("[box.scrollTop > 100, box.scrollLeft, scrollY]") == [True, 50, 0]
    end = await agent.call("scroll", target="#box", to="bottom")
    assert end["at_end"]


async def test_to_an_element(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    await agent.call("scroll", target="#middle")
    assert 0 < await agent.js("middle.getBoundingClientRect().top") < 800


async def test_the_box_in_the_middle_of_a_page_that_does_not_scroll(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<div id=app style='height:90vh;overflow:auto'><div style='height:5000px'>tall</div></div>")
    assert (await agent.call("scroll", direction="down"))["y"] > 100
    assert await agent.js("app.scrollTop") > 100


@promise("A21")
async def test_inside_a_frame(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    inside = await ref(agent, 'button "Cross button"')
    await agent.call("evaluate_js", target=inside, expression="document.body.style.height = '3000px'; return 0")
    await agent.call("scroll", target=inside, to="bottom")
    assert (await agent.call("evaluate_js", target=inside, expression="scrollY"))["value"] > 1000
    assert await agent.js("scrollY") == 0
    await agent.call("click", target=inside)
    assert (await agent.call("evaluate_js", target=inside, expression="out.textContent"))["value"] == "1"


async def test_nothing_to_scroll(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert "nothing moved" in await agent.text("scroll", direction="down")
    await fails(agent, "not_found", "scroll", target="#nowhere")
