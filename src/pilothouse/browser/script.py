"""Run script in a page, and bring back what it gives.

Above: tools. Below: values, locate, cdp.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import Any

from pilothouse.browser.again import judge_again
from pilothouse.browser.frames import Frame
from pilothouse.browser.locate import Element, locate
from pilothouse.browser.settle import Mark, settle_script, turn
from pilothouse.browser.tab import Tab
from pilothouse.browser.values import PLAIN, Returned, kinds
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure
from pilothouse.result import quoted

# Callers' text may be long and odd: nothing here ever goes back over what it has read.
_FUNCTION = re.compile(
    r"\s*+(?:async\b\s*+)?+(?:function\b|\(?+[\w\s,{}\[\].]*+(?:=(?!>)[\w\s,{}\[\].]*+)*+\)?+\s*+=>)"
)
_BREAK = re.compile(r"[;\n}][\s;}]*+")
# A line that begins with another sign may go on with the line before it.
_BEGINS = re.compile(r"[\w$\"'{!]")
# It has no value, and what stands before it may need it.
_DECLARES = re.compile(r"(?:async\s++)?+function\b|class\b")
MOST_SPLITS = 8
MAX_THROWN = 500
PROBE_S = 0.15  # a page that is busy for longer is told of as one that does not answer


async def evaluate(
    tab: Tab, expression: str, *, target: str | list[str] | None, args: list[Any], world: str, timeout: float
) -> Any:
    """The value that `run` brings back."""
    told = await run(tab, expression, target=target, args=args, world=world, timeout=timeout)
    return told.value


async def run(
    tab: Tab, expression: str, *, target: str | list[str] | None, args: list[Any], world: str, timeout: float
) -> Returned:
    """The value of an expression or function body; a function is called with the element, then the arguments."""
    element = await locate(tab, target) if target else None
    frame = element.frame if element else tab.here
    mark = Mark(tab, frame)
    script = _Script(tab, frame, element, args, world, timeout)
    turns: list[asyncio.Future[int]] = []
    script.on_sent = lambda: turns.append(asyncio.ensure_future(turn(mark)))
    try:
        reply = await script.run(expression)
    except Failure as failure:
        _drop(turns)
        raise await _unsettled(tab, frame, failure, timeout) from None
    except BaseException:
        _drop(turns)
        raise
    # The page's next turns were asked for in one breath with the script. Answered before it, they came before its end,
    # and tell what it did before it first waited.
    behind = turns[-1] if turns else None
    done = behind.result() if behind and behind.done() and not behind.exception() else 0
    await settle_script(tab, mark, None if behind and behind.done() else behind, did=done > 0)
    return _returned(reply)


def _drop(turns: list[asyncio.Future[int]]) -> None:
    for one in turns:
        one.cancel()


async def _unsettled(tab: Tab, frame: Frame, failure: Failure, timeout: float) -> Failure:
    """A page that answers meanwhile does not hang: it is the script's own promise that nobody has kept."""
    if failure.code != "timeout" or tab.hindrance():
        return failure
    try:
        await frame.channel.send("Runtime.evaluate", expression="0", timeout=PROBE_S)
    except (Failure, ProtocolError):
        return failure
    return Failure(
        "timeout",
        f"the script's promise did not settle within {timeout:g} s; the page itself answers",
        suggestions=[
            "what was done stands, and goes on in the page: look before you repeat it",
            "give it longer (timeout_ms), or let the script return at once and wait_for what it brings",
        ],
    )


async def read(tab: Tab, expression: str, timeout: float) -> Any:
    """The value of an expression that changes nothing, in the page's own world."""
    frame = tab.here
    return _returned(await _Script(tab, frame, None, [], "page", timeout).run(expression)).value


class _Script:
    """Where and with what a caller's source is to run. It may be an expression, a function, or statements."""

    def __init__(
        self, tab: Tab, frame: Frame, element: Element | None, args: list[Any], world: str, timeout: float
    ) -> None:
        self._tab = tab
        self._frame = frame
        self._element = element
        self._args = args
        self._world = world
        self._timeout = timeout
        self._names = "element, ...args" if element else "...args"
        self.on_sent: Callable[[], None] = lambda: None

    async def run(self, source: str) -> dict[str, Any]:
        expression = source.rstrip().rstrip(";")
        declaration = self._as_expression(expression)
        reply = await self._call(declaration)
        # Script that ran and failed to parse something else must not run twice.
        if _is_syntax_error(reply) and not await self._parses(declaration):
            reply = await self._call(await self._as_statements(expression))
        return reply

    def _as_expression(self, expression: str) -> str:
        if is_function(expression):
            body = f"const f = ({expression}\n); return typeof f === 'function' ? f(...all) : f;"
            return f"async (...all) => {{ {body} }}"
        return f"async ({self._names}) => ({expression}\n)"

    async def _as_statements(self, source: str) -> str:
        """Statements give what they return, or else the value of the last one if it has one."""
        for end, is_sure in reversed(last_ends(source)):
            head, last = source[:end], source[end:]
            if _DECLARES.match(last):
                break
            declaration = f"async ({self._names}) => {{ {head} return ({last}\n) }}"
            if await self._parses(declaration) and await self._is_whole(head, is_sure):
                return declaration
        return f"async ({self._names}) => {{ {source}\n;}}"

    async def _is_whole(self, head: str, is_sure: bool) -> bool:
        """Whether statements end there: after `const f = function () {}` a call of it may follow, after
        `function f() {}` a statement of its own. No statement begins with `in`."""
        goes_on = not is_sure and await self._parses(f"async () => {{ {head}\nin 0 }}")
        return not goes_on and await self._parses(f"async () => {{ {head}\n}}")

    async def _parses(self, declaration: str) -> bool:
        reply = await self._frame.channel.send(
            "Runtime.compileScript", expression=f"({declaration})", sourceURL="", persistScript=False
        )
        return "exceptionDetails" not in reply

    async def _call(self, declaration: str) -> dict[str, Any]:
        try:
            return await self._send(declaration)
        except ProtocolError as error:
            if not _never_ran(error) or self._tab.frames.get(self._frame.id) is not self._frame:
                return _ended_by(error)
        await self._tab.signal.until(lambda: not self._tab.route.navigating, self._timeout)
        try:
            return await self._send(declaration)
        except ProtocolError as error:
            return _ended_by(error)

    async def _send(self, declaration: str) -> dict[str, Any]:
        await self._tab.frames.ready(self._frame, self._timeout)
        page = self._frame.page_context if self._world == "page" else None
        where, number = page or await self._tab.frames.guest(self._frame)
        arguments: list[dict[str, Any]] = [{"value": one} for one in self._args]
        if self._element:
            arguments.insert(0, {"objectId": await _in_context(self._element, number)})
        judge_again()
        answer = self._frame.channel.post(
            "Runtime.callFunctionOn",
            functionDeclaration=f"async (...given) => {PLAIN}(await ({declaration})(...given))",
            arguments=arguments,
            uniqueContextId=where,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
            timeout=self._timeout,
        )
        self.on_sent()
        return await answer


def is_function(expression: str) -> bool:
    """Whether it looks like one; whether it is one, the page will tell."""
    return _FUNCTION.match(expression) is not None


def last_ends(source: str) -> list[tuple[int, bool]]:
    """Where the last few statements may begin, and whether they do if what stands before is whole."""
    found: deque[tuple[int, bool]] = deque(maxlen=MOST_SPLITS)
    for one in _BREAK.finditer(source):
        if one.end() < len(source):
            signs = one[0].rstrip()
            is_new_line = "\n" in one[0][len(signs) :] and _BEGINS.match(source, one.end())
            found.append((one.end(), signs.endswith(";") or bool(is_new_line)))
    return list(found)


def _is_syntax_error(reply: dict[str, Any]) -> bool:
    details = reply.get("exceptionDetails")
    return bool(details) and details.get("exception", {}).get("className") == "SyntaxError"


def _never_ran(error: ProtocolError) -> bool:
    """The document was replaced just before the call."""
    return "uniqueContextId" in error.reason or "Cannot find context" in error.reason


def _ended_by(error: ProtocolError) -> dict[str, Any]:
    if "navigated" in error.reason or "context" in error.reason.lower():
        return {"result": {"type": "undefined"}}  # it led to another page; the result tells of that one
    raise Failure("page_error", error.reason) from error


async def _in_context(element: Element, context_id: int) -> str:
    """The same element as an object of another context of its frame."""
    handle = await element.world.handle(element.local)
    if context_id == element.world.context_id:
        return handle
    channel = element.world.channel
    node = await channel.send("DOM.describeNode", objectId=handle)
    found = await channel.send(
        "DOM.resolveNode", backendNodeId=node["node"]["backendNodeId"], executionContextId=context_id
    )
    return found["object"]["objectId"]


def _returned(reply: dict[str, Any]) -> Returned:
    if details := reply.get("exceptionDetails"):
        raise _thrown(details)
    told: dict[str, Any] = reply["result"].get("value")
    if not told:
        return Returned(None, ["undefined"])
    return Returned(told.get("value"), kinds(told.get("odd")))


def _thrown(details: dict[str, Any]) -> Failure:
    """Where it was thrown is on top of the stack; the details themselves name the place where it was awaited."""
    thrown = details.get("exception", {})
    message = str(thrown.get("description") or thrown.get("value") or details.get("text", "failed"))
    place: dict[str, Any] = next(iter(details.get("stackTrace", {}).get("callFrames", [])), details)
    where = {"line": place.get("lineNumber", 0) + 1, "column": place.get("columnNumber", 0) + 1}
    if where["line"] == 1 and not place.get("url"):
        del where["column"]  # of a line that begins with words of ours
    return Failure(
        "page_error",
        quoted(message.partition("\n    at ")[0], MAX_THROWN),
        details=where,
        suggestions=[
            f"it was thrown in line {where['line']}; what ran before that stands: correct the rest, and go on"
        ],
    )
