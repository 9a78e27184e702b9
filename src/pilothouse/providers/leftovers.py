"""A tab that the debugger held before we came: let go of as the extension itself would do it.

Above: link. Below: link's verbs. A document that waits for a person's word would go on as soon as the debugger is gone,
so the tab stops loading first.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from pilothouse.errors import Failure

if TYPE_CHECKING:
    from pilothouse.providers.link import Link

STOP_S = 0.5  # a tab that takes longer is let go as it is
DETACH_S = 5.0


async def let_go(link: "Link", tab_id: int) -> None:
    """Over in any case: one that is closed, or not shared any more, is held by nobody."""
    stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def said(*_: Any) -> None:
        if not stopped.done():
            stopped.set_result(None)

    link.post_raw(tab_id, "Page.stopLoading", {}, timeout=STOP_S, reply=said)
    await stopped
    try:
        await link.post("detach", {"tabId": tab_id}, timeout=DETACH_S)
    except Failure:
        return
