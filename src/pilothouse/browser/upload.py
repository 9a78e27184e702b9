"""Give files to a page.

Above: tools. Below: files, courier, locate, cdp.
"""

import asyncio
import mimetypes
import secrets
from pathlib import Path

from pilothouse.browser import courier, files
from pilothouse.browser.input import raise_if_unfit
from pilothouse.browser.locate import HELD, Element, locate
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import quoted

MAX_BYTES = 50_000_000


async def upload(
    tab: Tab, target: str | list[str] | None, paths: list[str], contents: list[tuple[str, bytes]]
) -> tuple[list[str], str]:
    """Into the input that the target names, or into the file chooser the page has opened. Answers the names, and a
    note of what the input does not ask for: people can choose it, too."""
    if not paths and not contents:
        raise Failure("bad_request", "no file is given", suggestions=["give paths, or files with name and data"])
    if sum(len(data) for _, data in contents) > MAX_BYTES:
        raise Failure("over_limit", f"the files are larger than {MAX_BYTES} bytes together")
    element = await locate(tab, target) if target else None
    chosen = [files.allowed(path, tab.terms.upload_roots, tab.terms.private) for path in paths]
    chosen += await asyncio.to_thread(_kept, tab.files, contents)
    mark = Mark(tab, element.frame if element else tab.frames.main)
    asked = ""
    if element:
        asked = await _into_element(tab, element, chosen)
    else:
        await _into_chooser(tab, chosen)
    await settle(tab, mark)
    return [path.name for path in chosen], _unlike(asked, chosen)


def _unlike(accept: str, chosen: list[Path]) -> str:
    """Which of the files an `accept` like `image/*,.pdf` does not name."""
    kinds = [one.strip().lower() for one in accept.split(",") if one.strip()]
    others = [path.name for path in chosen if kinds and not any(_is_like(path.name.lower(), one) for one in kinds)]
    if not others:
        return ""
    return f"the field asks for {quoted(', '.join(kinds), 100)}, and {', '.join(map(quoted, others[:3]))} does not fit"


def _is_like(name: str, kind: str) -> bool:
    if "/" not in kind:
        return name.endswith(kind)
    known = mimetypes.guess_type(name)[0]
    return known is None or kind in ("*/*", known) or (kind.endswith("/*") and known.startswith(kind[:-1]))


def _kept(folder: files.Folder, contents: list[tuple[str, bytes]]) -> list[Path]:
    """A folder for each call, so that a file keeps the name the page is to see."""
    place = f"uploads/{secrets.token_hex(4)}"
    return [folder.keep(name, data, place) for name, data in contents]


async def _into_element(tab: Tab, element: Element, chosen: list[Path]) -> str:
    """What the input asks for."""
    field = await element.world.call("fileField", element.local, {"seal": element.seal})
    raise_if_unfit(element, field)
    if len(chosen) > 1 and not field["multiple"]:
        raise Failure("bad_request", f"{element.ref} takes one file only", suggestions=["give one file"])
    handle = await element.world.handle(field["ref"])
    if tab.elsewhere:
        await courier.give(element.world, handle, chosen, MAX_BYTES)
    else:
        await element.world.channel.send("DOM.setFileInputFiles", files=[str(one) for one in chosen], objectId=handle)
    return field["accept"]


async def _into_chooser(tab: Tab, chosen: list[Path]) -> None:
    chooser = tab.chooser()
    if held := HELD.get():
        held.confirm_chooser(tab)
    if len(chosen) > 1 and not chooser.multiple:
        raise Failure("bad_request", "the page takes one file only")
    frame = tab.frames.get(chooser.frame_id)
    if tab.elsewhere and (frame is None or frame.world is None):
        raise Failure("stale_ref", "the page that asked for a file is gone")
    tab.file_chooser = None
    if tab.elsewhere and frame and frame.world:
        field = await courier.given_node(frame.world, chooser.backend_node_id)
        await courier.give(frame.world, field, chosen, MAX_BYTES)
        return
    await chooser.channel.send(
        "DOM.setFileInputFiles", files=[str(one) for one in chosen], backendNodeId=chooser.backend_node_id
    )
