"""Navigation: going to an address, back, forward, again."""

from typing import Literal

import msgspec

from pilothouse.browser import navigate as way
from pilothouse.browser.tab import Tab
from pilothouse.result import Result, plain_url, quoted
from pilothouse.tool import Access, TimeoutMs, Url, tool
from pilothouse.tools.outcome import Showing, Want, shown

WaitUntil = Literal["load", "domcontentloaded", "networkidle"]
DEFAULT_MS = 30_000


class Arrived(Showing, omit_defaults=True):
    url: str
    title: str
    status: int = 0
    note: str = ""


class Place(msgspec.Struct):
    url: str


class Title(msgspec.Struct):
    title: str


async def _arrived(tab: Tab, arrival: way.Arrival, want: Want) -> Result[Arrived]:
    tab.told_url = arrival.url
    status = f" ({arrival.status})" if arrival.status >= 400 else ""
    note = f"\n{arrival.note}" if arrival.note else ""
    data = Arrived(arrival.url, arrival.title, arrival.status, arrival.note)
    return await shown(tab, Result(f"{plain_url(arrival.url)} {quoted(arrival.title)}{status}{note}", data), want)


@tool(
    Access.VISIT,
    core=True,
    live=False,
    opens=True,
    leaves=True,
    example={"url": "/small.html"},
    aliases=("browser.goto", "browser_navigate"),
)
async def navigate(
    tab: Tab, url: Url, wait_until: WaitUntil = "load", timeout_ms: TimeoutMs = DEFAULT_MS, snapshot: Want = None
) -> Result[Arrived]:
    """Go to a URL."""
    tab.check_dialog()
    return await _arrived(tab, await way.navigate(tab, url, wait_until, timeout_ms / 1000), snapshot)


@tool(Access.VISIT, core=True, leaves=True, revives=True, example={})
async def go_back(tab: Tab, timeout_ms: TimeoutMs = DEFAULT_MS, snapshot: Want = None) -> Result[Arrived]:
    """Go back in the tab's history."""
    return await _arrived(tab, await way.history(tab, -1, timeout_ms / 1000), snapshot)


@tool(Access.VISIT, leaves=True, revives=True, example={})
async def go_forward(tab: Tab, timeout_ms: TimeoutMs = DEFAULT_MS, snapshot: Want = None) -> Result[Arrived]:
    """Go forward in the tab's history."""
    return await _arrived(tab, await way.history(tab, 1, timeout_ms / 1000), snapshot)


@tool(Access.VISIT, revives=True, example={})
async def reload(
    tab: Tab, wait_until: WaitUntil = "load", timeout_ms: TimeoutMs = DEFAULT_MS, snapshot: Want = None
) -> Result[Arrived]:
    """Load the page again."""
    return await _arrived(tab, await way.reload(tab, wait_until, timeout_ms / 1000), snapshot)


@tool(Access.READ, live=False, example={"timeout_ms": 1000})
async def wait_for_navigation(
    tab: Tab, wait_until: WaitUntil = "load", timeout_ms: TimeoutMs = DEFAULT_MS, snapshot: Want = None
) -> Result[Arrived]:
    """Wait for the next page, or the one the last action has begun or brought."""
    return await _arrived(tab, await way.next_navigation(tab, wait_until, timeout_ms / 1000), snapshot)


@tool(Access.READ, live=False, example={})
async def get_current_url(tab: Tab) -> Result[Place]:
    """The address of the tab."""
    tab.told_url = tab.url
    return Result(plain_url(tab.url), Place(tab.url))


@tool(Access.READ, live=False, shows=True, example={})
async def get_page_title(tab: Tab) -> Result[Title]:
    """The title of the page."""
    if not tab.hindrance() and not tab.route.bound_for:
        await tab.learn_title()  # a page too busy to answer has the title it had
    return Result(quoted(tab.title) if tab.title else "the page has no title", Title(tab.title))
