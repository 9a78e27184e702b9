"""Storage: what the page in the current frame keeps, local or for the session."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import storage
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result, counted
from pilothouse.tool import Access, tool
from pilothouse.tools.bulk import bounded

Area = Literal["local", "session"]
Key = Annotated[str, Meta(max_length=100_000)]
_NAMES = {"type": "area", "kind": "area", "storage": "area", "storage_type": "area"}


class Items(msgspec.Struct, omit_defaults=True):
    origin: str
    total: int
    items: dict[str, str]
    path: str = ""


class Changed(msgspec.Struct):
    origin: str
    count: int


@tool(Access.SENSITIVE, reveals=True, example={}, synonyms=_NAMES)
async def get_storage(tab: Tab, area: Area = "local", key: Key | None = None) -> Result[Items]:
    """Items of the page's local or session storage."""
    origin, items = await storage.read(tab, area, key)
    if key is not None and not items:
        raise _missing(key, area)
    shown = msgspec.json.encode(items).decode()
    page, path, note = bounded(tab, f"{area}-storage.json", shown, reveals=True)
    text = f"{counted(len(items), 'item')} of {origin}" + (f"; {note}" if note else "")
    return Result(text, Items(origin, len(items), {} if path else items, path), page=page)


@tool(Access.SENSITIVE, example={"key": "theme", "value": "dark"}, synonyms=_NAMES)
async def set_storage(
    tab: Tab, key: Key, value: Annotated[str, Meta(max_length=10_000_000)], area: Area = "local"
) -> Result[Changed]:
    """Store an item for the page."""
    origin = await storage.write(tab, area, key, value)
    return Result(f"stored for {origin}", Changed(origin, 1))


@tool(Access.SENSITIVE, example={}, synonyms=_NAMES)
async def clear_storage(tab: Tab, area: Area = "local", key: Key | None = None) -> Result[Changed]:
    """Remove an item, or all, from the page's storage."""
    origin, count = await storage.clear(tab, area, key)
    if key is not None and not count:
        raise _missing(key, area)
    gone = counted(count, "item")
    return Result(
        f"removed {gone} of {origin}" if count else f"nothing was stored for {origin}", Changed(origin, count)
    )


def _missing(key: str, area: str) -> Failure:
    return Failure(
        "not_found", f"{key[:80]!r} is not in the {area} storage", suggestions=["get_storage without key lists all"]
    )
