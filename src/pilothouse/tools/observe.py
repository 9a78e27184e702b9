"""Observing: the page as text, as a picture, as answers to a question."""

import time
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import axtree, capture, extract, markup, reading, search, snapshot
from pilothouse.browser.budget import paged
from pilothouse.browser.tab import Tab
from pilothouse.browser.unshown import OPEN_IT, openers
from pilothouse.errors import Failure
from pilothouse.result import Image, Result, counted
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.bulk import bounded

Budget = Annotated[int, Meta(ge=50, le=100_000, description="tokens")]


class State(msgspec.Struct, omit_defaults=True):
    url: str
    title: str
    snapshot: str
    truncated: bool = False
    tabs: list[str] = []  # where there are several


class Hits(msgspec.Struct):
    hits: list[str]
    total: int


class Text(msgspec.Struct):
    text: str
    page: int = 1
    pages: int = 1


class Tree(msgspec.Struct, omit_defaults=True):
    nodes: list[dict[str, Any]]
    total: int
    truncated: bool = False


class Markup(msgspec.Struct, omit_defaults=True):
    """Of an element, or (`outline`, `total`) of the whole document."""

    ref: str = ""
    tag: str = ""
    ancestors: list[str] = []
    before: list[str] = []
    after: list[str] = []
    html: str = ""
    outline: str = ""
    total: int = 0
    truncated: bool = False


class Records(msgspec.Struct, omit_defaults=True):
    records: list[dict[str, Any]]
    total: int
    missing: list[str] = []
    path: str = ""


class Picture(msgspec.Struct, omit_defaults=True):
    width: int
    height: int
    timestamp: int = 0  # always there; no reader of the list needs to know
    path: str = ""


@tool(Access.READ, core=True, shows=True, example={})
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
    tab.place_told()
    state = State(seen.url, seen.title, text, seen.truncated, tab.beside if len(tab.beside) > 1 else [])
    if seen.unchanged:
        return Result(text, state)
    return Result(f"{tab.name} of the tabs {', '.join(state.tabs[:20])}" if state.tabs else "", state, page=text)


@tool(Access.READ, core=True, shows=True, example={"text": "Go"})
async def find(
    tab: Tab,
    text: str = "",
    pattern: Annotated[str, Meta(description="regex")] = "",
    role: str = "",
    limit: Annotated[int, Meta(ge=1, le=200)] = 20,
) -> Result[Hits]:
    """Search the whole page; answers lines with refs."""
    if not (text or pattern or role):
        raise Failure("bad_request", "find takes text, pattern or role")
    whole = await snapshot.whole(tab)
    hits, total = search.search(whole.lines, text, pattern, role, limit, whole.long)
    if not total:
        hidden = await _hidden(tab, text) if text and not (role or pattern) else None
        return hidden or _nothing(whole, text, role)
    more = f"\n({total - len(hits)} more)" if total > len(hits) else ""
    return Result(f"{total} found", Hits(hits, total), page="\n".join(hits) + more)


async def _hidden(tab: Tab, text: str) -> Result[Hits] | None:
    world = tab.here.world
    opening = await openers(tab, world, f"text={text}") if world else None
    if opening is None:
        return None
    step = "what shows it is below" if opening else OPEN_IT
    return Result(f"0 found; it is in the page, but hidden: {step}", Hits([], 0), page="\n".join(opening))


def _nothing(whole: snapshot.Whole, text: str, role: str) -> Result[Hits]:
    if role and not search.search(whole.lines, "", "", role, 1)[1]:
        roles = ", ".join(search.roles(whole.lines, role))
        return Result("0 found; roles on this page are below", Hits([], 0), page=roles)
    if not all(one.is_all for one in whole.long.values()):
        return Result("0 found; the ends of very long texts were not searched: get_page_text reads them", Hits([], 0))
    if near := search.nearest(whole.lines, text, whole.long) if text else []:
        return Result("0 found; the nearest are below", Hits([], 0), page="\n".join(near))
    return Result("0 found; try a shorter text, or get_page_state", Hits([], 0))


@tool(Access.READ, core=True, shows=True, example={}, aliases=("read_text",))
async def get_page_text(
    tab: Tab,
    target: str | list[str] | None = None,
    budget: Budget | None = None,
    page: Annotated[int, Meta(ge=1)] = 1,
) -> Result[Text]:
    """Readable text of the page or element."""
    pages = paged(await reading.read(tab, target), budget or tab.terms.snapshot_budget)
    if page > len(pages):
        raise Failure("not_found", f"the text has {counted(len(pages), 'page')}")
    text = pages[page - 1]
    told = f"page {page} of {len(pages)}" if len(pages) > 1 else "" if text else "(no text)"
    return Result(told, Text(text, page, len(pages)), page=text)


@tool(Access.READ, core=True, example={}, aliases=("browser.screenshot",))
async def screenshot(
    tab: Tab,
    target: str | list[str] | None = None,
    full_page: bool = False,
    format: Literal["png", "jpeg", "webp"] = "jpeg",  # noqa: A002 (the seeds' name)
    quality: Annotated[int, Meta(ge=1, le=100)] = 80,
    marks: Annotated[bool, Meta(description="draw refs")] = False,
) -> Result[Picture]:
    """Picture of the viewport, page or element."""
    shot = await capture.screenshot(
        tab, target=target, full_page=full_page, image_format=format, quality=quality, marks=marks
    )
    return _shown(tab, shot, format)


@tool(Access.READ, example={"target": "h1"})
async def screenshot_element(
    tab: Tab,
    target: Target,
    format: Literal["png", "jpeg", "webp"] = "jpeg",  # noqa: A002 (the seeds' name)
    quality: Annotated[int, Meta(ge=1, le=100)] = 80,
) -> Result[Picture]:
    """Picture of an element."""
    shot = await capture.screenshot(
        tab, target=target, full_page=False, image_format=format, quality=quality, marks=False
    )
    return _shown(tab, shot, format)


def _shown(tab: Tab, shot: capture.Picture, image_format: str) -> Result[Picture]:
    taken = Picture(shot.width, shot.height, int(time.time() * 1000))
    text = f"{shot.width}x{shot.height}" + (f", scaled to {shot.scale:.0%}" if shot.scale < 1 else "")
    if len(shot.data) > capture.MAX_BYTES:
        path = tab.files.keep(f"screenshot.{image_format}", shot.data)
        taken.path = str(path)
        return Result(f"{text}; {len(shot.data)} bytes, too large to show: kept in {path}", taken)
    return Result(text, taken, images=[Image(shot.data, shot.mime_type)])


@tool(Access.READ, shows=True, example={}, synonyms={"maxNodes": "max_nodes", "limit": "max_nodes"})
async def get_ax_tree(tab: Tab, max_nodes: Annotated[int, Meta(ge=1, le=2000)] = 100) -> Result[Tree]:
    """Chrome's accessibility tree of the frame, with refs."""
    tree = await axtree.read(tab, max_nodes)
    nodes: list[dict[str, Any]] = [msgspec.to_builtins(one) for one in tree.nodes]
    more = tree.total - len(nodes)
    text = counted(len(nodes), "node") + (f"; {more} more: raise max_nodes" if more else "")
    return Result(text, Tree(nodes, tree.total, more > 0), page="\n".join(one.line() for one in tree.nodes))


@tool(
    Access.READ,
    example={"target": "h1"},
    aliases=("browser.domSnapshot",),
    synonyms={"maxNodes": "max_nodes"},
)
async def get_dom_context(
    tab: Tab,
    target: str | list[str] | None = None,
    max_nodes: Annotated[int, Meta(ge=1, le=5000)] = 200,
    max_chars: Annotated[int, Meta(ge=100, le=100_000)] = 4000,
) -> Result[Markup]:
    """HTML of an element with ancestors and neighbours; without target an outline of the DOM."""
    if target:
        ref, told = await markup.around(tab, target, max_chars)
        data = Markup(ref, told["tag"], told["ancestors"], told["before"], told["after"], told["html"])
        data.truncated = told["cut"]
        return Result(f"cut at {max_chars} characters" if data.truncated else "", data, page=_around(data))
    lines, total = await markup.outline(tab, max_nodes)
    more = total - len(lines)
    text = f"{len(lines)} of {total} elements: raise max_nodes" if more else counted(total, "element")
    page = "\n".join(lines)
    return Result(text, Markup(outline=page, total=total, truncated=more > 0), page=page)


def _around(data: Markup) -> str:
    """Ancestors step in; the element stands between its neighbours, then its HTML."""
    lines = ["  " * depth + one for depth, one in enumerate(data.ancestors)]
    inner = "  " * len(data.ancestors)
    lines += [inner + one for one in data.before] + [f"{inner}{data.tag} {data.ref} <- this"]
    return "\n".join([*lines, *(inner + one for one in data.after), "", data.html])


@tool(Access.READ, example={"fields": {"title": "h1"}}, synonyms={"schema": "fields", "selectors": "fields"})
async def extract_data(
    tab: Tab,
    fields: Annotated[dict[str, str], Meta(max_length=100, description="name: selector or selector@attribute")] = {},
    each: Annotated[str, Meta(max_length=2000, description="selector of repeated records")] = "",
    table: Annotated[str | list[str] | None, Meta(description="target; rows by header")] = None,
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100,
) -> Result[Records]:
    """Fields or a table as JSON."""
    if bool(fields) == bool(table) or (each and not fields):
        raise Failure("bad_request", "give either fields (and each) or table")
    found = await (extract.table(tab, table, limit) if table else extract.fields(tab, fields, each, limit))
    page, path, note = bounded(tab, "data.json", msgspec.json.encode(found.records).decode())
    text = f"{len(found.records)} of {found.total} records" if table or each else ""
    text += f"; nowhere found: {', '.join(found.missing)}" if found.missing else ""
    data = Records([] if path else found.records, found.total, found.missing, path)
    return Result("; ".join(part for part in (text.removeprefix("; "), note) if part), data, page=page)
