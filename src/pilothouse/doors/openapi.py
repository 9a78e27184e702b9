"""The OpenAPI 3.1 document of the REST door, made from the tools' declarations.

Above: rest serves it. Below: places says where each tool is, errors what can go wrong. Here schemas say everything
that is checked, bounds included: nobody pays for them in tokens.
"""

from typing import Any, cast, get_args, get_type_hints

import msgspec

from pilothouse import __version__
from pilothouse.doors.places import Places, id_name, methods, path_of, takes
from pilothouse.errors import CODES
from pilothouse.tool import Registry, Tool

Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"
_ABOUT = (
    "Every tool of Pilothouse as one call. `{id}` is a session's handle or a profile's id; `default` or `-` your own "
    "session, which is opened if there is none. Without an address of a session, at /api/tools/{tool}, the header "
    "X-Instance-ID names it. Send the agent key as a bearer token or as X-API-Key. Tools that only read answer to GET "
    "too, with their arguments in the query. `Accept: image/*`, application/pdf or application/octet-stream gives the "
    "picture or file itself, `Accept: text/event-stream` the progress and then the answer. A WebSocket at "
    "/api/browser/{id}/follow tells what happens in a session; `?kinds=console,network,events` says what of it."
)
# What HTTP itself refuses, before or beside a tool.
REFUSALS = {
    405: "The address does not take that method; `Allow` says which it takes.",
    406: "There is no answer of a kind that `Accept` names.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "The Host is not ours.",
    431: "The address and headers are too long: send long arguments by POST.",
}


def document(registry: Registry) -> Schema:
    tools = list(registry)
    arguments, results, shared = _schemas(tools)
    paths: Schema = {}
    for tool in tools:
        paths[path_of(tool)] = _path(tool, arguments[tool.name], results[tool.name])
    for path, by_method in Places(registry).shortcuts().items():
        paths[f"/api/{path}"] = {
            method.lower(): _shortcut(method, path, tool, arguments[tool.name], results[tool.name])
            for method, tool in by_method.items()
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pilothouse", "version": __version__, "description": _ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"key": []}],
        "tags": [{"name": group} for group in dict.fromkeys([*(tool.group for tool in tools), "door"])],
        "paths": paths | _own_paths(),
        "components": {
            "schemas": shared | _ENVELOPE,
            "responses": _error_responses(),
            "parameters": {"Tab": _TAB, "Session": _SESSION},
            "securitySchemes": _SECURITY,
        },
    }


def listed(tool: Tool) -> Schema:
    """A tool as GET /api/tools tells it."""
    return {
        "name": tool.name,
        "set": tool.group,
        "core": tool.core,
        "access": tool.access.value,
        "description": tool.description,
        "path": path_of(tool),
        "methods": list(methods(tool)),
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "example": tool.example,
        "aliases": list(tool.aliases),
    }


def _schemas(tools: list[Tool]) -> tuple[dict[str, Schema], dict[str, Schema], Schema]:
    """The arguments and results of each tool by its name, and what they share."""
    data = [get_args(get_type_hints(tool.handler)["return"])[0] for tool in tools]
    models = [*(tool.arguments for tool in tools), *data]
    schemas, shared = msgspec.json.schema_components(models, ref_template=_REF)
    arguments: dict[str, Schema] = {}
    for tool, schema in zip(tools, schemas, strict=False):
        arguments[tool.name] = shared.pop(schema["$ref"].rpartition("/")[2])  # used once: it stands where it is used
    results = {tool.name: schema for tool, schema in zip(tools, schemas[len(tools) :], strict=True)}
    return arguments, results, shared


def _path(tool: Tool, arguments: Schema, result: Schema) -> Schema:
    on_session = takes(tool, "session")
    arguments = _without(arguments, "session") if on_session else arguments
    path: Schema = {"parameters": [{"$ref": "#/components/parameters/Session"}]} if on_session else {}
    for method in methods(tool):
        operation = _operation(tool, method, arguments, result)
        path[method.lower()] = operation
    return path


def _shortcut(method: str, path: str, tool: Tool, arguments: Schema, result: Schema) -> Schema:
    name = f"{method.lower()}_{path.partition('/')[0]}{'_one' if '{id}' in path else ''}"
    if "{id}" not in path:
        return _operation(tool, method, arguments, result) | {"operationId": name}
    operation = _operation(tool, method, _without(arguments, id_name(tool)), result)
    which = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    return operation | {"operationId": name, "parameters": [which, *operation["parameters"]]}


def _without(arguments: Schema, name: str) -> Schema:
    """The address gives this one."""
    properties = {key: value for key, value in arguments["properties"].items() if key != name}
    required = [key for key in arguments.get("required", []) if key != name]
    return {**arguments, "properties": properties, "required": required}


def _operation(tool: Tool, method: str, arguments: Schema, result: Schema) -> Schema:
    by_query = method in ("GET", "DELETE")
    operation: Schema = {
        "operationId": f"{tool.name}.{method.lower()}" if by_query else tool.name,
        "summary": tool.description,
        "tags": [tool.group],
        "parameters": _query(tool, arguments) if by_query else [],
        "responses": {"200": _success(tool, result)} | _ERRORS,
        "x-access": tool.access.value,
        "x-core": tool.core,
    }
    if takes(tool, "tab"):
        operation["parameters"].append({"$ref": "#/components/parameters/Tab"})
    if not by_query:
        example = {name: value for name, value in tool.example.items() if name in arguments["properties"]}
        content = {"application/json": {"schema": _plain(arguments), "example": example}}
        operation["requestBody"] = {"required": bool(arguments.get("required")), "content": content}
    return operation


def _plain(arguments: Schema) -> Schema:
    return {key: value for key, value in arguments.items() if key != "title" and value != []}


def _query(tool: Tool, arguments: Schema) -> list[Schema]:
    required = arguments.get("required", [])
    parameters: list[Schema] = []
    for name, schema in cast(dict[str, Schema], arguments["properties"]).items():
        if name in tool.sensitive:
            continue
        parameter: Schema = {"name": name, "in": "query", "required": name in required}
        if description := schema.get("description"):
            parameter["description"] = description
        if tool.input_schema["properties"].get(name, {}).get("type") in ("object", None):
            parameter["content"] = {"application/json": {"schema": schema}}
        else:
            parameter["schema"] = schema
        if name in tool.example:
            parameter["example"] = tool.example[name]
        parameters.append(parameter)
    return parameters


def _success(tool: Tool, result: Schema) -> Schema:
    envelope: Schema = {"allOf": [{"$ref": _REF.format(name="Success")}, {"properties": {"data": result}}]}
    content: Schema = {"application/json": {"schema": envelope}}
    return {"description": f"What {tool.name} answered.", "content": content}


def _error_responses() -> Schema:
    meanings: dict[int, list[str]] = {status: [text] for status, text in REFUSALS.items()}
    for code, kind in CODES.items():
        meanings.setdefault(kind.status, []).append(f"`{code}`: {kind.meaning}")
    content = {"application/json": {"schema": {"$ref": _REF.format(name="Refusal")}}}
    return {
        str(status): {"description": " ".join(texts), "content": content} for status, texts in sorted(meanings.items())
    }


_ERRORS: Schema = {name: {"$ref": f"#/components/responses/{name}"} for name in _error_responses()}


def _own_paths() -> Schema:
    """What is there beside the tools."""
    plain: Schema = {"type": "object"}
    return {
        "/api/health": {"get": _own("health", "Whether the daemon is there.", plain) | {"security": []}},
        "/api/tools": {
            "get": _own("list_tools", "Every tool with its schemas.", {"$ref": _REF.format(name="Success")})
        },
        "/api/openapi.json": {"get": _own("openapi", "This document.", plain)},
    }


def _own(name: str, summary: str, schema: Schema) -> Schema:
    answer: Schema = {"description": summary, "content": {"application/json": {"schema": schema}}}
    refs = {status: _ERRORS[status] for status in ("401", "403", "405", "421")}
    return {"operationId": name, "summary": summary, "tags": ["door"], "responses": {"200": answer} | refs}


_TAB: Schema = {
    "name": "X-Tab-ID",
    "in": "header",
    "description": "The tab, if the arguments name none.",
    "schema": {"type": "string"},
}
_SESSION: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "A session's handle, a profile's id, or `default` for your own.",
    "schema": {"type": "string", "minLength": 1},
    "example": "default",
}
_SECURITY: Schema = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_METADATA: Schema = {
    "type": "object",
    "properties": {
        "tool": {"type": "string"},
        "duration_ms": {"type": "number"},
        "session": {"type": "string"},
        "timestamp": {"type": "integer", "description": "milliseconds since 1970"},
        "text": {"type": "string", "description": "the answer as an agent reads it"},
    },
}
_IMAGE: Schema = {
    "type": "object",
    "properties": {"mime_type": {"type": "string"}, "data": {"type": "string", "contentEncoding": "base64"}},
    "required": ["mime_type", "data"],
}
_ENVELOPE: Schema = {
    "Success": {
        "type": "object",
        "properties": {
            "success": {"const": True},
            "data": {"type": "object"},
            "images": {"type": "array", "items": _IMAGE},
            "metadata": _METADATA,
        },
        "required": ["success", "data", "metadata"],
    },
    "Refusal": {
        "type": "object",
        "properties": {
            "success": {"const": False},
            "error": {"$ref": _REF.format(name="Error")},
            "images": {"type": "array", "items": _IMAGE, "description": "of a batch's steps that were done"},
            "metadata": _METADATA,
        },
        "required": ["success", "error", "metadata"],
    },
    "Error": {
        "type": "object",
        "properties": {
            "code": {"enum": list(CODES)},
            "category": {"type": "string"},
            "message": {"type": "string"},
            "details": {"type": "object"},
            "suggestions": {"type": "array", "items": {"type": "string"}},
            "retryable": {"type": "boolean"},
            "metadata": {"type": "object"},
        },
        "required": ["code", "category", "message", "details", "suggestions", "retryable", "metadata"],
    },
}
