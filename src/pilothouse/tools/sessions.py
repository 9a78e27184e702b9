"""Sessions: browsers of one's own, side by side."""

import time
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import state
from pilothouse.browser.session import Session
from pilothouse.browser.sessions import OwnSessions
from pilothouse.errors import Failure
from pilothouse.profiles import Size
from pilothouse.result import Result, counted, plain_url
from pilothouse.tool import Access, TimeoutMs, tool


class Opened(msgspec.Struct, omit_defaults=True):
    session: str
    limits: str = ""  # what the policy cannot hold in this kind of browser


class Listed(msgspec.Struct):
    sessions: list[dict[str, Any]]


class Closed(msgspec.Struct):
    closed: str


class Carried(msgspec.Struct, omit_defaults=True):
    name: str
    cookies: int
    origins: list[str]
    skipped: list[str] = []


@tool(
    Access.VISIT,
    core=True,
    sensitive=("storage_state", "proxy"),
    alone="the steps of a batch share one session: call open_session first, then batch with its session",
    example={"viewport": {"width": 800, "height": 600}},
)
async def open_session(
    sessions: OwnSessions,
    browser: Literal["isolated", "profile", "extension", "remote"] | None = None,
    profile: Annotated[str, Meta(max_length=200)] = "",
    viewport: Size | None = None,
    user_agent: Annotated[str, Meta(max_length=1000)] = "",
    timeout_ms: TimeoutMs | None = None,
    mode: Literal["auto", "ask", "readonly"] | None = None,
    headless: bool | None = None,
    allowed_domains: Annotated[list[Annotated[str, Meta(max_length=300)]], Meta(max_length=500)] = [],
    proxy: Annotated[str, Meta(max_length=2000)] = "",
    storage_state: Annotated[str, Meta(max_length=100)] = "",
    endpoint: Annotated[str, Meta(max_length=100)] = "",
) -> Result[Opened]:
    """Open a separate browser session (own cookies, tabs)."""
    kind = browser or ("remote" if endpoint else "profile" if profile else sessions.defaults.browser)
    if endpoint and (kind != "remote" or profile):
        hint = 'leave out `profile`, and `browser` unless it is "remote"'
        raise Failure("bad_request", "an endpoint is a browser of its own", suggestions=[hint])
    defaults = await sessions.options_for(kind, endpoint or profile, headless=headless)
    if kind == "extension" and proxy:
        raise Failure("unsupported", "the person's own Chrome keeps its own proxy", suggestions=["leave proxy out"])
    options = msgspec.structs.replace(
        defaults,
        viewport=(viewport.width, viewport.height) if viewport else defaults.viewport,
        user_agent=user_agent,
        timeout_ms=timeout_ms or defaults.timeout_ms,
        mode=mode or defaults.mode,
        allowed_domains=tuple(allowed_domains),
        proxy=proxy,
    )
    session = await sessions.open(options)
    if storage_state:
        try:
            await state.load(session, storage_state, asked=False)
        except BaseException:
            await sessions.close(session)
            raise
    limits = session.limits
    return Result(f"opened session {session.id}" + (f"; {limits}" if limits else ""), Opened(session.id, limits))


@tool(Access.READ, example={})
async def list_sessions(sessions: OwnSessions) -> Result[Listed]:
    """List your open sessions."""
    now, own = time.time(), sessions.all()
    listed: list[dict[str, Any]] = [
        {
            "session": one.id,
            "browser": one.options.browser,
            "profile": one.options.profile,
            "mode": one.options.mode,
            "allowed_domains": list(one.options.allowed_domains),
            "tabs": [tab.url for tab in one.tabs],
            "age_s": int(now - one.opened_at),
            **({"limits": one.limits} if one.limits else {}),
        }
        for one in own
    ]
    lines = [f"{one.id} {_told(one)}, {_age(now - one.opened_at)} old{_where(one)}" for one in own]
    return Result("\n".join(lines) or "no session is open", Listed(listed))


@tool(Access.VISIT, example={})
async def close_session(sessions: OwnSessions, session: str = "") -> Result[Closed]:
    """Close a session with all its tabs."""
    own = sessions.all()
    if not session and len(own) != 1:
        raise Failure(
            "bad_request", f"{len(own)} sessions are open: say which one", suggestions=["list_sessions shows them"]
        )
    chosen = sessions.get(session) if session else own[0]
    await sessions.close(chosen)
    return Result(f"closed session {chosen.id}", Closed(chosen.id))


async def _saved(session: Session, args: Any) -> list[str]:
    return await state.domains(session)


async def _loaded(session: Session, args: Any) -> list[str]:
    return await state.domains(session, args.name)


@tool(Access.SENSITIVE, live=False, places=_saved, example={"name": "shop"})
async def save_state(session: Session, name: Annotated[str, Meta(max_length=100)]) -> Result[Carried]:
    """Save the session's cookies and local storage under a name, encrypted."""
    kept = await state.save(session, name)
    text = f"saved {_kept(kept)}"
    return Result(f"{text}; not session storage, not IndexedDB{_skipped(kept)}", _carried(name, kept))


@tool(Access.SENSITIVE, live=False, places=_loaded, example={"name": "shop"})
async def load_state(session: Session, name: Annotated[str, Meta(max_length=100)]) -> Result[Carried]:
    """Bring saved cookies and local storage into the session."""
    kept = await state.load(session, name)
    text = f"loaded {_kept(kept)}"
    return Result(f"{text}; reload pages that are open{_skipped(kept)}", _carried(name, kept))


def _kept(kept: state.Kept) -> str:
    return f"{counted(kept.cookies, 'cookie')} and the local storage of {counted(len(kept.origins), 'origin')}"


def _carried(name: str, kept: state.Kept) -> Carried:
    return Carried(name, kept.cookies, kept.origins, kept.skipped)


def _skipped(kept: state.Kept) -> str:
    return f"; {counted(len(kept.skipped), 'origin')} could not be reached" if kept.skipped else ""


def _kind(session: Session) -> str:
    its = session.options
    return f"{'endpoint' if its.browser == 'remote' else 'profile'} {its.profile}" if its.profile else its.browser


def _told(session: Session) -> str:
    """What tells it from its neighbours: the kind of browser, and what narrows it."""
    its = session.options
    mode = f" {its.mode}" if its.mode and its.mode != "auto" else ""
    domains = ", ".join(its.allowed_domains[:3]) + (" …" if len(its.allowed_domains) > 3 else "")
    only = f" only {domains}" if domains else ""
    return f"{_kind(session)}{mode}{only} {counted(len(session.tabs), 'tab')}"


def _where(session: Session) -> str:
    return f": {plain_url(session.current.url, 100)}" if session.current else ""


def _age(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
