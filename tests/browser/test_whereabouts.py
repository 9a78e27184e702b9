"""What is shown no more: gone, or still there. What only says the same is something else."""

import re
from typing import Any

import pytest

from pilothouse.browser.world import World
from tests.browser.looking import look, put, ref_in, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A13")

STILL = re.compile(r"^\((\d+) lines? still there, not shown now\)$", re.MULTILINE)
AGAIN = re.compile(r"\((\d+) lines? shown again, as before\)")
FAR = "<div style='height: 5000px'></div>"
MORE = "".join(f"<button>Go to {n}</button>" for n in range(9))
TOAST = "<button onclick=\"toast.innerHTML = '<p>Item added</p>'\">Add</button><div id=toast></div>"


async def show(agent: Agent, site: PageServer, html: str) -> str:
    await agent.call("navigate", url=site.inline("<p>empty</p>"))
    await put(agent, html)
    return await look(agent)


async def told(agent: Agent, script: str) -> str:
    """The difference that a script makes."""
    await agent.js(f"{script}; return 0")
    return await look(agent, diff=True)


async def test_a_message_that_goes_is_gone_whatever_says_the_same_far_below(agent: Agent, site: PageServer) -> None:
    await show(agent, site, f"{TOAST}{FAR}<p>Item added</p>")
    assert '"Item added"' in await told(agent, "document.querySelector('button').click()")
    gone = await told(agent, "toast.innerHTML = ''")
    assert re.search(r'^- .*"Item added"', gone, re.MULTILINE)
    assert not STILL.search(gone)
    again = await told(agent, "document.querySelector('button').click()")
    assert re.search(r'^\+ .*"Item added"', again, re.MULTILINE)
    assert not AGAIN.search(again)


async def test_one_of_two_that_say_the_same_is_gone(agent: Agent, site: PageServer) -> None:
    await show(agent, site, f"<p id=first>A</p><p>A</p><button>Go</button>{FAR}<p>A</p>")
    gone = await told(agent, "first.remove()")
    assert '- "A"' in gone
    assert not STILL.search(gone)


async def test_one_of_two_that_say_the_same_has_left_the_view(agent: Agent, site: PageServer) -> None:
    await show(agent, site, f"<p id=first>A</p><p>A</p><button>Go</button>{FAR}<p>Z</p>")
    gone = await told(agent, "document.body.append(first)")
    assert STILL.search(gone)
    assert not re.search("^-", gone, re.MULTILINE)


LINES = {
    "text": "<p id=one>Some words</p>",
    "text with marks": "<p id=one>Some <b>bold</b> and <i>slanted</i> words</p>",
    "capitals": "<p id=one style='text-transform: uppercase'>Some words</p>",
    "heading": "<h2 id=one>Some <b>words</b></h2>",
    "item": "<ul><li id=one>Some words</li><li>Others</li></ul>",
    "item of parts": "<ul><li id=one><span>Some</span><div>words</div></li><li>Others</li></ul>",
    "row": "<table><tr><th>A</th><th>B</th></tr><tr id=one><td>Some</td><td>words</td></tr></table>",
    "picture": "<img id=one alt='Some words' width=50 height=50 src=data:,>",
    "region": "<section aria-label='Some words' id=one><p>Inner</p></section>",
    "terms": "<dl><dt id=one>Some words</dt><dd>Others</dd></dl>",
    "quotation": "<blockquote id=one>Some words</blockquote>",
    "figure": "<figure id=one><figcaption>Some words</figcaption></figure>",
    "before": "<style>#one::before { content: 'Some words' }</style><p id=one></p>",
    "shadow": "<div id=one><template shadowrootmode=open><p>Some words</p></template></div>",
    "hidden words": "<p id=one style='position: absolute; opacity: 0'>Some words</p>",
    "hidden link": "<a id=one href=/x style='position: absolute; opacity: 0'>Some words</a>",
    "article": "<article id=one><p>Some</p><p>words</p></article>",
}


@pytest.mark.parametrize("html", LINES.values(), ids=LINES.keys())
async def test_what_leaves_the_view_is_still_there_and_what_is_removed_is_gone(
    agent: Agent, site: PageServer, html: str
) -> None:
    await agent.call("navigate", url=site.inline(f"{html}<p>Stays</p>{FAR}"))
    before = await look(agent)
    away = await told(agent, "scrollTo(0, 3000)")
    assert not re.search("^-", away, re.MULTILINE), (before, away)
    back = await told(agent, "scrollTo(0, 0)")
    assert not re.search(r"^[+-]", back, re.MULTILINE), (before, back)
    gone = await told(agent, "one.remove()")
    assert re.search("^- ", gone, re.MULTILINE), (before, gone)
    assert not STILL.search(gone)


@pytest.mark.parametrize(
    ("html", "script"),
    [
        ("<p id=one>Items: 3</p>", "one.textContent = 'Items: 4'"),
        ("<p id=one>Items: <b>3</b></p>", "one.lastChild.firstChild.data = '4'"),
        ("<p>Items: <b id=one>3</b></p>", "one.hidden = true"),
        ("<h2 id=one>Orders</h2>", "one.firstChild.data = 'Bills'"),
        ("<table><tr><th>A<th>B<tr><td>1<td id=one>2</table>", "one.firstChild.data = '3'"),
        ("<p id=one>Saved</p>", "one.style.visibility = 'hidden'"),
        ("<div id=one><p>Saved</p></div>", "one.style = 'height: 0; overflow: hidden'"),
        ("<div id=one><button>More</button></div>", "one.style = 'height: 0; overflow: hidden'"),
    ],
)
async def test_what_cannot_be_seen_as_it_was_is_gone(agent: Agent, site: PageServer, html: str, script: str) -> None:
    await show(agent, site, f"{html}<dialog id=dialog>Sure?</dialog>")
    gone = await told(agent, f"dialog.showModal(); {script}")
    assert len(re.findall("^- ", gone, re.MULTILINE)) == 1, gone


async def test_a_message_that_is_shown_anew_is_told_anew(agent: Agent, site: PageServer) -> None:
    """By the same element, too, which was only hidden."""
    await show(agent, site, f"<p id=toast>Item added</p>{MORE}{FAR}")
    assert '- "Item added"' in await told(agent, "toast.hidden = true")
    assert '+ "Item added"' in await told(agent, "toast.hidden = false")
    assert "still there" in await told(agent, "scrollTo(0, 3000)")
    new = "toast.replaceWith(Object.assign(document.createElement('p'), {textContent: 'Item added'}))"
    assert '+ "Item added"' in await told(agent, f"{new}; scrollTo(0, 0)")


async def test_what_a_scroller_has_scrolled_away_is_still_there(agent: Agent, site: PageServer) -> None:
    """Rows that are laid out by hand lie above the page then."""
    at = "position: absolute; top:"
    rows = "".join(f"<p style='{at} {n * 30}px'>Row {n} <a href=/{n}>Open</a></p>" for n in range(99))
    notes = "".join(f"<p style='{at} {n * 30}px; left: 200px'>Note {n}</p>" for n in range(99))
    box = f"<div id=list style='position: relative; height: 200px; overflow: auto'>{rows}{notes}</div>"
    await show(agent, site, f"{MORE}<div style='height: 250px'></div>{box}")
    away = await told(agent, "list.scrollTo(0, 2000)")
    assert STILL.search(away)
    assert not re.search('^- *"', away, re.MULTILINE), away


async def test_what_a_frame_shows_goes_with_it(agent: Agent, site: PageServer) -> None:
    frame = "<iframe id=frame srcdoc='<p>Inner words</p><button>Inner</button>'></iframe>"
    await show(agent, site, f"{frame}{MORE}{FAR}")
    await agent.call("wait_for", text="Inner words")
    assert "Inner words" in await look(agent)
    away = await told(agent, "scrollTo(0, 3000)")
    assert STILL.search(away)
    assert "Inner" not in away
    assert "Inner" not in await told(agent, "scrollTo(0, 0)")
    gone = await told(agent, "frame.style.visibility = 'hidden'")
    assert re.search("^- *iframe", gone, re.MULTILINE)
    assert not STILL.search(gone)


async def test_for_what_is_gone_nobody_reads_the_page_and_no_ref_is_given(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = "".join(f"<li><a href=/{n}>{n}</a></li>" for n in range(2000))
    go = ref_in(await show(agent, site, f"<p>A</p><p>B</p><button>Go</button><ul>{links}</ul>"), 'button "Go"')
    given = tab_of(agent).refs._all.last
    asked: list[tuple[str, tuple[Any, ...]]] = []
    call = World.call

    async def note(world: World, function: str, *args: Any, **options: Any) -> Any:
        asked.append((function, args))
        return await call(world, function, *args, **options)

    monkeypatch.setattr(World, "call", note)
    for gone in "AB":
        assert f'- "{gone}"' in await told(agent, "document.querySelector('p').remove()")
    assert [args[0]["full"] for function, args in asked if function == "snapshot"] == [False, False]
    assert [args[0]["lines"][0][1] for function, args in asked if function == "there"] == ['"A"', '"B"']
    assert tab_of(agent).refs._all.last <= given + 10
    assert tab_of(agent).refs.place(go)
