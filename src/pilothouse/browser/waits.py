"""Waiting for something on the page, in any of its frames, across navigations.

Above: tools. Below: tab, script, world.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from pilothouse.browser.frames import Frame
from pilothouse.browser.navigate import IDLE_S
from pilothouse.browser.patterns import address
from pilothouse.browser.script import evaluate
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.errors import Failure

SLICE_S = 1.0  # after which new frames are looked at too
_POLL = "async () => { while (!(await (%s\n))) await new Promise((done) => setTimeout(done, 30)); return true; }"


class Conditions(msgspec.Struct, frozen=True):
    """Whichever comes first ends the wait."""

    text: str = ""
    gone: str = ""
    target: str | list[str] = ""
    url: str = ""
    function: str = ""
    idle: bool = False


async def wait_for(tab: Tab, conditions: Conditions, timeout: float) -> str:
    """The name of the condition that came true."""
    end = asyncio.get_running_loop().time() + timeout
    watches = list(_watches(tab, conditions, end))
    if not watches:
        raise Failure(
            "bad_request", "nothing to wait for", suggestions=["give text, gone, target, url, function or idle"]
        )
    tasks = [asyncio.create_task(one) for one in watches]
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    if not done:
        raise _too_late(tab, conditions, timeout)
    return done.pop().result()


def _watches(tab: Tab, wanted: Conditions, end: float) -> "list[Coroutine[Any, Any, str]]":
    found: list[Coroutine[Any, Any, str]] = []
    targets = [wanted.target] if isinstance(wanted.target, str) else wanted.target
    if wanted.text:
        found.append(_appears(tab, {"text": wanted.text}, "text"))
    found += [_appears(tab, {"target": one}, "target") for one in targets if one]
    if wanted.gone:
        found.append(_disappears(tab, wanted.gone))
    if wanted.url:
        found.append(_arrives(tab, wanted.url))
    if wanted.function:
        found.append(_holds(tab, wanted.function, end))
    if wanted.idle:
        found.append(_idles(tab))
    return found


async def _appears(tab: Tab, conditions: dict[str, str], name: str) -> str:
    while True:
        looks = [_look(tab, frame, conditions) for frame in tab.frames]
        for look in asyncio.as_completed(looks):
            if (await look).get("met"):
                return name


async def _look(tab: Tab, frame: Frame, conditions: dict[str, str]) -> dict[str, Any]:
    """One frame, for a while. A document that is replaced meanwhile has not met anything."""
    try:
        world = await tab.frames.ready(frame, SLICE_S)
        answer = await world.call("waitFor", conditions, SLICE_S * 1000, timeout=SLICE_S + 5)
    except (WorldGone, Failure) as error:
        tab.check_open()
        if isinstance(error, Failure) and error.code in ("browser_gone", "dialog_open", "tab_crashed"):
            raise
        return {}
    if reason := answer.get("error"):
        raise Failure("bad_request", f"not a target: {reason}")
    return answer


async def _disappears(tab: Tab, gone: str) -> str:
    while True:
        answers = await asyncio.gather(*(_look(tab, frame, {"gone": gone}) for frame in tab.frames))
        if all(answer.get("met") for answer in answers):
            return "gone"


async def _arrives(tab: Tab, pattern: str) -> str:
    fits = address(pattern)
    await tab.signal.until(lambda: fits(tab.url) and tab.document.dom_ready)
    return "url"


async def _holds(tab: Tab, function: str, end: float) -> str:
    body = f"({function})()" if "=>" in function or function.lstrip().startswith("function") else function
    while True:
        remaining = end - asyncio.get_running_loop().time()
        document = tab.document
        met = await evaluate(tab, _POLL % body, target=None, args=[], world="page", timeout=max(remaining, 0.1))
        if met:
            return "function"
        await tab.signal.until(lambda: tab.document is not document and tab.document.dom_ready)  # noqa: B023


async def _idles(tab: Tab) -> str:
    await tab.network.idle(IDLE_S)
    return "idle"


def _too_late(tab: Tab, conditions: Conditions, timeout: float) -> Failure:
    wanted = {name: value for name, value in msgspec.structs.asdict(conditions).items() if value}
    return Failure(
        "timeout",
        f"none of {', '.join(wanted)} came within {timeout:g} s",
        details={"conditions": wanted, "url": tab.url},
        suggestions=["get_page_state shows what is there instead"],
    )
