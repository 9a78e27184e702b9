"""Browsers on other machines: each session has a context of its own in one, and nothing else of it is touched.

Above: sessions. Below: browser, courier, queue; how to reach a browser, and how to open a gateway for it, are handed
in. A browser of which nothing is heard any more is given up, so that nobody waits longer than a call may take.
"""

import asyncio
import contextlib
import itertools
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pilothouse.browser import courier
from pilothouse.browser.browser import Browser, Context, Gateway
from pilothouse.browser.queue import Queue
from pilothouse.browser.shared import NoGateway
from pilothouse.cdp.connection import Connection, ProtocolError
from pilothouse.cdp.flags import NO_UDP
from pilothouse.errors import Failure

log = logging.getLogger(__name__)

PULSE_S = 2.0
IDLE_TURNS = 10  # of these, while nobody waits for anything
OVERDUE_S = 3.0  # a call that ends its wait now was waiting for a browser that is not there
SILENCE_S = 15.0  # after which it is given up: a Grid that starts eight browsers on two cores was silent for eight (M)
START_S = 20.0
BRING_S = 600.0  # for one file
MAX_BRINGING = 50
LINGER_S = 30.0  # for so long a browser that sessions share stays when the last of them has left
UNHELD = (
    "this browser runs elsewhere and goes out by itself: the policy holds for what agents do and for the documents of "
    "their tabs; what pages load, their sockets and workers, and names that lead into private networks pass"
)
HELD = (
    "this browser runs elsewhere, and goes out through the gateway here: localhost is the machine of Pilothouse, and "
    "is reached only if a rule names it"
)
UDP_UNHELD = "; its WebRTC goes out by itself, to any address, because it was not started with {flag}"
_GUID = re.compile(r"[0-9a-fA-F-]{8,64}")
_DATA_DIR = re.compile(r"--user-data-dir=(.*?)(?= --|$)")


class Far(Protocol):
    """One browser elsewhere; `downloads` is a folder of its machine, if one is known. Whoever took it releases it."""

    connection: Connection
    downloads: str

    async def release(self) -> None: ...


class Source(Protocol):
    """Where browsers come from: an endpoint, or a Grid. `share`: one browser for all sessions, or one for each."""

    @property
    def name(self) -> str: ...
    @property
    def share(self) -> bool: ...
    async def connect(self) -> Far: ...
    def standing(self) -> Coroutine[Any, Any, str]:
        """What who waits for it is told."""
        ...


class OpenAbroad(Protocol):
    """Opens a gateway that browsers elsewhere can reach, and says at which address."""

    async def __call__(self, *, upstream: str = "", allowed: Sequence[str] = ()) -> tuple[Gateway, str]: ...


class Wish(NamedTuple):
    proxy: str = ""
    allowed: tuple[str, ...] = ()


class Place(NamedTuple):
    """What a source has given now: `waiting` browsers were asked for and have not come; `since` is the oldest's."""

    name: str
    browsers: int
    waiting: int
    since: float


class RemoteBrowser(Browser):
    def __init__(self, far: Far, name: str, *, share: bool) -> None:
        super().__init__(far.connection)
        self.far = far
        self.name = name
        self.share = share
        self.folder = far.downloads
        self.holds_udp = False  # WebRTC goes past a proxy, unless it was started so that it does not (M)
        self.since = time.time()
        self._asked_at = 0.0
        self._moving_in = 0
        self._lingering: asyncio.TimerHandle | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._pulse = asyncio.create_task(self._feel_pulse())
        # A connection that broke leaves a browser behind that nobody drives.
        self.connection.closed.add_done_callback(lambda _: self.release())

    @property
    def usable(self) -> bool:
        return self.alive and self._releasing is None

    async def start(self) -> None:
        async with asyncio.timeout(START_S):
            await super().start()
            line = await self._command_line()
            self.holds_udp = f" {NO_UDP} " in f" {line} "
            self.folder = self.folder or _folder_beside_data(line)

    def release(self) -> "asyncio.Task[None]":
        """Give it back, once."""
        if self._releasing is None:
            self._pulse.cancel()
            self._releasing = asyncio.create_task(self.far.release())
        return self._releasing

    async def open_far_context(self, gateway: Gateway, proxy: str) -> "RemoteContext":
        through: dict[str, Any] = {"proxyServer": proxy, "proxyBypassList": "<-loopback>"} if proxy else {}
        making = self.root.post("Target.createBrowserContext", disposeOnDetach=True, **through)
        try:
            reply = await asyncio.shield(making)
        except ProtocolError as error:
            raise Failure(
                "unsupported",
                f"the browser at {self.name} gives no context of its own to a session ({error.reason[:100]})",
                suggestions=["use an endpoint of a desktop Chrome or Chromium", 'or browser="isolated"'],
            ) from None
        except asyncio.CancelledError:  # it may come all the same, and nobody would have it
            making.add_done_callback(self._dispose_of)
            raise
        context = RemoteContext(self, str(reply["browserContextId"]), gateway, self._limits(held=bool(proxy)))
        self._contexts[context.id] = context
        return context

    def _limits(self, *, held: bool) -> str:
        if not held:
            return UNHELD
        return HELD if self.holds_udp else HELD + UDP_UNHELD.format(flag=NO_UDP)

    def _dispose_of(self, making: "asyncio.Future[dict[str, Any]]") -> None:
        if not making.cancelled() and not making.exception() and (made := making.result().get("browserContextId")):
            self.root.post("Target.disposeBrowserContext", browserContextId=made)

    @contextlib.contextmanager
    def kept(self) -> Generator[None]:
        """It stays while somebody moves in."""
        self._moving_in += 1
        try:
            yield
        finally:
            self._moving_in -= 1
            self.linger()

    def forget(self, context: Context) -> None:
        super().forget(context)
        self.linger()

    def linger(self) -> None:
        """It goes when nobody has been in it for a while; at once, if no other session may have it."""
        if self._lingering:
            self._lingering.cancel()
        if self.alive and not self._contexts and not self._moving_in:
            self._lingering = asyncio.get_running_loop().call_later(LINGER_S if self.share else 0, self._leave)

    def _leave(self) -> None:
        if not self._contexts and not self._moving_in:
            self.release()

    def _attached(self, params: dict[str, Any]) -> None:
        """What others do in this browser is theirs."""
        if self._home_of(params["targetInfo"]) is None:
            self.connection.channel(params["sessionId"]).post("Runtime.runIfWaitingForDebugger")
            self.root.post("Target.detachFromTarget", sessionId=params["sessionId"])
        else:
            super()._attached(params)

    async def _command_line(self) -> str:
        try:
            return str((await self.root.send("SystemInfo.getInfo")).get("commandLine", ""))
        except ProtocolError:
            return ""

    def silence(self) -> float:
        """For how many seconds it has owed an answer."""
        return asyncio.get_running_loop().time() - self._asked_at if self._asked_at else 0.0

    async def _feel_pulse(self) -> None:
        """A socket may be dead for minutes before anybody says so: a hub keeps it open when the node behind it dies
        (M). Whatever is heard counts: a large answer may keep the small one waiting."""
        for turn in itertools.count(1):
            await asyncio.sleep(PULSE_S)
            if not self.connection.waits and turn % IDLE_TURNS:
                continue  # two thousand idle browsers would ask a thousand times a second
            heard, self._asked_at = self.connection.heard, asyncio.get_running_loop().time()
            await asyncio.wait([self.root.post("Browser.getVersion", timeout=SILENCE_S)])
            if self.alive and self.connection.heard == heard:
                log.warning("the browser at %s is silent: given up", self.name)
                self.connection.abandon(f"nothing was heard of it for {SILENCE_S:g} s")
            self._asked_at = 0.0
            if not self.alive:
                return


class RemoteContext(Context):
    elsewhere = True

    def __init__(self, browser: RemoteBrowser, context_id: str, gateway: Gateway, limits: str) -> None:
        super().__init__(browser, context_id, gateway)
        self.limits = limits
        self._remote_browser = browser
        self._bringing: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    @property
    def remote(self) -> RemoteBrowser:
        return self._remote_browser

    def keep_files_in(self, folder: Path) -> None:
        self.folder = folder
        where = self._remote_browser.folder
        place: dict[str, Any] = {"behavior": "allowAndName", "downloadPath": where} if where else {"behavior": "deny"}
        self.browser.root.post("Browser.setDownloadBehavior", browserContextId=self.id, eventsEnabled=True, **place)

    def absence(self) -> Failure | None:
        silence = self._remote_browser.silence()
        if silence < OVERDUE_S:
            return None
        return Failure(
            "browser_gone",
            f"nothing has been heard of the browser at {self._remote_browser.name} for {silence:.0f} s",
            suggestions=["look before you repeat it: it may have been done", "the next call may get another browser"],
        )

    async def close(self) -> None:
        for task in tuple(self._bringing):
            task.cancel()
        alive = self.browser.alive
        await super().close()
        if alive and not self._remote_browser.share:  # one that is gone is given back by itself
            await asyncio.shield(self._remote_browser.release())

    def download_begins(self, tab: Any, params: dict[str, Any]) -> None:
        """Its id becomes the name of a file here, so it has to be one of a browser's own."""
        if _GUID.fullmatch(params["guid"]):
            super().download_begins(tab, params)

    def download_moves(self, params: dict[str, Any]) -> None:
        """What is whole over there has yet to come here, unless there is no room for it."""
        if params["state"] != "completed" or params["guid"] in self._over_quota:
            super().download_moves(params)
        elif not self.downloads.has(params["guid"]):
            return
        elif len(self._bringing) >= MAX_BRINGING:
            self._stays(params, f"{MAX_BRINGING} others are on their way")
        elif not any(task.get_name() == params["guid"] for task in self._bringing):
            task = asyncio.create_task(self._bring(params), name=params["guid"])
            self._bringing.add(task)
            task.add_done_callback(self._bringing.discard)

    async def _bring(self, params: dict[str, Any]) -> None:
        far_path = _within(self._remote_browser.folder, params["guid"])
        try:
            async with self._one_at_a_time, asyncio.timeout(BRING_S):
                size = await courier.bring(self, far_path, self.files, params["guid"])
        except TimeoutError:
            self._stays(params, f"it did not come within {BRING_S:g} s")
        except (Failure, ProtocolError, OSError, LookupError, TypeError, ValueError) as error:
            self._stays(params, str(error))
        else:
            self.files.give_back(size)  # who ends a download counts it
            super().download_moves({**params, "receivedBytes": size})

    def _stays(self, params: dict[str, Any], why: str) -> None:
        if self.owner:
            self.owner.report("download", "", f"a file stays on the browser's machine: {why}", params["guid"])
        super().download_moves({**params, "state": "canceled"})


class Remotes:
    """The browsers elsewhere that agents work in now. `sources` says which there are, by name; it may change."""

    def __init__(self, sources: Callable[[], Mapping[str, Source]], abroad: OpenAbroad | None = None) -> None:
        self._sources = sources
        self._abroad = abroad
        self._queues: dict[Source, Queue[RemoteBrowser]] = {}
        self._every: set[RemoteBrowser] = set()
        self._coming: Counter[str] = Counter()
        self._closing = False

    def pick(self, name: str) -> str:
        """Which one is meant: the named, or the only one."""
        known = self._sources()
        if not known:
            raise Failure(
                "unsupported",
                "no browser elsewhere is configured",
                suggestions=["a person can add one in config.toml: [[endpoints]] or [grid]", 'use browser="isolated"'],
            )
        if not name and len(known) == 1:
            return next(iter(known))
        if name not in known:
            what = f"there is no endpoint {name[:64]!r}" if name else "several endpoints are configured: say which"
            code = "not_found" if name else "bad_request"
            raise Failure(code, what, suggestions=[f"endpoint={one}" for one in list(known)[:10]])
        return name

    async def take(self, name: str, wish: Wish) -> RemoteContext:
        """A context with one tab."""
        source = self._sources().get(name)
        if source is None or self._closing:
            raise Failure("browser_gone", f"the endpoint {name} is not there any more", suggestions=["open_session"])
        self._check(wish)
        browser = await self._queue(source).take()
        with browser.kept():
            gateway, proxy = await self._way_out(wish)
            try:
                context = await browser.open_far_context(gateway, proxy)
            except BaseException:
                gateway.close()
                raise
        try:
            await context.open_tab()
        except BaseException:
            _hold(context.close())
            raise
        return context

    def places(self) -> list[Place]:
        """Where there are browsers, or will be."""
        running = [one for one in self._every if one.usable]
        return [self._place(name, running) for name in sorted({*+self._coming, *(one.name for one in running)})]

    def _place(self, name: str, running: list[RemoteBrowser]) -> Place:
        its = [one.since for one in running if one.name == name]
        return Place(name, len(its), self._coming[name], min(its, default=time.time()))

    async def close(self) -> None:
        """Give all of them back."""
        self._closing = True
        for queue in self._queues.values():
            queue.close()
        await asyncio.gather(*(browser.release() for browser in self._every), return_exceptions=True)

    def _check(self, wish: Wish) -> None:
        if self._abroad or not (wish.proxy or wish.allowed):
            return
        what = "proxy" if wish.proxy else "allowed_domains"
        raise Failure(
            "unsupported",
            f"{what} cannot be held in a browser elsewhere that goes out by itself",
            suggestions=["a person can set sluice.advertise", 'or use browser="isolated"', f"or leave {what} out"],
        )

    async def _way_out(self, wish: Wish) -> tuple[Gateway, str]:
        if self._abroad is None:
            return NoGateway(), ""
        gateway, host = await self._abroad(upstream=wish.proxy, allowed=wish.allowed)
        return gateway, f"socks5://{host}:{gateway.port}"

    def _queue(self, source: Source) -> Queue[RemoteBrowser]:
        """That of the source; those of sources that are no more go when nobody is in them."""
        known = set(self._sources().values())
        self._queues = {one: queue for one, queue in self._queues.items() if one in known or not queue.idle}
        if source not in self._queues:
            self._queues[source] = Queue(partial(self._connected, source), source.standing, share=source.share)
        return self._queues[source]

    async def _connected(self, source: Source) -> RemoteBrowser:
        self._coming[source.name] += 1
        try:
            far = await source.connect()
        finally:
            self._coming[source.name] -= 1
        browser = RemoteBrowser(far, source.name, share=source.share)
        self._every.add(browser)
        browser.connection.closed.add_done_callback(lambda _: self._every.discard(browser))
        try:
            await browser.start()
        except Exception as error:  # what it answers may be anything
            browser.release()
            why = str(error) or f"it did not answer in {START_S:g} s"
            raise Failure(
                "browser_gone",
                f"the browser at {source.name} does not do as a browser does: {why[:200]}",
                suggestions=["try again", "`pilothouse doctor` looks at every endpoint"],
            ) from None
        except BaseException:
            browser.release()
            raise
        if source.share:
            browser.linger()  # who asked for it may have left
        return browser


def _folder_beside_data(command_line: str) -> str:
    """A place that this browser can write to: beside its own data, and gone with it. Empty: it does not tell."""
    found = _DATA_DIR.search(command_line)
    return _within(found[1].strip('"'), "pilothouse-downloads") if found and found[1] else ""


def _within(folder: str, name: str) -> str:
    """As paths are written on the browser's machine."""
    separator = "\\" if "\\" in folder else "/"
    return f"{folder.rstrip(separator)}{separator}{name}"


_held: set[asyncio.Task[None]] = set()


def _hold(ending: Any) -> None:
    task = asyncio.create_task(ending)
    _held.add(task)
    task.add_done_callback(_held.discard)
