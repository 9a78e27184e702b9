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
    """By a timer, as soon as its end is seen: the end is told only when it is the end."""
    await agent.call("navigate", url=site.url("scroll.html"))
    for _ in range(30):
        end = await agent.call("scroll", to="bottom")
        if end["at_end"]:
            break
    assert await agent.js("rows") == 400
    assert "(the end)" in await agent.text("scroll", to="bottom")


FEED = """<ul id=list></ul><script>
let rows = 0, busy = false;
const more = async () => {
  if (busy || rows >= 80) return;
  busy = true;
  await fetch("/slow?ms=200");
  for (let n = 0; n < 20; n++) list.insertAdjacentHTML("beforeend", `<li style="height:100px">Row ${++rows}`);
  busy = false;
};
more();
addEventListener("scroll", () => { if (innerHeight + scrollY > document.body.scrollHeight - 300) more(); });
</script>"""


async def test_where_it_stands_is_told_when_what_the_scrolling_started_is_done(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(FEED), wait_until="networkidle")
    for rows in (40, 60, 80):
        answer = await agent.ask("scroll", to="bottom", snapshot="diff")
        assert not answer.data["at_end"]
        assert int(answer.text.split()[3]) > rows * 100
        assert await agent.js("rows") == rows
    assert (await agent.call("scroll", to="bottom"))["at_end"]


async def test_a_page_that_answers_scrolling_with_a_dialog(agent: Agent, site: PageServer) -> None:
    page = "<p style='height:5000px'>Long<script>onscroll = () => { onscroll = null; alert('Stay'); }</script>"
    await agent.call("navigate", url=site.inline(page))
    assert (await agent.call("scroll", dy=500))["y"] == 500
    await agent.call("handle_dialog", accept=True)


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
