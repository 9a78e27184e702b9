"""Where a tab goes: the documents that it was sent for, those that have come, and what is still awaited.

Above: tab, settle, navigate. Below: network, signal. A document goes by the name of its loader. That one was begun is
heard before its request goes out, and that it came before it stands.
"""

import asyncio
from collections import deque
from typing import Any

from pilothouse.browser.network import Network
from pilothouse.browser.signal import Signal
from pilothouse.cdp.connection import Channel

REMEMBERED = 20
OPENS_S = 5.0  # for so long a page that has asked for a new tab may be who opened the next one


class Route:
    def __init__(self, target_id: str, network: Network, signal: Signal) -> None:
        self.navigating = False
        self.bound_for = ""  # the address of a document that was asked for and has not come
        self.moves = 0  # navigations within a document
        self.strayed_at = 0.0  # when the tab went somewhere since the last action and nobody was told; 0: it did not
        self.loaders: deque[str] = deque(maxlen=REMEMBERED)  # of the documents that have come, the newest last
        self._opened_at = 0.0  # when the page has asked for a new tab or window that has not come
        self._begun: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)  # each with the document that it began in
        self._target_id = target_id
        self._network = network
        self._signal = signal

    @property
    def last_begun(self) -> str:
        """The document that was asked for last."""
        return self._begun[-1][0] if self._begun else ""

    @property
    def _here(self) -> str:
        return self.loaders[-1] if self.loaders else ""

    def taken_back(self, loader: str) -> bool:
        """A document came and went again, because the page before it had begun to go elsewhere. A document that sends
        us on by itself is another thing."""
        began_in = dict(self._begun).get(self._here, "")
        if loader not in self.loaders or began_in not in self.loaders:
            return False
        return self.loaders.index(began_in) < self.loaders.index(loader) < self.loaders.index(self._here)

    def leaves_for(self, url: str) -> None:
        """We are about to send it there: no call may find the page that it leaves."""
        self.set_navigating(True)
        self.bound_for = url

    def set_navigating(self, value: bool) -> None:
        self.navigating = value
        self.bound_for = self.bound_for if value else ""
        self._signal.stir()

    @property
    def opens(self) -> bool:
        """Whether a tab that comes now may be the one that the page has asked for."""
        return bool(self._opened_at) and asyncio.get_running_loop().time() - self._opened_at < OPENS_S

    def opened(self) -> None:
        """It has come, or whatever comes now is another one."""
        self._opened_at = 0.0

    def forget_begun(self) -> None:
        """After a time in which nobody listened."""
        self._begun.clear()

    def follow(self, channel: Channel) -> None:
        """A frame in another process may send the whole tab elsewhere."""
        channel.on("Page.frameRequestedNavigation", self._requested)
        channel.on("Page.frameStartedNavigating", self._started)

    def follow_document(self, channel: Channel) -> None:
        channel.on("Network.requestWillBeSent", self._sent)

    def came(self, loader: str) -> None:
        """A document is there. One that was asked for already goes on."""
        self.loaders.append(loader)
        next_one = self._next_after(loader)
        self._network.left(loader, next_one)
        self._strayed()
        self.set_navigating(bool(next_one))

    def moved(self) -> None:
        """Within the document; that ends no way to another."""
        self.moves += 1
        self._strayed()
        self.set_navigating(bool(self._next_after(self._here)))

    def _strayed(self) -> None:
        self.strayed_at = asyncio.get_running_loop().time()

    def _next_after(self, loader: str) -> str:
        """The document that was asked for already when this one came, as may be if its page was long in letting go."""
        if loader == self.last_begun or loader not in dict(self._begun):  # who was not heard of may be the newer one
            return ""
        request = self._network.by_loader(self.last_begun)
        return self.last_begun if request and not request.done else ""

    def _requested(self, params: dict[str, Any]) -> None:
        if params["disposition"] in ("newTab", "newWindow"):
            self._opened_at = asyncio.get_running_loop().time()
        elif params["frameId"] == self._target_id and params["disposition"] == "currentTab":
            self.set_navigating(True)

    def _started(self, params: dict[str, Any]) -> None:
        if params["frameId"] == self._target_id and "ameDocument" not in params["navigationType"]:
            self._begun.append((params["loaderId"], self._here))
            self.set_navigating(True)

    def _sent(self, params: dict[str, Any]) -> None:
        """`beforeunload` is over when the request for a new document goes out; from then on the page is deaf.

        A document that is fetched ahead looks the same, but nobody is on the way to it.
        """
        if self.navigating and params["requestId"] == params["loaderId"] and params.get("frameId") == self._target_id:
            self.bound_for = params["request"]["url"]
            self._signal.stir()
