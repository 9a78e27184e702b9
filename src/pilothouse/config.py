"""What is set: a value comes from its default, then config.toml, then `PILOTHOUSE_SECTION_KEY`, then a flag.

Above: the daemon, and commands that need no daemon. Below: options, errors. The last one wins, and each is checked
alone, so that a complaint names the place where the mistake stands.
"""

import ipaddress
import json
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta

from pilothouse.errors import Failure
from pilothouse.options import TABLES, Config, Option, Sluice, options, table_keys

_OTHER_NAMES = {"PILOTHOUSE_CHROME": "browser.path", "ENABLE_PROXY": "proxy.enabled", "PROXY_PORT": "proxy.port"}
_OPTIONS = {option.name: option for option in options()}
_SECTIONS = [name for name in Config.__struct_fields__ if name not in TABLES]


def load(
    path: Path | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Config:
    """The configuration in force. `flags` maps "section.key" to a value; None means that the flag was not given.

    A file that does not exist is an empty one; a mistake anywhere is `bad_request` with its place and the nearest
    right name.
    """
    tree = _tree(path)
    layers = [*_from_tree(tree, str(path)), *_from_environ(environ or {}), *_from_flags(flags or {})]
    return _merged(tree, str(path), layers)


def parse(text: str, place: str) -> Config:
    """What a file of this text says, without environment and flags."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Failure("bad_request", f"{place}: {error}") from None
    return _merged(tree, place, [*_from_tree(tree, place)])


_Setting = tuple[Option, Any, str]


def _merged(tree: dict[str, Any], place: str, layers: list[_Setting]) -> Config:
    merged: dict[str, Any] = {section: {} for section in _SECTIONS}
    for option, value, origin in layers:
        merged[option.section][option.key] = _check(option, value, origin)
    for table in TABLES:
        merged[table] = _entries(table, tree.get(table, []), place)
    config = msgspec.convert(merged, Config)
    _check_gateways(config.sluice, place)
    return config


def _check_gateways(sluice: Sluice, place: str) -> None:
    """What no schema says: a mistake here would show when the first agent comes."""
    try:
        for one in sluice.nodes:
            ipaddress.ip_network(one, strict=False)
    except ValueError as error:
        raise Failure("bad_request", f"{place}: sluice.nodes: {error}") from None
    try:
        ipaddress.ip_address(sluice.listen or "0.0.0.0")
    except ValueError as error:
        raise Failure("bad_request", f"{place}: sluice.listen: {error}") from None
    if sluice.advertise and not sluice.nodes:
        raise Failure(
            "bad_request",
            f"{place}: sluice.advertise opens gateways to other machines, and Chrome knows no password for them: "
            "sluice.nodes has to say which machines those are",
        )


def _tree(path: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8")) if path else {}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure("bad_request", f"{path}: {error}") from None


def _from_tree(tree: dict[str, Any], place: str) -> Iterator[_Setting]:
    for section, body in tree.items():
        if section in TABLES:
            continue
        if section not in _SECTIONS:
            raise _unknown(f"{place}: there is no section [{section}]", section, [*_SECTIONS, *TABLES])
        if not isinstance(body, dict):
            raise Failure("bad_request", f"{place}: {section} is a section; write [{section}] and its keys below")
        for key, value in cast(dict[str, Any], body).items():
            name = f"{section}.{key}"
            yield _option(name, f"{place}: [{section}] has no key {key}"), value, f"{place}: {name}"


def _entries(table: str, entries: Any, place: str) -> list[dict[str, Any]]:
    """The tables of a list, each key checked where it stands; none may be called like another, by its first key."""
    called = TABLES[table].__struct_fields__[0]
    keys = {option.key: option for option in table_keys() if option.section == table}
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in cast(list[Any], entries)):
        raise Failure("bad_request", f"{place}: {table} is a list; write [[{table}]] and its keys below")
    seen: dict[str, int] = {}
    for number, entry in enumerate(cast(list[dict[str, Any]], entries), 1):
        where = f"{place}: {table} no. {number}"
        for key, value in entry.items():
            if key not in keys:
                raise _unknown(f"{where} has no key {key}", key, keys)
            _check(keys[key], value, f"{where}: {key}")
        if called not in entry:
            raise Failure("bad_request", f"{where}: it needs {'an' if called == 'id' else 'a'} {called}")
        if (first := seen.setdefault(entry[called], number)) != number:
            raise Failure("bad_request", f"{where}: its {called} {entry[called]} is that of no. {first}")
    return cast(list[dict[str, Any]], entries)


def _from_environ(environ: Mapping[str, str]) -> Iterator[_Setting]:
    for variable, name in _OTHER_NAMES.items():
        if text := environ.get(variable):
            yield _OPTIONS[name], _from_text(_OPTIONS[name], text), variable
    by_env = {option.env: option for option in _OPTIONS.values()}
    prefixes = tuple(f"PILOTHOUSE_{section}_".upper() for section in _SECTIONS)
    for variable, text in environ.items():
        if not variable.startswith(prefixes):
            continue
        if variable not in by_env:
            raise _unknown(f"environment: there is no option {variable}", variable, by_env)
        yield by_env[variable], _from_text(by_env[variable], text), variable


def _from_flags(flags: Mapping[str, Any]) -> Iterator[_Setting]:
    for name, value in flags.items():
        if value is not None:
            flag = "--" + name.rpartition(".")[2].replace("_", "-")
            yield _option(name, f"flag {flag}: there is no option {name}"), value, f"flag {flag}"


def _from_text(option: Option, text: str) -> Any:
    """An environment variable as data: as in TOML or JSON, or plainly (`a,b` for lists, `name=value,…` for maps)."""
    bare = get_args(option.type)[0]
    if bare is str:
        return text
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if get_origin(bare) is list and not text.lstrip().startswith("["):
        return parts
    if get_origin(bare) is dict and not text.lstrip().startswith("{"):
        return {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check(option: Option, value: Any, origin: str) -> Any:
    try:
        return msgspec.convert(value, option.type)
    except msgspec.ValidationError as error:
        if " matching regex " in str(error):  # what was given may hold a password, and is not repeated
            raise Failure("bad_request", f"{origin}: it has to be {wanted(option.type)}") from None
        raise Failure("bad_request", f"{origin}: {error} (wanted: {kind(option.type)})") from None


def wanted(declared: Any) -> str:
    """What the pattern of a type asks for, in words; empty where there is none."""
    metas: list[Any] = [one for one in getattr(declared, "__metadata__", ()) if isinstance(one, Meta)]
    own: list[str] = [one.extra["wanted"] for one in metas if one.pattern and one.extra]
    return next((words for words in [*own, *map(wanted, get_args(declared))] if words), "")


def kind(declared: Any) -> str:
    """A type in words: `int`, `list[str]`, `"auto" | bool`."""
    origin, parts = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return kind(parts[0])
    if origin is Literal:
        return " | ".join(json.dumps(part) for part in parts)
    if origin in (Union, UnionType):
        return " | ".join(kind(part) for part in parts if part is not NoneType)
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return f"{{{', '.join(declared.__struct_fields__)}}}"
    return str(cast(Any, declared)) if parts else cast(Any, declared).__name__


def _option(name: str, complaint: str) -> Option:
    if name in _OPTIONS:
        return _OPTIONS[name]
    section = name.partition(".")[0]
    raise _unknown(complaint, name, [one for one in _OPTIONS if one.startswith(f"{section}.")] or _OPTIONS)


def _unknown(complaint: str, name: str, known: Any) -> Failure:
    close = get_close_matches(name, list(known), n=1, cutoff=0.3)
    hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
    return Failure("bad_request", complaint + hint)
