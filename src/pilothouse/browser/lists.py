"""A list that the page has drawn itself: opened, chosen from and closed again, as a person would.

Above: fill. Below: likeness, input, locate, settle. Every press is judged when it comes: what a list offers is not
known before it is open.
"""

import contextlib
from typing import Any

import msgspec

from pilothouse.browser import input as hand
from pilothouse.browser import keys
from pilothouse.browser.likeness import likeliest
from pilothouse.browser.locate import HELD, Element
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import quoted

SHOWN_MS = 300  # in which an open list shows what it has at hand
FETCHED_MS = 3000  # in which it shows what it has asked a server for
MOST_TOLD = 50  # options of a list that lacks the one that was wanted


async def keeper(element: Element) -> tuple[Element, dict[str, Any]]:
    """What opens the list, and what is known of it; `opens` if it says so itself."""
    told = await element.world.call("keepsList", element.local, {"seal": element.seal}, timeout=hand.CHECK_TIMEOUT_S)
    hand.raise_if_unfit(element, told)
    return _other(element, told["ref"]), told


async def choose(tab: Tab, element: Element, told: dict[str, Any], wanted: list[str]) -> list[str]:
    """Choose these options, and of a list that takes several no others; what they are called."""
    if told["open"] and not told["known"]:
        told = await _closed(tab, element)
    if not told["open"]:
        await _press(tab, element)
    now = await _now(element)
    if len(wanted) > 1 and now.get("one"):
        await _close(tab, element)
        raise _single(element, wanted)
    opens_again = bool(now.get("open"))  # one that says so
    chosen: list[str] = []
    is_pressed = False
    for one in wanted:
        if chosen and opens_again and not (await _now(element)).get("open"):
            await _press(tab, element)  # it closes with each choice
        try:
            name, is_pressed = await _choose_one(tab, element, told, one)
        except Failure as failure:
            failure.message += f"; chosen: {quoted(', '.join(chosen), 200)}" if chosen else ""
            raise
        chosen.append(name)
    await _drop_others(tab, element, chosen)
    if len(chosen) == 1 and not is_pressed:
        await _close(tab, element)
    return chosen


async def marked(element: Element) -> list[str] | None:
    """What its options say of themselves to be chosen, if they do."""
    return (await _now(element)).get("marked")


async def _closed(tab: Tab, element: Element) -> dict[str, Any]:
    """Of what is in sight nobody can tell what belongs to an open list that does not name it: what comes when it is
    opened anew does."""
    await _press(tab, element)
    told = await element.world.call("keepsList", element.local, timeout=hand.CHECK_TIMEOUT_S)
    hand.raise_if_unfit(element, told)
    if told["open"]:
        raise Failure(
            "not_found",
            f"{element.ref} is open already, and does not say where its options are",
            suggestions=["close it (press_key Escape) and repeat the call", "or click the option itself"],
        )
    return told


async def _choose_one(tab: Tab, element: Element, told: dict[str, Any], wanted: str) -> tuple[str, bool]:
    """What it is called, and whether it had to be pressed."""
    found = await _look_for(element, wanted, SHOWN_MS if told["writes"] else FETCHED_MS)
    is_written = not found["ref"] and bool(told["writes"])
    old = None
    if is_written:
        old = await _held(element)
        await _write(tab, element, wanted)
        found = await _look_for(element, wanted, FETCHED_MS)
    if failure := _unfit(element, wanted, found, opened=not told["open"]):
        await _close(tab, element)
        if old:
            failure.message += await _put_back(tab, element, old)
        raise failure
    is_pressed = is_written or not found["chosen"]
    if is_pressed:
        await _press(tab, _other(element, found["ref"]))
    return found["name"], is_pressed


async def _look_for(element: Element, wanted: str, wait_ms: int) -> dict[str, Any]:
    found = await element.world.call("choiceIn", element.local, wanted, wait_ms, timeout=hand.CHECK_TIMEOUT_S)
    hand.raise_if_unfit(element, found)
    return found


async def _write(tab: Tab, element: Element, text: str) -> None:
    """Into a field that narrows its list to what is written in it."""
    field = await element.world.call("enter", element.local, {"clear": True}, timeout=hand.CHECK_TIMEOUT_S)
    hand.raise_if_unfit(element, field)
    mark = Mark(tab, element.frame)
    if text:
        await hand.write(tab, *keys.parted(text))
    else:
        await hand.stroke(tab, keys.strokes("Delete"))
    await settle(tab, mark)


async def _held(element: Element) -> dict[str, Any]:
    return await hand.told_after(element.world, "value", element.local, otherwise={"gone": True})


async def _put_back(tab: Tab, element: Element, old: dict[str, Any]) -> str:
    """What was in the field before its list was searched; what it holds now if that could not be done."""
    now = await _held(element)
    if now != old and "value" in old and not now.get("gone") and not tab.hindrance():
        with contextlib.suppress(Failure):
            await _write(tab, element, old["value"])
            await _close(tab, element)
        now = await _held(element)
    if now == old or now.get("gone"):
        return ""
    held = quoted(now["value"], 80) if "value" in now else f"{now['length']} characters"
    return f"; the field now holds {held}"


def _unfit(element: Element, wanted: str, found: dict[str, Any], *, opened: bool) -> Failure | None:
    if not found["ref"]:
        return _missing(element, wanted, found, opened=opened)
    if found["off"]:
        return disabled(wanted)
    return _alike(element, wanted, found["alike"]) if found["alike"] > 1 else None


async def _drop_others(tab: Tab, element: Element, wanted: list[str]) -> None:
    now = await _now(element)
    chosen = now.get("chosen", [])
    if now.get("many"):
        # A list in which they are not is another one, as a menu that the choice has opened.
        its_own = set(wanted) <= {one["name"] for one in chosen}
        for one in chosen:
            if its_own and one["name"] not in wanted:
                await _press(tab, _other(element, one["ref"]))
        await _close(tab, element)


async def _now(element: Element) -> dict[str, Any]:
    return await hand.told_after(element.world, "chosenIn", element.local, otherwise={})


async def _close(tab: Tab, element: Element) -> None:
    """It lies over what comes next."""
    now = await _now(element)
    if now.get("open") and not tab.hindrance():
        mark = Mark(tab, element.frame)
        await hand.stroke(tab, keys.strokes("Escape"))
        await settle(tab, mark)


async def _press(tab: Tab, element: Element) -> None:
    held = HELD.get()
    await hand.click(tab, await held.press(element) if held else element)
    if tab.mark:
        tab.mark.missed = None  # whether it has had its effect, the list tells


def _other(element: Element, local: int) -> Element:
    """Another one of the same document; it was judged by nobody."""
    return msgspec.structs.replace(element, local=local, seal="", spot=None)


def _single(element: Element, wanted: list[str]) -> Failure:
    return Failure(
        "bad_request",
        f"{element.ref} says that it takes one option, and {len(wanted)} were given: nothing was chosen",
        suggestions=["give one: values=[…]", "if it does take several: choose them one by one"],
    )


def _alike(element: Element, wanted: str, count: int) -> Failure:
    """To choose the first of them could be to choose another person of that name."""
    return Failure(
        "ambiguous",
        f"{count} options of {element.ref} are called {wanted!r}: nothing was chosen",
        suggestions=[
            "click it, look at what tells them apart (get_page_state), and click the ref of the one that is meant"
        ],
    )


def disabled(wanted: str) -> Failure:
    return Failure(
        "not_actionable",
        f"the option {wanted!r} is disabled",
        suggestions=["choose another one", "or do first what enables it: another field, a switch, a sign-in"],
    )


def _missing(element: Element, wanted: str, found: dict[str, Any], *, opened: bool) -> Failure:
    if not found["total"]:
        what = "has opened" if opened else "shows"
        return Failure(
            "not_found",
            f"{element.ref} {what} nothing to choose {wanted!r} from",
            suggestions=["click it, look at what opens (get_page_state), and click the option"],
        )
    return Failure(
        "not_found",
        f"{element.ref} shows no option {wanted!r}",
        details={"options": found["options"][:MOST_TOLD], "candidates": likeliest(wanted, found["options"])},
        suggestions=["if the list goes on: click it, scroll in it, and click the option"],
    )
