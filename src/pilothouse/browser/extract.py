"""Data out of a page: fields by selector, one record or many, and tables by their headers.

Above: tools. Below: locate, tab, world.
"""

from typing import Any

import msgspec

from pilothouse.browser.locate import find, reveal, stale
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure

TIMEOUT_S = 20.0

Record = dict[str, Any]


class Found(msgspec.Struct, frozen=True):
    """`missing`: fields that no record has."""

    records: list[Record]
    total: int
    missing: list[str]


async def fields(tab: Tab, wanted: dict[str, str], each: str, limit: int) -> Found:
    """From the current frame; closed shadow roots are opened when something is not found without."""
    found = await _asked(tab, wanted, each, limit)
    if (found.missing or not found.records) and await reveal(tab.here):
        found = await _asked(tab, wanted, each, limit)
    return found


async def _asked(tab: Tab, wanted: dict[str, str], each: str, limit: int) -> Found:
    asked: dict[str, Any] = {"fields": [list(one) for one in wanted.items()], "each": each, "limit": limit}
    told = await tab.call("extract", asked, timeout=TIMEOUT_S)
    if error := told.get("error"):
        raise Failure(
            "bad_request",
            f"a selector is wrong: {error}",
            suggestions=["a field reads like h1, .price, a@href, or @id for an attribute of the record itself"],
        )
    records: list[Record] = told["records"]
    missing = [name for name in wanted if all(record[name] is None for record in records)]
    return Found(records, told["total"], missing)


async def table(tab: Tab, target: str | list[str], limit: int) -> Found:
    element = await find(tab, target)
    told = await element.world.call("table", element.local, limit, timeout=TIMEOUT_S)
    if told.get("error") == "none":
        raise Failure("not_found", f"{element.ref} is no table and holds none", suggestions=["use fields with each"])
    if told.get("error"):
        raise stale(element.ref, "the element is gone")
    return Found(told["records"], told["total"], [])
