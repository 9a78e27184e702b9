"""What is asked and rehearsed while an agent thinks changes nothing of what its first snapshot says."""

import asyncio

import pytest

from pilothouse.browser import listeners
from pilothouse.browser.frames import Frame
from pilothouse.browser.listeners import tell_listeners, told_ahead
from pilothouse.browser.snapshot import UNTOLD
from pilothouse.browser.tab import Tab
from tests.browser.looking import REF, look, tab_of
from tests.browser.test_memory import session_of, until
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A10")


async def looked_ahead(agent: Agent) -> Tab:
    """The tab, when everything that is done ahead has been done."""
    tab = session_of(agent).tabs[0]
    await until(lambda: told_ahead(tab))
    return tab


async def test_closed_roots_and_numbers_are_as_without_a_rehearsal(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("shadow.html"))
    at_once = await look(agent)
    await agent.call("navigate", url=site.url("shadow.html?again"))
    await looked_ahead(agent)
    later = await look(agent)
    assert REF.sub("e", at_once).splitlines()[1:] == REF.sub("e", later).splitlines()[1:]
    assert 'button "Closed button"' in later


async def test_who_comes_to_listen_after_that_is_in_the_first_snapshot(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = await looked_ahead(agent)
    await tab.channel.send(
        "Runtime.evaluate",
        expression="document.body.innerHTML = '<div>Press me</div>';"
        "document.body.firstChild.addEventListener('click', () => 0)",
    )
    assert 'clickable "Press me"' in await look(agent)


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<div id=list><div>Alpha</div><div>Beta</div><div>Gamma</div></div>", ["Alpha", "Beta", "Gamma"]),
        ("<table id=list><tr><td>Alpha<td>1<tr><td>Beta<td>2</table>", ["Alpha 1", "Beta 2"]),
        ("<div id=list><h3>Alpha</h3><p>Beta</p><p>Gamma</p></div>", ["Alpha Beta Gamma"]),
        ("<div id=list><div class=a>Alpha</div><div class=b>Beta</div><div class=a>Gamma</div></div>", []),
    ],
)
async def test_who_listens_for_all_of_its_rows(agent: Agent, site: PageServer, html: str, shown: list[str]) -> None:
    """A listener on rows that somebody drew with boxes speaks of each of them, as one on a list does."""
    listens = "<script>list.addEventListener('click', () => 0)</script>"
    await agent.call("navigate", url=site.inline(html + listens))
    found = [line for line in (await look(agent)).splitlines() if REF.search(line)]
    assert len(found) == (len(shown) or 1)
    assert all(any(f'"{name}"' in line for line in found) for name in shown)


LISTENS = "<script>list.addEventListener('click', () => 0)</script>"


@pytest.mark.parametrize(
    ("html", "read"),
    [
        (
            "<div><h1>Title</h1><p>Some text</p></div><div><button>Go</button></div><div><h2>Foot</h2></div>",
            ['heading "Title" h1', '"Some text"', 'button "Go" e', 'heading "Foot" h2'],
        ),
        (
            "<div>One</div><div><div>a</div><div>b <a href=#>x</a></div><div><h3>Deep</h3>text</div></div><div>Three</div>",
            ['"One"', '"a"', '"b" link "x" e', 'heading "Deep" h3', '"text"', '"Three"'],
        ),
    ],
)
async def test_who_listens_for_a_whole_page_makes_no_rows_of_its_parts(
    agent: Agent, site: PageServer, html: str, read: list[str]
) -> None:
    await agent.call("navigate", url=site.inline(f"<div id=list>{html}</div>{LISTENS}"))
    assert REF.sub("e", await look(agent)).splitlines()[1:] == read


async def test_boxes_that_hold_much_are_no_rows(agent: Agent, site: PageServer) -> None:
    words = "<i>w</i> " * 120
    boxes = f"<div>{words}<button>Go</button></div><div>{words}</div><div>{words}</div>"
    await agent.call("navigate", url=site.inline(f"<div id=list>{boxes}</div>{LISTENS}"))
    (line,) = [line for line in (await look(agent)).splitlines()[1:] if REF.search(line)]
    assert 'button "Go"' in line


async def test_rows_hold_no_rows(agent: Agent, site: PageServer) -> None:
    """What is in a row that its list listens for is that row."""
    row = "<div><div>Name</div><div>Price</div><div>Stock</div></div>"
    await agent.call("navigate", url=site.inline(f"<div id=list>{row * 3}</div>{LISTENS}"))
    assert REF.sub("e", await look(agent)).splitlines()[1:] == ['clickable "Name Price Stock" e'] * 3


async def test_a_framework_that_listens_to_everything_speaks_of_nobody(agent: Agent, site: PageServer) -> None:
    listens = "for (let i = 0; i < 60; i++) list.addEventListener(i ? `event${i}` : 'click', () => 0)"
    rows = "<div>One</div><div>Two</div><div>Three</div>"
    await agent.call("navigate", url=site.inline(f"<div id=list>{rows}</div><script>{listens}</script>"))
    assert (await look(agent)).splitlines()[1:] == ['"One"', '"Two"', '"Three"']


@pytest.mark.parametrize("says", ["draggable=true", "tabindex=0", "onclick='1'"])
@pytest.mark.parametrize(("box", "row"), [("div", "div"), ("ul", "li")])
async def test_a_row_that_says_so_itself_stays_one_where_its_list_listens(
    agent: Agent, site: PageServer, box: str, row: str, says: str
) -> None:
    rows = f"<{row} {says}>Write <button>Done</button></{row}>" * 3
    await agent.call("navigate", url=site.inline(f"<{box} id=list>{rows}</{box}>{LISTENS}"))
    found = (await look(agent)).splitlines()[1:]
    assert [len(REF.findall(line)) for line in found] == [2, 2, 2]


async def test_a_card_is_one_thing_to_press(agent: Agent, site: PageServer) -> None:
    card = "<div class=card style='cursor: pointer'><div>Shoes</div><div>10 EUR</div><div>in stock</div></div>"
    listens = "for (const one of document.querySelectorAll('.card')) one.addEventListener('click', () => 0)"
    await agent.call("navigate", url=site.inline(f"{card * 2}<script>{listens}</script>"))
    assert REF.sub("e", await look(agent)).splitlines()[1:] == ['clickable "Shoes 10 EUR in stock" e'] * 2


async def test_an_entry_around_a_whole_form_is_an_entry(agent: Agent, site: PageServer) -> None:
    fields = "".join(f"<label>Field {n} <input></label>" for n in range(4))
    await agent.call("navigate", url=site.inline(f"<ul><li id=list>Settings {fields}</li></ul>{LISTENS}"))
    assert (await look(agent)).splitlines()[1].startswith('item: "Settings" | textbox "Field 0" e')


@pytest.mark.parametrize(
    "html",
    ["<ul><li>Mail <button>Star</button></li></ul>", "<table><tr><td>Mail<td><a href=#>Star</a><tr><td>x<td>y</table>"],
)
@pytest.mark.parametrize("itself", [True, False])
async def test_a_row_that_listens_can_be_pressed_beside_its_controls(
    agent: Agent, site: PageServer, html: str, itself: bool
) -> None:
    """Its list may listen for the controls only."""
    css = "li, tr" if itself else "ul, table"
    listens = f"<script>document.querySelector('{css}').addEventListener('click', () => 0)</script>"
    await agent.call("navigate", url=site.inline(html + listens))
    (line,) = [line for line in (await look(agent)).splitlines()[1:] if "Star" in line]
    assert len(REF.findall(line)) == (2 if itself else 1)


CARD = "<div class={}>Mug <button>Add</button> <button>Like</button></div>"


@pytest.mark.parametrize(
    ("html", "listeners", "rows"),
    [
        (CARD.format("card") * 2, ".card", 2),
        (CARD.format("card") * 2, ".card:first-child", 0),
        (CARD.format("list") + CARD.format("pane"), "#all > div", 0),
        (
            "<div role=grid><div role=row><span role=gridcell>Mug</span><button>Add</button></div></div>",
            "[role=row]",
            1,
        ),
    ],
    ids=["alike", "alone", "different", "aria row"],
)
async def test_a_row_that_somebody_drew_with_boxes_can_be_pressed_beside_its_controls(
    agent: Agent, site: PageServer, html: str, listeners: str, rows: int
) -> None:
    """Boxes that are alike and each listen are rows; any other box may listen for what is in it only."""
    listens = f"<script>for (const el of document.querySelectorAll('{listeners}')) el.onclick = () => 0</script>"
    await agent.call("navigate", url=site.inline(f"<div id=all>{html}</div>{listens}"))
    refs = REF.findall(await look(agent))
    assert len(refs) == html.count("<button") + rows


MANY = """<body><script>
for (let i = 0; i < COUNT; i++) {
  const row = document.createElement("div");
  row.textContent = `row ${i}`;
  row.addEventListener("click", () => { window.used = row.textContent });
  document.body.append(row);
}
</script>"""


def rows_of(text: str) -> tuple[list[str], list[str]]:
    """Of the rows that a snapshot shows: those that can be pressed, and those that are mere text."""
    lines = [line.strip() for line in text.splitlines() if "row " in line]
    return [line for line in lines if line.startswith("clickable")], [line for line in lines if "clickable" not in line]


@pytest.mark.parametrize("count", [200, 3000])
async def test_who_is_in_view_is_known_at_the_first_look(agent: Agent, site: PageServer, count: int) -> None:
    """However many there are before them, and however far a page was scrolled."""
    await agent.call("navigate", url=site.inline(MANY.replace("COUNT", str(count))))
    for place in (0, count // 2, count - 1):
        await agent.js(f"document.querySelectorAll('div')[{place}].scrollIntoView({{block: 'center'}})")
        can_press, mere_text = rows_of(await look(agent))
        assert len(can_press) > 20
        assert mere_text == []
    target = REF.findall(can_press[-1])[-1]
    await agent.call("click", target=target)
    assert await agent.js("used") == f"row {count - 1}"


async def test_who_is_in_view_of_a_page_that_has_scrolled_itself(agent: Agent, site: PageServer) -> None:
    scrolled = MANY.replace("COUNT", "3000") + "<script>scrollTo(0, document.body.scrollHeight / 2)</script>"
    await agent.call("navigate", url=site.inline(scrolled))
    can_press, mere_text = rows_of(await look(agent))
    assert len(can_press) > 20
    assert mere_text == []


@pytest.mark.parametrize("other", [False, True])
async def test_a_frame_in_a_corner_leaves_the_page_its_share(agent: Agent, site: PageServer, other: bool) -> None:
    inner = site.inline(MANY.replace("COUNT", "900"), other=other)
    page = MANY.replace("COUNT", "600").replace("row $", "line $")
    frame = f"<iframe src='{inner}' style='position: fixed; right: 0; top: 0; width: 50vw; height: 100vh'></iframe>"
    await agent.call("navigate", url=site.inline(frame + page))
    text = await look(agent, budget=20_000)
    assert len([line for line in text.splitlines() if 'clickable "line ' in line]) > 5  # the others are folded
    can_press, mere_text = rows_of(text)
    assert len(can_press) > 5
    assert mere_text == []
    assert '"line ' not in text.replace('clickable "line ', "")


async def test_a_grid_of_cells_in_view(agent: Agent, site: PageServer) -> None:
    grid = (
        MANY.replace("COUNT", "225") + "<style>body { display: grid; grid-template-columns: repeat(15, 1fr) }</style>"
    )
    await agent.call("navigate", url=site.inline(grid))
    can_press, mere_text = rows_of(await look(agent, budget=20_000))
    assert len(can_press) > 20  # the others are folded
    assert mere_text == []


async def test_the_whole_page_and_the_search_know_all_of_them(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(MANY.replace("COUNT", "1200")))
    assert 'clickable "row 1199"' in await agent.text("find", text="row 1199")
    await agent.call("navigate", url=site.inline(MANY.replace("COUNT", "1201")))
    _, mere_text = rows_of(await look(agent, full=True, budget=20_000))
    assert mere_text == []


async def test_the_others_are_told_while_nobody_waits(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(MANY.replace("COUNT", "1300")))
    tab = await looked_ahead(agent)
    await until(lambda: len(tab.document.told) == 1300)


async def test_what_is_done_ahead_waits_for_its_turn(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a call has it."""
    await agent.call("navigate", url=site.url("small.html"))
    tab = await looked_ahead(agent)
    monkeypatch.setattr(listeners, "AHEAD_S", 0.0)
    async with tab.turn:
        await tell_listeners(tab)
        listeners.look_ahead(tab)
        for _ in range(5):
            await tab.channel.send("Runtime.evaluate", expression="1")
        assert not told_ahead(tab)
    await looked_ahead(agent)


async def test_who_looks_before_that_need_not_wait(agent: Agent, site: PageServer) -> None:
    """Also in a document for which it was done before: who looks has the turn that it waits for."""
    await agent.call("navigate", url=site.url("small.html"))
    tab = await looked_ahead(agent)
    async with tab.turn:
        listeners.look_ahead(tab)
        await asyncio.wait_for(tell_listeners(tab), 10)


async def test_nobody_is_told_while_somebody_acts(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = listeners.AHEAD_S
    monkeypatch.setattr(listeners, "AHEAD_S", 1000.0)  # on a slow machine somebody would be told before we come
    await agent.call("navigate", url=site.inline(MANY.replace("COUNT", "1300")))
    tab = tab_of(agent)
    async with tab.turn:
        monkeypatch.setattr(listeners, "AHEAD_S", soon)
        await tell_listeners(tab)
        for _ in range(20):
            await tab.channel.send("Runtime.evaluate", expression="1")
        assert len(tab.document.told) == listeners.IN_VIEW
    await until(lambda: len(tab.document.told) == 1300)


async def test_a_page_too_busy_to_say_who_listens(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.inline(f"<div id=list>Press me</div>{LISTENS}"))
    with monkeypatch.context() as busy:
        busy.setattr(listeners, "PAGE_S", 0.0)
        assert (await look(agent)).splitlines()[1] == UNTOLD
    text = await look(agent)
    assert UNTOLD not in text
    assert 'clickable "Press me"' in text


async def test_what_was_asked_ahead_is_no_reason_to_wait_longer(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that has kept silent for all of the time is not asked for another time as long."""
    await agent.call("navigate", url=site.url("small.html"))
    tab = await looked_ahead(agent)
    patience: list[float] = []

    async def listening(_: Frame, timeout: float) -> None:
        patience.append(timeout)

    monkeypatch.setattr(listeners, "PAGE_S", 0.2)
    monkeypatch.setattr(listeners, "_listening", listening)
    tab.document.ahead, tab.document.ahead_began = asyncio.get_running_loop().create_future(), True
    await asyncio.wait_for(tell_listeners(tab), 30)
    assert patience == [pytest.approx(0, abs=0.1)]
    assert tab.document.untold
