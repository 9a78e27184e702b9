"""A page keeps the nodes of a row and puts another record's words into them: the ref of its button is not that one's."""

import pytest

from pilothouse.errors import Failure
from tests.browser.looking import fails, look, ref_in, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A11")

# Rows are patched by index, as by React with key={index}; `hits` tells whose button was pressed.
PATCHED = """<p id=out></p>OUTER<script>
let items = ["Alpha", "Beta", "Gamma", "Delta"], hits = [];
const list = document.getElementById("list"), mould = list.firstElementChild.cloneNode(true);
const render = () => {
  while (list.children.length > items.length) list.lastElementChild.remove();
  while (list.children.length < items.length) list.append(mould.cloneNode(true));
  items.forEach((name, i) => {
    const row = list.children[i], said = row.querySelector(".who").firstChild;
    if (said.data !== name) said.data = name;
    row.querySelector("button").onclick = () => { hits.push(items.splice(i, 1)[0]); render(); };
  });
};
render()</script>"""
LISTS = {
    "a list": "<ul id=list><li><span class=who>Alpha</span> <button>Remove</button></li></ul>",
    "a table": "<table><tbody id=list><tr><td class=who>Alpha</td><td><button>Remove</button></td></tr></tbody></table>",
    "rows": "<div id=list role=list><div role=listitem><b class=who>Alpha</b> <button>Remove</button></div></div>",
    "articles": "<main id=list><article><h2 class=who>Alpha</h2><p>New</p><button>Remove</button></article></main>",
    "boxes": "<main id=list><div><div><b class=who>Alpha</b></div><div><p><button>Remove</button></p></div></div></main>",
    "boxes with cells": (
        "<main id=list><div><p><b class=who>Alpha</b> <i>Yes</i></p>"
        "<p><span>Is paid</span> <button>Remove</button></p></div></main>"
    ),
    "a list in each row": (
        "<ul id=list><li><b class=who>Alpha</b><ul><li><button>Remove</button></li><li>More</li></ul></li></ul>"
    ),
    "a label": "<ul id=list><li><label><input type=checkbox> <b class=who>Alpha</b></label><button>Remove</button></li></ul>",
}


async def page(agent: Agent, site: PageServer, html: str) -> str:
    await agent.call("navigate", url=site.inline(html))
    return await look(agent, full=True, budget=20_000)


def remove_of(text: str, name: str) -> str:
    return ref_in(text[text.index(f'"{name}') :], '"Remove"')


@pytest.mark.parametrize("kind", LISTS)
async def test_a_button_of_a_row_that_got_anothers_words(agent: Agent, site: PageServer, kind: str) -> None:
    text = await page(agent, site, PATCHED.replace("OUTER", LISTS[kind]))
    first, second = remove_of(text, "Alpha"), remove_of(text, "Beta")
    await agent.call("click", target=first)
    failure = await fails(agent, "stale_ref", "click", target=second)
    assert "another row" in failure.message
    assert "Beta" not in failure.message + "".join(failure.suggestions)
    assert "Beta" in failure.details["row_was"]
    assert "Gamma" in failure.details["row_is"]
    assert await agent.js("hits") == ["Alpha"]
    await fails(agent, "stale_ref", "hover", target=second)
    text = await look(agent, full=True, budget=20_000)
    await agent.call("click", target=remove_of(text, "Gamma"))
    assert await agent.js("hits") == ["Alpha", "Gamma"]


async def test_steps_of_a_batch(agent: Agent, site: PageServer) -> None:
    text = await page(agent, site, PATCHED.replace("OUTER", LISTS["a list"]))
    targets = [ref_in(text, f'"{name}"') for name in ("Alpha", "Beta")]
    steps = [{"tool": "click", "args": {"target": target}} for target in targets]
    with pytest.raises(Failure, match="another row"):
        await agent.call("batch", steps=steps)
    assert await agent.js("hits") == ["Alpha"]


VIRTUAL = """<p id=out></p><div id=v style="height:300px;overflow:auto"><div id=pad style="height:30000px;position:relative"></div></div>
<button>Refresh</button><script>
const rows = Array.from({ length: 12 }, () => {
  const row = document.createElement("div");
  row.style.cssText = "position:absolute;height:30px;left:0;right:0";
  row.innerHTML = "<span></span> <button>Delete row</button>";
  row.lastChild.onclick = () => { out.textContent = "removed " + row.firstChild.textContent; };
  pad.append(row);
  return row;
});
function draw() {
  const start = Math.floor(v.scrollTop / 30);
  rows.forEach((_, i) => {
    const n = start + i, row = rows[RECYCLED ? n % 12 : i];
    if (row.firstChild.textContent === "Person " + n) return;
    row.style.top = n * 30 + "px";
    row.firstChild.textContent = "Person " + n;
  });
}
v.onscroll = draw;
draw()</script>"""


@pytest.mark.parametrize("dy", [30, 300])
@pytest.mark.parametrize("recycled", ["true", "false"])
async def test_a_virtual_list(agent: Agent, site: PageServer, dy: int, recycled: str) -> None:
    """What is still there of its rows can be pressed if it keeps its node; nothing else is."""
    text = await page(agent, site, VIRTUAL.replace("RECYCLED", recycled))
    old = {n: ref_in(text, f'"Person {n}"') for n in (0, 2)}
    await agent.js(f"v.scrollTop = {dy}; draw(); return 0")
    await fails(agent, "stale_ref", "click", target=old[0])
    if recycled == "true" and dy == 30:
        await agent.call("click", target=old[2])
        assert await agent.js("out.textContent") == "removed Person 2"
    else:
        await fails(agent, "stale_ref", "click", target=old[2])
        assert await agent.js("out.textContent") == ""


@pytest.mark.parametrize("by", ["find", "get_page_state", "click", "press_key", "get_ax_tree"])
async def test_who_has_not_read_the_row_again_means_the_old_one(agent: Agent, site: PageServer, by: str) -> None:
    """Whatever was asked meanwhile: its old ref is told to nobody as another's."""
    text = await page(agent, site, VIRTUAL.replace("RECYCLED", "false"))
    old = ref_in(text, '"Person 2"')
    await agent.js("v.scrollTop = 300; draw(); rows[2].lastChild.focus(); return 0")
    args = {
        "find": {"text": "Refresh"},
        "get_page_state": {"budget": 60},
        "click": {"target": "div > div:nth-child(3) > button"},
        "press_key": {"key": "Shift"},
    }
    said = await agent.call(by, **args.get(by, {}))
    assert old not in str(said.get("snapshot", ""))
    await agent.js("out.textContent = ''; return 0")
    await fails(agent, "stale_ref", "click", target=old)
    assert await agent.js("out.textContent") == ""
    text = await look(agent, full=True, budget=20_000)
    await agent.call("click", target=ref_in(text, '"Person 12"'))
    assert await agent.js("out.textContent") == "removed Person 12"


# What happens to a row that stays the one it is: its name, a word and a number stand in it, and a button.
SAME = {
    "its state": "row.querySelector('i').firstChild.data = 'Closed'",
    "its time": "row.querySelector('time').textContent = '5 minutes ago'",
    "all states": "for (const one of document.querySelectorAll('i')) one.textContent = 'Closed'",
    "all times": "for (const one of document.querySelectorAll('time')) one.textContent = '5 minutes ago'",
    "a word more": "row.append(Object.assign(document.createElement('b'), { textContent: 'done' }))",
    "a row more": "const one = row.cloneNode(true); one.firstChild.textContent = 'Eve'; row.before(one)",
    "a row less": "row.nextElementSibling.remove()",
    "another place": "row.parentNode.append(row)",
    "its own name": "row.querySelector('button').textContent = 'Like (4)'",
    "all own names": "document.querySelectorAll('button').forEach((one, i) => { one.textContent = `Like (${i})`; })",
    "another row": "row.nextElementSibling.firstChild.textContent = 'Eve'",
    "its look": "row.className = 'done'; row.style.opacity = .5; row.dataset.state = 'done'",
}
KINDS = {"li": "ul", "div": "div", "article": "main", "div role=row": "div role=table"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", SAME)
async def test_a_row_that_is_still_the_same(agent: Agent, site: PageServer, change: str, kind: str) -> None:
    rows = "".join(
        f"<{kind}><b>{name}</b> <i>{state}</i> <time>{n} minutes ago</time> <button onclick='hits.push(\"{name}\")'>Like</button></{kind.split()[0]}>"
        for n, (name, state) in enumerate((("Alice", "Open"), ("Bob", "Open"), ("Carol", "Shut")), 1)
    )
    await agent.call(
        "navigate", url=site.inline(f"<script>hits = []</script><{KINDS[kind]}>{rows}</{KINDS[kind].split()[0]}>")
    )
    text = await look(agent)
    like = ref_in(text, '"Bob')
    await agent.js(f"const row = document.querySelectorAll('b')[1].parentNode; {SAME[change]}; return 0")
    said = await agent.text("click", target=like)
    assert await agent.js("hits") == ["Bob"]
    assert ("its row has changed" in said) == (change in ("its state", "its time", "all states", "all times"))
    text = await look(agent, full=True)
    assert ref_in(text, '"Bob') == like


# Who presses on: the words beside are those of the very part, and its press changes them.
ON_AND_ON = {
    "a counter in a box": "<div><button onclick='this.nextSibling.data++'>More</button>0</div><div><b>Other</b></div>",
    "a counter among its likes": (
        "<ul><li>Mugs: <b>0</b> <button onclick='this.previousElementSibling.textContent++'>More</button></li>"
        "<li>Pots: <b>7</b> <button>More</button></li></ul>"
    ),
    "words with a number in a row": (
        "<ul><li><span>Mug x 1</span> <button onclick='k = 1; this.previousElementSibling.textContent = "
        "this.previousElementSibling.textContent.replace(/\\d/, (n) => +n + 1)'>More</button></li>"
        "<li><span>Pot x 1</span> <button>More</button></li></ul>"
    ),
    "a task": (
        "<ul><li><input type=checkbox aria-label=Done onchange='this.nextSibling.nextSibling.textContent = "
        "this.checked ? `done` : `to do`'>Buy milk <i>to do</i></li><li><input type=checkbox>Sing <i>to do</i></li></ul>"
    ),
}


@pytest.mark.parametrize("what", ON_AND_ON)
async def test_what_is_pressed_again_and_again(agent: Agent, site: PageServer, what: str) -> None:
    text = await page(agent, site, ON_AND_ON[what])
    first = ref_in(text, 'checkbox "Done"' if what == "a task" else '"More"')
    for _ in range(3):
        await agent.call("click", target=first)


OPTIONS = """<div id=list role=listbox></div><script>let hits = [];
const show = (...names) => {
  while (list.children.length > names.length) list.lastChild.remove();
  while (list.children.length < names.length) {
    const one = document.createElement("div");
    one.role = "option";
    one.onclick = () => hits.push(one.textContent);
    list.append(one);
  }
  names.forEach((name, i) => { if (list.children[i].textContent !== name) list.children[i].textContent = name; });
};
show("Austria", "Belgium", "Berlin")</script>"""


async def test_a_row_that_can_be_pressed_itself(agent: Agent, site: PageServer) -> None:
    """Where its neighbours were given other words as well it is another; alone it may be called anything."""
    text = await page(agent, site, OPTIONS)
    belgium = ref_in(text, '"Belgium"')
    await agent.js("show('Austria', 'Belgium (2)', 'Berlin'); return 0")
    await agent.call("click", target=belgium)
    await agent.js("show('Belgium (2)', 'Berlin', 'Bern'); return 0")
    await fails(agent, "stale_ref", "click", target=belgium)
    assert await agent.js("hits") == ["Belgium (2)"]


async def test_what_is_not_known_any_more_is_not_refused(agent: Agent, site: PageServer) -> None:
    text = await page(agent, site, PATCHED.replace("OUTER", LISTS["a list"]))
    second = ref_in(text, '"Beta"')
    await agent.js("for (let i = 0; i < 6000; i++) out.textContent = i; items.shift(); render(); return 0")
    await agent.call("click", target=second)
    assert await agent.js("hits") == ["Gamma"]


async def test_a_press_in_a_long_list_that_changes_is_quick(agent: Agent, site: PageServer) -> None:
    rows = "<script>for (let i = 0; i < 5000; i++) document.write(`<li><b>Row ${i}</b> <button>Go</button>`)</script>"
    await agent.call("navigate", url=site.inline(f"<ul id=list>{rows}</ul>"))
    go = ref_in(await look(agent), '"Row 3"')
    await agent.js(
        "for (let i = 0; i < 600; i++) { list.children[4000].remove();"
        " list.append(Object.assign(document.createElement('li'), { textContent: i })) } return 0"
    )
    frames = tab_of(agent).frames
    world = await frames.ready(frames.main, 5)
    timed = (
        "(n) => { const begun = performance.now(); ph.describe(n); ph.aims([n]); return performance.now() - begun; }"
    )
    place = tab_of(agent).refs.place(go)
    assert place
    assert await world.run(timed, place[1]) < 250
