"""Pages that do not answer: why, and how to free them.

Above: gate, navigate, browser. Below: tab, cdp.
"""

import asyncio
import contextlib

from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

END_S = 5.0


async def free(tab: Tab, patience_s: float) -> bool:
    """Break off script that keeps a process of the tab from answering; False when all of them answer.

    From the request for a new document until it comes, Chrome holds back what we say to the page (M): its silence
    proves nothing then, and what we say would reach the next page.
    """
    if tab.bound_for or tab.hindrance():
        return False
    return any(await asyncio.gather(*(_freed(channel, patience_s) for channel in tab.page_channels())))


async def excuse(tab: Tab, patience_s: float) -> str:
    """Why the page has not answered in time, if that is known. Script that does not end is broken off."""
    if tab.bound_for:
        return f"the tab waits for {tab.bound_for[:300]}, whose server has not answered yet"
    return "the page's script did not answer and was broken off" if await free(tab, patience_s) else ""


async def end_page(tab: Tab, channel: Channel) -> None:
    """Take the process from under a page or a frame, and leave the tab empty rather than bring the page back."""
    channel.post("Page.crash", steadfast=True, timeout=END_S)
    if channel is not tab.channel or not await tab.signal.until(lambda: tab.crashed or tab.closed, END_S):
        return
    with contextlib.suppress(Failure, ProtocolError):  # then the next call finds a crashed tab, as ever
        await tab.channel.send("Page.navigate", url="about:blank", timeout=END_S)


async def _freed(channel: Channel, patience_s: float) -> bool:
    try:
        await channel.send("Runtime.evaluate", expression="0", timeout=patience_s)
    except ProtocolError:
        return False
    except Failure as failure:
        if failure.code != "timeout":
            return False
        channel.post("Runtime.terminateExecution", steadfast=True, timeout=2)
        return True
    return False
