"""What the tools that act have in common: their data, and the snapshot they bring along when asked.

Above: mouse, keyboard, forms. Below: browser, result.
"""

from typing import Literal

import msgspec

from pilothouse.browser import snapshot
from pilothouse.browser.tab import Tab
from pilothouse.result import Result

Want = Literal["diff", "full"] | None


class Acted(msgspec.Struct, omit_defaults=True):
    done: str
    note: str = ""
    snapshot: str = ""


def called(role: str, name: str) -> str:
    return f'{role} "{name}"' if name else role


async def acted(tab: Tab, done: str, note: str = "", want: Want = None) -> Result[Acted]:
    """One line, and what the page looks like now if that was asked for."""
    text = f"{done} ({note})" if note else done
    if want is None or tab.closed or tab.dialog:
        return Result(text, Acted(done, note))
    await tab.ready()
    seen = await snapshot.take(tab, snapshot.Options(diff=want == "diff", budget=tab.terms.snapshot_budget))
    page = "(the page looks as before)" if seen.unchanged else seen.text
    return Result(text, Acted(done, note, page), page=page)


def newer(number: int, time_ms: int, since: int) -> bool:
    """`since` is a number of our own counting, or, being much larger, a time."""
    return time_ms >= since if since > 1_000_000_000_000 else number > since
