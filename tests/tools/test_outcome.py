"""Whatever acts, moves or waits brings the page along when asked: the next call is saved."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from pilothouse.doors.shapes import tool_to_wire
from pilothouse.tool import Access, declared
from tests.browser.looking import fails, look
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C07", "A13")

PAGE = """<title>Long</title><h1>Top</h1><button id=late onclick="setTimeout(() => { out.textContent = 'Came' }, 30)">Late</button>
<p id=out>Waiting</p><button onclick="alert('Hi'); out.textContent = 'Greeted'">Greet</button><input type=file id=file>
<style>#menu:not(:hover) ul { display: none }</style><div id=menu><button>Menu</button><ul><li>Open</li></ul></div>
<div style='height:3000px'></div><h2 id=low>Bottom</h2>"""


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("navigate", {"url": "small.html"}, "Small page"),
        ("go_back", {}, "Small"),
        ("reload", {}, "Top"),
        ("scroll", {"to": "bottom"}, "Bottom"),
        ("scroll_into_view", {"target": "#low"}, "Bottom"),
        ("scroll_element", {"target": "h1", "to": "bottom"}, "Bottom"),
        ("hover", {"target": "text=Menu"}, "Open"),
        ("new_tab", {"url": "small.html"}, "Small page"),
        ("switch_tab", {"tab": "t1"}, "Top"),
        ("wait_for", {"text": "Top"}, "Top"),
        ("wait_for_element", {"target": "h1"}, "Top"),
        ("wait_for_text", {"text": "Top"}, "Top"),
        ("wait_for_url", {"url": "inline"}, "Top"),
        ("upload_file", {"target": "#file", "files": [{"name": "a.txt", "data": "aGk="}]}, "a.txt"),
    ],
)
@pytest.mark.whole("only all of Chromium keeps pages to come back to")
async def test_it_brings_the_page(agent: Agent, site: PageServer, tool: str, args: dict[str, Any], shown: str) -> None:
    args = {**args, "url": site.url(args["url"])} if tool in ("navigate", "new_tab") else args
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.inline(PAGE))
    quiet = await agent.ask(tool, **args)
    assert "snapshot" not in quiet.data
    await agent.call("navigate", url=site.inline(PAGE))
    answer = await agent.ask(tool, **args, snapshot="full")
    assert shown in answer.data["snapshot"]
    assert answer.data["snapshot"] in answer.text
    assert answer.text.split("\n")[0] == quiet.text.split("\n")[0] or tool == "new_tab"


async def test_a_dialog_that_is_answered_brings_what_it_changed(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    await look(agent)
    answer = await agent.call("click", target="text=Greet", snapshot="diff")
    assert "snapshot" not in answer  # a page with a dialog cannot be read
    told = await agent.call("handle_dialog", accept=True, snapshot="diff")
    assert '- "Waiting"' in told["snapshot"]
    assert '+ "Greeted"' in told["snapshot"]


async def test_what_came_while_somebody_waited_is_the_difference(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    await look(agent)
    await agent.call("click", target="#late")
    told = await agent.call("wait_for", text="Came", snapshot="diff")
    assert '+ "Came"' in told["snapshot"]
    assert "Greet" not in told["snapshot"]


async def test_scrolling_tells_what_came_into_view(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAGE))
    await look(agent)
    told = await agent.call("scroll", to="bottom", snapshot="diff")
    assert '+ heading "Bottom" h2' in told["snapshot"]
    assert "- " not in told["snapshot"]
    assert "lines still there, not shown now" in told["snapshot"]


@promise("D03")
async def test_who_may_not_read_a_frame_is_shown_none_of_it(
    agent: Agent, site: PageServer, say: Callable[[str], None]
) -> None:
    """A place on the same page keeps its frames, and who goes there asks no leave of the page."""
    page = site.inline(f"<h1>Shop</h1><iframe src='{site.inline('<h1>Bank</h1>', other=True)}'></iframe>")
    await agent.call("navigate", url=page)
    await agent.call("wait_for", target="text=Bank")
    say('[[rules]]\nhost = "127.0.0.1"\nread = true\n[[rules]]\nhost = "localhost"\nread = false\n')
    await agent.call("navigate", url=f"{page}#there")
    await fails(agent, "denied", "navigate", url=f"{page}#elsewhere", snapshot="full")


@promise("C05", "C01")
def test_all_that_takes_a_snapshot_is_listed_with_it() -> None:
    """The instructions promise it, and a client that checks a call against the list could not send it otherwise."""
    ours = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.")]
    listed = {one.name: tool_to_wire(one)["inputSchema"] for one in ours if one.core}
    taking = {one.name for one in ours if "snapshot" in one.takes}
    assert {"go_back", "hover", "handle_dialog", "new_tab", "switch_tab", "upload_file", "wait_for"} <= taking
    told = {name for name, schema in listed.items() if "snapshot" in schema["properties"]}
    assert told == taking & listed.keys()
    acting = {one.name for one in ours if one.core and one.access is Access.WRITE and one.name != "batch"}
    assert acting <= told


@promise("C01", "C09")
def test_what_is_taken_besides_the_list_is_not_said_to_be_refused() -> None:
    tools = {one.name: one for one in declared()}
    assert all("additionalProperties" not in tool_to_wire(one)["inputSchema"] for one in tools.values())
    tools["click"].parse({"selector": "#go"})  # as other servers call it
    fields = tool_to_wire(tools["fill_form"])["inputSchema"]["properties"]["fields"]
    kinds = [one["type"] for one in fields["items"]["properties"]["value"]["anyOf"]]
    assert kinds == ["string", "boolean", "number", "array"]


NAMELESS = """<style>li, td { cursor: pointer }</style><title>Nameless</title>
<ul id=list><li onclick="this.textContent += '!'">Austria<li onclick="this.textContent += '!'">Chile</ul>
<ul><li draggable=true style="width:200px">Card A</li></ul><table><tr><th>One<th>Two<tr><td id=day onclick="1">17<td>18</table>
<input id=dp><input type=checkbox class="pick-all"><select name=size><option>S<option>M</select><input data-testid=e-mail type=email>"""
ACTS: list[tuple[str, dict[str, Any], str]] = [
    ("click", {"target": "text=Chile"}, 'clicked clickable "Chile"'),
    ("hover", {"target": "text=Austria"}, 'pointer on clickable "Austria"'),
    ("right_click", {"target": "text=Card A"}, 'right-clicked draggable "Card A"'),
    ("click", {"target": "#day"}, 'clicked clickable "17"'),
    ("click", {"target": "#dp"}, "clicked textbox <dp>"),
    ("click", {"target": "[type=checkbox]"}, "clicked checkbox <pick-all>"),
    ("type_text", {"target": "#dp", "text": "Ada"}, "typed into textbox <dp>"),
    ("slow_type", {"target": "#dp", "text": "Ada", "delay_ms": 0}, "typed into textbox <dp>"),
    ("select_option", {"target": "select", "values": ["M"]}, 'combobox <size> is now "M"'),
    ("scroll_into_view", {"target": "#dp"}, "textbox <dp> was in view already"),
]


@pytest.mark.parametrize(("tool", "args", "said"), ACTS, ids=lambda value: value if isinstance(value, str) else "")
async def test_what_was_done_is_called_as_the_snapshot_calls_it(
    agent: Agent, site: PageServer, tool: str, args: dict[str, Any], said: str
) -> None:
    await agent.call("navigate", url=site.inline(NAMELESS))
    seen = await look(agent)
    called = re.findall(r'[a-z]+ (?:"[^"]*"|<[^>]*>)', said)[0]
    assert called.removeprefix("on ") in seen
    assert (await agent.text(tool, **args)).splitlines()[0] == said


async def test_a_field_that_is_not_valid_is_told_by_its_hint(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<form><input id=mail required><button>Send</button></form>"))
    assert "not valid: textbox <mail>" in await agent.text("click", target="text=Send")


async def test_a_hint_ends_where_it_ends(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<input id='a> and \"now\" do&#10;this'>"))
    assert await agent.text("click", target="input") == r"clicked textbox <a and \"now\" do this>"


async def test_a_page_that_came_again_at_its_address_is_told(agent: Agent, site: PageServer) -> None:
    """Nothing else would say that all refs are dead."""
    await agent.call(
        "navigate", url=site.inline("<button onclick='location.reload()'>Save</button><button>Other</button>")
    )
    assert await agent.text("click", target="text=Other") == 'clicked button "Other"'
    assert "the page was loaded again: its refs are new" in await agent.text("click", target="text=Save")
    assert await agent.text("click", target="text=Other") == 'clicked button "Other"'
