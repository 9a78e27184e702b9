"""A Chrome with a profile: cookies and storage are one world, and each session has a seat in it, with its own tabs.

Above: browsers. Below: browser. Tabs that nobody of ours opened (restored ones, those a person opens in the window)
go to the session that has been there longest.
"""

import asyncio
import contextlib
import itertools
import os
from pathlib import Path
from typing import Any

from pilothouse.browser.browser import Browser, Context, Gateway
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import Connection, ProtocolError
from pilothouse.errors import Failure

LEAVE_S = 3.0


class ProfileBrowser(Browser):
    """`files` is where downloads arrive before they move to the folder of their session."""

    def __init__(self, connection: Connection, gateway: Gateway, *, files: Path, lang: str = "") -> None:
        super().__init__(connection)
        self.gateway = gateway
        self.files = files
        self.lang = lang
        self.context_id = ""
        self.opening = asyncio.Lock()
        self.expecting: Seat | None = None
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        self.context_id = (await self.root.send("Target.getBrowserContexts"))["defaultBrowserContextId"]
        await super().start()
        await self.root.send(
            "Browser.setDownloadBehavior",
            behavior="allowAndName",
            browserContextId=self.context_id,
            downloadPath=str(self.files),
            eventsEnabled=True,
        )

    def give_up(self, why: str) -> None:
        """Tell everybody who waits, before the tabs close one by one."""
        self._lost(why)

    @property
    def seats(self) -> list[Context]:
        return list(self._contexts.values())

    def seat(self) -> "Seat":
        seat = Seat(self, next(self._numbers))
        self._contexts[seat.key] = seat
        return seat

    def _home_of(self, target: dict[str, Any]) -> Context | None:
        related = {target["targetId"], target.get("openerId", "")}
        of_theirs = (seat for seat in self.seats if any(tab.target_id in related for tab in seat.tabs))
        return next(of_theirs, None) or self.expecting or next(iter(self.seats), None)


class Seat(Context):
    begun_anew = "the browser ended and was started anew: its tabs are gone"

    def __init__(self, browser: ProfileBrowser, number: int) -> None:
        super().__init__(browser, browser.context_id, browser.gateway)
        self.key = f"{browser.context_id}/{number}"
        self._profile_browser = browser

    @property
    def hides(self) -> bool:
        """Tabs of other sessions, and of the person, are in the same window."""
        return True

    async def open_tab(self, url: str = "about:blank", *, background: bool = True) -> Tab:
        """One at a time: a new target does not say who asked for it."""
        async with self._profile_browser.opening:
            self._profile_browser.expecting = self
            try:
                return await super().open_tab(url, background=background)
            finally:
                self._profile_browser.expecting = None

    async def close(self) -> None:
        """The tabs go; cookies, storage and the browser stay."""
        self.owner = None
        self.let_go()
        with contextlib.suppress(Failure, ProtocolError, TimeoutError):  # what cannot be closed is left to the browser
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*(self._leave(tab) for tab in self.tabs))
        self.browser.forget(self)
        for tab in self.tabs:
            tab.shut()

    async def _leave(self, tab: Tab) -> None:
        await self.close_tab(tab)
        if tab.dialog and not tab.closed:  # it asks whether it may be left
            await tab.answer_dialog(True, "")
            await tab.signal.until(lambda: tab.closed, LEAVE_S)

    def keep_files_in(self, folder: Path) -> None:
        self.folder = folder

    def dress(self, tab: Tab) -> None:
        super().dress(tab)
        if self._profile_browser.lang:  # --lang alone leaves Intl as it is where Chrome lacks that language
            tab.channel.post("Emulation.setLocaleOverride", locale=self._profile_browser.lang)

    def download_moves(self, params: dict[str, Any]) -> None:
        if params["state"] == "completed":
            with contextlib.suppress(OSError):  # one that was cancelled in the last moment is not there
                os.replace(self._profile_browser.files / params["guid"], self.folder / params["guid"])
        super().download_moves(params)
