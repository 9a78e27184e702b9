"""The pointer: what can be pressed is pressed, what cannot says why."""

import asyncio
import re

import pytest

from pilothouse.browser.locate import find
from tests.browser.looking import fails, look, put, ref, ref_in, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

RECORD = """
window.seen = [];
for (const kind of ["mousedown", "click", "dblclick", "auxclick", "contextmenu"])
  addEventListener(kind, (e) => seen.push([kind, e.button, e.buttons, e.detail,
    ["alt", "ctrl", "meta", "shift"].filter((m) => e[m + "Key"]).join("+")]), true);
"""


async def recorded(agent: Agent, kind: str) -> list[list[object]]:
    return [one[1:] for one in await agent.js("seen") if one[0] == kind]


@promise("A09")
async def test_a_click_says_what_it_clicked(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert await agent.text("click", target="#go") == 'clicked button "Go"'
    assert await agent.js("clicks") == 1


@promise("A09")
async def test_a_single_click_is_what_a_hand_does(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    await agent.call("click", target="#go")
    assert await recorded(agent, "mousedown") == [[0, 1, 1, ""]]
    assert await recorded(agent, "click") == [[0, 0, 1, ""]]


@promise("A09")
@pytest.mark.parametrize("count", [2, 3])
async def test_several_clicks(agent: Agent, site: PageServer, count: int) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    await agent.call("click", target="#go", count=count)
    assert [one[2] for one in await recorded(agent, "click")] == list(range(1, count + 1))
    assert len(await recorded(agent, "dblclick")) == 1


@promise("A09")
async def test_the_right_button_opens_the_context_menu(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    await agent.call("click", target="#go", button="right")
    assert await recorded(agent, "mousedown") == [[2, 2, 1, ""]]
    assert len(await recorded(agent, "contextmenu")) == 1
    assert await agent.js("clicks") == 0


@promise("A09")
async def test_the_middle_button(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    await agent.call("click", target="#go", button="middle")
    assert [one[0] for one in await recorded(agent, "auxclick")] == [1]


@promise("A09")
async def test_modifiers_are_held(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(RECORD)
    await agent.call("click", target="#go", modifiers=["Shift", "Control", "Alt", "Meta"])
    await agent.call("click", target="#go")
    assert [one[3] for one in await recorded(agent, "click")] == ["alt+ctrl+meta+shift", ""]


@promise("A09")
async def test_a_hover_menu_by_style(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("hover.html"))
    await fails(agent, "not_found", "click", target="text=Save")
    await agent.call("hover", target="text=File")
    await agent.call("click", target="text=Save")
    assert await agent.js("document.getElementById('status').textContent") == "saved"


@promise("A09")
async def test_a_hover_menu_by_script_after_a_while(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("hover.html"))
    assert await agent.text("hover", target="text=Tools") == 'pointer on button "Tools"'
    await agent.call("click", target="text=Options")
    assert await agent.js("document.getElementById('status').textContent") == "options"


@promise("A09")
async def test_a_disabled_button_may_be_hovered_but_not_clicked(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await agent.call("hover", target="#never")
    refused = await fails(agent, "not_actionable", "click", target="#never")
    assert refused.details["reason"] == "disabled"
    (hint,) = refused.suggestions
    assert "<css>:enabled" in hint
    assert "get_page_state" in hint
    assert "#save" not in hint, "an element that another page has"
    await agent.js("setTimeout(() => document.querySelector('#never').disabled = false, 30)")
    await agent.call("wait_for", target="#never:enabled")
    await agent.call("click", target="#never")


@promise("A09")
@pytest.mark.parametrize("target", ["#hidden", "#invisible", "#nothing"])
async def test_what_nobody_sees_cannot_be_clicked(agent: Agent, site: PageServer, target: str) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    refused = await fails(agent, "not_actionable", "click", target=target)
    assert refused.details["reason"] == "hidden"
    assert await agent.js("hits") == {}


@promise("A09")
async def test_what_lets_the_pointer_through_is_not_called_covered(agent: Agent, site: PageServer) -> None:
    below = "<div style='position:fixed;inset:0'></div>"
    page = f"{below}<button id=through style='position:relative;z-index:1;pointer-events:none'>Through</button>"
    await agent.call("navigate", url=site.inline(page))
    refused = await fails(agent, "not_actionable", "click", target="#through")
    assert refused.details["reason"] == "pointerless"
    assert "it takes no pointer (pointer-events: none): a press there goes to <" in refused.message
    assert "covered" not in refused.message
    seen = await look(agent)
    assert re.search(r'button "Through" e\d+ pointerless', seen)
    assert "covered" not in seen.partition("\n")[2]


@promise("A09")
async def test_a_covered_button_names_what_covers_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    refused = await fails(agent, "not_actionable", "click", target="#covered")
    assert refused.details["reason"] == "covered"
    assert "veil" in refused.message
    assert await agent.js("hits") == {}


ROW = """<ul style="padding: 0"><li id=row style="display: flex; ROW">WORDS<button id=delete style="flex: 1">Delete</button>
</li></ul><script>
window.used = [];
for (const one of document.querySelectorAll("[id]"))
  one.addEventListener("click", (e) => used.push(e.currentTarget.id));
</script>"""


@promise("A09")
@pytest.mark.parametrize("words", ["<span style='width: 5%'>Ann</span>", "<div><b>Ann</b> </div>"])
async def test_a_row_is_pressed_at_its_own_words(agent: Agent, site: PageServer, words: str) -> None:
    """Wherever in it they are, and however large its button is."""
    await agent.call("navigate", url=site.inline(ROW.replace("WORDS", words)))
    row = ref_in(await look(agent), "clickable")
    await agent.call("click", target=row)
    assert await agent.js("used") == ["row"]


@promise("A09")
@pytest.mark.parametrize(
    "words",
    ["<span style='width: 0; overflow: hidden'>Ann</span>", "<button id=open style='flex: 1'>Open</button>"],
)
async def test_a_row_that_its_buttons_fill_is_none_of_them(agent: Agent, site: PageServer, words: str) -> None:
    await agent.call("navigate", url=site.inline(ROW.replace("WORDS", words)))
    await look(agent)  # it tells who listens
    refused = await fails(agent, "not_actionable", "click", target="#row")
    assert refused.details["reason"] == "covered"
    assert "<button" in refused.message
    assert await agent.js("used") == []


@promise("A09")
@pytest.mark.parametrize(
    ("html", "used"),
    [
        ("<div id=box><a id=inner href=#x style='display: block'>Go</a></div>", "inner"),  # no row
        (
            "<b id=box tabindex=0 style='display: inline-flex'><input id=inner type=checkbox style='margin: 0'></b>",
            "inner",
        ),  # its dress
        ("<label id=box>words<input id=inner type=checkbox style='position: absolute; inset: 0'></label>", "inner"),
        (
            "<div id=box tabindex=0 style='position: relative'>words"
            "<a id=inner href=#x style='position: absolute; inset: 0'></a></div>",
            "inner",
        ),
        ("<div id=box tabindex=0 style='width: 200px'><b id=inner style='cursor: pointer'>x</b></div>", "box"),
    ],
)
async def test_a_box_is_pressed_by_what_fills_it(agent: Agent, site: PageServer, html: str, used: str) -> None:
    record = "<script>addEventListener('click', (e) => { window.used = e.target.id })</script>"
    await agent.call("navigate", url=site.inline(html + record))
    await agent.call("click", target="#box")
    assert await agent.js("used") == used


LABELLED = """<label id=label>WORDS<input id=box type=KIND 
style="position: absolute; opacity: 0; width: 1px; height: 1px; pointer-events: none">TAKEN</label><script>
window.used = []; addEventListener("click", (e) => { if (e.target.closest("a, button, [role]")) used.push("taken") })
</script>"""
TAKEN = [
    "<a href=#t style='display: inline-block'>Terms of use</a>",
    "<button type=button>Terms of use</button>",
    "<b role=link tabindex=0>Terms of use</b>",
]


@promise("A09")
@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("words", ["I accept the ", ""], ids=["words of its own", "no words of its own"])
@pytest.mark.parametrize("target", ["#box", "#label"])
@pytest.mark.parametrize("kind", ["checkbox", "radio"])
async def test_a_link_in_a_label_is_not_pressed_in_its_place(
    agent: Agent, site: PageServer, kind: str, target: str, words: str, taken: str
) -> None:
    page = LABELLED.replace("WORDS", words).replace("TAKEN", taken).replace("KIND", kind)
    await agent.call("navigate", url=site.inline(page))
    said = await agent.text("click", target=target)
    assert await agent.js("[box.checked, used.includes('taken'), location.hash]") == [True, False, ""]
    assert ("by the Space key" in said) == (not words)
    if kind == "checkbox":
        assert await agent.text("fill_form", fields=[{"target": target, "value": False}]) == "filled 1 field"
        assert await agent.js("[box.checked, used.includes('taken'), location.hash]") == [False, False, ""]


@promise("A09")
async def test_what_a_link_in_a_label_leaves_no_point(agent: Agent, site: PageServer) -> None:
    page = LABELLED.replace("WORDS", "").replace("TAKEN", TAKEN[0]).replace("KIND", "checkbox")
    await agent.call("navigate", url=site.inline(page))
    refused = await fails(agent, "not_actionable", "double_click", target="#box")
    assert refused.details["reason"] == "linked"
    assert "<a>" in refused.message
    await agent.call("hover", target="#box")
    await agent.call("click", target="#label a")
    assert await agent.js("[box.checked, location.hash]") == [False, "#t"]


@promise("A09")
async def test_a_button_by_role_in_the_label_of_a_file_passes_its_press_on(agent: Agent, site: PageServer) -> None:
    page = (
        "<label id=label><input type=file hidden onclick='window.used = 1'><b role=button tabindex=0>Upload</b></label>"
    )
    await agent.call("navigate", url=site.inline(page))
    await agent.call("click", target="#label")
    assert await agent.js("used") == 1


@promise("A09")
@pytest.mark.parametrize("target", ["#see-through", "#endless", "#clear", "#child"])
async def test_what_only_looks_difficult_is_clicked(agent: Agent, site: PageServer, target: str) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await agent.call("click", target=target)
    assert await agent.js("hits") == {target[1:]: 1}


@promise("A09")
async def test_an_inert_button_is_not_clicked(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await fails(agent, "not_actionable", "click", target="#inert")
    assert await agent.js("hits") == {}


@promise("A09")
async def test_a_moving_button_is_clicked_where_it_comes_to_rest(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await agent.js("moving.classList.add('go')")
    await agent.call("click", target="#moving")
    assert await agent.js("hits") == {"moving": 1}
    assert await agent.js("moving.getBoundingClientRect().left") > 300


@promise("A09")
@pytest.mark.parametrize("target", ["#late", "#soon-free"])
async def test_a_button_that_becomes_free_soon_is_waited_for(agent: Agent, site: PageServer, target: str) -> None:
    await agent.call("navigate", url=site.url("covered.html?auto=1&ms=300"))
    await agent.call("click", target=target)
    assert await agent.js("hits") == {target[1:]: 1}


@promise("A09")
async def test_far_below_is_scrolled_into_view_clear_of_a_fixed_bar(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await agent.js("document.body.style.paddingBottom = '60px'; return 0")
    await agent.call("click", target="#below")
    assert await agent.js("hits") == {"below": 1}


@promise("A09")
async def test_what_a_fixed_bar_covers_is_scrolled_free(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await agent.js("document.body.style.paddingBottom = '60px'; below.scrollIntoView(false); return 0")
    await agent.js("scrollBy(0, -55); return 0")
    await agent.call("click", target="#below")
    assert await agent.js("hits") == {"below": 1}


@promise("A09")
async def test_inside_a_scroller_is_scrolled_into_view(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    await agent.js("addEventListener('click', (e) => { window.hit = e.target.textContent }, true)")
    await agent.call("click", target="text=In the box")
    assert await agent.js("hit") == "In the box"


@promise("A09")
async def test_a_link_over_two_lines_is_hit_on_its_text(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(
        agent,
        '<p style="width:300px;font:16px/30px monospace">aaaa aaaa aaaa aaaa aaaa '
        '<a href="#there" id="link">a link that is broken</a> bbb</p>',
    )
    assert await agent.js("document.getElementById('link').getClientRects().length") > 1
    await agent.call("click", target="#link")
    assert await agent.js("location.hash") == "#there"


@promise("A09")
async def test_a_label_clicks_its_control(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("click", target="text=Newsletter")
    assert await agent.js("news.checked") is True


@promise("A09")
async def test_a_checkbox_drawn_by_its_label(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await agent.call("click", target="#label-for")
    assert await agent.js("styled.checked") is True


@promise("A10")
async def test_a_clickable_div_has_a_ref_and_can_be_clicked(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<div id=pad>Press me</div>")
    await agent.js("pad.addEventListener('click', () => { pad.textContent = 'Pressed' })")
    await agent.call("click", target=await ref(agent, 'clickable "Press me"'))
    assert await agent.js("pad.textContent") == "Pressed"


@promise("A11")
async def test_a_rerendered_button_is_found_again_once(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("table.html"))
    button = await ref(agent, 'button "Grace"')
    await agent.call("click", target="#refresh")
    said = await agent.text("click", target=button)
    assert "twin" in said
    assert await agent.js("hits") == {"1:select": 1}


@promise("A11")
async def test_one_of_many_alike_is_never_mistaken(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("table.html?twins=1"))
    button = await ref(agent, 'button "Ada"')
    await agent.call("click", target="#refresh")
    await fails(agent, "stale_ref", "click", target=button)
    assert await agent.js("hits") == {}


@promise("A11")
async def test_a_ref_of_another_document_is_stale(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    button = await ref(agent, 'button "Go"')
    await agent.call("navigate", url=site.url("small.html?again"))
    await fails(agent, "stale_ref", "click", target=button)
    assert await agent.js("clicks") == 0


@promise("A09", "B12")
async def test_a_tab_in_the_background_is_acted_on_as_well(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("busy.html"))
    await agent.call("click", target="#go", tab="t1")
    await agent.call("type_text", target="#name", text="Ada", tab="t1")
    await agent.call("hover", target="#go", tab="t1")
    seen = await look(agent, tab="t1")
    assert 'textbox "Name"' in seen
    assert '="Ada"' in seen
    assert (await agent.call("evaluate_js", expression="clicks", tab="t1"))["value"] == 1


@promise("C11")
async def test_a_cancelled_click_leaves_no_button_pressed(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js(
        "go.onmousedown = () => { const end = performance.now() + 400; while (performance.now() < end); };"
        " addEventListener('mousemove', (e) => { window.held = e.buttons }); return 0"
    )
    clicking = asyncio.create_task(agent.call("click", target="#go"))
    await asyncio.wait({clicking}, timeout=0.2)
    clicking.cancel()
    await agent.call("hover", target="h1")
    assert await agent.js("held") == 0


@promise("A13")
async def test_an_action_brings_a_snapshot_when_asked(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await look(agent)
    change = (await agent.call("click", target="#go", snapshot="diff"))["snapshot"]
    assert "1" in change
    assert "Newsletter" not in change
    assert "Newsletter" in (await agent.call("click", target="#go", snapshot="full"))["snapshot"]


@promise("A10", "A21")
async def test_a_covered_frame_protects_its_content(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("frames.html"))
    inside = await ref(agent, 'button "Same button"')
    await agent.js(
        "document.body.insertAdjacentHTML('beforeend',"
        " '<div id=veil style=\"position:fixed;inset:0;background:#0003\">Veil</div>')"
    )
    refused = await fails(agent, "not_actionable", "click", target=inside)
    assert "veil" in refused.message


@promise("A10")
@pytest.mark.parametrize("name", ["Open", "Closed", "Deep", "Plain host", "Slotted"])
async def test_buttons_in_shadow_roots(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url("shadow.html"))
    await agent.call("click", target=ref_in(await look(agent), f'button "{name} button"'))
    assert await agent.js("hits") == {name.split()[0].lower(): 1}


@promise("A09", "A11")
async def test_a_frame_drawn_smaller_is_hit_where_it_is_drawn(agent: Agent, site: PageServer) -> None:
    buttons = [f"<button onclick=\"parent.postMessage({n}, '*')\">B{n}</button>" for n in range(8)]
    inner = "<style>button { display:block; height:40px; width:200px }</style>" + "".join(buttons)
    page = (
        "<iframe style='transform:scale(.5);transform-origin:20px 30px;border:7px solid;width:400px;height:500px'"
        f' srcdoc="{inner.replace(chr(34), "&quot;")}"></iframe>'
        "<script>hits = []; onmessage = (e) => hits.push(e.data)</script>"
    )
    await agent.call("navigate", url=site.inline(page))
    for number in (0, 5, 7):
        await agent.call("click", target=f"text=B{number}")
    assert await agent.js("hits") == [0, 5, 7]


@promise("A09")
async def test_a_row_is_pressed_beside_the_button_in_it(agent: Agent, site: PageServer) -> None:
    page = (
        "<div id=row onclick=\"hits.push('row')\" style='cursor:pointer;width:300px;height:60px;text-align:center'>"
        "<button style='margin-top:20px' onclick=\"hits.push('delete'); event.stopPropagation()\">Delete</button></div>"
        "<script>hits = []</script>"
    )
    await agent.call("navigate", url=site.inline(page))
    await agent.call("click", target="#row")
    assert await agent.js("hits") == ["row"]


@promise("C07")
async def test_what_has_no_role_is_called_as_in_the_snapshot(agent: Agent, site: PageServer) -> None:
    items = (
        "<div id=a onclick=0>Choose a color</div><div id=b draggable=true>Item</div>"
        "<div id=c ondragover='event.preventDefault()'>Drop here</div>"
    )
    await agent.call("navigate", url=site.inline(items))
    assert (await agent.text("click", target="#a")).startswith('clicked clickable "Choose a color"')
    assert (await agent.text("drag", target="#b", to="#c")).startswith(
        'dragged draggable "Item" onto element "Drop here"'
    )


UNDER = {
    "it moves away": """<main id=floor onclick="window.hit = 'floor'"><button id=go onclick="window.hit = 'go'"
        onmouseenter="this.style.marginLeft = '300px'">Go</button></main>""",
    "another comes": """<div style="position: relative; width: 200px; height: 40px"><button id=go
        onmouseenter="over.style.display = 'block'" style="width: 200px; height: 40px">Go</button>
        <button id=over style="display: none; position: absolute; inset: 0" onpointerdown="hit = 'down'"
        onmouseup="hit = 'up'" onclick="hit = 'over'">Other</button></div>""",
    "a part of it comes": """<div id=go onclick="hit = 'row'" onmouseenter="over.hidden = false"
        style="width: 200px; height: 40px; cursor: pointer">Row<button id=over hidden onclick="hit = 'over'"
        style="position: relative; width: 200px; top: -20px; height: 40px">Delete</button></div>""",
    "a link comes": """<div style="position: relative"><button id=go onmouseenter="over.style.display = 'block'">Go</button>
        <a id=over style="display: none; position: absolute; inset: 0" href="#gone">Away</a></div>""",
}


@promise("A09", "A11")
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("page", UNDER)
async def test_what_comes_under_the_pointer_is_not_pressed(
    agent: Agent, site: PageServer, page: str, count: int
) -> None:
    """Hovering changes the page: nobody can know before."""
    await agent.call("navigate", url=site.inline(f"<script>hit = ''</script>{UNDER[page]}"))
    failure = await fails(agent, "not_actionable", "click", target="#go", count=count)
    assert "nothing was pressed: <" in failure.message
    assert await agent.js("hit + location.hash") == ""
    if page == "another comes":
        await agent.call("click", target="#over")
        assert await agent.js("hit") == "over"


SLOW = """<script>hit = []; const slow = () => { for (const end = Date.now() + 700; Date.now() < end;); }</script>
    <div style="position: relative; width: 200px; height: 40px"><button id=go onmouseenter="over.style.display = 'block'"
    style="width: 200px; height: 40px">Go</button><button id=over onpointerdown="hit.push('down')" onmouseup="hit.push('up')"
    onclick="hit.push('click')" style="display: none; position: absolute; inset: 0">Other</button></div>"""


@promise("A09", "A11")
@pytest.mark.parametrize("count", [1, 2])
async def test_a_slow_page_does_not_get_the_press_either(agent: Agent, site: PageServer, count: int) -> None:
    page = SLOW + "<script>addEventListener('pointermove', slow, true)</script>"
    await agent.call("navigate", url=site.inline(page))
    await fails(agent, "not_actionable", "click", target="#go", count=count)
    assert await agent.js("hit") == []


@promise("A09")
async def test_what_hovering_draws_anew_is_pressed(agent: Agent, site: PageServer) -> None:
    again = "box.innerHTML = box.innerHTML"
    page = f"""<div id=box onmouseenter="{again}"><button id=go onclick="hit = 1">Go</button></div>"""
    await agent.call("navigate", url=site.inline(page))
    assert (await agent.text("click", target="#go")).startswith('clicked button "Go"')
    assert await agent.js("hit") == 1


@promise("A09", "C07")
async def test_a_page_that_takes_the_press_itself_wants_no_click(agent: Agent, site: PageServer) -> None:
    page = """<button id=go onmousedown="event.preventDefault(); veil.hidden = false">Open</button>
        <div id=veil hidden style="position: fixed; inset: 0"></div>"""
    await agent.call("navigate", url=site.inline(page))
    assert await agent.text("click", target="#go") == 'clicked button "Open"'


SHIFTING = {
    "the focus leaves a field": """<input id=first onblur="this.nextElementSibling.style.height = '80px'">
        <p></p><button id=go onclick="hit = 'go'">Save</button>""",
    "it is drawn anew": """<input id=first><div onmousedown="this.innerHTML = this.innerHTML">
        <button id=go onclick="hit = 'go'">Save</button></div>""",
}


@promise("A09", "C07")
@pytest.mark.parametrize("page", SHIFTING)
async def test_a_press_that_makes_no_click_says_so(agent: Agent, site: PageServer, page: str) -> None:
    """What is under the button when it is let go is something else than when it went down."""
    await agent.call("navigate", url=site.inline(f"<script>hit = ''</script>{SHIFTING[page]}"))
    assert "click" not in (await agent.text("click", target="#first")).removeprefix("clicked")
    assert "no click came of it" in await agent.text("click", target="#go")
    assert await agent.js("hit") == ""


@promise("A09", "C07")
async def test_what_makes_no_click_by_nature_says_nothing(agent: Agent, site: PageServer) -> None:
    fields = (
        "<select id=a><option>x<option>y</select><input id=b type=range><input id=c type=date><label id=d>L <input></label>"
        "<details id=e><summary>More</summary></details><a id=f href='#g'>G</a><video id=h controls></video>"
        "<div id=i contenteditable>Text</div><input type=file id=j><button id=k draggable=true>Drag</button>"
    )
    await agent.call("navigate", url=site.inline(fields))
    for one in "abcdefhijk":
        assert "no click" not in await agent.text("click", target=f"#{one}")
        for how in ({"button": "right"}, {"button": "middle"}, {"count": 2}):
            assert "no click" not in await agent.text("click", target=f"#{one}", **how)


@promise("A09", "A21")
@pytest.mark.parametrize("other", [False, True])
async def test_a_frame_that_took_the_press_is_told(agent: Agent, site: PageServer, other: bool) -> None:
    inner = site.url("inline?body=<button>Inner", other=other)
    page = (
        "<div style='position: relative'><button id=go onmouseenter=\"over.style.display = 'block'\">Go</button>"
        f"<iframe id=over style='display: none; position: absolute; inset: 0' src='{inner}'></iframe></div>"
    )
    await agent.call("navigate", url=site.inline(page))
    answer = await agent.ask("click", target="#go")  # whether it is another process's by then, Chrome decides
    assert '<iframe id="over">' in answer.text
    assert "lay there by then" in answer.text


@promise("A09")
@pytest.mark.parametrize("first", ["hover", "an aim that was not followed", "the same, and a turn"])
async def test_what_a_person_presses_is_no_press_of_ours(agent: Agent, site: PageServer, first: str) -> None:
    """Whatever the agent has pointed at before."""
    b = "<button id=b onclick='hit = 1' style='position: fixed; left: 300px; top: 300px'>B</button>"
    await agent.call("navigate", url=site.inline(f"<button id=a>A</button>{b}"))
    tab = tab_of(agent)
    if first == "hover":
        await agent.call("hover", target="#a")
    else:
        element = await find(tab, "#a")
        assert "spot" in await element.world.call("aimToPress", element.local)
        if "turn" in first:
            await element.world.call("tick")
    tab.mark = None  # that was long ago
    for kind in ("mousePressed", "mouseReleased"):
        where = {"x": 305, "y": 305, "button": "left", "clickCount": 1}
        await tab.channel.send("Input.dispatchMouseEvent", type=kind, **where)
    said = await agent.text("press_key", key="Shift")
    assert "press" not in said.removeprefix("pressed")
    assert await agent.js("hit") == 1


@promise("A09")
async def test_a_press_that_hits_is_told_as_it_is(agent: Agent, site: PageServer) -> None:
    """Also inside what it is aimed at; where the press itself puts something over it, no click comes."""
    page = """<button id=open onmousedown="veil.hidden = false"><b>Open</b></button>
        <div id=veil hidden style="position: fixed; inset: 0"></div><label>Name <input></label>"""
    await agent.call("navigate", url=site.inline(page))
    assert await agent.text("click", target="text=Name") == 'clicked textbox "Name"'
    assert (await agent.text("click", target="#open")).startswith('clicked button "Open" (no click came of it')


@promise("A09", "C08")
@pytest.mark.parametrize(
    ("html", "reason", "words"),
    [
        ("<div style='height: 0; overflow: hidden'><button>Go</button></div>", "clipped", "cut off"),
        ("<div inert><button>Go</button></div>", "inert", "switched off"),
        ("<button>Go</button><div style='position: fixed; inset: 0'>veil</div>", "covered", "covered by"),
    ],
)
async def test_why_a_press_would_miss_is_told_as_it_is(
    agent: Agent, site: PageServer, html: str, reason: str, words: str
) -> None:
    await agent.call("navigate", url=site.inline(html))
    failure = await fails(agent, "not_actionable", "click", target="button")
    assert failure.details["reason"] == reason
    assert words in failure.message
