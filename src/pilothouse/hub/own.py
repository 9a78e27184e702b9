"""The offered tabs as one caller sees them.

Above: the debug tools. Below: hub. What the policy forbids to read is neither listed nor told.
"""

from collections.abc import Callable

from pilothouse.errors import Failure
from pilothouse.hub.hub import Hub
from pilothouse.hub.words import ConsoleEntry, ConsoleFilters, NetworkFilters, NetworkRequest, TabInfo


class OwnDebug:
    def __init__(self, hub: Hub, user: str, forbids: Callable[[str], bool]) -> None:
        self._hub = hub
        self._user = user
        self._forbids = forbids

    def tabs(self) -> list[TabInfo]:
        return [one for one in self._hub.tabs(self._user) if not self._forbids(one.url)]

    async def network(self, handle: str, filters: NetworkFilters) -> list[NetworkRequest]:
        self._check(handle)
        return await self._hub.network(self._user, handle, filters)

    async def console(self, handle: str, filters: ConsoleFilters) -> list[ConsoleEntry]:
        self._check(handle)
        return await self._hub.console(self._user, handle, filters)

    def _check(self, handle: str) -> None:
        if self._forbids(self._hub.tab(self._user, handle).url):
            raise Failure("denied", "the policy forbids to read this page", suggestions=["ask the user"])
