"""Documents that a person is being asked about: by which tab, and of which host.

Above: intercept asks, context lets the network wait for the answer. Below: border.
"""

import asyncio

from pilothouse.browser.border import Border, Refusal
from pilothouse.browser.origins import authority_of


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
        self._newest[tab] = url
        if (asked := self._open.get((tab, url))) is None:
            asked = self._open[tab, url] = asyncio.ensure_future(border.document(url))
            asked.add_done_callback(lambda _: self._close(tab, url))
        return await asyncio.shield(asked)

    def _close(self, tab: str, url: str) -> None:
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
