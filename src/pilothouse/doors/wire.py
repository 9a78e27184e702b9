"""JSON-RPC as it arrives: one checked message, or the error its sender is owed.

Above: local and http hand every line and body through here before the MCP SDK sees it, because the SDK drops
what it cannot read and a client then waits for ever. Below: nothing.
"""

import json
from typing import Any, cast

import msgspec

from pilothouse import overlong
from pilothouse.overlong import guess_id
from pilothouse.result import clean_tree

MAX_BYTES = overlong.MAX_BYTES
MAX_DEPTH = 100
MAX_ANSWERS = 100  # to questions of ours, of which a call asks one or two; each is read in several ways

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

Id = str | int
Message = dict[str, Any]


class Malformed(Exception):
    """A message that no handler will see; `reply` is what its sender reads."""

    def __init__(self, code: int, reason: str, id: Id | None = None) -> None:  # noqa: A002
        super().__init__(reason)
        self.reply = error(id, code, reason)


def error(id: Id | None, code: int, reason: str, data: Any = None) -> Message:  # noqa: A002
    body: Message = {"code": code, "message": reason}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": body}


def encode(message: Message) -> bytes:
    """One line of JSON. A lone surrogate would make the whole line unreadable, so it is replaced."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_tree(message))


def read(raw: bytes) -> Message:
    """The message of a line or body, safe to hand on, or `Malformed`."""
    message = decode(raw)
    ident = _ident(message)
    if message.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'every message needs "jsonrpc": "2.0"', ident)
    if "method" not in message:
        return _response(message, ident)
    if not isinstance(message["method"], str):
        raise Malformed(INVALID_REQUEST, '"method" must be a string', ident)
    _check_params(message.get("params", {}), ident)
    return message


def _check_params(params: Any, ident: Id | None) -> None:
    if not isinstance(params, dict):
        raise Malformed(INVALID_PARAMS, '"params" must be an object', ident)
    answers: Any = cast(Message, params).get("inputResponses")
    if isinstance(answers, dict) and len(cast(Message, answers)) > MAX_ANSWERS:
        raise Malformed(INVALID_PARAMS, f'"params.inputResponses" has at most {MAX_ANSWERS} answers', ident)
    meta: Any = cast(Message, params).get("_meta")
    if meta is None:  # so some write what is not there
        return
    if not isinstance(meta, dict):
        raise Malformed(INVALID_PARAMS, '"params._meta" must be an object', ident)
    if "progressToken" in meta and not _is_id(cast(Message, meta)["progressToken"]):
        raise Malformed(INVALID_PARAMS, '"params._meta.progressToken" must be a string or an integer', ident)


def decode(raw: bytes) -> Message:
    """The JSON object of a line or body, of bounded depth, without lone surrogates, or `Malformed`."""
    return _object(raw, _decode(raw))


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise _too_deep(guess_id(raw, raw)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_tolerantly(raw)


def _decode_tolerantly(raw: bytes) -> Any:
    """What msgspec refuses but JSON allows: lone surrogates in escapes, numbers beyond 64 bits."""
    try:
        return clean_tree(json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant))
    except RecursionError:
        raise _too_deep(guess_id(raw, raw)) from None
    except ValueError as reason:
        raise Malformed(PARSE_ERROR, f"not JSON: {str(reason)[:200]}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(raw: bytes, value: Any) -> Message:
    if isinstance(value, list):
        raise Malformed(INVALID_REQUEST, "batches are not supported: send one message at a time")
    if not isinstance(value, dict):
        raise Malformed(INVALID_REQUEST, "a message must be a JSON object")
    message = cast(Message, value)
    if nests_too_deep(raw, message):
        raise _too_deep(message["id"] if _is_id(message.get("id")) else None)
    return message


def _ident(message: Message) -> Id | None:
    """The id of a request or response; `None` for a notification."""
    if "id" not in message or _is_id(message["id"]):
        return message.get("id")
    if message["id"] is None and "error" in message:
        return None
    raise Malformed(INVALID_REQUEST, '"id" must be a string or an integer')


def _response(message: Message, ident: Id | None) -> Message:
    if ("result" in message) == ("error" in message):
        raise Malformed(INVALID_REQUEST, 'a request needs "method"; a response needs "result" or "error"', ident)
    return message


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _too_deep(ident: Id | None) -> Malformed:
    return Malformed(INVALID_REQUEST, f"the message is nested deeper than {MAX_DEPTH} levels", ident)


def nests_too_deep(raw: bytes, value: Any) -> bool:
    """Fewer brackets than the limit cannot nest deeper than it: the walk is for suspects only."""
    return raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH


def _depth(value: Any) -> int:
    depth = 0
    level: list[Any] = [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [child for node in level for child in _children(node)]
    return depth


def _children(node: Any) -> list[Any]:
    inner: list[Any] = list(cast(Message, node).values()) if isinstance(node, dict) else cast(list[Any], node)
    return [child for child in inner if isinstance(child, dict | list)]
