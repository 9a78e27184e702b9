"""Looking closer: Chrome's accessibility tree, pictures of elements, the DOM around an element."""

import struct

from tests.browser.looking import fails, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01")

FORM = """<!doctype html><title>T</title><main><h1 id=top>Order</h1><nav aria-label=Trail><a href=/x>Home</a></nav>
<form><label>Name <input id=name value=Ada></label><label>Secret <input type=password value=hunter22></label>
<input type=checkbox aria-label=Agree checked> <button disabled>Send</button><div><div><p>Just text</p></div></div></form>
<div hidden><button>Unseen</button></div></main>"""


async def test_the_tree_with_refs_to_act_on(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(FORM))
    answer = await agent.ask("get_ax_tree")
    by_name = {one.get("name"): one for one in answer.data["nodes"]}
    assert by_name["Name"]["role"] == "textbox"
    assert by_name["Name"]["value"] == "Ada"
    assert by_name["Order"]["states"] == ["level=1"]
    assert "checked=true" in by_name["Agree"]["states"]
    assert by_name["Send"]["states"] == ["disabled"]
    assert by_name["Just text"]["role"] == "StaticText"
    assert "Unseen" not in by_name
    assert "hunter22" not in answer.text
    assert not {"generic", "none", "InlineTextBox"} & {one["role"] for one in answer.data["nodes"]}
    assert by_name["Name"]["ref"] == await ref(agent, 'textbox "Name"')
    await agent.call("type_text", target=by_name["Name"]["ref"], text="Grace")
    assert await agent.js("document.getElementById('name').value") == "Grace"
    assert f'  link "Home" {by_name["Home"]["ref"]}' in answer.text


async def test_a_long_tree_is_cut_and_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    answer = await agent.ask("get_ax_tree", max_nodes=20)
    assert len(answer.data["nodes"]) == 20
    assert answer.data["truncated"] is True
    assert f"{answer.data['total'] - 20} more" in answer.text


async def test_the_tree_of_a_frame(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("wait_for", target="text=Cross button")
    for frame in (await agent.call("get_frames"))["frames"]:
        await agent.call("switch_frame", frame=frame["frame"])
        assert (await agent.call("get_ax_tree"))["nodes"]
    across = next(one for one in (await agent.call("get_frames"))["frames"] if site.other_origin in one["url"][:30])
    await agent.call("switch_frame", frame=across["frame"])
    nodes = (await agent.call("get_ax_tree"))["nodes"]
    button = next(one for one in nodes if one.get("name") == "Cross button")
    assert "clicked" in (await agent.call("click", target=button["ref"]))["done"]


async def test_closed_shadow_roots_and_a_tab_behind(agent: Agent, site: PageServer) -> None:
    page = """<div id=host></div><script>host.attachShadow({mode: 'closed'}).innerHTML = '<button>Inside</button>'</script>"""
    await agent.call("navigate", url=site.inline(page))
    await agent.call("new_tab")
    (node,) = [one for one in (await agent.call("get_ax_tree", tab="t1"))["nodes"] if one["role"] == "button"]
    assert node["name"] == "Inside"
    assert node["ref"]


@promise("A15")
async def test_a_picture_of_an_element(agent: Agent, site: PageServer) -> None:
    page = "<div style='height: 3000px'></div><div id=box style='width: 123px; height: 45px; background: red'></div>"
    await agent.call("navigate", url=site.inline(page))
    answer = await agent.ask("screenshot_element", selector="#box", format="png")
    assert (answer.data["width"], answer.data["height"]) == (123, 45)
    assert struct.unpack(">II", answer.images[0].data[16:24]) == (123, 45)
    assert answer.data["timestamp"] > 0
    await fails(agent, "not_found", "screenshot_element", target="#nowhere")
    await fails(agent, "bad_request", "screenshot_element")


async def test_an_element_and_what_stands_around_it(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(FORM))
    told = await agent.call("get_dom_context", target="form")
    assert told["tag"] == "<form>"
    assert told["ancestors"] == ["<html>", "<body>", "<main>"]
    assert told["before"][0] == '<h1 id="top"> Order'
    assert told["after"][0].startswith("<div hidden>")
    assert told["html"].startswith('<form><label>Name <input id="name" value="Ada"></label>')
    assert told["html"].endswith("</p></div></div></form>")
    assert "hunter22" not in str(told)
    assert '<input type="password" value="[redacted]">' in told["html"]
    text = await agent.text("get_dom_context", target=told["ref"])
    assert f"      <form> {told['ref']} <- this" in text


async def test_long_html_is_cut_and_says_so(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<ul>" + "<li>item with text</li>" * 500 + "</ul>"))
    answer = await agent.ask("get_dom_context", target="ul", max_chars=500)
    assert answer.data["truncated"] is True
    assert len(answer.data["html"]) == 500
    assert "cut at 500" in answer.text


async def test_the_document_as_an_outline(agent: Agent, site: PageServer) -> None:
    page = f"{FORM}<script>var secret = 1</script><x-a></x-a><script>document.querySelector('x-a').attachShadow({{mode: 'closed'}}).innerHTML = '<b>deep</b>'</script>"
    await agent.call("navigate", url=site.inline(page))
    told = await agent.call("browser.domSnapshot")
    lines = told["outline"].splitlines()
    assert lines[0] == "<html>"
    assert '      <h1 id="top"> "Order"' in lines
    assert '      <b> "deep"' in lines
    assert "secret" not in told["outline"]
    assert "hunter22" not in told["outline"]
    assert told["total"] == len(lines)
    cut = await agent.ask("get_dom_context", maxNodes=3)
    assert len(cut.data["outline"].splitlines()) == 3
    assert cut.data["truncated"] is True
    assert f"3 of {told['total']} elements" in cut.text


async def test_a_hostile_document(agent: Agent, site: PageServer) -> None:
    page = """<form id=f><input name=parentNode><input name=attributes><input name=getAttributeNames></form><script>
      Array.prototype.map = null; Element.prototype.getAttributeNames = () => { throw 1 };
      let at = document.body; for (let i = 0; i < 1000; i++) at = at.appendChild(document.createElement('div'));
      f.title = '\\ud800' + 'x'.repeat(1e6)</script>"""
    await agent.call("navigate", url=site.inline(page))
    told = await agent.call("get_dom_context", target="#f")
    assert len(told["tag"]) < 300
    assert told["ancestors"] == ["<html>", "<body>"]
    assert (await agent.call("get_dom_context"))["total"] > 1000
    assert (await agent.call("get_ax_tree"))["nodes"]


async def test_what_is_not_there(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p id=p>hi"))
    await fails(agent, "not_found", "get_dom_context", target="#nowhere")
    found = (await agent.call("get_dom_context", target="#p"))["ref"]
    await agent.js("document.getElementById('p').remove()")
    await fails(agent, "stale_ref", "get_dom_context", target=found)
    await fails(agent, "not_found", "get_ax_tree", tab="t7")
