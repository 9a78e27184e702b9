"""Fields of every kind, filled the way their pages notice."""

from typing import Any

import pytest

from tests.browser.looking import fails, look, put, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer


async def believed(agent: Agent) -> dict[str, Any]:
    """What the page thinks it holds."""
    return await agent.js("values()")


@promise("A09")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "Ada Lovelace"),
        ("email", "ada@example.com"),
        ("number", "42"),
        ("search", "engines"),
        ("tel", "+44 20"),
        ("url", "https://example.com/"),
        ("notes", "one\ntwo\nthree"),
        ("date", "2026-01-31"),
        ("time", "13:45"),
        ("moment", "2026-01-31T13:45"),
        ("month", "2026-01"),
        ("week", "2026-W05"),
        ("range", "35"),
        ("color", "#aabbcc"),
        ("controlled", "by state"),
        ("controlled-notes", "more\nstate"),
        ("rich", "new text"),
    ],
)
async def test_a_field_takes_its_value(agent: Agent, site: PageServer, field: str, value: str) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    done = await agent.call("type_text", target=f"#{field}", text=value)
    assert "note" not in done
    assert (await believed(agent))[field] == value
    assert f"input:{field}" in await agent.js("events")


@promise("C09")
async def test_a_whole_form_in_one_call(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    fields = [
        {"target": "#text", "value": "Ada"},
        {"target": "#number", "value": 7},
        {"target": "#check", "value": True},
        {"target": "#checked", "value": False},
        {"target": "text=Large", "value": True},
        {"target": "#fruit", "value": "Banana"},
        {"target": "#colours", "value": ["Red", "b"]},
        {"target": "#date", "value": "2026-02-03"},
        {"target": "#rich", "value": "rich"},
        {"target": "#controlled", "value": "kept"},
    ]
    assert await agent.text("fill_form", fields=fields) == "filled 10 fields"
    now = await believed(agent)
    assert (now["text"], now["number"], now["check"], now["checked"]) == ("Ada", "7", True, False)
    assert (now["size"], now["fruit"], now["colours"]) == ("l", "b", ["r", "b"])
    assert (now["date"], now["rich"], now["controlled"]) == ("2026-02-03", "rich", "kept")


@promise("C09")
async def test_a_checkbox_that_is_right_already_is_left_alone(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("fill_form", fields=[{"target": "#checked", "value": True}, {"target": "#check", "value": False}])
    assert "change:checked" not in await agent.js("events")
    refused = await fails(agent, "bad_request", "fill_form", fields=[{"target": "#check", "value": "maybe"}])
    assert "true or false" in refused.message


@promise("C09")
async def test_a_form_that_fails_half_way_says_where(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    fields = [{"target": "#text", "value": "Ada"}, {"target": "#disabled", "value": "x"}]
    refused = await fails(agent, "not_actionable", "fill_form", fields=fields)
    assert "field 2 of 2" in refused.message
    assert refused.details["filled"] == ['textbox "Text"']
    assert refused.suggestions[-1] == "filled before it: 1 field"
    assert (await believed(agent))["text"] == "Ada"


@promise("C09")
async def test_submit_presses_enter(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    done = await agent.text("fill_form", fields=[{"target": "#text", "value": "Ada"}], submit=True)
    assert done == "filled 1 field and pressed Enter"
    assert await agent.js("status.textContent") == "submitted"


@promise("A09")
async def test_type_and_submit(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("type_text", target="#search", text="ships", submit=True)
    assert await agent.js("status.textContent") == "submitted"


@promise("A09")
async def test_text_is_replaced_or_added_to(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    for field, first in (("text", "one"), ("notes", "one"), ("rich", "one"), ("number", "12"), ("email", "a@b")):
        await agent.call("type_text", target=f"#{field}", text=first)
        await agent.call("type_text", target=f"#{field}", text="34", clear=False)
        assert (await believed(agent))[field] == f"{first}34"
        await agent.call("type_text", target=f"#{field}", text="5")
        assert (await believed(agent))[field] == "5"


@promise("A09")
@pytest.mark.parametrize("field", ["controlled", "rich", "number", "date"])
async def test_a_field_is_emptied(agent: Agent, site: PageServer, field: str) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("type_text", target=f"#{field}", text="2026-01-31" if field == "date" else "17")
    await agent.call("type_text", target=f"#{field}", text="")
    assert (await believed(agent))[field] == ""


@promise("A09")
async def test_what_the_page_makes_of_it_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    assert "12345" in (await agent.call("type_text", target="#limited", text="1234567"))["note"]
    assert "SHOUT" in (await agent.call("type_text", target="#upper", text="shout"))["note"]
    assert '"35"' in (await agent.call("type_text", target="#range", text="33"))["note"]


@promise("A09")
@pytest.mark.parametrize(("target", "reason"), [("#disabled", "disabled"), ("#readonly", "readonly")])
async def test_fields_that_cannot_be_filled_say_why(agent: Agent, site: PageServer, target: str, reason: str) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    refused = await fails(agent, "not_actionable", "type_text", target=target, text="x")
    assert refused.details["reason"] == reason


@promise("A09")
async def test_values_that_a_field_cannot_take(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    refused = await fails(agent, "bad_request", "type_text", target="#date", text="31.1.2026")
    assert any("2026-01-31" in one for one in refused.suggestions)
    assert "upload_file" in str((await fails(agent, "bad_request", "type_text", target="#file", text="x")).suggestions)
    await fails(agent, "not_actionable", "type_text", target="h1", text="x")


@promise("A09")
@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("number", "7", "abc"),
        ("number", "7", "1,5"),
        ("date", "2026-01-31", "31.1.2026"),
        ("time", "13:45", "25:00"),
        ("range", "35", "much"),
        ("color", "#aabbcc", "reddish"),
        ("color", "#aabbcc", "rgba(1, 2, 3, 0.5)"),
    ],
)
async def test_a_refused_value_leaves_the_old_one(
    agent: Agent, site: PageServer, field: str, good: str, bad: str
) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    await agent.call("type_text", target=f"#{field}", text=good)
    await agent.js("events.length = 0; return 0")
    refused = await fails(agent, "bad_request", "type_text", target=f"#{field}", text=bad)
    assert refused.details["type"] in refused.message
    assert (await believed(agent))[field] == good
    assert f"input:{field}" not in await agent.js("events")


@promise("A09")
@pytest.mark.parametrize(("colour", "held"), [("red", "#ff0000"), ("rgb(0, 128, 0)", "#008000"), ("#ABC", "#aabbcc")])
async def test_colours_by_any_name(agent: Agent, site: PageServer, colour: str, held: str) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    assert "note" not in await agent.call("type_text", target="#color", text=colour)
    assert (await believed(agent))["color"] == held


TUCKED = {
    "tom-select": "border:0; clip:rect(0 0 0 0); clip-path:inset(50%); overflow:hidden; padding:0; position:absolute; \
        width:1px; white-space:nowrap",
    "select2": "clip:rect(0 0 0 0); height:1px; width:1px; overflow:hidden; position:absolute",
    "clipped": "clip-path:inset(100%); position:absolute",
    "see-through": "opacity:0; position:absolute",
}


@promise("A09")
@pytest.mark.parametrize("widget", TUCKED)
async def test_a_select_that_a_widget_hides_is_said_to_be_hidden(agent: Agent, site: PageServer, widget: str) -> None:
    await agent.call(
        "navigate",
        url=site.inline(
            f"<select id=s tabindex=-1 style='{TUCKED[widget]}'><option>A<option>B</select><div>A</div>"
            "<select id=plain aria-label=Plain tabindex=-1><option>A<option>B</select>"
        ),
    )
    done = await agent.call("select_option", target="#s", values=["B"])
    assert "the select itself is hidden" in done["note"]
    assert await agent.js("document.querySelector('#s').value") == "B"
    for value in ("A", ["B"]):
        filled = await agent.call("fill_form", fields=[{"target": "#s", "value": value}])
        assert "what the page shows in its place may not have followed" in filled["note"]
    assert "note" not in await agent.call("select_option", target="#plain", values=["B"])


@promise("A09")
async def test_choosing_options(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    assert '"Apple"' in await agent.text("select_option", target="#fruit", values=["a"])
    assert '"Banana"' in await agent.text("select_option", target="text=Fruit", values=["banana"])
    assert (await believed(agent))["fruit"] == "b"
    assert "change:fruit" in await agent.js("events")
    await agent.call("select_option", target="#colours", values=["Green", "Blue"])
    assert (await believed(agent))["colours"] == ["g", "b"]
    await agent.call("select_option", target="#colours", values=[])
    assert (await believed(agent))["colours"] == []


@promise("A09")
async def test_options_that_are_not_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    missing = await fails(agent, "not_found", "select_option", target="#fruit", values=["Durian"])
    assert missing.details["options"] == ["Choose", "Apple", "Banana", "Cherry"]
    await fails(agent, "not_actionable", "select_option", target="#fruit", values=["Cherry"])
    await fails(agent, "bad_request", "select_option", target="#fruit", values=["Apple", "Banana"])
    none = await fails(agent, "bad_request", "select_option", target="#fruit", values=[])
    assert "takes one value, and 0 were given" in none.message
    assert none.suggestions
    await fails(agent, "bad_request", "select_option", target="#text", values=["Apple"])


COUNTRIES = ["Afghanistan", "Bolivia", "Congo", *(f"Land {n}" for n in range(60)), "Thailand", "Tanzania"]
COUNTRIES += ["United Arab Emirates", "United Kingdom", "United States of America", "The Far United States"]


@promise("C08")
@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [("United States", ["United States of America", "The Far United States"]), ("Tailand", ["Thailand"])],
)
async def test_the_options_most_like_it_come_first(
    agent: Agent, site: PageServer, wanted: str, nearest: list[str]
) -> None:
    """However far down a long list they stand."""
    options = "".join(f"<option>{name}" for name in COUNTRIES)
    await agent.call("navigate", url=site.inline(f"<select id=one aria-label=Country>{options}</select>"))
    failure = await fails(agent, "not_found", "select_option", target="#one", values=[wanted])
    assert failure.details["candidates"][: len(nearest)] == nearest
    assert failure.details["options"] == COUNTRIES[:50]
    assert "find" in failure.suggestions[0]


@promise("C08")
async def test_a_list_without_options_has_a_next_step(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<select id=one aria-label=City></select>"))
    failure = await fails(agent, "not_found", "select_option", target="#one", values=["Porto"])
    assert "has none at all" in failure.message
    assert "open it (click)" in failure.suggestions[0]


@promise("C08")
async def test_a_disabled_option_has_a_next_step(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<select id=one><option>A<option disabled>B</select>"))
    failure = await fails(agent, "not_actionable", "select_option", target="#one", values=["B"])
    assert "choose another" in failure.suggestions[0]


@promise("A14")
async def test_a_password_appears_in_no_result(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("form.html"))
    said = [
        await agent.text("type_text", target="#password", text="hunter2!", snapshot="full"),
        await agent.text("fill_form", fields=[{"target": "#password", "value": "hunter3!"}], snapshot="diff"),
        await agent.text("get_page_text"),
        await look(agent, full=True),
        await agent.text("find", text="Password"),
    ]
    assert await agent.js("document.getElementById('password').value === 'hunter3!'") is True
    await agent.js("document.getElementById('password').type = 'text'; return 0")
    said += [await look(agent), await agent.text("get_page_text")]
    assert not any("hunter" in one for one in said)


@promise("A10", "A21")
@pytest.mark.parametrize("name", ["Same", "Inner", "Cross", "Far", "Home"])
async def test_fields_in_frames(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    field = await ref(agent, f'textbox "{name} field"')
    await agent.call("type_text", target=field, text="first")
    await agent.call("type_text", target=field, text=f"in {name}")
    await agent.call("press_key", key="!")
    read = await agent.call("evaluate_js", expression="element.value", target=field)
    assert read["value"] == f"in {name}!"


@promise("A10")
@pytest.mark.parametrize(("name", "host"), [("Open", "open-box"), ("Closed", "closed-box")])
async def test_fields_in_shadow_roots(agent: Agent, site: PageServer, name: str, host: str) -> None:
    await agent.call("navigate", url=site.url("shadow.html"))
    field = await ref(agent, f'textbox "{name} field"')
    await agent.call("type_text", target=field, text="deep")
    assert await agent.js(f"document.querySelector('{host}').dataset.value") == "deep"


@promise("A09")
async def test_a_field_inside_what_was_named(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<div id=wrap><input id=inner></div><div id=two><input><input></div>")
    await agent.call("type_text", target="#wrap", text="in")
    assert await agent.js("inner.value") == "in"
    await fails(agent, "not_actionable", "type_text", target="#two", text="in")


@promise("A09")
async def test_widgets_that_only_say_they_are_checkboxes(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(
        agent,
        '<div role=switch id=dark aria-checked=false tabindex=0 onclick="this.setAttribute('
        "'aria-checked', this.getAttribute('aria-checked') !== 'true')\">Dark</div>",
    )
    for value in (True, True, False):
        await agent.call("fill_form", fields=[{"target": "#dark", "value": value}])
        assert await agent.js("dark.getAttribute('aria-checked')") == str(value).lower()


@promise("C08")
async def test_a_combobox_that_opens_nothing(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<div role=combobox tabindex=0 aria-expanded=false>Red</div>"))
    failure = await fails(agent, "not_found", "select_option", target="role=combobox", values=["Blue"])
    assert "click the option" in failure.suggestions[0]


@promise("C09")
async def test_a_whole_document_that_is_edited(agent: Agent, site: PageServer) -> None:
    """As the frames of older editors are."""
    frame = "<iframe id=editor srcdoc='<body contenteditable><p>old</p></body>'></iframe>"
    await agent.call("navigate", url=site.inline(frame))
    await agent.call("switch_frame", frame="#editor")
    await agent.call("type_text", target="body", text="new words", clear=True)
    assert await agent.js("document.body.textContent.trim()") == "new words"


@promise("C01")
@pytest.mark.parametrize("name", ["selector", "ref", "element"])
async def test_a_field_may_be_named_as_other_servers_do(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("fill_form", fields=[{name: "#name", "value": "Ada"}])
    assert await agent.js("document.querySelector('#name').value") == "Ada"
    for other in ("target", "ref_id"):
        field = {other: "#name", name: "#other", "value": "Bea"}
        twice = await fails(agent, "bad_request", "fill_form", fields=[field])
        assert name in twice.message or other in twice.message
    assert await agent.js("document.querySelector('#name').value") == "Ada"


SENT = {
    "a field alone": "<input id=q name=q>",
    "words beside it": "<label>Search <input id=q name=q></label><p>by name</p>",
    "a text beside it": "<div contenteditable>note</div><input id=q name=q>",
    "a button that typing enables": "<input id=q name=q oninput='b.disabled = !this.value'><button id=b disabled>Go</button>",
    "a button that counts": "<input id=q name=q oninput='b.textContent = `Send ${this.value.length}`'><button id=b>Send</button>",
}


@promise("A09")
@pytest.mark.parametrize("form", SENT)
async def test_enter_sends_the_form_that_was_filled(agent: Agent, site: PageServer, form: str) -> None:
    """What is typed changes what the form says and which button it has."""
    for tool, args in (
        ("type_text", {"target": "#q", "text": "x"}),
        ("fill_form", {"fields": [{"target": "#q", "value": "x"}]}),
    ):
        await agent.call("navigate", url=site.inline(f"<form action=/small.html>{SENT[form]}</form>"))
        await agent.call(tool, **args, submit=True)
        assert (await agent.call("get_current_url"))["url"].endswith("/small.html?q=x")


STUBBORN = """<label><input type=checkbox id=kept onclick="return false"> Kept</label>
<label><input type=checkbox id=reverted onchange="setTimeout(() => reverted.checked = false, 0)"> Reverted</label>
<label><input type=checkbox id=asked onchange="fetch('/small.html').then(() => asked.checked = false)"> Asked</label>
<div role=checkbox tabindex=0 aria-checked=false id=dead>Dead</div>
<label>Sel <select id=sel onchange="sel.value = 'x'"><option>x<option>y<option>z</select></label>
<label>Other <select id=other onchange="setTimeout(() => other.value = 'z', 0)"><option>x<option>y<option>z</select></label>
<label>Day <input type=date id=day onchange="setTimeout(() => day.value = '2020-01-01', 0)"></label>"""


@promise("A09")
@pytest.mark.parametrize(
    ("target", "value", "note"),
    [
        ("#kept", True, 'checkbox "Kept": the field now holds false'),
        ("#reverted", True, 'checkbox "Reverted": the field now holds false'),
        ("#asked", True, 'checkbox "Asked": the field now holds false'),
        ("#dead", True, 'checkbox "Dead": the field now holds false'),
        ("#sel", "y", 'combobox "Sel": the page put it back: the field now holds "x"'),
        ("#other", ["y"], 'combobox "Other": the field now holds "z"'),
        ("#day", "2026-01-31", 'date "Day": the field now holds "2020-01-01"'),
    ],
)
async def test_what_a_field_does_not_hold_is_told(
    agent: Agent, site: PageServer, target: str, value: object, note: str
) -> None:
    """Of every kind, once the page has settled."""
    await agent.call("navigate", url=site.inline(STUBBORN))
    done = await agent.call("fill_form", fields=[{"target": target, "value": value}])
    assert done["note"] == note


@promise("A09")
async def test_a_choice_that_the_page_put_back_is_no_success(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(STUBBORN))
    said = await agent.text("select_option", target="#sel", values=["y"])
    assert said == 'chose "y" in combobox "Sel" (the page put it back: the field now holds "x")'
    assert await agent.text("select_option", target="#sel", values=["x"]) == 'combobox "Sel" is now "x"'


@promise("A09")
@pytest.mark.parametrize(
    "radio", ["<input type=radio id=r checked>", "<b role=radio id=r tabindex=0 aria-checked=true>R</b>"]
)
async def test_a_radio_is_not_cleared(agent: Agent, site: PageServer, radio: str) -> None:
    await agent.call("navigate", url=site.inline(radio))
    refused = await fails(agent, "bad_request", "fill_form", fields=[{"target": "#r", "value": False}])
    assert "another one of its group" in refused.suggestions[0]
    assert await agent.text("fill_form", fields=[{"target": "#r", "value": True}]) == "filled 1 field"


SUGGESTED = """<label>Fruit <input id=fruit list=fruits value=App oninput="heard += 1"></label>
<datalist id=fruits><option value=Apple><option value=Pear><option value=q label=Quince><option disabled value=Fig></datalist>
<label>Number <input type=number id=number list=numbers></label><datalist id=numbers><option value=7></datalist>
<script>var heard = 0</script>"""


@promise("A09")
@pytest.mark.parametrize(
    ("target", "wanted", "held"),
    [("#fruit", "Apple", "Apple"), ("label=Fruit", "pear", "Pear"), ("#fruit", "Quince", "q"), ("#number", "7", "7")],
)
async def test_what_a_field_suggests_is_chosen(
    agent: Agent, site: PageServer, target: str, wanted: str, held: str
) -> None:
    await agent.call("navigate", url=site.inline(SUGGESTED))
    assert (await agent.text("select_option", target=target, values=[wanted])).endswith(f'is now "{held}"')
    assert held in await agent.js("[fruit.value, number.value]")


@promise("C08")
async def test_what_a_field_does_not_suggest_leaves_it_as_it_was(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(SUGGESTED))
    missing = await fails(agent, "not_found", "select_option", target="#fruit", values=["Peer"])
    assert missing.details["candidates"][0] == "Pear"
    assert missing.details["options"] == ["Apple", "Pear", "Quince", "Fig"]
    await fails(agent, "not_actionable", "select_option", target="#fruit", values=["Fig"])
    await fails(agent, "bad_request", "select_option", target="#fruit", values=["Apple", "Pear"])
    assert await agent.js("[fruit.value, heard]") == ["App", 0]
