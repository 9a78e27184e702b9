"""What is asked and rehearsed while an agent thinks changes nothing of what its first snapshot says."""

import pytest

from pilothouse.browser.listeners import told_ahead
from pilothouse.browser.tab import Tab
from tests.browser.looking import REF, look
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
