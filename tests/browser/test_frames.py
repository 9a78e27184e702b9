"""Frames: listed, entered, left."""

import re

import pytest

from pilothouse.browser.aim import Held, Pointing
from pilothouse.browser.unseen import resolved
from tests.browser.looking import fails, look, ref_in, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A21")


async def opened(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Home button")


async def test_all_frames_are_listed(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    frames = (await agent.call("get_frames"))["frames"]
    assert frames[0] == {
        "frame": "f0",
        "url": site.url(f"frames.html?other={site.other_origin}"),
        "name": "",
        "current": True,
    }
    found = {one["url"].partition("name=")[2].partition("&")[0] for one in frames[1:]}
    assert found == {"Same", "Outer", "Inner", "Cross", "Far", "Home"}


@pytest.mark.parametrize(
    ("frame", "name"), [("f1", "Same"), ("name=Cross", "Cross"), ("#nested", "Outer"), ("#cross-nested", "Far")]
)
async def test_switching(agent: Agent, site: PageServer, frame: str, name: str) -> None:
    await opened(agent, site)
    if frame.startswith("name="):
        frame = f"/frame.html?{frame}"
    assert f"name={name}" in (await agent.call("switch_frame", frame=frame))["url"]
    assert await agent.js("name") == name
    await agent.call("click", target="#go")
    await agent.call("type_text", target="#field", text="inside")
    assert await agent.js("[out.textContent, field.value].join()") == "1,inside"
    assert f"{name} field" in (await agent.call("get_page_text"))["text"]
    await agent.call("main_frame")
    assert await agent.js("document.title") == "Frames"


HOLDERS = {
    "object": '<object type="text/html" data="{url}" title=Pane></object>',
    "embed": '<embed src="{url}" title=Pane>',
}


@pytest.mark.parametrize("other", [False, True], ids=["same_origin", "other_origin"])
@pytest.mark.parametrize("tag", HOLDERS)
async def test_a_page_in_an_object_or_embed(agent: Agent, site: PageServer, tag: str, other: bool) -> None:
    holder = HOLDERS[tag].format(url=site.url("frame.html?name=Held", other=other))
    await agent.call("navigate", url=site.inline(f"<h1>Top</h1>{holder}<button>After</button>"))
    await agent.call("wait_for", target="text=Held button")
    seen = await look(agent)
    where = f" -> {site.other_origin.partition('://')[2]}" if other else ""
    assert re.search(rf'\niframe "Pane" e\d+{where}\n  button "Held button" e\d+\n.*\nbutton "After"', seen, re.S)
    assert (await agent.call("find", text="Held field"))["total"] == 1
    await agent.call("click", target=ref_in(seen, 'button "Held button"'))
    assert '+   status: "1"' in await look(agent, diff=True)
    await agent.call("click", target=ref_in(seen, '"Held field"'))
    await agent.call("press_key", key="x")
    assert '="x"' in await look(agent)


@promise("D08")
@pytest.mark.parametrize("tag", HOLDERS)
async def test_what_is_judged_lies_in_an_object_or_embed_that_nobody_has_looked_at(
    agent: Agent, site: PageServer, tag: str
) -> None:
    await agent.call("navigate", url=site.inline(HOLDERS[tag].format(url=site.url("frame.html?name=Held"))))
    await agent.call("click", target="label=Held field")
    keys, point = Held(Pointing(keys=True)), Held(Pointing(point=(25, 25)))
    await keys.look(tab_of(agent))
    await point.look(tab_of(agent))
    assert [(one.role, one.name) for one in (*keys.sights, *point.sights)] == [
        ("textbox", "Held field"),
        ("button", "Held button"),
    ]
    assert 'textbox "Held field"' in await agent.text("click", target=":focus")


@pytest.mark.parametrize("tag", HOLDERS)
async def test_a_picture_in_an_object_or_embed_is_none(agent: Agent, site: PageServer, tag: str) -> None:
    picture = site.inline(
        '<svg xmlns="http://www.w3.org/2000/svg"><text y="20">Drawn</text></svg>', type="image/svg+xml"
    )
    await agent.call("navigate", url=site.inline(HOLDERS[tag].format(url=picture)))
    seen = await look(agent)
    assert re.search(rf'^{tag} "Pane" <\d+x\d+>$', seen, re.M)
    assert "iframe" not in seen


async def test_a_frame_that_is_not_there(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await fails(agent, "not_found", "switch_frame", frame="f99")
    await fails(agent, "not_found", "switch_frame", frame="#nowhere")
    await fails(agent, "not_found", "switch_frame", frame="h1")


async def test_a_navigation_leads_back_to_the_page(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("switch_frame", frame="#cross")
    await agent.call("navigate", url=site.url("small.html"))
    assert await agent.js("document.title") == "Small"


async def test_a_frame_that_goes_away_is_left(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("switch_frame", frame="#cross")
    await agent.js("parent.postMessage('bye', '*'); return 0")
    await agent.call("main_frame")
    await agent.call("switch_frame", frame="#same")
    await agent.js("frameElement.remove()")
    assert await agent.js("document.title") == "Frames"


async def test_a_frame_that_navigates_is_waited_for(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call(
        "evaluate_js",
        target="text=Same button",
        expression="element.onclick = () => { location.href = '/slow?ms=150' }; return 0",
    )
    await agent.call("click", target="text=Same button")
    assert "Slow page" in (await agent.call("get_page_text"))["text"]


@promise("A10")
async def test_controls_of_a_frame_are_controls_of_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call(
        "navigate",
        url=site.inline(
            "<main><p>Pay</p><iframe srcdoc='<p>Card</p><button>Send</button>' title=card></iframe></main>"
        ),
    )
    await agent.call("wait_for", target="text=Send")
    asked = await look(agent, interactive=True)
    assert 'button "Send"' in asked
    assert '"Pay"' not in asked
    assert "(0+ controls inside: scope)" in await look(agent, depth=1)


@promise("A10")
async def test_a_frame_from_elsewhere_says_where_it_is_from(agent: Agent, site: PageServer) -> None:
    there = site.other_origin.partition("://")[2]
    frames = (
        f"<iframe title=Pay src='{site.url('frame.html', other=True)}'></iframe><iframe title=Own srcdoc=Mine></iframe>"
    )
    await agent.call("navigate", url=site.inline(frames))
    lines = (await look(agent)).splitlines()[1:]
    own, paid = (next(line for line in lines if name in line) for name in ("Own", "Pay"))
    assert paid.endswith(f" -> {there}")
    assert "->" not in own
    assert "nothing has changed" in await agent.text("get_page_state", diff=True)


@promise("A10")
async def test_a_frame_of_the_page_s_own_site_is_not_from_elsewhere(agent: Agent, site: PageServer) -> None:
    inner = f"<iframe title=Deep src={site.url('frame.html')}></iframe>"
    await agent.call("navigate", url=site.inline(f'<iframe title=Outer srcdoc="{inner}"></iframe>'))
    await agent.call("wait_for", target="role=iframe[name=Deep]")
    assert " -> " not in "".join(line for line in (await look(agent)).splitlines()[1:] if "iframe" in line)


@promise("A10")
async def test_what_an_element_is_does_not_hang_on_who_was_handed_it_first(agent: Agent, site: PageServer) -> None:
    """The worlds of a process are one: a node that another frame was handed first has that frame's prototypes (M)."""
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(agent)
    whole = "document.body.innerHTML = `<iframe srcdoc='<p>Inner</p>'></iframe>`"
    await tab.channel.send("Runtime.evaluate", expression=whole)
    await agent.call("wait_for", text="Inner")
    fresh = "<button>Press</button><label>Name <input></label><select><option>Red</select><a href=/x>Link</a>"
    into = f"document.querySelector('iframe').contentDocument.body.innerHTML = '{fresh}'"
    await tab.channel.send("Runtime.evaluate", expression=into)
    nodes, stack = list[int](), [(await tab.channel.send("DOM.getDocument", depth=-1, pierce=True))["root"]]
    while stack:
        node = stack.pop()
        nodes.append(node["backendNodeId"])
        stack += [*node.get("children", []), *([node["contentDocument"]] if "contentDocument" in node else [])]
    assert tab.frames.main.world
    async with resolved(tab.frames.main.world, nodes) as handed:
        assert len(handed) > 5
        asked = await look(agent)
    for shown in ('button "Press"', 'textbox "Name"', "combobox", 'link "Link"'):
        assert shown in asked
