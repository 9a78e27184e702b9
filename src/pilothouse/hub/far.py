"""A hub on another machine, asked over its `/signaling` with a user's key; to the rest of the house it is like our own.

Above: own, daemon. Below: words, rings, tidy, websockets. One line is kept for questions and made anew when it broke;
each follower has a line of its own. No question waits longer than its deadline.
"""

import asyncio
import itertools
import ssl
from collections.abc import AsyncGenerator

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from pilothouse.errors import CODES, Failure
from pilothouse.hub.rings import entry_filter, request_filter
from pilothouse.hub.tidy import tidy_entry, tidy_request, tidy_tab
from pilothouse.hub.words import (
    ConsoleData,
    ConsoleEntry,
    ConsoleFilters,
    Follow,
    Followed,
    FromHub,
    GetConsole,
    GetNetwork,
    HubError,
    ListTabs,
    Missed,
    NetworkData,
    NetworkFilters,
    NetworkRequest,
    TabInfo,
    Tabs,
    from_hub,
    no_such_tab,
)

OPEN_S = 5.0
ASK_S = 12.0  # the hub itself may ask a browser first
MAX_ANSWER = 64 * 1024 * 1024
_KEY_IS_OVER = 4401
_NOT_ITS_NAME = 421
_PATH = "/signaling"
_ITS_END = f"the address of a hub ends with {_PATH}, unless its front says otherwise"


class FarHub:
    """`user` is whoever the key belongs to there: what the callers here are called does not matter. That hub is not
    ours: it may not have cleaned what it tells, and cannot know what is secret here."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key
        self._line: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[FromHub]] = {}

    async def listed(self, user: str) -> list[TabInfo]:
        told = await self._ask(ListTabs(self._number()))
        return [tidy_tab(one) for one in told.tabs] if isinstance(told, Tabs) else []

    async def address(self, user: str, handle: str) -> str:
        for one in await self.listed(user):
            if one.token == handle:
                return one.url
        raise no_such_tab()

    async def network(self, user: str, handle: str, filters: NetworkFilters) -> list[NetworkRequest]:
        request_filter(filters)  # our own words for a mistake have a next step
        told = await self._ask(GetNetwork(self._number(), handle, filters))
        return [tidy_request(one, MAX_ANSWER) for one in told.requests] if isinstance(told, NetworkData) else []

    async def console(self, user: str, handle: str, filters: ConsoleFilters) -> list[ConsoleEntry]:
        entry_filter(filters)
        told = await self._ask(GetConsole(self._number(), handle, filters))
        return [tidy_entry(one) for one in told.entries] if isinstance(told, ConsoleData) else []

    async def followed(self, user: str, handle: str) -> AsyncGenerator[NetworkRequest | ConsoleEntry | Missed]:
        """Only the hub says that the tab is gone; a line that ends before that is another matter."""
        async with await self._connected() as line:
            try:
                await line.send(msgspec.json.encode(Follow(self._number(), handle)).decode())
                while not isinstance(told := _read(await line.recv()), Followed) or not told.closed:
                    if isinstance(told, HubError):
                        raise _failure(told)
                    if isinstance(told, Followed) and (what := _tidied(told)):
                        yield what
            except ConnectionClosed as closed:
                if closed.rcvd and closed.rcvd.code == _KEY_IS_OVER:
                    raise _unknown_key() from None
                raise _away(f"the line to the hub at {self._url} broke") from None

    async def close(self) -> None:
        if self._reader:
            self._reader.cancel()
        if self._line:
            await self._line.close()

    def _number(self) -> str:
        return str(next(self._numbers))

    async def _ask(self, asked: ListTabs | GetNetwork | GetConsole) -> FromHub:
        waiting: asyncio.Future[FromHub] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(ASK_S):
                line = await self._open()
                self._asked[asked.request_id] = waiting
                await line.send(msgspec.json.encode(asked).decode())
                told = await waiting
        except (TimeoutError, ConnectionClosed):
            raise _away(f"the hub at {self._url} did not answer") from None
        finally:
            self._asked.pop(asked.request_id, None)
        if isinstance(told, HubError):
            raise _failure(told)
        return told

    async def _open(self) -> ClientConnection:
        async with self._opening:
            if self._line is None or self._reader is None or self._reader.done():
                self._line = await self._connected()
                self._reader = asyncio.create_task(self._read(self._line))
            return self._line

    async def _connected(self) -> ClientConnection:
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            return await connect(
                self._url, additional_headers=headers, open_timeout=OPEN_S, max_size=MAX_ANSWER, ping_timeout=10
            )
        except InvalidStatus as refused:
            raise self._refusal(refused.response.status_code) from None
        except ssl.SSLCertVerificationError as error:
            why = f"the certificate of the hub at {self._url} is not good here: {error.verify_message}"
            raise _away(why, "for one of your own, start the daemon with SSL_CERT_FILE set to it") from None
        except (OSError, TimeoutError, WebSocketException, ValueError) as error:
            raise _away(f"the hub at {self._url} cannot be reached: {str(error)[:200]}") from None

    def _refusal(self, status: int) -> Failure:
        why = f"the hub at {self._url} answers with {status}"
        if status in (401, 403):
            return _unknown_key(has_key=bool(self._key), elsewhere=not self._url.endswith(_PATH))
        if status == _NOT_ITS_NAME:
            return _away(why, "is the name in hub.url among server.allowed_hosts of the hub's config.toml?")
        return _away(why) if self._url.endswith(_PATH) else _away(why, _ITS_END)

    async def _read(self, line: ClientConnection) -> None:
        """Until it breaks; then nobody waits for what cannot come."""
        try:
            async for frame in line:
                told = _read(frame)
                if told and (waiting := self._asked.get(told.request_id)) and not waiting.done():
                    waiting.set_result(told)
        except ConnectionClosed:
            pass
        finally:
            for waiting in self._asked.values():
                if not waiting.done():
                    waiting.set_exception(_away(f"the line to the hub at {self._url} broke"))
            await line.close()


def _read(frame: str | bytes) -> FromHub | None:
    """Another machine's words; what is none of those we know is nothing."""
    try:
        return from_hub.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _tidied(told: Followed) -> NetworkRequest | ConsoleEntry | Missed | None:
    if told.request:
        return tidy_request(told.request, MAX_ANSWER)
    if told.entry:
        return tidy_entry(told.entry)
    return Missed(told.missed) if told.missed else None


def _failure(told: HubError) -> Failure:
    code = str(told.error.get("code"))
    hints = ["browser_debug_list_tabs lists the tabs of now"] if code == "not_found" else []
    return Failure(code if code in CODES else "system", str(told.error.get("message"))[:500], suggestions=hints)


def _unknown_key(*, has_key: bool = True, elsewhere: bool = False) -> Failure:
    """`elsewhere`: the address may be no hub's at all."""
    hints = ["hub.key in config.toml, or PILOTHOUSE_HUB_KEY; `pilothouse user add` makes one there"]
    if elsewhere:
        hints.insert(0, _ITS_END)
    told = "the hub does not know this key" if has_key else "the hub asks for a key"
    return Failure("unauthorized", told, suggestions=hints)


def _away(why: str, hint: str = "is it running, and is hub.url in config.toml right?") -> Failure:
    return Failure("system", why, suggestions=[hint], retryable=True)
