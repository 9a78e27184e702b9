"""Observing: the page as text, as a picture, as answers to a question."""

import time
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import capture, files, reading, snapshot
from pilothouse.browser.budget import paged
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Image, Result
from pilothouse.tool import Access, tool

Budget = Annotated[int, Meta(ge=50, le=100_000, description="tokens")]


class State(msgspec.Struct, omit_defaults=True):
    url: str
    title: str
    snapshot: str
    truncated: bool = False


class Hits(msgspec.Struct):
    hits: list[str]
    total: int


class Text(msgspec.Struct):
    text: str
    page: int = 1
    pages: int = 1


class Picture(msgspec.Struct, omit_defaults=True):
    width: int
    height: int
    timestamp: int
    path: str = ""


@tool(Access.READ, core=True, example={})
async def get_page_state(
    tab: Tab,
    scope: Annotated[str | list[str] | None, Meta(description="only inside this target")] = None,
    depth: Annotated[int, Meta(ge=0, le=100)] = 0,
    interactive: Annotated[bool, Meta(description="only what can be acted on")] = False,
    diff: Annotated[bool, Meta(description="only changes since the last one")] = False,
    full: Annotated[bool, Meta(description="not only the viewport")] = False,
    budget: Budget | None = None,
    page: Annotated[int, Meta(ge=1, le=1000)] = 1,
) -> Result[State]:
    """Snapshot of the page with refs (e12) to act on."""
    options = snapshot.Options(scope, full, interactive, depth, budget or tab.terms.snapshot_budget, page, diff)
    seen = await snapshot.take(tab, options)
    text = "(nothing has changed)" if seen.unchanged else seen.text
    tab.told_url = tab.url
    return Result("", State(seen.url, seen.title, text, seen.truncated), page=text)


@tool(Access.READ, core=True, example={"text": "Go"})
async def find(
    tab: Tab,
    text: str = "",
    pattern: Annotated[str, Meta(description="regular expression")] = "",
    role: str = "",
    limit: Annotated[int, Meta(ge=1, le=200)] = 20,
) -> Result[Hits]:
    """Search the whole page; answers matching lines with refs."""
    if not (text or pattern or role):
        raise Failure("bad_request", "find takes text, pattern or role")
    hits, total = snapshot.search(await snapshot.whole(tab), text, pattern, role, limit)
    more = f"\n({total - len(hits)} more)" if total > len(hits) else ""
    return Result(f"{total} found", Hits(hits, total), page="\n".join(hits) + more)


@tool(Access.READ, core=True, example={}, aliases=("read_text",))
async def get_page_text(
    tab: Tab,
    target: str | list[str] | None = None,
    budget: Budget | None = None,
    page: Annotated[int, Meta(ge=1)] = 1,
) -> Result[Text]:
    """The readable text of the page or an element."""
    pages = paged(await reading.read(tab, target), budget or tab.terms.snapshot_budget)
    if page > len(pages):
        raise Failure("not_found", f"the text has {len(pages)} pages")
    more = f"page {page} of {len(pages)}" if len(pages) > 1 else ""
    return Result(more, Text(pages[page - 1], page, len(pages)), page=pages[page - 1] or "(no text)")


@tool(Access.READ, core=True, example={}, aliases=("browser.screenshot",))
async def screenshot(
    tab: Tab,
    target: str | list[str] | None = None,
    full_page: bool = False,
    format: Literal["png", "jpeg", "webp"] = "jpeg",  # noqa: A002 (the seeds' name)
    quality: Annotated[int, Meta(ge=1, le=100)] = 80,
    marks: Annotated[bool, Meta(description="draw refs")] = False,
) -> Result[Picture]:
    """Picture of the viewport, the page or an element."""
    shot = await capture.screenshot(
        tab, target=target, full_page=full_page, image_format=format, quality=quality, marks=marks
    )
    taken = Picture(shot.width, shot.height, int(time.time() * 1000))
    text = f"{shot.width}x{shot.height}" + (f", scaled to {shot.scale:.0%}" if shot.scale < 1 else "")
    if len(shot.data) > capture.MAX_BYTES:
        path = files.keep(tab.folder, f"screenshot.{format}", shot.data)
        taken.path = str(path)
        return Result(f"{text}; {len(shot.data)} bytes, too large to show: kept in {path}", taken)
    return Result(text, taken, images=[Image(shot.data, shot.mime_type)])
