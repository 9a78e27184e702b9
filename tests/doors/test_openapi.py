"""E06, C04: the OpenAPI document is valid, complete, and true to the declarations of the real tools."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import pilothouse.tools
from pilothouse.doors.openapi import document
from pilothouse.doors.places import path_of
from pilothouse.errors import CODES
from pilothouse.tool import Access, Registry, Tool, declared
from tests.promises import promise

from .rest_gate import PROFILE_TOOLS

pytestmark = promise("E06", "C04")

for module in pkgutil.iter_modules(pilothouse.tools.__path__):
    importlib.import_module(f"pilothouse.tools.{module.name}")
TOOLS = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.")]
DOCUMENT = document(Registry(TOOLS))
METHODS = ("get", "post", "put", "patch", "delete")


def operations(whole: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    for path, item in whole["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item, item[method]


def refs(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from refs(child)
    elif isinstance(node, list):
        for child in node:
            yield from refs(child)


def resolved(ref: str) -> Any:
    node: Any = DOCUMENT
    for part in ref.removeprefix("#/").split("/"):
        node = node[part]
    return node


def checked(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def test_the_frame_is_that_of_openapi():
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"].keys() == {"title", "version", "description"}
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"bearer", "key"}
    assert DOCUMENT["security"] == [{"bearer": []}, {"key": []}]


def test_every_reference_leads_somewhere():
    every = set(refs(DOCUMENT))
    assert every
    for ref in every:
        assert resolved(ref)
    for name in (name for kind in DOCUMENT["components"].values() for name in kind):
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)


def test_operations_are_named_once_and_their_parameters_are_whole():
    names = [operation["operationId"] for *_, operation in operations(DOCUMENT)]
    assert len(names) == len(set(names))
    for path, method, item, operation in operations(DOCUMENT):
        given = [*item.get("parameters", []), *operation.get("parameters", [])]
        given = [resolved(one["$ref"]) if "$ref" in one else one for one in given]
        assert {one["name"] for one in given if one["in"] == "path"} == set(re.findall(r"\{(\w+)\}", path))
        assert all(one["required"] for one in given if one["in"] == "path")
        assert len({(one["name"], one["in"]) for one in given}) == len(given)
        assert all(("schema" in one) != ("content" in one) for one in given)
        assert "requestBody" not in operation or method in ("post", "put", "patch")
        assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda one: one.name)
def test_every_tool_has_its_path(tool: Tool):
    item = DOCUMENT["paths"][path_of(tool)]
    assert path_of(tool).startswith(
        "/api/browser/{id}/" if "session" in tool.arguments.__struct_fields__ else "/api/tools/"
    )
    assert ("get" in item) == (tool.access is Access.READ)
    operation = item["post"]
    assert (operation["summary"], operation["tags"], operation["operationId"]) == (
        tool.description,
        [tool.group],
        tool.name,
    )
    body = operation["requestBody"]["content"]["application/json"]
    listed = {name for name in tool.input_schema["properties"] if name != "session"}
    assert body["schema"]["properties"].keys() == listed
    assert body["schema"]["additionalProperties"] is False


@pytest.mark.parametrize("tool", TOOLS, ids=lambda one: one.name)
def test_schemas_are_schemas_and_examples_fit_them(tool: Tool):
    operation = DOCUMENT["paths"][path_of(tool)]["post"]
    body = operation["requestBody"]["content"]["application/json"]
    checked(body["schema"]).validate(body["example"])
    tool.parse(body["example"])
    checked(operation["responses"]["200"]["content"]["application/json"]["schema"])


def test_every_error_has_its_status():
    responses = DOCUMENT["components"]["responses"]
    for code, kind in CODES.items():
        assert f"`{code}`" in responses[str(kind.status)]["description"]
    for path, _, _, operation in operations(DOCUMENT):
        if path.startswith(("/api/browser", "/api/tools/")):
            assert set(responses) <= set(operation["responses"])


def test_the_envelope_of_an_error_is_the_one_we_send():
    from pilothouse.errors import Failure

    error = Failure("timeout", "late").to_dict(tool="x")
    body = {"success": False, "error": error, "metadata": {"timestamp": 1}}
    checked({"$ref": "#/components/schemas/Refusal"}).validate(body)
    with pytest.raises(jsonschema.ValidationError):
        checked({"$ref": "#/components/schemas/Success"}).validate(body)


def test_profiles_are_told_of_when_their_tools_are_there():
    with_profiles = document(Registry(PROFILE_TOOLS))
    assert set(with_profiles["paths"]["/api/profiles"]) == {"get", "post"}
    one = with_profiles["paths"]["/api/profiles/{id}"]
    assert set(one) == {"put", "patch", "delete"}
    assert "profile" not in one["patch"]["requestBody"]["content"]["application/json"]["schema"]["properties"]


def test_secrets_and_health_need_what_they_should():
    open_ones = [path for path, _, _, operation in operations(DOCUMENT) if operation.get("security") == []]
    assert open_ones == ["/api/health"]
