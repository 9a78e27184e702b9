"""Refs: a removed element's ref never means its neighbour, and old numbers are dropped, not reused."""

import pytest

from pilothouse.browser import refs as refs_module
from pilothouse.browser.locate import locate
from pilothouse.browser.refs import Numbers, Refs
from tests.browser.looking import fails, put, ref
from tests.hostile.conftest import tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A11")

ROW = "<div class=row onclick='hits.push(this.id)' id={0}><b>Untitled</b></div>"


async def rows(agent: Agent, site: PageServer) -> str:
    """Two rows alike, of which only the first has a number; its ref."""
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, f"<main id=list>{ROW.format('one')}{ROW.format('two')}</main>")
    await agent.js("window.hits = []; return 0")
    return (await locate(tab_of(agent), "#one")).ref


@pytest.mark.parametrize(
    "change",
    [
        "one.remove()",
        "one.remove(); list.append(document.createElement('p'))",
        "one.remove(); list.append(Object.assign(document.createElement('p'), { textContent: 'Untitled' }))",  # as before
        "list.innerHTML = two.outerHTML",
        "list.innerHTML = two.outerHTML + 'Untitled'",  # the same words, but one less of them can be pressed
        "list.innerHTML = list.innerHTML",  # two that could be it
        "list.outerHTML = list.outerHTML",
    ],
)
async def test_the_ref_of_a_removed_row_is_not_the_next_row(agent: Agent, site: PageServer, change: str) -> None:
    one = await rows(agent, site)
    await agent.js(f"{change}; return 0")
    await fails(agent, "stale_ref", "click", target=one)
    assert await agent.js("hits") == []


async def test_a_row_rendered_anew_is_still_found(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<main id=list><button onclick='hits++'>Save</button><p>x</p></main>")
    button = await ref(agent, 'button "Save"')
    await agent.js("window.hits = 0; list.innerHTML = list.innerHTML; return 0")
    await agent.call("click", target=button)
    assert await agent.js("hits") == 1


DELETE = "<button onclick='hits.push(name_)'>Delete</button>".replace("name_", '"${n}"')
SHOWN_ANEW = {
    "a pane": ("<section id=pane></section>", f"pane.innerHTML = `<h2>${{n}}</h2>{DELETE}`"),
    "a dialog": ("<dialog id=pane open></dialog>", f"pane.innerHTML = `<p>Really delete ${{n}}?</p>{DELETE}`"),
    "a flat list": ("<div id=pane></div>", f"pane.innerHTML = `<span>${{n}}</span> {DELETE}`"),
    "a row of a list": ("<ul id=pane></ul>", f"pane.innerHTML = `<li>${{n}} {DELETE}</li>`"),
    "a cell beside the name": (
        "<table><tr><td id=who></td><td id=pane></td></tr></table>",
        f"who.textContent = n; pane.innerHTML = `{DELETE}`",
    ),
    "a heading that stays": (
        "<section><h2 id=who></h2><div id=pane></div></section>",
        f"who.textContent = n; pane.innerHTML = `{DELETE}`",
    ),
}


@pytest.mark.parametrize("where", SHOWN_ANEW)
async def test_what_is_shown_in_its_place_for_another_is_not_its_twin(
    agent: Agent, site: PageServer, where: str
) -> None:
    frame, render = SHOWN_ANEW[where]
    script = f"window.hits = []; window.show = (n) => {{ {render} }}; show('Alice'); return 0"
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, f"<main>{frame}</main>")
    await agent.js(script)
    delete = await ref(agent, 'button "Delete"')
    await agent.js("show('Alice'); return 0")
    await agent.call("click", target=delete)
    assert await agent.js("hits") == ["Alice"], "the same, rendered anew"
    delete = await ref(agent, 'button "Delete"')
    await agent.js("show('Bob'); return 0")
    await fails(agent, "stale_ref", "click", target=delete)
    assert await agent.js("hits") == ["Alice"]


def test_the_oldest_of_too_many_are_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refs_module, "MAX_REFS", 3)
    refs = Refs(Numbers())
    assert [refs.number("w", n) for n in range(1, 6)] == ["e1", "e2", "e3", "e4", "e5"]
    assert refs.place("e2") is None
    assert refs.issued("e2")
    assert refs.place("e3") == ("w", 3)
    assert refs.number("w", 1) == "e6"
    refs.forget("w")
    assert refs.place("e6") is None


def test_numbers_of_a_forgotten_document_are_never_given_again() -> None:
    refs = Refs(Numbers())
    gone = [refs.number("left", local) for local in range(1, 6)]
    refs.forget("left")
    assert [refs.place(one) for one in gone] == [None] * 5
    assert not {refs.number("next", local) for local in range(1, 6)} & set(gone)
    assert all(refs.issued(one) for one in gone)


async def test_a_page_that_is_loaded_again_has_other_numbers(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    before = await ref(agent, 'button "Go"')
    tab_of(agent).frames.lose(tab_of(agent).channel)  # the browser has forgotten the document, as it does in time
    await agent.call("reload")
    after = await ref(agent, 'button "Go"')
    assert int(after[1:]) > int(before[1:])
    await fails(agent, "stale_ref", "click", target=before)
    await agent.call("click", target=after)
    assert await agent.js("clicks") == 1


async def test_a_ref_of_another_tab_presses_nothing_in_this_one(agent: Agent, site: PageServer) -> None:
    """Whether that tab is open, or was closed before anybody heard of it."""
    page = "<button onclick='window.hit = 1'>{}</button>"
    await agent.call("navigate", url=site.inline(page.format("First")))
    first = await ref(agent, 'button "First"')
    second = await agent.call("new_tab", url=site.inline(page.format("Second")))
    there = await ref(agent, 'button "Second"')
    assert there != first
    await fails(agent, "not_found", "click", target=first)
    await agent.call("close_tab", tab=second["tab"])
    await fails(agent, "stale_ref", "click", target=there)
    assert await agent.js("window.hit || 0") == 0
    await agent.call("click", target=first)
    assert await agent.js("hit") == 1
