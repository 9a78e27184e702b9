"""JSON from a browser, where strings may hold what JSON should not: lone surrogates.

Above: connection. Below: msgspec. Pages can put a lone surrogate into any string they control; msgspec refuses such
a frame, so those few are read by the standard library and mended.
"""

import json
import re
from typing import Any, cast

import msgspec

_SURROGATE = re.compile("[\ud800-\udfff]")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def decode(frame: bytes | msgspec.Raw) -> dict[str, Any]:
    try:
        return _decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return cast(dict[str, Any], mend(json.loads(bytes(frame).decode("utf-8", "replace"))))


def mend(value: Any) -> Any:
    """The same data with every lone surrogate replaced by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [mend(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {mend(key): mend(item) for key, item in cast(dict[Any, Any], value).items()}
    return value
