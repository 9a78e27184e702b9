"""What a browser-level connection may ask, answered for a Chrome that only lets us have tabs: `Target.*`, `Browser.*`.

Above: relay hands the commands in. Below: link's verbs. What is not there is refused with what to do instead.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from pilothouse.cdp.decode import decode
from pilothouse.errors import Failure
from pilothouse.providers.frames import Line, TabInfo, Word
from pilothouse.providers.link import Link
from pilothouse.providers.unsupported import unsupported

if TYPE_CHECKING:
    from pilothouse.providers.relay import Command, Held

CONTEXT = "own"  # the one world of cookies in the person's Chrome
MAX_DOWNLOADS = 200
MAX_ADDRESS = 2000  # a page may give a file of megabytes as one; the extension cuts there too
_CHROME = re.compile(r"Chrome/[\d.]+")

Params = dict[str, Any]
Path = Annotated[str, Meta(max_length=40_000)]  # no system has longer ones


class Desk(Protocol):
    """The relay, as seen from here."""

    link: Link
    announcing: bool
    targets: dict[int, str]

    def held(self) -> "list[Held]": ...
    def held_as(self, session: str) -> "Held | None": ...
    def target_of(self, info: TabInfo) -> str: ...
    def announce(self, info: TabInfo) -> "Held": ...
    async def bring(self, info: TabInfo) -> "Held": ...
    async def let_go(self, held: "Held") -> None: ...
    def described(self, info: TabInfo) -> dict[str, Any]: ...
    def send(self, frame: bytes, timeout: float) -> None: ...
    def reply(self, number: int, result: Any) -> None: ...
    def refuse_for(self, number: int, failure: Failure) -> None: ...

    on_file: Callable[[str, str], None]


class _Download(msgspec.Struct, rename="camel"):
    """What the extension tells of a download of a shared tab."""

    download_id: int
    url: Line = ""
    path: Path = ""
    state: Word = ""


class Browserwide:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tasks: set[asyncio.Task[None]] = set()
        self._guids: dict[str, str] = {}  # downloads that pages began: guid → address
        self._items: dict[int, _Download] = {}
        self._ways: dict[str, Callable[[Params, float], Awaitable[Params]]] = {
            "Browser.cancelDownload": self._cancel_download,
            "Browser.getVersion": self._version,
            "Browser.getWindowForTarget": self._window,
            "Browser.setDownloadBehavior": self._nothing,
            "Browser.setWindowBounds": self._set_window,
            "Target.activateTarget": self._activate,
            "Target.attachToTarget": self._attach,
            "Target.closeTarget": self._close,
            "Target.createTarget": self._create,
            "Target.detachFromTarget": self._detach,
            "Target.getBrowserContexts": self._contexts,
            "Target.getTargetInfo": self._info,
            "Target.getTargets": self._targets,
            "Target.setAutoAttach": self._auto_attach,
            "Target.setDiscoverTargets": self._nothing,
        }

    def answer(self, command: "Command", timeout: float) -> None:
        if command.method in ("Storage.getCookies", "Storage.setCookies"):
            self._through_a_tab(command, timeout)
            return
        way = self._ways.get(command.method)
        if way is None:
            self._desk.refuse_for(command.id, unsupported(command.method))
            return
        task = asyncio.ensure_future(self._answered(command.id, way, decode(command.params), timeout))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answered(
        self, number: int, way: Callable[[Params, float], Awaitable[Params]], params: Params, timeout: float
    ) -> None:
        try:
            self._desk.reply(number, await way(params, timeout))
        except Failure as failure:
            self._desk.refuse_for(number, failure)
        except msgspec.ValidationError as error:  # of what the extension said
            hint = "`pilothouse doctor` tells whether extension and daemon fit"
            told = f"the extension's answer does not fit: {error}"
            self._desk.refuse_for(number, Failure("browser_gone", told, suggestions=[hint]))

    def _through_a_tab(self, command: "Command", timeout: float) -> None:
        """Cookies are the browser's, but only a tab can be asked; any that is not incognito knows them all (M)."""
        fit = sorted((one for one in self._desk.held() if not one.incognito), key=lambda one: not one.awake)
        if not fit:
            steps = ["open one with new_tab"]
            failure = Failure("unsupported", "cookies can only be reached while a tab is open", suggestions=steps)
            self._desk.refuse_for(command.id, failure)
            return
        params = {key: value for key, value in decode(command.params).items() if key != "browserContextId"}
        told = {"id": command.id, "method": command.method, "params": params, "sessionId": fit[0].session}
        self._desk.send(msgspec.json.encode(told), timeout)

    # Targets

    async def _auto_attach(self, params: Params, timeout: float) -> Params:
        self._desk.announcing = bool(params.get("autoAttach"))
        return {}

    async def _nothing(self, params: Params, timeout: float) -> Params:
        return {}

    async def _contexts(self, params: Params, timeout: float) -> Params:
        return {"browserContextIds": [], "defaultBrowserContextId": CONTEXT}

    async def _targets(self, params: Params, timeout: float) -> Params:
        await self.learn_targets(timeout)
        infos = [info for info in self._desk.link.tabs.values() if self._desk.target_of(info)]
        return {"targetInfos": [self._desk.described(info) for info in infos]}

    async def _info(self, params: Params, timeout: float) -> Params:
        return {"targetInfo": self._desk.described(await self._tab(params, timeout))}

    async def _attach(self, params: Params, timeout: float) -> Params:
        return {"sessionId": self._desk.announce(await self._tab(params, timeout)).session}

    async def _detach(self, params: Params, timeout: float) -> Params:
        if held := self._desk.held_as(params.get("sessionId", "")):
            await self._desk.let_go(held)
        return {}

    async def _create(self, params: Params, timeout: float) -> Params:
        if params.get("hidden"):
            raise unsupported("Target.createTarget hidden")
        wish = {"url": params.get("url") or "about:blank", "background": params.get("background", True)}
        told = await self._desk.link.post("open", wish, timeout=timeout)
        info = msgspec.convert(told, TabInfo)
        return {"targetId": (await self._desk.bring(info)).target_id}

    async def _close(self, params: Params, timeout: float) -> Params:
        info = await self._tab(params, timeout)
        await self._desk.link.post("close", {"tabId": info.tab_id}, timeout=timeout)
        return {"success": True}

    async def _activate(self, params: Params, timeout: float) -> Params:
        info = await self._tab(params, timeout)
        await self._desk.link.post("activate", {"tabId": info.tab_id}, timeout=timeout)
        return {}

    async def _tab(self, params: Params, timeout: float) -> TabInfo:
        target = params.get("targetId", "")
        tabs = self._desk.link.tabs.values()
        found = next((info for info in tabs if target and self._desk.target_of(info) == target), None)
        if found is None:
            raise no_tab()
        return found

    async def learn_targets(self, timeout: float) -> None:
        """Chrome's names of the tabs; the extension knows them before it attaches."""
        if all(self._desk.target_of(info) for info in self._desk.link.tabs.values()):
            return
        told = await self._desk.link.post("targets", {}, timeout=timeout)
        for one in msgspec.convert(told.get("targets", []), list[_Target]):
            self._desk.targets[one.tab_id] = one.target_id

    # The browser

    async def _version(self, params: Params, timeout: float) -> Params:
        """Whether it is there is what most want to know who ask this."""
        await self._desk.link.post("ping", {}, timeout=timeout)
        product = _CHROME.search(self._desk.link.agent)
        return {"product": product[0] if product else "Chrome", "userAgent": self._desk.link.agent}

    async def _window(self, params: Params, timeout: float) -> Params:
        info = await self._tab(params, timeout)
        return _window(await self._desk.link.post("window", {"tabId": info.tab_id}, timeout=timeout))

    async def _set_window(self, params: Params, timeout: float) -> Params:
        wish = {key: value for key, value in dict(params.get("bounds", {})).items() if key != "windowState"}
        state = params.get("bounds", {}).get("windowState")
        asked: Params = {"windowId": params.get("windowId"), "bounds": wish} | ({"state": state} if state else {})
        await self._desk.link.post("window", asked, timeout=timeout)
        return {}

    # Downloads

    def download_moves(self, method: str, params: msgspec.Raw) -> None:
        if method == "Page.downloadWillBegin":
            told = decode(params)
            self._guids[told["guid"]] = told["url"][:MAX_ADDRESS]
            while len(self._guids) > MAX_DOWNLOADS:
                del self._guids[next(iter(self._guids))]

    def downloaded(self, payload: msgspec.Raw) -> None:
        item = msgspec.convert(decode(payload), _Download)
        self._items[item.download_id] = item
        while len(self._items) > MAX_DOWNLOADS:
            del self._items[next(iter(self._items))]
        if item.path and (guid := self._guid_of(item)):
            self._desk.on_file(guid, item.path)

    def _guid_of(self, item: _Download) -> str:
        """The newest with that address: Chrome's two lists share no number."""
        return next((guid for guid, url in reversed(self._guids.items()) if url == item.url), "")

    async def _cancel_download(self, params: Params, timeout: float) -> Params:
        guid = params.get("guid", "")
        item = next((one for one in reversed(self._items.values()) if self._guid_of(one) == guid), None)
        if item:
            await self._desk.link.post("download_cancel", {"downloadId": item.download_id}, timeout=timeout)
        return {}


def no_tab() -> Failure:
    steps = ["list the tabs", "the person shares it again by the extension's popup"]
    return Failure("tab_closed", "the tab is closed, or no longer shared", suggestions=steps)


class _Target(msgspec.Struct, rename="camel"):
    tab_id: int
    target_id: str


def _window(told: Params) -> Params:
    bounds = {key: told[key] for key in ("left", "top", "width", "height") if key in told}
    return {"windowId": told.get("windowId"), "bounds": bounds | {"windowState": told.get("state", "normal")}}
