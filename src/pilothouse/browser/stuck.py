"""Pages that do not answer: why, and how to free them.

Above: gate, navigate, browser. Below: tab, cdp.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

END_S = 5.0
STUCK_S = 1.0  # a page that is to be left and says nothing for so long is broken off
KNOCK_S = 0.1  # so long an answer counts: a page may begin to hang at any time

Answer = asyncio.Future[dict[str, Any]]


def knock(tab: Tab) -> bool:
    """Ask ahead whether the page answers: when somebody leaves it a moment later, that is known. False if somebody has
    just knocked, or nobody would answer."""
    if _has_knocked(tab) or not _may_answer(tab):
        return False
    answers = {channel: _asked(channel, STUCK_S) for channel in tab.page_channels()}
    tab.knocked = (asyncio.get_running_loop().time(), answers)
    return True


async def open_up(tab: Tab) -> None:
    """Free a page that is about to be left; if somebody has knocked, the answer is there or on its way."""
    answers = tab.knocked[1] if _has_knocked(tab) else {}
    tab.knocked = (0.0, {})
    await free(tab, STUCK_S, answers)


def _has_knocked(tab: Tab) -> bool:
    return asyncio.get_running_loop().time() - tab.knocked[0] <= KNOCK_S


async def free(tab: Tab, patience_s: float, answers: Mapping[Channel, Answer] = {}) -> bool:
    """Break off script that keeps a process of the tab from answering; False when all of them answer.

    `answers`: of those who were asked already.
    """
    if not _may_answer(tab):
        return False
    asked = [(one, answers.get(one) or _asked(one, patience_s)) for one in tab.page_channels()]
    return any(await asyncio.gather(*(_freed(channel, answer) for channel, answer in asked)))


def _may_answer(tab: Tab) -> bool:
    """From the request for a new document until it comes, Chrome holds back what we say to the page (M): its silence
    proves nothing then, and what we say would reach the next page."""
    return not (tab.route.bound_for or tab.hindrance())


async def excuse(tab: Tab, patience_s: float) -> str:
    """Why the page has not answered in time, if that is known. Script that does not end is broken off."""
    if tab.route.bound_for:
        return f"the tab waits for {tab.route.bound_for[:300]}, whose server has not answered yet"
    return "the page's script did not answer and was broken off" if await free(tab, patience_s) else ""


async def end_page(tab: Tab, channel: Channel) -> None:
    """Take the process from under a page or a frame, and leave the tab empty rather than bring the page back."""
    channel.post("Page.crash", steadfast=True, timeout=END_S)
    if channel is not tab.channel or not await tab.signal.until(lambda: tab.crashed or tab.closed, END_S):
        return
    with contextlib.suppress(Failure, ProtocolError):  # then the next call finds a crashed tab, as ever
        await tab.channel.send("Page.navigate", url="about:blank", timeout=END_S)


def _asked(channel: Channel, patience_s: float) -> Answer:
    return channel.post("Runtime.evaluate", expression="0", timeout=patience_s)


async def _freed(channel: Channel, answer: Answer) -> bool:
    try:
        await answer
    except ProtocolError:
        return False
    except Failure as failure:
        if failure.code != "timeout":
            return False
        channel.post("Runtime.terminateExecution", steadfast=True, timeout=2)
        return True
    return False
