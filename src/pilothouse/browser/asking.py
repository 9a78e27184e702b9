"""Documents that a person is being asked about: by which tab, and of which host.

Above: intercept asks, context lets the network wait for the answer. Below: border.
"""

import asyncio

from pilothouse.browser.border import Border, Refusal
from pilothouse.browser.origins import authority_of


class Elsewhere:
    """The refusal of a document that its tab does not wait for any more."""

    rule, line = "", ""

    def __init__(self, url: str) -> None:
        self.why = f"the tab went elsewhere before a person had said yes to {url[:200]}"


class Asking:
    """A tab is known by the id of its channel."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Task[Refusal | None]] = {}
        self._newest: dict[str, str] = {}

    def about(self, tab: str) -> str:
        """The address of its next document, if somebody is being asked about it."""
        return self._newest.get(tab, "")

    async def judged(self, border: Border, tab: str, url: str) -> Refusal | None:
        """One question for one document, in how many ways we ever hear of it."""
        self._give_up(tab, but=url)
        if border.asks(url):  # what needs no answer is judged a turn of the loop later, and nobody is being asked
            self._newest[tab] = url
        if (asked := self._open.get((tab, url))) is None:
            asked = self._open[tab, url] = asyncio.ensure_future(border.document(url))
            asked.add_done_callback(lambda done: self._close(tab, url, done))
        await asyncio.wait([asked])
        return Elsewhere(url) if asked.cancelled() else asked.result()

    def left(self, tab: str) -> None:
        """It is closed: nobody waits for any document of it."""
        self._give_up(tab)

    def _give_up(self, tab: str, but: str = "") -> None:
        """A tab goes to one place: what it was bound for before need not be answered any more."""
        for (asker, url), asked in tuple(self._open.items()):
            if asker == tab and url != but:
                self._close(tab, url, asked)
                asked.cancel()

    def _close(self, tab: str, url: str, asked: "asyncio.Future[Refusal | None]") -> None:
        if self._open.get((tab, url)) is not asked:  # it was given up, and may be asked anew
            return
        del self._open[tab, url]
        if self._newest.get(tab) == url:
            del self._newest[tab]

    async def answered(self, border: Border, host: str, port: int) -> None:
        """Until a person has said yes to a document of that host, or nobody is being asked about one."""
        while border.asks_about(host, port):
            asked = [one for (_, url), one in self._open.items() if _is_at(url, host, port)]
            if not asked:
                return
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)


def _is_at(url: str, host: str, port: int) -> bool:
    named, at = authority_of(url)
    return (named.rstrip("."), at) == (host, port)
