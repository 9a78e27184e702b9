"""The tools, prompts and resources that the official MCP conformance suite expects of a server it tests.

Above: the daemon loads this only with `--insecure-no-secret-for-conformance`. Below: tool, for what our registry can
express; the rest (audio, questions to the client, broken streams) is answered in wire form beside it.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from pilothouse.doors.extras import Client, Wire
from pilothouse.errors import Failure
from pilothouse.result import Image, Result
from pilothouse.tool import Access, Progress, tool

_PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
_PNG_TEXT = base64.b64encode(_PNG).decode()
_WAV_TEXT = base64.b64encode(
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00"
    b"data\x02\x00\x00\x00\x00\x00"
).decode()


# Through the registry and the gate, like every tool of ours


class OwnSessions:
    """Stands for what the gate hands to a tool that needs no page."""


class Nothing(msgspec.Struct):
    pass


@tool(Access.READ, example={})
async def test_simple_text(sessions: OwnSessions) -> Result[Nothing]:
    """Answer with a sentence."""
    return Result(text="This is a simple text response for testing.", data=Nothing())


@tool(Access.READ, example={})
async def test_image_content(sessions: OwnSessions) -> Result[Nothing]:
    """Answer with a picture."""
    return Result(text="", data=Nothing(), images=[Image(_PNG, "image/png")])


@tool(Access.READ, example={})
async def test_error_handling(sessions: OwnSessions) -> Result[Nothing]:
    """Fail."""
    raise Failure("page_error", "This tool intentionally returns an error for testing")


@tool(Access.READ, example={})
async def test_tool_with_progress(sessions: OwnSessions, progress: Progress) -> Result[Nothing]:
    """Report progress on the way."""
    for done in (0, 50, 100):
        await progress(done, 100, "")
        await asyncio.sleep(0.05)
    return Result(text="Progress reported.", data=Nothing())


# Beside the registry

Special = Callable[[Client, Wire], Awaitable[Wire]]
_specials: dict[str, Special] = {}
_tools: list[Wire] = []


def _special(schema: Wire | None = None, **properties: Wire) -> Callable[[Special], Special]:
    def declare(handler: Special) -> Special:
        plain: Wire = {"type": "object", "properties": properties, "required": list(properties)}
        _tools.append({"name": handler.__name__, "description": handler.__doc__, "inputSchema": schema or plain})
        _specials[handler.__name__] = handler
        return handler

    return declare


def _says(text: str) -> Wire:
    return {"content": [{"type": "text", "text": text}]}


def _text(uri: str, kind: str, text: str) -> Wire:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


@_special()
async def test_audio_content(client: Client, args: Wire) -> Wire:
    """Answer with a sound."""
    return {"content": [{"type": "audio", "data": _WAV_TEXT, "mimeType": "audio/wav"}]}


@_special()
async def test_embedded_resource(client: Client, args: Wire) -> Wire:
    """Answer with a resource."""
    embedded = _text("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return {"content": [embedded]}


@_special()
async def test_multiple_content_types(client: Client, args: Wire) -> Wire:
    """Answer with three kinds of content."""
    picture = {"type": "image", "data": _PNG_TEXT, "mimeType": "image/png"}
    resource = _text("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return {"content": [{"type": "text", "text": "Multiple content types test:"}, picture, resource]}


@_special()
async def test_tool_with_logging(client: Client, args: Wire) -> Wire:
    """Log on the way."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await client.log("info", line)
        await asyncio.sleep(0.05)
    return _says("Logged.")


@_special()
async def test_logging_tool(client: Client, args: Wire) -> Wire:
    """Log only when the request asked for it."""
    await client.log("info", "test_logging_tool was called")
    return _says("Logged.")


@_special(prompt={"type": "string"})
async def test_sampling(client: Client, args: Wire) -> Wire:
    """Ask the client's model."""
    answer = await client.ask("sampling/createMessage", _sampling(args["prompt"], 100))
    return _says(f"LLM response: {answer['content'].get('text', '')}")


@_special(message={"type": "string"})
async def test_elicitation(client: Client, args: Wire) -> Wire:
    """Ask the client's user."""
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = await client.ask("elicitation/create", _form(args["message"], fields))
    return _says(f"User response: action={answer['action']}, content={answer.get('content')}")


@_special()
async def test_elicitation_sep1034_defaults(client: Client, args: Wire) -> Wire:
    """Ask with defaults."""
    fields: Wire = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answer = await client.ask("elicitation/create", _form("Please check these", fields))
    return _says(f"Elicitation completed: action={answer['action']}, content={answer.get('content')}")


@_special()
async def test_elicitation_sep1330_enums(client: Client, args: Wire) -> Wire:
    """Ask with every kind of choice."""
    plain, titled = ["option1", "option2", "option3"], [{"const": "value1", "title": "First Option"}]
    titled += [{"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]
    named = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    fields: Wire = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **named},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    answer = await client.ask("elicitation/create", _form("Please choose", fields))
    return _says(f"Elicitation completed: action={answer['action']}, content={answer.get('content')}")


@_special()
async def test_reconnection(client: Client, args: Wire) -> Wire:
    """Close the stream in the middle; the client comes back for the result."""
    await client.drop_stream()
    await asyncio.sleep(0.1)
    return _says("Reconnected.")


@_special(region={"type": "string", "x-mcp-header": "Region"})
async def test_custom_headers(client: Client, args: Wire) -> Wire:
    """Take an argument that travels in a header too."""
    return _says(f"region={args.get('region')}")


_SCHEMA_2020: Wire = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@_special(_SCHEMA_2020)
async def json_schema_2020_12_tool(client: Client, args: Wire) -> Wire:
    """Have a schema with every keyword."""
    return _says("Valid.")


@_special()
async def test_missing_capability(client: Client, args: Wire) -> Wire:
    """Need a client that can sample."""
    client.require("sampling")
    return _says("The client can sample.")


@_special()
async def test_streaming_elicitation(client: Client, args: Wire) -> Wire:
    """Report progress, then ask."""
    await client.progress(1, 2)
    return _asks(user_name=_NAME) if "user_name" not in client.responses else _says("Thank you.")


@_special()
async def test_trigger_tool_change(client: Client, args: Wire) -> Wire:
    """Say that the tools changed."""
    client.changed("tools")
    return _says("Changed.")


@_special()
async def test_trigger_prompt_change(client: Client, args: Wire) -> Wire:
    """Say that the prompts changed."""
    client.changed("prompts")
    return _says("Changed.")


# Questions by return: the new generation's clients answer by calling again


def _form(message: str, fields: Wire) -> Wire:
    return {"message": message, "requestedSchema": {"type": "object", "properties": fields, "required": list(fields)}}


def _sampling(prompt: str, most: int) -> Wire:
    content = {"type": "text", "text": prompt}
    return {"messages": [{"role": "user", "content": content}], "maxTokens": most}


def _asks(state: str | None = None, /, **questions: Wire) -> Wire:
    result: Wire = {"resultType": "input_required", "inputRequests": questions}
    return {**result, "requestState": state} if state is not None else result


def _elicit(message: str, field: str, kind: str = "string") -> Wire:
    return {"method": "elicitation/create", "params": _form(message, {field: {"type": kind}})}


def _content(client: Client, name: str, field: str) -> Any:
    """A field the user filled in, or None when this answer is missing or of another shape."""
    content = client.responses.get(name, {}).get("content")
    return content.get(field) if isinstance(content, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


_NAME = _elicit("What is your name?", "name")
_ROOTS: Wire = {"method": "roots/list", "params": {}}
_CAPITAL: Wire = {"method": "sampling/createMessage", "params": _sampling("What is the capital of France?", 100)}
_GREETING: Wire = {"method": "sampling/createMessage", "params": _sampling("Generate a greeting", 50)}


@_special()
async def test_input_required_result_elicitation(client: Client, args: Wire) -> Wire:
    """Ask for a name."""
    name = _content(client, "user_name", "name")
    return _says(f"Hello, {name}!") if isinstance(name, str) else _asks(user_name=_NAME)


@_special()
async def test_input_required_result_sampling(client: Client, args: Wire) -> Wire:
    """Ask the client's model."""
    answer = client.responses.get("capital_question")
    return _says(str(answer["content"])) if answer else _asks(capital_question=_CAPITAL)


@_special()
async def test_input_required_result_list_roots(client: Client, args: Wire) -> Wire:
    """Ask for roots."""
    answer = client.responses.get("client_roots")
    return _says(f"Roots: {answer['roots']}") if answer else _asks(client_roots=_ROOTS)


@_special()
async def test_input_required_result_request_state(client: Client, args: Wire) -> Wire:
    """Carry state through the client."""
    confirm = _elicit("Please confirm", "ok", "boolean")
    return _says("state-ok") if client.state == "first" and client.responses else _asks("first", confirm=confirm)


@_special()
async def test_input_required_result_tampered_state(client: Client, args: Wire) -> Wire:
    """Carry state that must not be changed."""
    confirm = _elicit("Please confirm", "ok", "boolean")
    return _says("state-ok") if client.state == "sealed" else _asks("sealed", confirm=confirm)


@_special()
async def test_input_required_result_multiple_inputs(client: Client, args: Wire) -> Wire:
    """Ask three things at once."""
    if {"user_name", "greeting", "client_roots"} <= client.responses.keys():
        return _says("All answered.")
    return _asks("all", user_name=_NAME, greeting=_GREETING, client_roots=_ROOTS)


@_special()
async def test_input_required_result_multi_round(client: Client, args: Wire) -> Wire:
    """Ask twice."""
    if client.state == "two" and "step2" in client.responses:
        return _says("Both answered.")
    if client.state == "one" and "step1" in client.responses:
        return _asks("two", step2=_elicit("Step 2: What is your favorite color?", "color"))
    return _asks("one", step1=_elicit("Step 1: What is your name?", "name"))


@_special()
async def test_input_required_result_capabilities(client: Client, args: Wire) -> Wire:
    """Ask only what the client can answer."""
    possible = {"elicitation": ("user_name", _NAME), "sampling": ("greeting", _GREETING), "roots": ("roots", _ROOTS)}
    questions = dict(question for name, question in possible.items() if name in client.capabilities)
    return _asks(**questions) if questions and not client.responses else _says("Nothing to ask.")


# Prompts and resources


def _user(*contents: Wire) -> Wire:
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def _prompt(name: str, description: str, *arguments: str) -> Wire:
    taken = [{"name": one, "description": one, "required": True} for one in arguments]
    return {"name": name, "description": description, "arguments": taken}


class Fixtures:
    """Everything above, in the shape that extras.Extras asks for."""

    groups = "conformance"
    tools = _tools
    prompts: tuple[Wire, ...] = (
        _prompt("test_simple_prompt", "A sentence"),
        _prompt("test_prompt_with_arguments", "Two arguments", "arg1", "arg2"),
        _prompt("test_prompt_with_embedded_resource", "A resource", "resourceUri"),
        _prompt("test_prompt_with_image", "A picture"),
        _prompt("test_input_required_result_prompt", "Asks back"),
    )
    resources: tuple[Wire, ...] = (
        {"uri": "test://static-text", "name": "text", "description": "Some text", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "picture", "description": "A picture", "mimeType": "image/png"},
        {
            "uri": "test://watched-resource",
            "name": "watched",
            "description": "Can be watched",
            "mimeType": "text/plain",
        },
    )
    templates: tuple[Wire, ...] = (
        {
            "uriTemplate": "test://template/{id}/data",
            "name": "data",
            "description": "Data",
            "mimeType": "application/json",
        },
    )

    async def call(self, client: Client, name: str, args: Wire) -> Wire | None:
        return await _specials[name](client, args) if name in _specials else None

    async def prompt(self, client: Client, name: str, args: Wire) -> Wire | None:
        match name:
            case "test_simple_prompt":
                return _user({"type": "text", "text": "This is a simple prompt for testing."})
            case "test_prompt_with_arguments":
                text = f"Prompt with arguments: arg1='{args.get('arg1')}', arg2='{args.get('arg2')}'"
                return _user({"type": "text", "text": text})
            case "test_prompt_with_embedded_resource":
                embedded = _text(args.get("resourceUri", ""), "text/plain", "Embedded resource content for testing.")
                return _user(embedded, {"type": "text", "text": "Please process the embedded resource above."})
            case "test_prompt_with_image":
                picture = {"type": "image", "data": _PNG_TEXT, "mimeType": "image/png"}
                return _user(picture, {"type": "text", "text": "Please analyze the image above."})
            case "test_input_required_result_prompt":
                context = _content(client, "user_context", "context")
                question = _elicit("What context should the prompt use?", "context")
                return _user({"type": "text", "text": context}) if context else _asks(user_context=question)
            case _:
                return None

    def read(self, uri: str) -> Wire | None:
        number = uri.removeprefix("test://template/").removesuffix("/data")
        known: dict[str, Wire] = {
            "test://static-text": {
                "mimeType": "text/plain",
                "text": "This is the content of the static text resource.",
            },
            "test://static-binary": {"mimeType": "image/png", "blob": _PNG_TEXT},
            "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
            f"test://template/{number}/data": {
                "mimeType": "application/json",
                "text": f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}',
            },
        }
        return {"contents": [{"uri": uri, **known[uri]}]} if uri in known else None

    def complete(self, argument: str, value: str) -> list[str]:
        return [word for word in ("paris", "park", "party") if word.startswith(value)]
