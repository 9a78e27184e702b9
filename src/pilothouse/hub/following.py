"""One kind of an offered tab's news, from the past that a tool tells into what comes, each thing once.

Above: the command line's door. Below: own, rings (the same filters as for the past).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec

from pilothouse.errors import Failure
from pilothouse.hub.own import OwnDebug
from pilothouse.hub.rings import entry_filter, request_filter
from pilothouse.hub.words import ConsoleEntry, ConsoleFilters, Missed, NetworkFilters, NetworkRequest

_log = logging.getLogger(__name__)


class Following:
    """`tool` and `args` are those of the call that tells the past. It listens from the beginning: nothing falls between
    the two."""

    def __init__(self, debug: OwnDebug, tool: str, args: dict[str, Any]) -> None:
        self._args = args
        self._wants_lines = tool.endswith("console")
        # It holds one thing: whatever else waits, waits in the hub, which counts what it leaves out.
        self._heard: asyncio.Queue[NetworkRequest | ConsoleEntry | Missed | Failure | None] = asyncio.Queue(1)
        self._listening = asyncio.create_task(self._listen(debug, str(args.get("token", ""))))

    async def _listen(self, debug: OwnDebug, handle: str) -> None:
        await self._heard.put(await self._hear(debug, handle))

    async def _hear(self, debug: OwnDebug, handle: str) -> Failure | None:
        """None when the tab is gone. Whatever else happens, nobody is to wait for what cannot come."""
        try:
            async for what in debug.followed(handle):
                if isinstance(what, Missed) or isinstance(what, ConsoleEntry) == self._wants_lines:
                    await self._heard.put(what)
        except Failure as failure:
            return failure
        except Exception:
            _log.exception("a tab cannot be followed any more")
            return Failure("system", "Pilothouse failed; its log says why", retryable=True)
        return None

    async def lines(self, past: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        told: list[dict[str, Any]] = past["entries" if self._wants_lines else "requests"]
        known = {_name(one) for one in told if self._wants_lines or "duration_ms" in one or "error" in one}
        fits = self._filter()
        for one in told:
            yield one
        while (what := await self._heard.get()) is not None:
            if isinstance(what, Failure):
                raise what
            if isinstance(what, Missed):
                yield msgspec.to_builtins(what)
                continue
            line: dict[str, Any] = msgspec.to_builtins(what)
            if fits(what) and _name(line) not in known:
                yield line

    def close(self) -> None:
        self._listening.cancel()

    def _filter(self) -> Callable[[Any], bool]:
        given = {key: value for key, value in self._args.items() if key not in ("token", "limit")}
        if self._wants_lines:
            return entry_filter(msgspec.convert(given, ConsoleFilters, strict=False))
        return request_filter(msgspec.convert(given, NetworkFilters, strict=False))


def _name(one: dict[str, Any]) -> object:
    return one.get("request_id") or (one["timestamp"], one["message"])
