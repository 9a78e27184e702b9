"""Targets: refs, CSS, text, roles, XPath, alternatives."""

import re
import time
from typing import Any

import pytest

from pilothouse.browser.listeners import told_ahead
from pilothouse.browser.tab import Tab
from tests.browser.looking import fails, put, ref, tab_of
from tests.browser.test_memory import until
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer


@promise("C06")
@pytest.mark.parametrize(
    "target",
    [
        "#go",
        "button",
        "form > button[type=button]",
        "text=Go",
        "text=go",
        'text="Go"',
        "role=button",
        'role=button[name="Go"]',
        "role=button[name='go']",
        "role=button[name=Go]",
        "role=button[name=/^G/]",
        "xpath=//button[@id='go']",
        ["#missing", "e999", "text=Go"],
    ],
)
async def test_every_way_to_name_a_button(agent: Agent, site: PageServer, target: str | list[str]) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("click", target=target)
    assert await agent.js("clicks") == 1


@promise("C06")
@pytest.mark.parametrize(
    ("target", "field"),
    [
        ("label=Name", "name"),
        ("label=name", "name"),
        ("label=Full", "full"),
        ('label="Name"', "name"),
        ("label=Agree", "agree"),
        ("label=Colour", "colour"),
        ("label=Search the shop", "search"),
    ],
)
async def test_a_field_by_its_label(agent: Agent, site: PageServer, target: str, field: str) -> None:
    page = """<label>Full name <input id=full></label><label for=name>Name</label><input id=name>
        <input type=checkbox id=agree style="display: none"><label for=agree>Agree</label>
        <label>Colour <select id=colour><option>Red</select></label><input id=search aria-label="Search the shop">
        <button id=other>Name</button><script>
        for (const one of document.querySelectorAll("input,select,button"))
          for (const kind of ["click", "focus"]) one.addEventListener(kind, () => { window.used = one.id })
        </script>"""
    await agent.call("navigate", url=site.inline(page))
    await agent.call("click", target=target)
    assert await agent.js("used") == field


@promise("C06", "C08")
async def test_a_label_that_is_not_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<label>Full name <input></label>"))
    await fails(agent, "not_found", "click", target='label="name"')
    await fails(agent, "not_found", "click", target="label=Address")
    await fails(agent, "bad_request", "click", target="label=")


@promise("C06")
async def test_a_ref(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("click", target=await ref(agent, 'button "Go"'))
    assert await agent.js("clicks") == 1


@promise("C06")
async def test_the_first_alternative_that_is_there_wins(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    said = await agent.text("click", target=["#nothing", "#news", "#go"])
    assert "Newsletter" in said
    await fails(agent, "bad_request", "click", target=[])


@promise("C06")
@pytest.mark.parametrize("word", ["later", "color", "scriptless", "stored"])
async def test_text_that_no_page_says_is_not_found(agent: Agent, site: PageServer, word: str) -> None:
    """The source of scripts and styles, what is for pages without script, what a field would suggest."""
    page = """<p>wait<style>p { color: red }</style></p><div><noscript>scriptless</noscript>
        <input list=all><datalist id=all><option>stored</datalist></div>
        <script>const show = () => { document.querySelector("p").append(" later") }</script>"""
    await agent.call("navigate", url=site.inline(page))
    await fails(agent, "not_found", "click", target=f"text={word}")
    await fails(agent, "timeout", "wait_for", target=f"text={word}", timeout_ms=100)
    await agent.call("wait_for", gone=f"text={word}", timeout_ms=1000)


@promise("C06")
async def test_text_is_found_beside_a_script_that_says_the_same(agent: Agent, site: PageServer) -> None:
    page = """<section onclick="window.used = this.id" id=outer>Now <b>and <i>then</i><script>"Now"</script></b></section>
        <div onclick="window.used = this.id" id=inner><script>"soon"</script><span>so<b>on</b></span></div>"""
    await agent.call("navigate", url=site.inline(page))
    for word, used in (("Now", "outer"), ("and then", "outer"), ("soon", "inner")):
        await agent.call("click", target=f"text={word}")
        assert await agent.js("used") == used


async def thread_time(tab: Tab) -> float:
    """How long the page's own thread has worked: however busy the machine is, that is as much."""
    await tab.channel.send("Performance.enable", timeDomain="threadTicks")
    metrics = (await tab.channel.send("Performance.getMetrics"))["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "ThreadTime")


@promise("C06", "A05")
async def test_a_text_is_found_in_a_large_page_in_time(agent: Agent, site: PageServer) -> None:
    """A style far down must not make everything around it be read again and again (M: 8 s before, 0.4 s now)."""
    deep = "<div>" * 20 + "<div id=rows></div><style>.x { color: red }</style>" + "</div>" * 20
    script = """<script>rows.innerHTML = Array.from({length: 20000}, (_, i) =>
        `<div><span>Row ${i}.</span> <i>some text</i></div>`).join('')</script>"""
    await agent.call("navigate", url=site.inline(deep + script))
    tab = tab_of(agent)
    began = await thread_time(tab)
    await agent.call("click", target="text=Row 777.")
    assert await thread_time(tab) - began < 4


@promise("C06", "A05")
@pytest.mark.parametrize("control", ["<button>Delete</button>", "<label>Delete <input type=checkbox></label>"])
async def test_a_text_that_many_rows_have_takes_as_long_as_there_are_rows(
    agent: Agent, site: PageServer, control: str
) -> None:
    """Eight times the rows, about eight times the work: not sixty times."""
    took: list[float] = []
    for count in (500, 500, 4000):
        rows = f"<body><script>document.body.innerHTML = `<div>Row {control}</div>`.repeat({count})</script>"
        await agent.call("navigate", url=site.inline(rows))
        tab = tab_of(agent)
        await until(lambda tab=tab: told_ahead(tab))
        before = await thread_time(tab)
        failure = await fails(agent, "ambiguous", "click", target="text=Delete")
        took.append(await thread_time(tab) - before)
        assert failure.message.startswith("10 or more elements match")
    assert took[2] < 24 * took[1]


@promise("C08")
async def test_nothing_found_offers_what_is_near(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("table.html"))
    answer = await agent.ask("click", target="text=Refersh")
    error = answer.data["error"]
    assert error["code"] == "not_found"
    assert any(line.startswith('button "Refresh" e') for line in error["details"]["candidates"])
    assert 'button "Refresh"' in answer.text
    assert set(error) == {"code", "category", "message", "details", "suggestions", "retryable", "metadata"}
    assert error["metadata"]["tool"] == "click"
    assert error["metadata"]["url"] == site.url("table.html")


@promise("C08")
@pytest.mark.parametrize("target", ["##", "role=", "xpath=//[", "text=", "div[", ""])
async def test_a_bad_target_is_a_bad_request(agent: Agent, site: PageServer, target: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "bad_request", "click", target=target)


@promise("C08")
async def test_a_ref_that_was_never_given(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "not_found", "click", target="e4711")


@promise("C06")
async def test_several_matches_are_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("table.html"))
    said = await agent.text("click", target="table button")
    assert "first of 30 matches" in said
    assert await agent.js("hits") == {"0:select": 1}


@promise("C06", "C08")
@pytest.mark.parametrize("target", ["text=Edit", 'role=button[name="Edit"]', ["text=No such thing", "text=Edit"]])
async def test_who_acts_has_to_say_which(agent: Agent, site: PageServer, target: str | list[str]) -> None:
    """By a name that ten things have, nothing is done; each of them is told with what stands around it."""
    await agent.call("navigate", url=site.url("table.html"))
    answer = await agent.ask("click", target=target)
    error = answer.data["error"]
    assert error["code"] == "ambiguous"
    assert await agent.js("hits") == {}
    lines = error["details"]["candidates"]
    assert len(lines) == 10
    third = next(line for line in lines if re.fullmatch(r'button "Edit" e\d+ in "Linus . Dev .*"', line))
    assert third in answer.text
    await agent.call("click", target=re.search(r"e\d+", third)[0])  # pyright: ignore[reportOptionalSubscript]
    assert await agent.js("hits") == {"2:edit": 1}


@promise("C06")
async def test_an_alternative_that_means_one_thing_is_used(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("table.html"))
    await agent.call("click", target=["text=Edit", "tbody tr:nth-child(2) button:nth-of-type(2)"])
    assert await agent.js("hits") == {"1:edit": 1}


@promise("C06")
async def test_one_of_them_in_sight_or_links_to_one_place_are_no_question(agent: Agent, site: PageServer) -> None:
    page = """<a href="#cart"><b>Cart</b></a> <button hidden>Save</button><button onclick="window.saved = 1">Save</button>
        <footer><a href="#cart">Cart</a> <a href="#help">Help</a> <a href="#other">Help</a></footer>"""
    await agent.call("navigate", url=site.inline(page))
    await agent.call("click", target="text=Cart")
    assert await agent.js("location.hash") == "#cart"
    await agent.call("click", target="text=Save")
    assert await agent.js("saved") == 1
    await fails(agent, "ambiguous", "click", target="text=Help")


DELETES = """<style>body { margin: 0 } .veil { position: fixed; inset: 0; background: #0008 }
    .box { position: fixed; left: 20px; top: 100px; background: white; padding: 20px }</style>
    <main><button onclick="window.hit = 'page'">Delete</button>SPACE</main>
    FRONT<script>document.querySelector('dialog')?.showModal()</script>"""
FRONT = "<button onclick=\"window.hit = 'front'\">Delete</button>"
FAR = "<p style='height: 3000px'></p><button onclick=\"window.hit = 'far'\">Delete</button>"
CLIPPED = f"<div class=box style='height: 30px; overflow: auto'><p style='height: 900px'></p>{FRONT}</div>"


@promise("C06")
@pytest.mark.parametrize(
    ("front", "space"),
    [
        (f"<dialog>{FRONT}</dialog>", ""),
        (f"<dialog>{FRONT}</dialog>", FAR),
        (f"<dialog><div style='height: 60px; overflow: auto'><p style='height: 900px'></p>{FRONT}</div></dialog>", FAR),
        (f"<div class=veil><div class=box>{FRONT}</div></div>", ""),
        (f"<div class=veil></div><div class=box>{FRONT}</div>", ""),
        (f"<div class=veil></div><div class=box style='top: 0; left: 0; padding-left: 90px'>{FRONT}</div>", ""),
        (f"<div class=veil role=dialog aria-modal=true><div class=box>{FRONT}</div></div>", FAR),
        (f"<div class=box role=dialog aria-modal=true style='top: 0; left: 0; padding-left: 90px'>{FRONT}</div>", FAR),
        (f"<div class=box>{FRONT}</div><script>document.querySelector('main').inert = true</script>", FAR),
        (f"<div class=veil role=dialog aria-modal=true>{CLIPPED}</div>", FAR),
    ],
)
@pytest.mark.parametrize("target", ["text=Delete", 'role=button[name="Delete"]'])
async def test_what_is_behind_a_dialog_is_no_other_choice(
    agent: Agent, site: PageServer, target: str, front: str, space: str
) -> None:
    await agent.call("navigate", url=site.inline(DELETES.replace("FRONT", front).replace("SPACE", space)))
    await agent.call("click", target=target)
    assert await agent.js("window.hit") == "front"


@promise("C06", "C08")
@pytest.mark.parametrize(
    ("front", "space"),
    [
        (f"<dialog>{FRONT * 2}</dialog>", ""),
        (f"<header class=box style='inset: 0 0 auto 0'>{FRONT}</header>", ""),
        (f"<div class=veil style='pointer-events: none'></div><div class=box>{FRONT}</div>", ""),
        (f"<div class=veil></div><div class=box>{FRONT}</div>", FAR),
        (f"<div class=box role=dialog aria-modal=true style='left: -900px; width: 90px'>{FRONT}</div>", FAR),
        (f"<div class=box role=dialog aria-modal=true>{FRONT}</div>", ""),
        ("<dialog>Sure?</dialog>", FAR),
    ],
    ids=["two in it", "a sticky bar", "a shade", "perhaps behind", "a drawer out of sight", "not modal", "none in it"],
)
async def test_what_may_be_pressed_as_well_is_another_choice(
    agent: Agent, site: PageServer, front: str, space: str
) -> None:
    """A bar that covers a row now need not do so when the page is scrolled."""
    await agent.call("navigate", url=site.inline(DELETES.replace("FRONT", front).replace("SPACE", space)))
    await fails(agent, "ambiguous", "click", target="text=Delete")
    assert await agent.js("window.hit ?? ''") == ""


@promise("C06")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("get_page_text", {}),
        ("screenshot", {}),
        ("get_dom_context", {}),
        ("scroll_into_view", {}),
        ("wait_for", {"timeout_ms": 2000}),
    ],
)
async def test_who_only_looks_gets_the_first(agent: Agent, site: PageServer, tool: str, args: dict[str, Any]) -> None:
    await agent.call("navigate", url=site.url("table.html"))
    await agent.call(tool, target="text=Edit", **args)


@promise("C06")
async def test_what_can_be_seen_comes_before_what_cannot(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, '<button class=b hidden>One</button><button class=b onclick="window.hit = 2">Two</button>')
    await agent.call("click", target=".b")
    assert await agent.js("hit") == 2


@promise("C06", "A21")
@pytest.mark.parametrize("name", ["Same", "Inner", "Cross", "Home"])
async def test_frames_are_searched_too(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target=f"text={name} button")
    await agent.call("click", target=f"text={name} button")
    read = await agent.call(
        "evaluate_js",
        expression="element.ownerDocument.getElementById('out').textContent",
        target=f"text={name} button",
    )
    assert read["value"] == "1"


@promise("C06")
async def test_text_prefers_the_control(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("type_text", target="text=Mail", text="a@b.c")
    assert await agent.js("mail.value") == "a@b.c"
    assert (await agent.call("evaluate_js", expression="element.id", target="text=Plan"))["value"] == "plan"


@promise("C06", "A10")
async def test_text_in_closed_shadow_roots(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("shadow.html"))
    await agent.call("click", target="text=Closed button")
    await agent.call("click", target='role=button[name="Deep button"]')
    assert await agent.js("hits") == {"closed": 1, "deep": 1}


@promise("C06")
async def test_the_old_names_of_arguments(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("click", selector="#go")
    await agent.call("click", ref=await ref(agent, 'button "Go"'))
    assert await agent.js("clicks") == 2


LISTS = {
    "a list that listens": (
        "<ul id=m style='width: 200px'>{}</ul>",
        "<li><span>{}</span></li>",
        "m.addEventListener('click', say)",
    ),
    "cells without lines": ("<div id=m>{}</div>", "<span>{}</span><br>", "m.addEventListener('click', say)"),
    "rows with a pointer": (
        "<div id=m style='cursor: pointer'>{}</div>",
        "<div>{}</div>",
        "m.addEventListener('click', say)",
    ),
    "the page": ("<div id=m>{}</div>", "<p>{}</p>", "document.addEventListener('click', say)"),
}


@promise("C06")
@pytest.mark.parametrize("how", LISTS)
async def test_of_a_list_that_listens_for_its_items_the_words_are_pressed(
    agent: Agent, site: PageServer, how: str
) -> None:
    around, item, listens = LISTS[how]
    page = around.format("".join(item.format(name) for name in ("Copy", "Archive", "Erase")))
    script = f"window.hits = []; const say = (event) => hits.push(event.target.textContent); {listens}"
    await agent.call("navigate", url=site.inline(f"{page}<script>{script}</script>"))
    for name in ("Erase", "Copy", "Archive"):
        said = await agent.text("click", target=f"text={name}")
        assert f'"{name}"' in said
    assert await agent.js("hits") == ["Erase", "Copy", "Archive"]
    assert await agent.text("get_page_text", target="text=Copy") != await agent.text("get_page_text", target="#m")


MODAL = """<div id=modal><div><h5>Delete</h5></div><div>Really?</div><div><button>Delete</button></div></div>
    <script>window.hits = []; modal.addEventListener('mousedown', (event) => hits.push(event.target.localName))</script>"""


@promise("C06")
async def test_a_button_comes_before_words_in_what_listens(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(MODAL))
    assert await agent.text("click", target="text=Delete") == 'clicked button "Delete"'
    assert await agent.js("hits") == ["button"]


@promise("C06", "A08")
async def test_a_word_beside_a_longer_one_is_found(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<table><tr><td>Name <button>Rename</button></td></tr></table>"))
    assert "Rename" in await agent.text("get_page_text", target="text=Name")
    await fails(agent, "timeout", "wait_for", gone="text=Name", timeout_ms=300)
    await agent.call("wait_for", target="text=Name")


@promise("C06", "A21")
@pytest.mark.parametrize(
    "style",
    ["visibility: hidden", "opacity: 0", "position: absolute; left: -9999px", "width: 1px; height: 1px", "dialog"],
)
async def test_frames_that_nobody_sees_are_no_choice(agent: Agent, site: PageServer, style: str) -> None:
    inner = "<button onclick='top.hit = 1'>Log in</button>"
    front = "<button onclick='hit = 2'>Log in</button>"
    if style == "dialog":
        front = f"<dialog id=d>{front}</dialog><script>d.showModal()</script>"
    await agent.call("navigate", url=site.inline(f'{front}<iframe style="{style}" srcdoc="{inner}"></iframe>'))
    await agent.call("click", target="text=Log in")
    assert await agent.js("hit") == 2


@promise("C06", "A21")
@pytest.mark.parametrize("here", ["B5", "B50", "B5 and more"])
async def test_the_frame_that_fits_best_is_meant(agent: Agent, site: PageServer, here: str) -> None:
    names = [name for name in ("B5", "B50", "B5 and more") if name != here]
    frames = "".join(
        f'<iframe srcdoc="<button onclick=&quot;top.hit = `{name}`&quot;>{name}</button>"></iframe>' for name in names
    )
    await agent.call("navigate", url=site.inline(f"<button onclick='hit = this.textContent'>{here}</button>{frames}"))
    await agent.call("wait_for", function="frames.length === 2")
    for target, hit in (
        ("text=B5", "B5"),
        ("text=B50", "B50"),
        ("text=more", "B5 and more"),
        ("role=button[name=b5]", "B5"),
    ):
        await agent.call("click", target=target)
        assert await agent.js("hit") == hit


UNSEEN = (
    "opacity:0",
    "opacity:0;position:fixed;inset:0;width:100%;height:100%;pointer-events:none",
    "width:1px;height:1px",
)


@promise("C06", "A21")
@pytest.mark.parametrize("style", UNSEEN)
async def test_a_frame_that_nobody_sees_is_not_meant_however_well_it_fits(
    agent: Agent, site: PageServer, style: str
) -> None:
    inner = "<button onclick='top.hit = 1'>Next</button>"
    front = "<button onclick='hit = 2'>Next page</button>"
    await agent.call("navigate", url=site.inline(f'{front}<iframe style="{style}" srcdoc="{inner}"></iframe>'))
    await agent.call("wait_for", function="frames.length === 1")
    await agent.call("click", target="text=Next")
    assert await agent.js("hit") == 2


@promise("C06", "A21")
@pytest.mark.parametrize("words", ["<p>Delete</p>", "<p>Delete</p><span>Delete</span>", "<h1>Delete</h1>"])
async def test_mere_words_in_a_frame_do_not_come_before_a_control(agent: Agent, site: PageServer, words: str) -> None:
    inner = f"<body onclick='top.hit = 1'>{words}"
    front = "<button onclick='hit = 2'>Delete item</button>"
    await agent.call("navigate", url=site.inline(f'{front}<iframe srcdoc="{inner}"></iframe>'))
    await agent.call("wait_for", function="frames.length === 1")
    await agent.call("click", target="text=Delete")
    assert await agent.js("hit") == 2


@promise("C06", "A21")
@pytest.mark.parametrize("turned", [False, True])
async def test_rivals_in_a_frame_that_fits_worse_are_none(agent: Agent, site: PageServer, turned: bool) -> None:
    exact = "<button onclick='top.hit = 1'>Save</button>"
    rivals = "<button>Save a</button><button>Save b</button>"
    front, inner = (rivals, exact) if turned else (exact, rivals)
    await agent.call("navigate", url=site.inline(f'{front}<iframe srcdoc="{inner}"></iframe>'))
    await agent.call("wait_for", function="frames.length === 1")
    await agent.call("click", target="text=Save")
    assert await agent.js("hit") == 1


@promise("C06", "A21")
async def test_rivals_of_several_frames_are_all_told(agent: Agent, site: PageServer) -> None:
    inner = "<button>Save a</button><button>Save b</button>"
    await agent.call("navigate", url=site.inline(f'<button>Save c</button><iframe srcdoc="{inner}"></iframe>'))
    await agent.call("wait_for", function="frames.length === 1")
    failure = await fails(agent, "ambiguous", "click", target="text=Save")
    assert failure.message.startswith("3 elements match")
    assert [line.partition(" e")[0] for line in failure.details["candidates"]] == [
        'button "Save c"',
        'button "Save a"',
        'button "Save b"',
    ]


@promise("C06", "A06")
async def test_a_busy_frame_does_not_keep_the_page_from_being_used(agent: Agent, site: PageServer) -> None:
    busy = f"{site.other_origin}/inline?body=<p>Busy<script>onload = () => {{ while (1); }}</script>"
    await agent.call("navigate", url=site.inline("<button>Save</button>"))
    await agent.js(f"const f = document.createElement('iframe'); f.src = `{busy}`; document.body.append(f)")
    await agent.call("wait_for", function="frames.length")
    began = time.monotonic()
    assert await agent.text("click", target="text=Save") == 'clicked button "Save"'
    assert time.monotonic() - began < 5


@promise("C06")
async def test_a_card_that_is_one_thing_is_pressed_as_one(agent: Agent, site: PageServer) -> None:
    card = "<div style='cursor: pointer' onclick='window.hit = 1'><h3>Blue mug</h3><p>$18</p></div>"
    await agent.call("navigate", url=site.inline(card))
    assert "Blue mug $18" in await agent.text("click", target="text=Blue mug")
    assert await agent.js("hit") == 1


@promise("C06")
@pytest.mark.parametrize(
    ("html", "asked", "pressed"),
    [
        ("<button>Unsubscribe</button>", "Subscribe", None),
        ("<button>Deactivate</button>", "Activate", None),
        ("<a href=#b>Blog insights</a>", "Log in", None),
        ("<button>Deactivate</button><button>Activate now</button>", "activate", "Activate now"),
        ("<button>Saved items</button><button>Save all</button>", "Save", "Save all"),
        ("<button>Cancellation</button>", "Cancel", "Cancellation"),
        ("<button>显示更多评论</button>", "更多", "显示更多评论"),
        ("<button>ดูเพิ่มเติม</button>", "เพิ่ม", "ดูเพิ่มเติม"),
        ("<button title='Undelete'>x</button><button title='Delete it'>y</button>", "delete", "y"),
    ],
)
async def test_a_text_is_words_not_letters(
    agent: Agent, site: PageServer, html: str, asked: str, pressed: str | None
) -> None:
    listens = "<script>addEventListener('click', (event) => { window.hit = event.target.textContent })</script>"
    await agent.call("navigate", url=site.inline(html + listens))
    answer = await agent.ask("click", target=f"text={asked}")
    hit = await agent.js("window.hit ?? null")
    assert answer.failed or hit == pressed
    assert pressed is None or hit == pressed
    assert hit != "Unsubscribe"


@promise("C06")
async def test_a_label_is_words_not_letters(agent: Agent, site: PageServer) -> None:
    page = "<label>Username <input id=u></label><label>Company name (legal) <input id=c></label>"
    await agent.call("navigate", url=site.inline(page))
    await agent.call("type_text", target="label=name", text="Ada")
    assert await agent.js("[u.value, c.value]") == ["", "Ada"]


@promise("C06", "A21")
@pytest.mark.parametrize("target", ["text=Confirm", "role=button[name=Confirm]"])
async def test_who_acts_has_to_say_which_in_several_frames_too(agent: Agent, site: PageServer, target: str) -> None:
    inner = "<button onclick='top.hits = (top.hits || 0) + 1'>Confirm</button>"
    frames = f'<iframe name=one srcdoc="{inner}"></iframe><iframe name=two srcdoc="{inner}"></iframe>'
    hidden = f'<iframe style="display: none" srcdoc="{inner}"></iframe>'
    await agent.call("navigate", url=site.inline(frames + hidden))
    failure = await fails(agent, "ambiguous", "click", target=target)
    assert failure.message.startswith("2 elements match")
    assert len(failure.details["candidates"]) == 2
    await agent.call("click", target=re.findall(r"\be\d+\b", failure.details["candidates"][1])[0])
    await agent.call("switch_frame", frame="one")
    await agent.call("click", target=target)  # the one that is meant
    await agent.call("main_frame")
    assert await agent.js("hits") == 2
