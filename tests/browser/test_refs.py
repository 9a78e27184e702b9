"""Refs: a removed element's ref never means its neighbour, and old numbers are dropped, not reused."""

import pytest

from pilothouse.browser import refs as refs_module
from pilothouse.browser.locate import locate
from pilothouse.browser.refs import Refs
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
        "list.innerHTML = two.outerHTML",
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
    refs = Refs()
    assert [refs.number("w", n) for n in range(1, 6)] == ["e1", "e2", "e3", "e4", "e5"]
    assert refs.place("e2") is None
    assert refs.issued("e2")
    assert refs.place("e3") == ("w", 3)
    assert refs.number("w", 1) == "e6"
    refs.forget("w")
    assert refs.place("e6") is None
