"""Lists that pages draw themselves: chosen from in one call, whatever they are made of."""

from collections.abc import Callable

import pytest

from tests.browser.looking import fails, look, ref_in
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C09")


async def opened(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("lists.html"))


@pytest.mark.parametrize(
    ("target", "wanted", "name", "chosen"),
    [
        ("#colour", "Green", "colour", "Green"),
        ("label=Colour", "light GREEN", "colour", "Light green"),
        ("#size", "Large", "size", "Large"),
        ("#plain", "Team", "plain", "Team"),
        ("#days", "Tuesday", "day", "Tuesday"),
        ("#city", "Porto", "city", "Porto"),
        ("text=City", "Rome", "city", "Rome"),
    ],
)
async def test_one_call_chooses(
    agent: Agent, site: PageServer, target: str, wanted: str, name: str, chosen: str
) -> None:
    await opened(agent, site)
    said = await agent.text("select_option", target=target, values=[wanted])
    assert f'is now "{chosen}"' in said
    assert await agent.js(f"picked.{name}") == chosen
    assert await agent.js("document.querySelectorAll('body > ul').length") == 0


async def test_a_form_is_filled_with_them(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    fields = [
        {"target": "#colour", "value": "Blue"},
        {"target": "#size", "value": "Small"},
        {"target": "#tags", "value": ["Two"]},
    ]
    await agent.call("fill_form", fields=fields)
    assert await agent.js("picked") == {"colour": "Blue", "size": "Small", "tags": ["Two"]}


async def test_of_several_just_these(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("select_option", target="#tags", values=["One", "Three"])
    assert await agent.js("picked.tags.join()") == "One,Three"
    await agent.call("select_option", target="#tags", values=["Two", "Three"])
    assert sorted(await agent.js("picked.tags")) == ["Three", "Two"]
    assert await agent.js("tags.getAttribute('aria-expanded')") == "false"


@promise("C08")
async def test_what_is_not_offered(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    missing = await fails(agent, "not_found", "select_option", target="#colour", values=["Mauve"])
    assert missing.details["options"] == ["Red", "Green", "Light green", "Blue"]
    assert await agent.js("colour.getAttribute('aria-expanded')") == "false"
    likely = await fails(agent, "not_found", "select_option", target="#colour", values=["Gren"])
    assert likely.details["candidates"][0] == "Green"
    off = await fails(agent, "not_actionable", "select_option", target="#size", values=["Sold out"])
    assert "choose another" in off.suggestions[0]
    nothing = await fails(agent, "not_found", "select_option", target="#empty", values=["Anything"])
    assert "opened nothing" in nothing.message
    assert await agent.js("picked") == {}


OPTIONS = "<div role=option onclick='window.hit = this.textContent; field.ariaExpanded = false'>Red</div>"
OPENER = "<span id=field role=combobox tabindex=0 aria-label=Colour aria-expanded={}>White</span>"
TOGGLES = """<div id=list hidden>{}</div><script>field.onclick = () => {{
    list.hidden = !list.hidden; field.ariaExpanded = !list.hidden }}; if ({}) list.hidden = false</script>"""
ELSEWHERE = """<nav role=menu><div role=menuitem onclick="window.hit = 'nav'">Red</div></nav>
    <button onclick="window.hit = 'button'">Red</button><p onclick="window.hit = 'text'"><b>Red</b></p>"""


@promise("C08")
@pytest.mark.parametrize("tool", ["select_option", "fill_form"])
@pytest.mark.parametrize(
    "opener",
    [
        "<div id=field role=listbox aria-label=Colour tabindex=0>none yet</div>",
        OPENER.format("true"),
        OPENER.format("true aria-controls=later"),
        OPENER.format("true aria-controls=page"),
    ],
    ids=["an empty listbox", "open", "its list is not there", "it names what it is in"],
)
async def test_nothing_but_the_list_is_chosen_from(agent: Agent, site: PageServer, tool: str, opener: str) -> None:
    """Of what was in sight before, nobody knows that it belongs to a list."""
    await agent.call("navigate", url=site.inline(f"<div id=page>{opener}{ELSEWHERE}</div>"))
    fields = [{"target": "#field", "value": "Red"}]
    args = {"target": "#field", "values": ["Red"]} if tool == "select_option" else {"fields": fields}
    await fails(agent, "not_found", tool, **args)
    assert await agent.js("window.hit ?? ''") == ""


@pytest.mark.parametrize("options", [OPTIONS, OPTIONS.replace("role=option", "")], ids=["options", "no roles"])
@pytest.mark.parametrize("names", ["", " aria-controls=list"])
async def test_a_list_that_is_open_already(agent: Agent, site: PageServer, options: str, names: str) -> None:
    """One that names no list is closed and opened anew, and what comes then is its list."""
    page = ELSEWHERE + OPENER.format("true" + names) + TOGGLES.format(options, "true")
    await agent.call("navigate", url=site.inline(page))
    said = await agent.text("select_option", target="#field", values=["Red"])
    assert said.startswith('chose "Red"')
    assert await agent.js("window.hit") == "Red"


# As the combobox of the ARIA guide: what the keys have come to is marked as if it were chosen.
GUIDE = """<input id=field role=combobox aria-label=Fruit aria-expanded=false aria-controls=list autocomplete=off>
    <ul id=list role=listbox hidden></ul><script>
    const show = () => { list.replaceChildren(...['Apple', 'Apricot', 'Banana'].filter(x => x.startsWith(field.value)).map((name, n) => {
        const one = document.createElement('li'); one.role = 'option'; one.textContent = name; one.ariaSelected = String(!n);
        one.onclick = () => { window.picked = name; window.times = (window.times || 0) + 1; field.value = name; hide(); }; return one; }));
        list.hidden = false; field.ariaExpanded = 'true'; };
    const hide = () => { list.hidden = true; field.ariaExpanded = 'false'; };
    field.oninput = show; field.onclick = show; addEventListener('keydown', e => { if (e.key === 'Escape') hide(); });</script>"""


async def test_what_the_keys_have_come_to_is_not_chosen_yet(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(GUIDE))
    for wanted in ("Apple", "Banana", "Apricot"):
        await agent.call("select_option", target="#field", values=[wanted])
        assert await agent.js("[picked, field.value, list.hidden]") == [wanted, wanted, True]
    assert await agent.js("times") == 3


async def test_what_is_chosen_already_is_not_chosen_again(agent: Agent, site: PageServer) -> None:
    """To press it could be to take it back; the list does not stay open."""
    await agent.call("navigate", url=site.inline(GUIDE))
    await agent.js("field.value = 'Apple', picked = 'Apple', 0")
    await agent.call("select_option", target="#field", values=["Apple"])
    assert await agent.js("[list.hidden, window.times || 0]") == [True, 0]


CLOSES = """<button id=field aria-haspopup=listbox aria-expanded=false aria-controls=list>Tags</button>
    <ul id=list role=listbox KIND hidden><li role=option>One<li role=option>Two<li role=option>Three</ul><script>
    const show = open => { list.hidden = !open; field.ariaExpanded = String(open); };
    field.onclick = () => show(list.hidden); addEventListener('keydown', e => { if (e.key === 'Escape') show(false); });
    for (const one of list.children) one.onclick = () => {
        one.ariaSelected = String(one.ariaSelected !== 'true'); show(false); };
    const chosen = () => [...list.children].filter(x => x.ariaSelected === 'true').map(x => x.textContent);</script>"""


async def test_a_list_of_several_that_closes_with_each_choice(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(CLOSES.replace("KIND", "aria-multiselectable=true")))
    await agent.call("select_option", target="#field", values=["One", "Three"])
    assert await agent.js("[chosen().join(), list.hidden]") == ["One,Three", True]
    failure = await fails(agent, "not_found", "select_option", target="#field", values=["Two", "Four"])
    assert 'chosen: "Two"' in failure.message


@promise("C08")
async def test_a_list_of_one_takes_one(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(CLOSES))
    await fails(agent, "bad_request", "select_option", target="#field", values=["One", "Two"])
    assert await agent.js("[chosen().join(), list.hidden]") == ["", True]


async def test_an_option_in_an_option_is_one(agent: Agent, site: PageServer) -> None:
    page = """<button id=field aria-haspopup=menu aria-expanded=false onclick="list.hidden = false">More</button><ul id=list
        role=menu hidden><li role=menuitem><a role=menuitem tabindex=0 onclick="window.hit = 1">Copy</a></li></ul>"""
    await agent.call("navigate", url=site.inline(page))
    await agent.call("select_option", target="#field", values=["Copy"])
    assert await agent.js("hit") == 1


@promise("C08")
async def test_two_options_of_one_name(agent: Agent, site: PageServer) -> None:
    people = "<li role=option data-value={}>John Smith</li>"
    page = CLOSES.replace("<li role=option>One", people.format(7) + people.format(8))
    await agent.call("navigate", url=site.inline(page))
    await fails(agent, "ambiguous", "select_option", target="#field", values=["John Smith"])
    assert await agent.js("[chosen().join(), list.hidden]") == ["", True]
    await agent.call("select_option", target="#field", values=["8"])
    assert await agent.js("list.children[1].ariaSelected") == "true"


async def test_what_is_chosen_beside_it_stays_chosen(agent: Agent, site: PageServer) -> None:
    """What a choice opens is no part of the list it was made in."""
    page = """<button id=more aria-haspopup=menu aria-expanded=false onclick="list.hidden = false; this.ariaExpanded = true"
        >More</button><div id=list role=menu hidden><div role=menuitem onclick="list.hidden = true; columns.hidden = false"
        >Columns</div></div><div id=columns role=menu hidden><div role=menuitemcheckbox aria-checked=true
        onclick="window.hit = 1">Size</div></div>"""
    await agent.call("navigate", url=site.inline(page))
    await agent.call("select_option", target="#more", values=["Columns"])
    assert await agent.js("[columns.hidden, window.hit ?? 0]") == [False, 0]


@promise("C08")
@pytest.mark.parametrize("popup", ["menu", "true", "tree", "grid"])
@pytest.mark.parametrize("tool", ["type_text", "fill_form"])
async def test_a_text_presses_nothing_in_a_menu(agent: Agent, site: PageServer, tool: str, popup: str) -> None:
    page = f"""<button id=field aria-haspopup={popup} aria-expanded=false onclick="list.hidden = false">Actions</button>
        <div id=list role=menu hidden><div role=menuitem onclick="window.hit = 1">Delete</div></div>"""
    await agent.call("navigate", url=site.inline(page))
    fields = [{"target": "#field", "value": "Delete"}]
    args = {"target": "#field", "text": "Delete"} if tool == "type_text" else {"fields": fields}
    failure = await fails(agent, "not_actionable", tool, **args)
    assert failure.details["reason"] == "not_editable"
    assert await agent.js("[list.hidden, window.hit ?? 0]") == [True, 0]


@promise("C07")
async def test_a_text_for_a_list_is_chosen_in_it(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    assert 'chose "Green" in combobox "Colour"' in await agent.text("type_text", target="#colour", text="green")
    assert 'chose "Small" in button "Medium"' in await agent.text("type_text", target="#size", text="Small")
    colour = ref_in(await look(agent), 'combobox "Colour"')
    assert 'chose "Blue" in combobox "Colour"' in await agent.text("type_ref", ref=colour, text="Blue")
    assert await agent.js("picked") == {"colour": "Blue", "size": "Small"}


@promise("C08")
@pytest.mark.parametrize("tool", ["select_option", "fill_form"])
async def test_what_is_no_list_is_not_pressed(agent: Agent, site: PageServer, tool: str) -> None:
    await agent.call("navigate", url=site.inline("<a href=/elsewhere>Elsewhere</a>"))
    args = {"target": "a", "values": ["x"]} if tool == "select_option" else {"fields": [{"target": "a", "value": "x"}]}
    answer = await agent.ask(tool, **args)
    assert answer.failed
    assert "Elsewhere" in await look(agent)


@promise("D03", "D06")
async def test_what_is_offered_is_judged_when_it_is_pressed(
    agent: Agent, site: PageServer, say: Callable[[str], None]
) -> None:
    """A list may hold anything: an option that nobody would be allowed to press is not pressed by choosing it."""
    page = """<button id=more aria-haspopup=menu aria-expanded=false onclick="list.hidden = false">More</button>
        <div id=list role=menu hidden><div role=menuitem onclick="window.gone = 1">Delete account</div></div>"""
    await agent.call("navigate", url=site.inline(page))
    say('template = "locked"\n[[rules]]\nhost = "127.0.0.1"\nread = true\nwrite = true\n')
    refused = await fails(agent, "approval_denied", "select_option", target="#more", values=["Delete account"])
    assert "do it in a call of its own" in refused.suggestions
    say('template = "sandbox"')
    assert await agent.js("[list.hidden, window.gone || 0]") == [False, 0]


@promise("A11")
@pytest.mark.parametrize("part", ['combobox "Colour"', 'combobox "City"'])
async def test_a_list_that_is_gone(agent: Agent, site: PageServer, part: str) -> None:
    await opened(agent, site)
    gone = ref_in(await look(agent, full=True), part)
    await agent.js("document.body.innerHTML = ''; return 0")
    await fails(agent, "stale_ref", "select_option", target=gone, values=["Red"])


@promise("C08")
@pytest.mark.parametrize("old", ["Ban", ""])
async def test_a_search_that_finds_nothing_leaves_the_old_text(agent: Agent, site: PageServer, old: str) -> None:
    await agent.call("navigate", url=site.inline(GUIDE))
    await agent.js(f"field.value = '{old}', 0")
    failure = await fails(agent, "not_found", "select_option", target="#field", values=["Mango"])
    assert await agent.js("[field.value, list.hidden, window.picked ?? '']") == [old, True, ""]
    assert "now holds" not in failure.message


@promise("C08")
@pytest.mark.parametrize(
    ("code", "page_has", "held"),
    [
        ("field.oninput = show", "field.oninput = () => { field.value = 'Mango'; show(); }", "Mango"),
        ("=== 'Escape') hide()", "=== 'Escape') { hide(); field.value = ''; }", ""),
    ],
    ids=["it writes itself", "Escape clears"],
)
async def test_a_search_that_cannot_be_taken_back_is_told(
    agent: Agent, site: PageServer, code: str, page_has: str, held: str
) -> None:
    await agent.call("navigate", url=site.inline(GUIDE.replace(code, page_has)))
    await agent.js("field.value = 'Ban', 0")
    failure = await fails(agent, "not_found", "select_option", target="#field", values=["Mango"])
    assert failure.message.endswith(f'; the field now holds "{held}"')
    assert await agent.js("field.value") == held


@promise("A09")
async def test_an_option_that_does_not_take_is_told(agent: Agent, site: PageServer) -> None:
    page = """<div role=listbox aria-label=Colour><div role=option aria-selected=true>Red</div>
        <div role=option aria-selected=false>Green</div></div>"""
    await agent.call("navigate", url=site.inline(page))
    said = await agent.text("select_option", target="role=listbox", values=["Green"])
    assert said == 'chose "Green" in listbox "Colour" (the field now holds "Red")'
