"""The page as text: complete, within its budget, with refs that stay."""

import asyncio
import random
import re
import string
from typing import Any

import pytest

from bench.tokens import count_tokens
from pilothouse.browser import snapshot
from pilothouse.browser.budget import paged
from pilothouse.browser.snapshot import tokens
from pilothouse.browser.world import World
from tests.browser.looking import REF, fails, look, put, ref, ref_in
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

BUDGETS = [50, 100, 150, 250, 500, 1000, 2500, 5000]


async def all_pages(agent: Agent, **options: int | bool | str) -> list[str]:
    pages = [await agent.call("get_page_state", **options)]
    while pages[-1].get("truncated"):
        pages.append(await agent.call("get_page_state", **options, page=len(pages) + 1))
        assert len(pages) < 200
    return [page["snapshot"] for page in pages]


@promise("A12")
@pytest.mark.parametrize("page", ["big.html", "scroll.html", "form.html", "huge.html?n=4000"])
async def test_no_budget_is_exceeded(agent: Agent, site: PageServer, page: str) -> None:
    await agent.call("navigate", url=site.url(page))
    seen: list[str] = []
    for budget in BUDGETS:
        for options in ({}, {"full": True}, {"page": 2}):
            answer = await agent.ask("get_page_state", budget=budget, **options)
            seen.append(answer.data.get("snapshot", ""))
            assert tokens(seen[-1]) <= budget
    limits = [budget for budget in BUDGETS for _ in range(3)]
    assert all(real <= budget for real, budget in zip(count_tokens(seen), limits, strict=True))


def ids(signs: str, length: int) -> str:
    """A hundred of them, the same ones in every run."""
    lot = random.Random(length)
    return " ".join("".join(lot.choices(signs, k=length)) for _ in range(100))


@promise("A12")
async def test_a_list_of_ids_keeps_the_budget_too(agent: Agent, site: PageServer) -> None:
    rows = [f"<li>{one} <button>Delete</button></li>" for one in ids(string.ascii_lowercase, 20).split()]
    await agent.call("navigate", url=site.inline(f"<ul>{''.join(rows)}</ul>"))
    seen = [await look(agent, budget=budget, full=True) for budget in BUDGETS]
    assert len(seen[0]) < len(seen[-1])
    assert all(real <= budget for real, budget in zip(count_tokens(seen), BUDGETS, strict=True))


@promise("A12")
async def test_long_addresses_and_lines_keep_the_budget_too(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html?" + "long=value&" * 400))
    await put(agent, "<p>" + "an endless sentence " * 500 + "</p><button>" + "wide " * 60 + "</button>")
    for budget in BUDGETS:
        assert tokens(await look(agent, budget=budget)) <= budget
    assert len(await all_pages(agent, budget=60)) < 10


@promise("A12")
@pytest.mark.parametrize("budget", [300, 2500])
async def test_paging_reaches_every_button(agent: Agent, site: PageServer, budget: int) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    seen = "\n".join(await all_pages(agent, budget=budget))
    assert all(f'button "{name}"' in seen for name in ("Top button", "In the box", "Middle button"))
    assert all(f"Box line {n}" in seen for n in range(1, 61))


@promise("A12")
async def test_paging_reaches_all_of_a_big_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    pages = await all_pages(agent, budget=5000)
    seen = "\n".join(pages)
    assert all(f"(Remove order {1000 + n})" in seen for n in range(300))
    assert all(f'"Page {a}.{b}"' in seen for a in range(1, 13) for b in range(1, 6))
    assert 'textbox "Reason"' in seen
    refs = [one for page in pages for one in REF.findall(page)]
    assert len(refs) < len(set(refs)) * 1.05
    missing = await fails(agent, "not_found", "get_page_state", budget=5000, page=len(pages) + 1)
    assert missing.message == f"there are only {len(pages)} pages"


@promise("A12")
async def test_lines_that_are_alike_are_not_skipped(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "".join(f"<p>same</p><p>mark {n}</p>" for n in range(40)))
    seen = "\n".join(await all_pages(agent, budget=120))
    assert all(f"mark {n}" in seen for n in range(40))


@promise("A12", "C08")
async def test_a_page_out_of_order_is_the_same_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    at_once = await look(agent, page=3)
    in_order = [await look(agent, page=page) for page in (1, 2, 3)]
    assert at_once == in_order[2]
    failure = await fails(agent, "not_found", "get_page_state", page=500)
    assert "there are only" in failure.message


@promise("A12")
async def test_scope_depth_and_interactive(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    nav = await look(agent, scope="nav")
    assert "Page 12.5" in nav
    assert "Orders" not in nav
    shallow = await look(agent, depth=1)
    assert "  " not in shallow.partition("\n")[2]
    acting = await look(agent, interactive=True)
    assert 'button "Filter"' in acting
    assert "Orders" not in acting
    await fails(agent, "not_found", "get_page_state", scope="#nowhere")


@promise("A12")
async def test_the_viewport_comes_first_and_the_rest_is_announced(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    seen = await look(agent)
    assert 'button "Top button"' in seen
    assert "Middle button" not in seen
    assert re.search(r"\(\d+ more items below: page=2", seen)
    assert "Middle button" in await look(agent, full=True)
    await agent.call("scroll", target="#middle")
    seen = await look(agent)
    assert 'button "Middle button"' in seen
    assert re.search(r"\d+ more items above", seen)


@promise("A13")
async def test_a_page_that_is_another_is_shown_whole_and_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("todo.html"))
    assert "the whole page" not in await look(agent, diff=True)
    await agent.js(
        "document.body.innerHTML = Array.from({length: 30}, (_, n) => `<h2>Part ${n} of another page</h2>`).join(''); return 0"
    )
    anew = await look(agent, diff=True, budget=150)
    assert anew.startswith("(most of what is shown is new: the whole page)\n")
    assert "Part 3" in anew
    assert tokens(anew) <= 150


@promise("A13")
async def test_differences(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("todo.html"))
    assert "New task" in await look(agent, diff=True)
    assert await look(agent, diff=True) == "(nothing has changed)"
    await agent.call("type_text", target="#task", text="Buy milk", submit=True)
    changed = await look(agent, diff=True)
    assert "+" in changed
    assert "Delete Buy milk" in changed
    assert 'button "Open"' not in changed
    assert await look(agent, diff=True) == "(nothing has changed)"


@promise("A12", "A13")
async def test_a_link_reads_the_same_wherever_its_page_stands(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("todo.html"))
    here = "/todo.html"
    links = f"<a href={here}>Home</a> <a href=/r4.html>Orders</a> <a href={here}#top>Top of it</a> <a href=#top>Top</a>"
    await put(agent, f"<nav>{links}</nav><h1 id=h>Home</h1>")
    seen = re.sub(REF, "E", await look(agent))
    assert f'link "Home" E -> {here}\n' in seen
    assert f'link "Top of it" E -> {here}#top\n' in seen
    assert 'link "Top" E\n' in seen
    await agent.js("history.pushState(null, '', '/r4.html'); h.textContent = 'Orders'; return 0")
    assert await look(agent, diff=True) == '- heading "Home" h1\n+ heading "Orders" h1'


@promise("A12")
async def test_of_rows_with_controls_the_cells_are_told(agent: Agent, site: PageServer) -> None:
    long = "word " * 20
    row = f"<tr><td>Ada</td><td></td><td>{long}</td><td><button>Edit</button></td></tr>"
    rows = f"<tr><th>Name</th><th>A</th><th>B</th><th></th></tr>{row}<tr><td>Eve</td><td>x</td><td>y</td><td></td></tr>"
    await agent.call("navigate", url=site.inline(f"<p>Intro</p><table>{rows}</table>"))
    _, _, seen = (await look(agent, interactive=True)).partition("\n")
    assert 'row: "Ada" | "" | "word word' in seen
    assert '…" | button "Edit" e1' in seen
    assert long.strip() not in seen
    assert "Eve" not in seen
    assert "Intro" not in seen


@promise("A12")
async def test_a_cell_says_how_many_rows_and_columns_are_its_own(agent: Agent, site: PageServer) -> None:
    rows = (
        "<tr><th rowspan=1>Drink<th colspan=2>Size and price"
        "<tr><td rowspan=2>Tea<td>S<td>$1<tr><td>L<td>$2"
        "<tr><td rowspan=2 colspan=2 onclick='1'><p>Milk</p><td>$3<tr><td><button>Buy</button>"
        "<tr><td>Water<td rowspan=2><td>$0<tr><td>Ice<td>$0"
    )
    await agent.call("navigate", url=site.inline(f"<table id=t>{rows}</table>"))
    assert (
        re.sub(REF, "E", (await look(agent)).partition("\n")[2])
        == """\
table 6 rows
  header: "Drink" | "Size and price" (2 columns)
  row: "Tea" (2 rows) | "S" | "$1"
  row: "L" | "$2"
  row: clickable "Milk" E (2 rows) (2 columns) | "$3"
  row: button "Buy" E
  row: "Water" | "" (2 rows) | "$0"
  row: "Ice" | "$0\""""
    )
    text = (await agent.call("get_page_text"))["text"]
    assert text.splitlines()[:3] == ["Drink | Size and price (2 columns)", "Tea (2 rows) | S | $1", "L | $2"]


@promise("A13")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("low.textContent = 'Saved'", '+ "Saved" (outside the view)'),
        ("low.firstChild.data = 'Typed'", '+ "Typed" (outside the view)'),
        ("document.body.append(Object.assign(document.createElement('button'), {textContent: 'Fresh'}))", "Fresh"),
        ("low.style.color = 'red'", "(something has changed outside the view: full, find or scope)"),
        ("low.remove()", "(something has changed outside the view: full, find or scope)"),
        ("inner.lastChild.textContent = 'Deep'", '+ "Deep" (outside the view)'),
        ("document.head.append(document.createElement('style'))", "(nothing has changed)"),
        (
            "for (const n of [1, 2, 3, 4, 5]) document.body.append(inner.lastChild.cloneNode(true))",
            "(something else has changed outside the view: full, find or scope)",
        ),
    ],
)
async def test_a_change_outside_the_view_is_told(agent: Agent, site: PageServer, change: str, told: str) -> None:
    inner = "<div id=inner style='height:50px;overflow:auto'><div style='height:900px'></div><p>In</p></div>"
    html = f"<h1>Top</h1>{inner}<div style='height:3000px'></div><p id=low>Low</p><p>Last</p>"
    await agent.call("navigate", url=site.inline(html))
    await look(agent)
    await agent.js(f"{change}; 0")
    changed = await look(agent, diff=True)
    assert told in changed
    assert "Top" not in changed
    assert await look(agent, diff=True) == "(nothing has changed)"


@promise("A13")
async def test_an_action_tells_of_its_change_outside_the_view(agent: Agent, site: PageServer) -> None:
    frame = "<iframe srcdoc=\"<div style='height:3000px'></div><p id=p>x</p>\"></iframe>"
    go = "<button onclick=\"frames[0].p.textContent = 'Sent'\">Go</button>"
    await agent.call("navigate", url=site.inline(go + frame))
    await look(agent)
    assert '+ "Sent" (outside the view)' in await agent.text("click", target="text=Go", snapshot="diff")
    assert "looks as before" in await agent.text("click", target="text=Go", button="right", snapshot="diff")


@promise("A12", "A13")
async def test_a_text_that_says_the_same_as_a_control_is_told(agent: Agent, site: PageServer) -> None:
    """Which of a list was pressed, written below it. Only what names a control is left out, for the control says it."""
    named = "<span id=s>Mail</span><input aria-labelledby=s>"
    html = f"{named}<ul id=m><li><span>Copy</span></li><li><span>Archive</span></li></ul><p id=n></p>"
    listens = "m.addEventListener('click', e => { n.textContent += ' ' + e.target.textContent })"
    await agent.call("navigate", url=site.inline(f"{html}<script>{listens}</script>"))
    assert (await look(agent)).count('"Mail"') == 1
    assert '+ "Archive"' in await agent.text("click", target="text=Archive", snapshot="diff")
    assert '"Archive Archive"' in await agent.text("click", target="li:last-child", snapshot="diff")
    assert (await look(agent)).partition("\n")[2].count("Archive") == 3


@promise("A13")
async def test_a_difference_keeps_to_its_way_of_looking(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("table.html"))
    await look(agent, interactive=True)
    whole = await look(agent, diff=True)
    assert "People" in whole
    assert await look(agent, diff=True) == "(nothing has changed)"


@promise("A12", "A13")
async def test_a_difference_keeps_the_budget(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    await look(agent, full=True)
    await agent.js("document.querySelectorAll('.badge').forEach((one, n) => { if (n < 60) one.textContent = 'New' })")
    changed = await look(agent, full=True, diff=True, budget=500)
    assert tokens(changed) <= 500
    assert "more changed lines" in changed


@promise("A12")
async def test_find(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    by_text = await agent.call("find", text="remove order 1234")
    assert by_text["total"] == 1
    assert 'button "✕" (Remove order 1234) e' in by_text["hits"][0]
    by_pattern = await agent.call("find", pattern=r"Page 1[012]\.\d", limit=2)
    assert by_pattern["total"] == 3
    assert len(by_pattern["hits"]) == 2
    by_role = await agent.call("find", role="searchbox")
    assert by_role["total"] == 1
    assert (await agent.call("find", text="no such thing"))["hits"] == []
    assert (await agent.call("find", pattern="^#1234$"))["hits"] == by_text["hits"]
    await fails(agent, "bad_request", "find")
    await fails(agent, "bad_request", "find", pattern="(")


@promise("A12")
async def test_a_name_of_one_letter_is_read_with_its_tooltip(agent: Agent, site: PageServer) -> None:
    html = '<button title="Delete forever">X</button><button title="Bold">B</button><button title="Best">OK</button>'
    await agent.call("navigate", url=site.inline(html))
    seen = re.sub(REF, "E", await look(agent)).splitlines()[1:]
    assert seen == ['button "X" (Delete forever) E', 'button "B" (Bold) E', 'button "OK" E']


ROW = "position:absolute;height:30px;top:"


@promise("A12", "A13")
async def test_a_list_that_draws_few_of_its_rows_says_that_it_scrolls(agent: Agent, site: PageServer) -> None:
    """What the box clips is not in view, and how much there is its rows do not tell."""
    fill = f"for (let n = 0; n < most; n++) list.innerHTML += `<div style='{ROW}${{n * 30 + at}}px'>Row ${{n + at / 30}}</div>`"
    box = "<div id=box style='height:180px;overflow:auto'><div id=list style='position:relative;height:20000px'></div></div>"
    await agent.call("navigate", url=site.inline(f"{box}<p>After</p>"))
    await agent.js(f"const at = 0, most = 8; {fill}; return 0")

    async def rows() -> list[str]:
        return re.sub(REF, "E", await look(agent)).splitlines()[1:]

    shown = [f'  "Row {n}"' for n in range(6)]
    assert await rows() == ["scrollable E", *shown, "  (2+ more below: scroll E)", '"After"']
    await agent.js("list.lastChild.textContent = 'New'; return 0")
    assert await look(agent, diff=True) == '+ "New" (outside the view)'
    await agent.js("list.lastChild.remove(); list.lastChild.remove(); return 0")
    assert await rows() == ["scrollable E", *shown, "  (scrolls on below: scroll E)", '"After"']
    await agent.js(f"list.textContent = ''; const at = 19800, most = 6; {fill}; box.scrollTop = 19820; return 0")
    shown = [f'  "Row {n}"' for n in range(660, 666)]
    assert await rows() == ["scrollable E", "  (scrolls on above: scroll E)", *shown, '"After"']


@promise("A12")
async def test_a_list_that_runs_upwards_scrolls_on_above(agent: Agent, site: PageServer) -> None:
    """A chat begins at its end."""
    said = "".join(f"<p style='height:40px;margin:0;flex:none'>{n}</p>" for n in range(9))
    chat = f"<div style='display:flex;flex-direction:column-reverse;height:80px;overflow:auto'>{said}</div>"
    await agent.call("navigate", url=site.inline(chat))
    seen = re.sub(REF, "E", await look(agent)).splitlines()[1:]
    assert "  (7 more above: scroll E)" in seen
    assert not [line for line in seen if "below" in line]


@promise("A11")
async def test_found_refs_act(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    hit = (await agent.call("find", text="Reason"))["hits"][0]
    await agent.call("type_text", target=ref_in(hit, 'textbox "Reason"'), text="late")
    assert await agent.js("reason.value") == "late"


@promise("A11")
async def test_a_ref_stays_with_its_element(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    first = await ref(agent, 'button "Go"')
    await agent.js("go.before(document.createElement('hr')); go.textContent = 'Went'")
    assert await ref(agent, 'button "Went"') == first


@promise("A11")
async def test_numbers_are_never_used_twice(agent: Agent, site: PageServer) -> None:
    seen: set[str] = set()
    for page in ("small.html", "form.html", "table.html", "small.html?2"):
        await agent.call("navigate", url=site.url(page))
        refs = set(REF.findall((await look(agent, full=True)).partition("\n")[2]))
        assert refs
        assert not refs & seen
        seen |= refs


@promise("A11")
@pytest.mark.whole("only all of Chromium keeps pages to come back to")
async def test_going_back_brings_the_refs_back(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    button = await ref(agent, 'button "Go"')
    await agent.call("click", target=button)
    await agent.call("click", target="text=Next")
    await fails(agent, "stale_ref", "click", target=button)
    await agent.call("go_back")
    await agent.call("click", target=button)
    assert await agent.js("clicks") == 2
    assert await ref(agent, 'button "Go"') == button


@promise("A10", "A21")
@pytest.mark.parametrize("name", ["Same", "Outer", "Inner", "Cross", "Far", "Home"])
async def test_refs_of_every_frame_act_without_switching(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    button = await ref(agent, f'button "{name} button"')
    await agent.call("click", target=button)
    read = await agent.call(
        "evaluate_js", expression="element.parentNode.querySelector('#out').textContent", target=button
    )
    assert read["value"] == "1"


@promise("A14")
async def test_hidden_text_is_marked(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    hidden = {
        "white": "color:#fff;background:#fff",
        "clear": "opacity:0",
        "tiny": "font-size:0",
        "off": "position:absolute;left:-9999px",
        "clipped": "position:absolute;width:1px;height:1px;overflow:hidden",
    }
    await put(agent, "<p>seen well</p>" + "".join(f'<p style="{css}">text {name}</p>' for name, css in hidden.items()))
    lines = (await look(agent)).splitlines()
    for name in hidden:
        assert all("(hidden)" in line for line in lines if f"text {name}" in line)
    assert not any("(hidden)" in line for line in lines if "seen well" in line)


@promise("A14")
async def test_what_is_not_drawn_is_not_read(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(
        agent, "<p>here</p><p hidden>not one</p><p style='visibility:hidden'>not two</p><script>'not three'</script>"
    )
    assert "not" not in (await look(agent, full=True)).partition("\n")[2]
    assert (await agent.call("get_page_text"))["text"] == "here"


@promise("A12")
async def test_the_text_of_a_page_in_pages(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    first = await agent.call("get_page_text", budget=200)
    texts = [first["text"]]
    for page in range(2, first["pages"] + 1):
        texts += [(await agent.call("get_page_text", budget=200, page=page))["text"]]
    assert all(tokens(text) <= 200 for text in texts)
    assert all(f"Box line {n}" in "\n".join(texts) for n in range(1, 61))
    assert (await agent.call("get_page_text", target="h2"))["text"] == "Endless list"
    await fails(agent, "not_found", "get_page_text", page=1000)


@promise("A12")
async def test_a_text_without_line_breaks_is_cut_all_the_same() -> None:
    text = "".join(f"{n}x" for n in range(3000))
    pages = paged(text, 100)
    assert all(tokens(page) <= 100 for page in pages)
    assert "".join(pages) == text


@promise("A10")
async def test_frames_out_of_view_keep_nobody_waiting(agent: Agent, site: PageServer) -> None:
    far = "".join(f"<iframe srcdoc='<button>Far {n}</button>'></iframe>" for n in range(20))
    near = "<iframe srcdoc='<button>Near</button>'></iframe>"
    await agent.call("navigate", url=site.inline(f"{near}<div style='height: 5000px'></div>{far}"))
    state = await look(agent)
    assert 'button "Near"' in state
    assert 'button "Far' not in state
    (session,) = agent.gate.own(agent.caller).all()
    assert session.current
    read = [frame for frame in session.current.frames if frame.world and frame.world._furnished]
    assert len(read) == 2  # the page itself, and what it shows
    assert (await agent.call("find", text="Far 19"))["total"] == 1


@promise("A10", "A21")
async def test_the_text_of_frames_is_part_of_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", text="Home field")
    text = (await agent.call("get_page_text"))["text"]
    assert all(f"{name} field" in text for name in ("Same", "Inner", "Cross", "Home"))


@promise("A10", "A21")
async def test_the_text_of_an_element_is_also_that_of_the_frames_in_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", text="Home field")
    for target, told in (
        ("#same", ["Same"]),
        ("#nested", ["Inner"]),
        ("#cross", ["Cross"]),
        ("body", ["Same", "Inner", "Cross", "Home"]),
        ("h1", []),
    ):
        text = (await agent.call("get_page_text", target=target))["text"]
        assert [name for name in ("Same", "Inner", "Cross", "Home") if f"{name} field" in text] == told


@promise("A07")
async def test_surrogates_and_invisible_characters(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("surrogates.html"))
    for text in (await look(agent), await agent.text("get_page_text"), await agent.text("find", text="zerowidth")):
        text.encode()
        assert not re.search("[\u200b\u202e\u0007\u001b\U000e0041]", text)


@promise("A12", "C08")
async def test_who_finds_nothing_is_told_what_comes_near(agent: Agent, site: PageServer) -> None:
    html = '<h1>Shop</h1><button>Place order</button><a href=/x>Terms</a><p>He said "hello"</p>'
    await agent.call("navigate", url=site.inline(html))
    near = await agent.text("find", text="place ordre")
    assert near.startswith("0 found; the nearest are below")
    assert 'button "Place order" e' in near
    told = await agent.text("find", role="buton")
    assert "button, heading, link" in told
    assert (await agent.ask("find", text="nothing like it")).text.startswith("0 found; try")
    assert (await agent.call("find", pattern='^he said "hello"$'))["total"] == 1
    assert (await agent.call("find", pattern="^Place$"))["total"] == 0


@promise("A12")
async def test_counts_claim_no_more_than_is_known(agent: Agent, site: PageServer) -> None:
    row = "<tr><td>${i}</td><td>b</td><td>c</td><td><button>Edit</button></td></tr>"
    fill = f"<script>for (let i = 0; i < 300; i++) t.insertAdjacentHTML('beforeend', `{row}`)</script>"
    await agent.call("navigate", url=site.inline(f"<main><table><tbody id=t></tbody></table>{fill}</main>"))
    assert re.search(r"table 300 rows e\d+ \(\d+\+ controls inside: scope\)", await look(agent, depth=2))
    assert "(300 controls inside: scope)" in await look(agent, depth=2, full=True)
    first, second = [await look(agent, budget=400, page=page) for page in (1, 2)]
    left = [int(re.findall(r"(\d+) more items below", one)[0]) for one in (first, second)]
    shown = second.count("row: ")
    assert abs(left[0] - shown - left[1]) < 10


LONG_FORM = (
    "<form>"
    + "".join(f"<p><label>Field {n} <input></label></p>" for n in range(80))
    + "<button>Save all</button></form>"
)


@promise("A12")
async def test_what_sends_a_form_in_view_is_named_wherever_it_lies(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, LONG_FORM)
    hint = (await look(agent)).splitlines()[-1]
    assert 'button "Save all" e' in hint
    await agent.call("wait_for_element", target=ref_in(hint, 'button "Save all"'))
    assert "Save all" in (await look(agent, budget=250)).splitlines()[-1], "cut off by the budget"


@promise("A12")
@pytest.mark.parametrize(
    ("buttons", "named"),
    [
        ("<button style='display:none'>Trap</button><button>Save</button>", 'button "Save"'),
        ("<button style='visibility:hidden'>Later</button>", ""),
        ("<input type=submit value=Send>", 'button "Send"'),
        ("<button type=button>Add a row</button>", ""),
    ],
)
async def test_only_what_a_person_could_press_is_named(
    agent: Agent, site: PageServer, buttons: str, named: str
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, LONG_FORM.replace("<button>Save all</button>", buttons))
    hint = (await look(agent)).splitlines()[-1]
    assert "more items below" in hint
    assert named in hint
    assert named or "among them" not in hint


@promise("A12")
async def test_a_small_budget_has_no_room_for_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, LONG_FORM.replace("Save all", "\u0e01\u0e02\u0e04" * 13))
    for budget in (200, 250, 400):
        first = await look(agent, budget=budget)
        assert tokens(first) <= budget
        assert 'textbox "Field 0"' in first


@promise("A12")
async def test_what_sends_a_form_is_named_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<form><input><button>Save</button></form>" + "<p>more</p>" * 300)
    assert (await look(agent)).count("Save") == 1


@promise("A12")
async def test_options_end_where_they_end(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<p>Size <select><option>S<option>M</select> <button>Go</button></p>")
    assert re.search(r'options\(S \| M\) button "Go"', await look(agent))


@promise("A12")
async def test_what_a_role_does_not_say_of_a_field(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    fields = {
        '<input type=password aria-label="A">': r'textbox "A" e\d+ password',
        '<textarea aria-label="A"></textarea>': r'textbox "A" e\d+ multiline',
        '<select multiple aria-label="A"><option>x</select>': r'listbox "A" e\d+ multiple',
        '<input type=file multiple aria-label="A">': r'file "A" e\d+ multiple',
    }
    for html, line in fields.items():
        await put(agent, html)
        assert re.search(line, await look(agent))


@promise("A12")
async def test_quoted_text_is_unambiguous(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    for text, line in {'say "hi"': r'"say \"hi\""', "C:\\temp": r'"C:\temp"', "ends\\": r'"ends\\"'}.items():
        await put(agent, f"<p>{text}</p>")
        assert line in await look(agent)


COMBOBOX = """<label>Fruit <input id=fruit role=combobox aria-expanded=true aria-controls=list></label>
<ul id=list role=listbox>
  <li role=option id=o1>Apple</li><li role=option id=o2>Pear</li><li role=option id=o3>Plum</li>
</ul>
<script>
  let at = 0;
  fruit.onkeydown = ({ key }) => {
    if (key === "ArrowDown") fruit.setAttribute("aria-activedescendant", `o${at = Math.min(at + 1, 3)}`);
    if (key === "Escape") fruit.removeAttribute("aria-activedescendant");
  };
</script>"""


@promise("C07")
async def test_of_the_active_option_not_more_is_told_than_a_name(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(COMBOBOX.replace("Apple", "Apple " * 1000)))
    await agent.call("click", target="#fruit")
    pressed = await agent.text("press_key", key="ArrowDown")
    assert pressed.startswith('pressed ArrowDown (active: option "Apple Apple ')
    assert len(pressed) < 150


@promise("A12", "C07")
async def test_the_active_option_is_marked_and_told_when_a_key_moves_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(COMBOBOX))
    await agent.call("click", target="#fruit")
    assert " active" not in await look(agent)
    assert await agent.text("press_key", key="ArrowDown") == 'pressed ArrowDown (active: option "Apple")'
    seen = await look(agent)
    assert re.search(r'option "Apple" e\d+ active$', seen, re.MULTILINE)
    assert seen.count(" active") == 1
    told = await agent.text("press_key", key="ArrowDown", count=2, snapshot="diff")
    assert 'active: option "Plum"' in told
    assert re.search(r'\+ +option "Plum" e\d+ active$', told, re.MULTILINE)
    assert await agent.text("press_key", key="ArrowDown") == "pressed ArrowDown"  # it is the last
    await agent.call("press_key", key="Escape")
    assert " active" not in await look(agent)


@promise("A12")
async def test_the_active_cell_of_a_grid_and_item_of_a_tree_are_marked(agent: Agent, site: PageServer) -> None:
    cells = "".join(f"<div role=gridcell id=c{n}>Day {n}</div>" for n in range(3))
    grid = f"<div role=grid id=grid tabindex=0 aria-activedescendant=c1><div role=row>{cells}</div></div>"
    items = "<div role=treeitem id=t1>Files</div><div role=treeitem id=t2>Music</div>"
    tree = f"<div role=tree id=tree tabindex=0 aria-activedescendant=t2>{items}</div>"
    await agent.call("navigate", url=site.inline(grid + tree))
    assert " active" not in await look(agent)  # nothing has the focus
    await agent.js("grid.focus(); return 0")
    seen = await look(agent)
    assert re.search(r'"Day 1"[^|]* active', seen)
    assert seen.count(" active") == 1
    await agent.js("tree.focus(); return 0")
    assert re.search(r'treeitem "Music" e\d+ active', await look(agent))


@promise("A12")
async def test_a_far_page_takes_no_more_walks_than_a_near_one(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[bool] = []

    async def counted(world: World, wanted: dict[str, Any], timeout: float) -> dict[str, Any]:
        walks.append(wanted["full"])
        return await walk(world, wanted, timeout)

    walk = snapshot._walk
    monkeypatch.setattr(snapshot, "_walk", counted)
    rows = "".join(f"<tr><td>{n}<td>Name {n}" for n in range(1500))
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, f"<table>{rows}</table>")
    far = await look(agent, page=25, budget=500)
    assert walks == [True, False]
    assert (left := re.search(r"page=26 of about (\d+)", far))
    refused = await fails(agent, "not_found", "get_page_state", page=900, budget=500)
    assert walks == [True, False, True]
    pages = int(refused.message.split()[3])
    assert abs(pages - int(left[1])) < pages / 10
    assert refused.suggestions[0] == f"page={pages} is the last"
    assert '"Name 1499"' in await look(agent, page=pages, budget=500)
    assert await look(agent, page=25, budget=500) == far
    del walks[:]
    everything = [await look(agent, full=True, budget=500, page=n) for n in (3, 1, 2, 3)]
    assert walks == [True] * 4
    assert everything[0] == everything[3]
    assert "page=2 of about" in everything[1]


@promise("A12")
async def test_what_was_not_shown_is_no_base_for_a_difference(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    await look(agent, page=3)
    assert "Orders" in await look(agent, diff=True)


@promise("A12", "C08")
async def test_who_asks_for_a_page_too_many_is_told_how_many_there_are(agent: Agent, site: PageServer) -> None:
    html = "".join(f"<p>Line {n} of a page that is long enough for two</p>" for n in range(30))
    await agent.call("navigate", url=site.inline(html))
    assert "page=2" in await look(agent, budget=400)
    for page in (5, 1000):
        refused = await fails(agent, "not_found", "get_page_state", page=page, budget=400)
        assert re.match(r"there are only [2-4] pages$", refused.message)
    await agent.call("navigate", url=site.inline("<p>Short</p>"))
    refused = await fails(agent, "not_found", "get_page_state", page=2)
    assert refused.message.startswith("there is only 1 page")


@promise("A12", "C08")
async def test_pages_that_are_read_at_once_are_what_they_are_one_by_one(agent: Agent, site: PageServer) -> None:
    html = "".join(f"<p>Line {n} of a page that is long enough for many</p>" for n in range(400))
    await agent.call("navigate", url=site.inline(html))
    one_by_one = [await look(agent, budget=400, page=page) for page in (1, 2, 3)]
    for _ in range(3):
        at_once = await asyncio.gather(*(look(agent, budget=400, page=page) for page in (3, 1, 2, 1)))
        assert at_once == [one_by_one[page - 1] for page in (3, 1, 2, 1)]


@promise("A12", "A10")
async def test_a_row_a_hair_wider_than_its_box_has_its_button(agent: Agent, site: PageServer) -> None:
    rows = "".join(f"<div class=r><p>Invoice {n}</p><p>Due</p><button>Pay {n}</button></div>" for n in range(30))
    style = (
        "<style>#b{height:400px;padding:15px;overflow:hidden auto} .r{margin:0 -16px;height:90px} p{margin:0}</style>"
    )
    await agent.call("navigate", url=site.inline(f"{style}<div id=b>{rows}</div>"))
    shown = (await look(agent)).partition("\n")[2]
    assert shown.count("Invoice") == shown.count("Pay") > 3


@promise("A10")
async def test_a_cell_that_is_alone_in_its_row_spans_nothing(agent: Agent, site: PageServer) -> None:
    table = "<table><tr><th>A<th>B<th>C<tr><td colspan=99>No more<tr><td colspan=2>Two<td>c</table>"
    await agent.call("navigate", url=site.inline(table))
    shown = (await look(agent)).partition("\n")[2]
    assert "99" not in shown
    assert '"Two" (2 columns)' in shown


@promise("A11", "A12")
async def test_a_part_that_is_gone_is_stale(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<main id=m><button id=b>Go</button></main>"))
    gone = await ref(agent, 'button "Go"')
    await agent.js("b.remove()")
    await fails(agent, "stale_ref", "get_page_state", scope=gone)
