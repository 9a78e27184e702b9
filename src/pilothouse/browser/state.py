"""What makes a browser know its user, carried from one session to another: cookies, and local storage by origin.

Above: tools, sessions. Below: cookies, backroom. Where it is kept, and how it is encrypted, is handed in. Session
storage (it ends with its tab) and IndexedDB are not carried.
"""

import asyncio
from urllib.parse import urlsplit

import msgspec

from pilothouse.browser import cookies
from pilothouse.browser.backroom import Items, backroom
from pilothouse.browser.origins import origin_of
from pilothouse.browser.session import Session
from pilothouse.browser.terms import Vault
from pilothouse.errors import Failure

MAX_ORIGINS = 200
IN_S = 20.0  # for all origins together


class State(msgspec.Struct, frozen=True):
    cookies: list[cookies.Cookie]
    local_storage: dict[str, Items]


class Kept(msgspec.Struct):
    """What was carried; `skipped` are origins that could not be reached or had no room."""

    cookies: int
    origins: list[str]
    skipped: list[str]


async def save(session: Session, name: str) -> Kept:
    vault = _vault(session)
    await session.open()
    found = [one for one in await cookies.read(session.context) if not session.bars(one["domain"])]
    origins = [one for one in _origins(session, found) if not session.bars(one)]
    stored, skipped = await _stored(session, origins[:MAX_ORIGINS])
    state = State([cookies.settable(one) for one in found], stored)
    await asyncio.to_thread(vault.put, name, msgspec.json.encode(state))
    return Kept(len(found), list(stored), skipped + origins[MAX_ORIGINS:])


async def load(session: Session, name: str, *, asked: bool = True) -> Kept:
    """Not what may not be touched; nor, where nobody could be asked, what a rule wants asked about."""
    state = await _opened(_vault(session), name)
    await session.open()
    kept = [one for one in state.cookies if not session.bars(one["domain"], asked=asked)]
    storage = {one: items for one, items in state.local_storage.items() if not session.bars(one, asked=asked)}
    await cookies.write(session.context, kept)
    skipped = await _restore(session, storage)
    for origin in storage:
        session.context.origins.add(origin)
    restored = [origin for origin in storage if origin not in skipped]
    return Kept(len(kept), restored, skipped + [one for one in state.local_storage if one not in storage])


async def domains(session: Session, name: str = "") -> list[str]:
    """Whose cookies and storage would be saved, or, with a name, loaded; without those that are left out anyway."""
    if name:
        state = await _opened(_vault(session), name)
        found, origins = state.cookies, list(state.local_storage)
    else:
        await session.open()
        found = await cookies.read(session.context)
        origins = _origins(session, [])
    hosts = [urlsplit(origin).hostname or "" for origin in origins]
    return [one for one in dict.fromkeys([*(one["domain"] for one in found), *hosts]) if not session.bars(one)]


async def _opened(vault: Vault, name: str) -> State:
    data = await asyncio.to_thread(vault.get, name)
    try:
        return msgspec.json.decode(data, type=State)
    except msgspec.MsgspecError:
        raise Failure("system", f"the state {name!r} is of another version", suggestions=["save it again"]) from None


def _vault(session: Session) -> Vault:
    if session.terms.vault is None:
        raise Failure("unsupported", "this daemon keeps no states")
    return session.terms.vault


def _origins(session: Session, found: list[cookies.Cookie]) -> list[str]:
    """Those of every frame that is open, those that the session has been to, and those that have a cookie."""
    frames = [frame.url for tab in session.tabs for frame in tab.frames]
    known = [origin for url in frames if (origin := origin_of(url))]
    known += session.context.origins
    for one in found:
        host, port = one["domain"].lstrip("."), one.get("sourcePort", -1)
        if port not in (-1, 80, 443):
            known.append(f"{'https' if one.get('sourceScheme') == 'Secure' else 'http'}://{host}:{port}")
        known += [f"https://{host}"] if one.get("secure") else [f"https://{host}", f"http://{host}"]
    return list(dict.fromkeys(known))


async def _stored(session: Session, origins: list[str]) -> tuple[dict[str, Items], list[str]]:
    stored: dict[str, Items] = {}
    skipped: list[str] = []
    end = asyncio.get_running_loop().time() + IN_S
    async with backroom(session.context) as room:
        for origin in origins:
            if asyncio.get_running_loop().time() > end or not await room.enter(origin):
                skipped.append(origin)
            elif items := await room.read():
                stored[origin] = items
    return stored, skipped


async def _restore(session: Session, stored: dict[str, Items]) -> list[str]:
    if not stored:
        return []
    skipped: list[str] = []
    end = asyncio.get_running_loop().time() + IN_S
    async with backroom(session.context) as room:
        for origin, items in stored.items():
            in_time = asyncio.get_running_loop().time() < end
            if not in_time or not await room.enter(origin) or not await room.write(items):
                skipped.append(origin)
    return skipped
