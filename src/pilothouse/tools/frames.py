"""Frames: pages inside the page. Refs of any frame work without switching; selectors start in the current frame."""

from typing import Any

import msgspec

from pilothouse.browser import frames as rooms
from pilothouse.browser.locate import find
from pilothouse.browser.owners import owner_in
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result, plain_url, quoted
from pilothouse.tool import Access, tool


class Listed(msgspec.Struct):
    frames: list[dict[str, Any]]


class Switched(msgspec.Struct):
    frame: str
    url: str


@tool(Access.READ, live=False, example={})
async def get_frames(tab: Tab) -> Result[Listed]:
    """List the frames of the page."""
    found = list(tab.frames)
    current = tab.here
    listed: list[dict[str, Any]] = [
        {"frame": f"f{index}", "url": one.url, "name": one.name, "current": one is current}
        for index, one in enumerate(found)
    ]
    return Result("\n".join(_line(one) for one in listed), Listed(listed))


def _line(one: dict[str, Any]) -> str:
    name = quoted(one["name"]) if one["name"] else ""
    return f"{'* ' if one['current'] else '  '}{one['frame']} {plain_url(one['url'])} {name}".rstrip()


@tool(Access.VISIT, example={"frame": "f1"})
async def switch_frame(tab: Tab, frame: str) -> Result[Switched]:
    """Work inside a frame: f1 from get_frames, its name, part of its URL, or its iframe element."""
    chosen = _named(tab, frame) or await _held_by(tab, frame)
    if chosen is None:
        raise Failure("not_found", f"there is no frame {frame[:80]!r}", suggestions=["get_frames lists them"])
    tab.frame = None if chosen is tab.frames.main else chosen
    return Result(f"in frame {plain_url(chosen.url)}", Switched(frame, chosen.url))


@tool(Access.VISIT, example={})
async def main_frame(tab: Tab) -> Result[Switched]:
    """Go back to the page itself."""
    tab.frame = None
    return Result(f"in the main frame {plain_url(tab.url)}", Switched("f0", tab.url))


def _named(tab: Tab, wanted: str) -> rooms.Frame | None:
    found = list(tab.frames)
    if wanted.startswith("f") and wanted[1:].isdigit():
        number = int(wanted[1:])
        return found[number] if number < len(found) else None
    return next((one for one in found if one.name == wanted), None) or next(
        (one for one in found if "/" in wanted and wanted in one.url), None
    )


async def _held_by(tab: Tab, target: str) -> rooms.Frame | None:
    """The frame that an iframe element holds."""
    element = await find(tab, target)
    for child in tab.frames.children(element.frame):
        if await owner_in(tab, child, element.frame) == element.local:
            return child
    return None
