"""A hidden page in which an origin's storage can be reached without visiting the site.

Above: state. Below: browser, cdp. The page belongs to no tab strip and no session's list (the browser calls its target
`other`), and every request it makes is answered here with an empty document: no byte is sent, though the browser opens
an idle connection ahead (M). M: 12 ms to open, 30 ms an origin; CDP's own storage commands only know origins that some
frame has loaded.
"""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from pilothouse.browser.browser import Context
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

TIMEOUT_S = 5.0
_READ = "(() => { try { return Object.entries(localStorage) } catch { return [] } })()"
_WRITE = "(items) => { for (const [key, value] of items) localStorage.setItem(key, value) }"

Items = list[list[str]]


class Backroom:
    def __init__(self, channel: Channel) -> None:
        self.channel = self._channel = channel
        channel.on("Fetch.requestPaused", self._answer)

    async def enter(self, origin: str) -> bool:
        """Stand at an origin; False if the browser does not let us."""
        try:
            await self._channel.send("Page.navigate", url=f"{origin}/", timeout=TIMEOUT_S)
            reply = await self._channel.send(
                "Runtime.evaluate", expression="location.origin", returnByValue=True, timeout=TIMEOUT_S
            )
        except (ProtocolError, Failure):
            return False
        return reply["result"].get("value") == origin

    async def read(self) -> Items:
        reply = await self._channel.send("Runtime.evaluate", expression=_READ, returnByValue=True, timeout=TIMEOUT_S)
        return reply["result"].get("value") or []

    async def write(self, items: Items) -> bool:
        """False if they do not fit."""
        reply = await self._channel.send("Runtime.evaluate", expression="globalThis", timeout=TIMEOUT_S)
        done = await self._channel.send(
            "Runtime.callFunctionOn",
            objectId=reply["result"]["objectId"],
            functionDeclaration=_WRITE,
            arguments=[{"value": items}],
            timeout=TIMEOUT_S,
        )
        return "exceptionDetails" not in done

    def _answer(self, params: dict[str, Any]) -> None:
        self._channel.post(
            "Fetch.fulfillRequest",
            requestId=params["requestId"],
            responseCode=200,
            responseHeaders=[{"name": "Content-Type", "value": "text/html"}],
        )


@contextlib.asynccontextmanager
async def backroom(context: Context) -> AsyncGenerator[Backroom]:
    root = context.browser.root
    reply = await root.send(
        "Target.createTarget",
        url="about:blank",
        browserContextId=context.id,
        background=True,
        hidden=True,
        timeout=TIMEOUT_S,
    )
    try:
        attached = await root.send("Target.attachToTarget", targetId=reply["targetId"], flatten=True, timeout=TIMEOUT_S)
        channel = root.child(attached["sessionId"])
        room = Backroom(channel)
        await channel.send("Fetch.enable", timeout=TIMEOUT_S)
        channel.post("Network.enable")
        channel.post("Network.setBypassServiceWorker", bypass=True)
        yield room
    finally:
        root.post("Target.closeTarget", targetId=reply["targetId"])
