"""A page on paper, kept as a file of the session.

Above: tools. Below: files, cdp. The browser hands the document out in pieces, so no message grows with it.
"""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.browser import files
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

MAX_BYTES = 200_000_000
PRINT_TIMEOUT_S = 120.0
_NOTHING = "<i></i>"  # an empty template would mean the browser's own
_PIECE = 1_000_000
_PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
_OVERLAP = 20  # a mark may lie across two pieces
# Width and height in inches.
SIZES = {
    "letter": (8.5, 11.0),
    "legal": (8.5, 14.0),
    "tabloid": (11.0, 17.0),
    "a3": (11.69, 16.54),
    "a4": (8.27, 11.69),
    "a5": (5.83, 8.27),
}


class Paper(msgspec.Struct, frozen=True, kw_only=True):
    """How to print; lengths in inches, header and footer as HTML."""

    size: str
    landscape: bool
    scale: float
    background: bool
    pages: str
    margin: float
    header: str
    footer: str


class Printed(msgspec.Struct, frozen=True):
    path: Path
    size: int
    pages: int


async def print_page(tab: Tab, paper: Paper) -> Printed:
    width, height = SIZES[paper.size]
    printing = asyncio.ensure_future(
        tab.channel.send(
            "Page.printToPDF",
            paperWidth=width,
            paperHeight=height,
            landscape=paper.landscape,
            scale=paper.scale,
            printBackground=paper.background,
            pageRanges=paper.pages,
            marginTop=paper.margin,
            marginBottom=paper.margin,
            marginLeft=paper.margin,
            marginRight=paper.margin,
            displayHeaderFooter=bool(paper.header or paper.footer),
            headerTemplate=paper.header or _NOTHING,
            footerTemplate=paper.footer or _NOTHING,
            transferMode="ReturnAsStream",
            timeout=PRINT_TIMEOUT_S,
        )
    )
    try:
        reply = await asyncio.shield(printing)
    except ProtocolError as error:
        raise _refused(error) from None
    except asyncio.CancelledError:
        printing.add_done_callback(lambda done: _throw_away(tab, done))
        raise
    try:
        return await _written(tab, reply["stream"])
    finally:
        tab.channel.post("IO.close", handle=reply["stream"])


def _throw_away(tab: Tab, printing: asyncio.Future[dict[str, Any]]) -> None:
    """Nobody waits for the document any more; the browser keeps it until it is told."""
    if not printing.cancelled() and printing.exception() is None:
        tab.channel.post("IO.close", handle=printing.result()["stream"])


async def _written(tab: Tab, stream: str) -> Printed:
    path, file = await asyncio.to_thread(files.create, tab.files.path, "page.pdf")
    size = pages = 0
    tail = b""
    try:
        with file:
            async for piece in _pieces(tab, stream):
                if size + len(piece) > MAX_BYTES:
                    raise _too_large()
                tab.files.take(len(piece))
                size += len(piece)
                await asyncio.to_thread(file.write, piece)
                pages += len(_PAGE.findall(tail + piece)) - len(_PAGE.findall(tail))
                tail = piece[-_OVERLAP:]
    except BaseException:
        path.unlink(missing_ok=True)
        tab.files.give_back(size)
        raise
    return Printed(path, size, pages)


async def _pieces(tab: Tab, stream: str) -> AsyncIterator[bytes]:
    while True:
        reply = await tab.channel.send("IO.read", handle=stream, size=_PIECE)
        yield base64.b64decode(reply["data"]) if reply.get("base64Encoded") else reply["data"].encode("latin-1")
        if reply["eof"]:
            return


def _too_large() -> Failure:
    return Failure("over_limit", f"the document is larger than {MAX_BYTES} bytes", suggestions=["give pages"])


def _refused(error: ProtocolError) -> Failure:
    if "range" in error.reason.lower():
        return Failure("bad_request", error.reason, suggestions=["pages reads like 1-3,5 and starts at 1"])
    if "margin" in error.reason.lower() or "paper" in error.reason.lower() or "content area" in error.reason.lower():
        return Failure("bad_request", error.reason, suggestions=["give a smaller margin"])
    return Failure("page_error", f"the page could not be printed: {error.reason}")
