"""Waiting for something to happen on the page."""

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import waits
from pilothouse.browser.tab import Tab
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, Target, TimeoutMs, tool
from pilothouse.tools.outcome import Showing, Want, shown


class Met(Showing):
    met: str


class Waited(msgspec.Struct):
    waited_ms: int


@tool(Access.READ, core=True, sensitive=("function",), example={"text": "Hello"})
async def wait_for(
    tab: Tab,
    text: str = "",
    gone: Annotated[str, Meta(description="text or target")] = "",
    target: str | list[str] | None = None,
    url: Annotated[str, Meta(description="part, or glob with *")] = "",
    function: Annotated[str, Meta(description="JS turning true")] = "",
    idle: Annotated[bool, Meta(description="network idle")] = False,
    timeout_ms: TimeoutMs = 10_000,
    snapshot: Want = None,
) -> Result[Met]:
    """Wait until any of these holds."""
    wanted = waits.Conditions(text=text, gone=gone, target=target or "", url=url, function=function, idle=idle)
    return await _met(tab, wanted, timeout_ms, snapshot)


@tool(Access.READ, example={"target": "#go"})
async def wait_for_element(
    tab: Tab,
    target: Target,
    state: Literal["visible", "hidden", "attached", "detached"] = "visible",
    timeout_ms: TimeoutMs = 10_000,
    snapshot: Want = None,
) -> Result[Met]:
    """Wait until an element is in a state."""
    _refuse_nothing(target)
    return await _met(tab, waits.Conditions(element=target, state=state), timeout_ms, snapshot)


@tool(Access.READ, example={"text": "Go"})
async def wait_for_text(
    tab: Tab, text: Annotated[str, Meta(max_length=10_000)], timeout_ms: TimeoutMs = 10_000, snapshot: Want = None
) -> Result[Met]:
    """Wait until the page shows a text."""
    _refuse_nothing(text)
    return await _met(tab, waits.Conditions(text=text), timeout_ms, snapshot)


@tool(Access.READ, live=False, example={"url": "small.html"}, synonyms={"pattern": "url", "url_pattern": "url"})
async def wait_for_url(
    tab: Tab,
    url: Annotated[str, Meta(max_length=10_000, description="part, or glob with *")],
    timeout_ms: TimeoutMs = 10_000,
    snapshot: Want = None,
) -> Result[Met]:
    """Wait until the tab is at an address."""
    _refuse_nothing(url)
    return await _met(tab, waits.Conditions(url=url), timeout_ms, snapshot)


async def _met(tab: Tab, wanted: waits.Conditions, timeout_ms: int, want: Want) -> Result[Met]:
    met = await waits.wait_for(tab, wanted, timeout_ms / 1000)
    return await shown(tab, Result(f"{met}: met", Met(met)), want)


def _refuse_nothing(given: Target) -> None:
    if not given or given == [""]:
        raise Failure("bad_request", "what to wait for is empty")


@tool(
    Access.READ,
    live=False,
    example={"time_ms": 10},
    aliases=("browser_wait",),
    synonyms={"time": "seconds"}
    | dict.fromkeys(
        ("ms", "milliseconds", "duration", "duration_ms", "delay", "delay_ms", "timeout", "timeout_ms"), "time_ms"
    ),
)
async def wait(
    tab: Tab,
    time_ms: Annotated[int, Meta(ge=0, le=600_000)] = 0,
    seconds: Annotated[float, Meta(ge=0, le=600)] = 0,
) -> Result[Waited]:
    """Wait for a time; wait_for is better when something is expected."""
    if bool(time_ms) == bool(seconds):
        raise Failure("bad_request", "wait takes time_ms, or seconds", suggestions=["wait(time_ms=500)"])
    whole = time_ms / 1000 or seconds
    with doing(lambda: f"waiting {whole:g} s"):
        await asyncio.sleep(whole)
    return Result(f"waited {whole:g} s", Waited(int(whole * 1000)))
