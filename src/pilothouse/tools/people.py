"""People: show something to the person at the screen, or let them point at it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.browser.input import raise_if_unfit
from pilothouse.browser.locate import find
from pilothouse.browser.picker import Selector
from pilothouse.browser.picker import pick as picked_by_person
from pilothouse.browser.tab import Tab
from pilothouse.doing import doing
from pilothouse.result import Result, quoted
from pilothouse.tool import Access, Target, TimeoutMs, tool

MARGIN_MS = 200  # so that it ends by itself before its deadline does

MAX_WORDS = 300

Words = Annotated[str, Meta(max_length=MAX_WORDS)]
Prompt = Annotated[str, Meta(min_length=1, max_length=MAX_WORDS)]


class Highlighted(msgspec.Struct):
    role: str
    name: str


class Picked(msgspec.Struct):
    picked: bool
    ref: str = ""
    role: str = ""
    name: str = ""
    url: str = ""
    selectors: list[Selector] = []


@tool(Access.READ, example={"target": "h1"})
async def highlight(
    tab: Tab,
    target: Target,
    label: Words = "",
    time_ms: Annotated[int, Meta(ge=100, le=60_000, description="how long it stays")] = 5000,
) -> Result[Highlighted]:
    """Draw a box around an element, for the person who watches."""
    element = await find(tab, target)
    told = await element.world.call("highlight", element.local, label, time_ms)
    raise_if_unfit(element, told)
    return Result(f"highlighted {told['role']} {quoted(told['name'])}", Highlighted(told["role"], told["name"]))


@tool(Access.READ, example={"prompt": "Which button do you mean?", "timeout_ms": 100})
async def ask_user_to_pick(tab: Tab, prompt: Prompt, timeout_ms: TimeoutMs = 60_000) -> Result[Picked]:
    """Ask the person to point at an element of the page; answers its ref and selectors that lead to it alone."""
    with doing(lambda: "the person is asked to point at an element", is_persons=True):
        found = await picked_by_person(tab, prompt, max(timeout_ms - MARGIN_MS, timeout_ms / 2) / 1000)
    if found is None:
        return Result("the person pointed at nothing, or not in time", Picked(False))
    lines = [f"{one.kind}: {one.selector}" for one in found.selectors]
    text = f"the person picked {found.ref}, {found.role} {quoted(found.name)}"
    data = Picked(True, found.ref, found.role, found.name, found.url, found.selectors)
    return Result(text, data, page="\n".join(lines))
