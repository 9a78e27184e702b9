"""Browsers from a Selenium Grid: one is asked for over HTTP, driven over the CDP socket that it tells, and given back.

Above: the daemon hands it to browser.remote. Below: http, cdp. Queueing, capacity and nodes are the Grid's business.
"""

import asyncio
import base64
import logging
import re
from typing import Annotated, Any, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pilothouse.cdp.connection import Connection
from pilothouse.cdp.flags import NO_UDP
from pilothouse.cdp.socket import Refused, Socket
from pilothouse.errors import Failure
from pilothouse.options import Grid
from pilothouse.providers import http
from pilothouse.providers.endpoint import Far, Reveal, origin_of

log = logging.getLogger(__name__)

NAME = "grid"
ASK_S = 5.0
OPEN_S = 25.0  # a Grid that starts eight browsers on two cores took more than ten (M)
RELEASE_S = 30.0
RELEASED_AT_ONCE = 32  # each takes a file of the system, and many sessions may end together
# What it says when a request has waited for too long (M); a driver that does not start in time is another matter.
_NO_PLACE = re.compile(r"session request timed out|timed out creating session", re.IGNORECASE)
_COUNTS = b'{"query": "{ grid { sessionQueueSize sessionCount maxSession nodeCount } }"}'


class Capabilities(msgspec.Struct):
    cdp: str = msgspec.field(name="se:cdp", default="")


class _Made(msgspec.Struct):
    # It becomes part of addresses that we ask with the person's password.
    sessionId: Annotated[str, msgspec.Meta(pattern=r"^[\w-]{1,128}$")]  # noqa: N815 (WebDriver's spelling)
    capabilities: Capabilities


class _Answer(msgspec.Struct):
    value: _Made


class _Trouble(msgspec.Struct):
    error: str = ""
    message: str = ""


class _Refusal(msgspec.Struct):
    value: _Trouble


class Counts(msgspec.Struct):
    sessionQueueSize: int = 0  # noqa: N815 (the Grid's spelling)
    sessionCount: int = 0  # noqa: N815
    maxSession: int = 0  # noqa: N815
    nodeCount: int = 0  # noqa: N815


class _Data(msgspec.Struct):
    grid: Counts


class _Told(msgspec.Struct):
    data: _Data


class GridFar(Far):
    """A browser of the Grid; it is kept alive, and given back at the end, whatever became of the connection."""

    def __init__(self, source: "GridSource", session: str, connection: Connection) -> None:
        super().__init__(connection)
        self._source = source
        self._session = session
        self._released = False
        self._life = asyncio.create_task(source.keep_alive(session))

    async def release(self) -> None:
        if self._released:
            return
        self._released = True
        self._life.cancel()
        # At once: a daemon that ends has no time to wait for answers.
        await asyncio.gather(self._source.end(self._session), self.connection.close(), return_exceptions=True)


class GridSource:
    name = NAME

    def __init__(self, grid: Grid, reveal: Reveal, *, holds: bool = False) -> None:
        """`holds`: its browsers go out through gateways of ours, and by no other way."""
        self.share = grid.share
        self._grid = grid
        self._reveal = reveal
        self._holds = holds
        self._endings: set[asyncio.Task[None]] = set()
        self._releasing = asyncio.Semaphore(RELEASED_AT_ONCE)

    async def connect(self) -> Far:
        """A browser, when it is our turn. Once it is asked for, it comes or is given back."""
        made = await self._made()
        try:
            address = self._here(made.capabilities.cdp)
            socket = await Socket.open(address, self._headers(), timeout_s=OPEN_S)
        except BaseException as error:
            self._end_by_itself(made.sessionId)
            if isinstance(error, Refused):
                raise _gone(f"its browser cannot be driven: {error.why}") from None
            if isinstance(error, ValueError):
                raise _gone("it tells no address at which its browser can be driven") from None
            raise
        return GridFar(self, made.sessionId, Connection(socket))

    async def examined(self) -> str:
        """What it has, in a line; `Failure` if it is not there, or has nothing."""
        try:
            now = await self.counts()
        except http.Unreachable as error:
            raise _gone(str(error)) from None
        if not now.maxSession:
            raise _gone("no node has joined it")
        waiting = f", {now.sessionQueueSize} waiting" if now.sessionQueueSize else ""
        return f"{now.nodeCount} nodes, {now.sessionCount} of {now.maxSession} places taken{waiting}"

    async def standing(self) -> str:
        """How long the queue is, for who waits in it."""
        try:
            now = await self.counts()
        except (http.Unreachable, Failure):
            return "the Grid does not answer"
        places = f"{now.sessionCount} of {now.maxSession} places are taken"
        return f"in the Grid's queue: {now.sessionQueueSize} wait, {places} on {now.nodeCount} nodes"

    async def counts(self) -> Counts:
        reply = await self._ask("POST", "/graphql", _COUNTS)
        if reply.status != 200:
            raise http.Unreachable(f"it answers with status {reply.status}")
        try:
            return msgspec.json.decode(reply.body, type=_Told).data.grid
        except msgspec.MsgspecError:
            raise http.Unreachable("what answers there is no Selenium Grid 4") from None

    async def keep_alive(self, session: str) -> None:
        """The Grid counts WebDriver commands only: a session without one is idle to it."""
        while True:
            await asyncio.sleep(self._grid.keep_alive_s)
            if why := await self._told("GET", f"/session/{session}/timeouts", ASK_S):
                log.warning("the Grid does not hear that a session is alive, and may end it: %s", why)

    async def end(self, session: str) -> None:
        async with self._releasing:
            why = await self._told("DELETE", f"/session/{session}", RELEASE_S)
        if why:
            log.warning("the Grid was not told that a session is over, and ends it by its own time-out: %s", why)

    async def _told(self, method: str, path: str, timeout_s: float) -> str:
        """Why it was not; a session that it knows no more is as well."""
        try:
            reply = await self._ask(method, path, timeout_s=timeout_s)
        except (http.Unreachable, Failure) as error:
            return str(error)
        return "" if reply.status in (200, 404) else f"it answers with status {reply.status}"

    def _end_by_itself(self, session: str) -> None:
        task = asyncio.create_task(self.end(session))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def _made(self) -> _Made:
        body = msgspec.json.encode({"capabilities": {"alwaysMatch": self._wanted()}})
        try:
            reply = await self._ask("POST", "/session", body, timeout_s=self._grid.queue_s)
        except http.Late:
            raise _full(f"no browser within {self._grid.queue_s:g} s (grid.queue_s)") from None
        except http.Unreachable as error:
            raise _gone(str(error)) from None
        if reply.status != 200:
            raise _refused(reply)
        try:
            return msgspec.json.decode(reply.body, type=_Answer).value
        except msgspec.MsgspecError:
            raise _gone("its answer is not that of a Selenium Grid") from None

    def _wanted(self) -> dict[str, Any]:
        """A gateway is a proxy, and WebRTC goes past one unless Chrome is told otherwise (M)."""
        wanted: dict[str, Any] = {"browserName": "chrome", **self._written_out(self._grid.capabilities)}
        if not self._holds:
            return wanted
        key = "ms:edgeOptions" if wanted["browserName"] == "MicrosoftEdge" else "goog:chromeOptions"
        options: dict[str, Any] = wanted.get(key) or {}
        return {**wanted, key: {**options, "args": [*(options.get("args") or []), NO_UDP]}}

    def _written_out(self, told: Any) -> Any:
        """With the values of the secrets that it names: hosted Grids want their keys here."""
        if isinstance(told, str):
            return self._reveal(told, origin_of(self._grid.url))
        if isinstance(told, dict):
            return {name: self._written_out(value) for name, value in cast(dict[str, Any], told).items()}
        return [self._written_out(one) for one in cast(list[Any], told)] if isinstance(told, list) else told

    def _here(self, told: str) -> str:
        """The socket behind the Grid's own address: what a hub calls itself may be known to its nodes only."""
        parts = urlsplit(self._grid.url)
        if not told:
            raise Failure(
                "unsupported",
                "the browser that the Grid gave cannot be driven over CDP (it tells no se:cdp)",
                suggestions=["grid.capabilities must ask for Chrome, Chromium or Edge", 'or use browser="isolated"'],
            )
        scheme = "wss" if parts.scheme == "https" else "ws"
        path = urlsplit(told).path
        prefix = parts.path.rstrip("/")
        return urlunsplit((scheme, parts.netloc, path if path.startswith(f"{prefix}/") else prefix + path, "", ""))

    async def _ask(self, method: str, path: str, body: bytes | None = None, *, timeout_s: float = ASK_S) -> http.Reply:
        address = self._grid.url.rstrip("/") + path
        return await http.ask(method, address, headers=self._headers(), body=body, timeout_s=timeout_s)

    def _headers(self) -> dict[str, str]:
        if not self._grid.username:
            return {}
        password = self._reveal(self._grid.password, origin_of(self._grid.url))
        pair = base64.b64encode(f"{self._grid.username}:{password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}


def _refused(reply: http.Reply) -> Failure:
    """In the Grid's own words, as far as they are for people: the first line, without the machine's."""
    try:
        told = msgspec.json.decode(reply.body, type=_Refusal).value
    except msgspec.MsgspecError:
        told = _Trouble()
    why = (told.message.strip().splitlines() or [f"status {reply.status}"])[0][:300]
    if reply.status == 401:
        hint = "a person sets grid.username and grid.password, as the Grid's router has them"
        return Failure("browser_gone", "the Grid takes no such user and password", suggestions=[hint])
    if _NO_PLACE.search(why):
        return _full(why)
    return _gone(f"it made no session: {why}")


def _full(why: str) -> Failure:
    return Failure(
        "over_limit",
        f"the Grid had no place: {why}",
        suggestions=["try again later", "close_session what is not needed", "or a person adds nodes to the Grid"],
    )


def _gone(why: str) -> Failure:
    hints = ["try again", "`pilothouse doctor` looks at the Grid", 'or use browser="isolated"']
    return Failure("browser_gone", f"the Grid gives no browser: {why}", suggestions=hints)
