"""What `get_page_state` prints, against the same judge: on ten pages of MiniWoB++ everything in view that a person could act
on has a ref in the text that an agent reads, with Chrome's own role and name, and a click by that ref reaches that very
element."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from chrome import CLICKS, serve
from judge import EXCUSE, MINIWOB, POINTERS, acting, is_same_role, plain

from pilothouse.browser.tab import Tab
from tests.browser.looking import tab_of
from tests.house import Agent
from tests.promises import promise

pytestmark = promise("A10", "A11", "C06")

NAMES = [
    "book-flight", "choose-list", "click-checkboxes-large", "click-tab-2-hard", "click-widget", "email-inbox",
    "form-sequence-2", "navigate-tree", "search-engine", "use-autocomplete",
]  # fmt: skip
# `button "Go" e5`, or in the place of a name what hints at one: `clickable <star> e6`.
PRINTED = re.compile(r'\b([a-z]+)(?: "((?:[^"\\]|\\.)*)"| <[^<>]*>)? (e\d+)\b')
# A press stays without consequences: the page must be the same for the next one.
EARS = """window.pressed = []; window.proofs = new Map();
for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(kind, (event) => {
  if (kind === "click") pressed.push(event.composedPath()[0]);
  event.preventDefault(); event.stopImmediatePropagation();
}, true); 0"""
# To press a control's label is to press it.
REACHED = """(() => { const [at] = pressed.splice(0), el = proofs.get(args[0]);
  return !at ? "nothing was pressed" : [el, ...(el.labels || [])].some((one) => one.contains(at)) || at.outerHTML; })()"""


class Printed(NamedTuple):
    role: str
    name: str


@pytest.fixture(scope="module")
def games() -> Iterator[str]:
    server, base = serve(MINIWOB)
    yield f"{base}/miniwob"
    server.shutdown()


@pytest.fixture(params=NAMES)
async def game(request: pytest.FixtureRequest, agent: Agent, games: str) -> Agent:
    await agent.call("navigate", url=f"{games}/{request.param}.html")
    await agent.js("core.EPISODE_MAX_TIME = 1e9; Math.seedrandom('7'); core.startEpisodeReal(); 0")
    return agent


async def printed(agent: Agent) -> dict[str, Printed]:
    """Every ref that an agent reads, with what stands before it."""
    text = await agent.text("get_page_state")
    found: dict[str, Printed] = {}
    for role, name, ref in PRINTED.findall(text):
        found.setdefault(ref, Printed(role, name))  # a line below may name it again: "scroll e7"
    return found


async def hold(agent: Agent, tab: Tab, refs: list[str]) -> dict[int, str]:
    """The elements of refs as the tools find them, by the browser's own number, and as `marks` for the judge."""
    await agent.js(EARS)
    for ref in refs:
        await agent.call("evaluate_js", target=ref, expression="proofs.set(args[0], element); return 0", args=[ref])
    numbers = await backend_ids(tab, "[...proofs.values()]")
    world = tab.frames.main.world
    assert world
    await tab.channel.send("Runtime.evaluate", expression="globalThis.marks = [], 0", contextId=world.context_id)
    for number in numbers:
        await on_element(tab, number, "function() { marks.push(this) }")
    return dict(zip(numbers, refs, strict=True))


async def backend_ids(tab: Tab, expression: str) -> list[int]:
    send = tab.channel.send
    array = (await send("Runtime.evaluate", expression=expression))["result"]["objectId"]
    told = (await send("Runtime.getProperties", objectId=array, ownProperties=True))["result"]
    items = sorted((one for one in told if one["name"].isdigit()), key=lambda one: int(one["name"]))
    nodes = [await send("DOM.describeNode", objectId=one["value"]["objectId"]) for one in items]
    return [one["node"]["backendNodeId"] for one in nodes]


async def on_element(tab: Tab, number: int, function: str, *args: Any) -> Any:
    """Run a function in our own world, where the judge knows what is hit."""
    world = tab.frames.main.world
    assert world
    node = await tab.channel.send("DOM.resolveNode", backendNodeId=number, executionContextId=world.context_id)
    given = [{"value": one} for one in args]
    reply = await tab.channel.send(
        "Runtime.callFunctionOn",
        objectId=node["object"]["objectId"],
        functionDeclaration=function,
        arguments=given,
        returnByValue=True,
    )
    assert "exceptionDetails" not in reply, reply
    return reply["result"].get("value")


IN_VIEW = """function() {
  const box = this.nodeType === 1 ? this.getBoundingClientRect() : { width: 0 };
  return box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
}"""


async def listening(tab: Tab) -> set[int]:
    document = (await tab.channel.send("Runtime.evaluate", expression="document"))["result"]["objectId"]
    told = await tab.channel.send("DOMDebugger.getEventListeners", objectId=document, depth=-1, pierce=True)
    return {one["backendNodeId"] for one in told["listeners"] if one["type"] in CLICKS and one.get("backendNodeId")}


async def test_everything_in_view_has_a_ref_with_the_right_role_and_name(game: Agent) -> None:
    tab = tab_of(game)
    said = await printed(game)
    theirs = await listening(tab)  # before ours are there
    ours = await hold(game, tab, list(said))
    tree = (await tab.channel.send("Accessibility.getFullAXTree"))["nodes"]
    wanted = acting(tree)
    for number in [*theirs, *await backend_ids(tab, POINTERS)]:
        wanted.setdefault(number, "listener")
    missing = [
        f"{why}: {verdict}"
        for number, why in wanted.items()
        if number not in ours
        and await on_element(tab, number, IN_VIEW)
        and (verdict := await on_element(tab, number, EXCUSE, why.partition(" ")[0])) not in ("ok", "inside")
    ]
    assert not missing, missing
    named = {node["backendDOMNodeId"]: node for node in tree if not node.get("ignored") and "backendDOMNodeId" in node}
    wrong: list[str] = []
    for number, ref in ours.items():
        role, name = said[ref]
        # Chrome has no such roles; what they are called is judged by the texts that stand in their lines.
        if number not in named or role in ("clickable", "draggable", "row", "item", "scrollable"):
            continue
        node = named[number]
        right = plain(node.get("name", {}).get("value", ""))
        if not is_same_role(role, node["role"]["value"]) or plain(name) != right:
            wrong.append(f"{ref}: printed {role} {name!r}, Chrome {node['role']['value']} {right!r}")
    assert ours
    assert not wrong, wrong


async def test_a_click_by_a_ref_reaches_that_element(game: Agent) -> None:
    said = await printed(game)
    await hold(game, tab_of(game), list(said))
    astray: dict[str, Any] = {}
    for ref in said:
        answer = await game.ask("click", target=ref)
        reached = (await game.call("evaluate_js", expression=REACHED, args=[ref]))["value"]
        if answer.failed or reached is not True:
            astray[f"{ref} {said[ref]}"] = answer.text if answer.failed else reached
    assert not astray, astray
