"""Schemas: small enough to be read by a model at every start, and true of every tool that exists."""

import importlib
import json
import pkgutil
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
import pytest
from msgspec import Meta

import pilothouse.tools
from pilothouse.schema import input_schema, output_schema
from pilothouse.tool import Registry, Tool, declared
from tests.promises import promise

pytestmark = promise("C01", "C04")

for _module in pkgutil.iter_modules(pilothouse.tools.__path__):
    importlib.import_module(f"pilothouse.tools.{_module.name}")
OURS = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.")]
TOOLS = {one.name: one for one in Registry(OURS)}


class Inner(msgspec.Struct):
    x: int


class Outer(msgspec.Struct, kw_only=True):
    """A docstring that no client needs."""

    name: Annotated[str, Meta(description="what it is called")]
    kind: Literal["a", "b"] = "a"
    inner: Inner | None = None
    many: list[Inner] = []


def test_what_no_reader_needs_is_left_out():
    schema = input_schema(Outer)
    assert schema["properties"]["name"] == {"type": "string", "description": "what it is called"}
    assert schema["properties"]["kind"] == {"enum": ["a", "b"], "type": "string"}
    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False
    text = json.dumps(schema)
    for word in ("$ref", "title", "default", "null"):
        assert word not in text


def test_kinds_are_told_where_a_boolean_is_one_of_them():
    class Mixed(msgspec.Struct):
        alternatives: str | list[str]
        anything: str | bool | int | float | list[str] | None

    properties = input_schema(Mixed)["properties"]
    assert properties["alternatives"] == {"type": "string"}
    assert [one["type"] for one in properties["anything"]["anyOf"]] == ["string", "boolean", "number", "array"]


def test_types_inside_stand_where_they_are_used():
    properties = input_schema(Outer)["properties"]
    assert properties["inner"]["properties"]["x"]["type"] == "integer"
    assert properties["many"]["items"]["properties"]["x"]["type"] == "integer"


@promise("C07")
def test_a_result_is_described_one_level_deep():
    schema = output_schema(Outer)
    assert schema["properties"]["name"] == {"type": "string"}
    assert "items" not in json.dumps(schema)


def test_there_is_nothing_to_say_of_an_empty_result():
    class Nothing(msgspec.Struct):
        pass

    assert output_schema(Nothing) == {"type": "object"}


# Every real tool


@pytest.fixture(params=TOOLS)
def one(request: pytest.FixtureRequest) -> Tool:
    return TOOLS[request.param]


def test_every_tool_can_be_told_to_a_client(one: Tool):
    assert one.input_schema["type"] == one.output_schema["type"] == "object"
    assert one.input_schema["additionalProperties"] is False
    assert one.description.endswith((".", "…"))
    assert len(one.description) < 140
    for value in _nodes(one.input_schema):
        assert "type" in value or "anyOf" in value or not value


def test_every_example_fits_its_tool(one: Tool):
    one.parse(one.example)


def test_every_tool_refuses_what_it_does_not_know(one: Tool):
    with pytest.raises(Exception, match="nonsense"):
        one.parse({**one.example, "nonsense": 1})


def test_session_and_tab_stand_in_every_schema_without_a_description(one: Tool):
    places = {"Tab": ["session", "tab"], "Session": ["session"], "OwnSessions": [], "OwnBrowsers": [], "OwnDebug": []}[
        one.scope
    ]
    for place in places:
        assert one.input_schema["properties"][place] == {"type": "string"}


@promise("C05")
def test_the_core_set_is_the_one_that_was_promised():
    core = {one.name for one in TOOLS.values() if one.core}
    assert core == {
        "open_session", "navigate", "go_back", "click", "hover", "type_text", "press_key", "fill_form",
        "select_option", "upload_file", "scroll", "wait_for", "get_page_state", "find", "screenshot",
        "get_page_text", "evaluate_js", "list_tabs", "new_tab", "switch_tab", "close_tab", "get_console_logs",
        "get_network_log", "get_network_request", "handle_dialog", "batch",
    }  # fmt: skip


@promise("C02")
def test_no_name_means_two_tools():
    names = [name for one in TOOLS.values() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))


def _nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    properties: dict[str, Any] = schema.get("properties", {})
    return [node for child in properties.values() for node in (child, *_nodes(child))]


def test_a_page_is_answered_only_by_tools_that_can_be_asked_for_it():
    def answers(one: Tool) -> type:
        (data,) = get_args(get_type_hints(one.handler)["return"])
        return data

    def has(kind: type) -> bool:
        return any(field.name == "snapshot" for field in msgspec.structs.fields(kind))

    unasked = {name for name, one in TOOLS.items() if has(answers(one)) and not has(one.arguments)}
    assert unasked == {"get_page_state"}
