"""Our own JavaScript in a page: an isolated world in every frame, and calls into it.

Above: entrance, snapshot, locate, input, fill, settle. Below: cdp. The page cannot see this world. It begins with
`world/title.js`; `world/herald.js` runs in the page's own. The other files are joined into one script, the walker,
which comes with the first call: parsed in every document before it loads, it would hold up pages that nobody asks about
(M: 2 to 3 ms).
"""

import asyncio
import functools
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

NAME = "pilothouse"
GUEST = "pilothouse-guest"  # for callers' script: who could change the walker would decide what the policy sees
FIRST = "title.js"
HERALD = "herald.js"
_FOLDER = resources.files("pilothouse.browser") / "world"
CALL_TIMEOUT_S = 30.0
_COMMENT = re.compile(r"(^|\s)\s*// .*$")  # no text and no pattern of ours has two strokes between blanks
_TEXT = re.compile(r"[\"'`/]")  # or a pattern: blanks in it count
_BLANKS = re.compile(r" ?([{}()\[\],;:?=<>|&!*]) ?")


@functools.cache
def source() -> str:
    """The walker."""
    return _once("ph", _joined(name for name in _rooms() if name not in (FIRST, HERALD)))


@functools.cache
def first() -> str:
    """What a document's world begins with."""
    return _once("phFirst", _joined([FIRST]))


def herald(name: str) -> str:
    """Tells the title of a page from the page's own world, by the function of that name."""
    return f'{_herald()}("{name}")'


@functools.cache
def _herald() -> str:
    return f'((name) => {{ "use strict";\n{_joined([HERALD])}\n}})'


def _once(name: str, body: str) -> str:
    """A page names its own elements in every world's window (<form name=ph>): only a property of our own counts."""
    there = f'Object.hasOwn(globalThis, "{name}")'
    put = f'Object.defineProperty(globalThis, "{name}", {{value: {name}}})'
    return f'(() => {{ "use strict"; if ({there}) return; const {name} = {{}};\n{body}\n{put}; }})()'


def _rooms() -> list[str]:
    return sorted(file.name for file in _FOLDER.iterdir() if file.name.endswith(".js"))


def _joined(names: Iterable[str]) -> str:
    """Comments and blanks are for us; every document would have to parse them again."""
    lines = [
        _COMMENT.sub("", line).strip() for name in names for line in (_FOLDER / name).read_text("utf-8").splitlines()
    ]
    return "\n".join(line if _TEXT.search(line) else _BLANKS.sub(r"\1", line) for line in lines if line)


class WorldGone(Exception):
    """The document was replaced during the call. Whoever asked decides whether to ask its successor."""


class World:
    """One document's isolated world. `uid` names the document for as long as the browser keeps it."""

    def __init__(self, channel: Channel, uid: str, context_id: int, frame_id: str) -> None:
        self.channel = channel
        self.uid = uid
        self.context_id = context_id
        self.frame_id = frame_id
        self._furnished = False
        self.opened: set[int] = set()  # hosts whose closed shadow roots were looked for

    async def call(self, function: str, *args: Any, timeout: float = CALL_TIMEOUT_S) -> Any:
        """`ph.<function>(...args)`, its answer as plain data."""
        return await self.run(f"(...a) => ph.{function}(...a)", *args, timeout=timeout)

    def post(self, function: str) -> None:
        """`ph.<function>()`, after whatever was called before; nobody waits for it."""
        declaration = f"() => {{ ph.{function}(); }}"
        self.channel.post("Runtime.callFunctionOn", functionDeclaration=declaration, uniqueContextId=self.uid)

    async def run(self, declaration: str, *args: Any, timeout: float = CALL_TIMEOUT_S) -> Any:
        """Like `call`, for a function that is too rarely needed to be put into every document."""
        reply = await self._call(declaration, [{"value": arg} for arg in args], by_value=True, timeout=timeout)
        return reply.get("value")

    async def handle(self, local: int) -> str:
        """A remote object id of the element that a local ref names, for the commands that need one."""
        reply = await self._call("(n) => ph.element(n)", [{"value": local}], by_value=False, timeout=CALL_TIMEOUT_S)
        if "objectId" not in reply:
            raise Failure("stale_ref", "the element is gone")
        return reply["objectId"]

    async def call_with(self, function: str, *object_ids: str) -> Any:
        """Like `call`, with elements as arguments."""
        arguments = [{"objectId": object_id} for object_id in object_ids]
        reply = await self._call(f"(...a) => ph.{function}(...a)", arguments, by_value=True, timeout=CALL_TIMEOUT_S)
        return reply.get("value")

    async def _call(
        self,
        declaration: str,
        arguments: list[dict[str, Any]],
        *,
        by_value: bool,
        timeout: float,
    ) -> dict[str, Any]:
        self.furnish()
        try:
            reply = await self.channel.send(
                "Runtime.callFunctionOn",
                functionDeclaration=declaration,
                arguments=arguments,
                uniqueContextId=self.uid,
                returnByValue=by_value,
                awaitPromise=True,
                timeout=timeout,
            )
        except ProtocolError as error:
            raise WorldGone(error.reason) from error
        except Failure as failure:
            if failure.code == "timeout":
                failure.message = f"the page did not answer within {timeout:g} s"
                failure.suggestions = ["try again", "if its script hangs: reload, or navigate elsewhere"]
            raise
        details = reply.get("exceptionDetails")
        if details:
            raise Failure("system", f"the page could not be read: {_reason(details)}")
        return reply["result"]

    def furnish(self) -> None:
        """Bring the walker in, once; commands of one channel run in their order, so nobody has to wait for it."""
        if not self._furnished:
            self._furnished = True
            reply = self.channel.post("Runtime.evaluate", expression=source(), uniqueContextId=self.uid, steadfast=True)
            reply.add_done_callback(self._brought_in)

    def _brought_in(self, reply: asyncio.Future[dict[str, Any]]) -> None:
        """A script that is broken off in a hung page may take the walker with it: the next call brings it again."""
        if reply.cancelled() or reply.exception() or "exceptionDetails" in reply.result():
            self._furnished = False


def _reason(details: dict[str, Any]) -> str:
    thrown = details.get("exception", {})
    return str(thrown.get("description") or thrown.get("value") or details.get("text", ""))[:300]
