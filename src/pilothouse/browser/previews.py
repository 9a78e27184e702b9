"""How a value that a script hands over reads: short, in one line, from the preview that the browser gives of it.

Above: console. Below: result. The browser looks one level deep (into a table, two): what lies deeper is `{…}`.
"""

from typing import Any

import msgspec

from pilothouse.result import clean_tree

MOST_ITEMS = 20  # of an array, an object, a map
MOST_ROWS = 30
FUNCTION_CHARS = 60
_AT = "\n    at "


def word(remote: dict[str, Any]) -> str:
    """A `Runtime.RemoteObject`."""
    if "value" in remote:
        value = remote["value"]
        return value if isinstance(value, str) else _json(value)
    if remote.get("subtype") == "error":
        return _failure(remote.get("description", "Error"))
    if remote.get("subtype") == "node":
        return _node(remote.get("description", ""), remote.get("preview"))
    if remote.get("type") == "function":
        return _function(remote.get("description", ""))
    if remote.get("preview") and remote.get("subtype") not in ("date", "regexp"):
        return _preview(remote["preview"])
    return str(remote.get("description") or remote.get("unserializableValue") or remote.get("type", ""))


def table(remote: dict[str, Any]) -> str:
    """What `console.table` was given: a line of names, then a line for each row."""
    preview = remote.get("preview", {})
    rows = [one for one in preview.get("properties", []) if one.get("valuePreview")]
    if not rows:
        return word(remote)
    cells = [{one["name"]: _value(one) for one in row["valuePreview"].get("properties", [])} for row in rows]
    names = list(dict.fromkeys(name for row in cells for name in row))[:MOST_ITEMS]
    lines = [" | ".join(["(index)", *names])]
    for row, own in list(zip(rows, cells, strict=True))[:MOST_ROWS]:
        lines.append(" | ".join([row["name"], *(own.get(name, "") for name in names)]))
    left = len(rows) - MOST_ROWS
    if left > 0 or preview.get("overflow"):
        lines.append(f"… {preview.get('description', '')}")
    return "\n".join(lines)


def _preview(preview: dict[str, Any]) -> str:
    kind, name = preview.get("subtype", ""), preview.get("description", "")
    is_list = kind in ("array", "typedarray")
    entries, properties = preview.get("entries", []), preview.get("properties", [])
    if entries or kind in ("map", "set"):
        items = [_entry(one) for one in entries]
    elif is_list:
        if kind == "typedarray":  # the browser also tells of the buffer behind it
            properties = [one for one in properties if one["name"].isdigit()]
        items = [_value(one) if one["name"].isdigit() else f"{one['name']}: {_value(one)}" for one in properties]
    else:
        items = [f"{one['name']}: {_value(one)}" for one in properties]
    more = preview.get("overflow") or len(items) > MOST_ITEMS
    inner = ", ".join([*items[:MOST_ITEMS], *(["…"] if more else [])])
    if not is_list:
        return f"{'' if name == 'Object' else f'{name} '}{{{inner}}}"
    return f"[{inner}]" if name.startswith("Array(") and not more else f"{name} [{inner}]"


def _value(item: dict[str, Any]) -> str:
    """A property: what it holds is told by a few words of the browser's, or by a preview of its own."""
    if inner := item.get("valuePreview"):
        return _preview(inner)
    kind, subtype, said = item.get("type", ""), item.get("subtype", ""), item.get("value", "")
    if kind == "string":
        return _json(said)
    if kind in ("function", "accessor"):
        return "function" if kind == "function" else "getter"
    if subtype == "node":
        return _node(said, None)
    if subtype == "error":
        return said.partition("\n")[0]
    if kind == "object" and not subtype:
        return "{…}" if said == "Object" else f"{said} {{…}}"
    return said


def _entry(item: dict[str, Any]) -> str:
    value = _held(item["value"])
    return f"{_held(item['key'])} => {value}" if "key" in item else value


def _held(preview: dict[str, Any]) -> str:
    """A key or a value of a map: always a preview, of plain values too."""
    if preview.get("type") == "object" and preview.get("subtype") not in ("null", "node", "error", "date", "regexp"):
        return _preview(preview)
    return _value({**preview, "value": preview.get("description", "")})


def _node(description: str, preview: dict[str, Any] | None) -> str:
    """`button#go.wide` is how the browser says it."""
    if not description.startswith("#"):
        return f"<{description}>" if description and not description.startswith("<") else description
    held = next((one for one in (preview or {}).get("properties", []) if one["name"] == "data"), None)
    return f"{description} {_json(held.get('value', ''))}" if held else description


def _failure(description: str) -> str:
    """What it says, and where it was made: the first line of its stack."""
    said, at, stack = description.partition(_AT)
    return said + at + stack.partition("\n")[0]


def _function(description: str) -> str:
    line = " ".join(description.split())
    return line if len(line) <= FUNCTION_CHARS else line[: FUNCTION_CHARS - 1] + "…"


def _json(value: Any) -> str:
    """What cannot be seen goes before it is written as an escape, which can."""
    return msgspec.json.encode(clean_tree(value)).decode()
