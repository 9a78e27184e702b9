"""Shared and service workers of a context. They belong to no tab, so a tab of their origin keeps their requests,
and they pretend what it pretends.

Above: browser. Below: tab, cdp.
"""

from typing import Any, Protocol
from urllib.parse import urlsplit

from pilothouse.browser.guise import PLAIN, put_on
from pilothouse.browser.intercept import Asker, Intercept
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import Channel


class Place(Protocol):
    """What they need to know of their context."""

    @property
    def tabs(self) -> list[Tab]: ...
    @property
    def intercept(self) -> Intercept: ...


class Workers:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._known: dict[str, tuple[Channel, dict[str, Any], Tab | None]] = {}

    @property
    def present(self) -> bool:
        return bool(self._known)

    def of(self, tab: Tab) -> list[Channel]:
        """Those that the tab stands for."""
        return [channel for channel, _, host in self._known.values() if host is tab]

    def attached(self, target: dict[str, Any], channel: Channel) -> None:
        """One that waits to run: who asks for what is known from its first request on."""
        host = self._host(target["url"])
        self._known[channel.id] = (channel, target, host)
        if host:
            host.follow_network(channel, target["type"], page=target["url"])
            put_on(channel, host.guise, over=PLAIN, kind="lone_worker")
        else:
            shared = target["url"] if target["type"] == "shared_worker" else ""
            lasting = target["type"] == "service_worker"
            asker = Asker(_tell_nobody, lambda: [target["url"]], shared=shared, lasting=lasting)
            channel.post("Network.enable")
            self._place.intercept.join(channel, asker, early=True)

    def detached(self, session_id: str) -> None:
        if known := self._known.pop(session_id, None):
            channel, _, host = known
            self._place.intercept.leave(channel)
            if host:
                host.network.ended(channel)

    def orphaned(self, tab: Tab) -> None:
        """The tab that kept their requests is closed: another of their origin goes on with it."""
        for channel, target, host in tuple(self._known.values()):
            heir = self._host(target["url"]) if host is tab else None
            if heir:
                self._known[channel.id] = (channel, target, heir)
                heir.network.follow(channel, target["type"])
                put_on(channel, heir.guise, over=tab.guise, kind="lone_worker")

    def _host(self, url: str) -> Tab | None:
        tabs = [tab for tab in self._place.tabs if not tab.closed]
        same = [tab for tab in tabs if _origin(tab.url) == _origin(url)]
        return next(iter([*reversed(same), *reversed(tabs)]), None)


def _tell_nobody(browser_id: str, url: str, said: str, *, blocked: bool) -> None:
    """There is no tab yet whose log could tell of it."""


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url.removeprefix("blob:"))
    except ValueError:
        return ("", "")
    return (parts.scheme, parts.netloc.rpartition("@")[2])
