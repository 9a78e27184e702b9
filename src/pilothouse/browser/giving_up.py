"""Giving up a navigation: what nobody waits for any more must not come later.

Above: navigate. Below: tab, cdp.
"""

import asyncio
from typing import Any

from pilothouse.browser.document import Document
from pilothouse.browser.tab import Tab

STOP_S = 0.1  # in which Chrome has stopped it, mostly
COME_S = 30.0
_insisting: set[asyncio.Task[None]] = set()


def give_up(tab: Tab) -> asyncio.Future[dict[str, Any]]:
    """Done when Chrome has stopped it; whether or not anybody waits for that, it is seen to."""
    stopping = tab.channel.post("Page.stopLoading")
    task = asyncio.ensure_future(_insist(tab, tab.document, tab.route.last_begun))
    _insisting.add(task)
    task.add_done_callback(_insisting.discard)
    return stopping


async def _insist(tab: Tab, before: Document, loader: str) -> None:
    """While an older document is about to come, and for a moment after it came, Chrome refuses to stop the one after
    it, or says nothing (M): then again. Unless the tab is elsewhere, or on the way there, by then."""

    def is_on_its_way() -> bool:
        return tab.route.navigating and not tab.closed and tab.route.last_begun == loader != tab.document.loader_id

    for moment in (
        lambda: tab.document is not before,
        lambda: tab.frames.main.page_context,
        lambda: tab.document.dom_ready,
    ):
        await tab.signal.until(lambda moment=moment: moment() or not is_on_its_way(), COME_S)
        if not is_on_its_way():
            return
        tab.channel.post("Page.stopLoading")
