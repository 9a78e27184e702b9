"""A tab found again after a time in which nobody listened: it slept, or the connection to its browser was broken.

Above: shared. Below: tab, frames, cdp. What the document kept, we keep: its world has the same name in the browser, so
refs live on (M). What opened, closed or moved meanwhile is asked for.
"""

import contextlib

from pilothouse.browser.document import Dialog
from pilothouse.browser.tab import AUTO_ATTACH, MAX_TITLE, Tab
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

ANSWER_S = 1.5
_STATE = "document.readyState"
_TITLE = "document.title"


async def wake(tab: Tab, timeout: float) -> None:
    """Its session was ended and begins anew with this: the browser tells of every frame and world by itself."""
    tab.frames.lose(tab.channel)
    await meet(tab, timeout)


async def meet(tab: Tab, timeout: float) -> None:
    """Its session has just begun, perhaps in the middle of things."""
    await _take_stock(tab, timeout)
    tab.ask_durable(tab.channel)  # asked while it slept, the browser had no say


async def find_again(tab: Tab) -> None:
    """Its session went on, but what it said was lost: children, worlds, requests that wait for our word."""
    channel = tab.channel
    channel.post("Target.setAutoAttach", **(AUTO_ATTACH | {"autoAttach": False, "waitForDebuggerOnStart": False}))
    channel.post("Target.setAutoAttach", **AUTO_ATTACH)
    # A document that waits for a person's word, perhaps unheard, would go on as soon as Fetch is renewed (M).
    channel.post("Page.stopLoading")
    tab.frames.lose(channel)
    channel.post("Runtime.disable")
    channel.post("Runtime.enable")
    tab.renew_interception()
    try:
        await _take_stock(tab, ANSWER_S)
    except Failure as failure:
        if failure.code == "timeout" and not tab.dialog:
            # Nothing tells of a dialog that opened unheard; a page with one is as mute as this.
            tab.dialog = Dialog("dialog", "(it opened while the connection was broken, or the page hangs)", "")


async def _take_stock(tab: Tab, timeout: float) -> None:
    with contextlib.suppress(ProtocolError):  # a page that is just being replaced tells of itself
        tree = (await tab.channel.send("Page.getFrameTree", timeout=timeout))["frameTree"]
        tab.dialog = None
        tab.take_stock(tree)
        reply = await tab.channel.send("Runtime.evaluate", expression=_STATE, returnByValue=True, timeout=timeout)
        tab.reached(str(reply["result"].get("value", "")))
        if not tab.title:  # nobody tells it of a page that was there before
            reply = await tab.channel.send("Runtime.evaluate", expression=_TITLE, returnByValue=True, timeout=timeout)
            tab.title = str(reply["result"].get("value", ""))[:MAX_TITLE]
