"""Keys one by one: where pages listen to keys only, where each digit has a field, and where there is no field at all."""

import pytest

from pilothouse.browser.keys import writes
from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

FILTER = """<label>Filter <input id=filter></label><ul><li>Apple<li>Banana<li>Cherry</ul><script>
    filter.addEventListener("keyup", () => { for (const one of document.querySelectorAll("li"))
      one.hidden = !one.textContent.toLowerCase().includes(filter.value.toLowerCase()) })</script>"""
CODE = """<form onsubmit="event.preventDefault(); window.sent = true">
    <input maxlength=1 aria-label="Digit 1"><input maxlength=1 aria-label="Digit 2">
    <input maxlength=1 aria-label="Digit 3"><input maxlength=1 aria-label="Digit 4"><button>Verify</button></form><script>
    const boxes = [...document.querySelectorAll("input")]
    boxes.forEach((box, i) => box.addEventListener("input", () => { if (box.value && boxes[i + 1]) boxes[i + 1].focus() }))
    </script>"""
PAINTED = """<input aria-label="Search"><canvas id=board width=200 height=100></canvas><script>
    window.typed = ""
    addEventListener("keydown", (event) => { if (event.target === document.body) typed += event.key })
    </script>"""


@promise("A09")
async def test_a_page_that_listens_to_keys_hears_the_last_one(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(FILTER))
    for text, left in (("an", ["Banana"]), ("e", ["Apple", "Cherry"]), ("Cherry", ["Cherry"])):
        await agent.call("type_text", target="#filter", text=text)
        assert await agent.js("filter.value") == text
        assert await agent.js("[...document.querySelectorAll('li:not([hidden])')].map(e => e.textContent)") == left


@promise("A09")
@pytest.mark.parametrize(
    "text", ["ends with a space ", "two\nlines\n", "naïve", "e\u0301", "👩\u200d🚀", "日本", "a,b;", "ж"]
)
async def test_any_text_arrives_as_it_is(agent: Agent, site: PageServer, text: str) -> None:
    await agent.call(
        "navigate", url=site.inline("<form onsubmit='window.sent = 1'><textarea></textarea><button></form>")
    )
    await agent.call("type_text", target="textarea", text=text)
    # By their numbers: what cannot be seen is taken out of what agents read.
    signs = await agent.js("[...document.querySelector('textarea').value].map(sign => sign.codePointAt(0))")
    assert "".join(map(chr, signs)) == text
    assert await agent.js("window.sent || 0") == 0


@promise("A09")
def test_a_key_only_writes() -> None:
    assert all(map(writes, "aZ9ß日.€ж"))
    assert not any(map(writes, [" ", "\n", "\t", "\u0301", "\ufe0f", "\u200d", "🚀"]))


@promise("A09", "C09")
async def test_a_digit_for_each_field(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(CODE))
    said = await agent.text("type_text", target="label=Digit 1", text="4711")
    assert "one by one" in said
    assert await agent.js("boxes.map(box => box.value).join('')") == "4711"
    await agent.call("fill_form", fields=[{"target": "label=Digit 1", "value": "0815"}], submit=True)
    assert await agent.js("boxes.map(box => box.value).join('')") == "0815"
    assert await agent.js("sent") is True


@promise("A09")
async def test_a_digit_that_stays_alone_is_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline('<input maxlength=1 aria-label="Grade">'))
    said = await agent.text("type_text", target="label=Grade", text="123")
    assert "after 1 of 3 the page did not move on" in said
    assert await agent.js("document.querySelector('input').value") == "1"


@promise("A09")
@pytest.mark.parametrize("clear", [True, False])
async def test_digits_whose_page_moves_on_late(agent: Agent, site: PageServer, clear: bool) -> None:
    box = '<input maxlength=1 oninput="setTimeout(() => this.nextElementSibling?.focus(), 30)">'
    await agent.call("navigate", url=site.inline(box * 4))
    await agent.call("type_text", target="input", text="4711", clear=clear)
    assert await agent.js("[...document.querySelectorAll('input')].map(box => box.value).join('')") == "4711"


@promise("A09")
async def test_a_part_of_an_editor_is_written_as_a_whole(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<div contenteditable><p id=a>old</p><p>after</p></div>"))
    await agent.call("type_text", target="#a", text="one\ntwo")
    assert await agent.js("document.body.innerText.split(/\\s+/).filter(Boolean)") == ["one", "two", "after"]


@promise("A09")
async def test_what_is_painted_is_typed_into_by_the_focus(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAINTED))
    refused = await fails(agent, "not_actionable", "type_text", target="#board", text="hi")
    assert ":focus" in refused.suggestions[0]
    await agent.call("click", target="#board")
    assert "one by one" in await agent.text("type_text", target=":focus", text="hi you")
    assert await agent.js("typed") == "hi you"
    assert await agent.js("document.querySelector('input').value") == ""


@promise("A09")
async def test_the_field_that_has_the_focus(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAINTED))
    await agent.call("click", target="label=Search")
    await agent.call("type_text", target=":focus", text="mugs")
    await agent.call("type_text", target=":focus", text="cups")
    assert await agent.js("document.querySelector('input').value") == "cups"


@promise("A21")
@pytest.mark.parametrize("name", ["Same", "Inner", "Cross", "Far"])
async def test_the_focus_may_be_in_a_frame(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    field = f'role=textbox[name="{name} field"]'
    await agent.call("click", target=field)
    await agent.call("type_text", target=":focus", text="there")
    read = await agent.call("evaluate_js", expression="element.value", target=field)
    assert read["value"] == "there"


@promise("A05")
async def test_keys_end_where_the_page_does(agent: Agent, site: PageServer) -> None:
    page = PAINTED + "<script>addEventListener('keyup', () => { if (typed.length === 3) alert('stop') })</script>"
    await agent.call("navigate", url=site.inline(page))
    refused = await fails(agent, "dialog_open", "type_text", target=":focus", text="abcdef")
    assert refused.details["typed"] in (3, 4)
    await agent.call("handle_dialog", accept=True)
    assert (await agent.js("typed")).startswith("abc")


@promise("A09")
@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize(
    "held", ["<p>Hello <b>world</b></p>", "<p><br></p>", "<div>Hello</div>", "<ul><li>Hello</ul>", "Hello", ""]
)
async def test_lines_in_an_editor_stand_in_order(agent: Agent, site: PageServer, held: str, clear: bool) -> None:
    """Its caret is left behind by the browser for each line break; what is typed afterwards stands at the end, too."""
    for text in ("A\nB", "one\ntwo\nthree", "end\n"):
        await agent.call("navigate", url=site.inline(f"<div id=ed contenteditable role=textbox>{held}</div>"))
        before = await agent.js("ed.innerText.split(/\\s+/).join(' ').trim()")
        said = await agent.text("type_text", target="#ed", text=text, clear=clear)
        assert "holds" not in said
        await agent.call("press_key", key="x")
        now = await agent.js("ed.innerText.split(/\\s+/).filter(Boolean)")
        words = text.split()
        expected = [*words[:-1], f"{words[-1]}x"] if not text.endswith("\n") else [*words, "x"]
        if not clear:
            first, *others = expected
            expected = [*(before + first).split(), *others]
        assert now == expected


MOVING = {
    "to another field, and asks a server": "if (this.value.length === 4) { fetch('/slow?ms=80'); other.focus() }",
    "to another field": "if (this.value.length === 4) other.focus()",
    "to nowhere": "this.blur()",
    "by drawing it anew": "const one = this.cloneNode(); this.replaceWith(one); one.focus()",
}


@promise("A09", "D03")
@pytest.mark.parametrize("how", MOVING)
async def test_no_key_goes_where_the_page_has_moved_the_focus(agent: Agent, site: PageServer, how: str) -> None:
    page = f"""<input id=one oninput="{MOVING[how]}"><input id=other value=keep><script>
        addEventListener('keydown', (event) => {{ if (event.target.id !== 'one') window.shortcut = event.key }})</script>"""
    await agent.call("navigate", url=site.inline(page))
    said = await agent.text("type_text", target="#one", text="12345")
    assert await agent.js("[one.value, other.value, window.shortcut || ''].join()") in ("12345,keep,", "1234,keep,")
    assert ("was not typed" in said) == (await agent.js("one.value") == "1234")


REDRAWS = {
    "by name": "<label>Name <input id=n value='${q}'></label>",
    "without a name": "<input placeholder=Who value='${q}'>",
    "with capitals": "<label>Name <input id=n value='${q.toUpperCase()}'></label>",
}


@promise("A09")
@pytest.mark.parametrize("how", REDRAWS)
async def test_a_field_that_is_drawn_anew_with_each_input(agent: Agent, site: PageServer, how: str) -> None:
    page = f"""<div id=app></div><button id=other>Other</button><script>let q = ''; const draw = () => {{
        app.innerHTML = `{REDRAWS[how]}<p>${{q.length}} letters</p>`;
        const field = app.querySelector('input'); field.oninput = () => {{ q = field.value; draw(); app.querySelector('input').focus(); }} }};
        draw()</script>"""
    await agent.call("navigate", url=site.inline(page))
    said = await agent.text("type_text", target="input", text="Ada Lovelace")
    assert "not typed" not in said
    assert (await agent.js("q")).lower() == "ada lovelace"
    assert ("ADA LOVELACE" in said) == (how == "with capitals")


@promise("A09")
async def test_the_next_step_of_a_form_gets_no_key(agent: Agent, site: PageServer) -> None:
    page = """<div id=app><input name=code></div><script>const field = () => app.firstChild;
        field().oninput = () => { app.innerHTML = '<input name=code>'; field().focus(); }</script>"""
    await agent.call("navigate", url=site.inline(page))
    assert "was not typed" in await agent.text("type_text", target="input", text="1234")
    assert await agent.js("app.firstChild.value") == ""


@promise("A09", "A19")
async def test_a_dialog_between_a_text_and_its_last_key(agent: Agent, site: PageServer) -> None:
    page = """<input id=one oninput="if (!window.said) { said = 1; alert('Mind'); other.focus() }"><input id=other>"""
    await agent.call("navigate", url=site.inline(page))
    assert "may not have been typed" in await agent.text("type_text", target="#one", text="1234")
    await agent.call("handle_dialog", accept=True)
    assert await agent.js("other.value") == ""


@promise("A09")
async def test_there_may_be_no_room_for_the_last_key(agent: Agent, site: PageServer) -> None:
    page = (
        """<input id=one maxlength=4 oninput="if (this.value.length === 4) other.focus()"><input id=other value=keep>"""
    )
    await agent.call("navigate", url=site.inline(page))
    assert 'now holds "1234"' in await agent.text("type_text", target="#one", text="12345")
    assert await agent.js("[one.value, other.value].join()") == "1234,keep"
