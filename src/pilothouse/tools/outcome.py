"""What the tools that act have in common: their data, and the snapshot they bring along when asked.

Above: mouse, keyboard, forms, refs, touch; navigation, scroll, tabs, waits, dialogs. Below: browser, result.
"""

from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pilothouse.browser import snapshot
from pilothouse.browser.fill import Filled
from pilothouse.browser.origins import origin_of
from pilothouse.browser.settle import Mark, still_open
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result, plain_url, quoted

Want = Literal["diff", "full"] | None


class Showing(msgspec.Struct, kw_only=True):
    """What a tool answers that moves or waits: the page beside it, if that was asked for."""

    snapshot: str | UnsetType = UNSET


S = TypeVar("S", bound=Showing)
HINT_CHARS = 40


class Invalid(msgspec.Struct, frozen=True):
    field: str
    message: str


class Acted(msgspec.Struct, omit_defaults=True):
    done: str
    note: str = ""
    snapshot: str = ""
    status: int = 0
    invalid: list[Invalid] = []


def called(role: str, name: str, hint: str = "") -> str:
    """As a snapshot has it: `button "Go"`, or `textbox <email>` where nobody has given a name."""
    if name or not hint:
        return f"{role} {quoted(name)}" if name else role
    return f"{role} <{quoted(hint, HINT_CHARS)[1:-1].replace('>', '')}>"


def typed(filled: Filled) -> str:
    """What was done to a field that was given a text."""
    field = called(filled.role, filled.name, filled.hint)
    return f"chose {quoted(filled.chosen)} in {field}" if filled.chosen else f"typed into {field}"


async def acted(tab: Tab, done: str, note: str = "", want: Want = None, *, sends: bool = False) -> Result[Acted]:
    """One line, and what the page looks like now if that was asked for.

    An action that `sends` a form also tells which fields keep it from being sent.
    """
    mark = tab.mark
    seen = await _seen(tab, want) if want and not tab.closed and not tab.dialog else ""  # first: it may take its time
    data = Acted(done, note, seen, _refusal(tab, mark), _invalid(mark) if sends else [])
    notes = [note] if note else []
    if mark and mark.missed:
        notes.append(_missed(mark.missed["by"]))
    if mark and tab.document is not mark.document and tab.url == tab.told_url:
        notes.append("the page was loaded again: its refs are new")
    if data.status:
        notes.append(f"the server answered {data.status}")
    if asked := _still_open(tab, mark):
        notes.append(f"still open: {asked}, see wait_for idle")
    if mark and mark.active:
        notes.append(f"active: {called(mark.active['role'], mark.active['name'])}")
    if data.invalid:
        notes.append(f"not valid: {', '.join(one.field for one in data.invalid)}")
    data.note = "; ".join(notes)
    text = f"{done} ({data.note})" if data.note else done
    lines = [f"{one.field}: {one.message}" for one in data.invalid]
    if seen:
        lines.append(seen)
    return Result(text, data, page="\n".join(lines))


async def shown(tab: Tab, result: Result[S], want: Want) -> Result[S]:
    """The result, and what the page looks like now if that was asked for."""
    if want and not tab.closed and not tab.dialog:
        result.data.snapshot = result.page = await _seen(tab, want)
    return result


def _missed(by: str) -> str:
    if by:
        return f"but the press went to {by}, which lay there by then"
    return (
        "no click came of it, for something else lay there when the button was let go: see whether it has done its work"
    )


def _refusal(tab: Tab, mark: Mark | None) -> int:
    """The status of the page that the action led to, if it is one of failure."""
    if mark is None or tab.document is mark.document:
        return 0
    request = tab.network.by_loader(tab.document.loader_id)
    return request.status if request and request.status >= 400 else 0


def _still_open(tab: Tab, mark: Mark | None) -> str:
    """The first request of the action that has no answer yet; of its address what a person would call it by."""
    found = still_open(mark) if mark else []
    if not found:
        return ""
    url = found[0].url.partition("?")[0].removeprefix(origin_of(tab.url) or "\0")
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{found[0].method[:10]} {plain_url(url, 100)}{more}"


def _invalid(mark: Mark | None) -> list[Invalid]:
    refused = mark.refused if mark else []
    return [Invalid(called(one["role"], one["name"], one["hint"]), one["message"]) for one in refused]


async def _seen(tab: Tab, want: Want) -> str:
    try:
        await tab.ready()
        seen = await snapshot.take(tab, snapshot.Options(diff=want == "diff", budget=tab.terms.snapshot_budget))
    except Failure as failure:
        if failure.code != "tab_closed":
            raise
        return ""  # it closes itself: what was done is done, and an event tells of it
    return "(the page looks as before)" if seen.unchanged else seen.text
