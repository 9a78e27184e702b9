"""`null` on its way through an extension: Chrome drops members that are null from what extensions send (M).

Above: relay. Below: msgspec. A function that is called with such arguments gets them as text and reads them itself.
"""

from typing import Any, cast

import msgspec

from pilothouse.cdp.decode import decode

CALL = "Runtime.callFunctionOn"


def kept(params: msgspec.Raw) -> msgspec.Raw:
    """The same call, with every null in it."""
    if b":null" not in bytes(params):
        return params
    told = decode(params)
    arguments: list[dict[str, Any]] = told.get("arguments", [])
    packed = [place for place, one in enumerate(arguments) if "value" in one and _has_null(one["value"], member=True)]
    if not packed:
        return params
    for place in packed:
        arguments[place] = {"value": msgspec.json.encode(arguments[place]["value"]).decode()}
    unpack = " || ".join(f"i === {place}" for place in packed)
    told["functionDeclaration"] = (
        f"function(...a) {{ return ({told['functionDeclaration']}\n)"
        f".apply(this, a.map((one, i) => {unpack} ? JSON.parse(one) : one)); }}"
    )
    return msgspec.Raw(msgspec.json.encode(told))


def _has_null(value: Any, *, member: bool = False) -> bool:
    """In lists they stay."""
    if value is None:
        return member
    if isinstance(value, dict):
        return any(_has_null(one, member=True) for one in cast(dict[str, Any], value).values())
    return isinstance(value, list) and any(_has_null(one) for one in cast(list[Any], value))
