"""JSON Schemas that cost few tokens and say the whole truth.

Above: tool. Below: nothing. msgspec writes the schema; here it loses what no reader needs: titles, defaults, bounds
(a refusal names them), indirection, that a number or a list of alternatives may stand where a string is asked for
(where a boolean may too, all kinds are told: a list there is no alternative), and, for results, what is not always
there or lies deeper than one level. The core list costs 3,000 tokens, not 4,000.
"""

import re
from typing import Any, cast

import msgspec

Schema = dict[str, Any]

_UNREAD = {
    "title", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "additionalProperties",
}  # fmt: skip
_STRING, _BOOLEAN, _NUMBER, _INTEGER = ({"type": kind} for kind in ("string", "boolean", "number", "integer"))


def input_schema(arguments: type[msgspec.Struct]) -> Schema:
    schema = _inline(arguments)
    return {**schema, "additionalProperties": False}


def output_schema(data: Any) -> Schema:
    """Names and kinds of the top-level fields that are always there."""
    schema = _inline(data)
    always = schema.get("required", [])
    properties = {name: _shallow(one) for name, one in schema.get("properties", {}).items() if name in always}
    return {"type": "object", "properties": properties} if properties else {"type": "object"}


def within(schema: Schema, path: str) -> Schema:
    """What stands at a place as msgspec names it (`steps[0].args`); empty where nothing is described."""
    for name, index in re.findall(r"(\w+)|(\[[^\]]*\])", path):
        schema = schema.get("items", {}) if index else schema.get("properties", {}).get(name, {})
    return schema if path else {}


def _inline(model: Any) -> Schema:
    (schema,), definitions = msgspec.json.schema_components([model], ref_template="{name}")
    return cast(Schema, _compact(schema, definitions))


def _compact(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions) for item in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    schema = cast(Schema, node)
    if name := schema.get("$ref"):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return cast(Schema, _compact(definitions[name], definitions)) | rest
    compact: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            compact[key] = {name: _compact(one, definitions) for name, one in cast(Schema, value).items()}
        elif key not in _UNREAD and not (key == "required" and not value):
            compact[key] = value if key in ("enum", "required") else _compact(value, definitions)
    if "enum" in compact and all(isinstance(one, str) for one in compact["enum"]):
        compact["type"] = "string"
    if "anyOf" in compact:
        return _plainer(compact)
    return compact


def _plainer(schema: Schema) -> Schema:
    """An optional argument is one that may be left out; nobody needs to read that it may be null too."""
    options = [option for option in schema["anyOf"] if option.get("type") != "null"]
    if _NUMBER in options:
        options = [option for option in options if option != _INTEGER]
    if _STRING in options and _BOOLEAN not in options:
        options = [_STRING]
    if len(options) > 1:
        return {**schema, "anyOf": options}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**options[0], **rest}


def _shallow(schema: Schema) -> Schema:
    kind = schema.get("type")
    return {"type": kind} if kind else {}
