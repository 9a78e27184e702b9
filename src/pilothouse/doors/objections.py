"""What is wrong with an MCP request over HTTP beside its message; and the SDK's refusals, none of them without a word.

Above: http, before and after the SDK. Below: wire.
"""

from http import HTTPStatus
from typing import Any, cast

import msgspec
from starlette.datastructures import Headers
from starlette.types import Message, Send

from pilothouse.doors import wire

# Of two values each side could take another one.
_ONCE = ("mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id")
_WORDS = {
    405: "this generation of MCP has POST only",
    406: "the client must accept both application/json and text/event-stream",
}


def given_twice(headers: Headers) -> str:
    """Why its headers are ambiguous, if they are."""
    name = next((name for name in _ONCE if len(headers.getlist(name)) > 1), "")
    return f"the header {name} is given more than once" if name else ""


def worded(send: Send, message: wire.Message) -> Send:
    """The SDK refuses some requests without a word, and some without the id that their sender waits for."""
    head: Message | None = None
    said = b""

    async def sent(event: Message) -> None:
        nonlocal head, said
        if event["type"] == "http.response.start" and event["status"] >= 400:
            head = event
        elif head is None:
            await send(event)
        else:
            said += event.get("body", b"")
            if not event.get("more_body", False):
                body = _completed(said, head["status"], message)
                await send(head if body is said else {**head, "headers": _headers(head, body)})
                await send({"type": "http.response.body", "body": body})

    return sent


def _completed(said: bytes, status: int, message: wire.Message) -> bytes:
    ident = message.get("id") if "method" in message else None
    if not said:
        told = f"{HTTPStatus(status).phrase}: {_WORDS.get(status, 'the request was refused')}"
        return wire.encode(wire.error(ident, wire.INVALID_REQUEST, told))
    try:
        reply: Any = msgspec.json.decode(said)
    except msgspec.DecodeError:
        return said
    is_nameless = isinstance(reply, dict) and "error" in reply and cast(wire.Message, reply).get("id") is None
    return wire.encode({**cast(wire.Message, reply), "id": ident}) if is_nameless else said


def _headers(head: Message, body: bytes) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in head["headers"] if name not in (b"content-length", b"content-type")]
    return [*kept, (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
