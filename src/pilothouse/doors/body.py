"""Arguments as they arrive over REST: a JSON object in the body, or the query of an address.

Above: rest. Below: wire, whose bounds hold here too. Everything that is no plain JSON object is `bad_request`.
"""

import json
import math
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec

from pilothouse.doors import wire
from pilothouse.errors import Failure
from pilothouse.tool import Tool

Args = dict[str, Any]

MAX_FIELDS = 200


def read(raw: bytes) -> Args:
    """The object in a body. An empty body has no arguments."""
    if not raw.strip():
        return {}
    value = _decoded(raw)
    if not isinstance(value, dict):
        raise Failure("bad_request", "the body must be a JSON object", suggestions=['send {"argument": "value"}'])
    if wire.nests_too_deep(raw, value):
        raise _too_deep()
    if b"\\u" in raw:
        _refuse_surrogates(value)
    return cast(Args, value)


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
        )
    except RecursionError:
        raise _too_deep() from None
    except ValueError as reason:
        raise Failure("bad_request", f"the body is not JSON: {str(reason)[:200]}") from None


def _unique(pairs: list[tuple[str, Any]]) -> Args:
    """Of two values under one name nobody knows which one was meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _refuse_surrogates(value: Any) -> None:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise Failure("bad_request", "a text has half of a surrogate pair: that is no Unicode") from None
    except (OverflowError, TypeError):  # numbers beyond 64 bits: the tool's own schema judges them
        return


def _too_deep() -> Failure:
    return Failure("bad_request", f"the body is nested deeper than {wire.MAX_DEPTH} levels")


def query(raw: bytes, tool: Tool) -> Args:
    """The arguments in a query: a name that stands twice is a list, objects are JSON."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Failure("bad_request", "the query is not text in UTF-8") from None
    args: Args = {}
    for name, text in pairs:
        value = _value(text, tool.input_schema["properties"].get(name, {}))
        args[name] = [*_listed(args[name]), *_listed(value)] if name in args else value
    if forbidden := sorted(tool.sensitive & {tool.synonyms.get(name, name) for name in args}):
        raise Failure("bad_request", f"{tool.name}: {', '.join(forbidden)} is taken by POST only")
    return args


def _listed(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _value(text: str, schema: dict[str, Any]) -> Any:
    if schema.get("type") == "string" or not text.startswith(("{", "[")):
        return text
    return read(b'{"value":' + text.encode("utf-8", "surrogatepass") + b"}")["value"]
