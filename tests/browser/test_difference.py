"""What has changed between two looks at a page: told in less than the page, and clear about what is gone."""

import random
import re
import time

import pytest

from pilothouse.browser.budget import tokens
from pilothouse.browser.difference import LEGEND, Difference, first_ref, too_much
from tests.browser.looking import look, put
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A13")

PARTS = ("Home", "Orders", "Customers", "Reports", "Settings", "People", "Bills", "Parcels", "Stock", "Help")
NAV = f"<nav>{' '.join(f'<a href=/{one.lower()}>{one}</a>' for one in PARTS)}</nav>"
FOOTER = "<footer><a href=/terms>Terms</a> <a href=/privacy>Privacy</a></footer>"
SMALL = "<style>* { font-size: 9px; line-height: 1; margin: 0; padding: 0 }</style>"
ROWS = "".join(f"<tr><td>Customer {n}</td><td><button>Edit</button></td></tr>" for n in range(50))
TABLE = f"<table id=table><tr><th>Name</th><th></th></tr>{ROWS}</table>"
ITEMS = "".join(f"<li><a href=/p/{n}>Product {n}</a> {n * 37 % 91} EUR</li>" for n in range(25))
DIALOG = "<dialog id=dialog aria-label=Add><label>Mail <input></label><button>Save</button></dialog>"


def panel(name: str) -> str:
    fields = "".join(f"<label>{name} {n} <input></label>" for n in range(8))
    return f"<div role=tabpanel aria-label={name}>{fields}</div>"


TABS = "<button role=tab id=a aria-selected=true>Bills</button><button role=tab id=b>Parcels</button>"
ORDERS = "".join(f"<section aria-label='Order {n}'><button>Open {n}</button></section>" for n in range(6))


async def told(agent: Agent, script: str) -> str:
    await agent.js(f"{script}; return 0")
    return await look(agent, diff=True)


async def show(agent: Agent, site: PageServer, main: str) -> None:
    await agent.call("navigate", url=site.inline("<p>empty</p>"))
    await put(agent, f"{SMALL}{NAV}<main><h1>Shop</h1>{main}</main>{FOOTER}")
    await look(agent)


@pytest.mark.parametrize(
    ("main", "script", "reads", "share"),
    [
        pytest.param(
            TABLE,
            "table.tBodies[0].insertAdjacentHTML('beforeend', '<tr><td>New</td><td>-</td></tr>')",
            """\
  main
-   table 50 rows
+   table 51 rows
      (51 lines unchanged)
+     row: "New" | "-\"""",
            0.05,
            id="a row more",
        ),
        pytest.param(
            DIALOG + TABLE,
            "dialog.show()",
            """\
  main
    heading "Shop" h1
+   dialog "Add" E
+     textbox "Mail" E focused
+     button "Save" E""",
            0.07,
            id="a dialog",
        ),
        pytest.param(
            f"{TABS}<div id=place>{panel('Bills')}</div>",
            f"a.ariaSelected = 'false'; b.ariaSelected = 'true'; place.innerHTML = `{panel('Parcels')}`",
            """\
  main
-   tab "Bills" E selected
+   tab "Bills" E
-   tab "Parcels" E
+   tab "Parcels" E selected
-   tabpanel "Bills" (and 8 lines in it)
+   tabpanel "Parcels"
+     textbox "Parcels 0" E
...""",
            0.8,
            id="another panel",
        ),
        pytest.param(
            f"<ul id=list>{ITEMS}</ul>",
            "list.append(...[...list.children].reverse())",
            f"""\
{LEGEND}
  main
    heading "Shop" h1
>   item: link "Product 24" E -> /p/24 | "69 EUR"
...""",
            0.9,
            id="another order",
        ),
        pytest.param(
            f"<ul id=list>{ITEMS}</ul>",
            "list.prepend(list.lastChild)",
            f"""\
{LEGEND}
  main
    heading "Shop" h1
>   item: link "Product 24" E -> /p/24 | "69 EUR\"""",
            0.1,
            id="one to the top",
        ),
        pytest.param(
            f"<ul id=list>{ITEMS}</ul>",
            f"document.querySelector('main').innerHTML = `<h1>Orders</h1>{ORDERS}`",
            """\
  main
-   heading "Shop" h1
-   item: link "Product 0" E -> /p/0 | "0 EUR"
-   item: link "Product 1" E -> /p/1 | "37 EUR"
-   item: link "Product 2" E -> /p/2 | "74 EUR"
-   (21 lines more, to this one:)
-   item: link "Product 24" E -> /p/24 | "69 EUR"
+   heading "Orders" h1
+   region "Order 0"
+     button "Open 0" E
...""",
            1,
            id="another main",
        ),
        pytest.param(
            f"<ul>{ITEMS}</ul><section aria-label=Basket><p id=count>Items: 3</p><button>More</button></section>",
            "count.textContent = 'Items: 4'",
            """\
  main
    region "Basket"
-     "Items: 3"
+     "Items: 4\"""",
            0.05,
            id="a counter",
        ),
    ],
)
async def test_what_changed_is_told_under_what_stays(
    agent: Agent, site: PageServer, main: str, script: str, reads: str, share: float
) -> None:
    await show(agent, site, main)
    seen = await told(agent, script)
    begun, more, _ = reads.partition("\n...")
    plain = re.sub(r"\be\d+\b", "E", seen)
    assert plain.startswith(begun) if more else plain == begun, seen
    assert tokens(seen) <= share * tokens(await look(agent))
    assert "Home" not in seen
    assert "Terms" not in seen


async def test_what_a_dialog_hides_is_not_gone_and_comes_back(agent: Agent, site: PageServer) -> None:
    await show(agent, site, TABLE + DIALOG)
    seen = await told(agent, "dialog.showModal()")
    assert '+ dialog "Add"' in seen
    assert re.search(r"^\(\d+ lines still there, not shown now\)$", seen, re.MULTILINE)
    assert "\n-" not in seen
    seen = await told(agent, "dialog.close(); table.rows[3].remove()")
    assert (
        re.sub(r"\be\d+\b", "E", seen)
        == """\
- dialog "Add" E (and 2 lines in it)
  (11 lines shown again, as before)
  main
    (1 line shown again, as before)
+   table 49 rows
  (53 lines shown again, as before)"""
    )


async def test_what_is_scrolled_away_is_not_gone(agent: Agent, site: PageServer) -> None:
    paragraphs = "".join(f"<p style='height:100px'>Part {n}</p>" for n in range(40))
    await agent.call("navigate", url=site.inline(f"<main>{paragraphs}</main>"))
    await look(agent)
    seen = await told(agent, "document.querySelector('p').remove(); scrollTo(0, 1500)")
    assert '-   "Part 0"' in seen
    assert seen.count("-  ") == 1
    assert "lines still there, not shown now" in seen
    seen = await told(agent, "scrollTo(0, 0)")
    assert "lines shown again, as before" in seen
    assert '"Part 1"' not in seen


FAR = "<div style='height:1500px'></div>"
MOSTLY_NEW = "(most of what is shown is new: the whole page)"


async def test_what_was_told_outside_the_view_is_told_when_it_is_gone(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1>{FAR}<p id=low></p><p>first</p>"))
    await look(agent)
    assert await told(agent, "low.textContent = 'first'") == '+ "first" (outside the view)'
    assert await told(agent, "low.textContent = 'first'") == (
        '- "first" (outside the view)\n+ "first" (outside the view)'
    ), "the same words anew are others"
    assert await told(agent, "low.firstChild.data = 'second'") == (
        '- "first" (outside the view)\n+ "second" (outside the view)'
    )
    assert await told(agent, "document.title = 'Other'") == "(nothing has changed)"
    assert await told(agent, "low.textContent = ''") == '- "second" (outside the view)'
    assert await told(agent, "low.className = 'x'") == "(nothing has changed)", "it is told once"


@pytest.mark.parametrize("interactive", [False, True])
@pytest.mark.parametrize(
    ("html", "line"),
    [
        ("<h2>Done</h2>", 'heading "Done" h2'),
        ("<button>Undo</button>", 'button "Undo" E'),
        ("<table><tr><td>Ada</td><td>1</td></tr><tr><td>Eve</td><td>2</td></tr></table>", "table 2 rows"),
    ],
)
async def test_what_was_told_outside_the_view_is_known_by_its_element(
    agent: Agent, site: PageServer, html: str, line: str, interactive: bool
) -> None:
    """And asked about in the way in which it was told, however the page is looked at."""

    async def change(script: str) -> str:
        await agent.js(f"{script}; return 0")
        return re.sub(r"\be\d+\b", "E", await look(agent, diff=True, interactive=interactive))

    await agent.call("navigate", url=site.inline(f"<button>Top</button>{FAR}<div id=low></div>"))
    await look(agent, interactive=interactive)
    assert await change(f"low.innerHTML = `{html}`") == f"+ {line} (outside the view)"
    assert "- " not in await change("low.style.color = 'red'")
    assert (await change("low.firstChild.style.display = 'none'")).startswith(f"- {line} (outside the view)")


async def test_words_that_left_the_view_are_told_when_they_are_gone(agent: Agent, site: PageServer) -> None:
    parts = "".join(f"<p>Part {n}</p>" for n in range(9))
    await agent.call("navigate", url=site.inline(f"<p id=error>Wrong number</p><div id=parts>{parts}</div>{FAR}{FAR}"))
    await look(agent)
    assert await told(agent, "scrollTo(0, 1200)") == "(10 lines still there, not shown now)"
    assert await told(agent, "error.textContent = ''") == '- "Wrong number" (outside the view)'
    assert (
        await told(agent, "parts.remove()")
        == """\
- "Part 0" (outside the view)
- "Part 1" (outside the view)
- "Part 2" (outside the view)
- "Part 3" (outside the view)
- (4 lines more, to this one:) (outside the view)
- "Part 8" (outside the view)"""
    )
    assert await told(agent, "scrollTo(0, 0)") == "(nothing has changed)"


async def test_a_row_that_left_the_view_and_reads_otherwise_is_told(agent: Agent, site: PageServer) -> None:
    rows = "".join(f"<tr><td>Parcel {n}</td><td>sent</td></tr>" for n in range(5))
    await agent.call("navigate", url=site.inline(f"<table id=table>{rows}</table>{FAR}{FAR}"))
    await look(agent)
    await told(agent, "scrollTo(0, 1200)")
    seen = await told(agent, "table.rows[2].cells[1].textContent = 'lost'")
    assert seen == '- row: "Parcel 2" | "sent" (outside the view)\n+ "lost" (outside the view)'
    assert "- " not in await told(agent, "table.rows[3].className = 'x'")


@promise("A12")
@pytest.mark.parametrize(
    ("budget", "reads"),
    [
        (2500, f'{MOSTLY_NEW}\n+ status: "opened b69" (outside the view)'),
        (300, f'{MOSTLY_NEW}\n+ status: "opened b69" (outside the view)'),
        (100, f"{MOSTLY_NEW}\n(more has changed outside the view)"),
        (50, "(more has changed outside the view)"),
    ],
)
async def test_a_page_that_is_shown_instead_of_a_difference_tells_what_has_changed_outside_the_view(
    agent: Agent, site: PageServer, budget: int, reads: str
) -> None:
    """A press far below scrolls, and nearly all that is shown is new; what it has changed stands above."""
    open_it = "o.firstChild.data = 'opened ' + this.id"
    rows = "".join(f'<tr><td>{n}<td><button id=b{n} onclick="{open_it}">Open</button></tr>' for n in range(100))
    await agent.call("navigate", url=site.url("todo.html"))
    await put(agent, f"<p id=o role=status>none</p><table>{rows}</table>")
    await look(agent)
    await agent.call("click", target="tr:nth-child(70) button")
    seen = await look(agent, diff=True, budget=budget)
    above, _, _ = seen.partition("\nhttp")
    assert above == reads
    assert tokens(seen) <= budget
    assert await look(agent, diff=True) == "(nothing has changed)"
    assert await told(agent, "o.firstChild.data = ''") == '- status: "opened b69" (outside the view)'


async def test_a_page_that_has_lost_half_of_it_is_not_called_new(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("todo.html"))
    await put(agent, SMALL + "".join(f"<p>{n}</p><h6>{n + 50}</h6>" for n in range(20)))
    await look(agent)
    seen = await told(agent, "for (const one of document.querySelectorAll('p')) one.remove()")
    assert seen.startswith("(a difference would be no shorter: the whole page)\nhttp")


async def test_what_was_told_outside_the_view_is_known_when_it_is_shown(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1>{FAR}<p id=low></p>"))
    await look(agent)
    await told(agent, "low.textContent = 'Sent'")
    assert "(1 line shown again, as before)" in await told(agent, "scrollTo(0, 1500)")
    assert '- "Sent"' in await told(agent, "low.textContent = ''")


GO = "<button onclick=\"f.value='9';k.checked=true;w.disabled=true;h.hidden=true\">Go</button>"
FIELDS = "<label>Field <input id=f value=1></label><label><input type=checkbox id=k> Check</label>"
FOUR = f"{GO}{FAR}{FAR}{FIELDS}<button id=w>Save</button><button id=h>Gone</button>"


async def test_what_a_script_sets_outside_the_view_is_told(agent: Agent, site: PageServer) -> None:
    """Values and checks, which leave no trace in the page's markup, and states; that one is hidden is told as something
    else, for nobody was shown it."""
    await agent.call("navigate", url=site.inline(FOUR))
    await look(agent)
    await agent.call("click", target="text=Go")
    assert sorted(re.sub(r"\be\d+\b", "E", await look(agent, diff=True)).splitlines()) == [
        "(something else has changed outside the view: full, find or scope)",
        '+ button "Go" E focused',
        '+ button "Save" E disabled (outside the view)',
        '+ checkbox "Check" E checked (outside the view)',
        '+ textbox "Field" E ="9" (outside the view)',
        '- button "Go" E',
    ]
    assert await look(agent, diff=True) == "(nothing has changed)"
    assert "outside the view" not in await told(agent, "w.className = 'x'; f.value = '9'; scrollTo(0, 3000)")


async def test_what_was_seen_when_it_was_set_is_not_told_again(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(FOUR))
    await look(agent)
    await agent.js("f.value = '9'; return 0")
    assert '="9"' in await look(agent, full=True)
    await look(agent)
    assert await look(agent, diff=True) == "(nothing has changed)"


async def test_a_change_in_a_part_that_changes_its_style_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1>{FAR}<form id=form><p id=low>Low</p></form>"))
    await look(agent)
    assert '+ "Sent" (outside the view)' in await told(agent, "form.className = 'x'; low.textContent = 'Sent'")


async def test_who_has_seen_everything_is_told_what_changed_anywhere(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(FOUR))
    await look(agent, full=True)
    seen = await agent.text("click", target="text=Go", snapshot="diff")
    assert '+ textbox "Field" e2 ="9"' in seen
    assert '+ checkbox "Check" e3 checked' in seen
    assert '+ button "Save" e4 disabled' in seen
    assert '- button "Gone" e5' in seen
    assert await look(agent, diff=True) == "(nothing has changed)"
    await look(agent)
    assert "outside the view" in await told(agent, "w.disabled = false")


@pytest.mark.parametrize("otherwise", [{"interactive": True}, {"depth": 5}])
async def test_who_has_looked_in_another_way_is_told_why_the_page_is_shown(
    agent: Agent, site: PageServer, otherwise: dict[str, int]
) -> None:
    await agent.call("navigate", url=site.inline(FOUR))
    await look(agent, **otherwise)
    reason, first, title, *_ = (await told(agent, "w.disabled = true")).splitlines()
    assert reason == "(you last looked at it in another way: the whole page)"
    assert re.sub(r"\be\d+\b", "E", first) == '+ button "Save" E disabled (outside the view)'
    assert title.startswith("http")


HIDING = "position:absolute;width:1px;height:1px;clip:rect(0 0 0 0);overflow:hidden"


@pytest.mark.parametrize("hiding", [HIDING, "opacity:0"])
async def test_what_nobody_saw_is_not_gone_when_it_is_scrolled_away(
    agent: Agent, site: PageServer, hiding: str
) -> None:
    """A list that a drawn one stands for is kept for the form alone (select2)."""
    list_ = f"<select id=list aria-hidden=true style='{hiding}'><option>Rome</select>"
    await agent.call("navigate", url=site.inline(f"<div id=box>City {list_}</div>{FAR}{FAR}"))
    assert "(aria-hidden)" in await look(agent)
    seen = await told(agent, "scrollTo(0, 1200)")
    assert "-" not in seen
    assert "still there, not shown now" in seen
    await told(agent, "scrollTo(0, 0)")
    seen = await told(agent, "list.remove(); scrollTo(0, 1200)")
    assert re.search(r"^- .*combobox <list>", seen, re.MULTILINE)


async def test_what_a_page_calls_hidden_is_gone_when_it_is_hidden(agent: Agent, site: PageServer) -> None:
    box = "<div id=box style='overflow:hidden'><button>Show (hidden) rows</button></div>"
    await agent.call("navigate", url=site.inline(f"{box}{FAR}{FAR}"))
    await look(agent)
    assert '- button "Show (hidden) rows"' in await told(agent, "box.style.height = '0'; scrollTo(0, 1200)")


async def test_what_reads_on_in_another_line_is_told_as_it_was(agent: Agent, site: PageServer) -> None:
    """Between words, what stands in a row of its own is part of their line: it is shown, and not as it was."""
    form = "<label>Zip <input></label><span id=error></span><button id=go disabled>Check</button>"
    await agent.call("navigate", url=site.inline(form))
    await look(agent)
    seen = await told(agent, "go.disabled = false; error.textContent = 'Five digits'")
    assert (
        re.sub(r"\be\d+\b", "E", seen)
        == """\
- textbox "Zip" E
+ textbox "Zip" E "Five digits" button "Check" E
- button "Check" E disabled"""
    )
    seen = await told(agent, "go.disabled = true; error.textContent = ''")
    assert '+ button "Check"' in seen
    assert "still there" not in seen


async def test_an_element_that_changes_its_parent_has_moved(agent: Agent, site: PageServer) -> None:
    lists = "<section aria-label=Open id=one><button>Fix</button><button>Test</button></section>"
    lists += "<section aria-label=Done id=two><button>Ship</button></section>"
    await show(agent, site, lists + TABLE)
    seen = await told(agent, "two.append(one.firstChild)")
    assert re.search(r'^>     button "Fix" e\d+$', seen, re.MULTILINE)
    assert "-" not in seen
    assert seen.startswith(LEGEND)


async def test_a_part_of_the_page_is_compared_with_what_it_was(agent: Agent, site: PageServer) -> None:
    await show(agent, site, TABLE + DIALOG)
    first = await look(agent, scope="h1", diff=True)
    assert 'heading "Shop" h1' in first.splitlines(), "nothing of it was told before, and nothing else is gone"
    assert await look(agent, scope="h1", diff=True) == "(nothing has changed)"
    assert await look(agent, diff=True) == "(nothing has changed)", "of the page everything is known as before"
    await agent.js("document.querySelector('h1').textContent = 'Stall'; table.rows[3].remove(); return 0")
    assert await look(agent, scope="h1", diff=True) == '- heading "Shop" h1\n+ heading "Stall" h1'
    told = await look(agent, diff=True)
    assert "- table 50 rows" in re.sub(" +", " ", told)
    assert '- heading "Shop" h1' in re.sub(" +", " ", told)
    assert await look(agent, scope="h1", interactive=True, diff=True) != "(nothing has changed)", "looked at otherwise"


async def test_a_later_page_is_no_difference(agent: Agent, site: PageServer) -> None:
    await show(agent, site, f"{TABLE}<div style='height: 5000px'></div><p>Far</p>")
    second = await look(agent, page=2)
    await look(agent)
    assert await look(agent, page=2, diff=True) == second
    assert await look(agent, diff=True) == "(nothing has changed)"


# Lines alone


def test_the_same_is_no_difference() -> None:
    assert Difference(["main", "  one"], ["main", "  one"]).lines() == []


def test_a_part_that_is_gone_is_one_line() -> None:
    before = ["main", "  form", '    textbox "A" e1', '    textbox "B" e2', "  two"]
    assert Difference(before, ["main", "  two"]).lines() == ["  main", "-   form (and 2 lines in it)"]


def test_what_is_gone_is_not_what_a_line_like_it_is_elsewhere() -> None:
    """A word in another part of the page is another word."""
    before = ["region One", '  "Name"', '  "x"', "region Two", '  "y"']
    lines = Difference(before, ["region One", '  "x"', "region Two", '  "y"', '  "Name"']).lines()
    assert lines == ["  region One", '-   "Name"', "  region Two", '    "y"', '+   "Name"']


def test_words_of_the_page_are_no_refs() -> None:
    before, now = ['button "go to e7" e1', "other"], ["other", 'region "e7"', '  link "e7" e2']
    assert '- button "go to e7" e1' in Difference(before, now).lines()


def test_only_what_is_there_is_spared() -> None:
    change = Difference(["A", "A", "B", 'button "Go" e1'], ["A", 'button "Go" e1'])
    assert [node.line for node in change.gone] == ["A", "B"]
    change.spare(["B"])
    assert change.lines() == ["- A", "(1 line still there, not shown now)"]


@pytest.mark.parametrize("seed", range(200))
def test_the_sum_is_right(seed: int) -> None:
    """What was there, less what is gone, and what is new: that is what is there."""
    chance = random.Random(seed)

    def page() -> list[str]:
        lines: list[str] = []
        depth = 0
        for _ in range(chance.randrange(30)):
            depth = chance.randrange(min(depth + 2, 5))
            name = chance.choice("abcdefgh")
            lines.append("  " * depth + (f'button "{name}" e{ord(name)}' if chance.random() < 0.5 else f'"{name}"'))
        return lines

    before, now = page(), page()
    lines = Difference(before, now).lines()
    more = re.findall(
        r"\(and (\d+) lines? in it\)$|\((\d+) lines more, to this one:\)$", "\n".join(lines), re.MULTILINE
    )
    gone = sum(line[0] == "-" and not line.endswith(", to this one:)") for line in lines)
    gone += sum(int(inside or between) for inside, between in more)
    assert len(before) - gone + sum(line[0] == "+" for line in lines) == len(now)
    assert bool(lines) == (before != now)


@pytest.mark.parametrize(("kinds", "count"), [(5000, 5000), (3, 5000), (3, 1000), (3, 310)])
def test_a_difference_never_takes_long(kinds: int, count: int) -> None:
    """Repeating lines are what the matcher is slow with."""
    before = [f"row {n % kinds}" for n in range(count)]
    now = [f"row {n * n % kinds} new" if n % 2 else f"row {n * n % kinds}" for n in range(count)]
    began = time.process_time()
    Difference(before, now).lines()
    assert time.process_time() - began < 0.5


def test_many_lists_that_all_changed_are_compared_in_time() -> None:
    def page(lists: int, rows: int, word: str) -> list[str]:
        lists_of = ((f"list {n}", [f"  row {word} {n} {row}" for row in range(rows)]) for n in range(lists))
        return [line for head, rows_of in lists_of for line in (f"{head} {word}", *rows_of)]

    before, now = page(40, 60, "old"), page(40, 60, "new")
    assert not too_much(before, now)
    began = time.process_time()
    Difference(before, now).lines()
    assert time.process_time() - began < 0.2
    before, now = page(40, 2000, "old"), page(40, 2000, "new")
    began = time.process_time()
    assert too_much(before, now)
    assert time.process_time() - began < 0.2
    assert not too_much(before, [*before[:100], "fresh", *before[100:]])


def test_a_page_without_end_is_compared_too() -> None:
    before = ["  " * depth + f"group {depth}" for depth in range(3000)]
    assert Difference(before, [*before[:-1], "  " * 2999 + "group other"]).lines()[-1].strip().endswith("group other")


def test_a_small_change_of_a_long_page_is_a_small_difference() -> None:
    before = [f"row {n % 7}" for n in range(5000)]
    now = [*before[:2000], "fresh", *before[2001:]]
    assert Difference(before, now).lines() == [f"- row {2000 % 7}", "+ fresh"]
    assert Difference(before, [*before, "last"]).lines() == ["  (5000 lines unchanged)", "+ last"]
    assert Difference(before, before[:-1]).lines() == [f"- row {4999 % 7}"]


@promise("A13")
@pytest.mark.parametrize(
    ("line", "ref"),
    [
        ("link <e5.png> e7", "e7"),
        ("clickable <square-e4 24x24> e12 focused", "e12"),
        ('button "Go to e3" e4 -> /s1/e5', "e4"),
        ("img <e3>", ""),
        ('"e9"', ""),
        ('link "LED bulbs" -> /shop/e27-bulbs', ""),
        ("combobox <size> options(e1 | e2 | e12) e7", "e7"),
    ],
)
def test_no_text_of_the_page_is_taken_for_a_ref(line: str, ref: str) -> None:
    assert first_ref(line) == ref


@promise("A13")
async def test_what_was_put_back_outside_the_view_is_no_news(agent: Agent, site: PageServer) -> None:
    page = "<button id=go onclick='w.disabled = true; w.disabled = false'>Go</button>"
    await agent.call("navigate", url=site.inline(f"{page}<div style='height:3000px'></div><button id=w>Save</button>"))
    await look(agent)
    assert '"Save"' not in await agent.text("click", target="#go", snapshot="diff")
    await agent.js("w.disabled = true")
    assert '+ button "Save" e' in await agent.text("get_page_state", diff=True)


@promise("A13")
@pytest.mark.parametrize("gone", ["l.children[9].remove()", "p.textContent = ''", "s.replaceChildren()"])
async def test_what_is_taken_away_outside_the_view_is_something(agent: Agent, site: PageServer, gone: str) -> None:
    items = "\n".join(f"<li>Item {n}</li>" for n in range(12))
    below = f"<div style='height:3000px'></div><ul id=l>\n{items}\n</ul><p id=p>Words</p><div id=s><b>More</b></div><i>End</i>"
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1>{below}"))
    await look(agent)
    await agent.js(f"{gone}; 0")
    assert "something has changed outside the view" in await agent.text("get_page_state", diff=True)
