"""Waiting for something on the page, in any of its frames, across navigations.

Above: tools. Below: tab, script, world.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

import msgspec

from pilothouse.browser.frames import Frame
from pilothouse.browser.guesses import could_guess, honest, text_is_shown
from pilothouse.browser.locate import Element, find, reveal
from pilothouse.browser.navigate import IDLE_S
from pilothouse.browser.patterns import address
from pilothouse.browser.refs import is_ref
from pilothouse.browser.script import read
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import WorldGone
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import counted, quoted

SLICE_S = 1.0  # after which a page is asked anew
UNSEEN_S = 0.3  # an interval: what a page shows is masked here, so no page can tell when
RESERVED = re.compile(r"\s*(text|label|role|xpath)=")
PAUSE_S = 0.05  # before a document that could not answer is asked anew, unless something happens first
WORDS_CHARS = 60
_AWAY = ("hidden", "detached")
_POLL = """async () => {
  const end = performance.now() + %d;
  const value = (one) => typeof one === "function" ? one() : one;
  const timerless = globalThis.matchMedia?.("(scripting: none)")?.matches;  // a sandbox forbids all script
  while (!(await value(%s
  ))) {
    if (performance.now() > end) return false;
    if (timerless) return null;
    await new Promise((done) => setTimeout(done, 30));
  }
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
    element: str | list[str] = ""  # to come into a state
    state: str = "visible"


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
        with doing(lambda: f"waiting for {_words(tab, conditions)}"):
            done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        _drop(tasks)
    if not done:
        raise _too_late(tab, conditions, timeout)
    return done.pop().result()


def _drop(tasks: "Iterable[asyncio.Task[Any]]") -> None:
    """Whatever these still find out, nobody asks any more."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _watches(tab: Tab, wanted: Conditions, end: float) -> "Iterator[Coroutine[Any, Any, str]]":
    secrets = bool(tab.terms.secrets and tab.terms.secrets.some())
    if wanted.text:
        yield _is_told(tab, wanted.text) if secrets else _appears(tab, {"text": wanted.text}, "text")
    for one in [wanted.target] if isinstance(wanted.target, str) else wanted.target:
        if one:
            yield _as(_target_comes(tab, one), "target")
    if wanted.element:
        yield _comes_into(tab, wanted.element, wanted.state)
    gone = wanted.gone
    if gone and not is_ref(gone) and secrets:
        yield _is_untold(tab, gone)
    elif gone:
        yield _as(_ref_leaves(tab, gone, "hidden") if is_ref(gone) else _leaves(tab, {"gone": gone}), "gone")
    if wanted.url:
        yield _arrives(tab, wanted.url)
    if wanted.function:
        yield _holds(tab, wanted.function, end)
    if wanted.idle:
        yield _idles(tab)


async def _as(watch: "Coroutine[Any, Any, object]", name: str) -> str:
    await watch
    return name


async def _hindered(tab: Tab) -> str:
    """A page that cannot answer will not bring anything about either."""
    await tab.signal.until(tab.hindrance)
    raise tab.hindrance() or Failure("tab_closed", f"tab {tab.name} is closed")


async def _appears(tab: Tab, conditions: dict[str, str], name: str) -> str:
    """In any frame; one that comes later is watched as soon as it is there."""
    watching: dict[Frame, asyncio.Task[bool]] = {}
    try:
        while True:
            frames = set(tab.frames)
            _drop(watching.pop(frame) for frame in watching.keys() - frames)
            for frame in frames - watching.keys():
                watching[frame] = asyncio.create_task(_shows(tab, frame, conditions))
            more = asyncio.create_task(_others(tab, frames))
            done, _ = await asyncio.wait([*watching.values(), more], return_when=asyncio.FIRST_COMPLETED)
            _drop([more])
            if any(task.result() for task in done):
                return name
    finally:
        _drop(watching.values())


async def _target_comes(tab: Tab, target: str) -> str:
    if is_ref(target):
        return await _ref_comes(tab, target, "visible")
    if could_guess(tab, target):
        return await _is_found(tab, target, "visible")
    return await _appears(tab, {"target": target}, "")


async def _is_told(tab: Tab, text: str) -> str:
    """Where there are secrets, a text counts as shown only where its reader would see it, unmasked."""
    while True:
        await _appears(tab, {"text": text}, "text")
        if await _in_any(tab, lambda frame: text_is_shown(tab, frame, text), unsure=False):
            return "text"
        await asyncio.sleep(UNSEEN_S)


async def _is_untold(tab: Tab, gone: str) -> str:
    """The same the other way round: what is not shown is gone, as a text and as a target."""
    sure = RESERVED.match(gone)
    while True:
        there = not sure and await _in_any(tab, lambda frame: text_is_shown(tab, frame, gone), unsure=True)
        if not there and not (await _found(tab, gone, unsure=True, lenient=not sure))[1]:
            return "gone"
        await asyncio.sleep(UNSEEN_S)


async def _is_found(tab: Tab, target: str, state: str) -> str:
    """As `_appears` and `_leaves` do, by what is shown."""
    while True:
        there, seen = await _found(tab, target, unsure=state in _AWAY)
        if {"visible": seen, "hidden": not seen, "attached": there, "detached": not there}[state]:
            return state
        await asyncio.sleep(UNSEEN_S)


async def _found(tab: Tab, target: str, *, unsure: bool, lenient: bool = False) -> tuple[bool, bool]:
    """Whether a target is anywhere, and whether it can be seen there. `unsure`: what counts of a frame that does not
    answer. `lenient`: it may be no target at all, but a text."""
    there = False

    async def sees(frame: Frame) -> bool:
        nonlocal there
        world = await tab.frames.ready(frame, SLICE_S)
        found = await world.call("locate", target, timeout=SLICE_S + 5)
        if (reason := found.get("error")) and not lenient:
            raise Failure("bad_request", f"not a target: {reason}")
        matches = await honest(tab, world, target, found["matches"])
        there = there or bool(matches)
        if not matches:
            with contextlib.suppress(Failure):
                await reveal(frame)  # it may be inside a closed shadow root; the next look sees it there
        return any(seen for one, seen in zip(found["matches"], found["visible"], strict=True) if one in matches)

    seen = await _in_any(tab, sees, unsure=unsure)
    return there or seen, seen


async def _in_any(tab: Tab, holds: "Callable[[Frame], Coroutine[Any, Any, bool]]", *, unsure: bool) -> bool:
    """`unsure`: what counts of a frame that does not answer, and stays."""
    for frame in list(tab.frames):
        try:
            if await holds(frame):
                return True
        except (WorldGone, Failure) as failure:
            if not _passing(tab, failure):
                raise
            if unsure and _stays(tab, frame):
                return True
    return False


async def _others(tab: Tab, frames: set[Frame]) -> bool:
    await tab.signal.until(lambda: set(tab.frames) != frames, SLICE_S)
    return False


async def _shows(tab: Tab, frame: Frame, conditions: dict[str, str]) -> bool:
    """False when the frame left the tab before it showed anything."""
    while _stays(tab, frame):
        if (await _look(tab, frame, conditions)).get("met"):
            return True
        with contextlib.suppress(Failure):
            await reveal(frame)  # it may be inside a closed shadow root
    return False


def _stays(tab: Tab, frame: Frame) -> bool:
    return tab.frames.get(frame.id) is frame


async def _look(tab: Tab, frame: Frame, conditions: dict[str, str]) -> dict[str, Any]:
    """One frame, for a while. A document that is replaced meanwhile has not met anything."""
    try:
        world = await tab.frames.ready(frame, SLICE_S)
        answer = await world.call("waitFor", conditions, SLICE_S * 1000, timeout=SLICE_S + 5)
    except (WorldGone, Failure) as failure:
        if not _passing(tab, failure):
            raise
        await _pause(tab, lambda: not _stays(tab, frame))
        return {}
    if reason := answer.get("error"):
        raise Failure("bad_request", f"not a target: {reason}")
    return answer


def _passing(tab: Tab, failure: WorldGone | Failure) -> bool:
    """Only this document, or the process of its frame, is gone or slow; the tab goes on."""
    return isinstance(failure, WorldGone) or (failure.code in ("timeout", "tab_closed") and not tab.hindrance())


async def _pause(tab: Tab, over: Callable[[], object] = lambda: False) -> None:
    """Whoever could not get an answer lets others go on before the next try: this never returns at once."""
    await asyncio.sleep(0)
    await tab.signal.until(over, PAUSE_S)


async def _leaves(tab: Tab, conditions: dict[str, str]) -> None:
    while not all(await asyncio.gather(*(_lacks(tab, frame, conditions) for frame in tab.frames))):
        pass  # each of them has waited


async def _lacks(tab: Tab, frame: Frame, conditions: dict[str, str]) -> bool:
    """A frame that left the tab has taken with it whatever it showed."""
    return bool((await _look(tab, frame, conditions)).get("met")) or not _stays(tab, frame)


async def _comes_into(tab: Tab, target: str | list[str], state: str) -> str:
    """Of alternatives, one has to be there, or none of them any more."""
    targets = [target] if isinstance(target, str) else target
    if state in _AWAY:
        for one in targets:
            if is_ref(one):
                await _ref_leaves(tab, one, state)
            elif could_guess(tab, one):
                await _is_found(tab, one, state)
            else:
                await _leaves(tab, {"query": one, "state": state})
        return state
    coming = [
        asyncio.create_task(
            _ref_comes(tab, one, state)
            if is_ref(one)
            else _is_found(tab, one, state)
            if could_guess(tab, one)
            else _appears(tab, {"query": one, "state": state}, state)
        )
        for one in targets
    ]
    try:
        done, _ = await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        _drop(coming)


async def _ref_comes(tab: Tab, ref: str, state: str) -> str:
    while True:
        element = await find(tab, ref)
        with contextlib.suppress(WorldGone):
            if await _ref_is(element, state):
                return state
            continue
        await _pause(tab)


async def _ref_leaves(tab: Tab, ref: str, state: str) -> None:
    while True:
        try:
            if await _ref_is(await find(tab, ref), state):
                return
        except WorldGone:
            return
        except Failure as failure:
            if failure.code != "stale_ref" and not (failure.code == "tab_closed" and _passing(tab, failure)):
                raise
            return


async def _ref_is(element: Element, state: str) -> bool:
    conditions = {"stateRef": element.local, "state": state}
    return bool((await element.world.call("waitFor", conditions, SLICE_S * 1000)).get("met"))


async def _arrives(tab: Tab, pattern: str) -> str:
    fits = address(pattern)
    await tab.signal.until(lambda: fits(tab.terms.redact_text(tab.url)) and tab.document.dom_ready)
    return "url"


async def _holds(tab: Tab, function: str, end: float) -> str:
    while True:
        remaining = max(end - asyncio.get_running_loop().time(), 0.1)
        try:
            held = await read(tab, _POLL % (SLICE_S * 1000, function.rstrip().rstrip(";")), remaining)
        except Failure as failure:
            if failure.code == "page_error":  # a line of it would be one of ours
                failure.suggestions = [
                    "correct the function; what may not be there yet wants `?.`: document.querySelector('#x')?.value",
                    "or wait_for text or target",
                ]
            raise
        if held:
            return "function"
        if held is None:  # the document left while it was asked, or cannot wait
            await _pause(tab)


async def _idles(tab: Tab) -> str:
    await tab.network.idle(IDLE_S)
    return "idle"


def _words(tab: Tab, wanted: Conditions) -> str:
    """What its caller gave, for who hears of it while it waits."""
    named = {"text": wanted.text, "target": wanted.target, "end of": wanted.gone, "address": wanted.url}
    if wanted.element:
        named[f"{wanted.state} element"] = wanted.element
    shown = {name: tab.terms.redact_text(_listed(value)) for name, value in named.items() if value}
    given = [f"{name} {quoted(value, WORDS_CHARS)}" for name, value in shown.items()]
    given += ["a function that holds"] if wanted.function else []
    if wanted.idle:
        given.append(f"an idle network, {counted(len(tab.network.in_flight()), 'request')} open")
    return " or ".join(given)


def _listed(target: str | list[str]) -> str:
    return target if isinstance(target, str) else " | ".join(target)


def _too_late(tab: Tab, conditions: Conditions, timeout: float) -> Failure:
    wanted = {name: value for name, value in msgspec.structs.asdict(conditions).items() if value}
    if not conditions.element:
        del wanted["state"]
    return Failure(
        "timeout",
        f"{' or '.join(f'{name}={value!r}' for name, value in wanted.items())[:200]} did not come within {timeout:g} s",
        details={"conditions": wanted, "url": tab.url},
        suggestions=["get_page_state shows what is there instead"],
    )
