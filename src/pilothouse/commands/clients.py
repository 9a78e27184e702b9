"""The MCP clients we know: where each keeps its servers, and what an entry looks like there.

Above: install. Below: jsonc, tomlkit.
"""

import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable

from pilothouse.commands import jsonc

Entry = dict[str, Any]
NAME = "pilothouse"


class Unreadable(Exception):
    """The client's file is not what it should be; we leave it alone."""


class Client(NamedTuple):
    name: str
    title: str
    path: Callable[[], Path]
    project: str  # the file of a project, or empty
    key: str = "mcpServers"
    typed: bool = False  # entries name their transport
    toml: bool = False

    def entry(self, command: str, args: list[str], env: dict[str, str]) -> Entry:
        made: Entry = {"type": "stdio"} if self.typed else {}
        made |= {"command": command, "args": args}
        return {**made, "env": env} if env else made

    def get(self, text: str) -> Any:
        if self.toml:
            return _toml_servers(text, self.key).get(NAME)
        return _tolerant(jsonc.get, text, (self.key, NAME)) if text.strip() else None

    def put(self, text: str, entry: Entry) -> str:
        return _toml_put(text, self.key, entry) if self.toml else _tolerant(jsonc.put, text, (self.key, NAME), entry)

    def drop(self, text: str) -> str:
        return _toml_drop(text, self.key) if self.toml else _tolerant(jsonc.drop, text, (self.key, NAME))

    def is_empty(self, text: str) -> bool:
        """Is nothing in it but the shell that our entry was put into?"""
        tree = _toml(text).unwrap() if self.toml else _tolerant(jsonc.get, text, ())
        return tree in ({}, {self.key: {}})

    def veiled(self, text: str) -> str:
        """The text to be shown: of others' entries and settings, which may be secret, only the names."""
        if self.toml:
            return _toml_veiled(text, self.key)
        return _tolerant(jsonc.veiled, text, (self.key, NAME)) if text.strip() else text

    def alone(self, entry: Entry) -> str:
        """A file with nothing but our entry, to be pasted."""
        return self.put("" if self.toml else "{}\n", entry)


def _tolerant(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except jsonc.Malformed as error:
        raise Unreadable(str(error)) from None


def _toml(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Unreadable(str(error)) from None


def _toml_servers(text: str, key: str) -> Entry:
    servers = _toml(text).unwrap().get(key, {})
    if not isinstance(servers, dict):
        raise Unreadable(f"{key} is not a table")
    return cast(Entry, servers)


def _toml_put(text: str, key: str, entry: Entry) -> str:
    wanted = {**_toml(text).unwrap(), key: {**_toml_servers(text, key), NAME: entry}}
    document = cast(Entry, _toml(text))
    if key not in document:
        document[key] = tomlkit.table(is_super_table=True)
    inline = isinstance(document[key], InlineTable)
    document[key][NAME] = _toml_table(entry, inline=inline)
    return _toml_checked(document, wanted)


def _toml_table(values: Entry, *, inline: bool) -> Any:
    """A table in a line of its own cannot stand inside one in a line, and the other way round."""
    table: Any = tomlkit.inline_table() if inline else tomlkit.table()
    for name, value in values.items():
        table.append(name, _toml_table(cast(Entry, value), inline=inline) if isinstance(value, dict) else value)
    return table


def _toml_drop(text: str, key: str) -> str:
    if NAME not in (servers := _toml_servers(text, key)):
        return text
    left = {name: one for name, one in servers.items() if name != NAME}
    wanted = {**_toml(text).unwrap(), key: left}
    document = cast(Entry, _toml(text))
    del document[key][NAME]
    if not left:
        del document[key], wanted[key]
    return _toml_checked(document, wanted)


def _toml_veiled(text: str, key: str) -> str:
    document = cast(Entry, _toml(text))
    _veil(document, clear=document.get(key, {}).get(NAME))
    return tomlkit.dumps(cast(Any, document))


def _veil(table: Any, clear: Any) -> None:
    for name, value in list(table.items()):
        if isinstance(value, dict):
            if value is not clear:
                _veil(value, clear)
        elif isinstance(value, AoT):
            for one in cast(list[Any], value):
                _veil(one, clear)
        elif isinstance(value, str | list):
            table[name] = "…" if isinstance(value, str) else ["…"]


def _toml_checked(document: Entry, wanted: Entry) -> str:
    """The new text, if it says what was meant and nothing else; tomlkit does not promise that."""
    new = tomlkit.dumps(cast(Any, document))
    try:
        if tomllib.loads(new) == wanted:
            return new
    except tomllib.TOMLDecodeError:
        pass
    raise Unreadable("it is written in a way that only a person can change")


def _user_config(folder: str) -> Path:
    """Where desktop programs keep what is a user's own."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / folder
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / folder
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / folder


def _in_home(*parts: str, variable: str = "") -> Path:
    """A folder of the home, or where the client's own variable puts it."""
    if variable and os.environ.get(variable):
        return Path(os.environ[variable], parts[-1])
    return Path.home().joinpath(*parts)


CLIENTS = {
    one.name: one
    for one in (
        Client(
            "claude-code",
            "Claude Code",
            lambda: _in_home(".claude.json", variable="CLAUDE_CONFIG_DIR"),
            ".mcp.json",
            typed=True,
        ),
        Client("claude-desktop", "Claude Desktop", lambda: _user_config("Claude") / "claude_desktop_config.json", ""),
        Client("cursor", "Cursor", lambda: _in_home(".cursor", "mcp.json"), ".cursor/mcp.json"),
        Client(
            "vscode",
            "VS Code",
            lambda: _user_config("Code") / "User" / "mcp.json",
            ".vscode/mcp.json",
            key="servers",
            typed=True,
        ),
        Client("windsurf", "Windsurf", lambda: _in_home(".codeium", "windsurf", "mcp_config.json"), ""),
        Client(
            "codex",
            "Codex",
            lambda: _in_home(".codex", "config.toml", variable="CODEX_HOME"),
            ".codex/config.toml",
            key="mcp_servers",
            toml=True,
        ),
        Client("gemini", "Gemini CLI", lambda: _in_home(".gemini", "settings.json"), ".gemini/settings.json"),
    )
}
