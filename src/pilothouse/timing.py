"""How long a call may take: one deadline for placing, waiting and running, and what is told when it has passed.

Above: gate, permitting. Below: browser, which knows why a page is silent; call, tool.
"""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any

import msgspec

from pilothouse.browser.stuck import excuse
from pilothouse.call import Visit
from pilothouse.errors import Failure
from pilothouse.tool import Tool

GRACE_S = 0.2  # a tool may end its own wait first, with the better error
SHOWING_S = 0.5  # and, where it was asked to, show the page at which the wait has ended
PROBE_S = 0.4  # a page that takes longer to say anything is stuck; both together stay below a second


class Timing:
    """`timeout_ms` is for calls of no session."""

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms

    def deadline_ms(self, visit: Visit, args: msgspec.Struct) -> int:
        """What the call or its tool says (some tools declare a default, which is then the one), else the session."""
        asked = getattr(args, "timeout_ms", None) if _times_itself(visit.tool) else None
        return _meant_ms(args) + (asked or (visit.session.options.timeout_ms if visit.session else self.timeout_ms))

    def left_s(self, visit: Visit, args: msgspec.Struct) -> float:
        return max(self.deadline_ms(visit, args) / 1000 - visit.placing_s, 0)

    @staticmethod
    def grace_s(args: msgspec.Struct) -> float:
        return SHOWING_S if getattr(args, "snapshot", None) else GRACE_S

    def expected_s(self, visit: Visit) -> float | None:
        """When it will be over at the latest, counted from its beginning, as far as that is known."""
        if visit.args is None or visit.tool is None or visit.tool.runner_name:
            return None
        return (_meant_ms(visit.args) or self.deadline_ms(visit, visit.args)) / 1000 + visit.asking_s

    async def bounded(self, visit: Visit, args: msgspec.Struct, work: Awaitable[Any]) -> Any:
        """What comes before the run shares its deadline."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.left_s(visit, args) + GRACE_S):
                return await work
        except TimeoutError:
            raise await self.too_late(visit, self.deadline_ms(visit, args) / 1000) from None
        finally:
            visit.placing_s += time.monotonic() - began

    async def too_late(self, visit: Visit, timeout_s: float) -> Failure:
        if visit.session and (absence := visit.session.absence):
            return absence
        what = f"{visit.call.tool} did not end within {timeout_s:g} s"
        if visit.tab and (why := await excuse(visit.tab, PROBE_S)):
            what += f"; {why}"
        looking = "look at the page (get_page_state), then decide"
        hint = looking if visit.session else "try again: the browser may still be starting"
        return Failure("timeout", what, suggestions=[hint])


def _times_itself(tool: Tool | None) -> bool:
    """What open_session calls `timeout_ms` is an option of the session that it opens."""
    return tool is not None and tool.needs_session


def _meant_ms(args: msgspec.Struct) -> int:
    """A wait that was asked for in so many words is no lateness."""
    return int(getattr(args, "time_ms", 0) + getattr(args, "seconds", 0) * 1000)


def shortened(args: msgspec.Struct, tool: Tool, left_s: float) -> msgspec.Struct:
    """A tool that ends its own wait must know what placing has left of it, or its better error comes too late."""
    if not _times_itself(tool) or not getattr(args, "timeout_ms", None):
        return args
    return msgspec.structs.replace(args, timeout_ms=max(int(left_s * 1000), 1))
