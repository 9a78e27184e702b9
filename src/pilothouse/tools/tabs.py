"""Tabs of the session."""

import contextlib
from typing import Any

import msgspec

from pilothouse.browser import navigate as way
from pilothouse.browser import unreached
from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import Result, plain_url, quoted
from pilothouse.tool import Access, TimeoutMs, Url, tool
from pilothouse.tools.outcome import Showing, Want, shown

BLANK_S = 1.0  # in which a window that stays blank is told from one that does not, on a busy machine too
LANDING_S = 5.0


class Tabs(msgspec.Struct):
    tabs: list[dict[str, Any]]


class One(Showing, omit_defaults=True):
    tab: str
    url: str = ""
    title: str = ""


class Closed(msgspec.Struct):
    tab: str


def _place(one: Tab | way.Arrival) -> str:
    if isinstance(one, Tab) and (why := unreached.why(one)):
        return f"{plain_url(one.url)}, which could not be loaded: {why}"
    return f"{plain_url(one.url)} {quoted(one.title)}"


def _line(one: Tab, current: bool) -> str:
    state = "".join(f" ({word})" for word, on in (("dialog", one.dialog), ("crashed", one.crashed)) if on)
    return f"{'* ' if current else '  '}{one.name} {_place(one)}{state}"


async def _landed(tab: Tab) -> None:
    """A new window begins blank; most of them are on their way to an address already."""

    def lands() -> bool:
        under_way = tab.route.navigating or any(one.type == "Document" for one in tab.network.in_flight())
        return bool(tab.hindrance()) or (tab.document.dom_ready and not under_way)

    def sets_out() -> bool:
        return bool(tab.hindrance()) or tab.route.navigating or tab.url not in ("", "about:blank")

    await tab.prepared()
    await tab.signal.until(sets_out, BLANK_S)
    await tab.signal.until(lands, LANDING_S)


def _listed(session: Session) -> list[dict[str, Any]]:
    return [
        {"tab": one.name, "url": one.url, "title": one.title, "current": one is session.current} for one in session.tabs
    ]


@tool(Access.READ, core=True, example={})
async def list_tabs(session: Session) -> Result[Tabs]:
    """List tabs; * is the current one."""
    await session.open()
    lines = [_line(one, one is session.current) for one in session.tabs]
    return Result("\n".join(lines) or "no tab is open", Tabs(_listed(session)))


async def _give_up(session: Session, tab: Tab, before: Tab | None) -> None:
    with contextlib.suppress(Failure):
        await session.close_tab(tab)
    session.current = session.current if before and before.closed else before


@tool(Access.VISIT, core=True, example={"url": "/small.html"}, aliases=("open_tab",))
async def new_tab(session: Session, url: Url = "", background: bool = False, snapshot: Want = None) -> Result[One]:
    """Open a tab and make it current, unless background."""
    before = session.current
    tab = await session.new_tab("about:blank", background=background)
    if not url:
        return Result(f"opened {tab.name}", One(tab.name))
    try:
        arrival = await way.navigate(tab, url, "load", session.options.timeout_ms / 1000)
    except Failure as failure:
        if failure.code in ("navigation_failed", "denied"):  # it shows nothing but an error
            await _give_up(session, tab, before)
            failure.suggestions = [*failure.suggestions[:1], "no tab was opened"]
        raise
    tab.told_url = arrival.url
    result = Result(f"opened {tab.name}: {_place(arrival)}", One(tab.name, arrival.url, arrival.title))
    return await shown(tab, result, snapshot)


@tool(Access.VISIT, core=True, example={"tab": "t1"})
async def switch_tab(session: Session, tab: str, snapshot: Want = None) -> Result[One]:
    """Make a tab current."""
    chosen = await session.tab(tab)
    session.current = chosen
    if not chosen.title:  # it was not to be told when it came
        with contextlib.suppress(Failure):
            await chosen.learn_title()
    chosen.place_told()
    result = Result(f"{chosen.name}: {_place(chosen)}", One(chosen.name, chosen.url, chosen.title))
    return await shown(chosen, result, snapshot)


def _is_persons(session: Session, args: Any) -> bool:
    return session.is_persons(args.tab)


async def _theirs(session: Session, args: Any) -> list[str]:
    return [one.url for one in session.tabs if one.name == args.tab and session.is_persons(args.tab)]


@tool(Access.VISIT, core=True, grave=_is_persons, places=_theirs, example={})
async def close_tab(session: Session, tab: str = "") -> Result[Closed]:
    """Close a tab (default: the current one)."""
    chosen = await session.tab(tab)
    await session.close_tab(chosen)
    if not chosen.closed:  # it asks whether it may be
        chosen.check_dialog()
    current = session.current.name if session.current else "no tab"
    return Result(f"closed {chosen.name}; {current} is {'current' if session.tabs else 'left'}", Closed(chosen.name))


@tool(Access.READ, live=False, example={"timeout_ms": 1000})
async def wait_for_new_tab(session: Session, timeout_ms: TimeoutMs = 10_000, snapshot: Want = None) -> Result[One]:
    """Wait for a tab that the page opens; also answers one that the last action has just opened."""
    with doing(lambda: "waiting for a new tab"):
        opened = await session.next_tab(timeout_ms / 1000)
    if opened is None:
        raise Failure("timeout", "no tab was opened in time", suggestions=["list_tabs shows what is open"])
    await _landed(opened)
    result = Result(f"{opened.name}: {_place(opened)}", One(opened.name, opened.url, opened.title))
    return await shown(opened, result, snapshot)
