"""Run script in a page, and bring back what it gives.

Above: tools. Below: locate, cdp.
"""

import re
from typing import Any

from pilothouse.browser.locate import Element, locate
from pilothouse.browser.settle import Mark, settle_script
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

_FUNCTION = re.compile(r"\s*(async\b\s*)?(function\b|\(?[\w\s,{}\[\]=.]*\)?\s*=>)")


async def evaluate(
    tab: Tab, expression: str, *, target: str | list[str] | None, args: list[Any], world: str, timeout: float
) -> Any:
    """The value of an expression or function body; a function is called with the element, then the arguments."""
    frame = tab.frame or tab.frames.main
    element = await locate(tab, target) if target else None
    if element:
        frame = element.frame
    inner = await tab.frames.ready(frame, timeout)
    own = (inner.uid, inner.context_id)
    where, number = own if world == "isolated" else frame.page_context or own
    arguments: list[dict[str, Any]] = [{"value": one} for one in args]
    if element:
        arguments.insert(0, {"objectId": await _in_context(element, number)})
    mark = Mark(tab, frame)
    reply = await _run(frame.channel, _declaration(expression, with_element=bool(element)), arguments, where, timeout)
    if _illegal(reply):
        body = _declaration(expression, with_element=bool(element), body=True)
        reply = await _run(frame.channel, body, arguments, where, timeout)
    await settle_script(tab, mark)
    return _value(reply)


def _declaration(expression: str, *, with_element: bool, body: bool = False) -> str:
    """Source of a function: the caller's own, one that returns the expression, or one made of its statements."""
    names = "element, ...args" if with_element else "...args"
    if body:
        return f"async ({names}) => {{ {expression}\n}}"
    if _FUNCTION.match(expression):
        return f"async (...all) => {{ const f = ({expression}\n); return typeof f === 'function' ? f(...all) : f; }}"
    return f"async ({names}) => ({expression}\n)"


def _illegal(reply: dict[str, Any]) -> bool:
    """It did not parse as an expression: statements, then."""
    details = reply.get("exceptionDetails")
    return bool(details) and details.get("exception", {}).get("className") == "SyntaxError"


async def _run(
    channel: Channel, declaration: str, arguments: list[dict[str, Any]], where: str, timeout: float
) -> dict[str, Any]:
    try:
        return await channel.send(
            "Runtime.callFunctionOn",
            functionDeclaration=declaration,
            arguments=arguments,
            uniqueContextId=where,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
            timeout=timeout,
        )
    except ProtocolError as error:
        if "chain is too long" in error.reason or "could not be returned" in error.reason:
            raise Failure(
                "page_error",
                "the value cannot be turned into JSON",
                suggestions=["return only the fields you need"],
            ) from None
        if "navigated" in error.reason or "context" in error.reason:
            return {"result": {"type": "undefined"}, "left": True}
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


def _value(reply: dict[str, Any]) -> Any:
    if details := reply.get("exceptionDetails"):
        thrown = details.get("exception", {})
        message = str(thrown.get("description") or thrown.get("value") or details.get("text", "failed"))
        raise Failure(
            "page_error",
            message.partition("\n    at ")[0][:1000],
            details={"line": details.get("lineNumber", 0) + 1, "column": details.get("columnNumber", 0) + 1},
        )
    result = reply["result"]
    if "value" in result:
        return result["value"]
    return result.get("unserializableValue") or result.get("description")
