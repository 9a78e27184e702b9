"""What the lines of a snapshot leave out is found, and told around the match."""

import time

import pytest

from pilothouse.browser import snapshot
from pilothouse.browser.excerpt import MOST_CHARS
from tests.browser.looking import look, ref, ref_in, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A12")

COUNTRIES = [f"Land {number}" for number in range(400)]
COUNTRIES[205] = "United States of America"
SELECT = f"<select aria-label=Country>{''.join(f'<option>{name}' for name in COUNTRIES)}</select>"
SHORT = "<select aria-label=Short><option>One<option>Two</select>"
PRE = (
    "\n".join(f"{number}: nothing to see in this line of the log, go on" for number in range(120))
    + "\npanic: 'core' is gone"
)
ARTICLE = "word " * 2000 + 'and he said "farewell" to them. ' + "tail " * 500


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"text": "panic: 'CORE'"}, "panic: 'core' is gone\""),
        ({"pattern": r"panic: '\w+' is"}, "panic: 'core' is gone\""),
        ({"text": "to them"}, r"he said \"farewell\" to them. tail"),
        ({"text": "the last of the heading"}, "the last of the heading"),
        ({"text": "the end of the note"}, "the end of the note"),
    ],
)
async def test_the_end_of_a_long_text(agent: Agent, site: PageServer, asked: dict[str, str], expected: str) -> None:
    heading = "so many words " * 20 + "the last of the heading"
    note = f"<textarea aria-label=Note>{'so many words ' * 40}the end of the note</textarea>"
    page = f"<main><h2>{heading}</h2><pre>{PRE}</pre><p>{ARTICLE}</p>{note}</main>"
    await agent.call("navigate", url=site.inline(page))
    found = await agent.call("find", **asked)
    assert found["total"] == 1
    (hit,) = found["hits"]
    assert expected in hit
    assert "…" in hit
    assert hit.startswith("main > ")
    assert len(hit) < MOST_CHARS + 200


async def test_an_option_of_a_long_list(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<form aria-label=Address>{SELECT}</form>"))
    combobox = await ref(agent, 'combobox "Country"')
    for asked in ({"text": "united states"}, {"pattern": "^United States"}, {"text": "of america", "role": "combobox"}):
        (hit,) = (await agent.call("find", **asked))["hits"]
        assert hit.startswith('form "Address" > combobox "Country" ')
        assert hit.endswith(" options(… | United States of America | …)")
        assert ref_in(hit, "combobox") == combobox
    await agent.call("select_option", target=combobox, values=["United States of America"])
    near = await agent.text("find", text="Unitd States of Amerika")
    assert near.startswith("0 found; the nearest are below")
    assert "options(… | United States of America | …)" in near


async def test_where_it_is_shown_the_line_is_that_of_the_snapshot(agent: Agent, site: PageServer) -> None:
    rows = "".join(f"<tr><td>Row {number}<td>{SHORT}<td>{SELECT}<td><a href=/{number}>Go</a>" for number in range(5))
    page = f"<table>{rows}</table><p>{ARTICLE}</p><pre>{PRE}</pre>"
    await agent.call("navigate", url=site.inline(page))
    whole = await snapshot.whole(tab_of(agent))
    told = (await look(agent, full=True, budget=100_000)).splitlines()[1:]
    assert ["  " * depth + line for depth, line in whole.lines] == told
    assert len(whole.long) >= 3
    (hit,) = (await agent.call("find", text="0: nothing to see"))["hits"][:1]
    assert hit in told


async def test_texts_in_frames_too(agent: Agent, site: PageServer) -> None:
    inner = site.inline(f"<p>{ARTICLE}</p>{SELECT}")
    await agent.call(
        "navigate", url=site.inline(f"<p>{ARTICLE}</p>{SELECT}<iframe width=500 height=500 src='{inner}'></iframe>")
    )
    assert (await agent.call("find", text="farewell"))["total"] == 2
    assert (await agent.call("find", text="United States"))["total"] == 2


async def test_texts_without_end_are_searched_to_a_bound(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p id=one></p><p>short</p>"))
    await agent.js("one.textContent = 'letters '.repeat(200000) + 'the very end'; 0")
    began = time.perf_counter()
    told = await agent.text("find", text="the very end")
    assert time.perf_counter() - began < 5
    assert "not searched" in told
    assert (await agent.call("find", text="short"))["total"] == 1
