"""Waiting for something to happen on the page."""

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.browser import waits
from pilothouse.browser.tab import Tab
from pilothouse.result import Result
from pilothouse.tool import Access, TimeoutMs, tool


class Met(msgspec.Struct):
    met: str


@tool(Access.READ, core=True, sensitive=("function",), example={"text": "Hello"})
async def wait_for(
    tab: Tab,
    text: str = "",
    gone: Annotated[str, Meta(description="text or target to vanish")] = "",
    target: str | list[str] | None = None,
    url: Annotated[str, Meta(description="part, or glob with *")] = "",
    function: Annotated[str, Meta(description="JS turning true")] = "",
    idle: Annotated[bool, Meta(description="network idle")] = False,
    timeout_ms: TimeoutMs = 10_000,
) -> Result[Met]:
    """Wait until any of these holds."""
    wanted = waits.Conditions(text=text, gone=gone, target=target or "", url=url, function=function, idle=idle)
    met = await waits.wait_for(tab, wanted, timeout_ms / 1000)
    return Result(f"{met}: met", Met(met))
