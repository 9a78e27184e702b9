"""Waiting for something on the page, in any of its frames, across navigations.

Above: tools. Below: tab, script, world.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any

import msgspec

from pilothouse.browser.frames import Frame
from pilothouse.browser.locate import locate, reveal
from pilothouse.browser.navigate import IDLE_S
from pilothouse.browser.patterns import address
from pilothouse.browser.refs import is_ref
from pilothouse.browser.script import read
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.errors import Failure

SLICE_S = 1.0  # after which a page is asked anew
_POLL = """async () => {
  const end = performance.now() + %d;
  while (!(await (%s
  ))) { if (performance.now() > end) return false; await new Promise((done) => setTimeout(done, 30)); }
  return true;
}"""


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
    tasks = [asyncio.create_task(one) for one in [*watches, _hindered(tab)]]
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        _drop(tasks)
    if not done:
        raise _too_late(tab, conditions, timeout)
    return done.pop().result()


def _drop(tasks: "Iterable[asyncio.Task[str]]") -> None:
    """Whatever these still find out, nobody asks any more."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _watches(tab: Tab, wanted: Conditions, end: float) -> "Iterator[Coroutine[Any, Any, str]]":
    if wanted.text:
        yield _appears(tab, {"text": wanted.text}, "text")
    for one in [wanted.target] if isinstance(wanted.target, str) else wanted.target:
        if one:
            yield _ref_shows(tab, one) if is_ref(one) else _appears(tab, {"target": one}, "target")
    if wanted.gone:
        yield _ref_goes(tab, wanted.gone) if is_ref(wanted.gone) else _disappears(tab, wanted.gone)
    if wanted.url:
        yield _arrives(tab, wanted.url)
    if wanted.function:
        yield _holds(tab, wanted.function, end)
    if wanted.idle:
        yield _idles(tab)


async def _hindered(tab: Tab) -> str:
    """A page that cannot answer will not bring anything about either."""
    await tab.signal.until(tab.hindrance)
    raise tab.hindrance() or Failure("tab_closed", f"tab {tab.name} is closed")


async def _appears(tab: Tab, conditions: dict[str, str], name: str) -> str:
    """In any frame; one that comes later is watched as soon as it is there."""
    watching: dict[Frame, asyncio.Task[str]] = {}
    try:
        while True:
            frames = set(tab.frames)
            for frame in frames - watching.keys():
                watching[frame] = asyncio.create_task(_shows(tab, frame, conditions, name))
            more = asyncio.create_task(_others(tab, frames))
            done, _ = await asyncio.wait([*watching.values(), more], return_when=asyncio.FIRST_COMPLETED)
            _drop([more])
            for task in done - {more}:
                return task.result()
    finally:
        _drop(watching.values())


async def _others(tab: Tab, frames: set[Frame]) -> str:
    await tab.signal.until(lambda: set(tab.frames) != frames, SLICE_S)
    return ""


async def _shows(tab: Tab, frame: Frame, conditions: dict[str, str], name: str) -> str:
    while not (await _look(tab, frame, conditions)).get("met"):
        with contextlib.suppress(Failure):
            await reveal(frame)  # it may be inside a closed shadow root
    return name


async def _look(tab: Tab, frame: Frame, conditions: dict[str, str]) -> dict[str, Any]:
    """One frame, for a while. A document that is replaced meanwhile has not met anything."""
    try:
        world = await tab.frames.ready(frame, SLICE_S)
        answer = await world.call("waitFor", conditions, SLICE_S * 1000, timeout=SLICE_S + 5)
    except WorldGone:
        return {}
    except Failure as failure:
        if failure.code != "timeout":
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


async def _ref_shows(tab: Tab, ref: str) -> str:
    while True:
        element = await locate(tab, ref)
        with contextlib.suppress(WorldGone):
            if (await element.world.call("waitFor", {"ref": element.local}, SLICE_S * 1000)).get("met"):
                return "target"


async def _ref_goes(tab: Tab, ref: str) -> str:
    while True:
        try:
            element = await locate(tab, ref)
            if (await element.world.call("waitFor", {"goneRef": element.local}, SLICE_S * 1000)).get("met"):
                return "gone"
        except WorldGone:
            return "gone"
        except Failure as failure:
            if failure.code != "stale_ref":
                raise
            return "gone"


async def _arrives(tab: Tab, pattern: str) -> str:
    fits = address(pattern)
    await tab.signal.until(lambda: fits(tab.url) and tab.document.dom_ready)
    return "url"


async def _holds(tab: Tab, function: str, end: float) -> str:
    body = f"({function})()" if "=>" in function or function.lstrip().startswith("function") else function
    while True:
        remaining = max(end - asyncio.get_running_loop().time(), 0.1)
        if await read(tab, _POLL % (SLICE_S * 1000, body), remaining):
            return "function"


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
