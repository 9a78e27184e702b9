"""The tools as the command line knows them: names, arguments, kinds, bounds, meanings.

Above: the daemon writes it down, the manifest of a home without one is made from it. Below: tool, admin. Read
from the types, not from the schemas: those leave out what costs an agent tokens.
"""

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Any, cast

import click
import msgspec
from msgspec import inspect

from pilothouse import __version__
from pilothouse.tool import Tool, declared

Entry = dict[str, Any]

_KINDS: dict[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.DictType: "map",
}


def describe(tools: Iterable[Tool]) -> Entry:
    return {"version": __version__, "tools": [_tool(one) for one in tools], "commands": _commands()}


def describe_all() -> Entry:
    """Of every tool there is, without a daemon."""
    import pilothouse.tools

    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    return describe(one for one in declared() if one.handler.__module__.startswith("pilothouse.tools."))


def _commands() -> list[Entry]:
    """The other commands, for those who press Tab."""
    from pilothouse.admin import commands

    context = click.Context(commands)
    found = [(name, commands.get_command(context, name)) for name in commands.list_commands(context)]
    return [_command(name, one) for name, one in found if one]


def _command(name: str, one: click.Command) -> Entry:
    options: list[Entry] = []
    choices = list(one.commands) if isinstance(one, click.Group) else []
    for parameter in one.params:
        named = list(parameter.type.choices) if isinstance(parameter.type, click.Choice) else []
        if isinstance(parameter, click.Option) and not parameter.hidden:
            long = next(flag for flag in parameter.opts if flag.startswith("--"))
            options.append({"name": long, "choices": named, "about": parameter.help or ""})
        elif isinstance(parameter, click.Argument):
            choices += named
    options.append({"name": "--help", "choices": [], "about": ""})
    return {"name": name, "about": one.get_short_help_str(80), "options": options, "choices": choices}


def _tool(one: Tool) -> Entry:
    fields = msgspec.structs.fields(one.arguments)
    return {
        "name": one.name,
        "set": one.group,
        "core": one.core,
        "access": one.access.value,
        "about": one.description,
        "aliases": list(one.aliases),
        "synonyms": one.accepted(),
        "example": one.example,
        "timed": "timeout_ms" in one.takes and "session" in one.arguments.__struct_fields__,
        "parameters": [_parameter(field, own=field.name in one.takes) for field in fields],
    }


def _parameter(field: msgspec.structs.FieldInfo, *, own: bool) -> Entry:
    """`own` is false for `session` and `tab` where they only say the place."""
    entry: Entry = {"name": field.name, **_kind(inspect.type_info(field.type))}
    if field.required:
        entry["required"] = True
    elif field.default not in (msgspec.NODEFAULT, "", None):
        entry["default"] = field.default
    if not own:
        entry["place"] = True
    return entry


def _kind(of: inspect.Type) -> Entry:
    if isinstance(of, inspect.Metadata):
        said = cast(Entry, of.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
        more = {"about": said.get("description", ""), **cast(Entry, of.extra or {})}  # pyright: ignore[reportUnknownMemberType]
        return {**_kind(of.type), **{key: str(more[key]) for key in ("about", "word") if more.get(key)}}
    if isinstance(of, inspect.UnionType):
        return _union([one for one in of.types if not isinstance(one, inspect.NoneType)])
    if isinstance(of, inspect.LiteralType):
        return {"kind": "choice", "choices": sorted(map(str, of.values))}
    if isinstance(of, inspect.ListType):
        return {"kind": "list", "of": _kind(of.item_type)}
    if isinstance(of, inspect.StructType):
        fields = {field.name: _kind(field.type) for field in of.fields}
        return {"kind": "object", "fields": fields, "needs": [field.name for field in of.fields if field.required]}
    return {"kind": _KINDS.get(type(of), "any"), **_bounds(of)}


def _union(options: list[inspect.Type]) -> Entry:
    """One of several kinds: text that may also be a list is text that may be given more than once."""
    kinds = [_kind(one) for one in options]
    names = [one["kind"] for one in kinds]
    text = next((one for one in kinds if one["kind"] == "string"), None)
    if len(kinds) == 1:
        return kinds[0]
    if text and set(names) == {"string", "list"}:
        return {**text, "many": True}
    if text:
        return {**text, "also": sorted(set(names) - {"string"})}
    return {"kind": "any"}


def _bounds(of: inspect.Type) -> Entry:
    named = {"ge": "least", "gt": "above", "le": "most", "max_length": "longest"}
    found = {word: getattr(of, name, None) for name, word in named.items()}
    return {word: value for word, value in found.items() if value is not None}
