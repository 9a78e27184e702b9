"""Downloads: files that pages gave to the session."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pilothouse.browser.downloads import Download, Downloads
from pilothouse.browser.session import Session
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import Result, quoted
from pilothouse.tool import Access, TimeoutMs, tool

PATH_CHARS = 2000


class Listed(msgspec.Struct):
    downloads: list[dict[str, Any]]
    total: int


class One(msgspec.Struct):
    name: str
    path: str
    bytes: int
    state: str
    url: str = ""


@tool(Access.READ, live=False, example={})
async def list_downloads(session: Session, limit: Annotated[int, Meta(ge=1, le=200)] = 50) -> Result[Listed]:
    """Files the session's pages gave, newest last."""
    await session.open()
    found = session.context.downloads.all()
    shown = [_plain(one) for one in found[-limit:]]
    for one in found[-limit:]:
        session.watch.tell(one.id)
    text = f"{len(shown)} of {len(found)} downloads" if found else "no downloads"
    listed: list[dict[str, Any]] = [msgspec.to_builtins(one) for one in shown]
    return Result("\n".join([text, *(_line(one) for one in shown)]), Listed(listed, len(found)))


@tool(Access.READ, live=False, example={"timeout_ms": 1000})
async def wait_for_download(session: Session, timeout_ms: TimeoutMs = 30_000) -> Result[One]:
    """Wait until a download ends; also answers one that the last action has just brought."""
    await session.open()
    downloads = session.context.downloads
    with doing(lambda: f"waiting for a download to end; {len(_under_way(downloads))} under way"):
        ended = await downloads.next(timeout_ms / 1000)
    if ended is None:
        under_way = _under_way(downloads)
        raise Failure(
            "timeout",
            f"no download ended in time; {len(under_way)} under way",
            details={"downloads": [msgspec.to_builtins(_plain(one)) for one in under_way]},
            suggestions=["wait again, with a longer timeout_ms" if under_way else "start one first, e.g. by click"],
        )
    session.watch.tell(ended.id)
    one = _plain(ended)
    where = f": {quoted(one.path, PATH_CHARS)}" if one.path else ""
    return Result(f"{quoted(one.name)} {one.state} ({one.bytes} bytes){where}", one)


def _under_way(downloads: Downloads) -> list[Download]:
    return [one for one in downloads.all() if one.state == "inProgress"]


def _plain(one: Download) -> One:
    return One(one.name[:300], one.path, one.received_bytes, one.state, one.url[:500])


def _line(one: One) -> str:
    path = quoted(one.path, PATH_CHARS) if one.path else ""
    return f"{quoted(one.name)} {one.state} ({one.bytes} bytes) {path}".rstrip()
