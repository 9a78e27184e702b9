"""The offered tabs as one caller sees them.

Above: the debug tools, the command line's door. Below: the hub, ours or a far one. What the policy forbids to read is
neither listed nor told: no page of such a host, and of other pages no request to one.
"""

import re
import time
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from msgspec.structs import replace

from pilothouse.errors import Failure
from pilothouse.hub.words import ConsoleEntry, ConsoleFilters, Missed, NetworkFilters, NetworkRequest, TabInfo

_WEB = re.compile(r"(?:http|ws)(s?://[^/?#]*)", re.IGNORECASE)  # what the policy judges; it knows no paths
RECHECK_S = 1.0  # who follows is judged again this often
_ALL = 10_000  # more than a hub keeps of a tab


class Offers(Protocol):
    """A hub, wherever it is."""

    async def listed(self, user: str) -> list[TabInfo]: ...

    async def address(self, user: str, handle: str) -> str: ...

    async def network(self, user: str, handle: str, filters: NetworkFilters) -> list[NetworkRequest]: ...

    async def console(self, user: str, handle: str, filters: ConsoleFilters) -> list[ConsoleEntry]: ...

    def followed(self, user: str, handle: str) -> AsyncGenerator[NetworkRequest | ConsoleEntry | Missed]: ...


class OwnDebug:
    def __init__(self, hub: Offers, user: str, forbids: Callable[[str], bool]) -> None:
        self._hub = hub
        self._user = user
        self._forbids = forbids

    async def tabs(self) -> tuple[list[TabInfo], int]:
        """Those that may be read, and how many others there are."""
        offered = await self._hub.listed(self._user)
        found = [one for one in offered if not self._forbids(one.url)]
        return found, len(offered) - len(found)

    async def network(self, handle: str, filters: NetworkFilters) -> tuple[list[NetworkRequest], bool]:
        """The newest of those that may be told, and whether there are older ones. What may not is none of the limit."""
        await self._check(handle)
        told = await self._requests(handle, replace(filters, limit=filters.limit + 1))
        if len(told) > filters.limit and not all(map(self._may_tell, told)):
            told = await self._requests(handle, replace(filters, limit=_ALL))
        found = list(filter(self._may_tell, told))
        return found[-filters.limit :], len(found) > filters.limit

    async def console(self, handle: str, filters: ConsoleFilters) -> tuple[list[ConsoleEntry], bool]:
        await self._check(handle)
        found = await self._hub.console(self._user, handle, replace(filters, limit=filters.limit + 1))
        return found[-filters.limit :], len(found) > filters.limit

    async def followed(self, handle: str) -> AsyncGenerator[NetworkRequest | ConsoleEntry | Missed]:
        """What happens from now on, until the tab is gone or may not be read any more."""
        await self._check(handle)
        looked_at = time.monotonic()
        async for what in self._hub.followed(self._user, handle):
            if time.monotonic() - looked_at > RECHECK_S:
                await self._check(handle)
                looked_at = time.monotonic()
            if self._may_tell(what):
                yield what

    async def _requests(self, handle: str, filters: NetworkFilters) -> list[NetworkRequest]:
        return await self._hub.network(self._user, handle, filters)

    def _may_tell(self, what: NetworkRequest | ConsoleEntry | Missed) -> bool:
        """A page may be read whose requests go to a host that may not."""
        found = _WEB.match(what.url) if isinstance(what, NetworkRequest) else None
        return found is None or not self._forbids(f"http{found[1]}")

    async def _check(self, handle: str) -> None:
        if self._forbids(await self._hub.address(self._user, handle)):
            raise Failure("denied", "the policy forbids to read this page", suggestions=["ask the user"])
