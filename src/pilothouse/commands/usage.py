"""Help and lists of the commands that are tools, from the manifest.

Above: call, the administrative commands. Below: arguments.
"""

from __future__ import annotations

import shlex
import textwrap

from pilothouse.commands.arguments import PATHS, is_long, positional, word
from pilothouse.commands.hints import SHORTER, typed
from pilothouse.commands.show import EXIT_CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Entry = dict[str, Any]

_COLUMN = 26
_TARGET = "ref (e12), CSS, text=…, label=… or role=…[name=…]"
_ALTERNATIVES = "of several, each as --{}, the first that is there is taken"
_ROOTS = 'files in a directory that config.toml allows: roots = ["/srv/photos"] under [files]'
_EVERY = [
    ("--json", "the whole answer as JSON"),
    ("-o, --output FILE", "put the picture, file or text there; - is stdout"),
    ("--timeout SECONDS", "how long it may take (also 500ms, 2m)"),
]


def synopsis(tool: Entry, called: str = "") -> str:
    """How it is typed; `called` is the command where that is not the tool's own name."""
    words = [_word(one) if one.get("required") else f"[{_word(one)}]" for one in positional(tool)]
    return " ".join(["pilothouse", called or command(tool), *words, "[OPTIONS]"])


def tool_help(tool: Entry, called: str = "", more: Iterable[tuple[str, str]] = ()) -> str:
    """`more`: options that the command has and the tool has not."""
    required = [one for one in positional(tool) if one.get("required")]
    named = [one for one in tool["parameters"] if not one.get("required") and not one.get("place")]
    places = [one for one in tool["parameters"] if one.get("place")]
    lines = [f"Usage: {synopsis(tool, called)}", "", f"  {tool['about']}", ""]
    lines += _rows((_word(one), _meaning(one)) for one in required)
    lines += _rows((_option(one), _meaning(one)) for one in named)
    lines += _rows((_option(one), {"session": "default: this terminal's own"}.get(one["name"], "")) for one in places)
    lines += _rows([*more, *_EVERY])
    lines += ["", f"Example: {as_command(tool, tool['example'], called)}"]
    if tool["aliases"]:
        lines.append(f"Also called: {', '.join(tool['aliases'])}")
    lines += ["", "A long text can be @file, or - for stdin (@@ is an @). Every argument is an option too.", EXIT_CODES]
    return "\n".join(lines) + "\n"


def tool_list(chosen: list[Entry]) -> str:
    """Tools by set, one line each."""
    lines: list[str] = []
    for group in sorted({one["set"] for one in chosen}):
        lines += ["", group] if lines else [group]
        lines += _rows((command(one), one["about"]) for one in chosen if one["set"] == group)
    return "\n".join(lines) + "\n"


def belongs(tool: Entry, wanted: str) -> bool:
    """Is it of one of these sets or names? Nothing wanted is everything."""
    sets = {part.strip() for part in wanted.split(",") if part.strip()}
    return not sets or "all" in sets or ("core" in sets and tool["core"]) or bool({tool["set"], tool["name"]} & sets)


def unknown_sets(known: list[Entry], wanted: str) -> str:
    """What is wrong with these sets and names, and which there are; empty if all of them exist."""
    from difflib import get_close_matches

    sets = sorted({one["set"] for one in known} | {"core", "all"})
    there = [*sets, *(one["name"] for one in known)]
    unknown = sorted({part.strip() for part in wanted.split(",") if part.strip()} - set(there))
    if not unknown:
        return ""
    near = [one for name in unknown for one in get_close_matches(name, there, n=3, cutoff=0.6)]
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"no tools in {', '.join(map(repr, unknown))}; {meant}sets are {', '.join(sets)}"


def command(tool: Entry) -> str:
    return tool["name"].replace("_", "-")


def as_command(tool: Entry, args: Entry, called: str = "") -> str:
    """A call as one would type it."""
    words = ["pilothouse", *(called or command(tool)).split()]
    unnamed = [one for one in positional(tool) if one.get("required") and one["kind"] != "boolean"]
    for one in unnamed:
        if one["name"] in args:
            words += _values(one, args[one["name"]])
    for one in tool["parameters"]:
        if one["name"] in args and one not in unnamed:
            words += _as_option(one, args[one["name"]])
    return shlex.join(words)


def _word(required: Entry) -> str:
    name = word(required).replace("_", "-")
    if required["kind"] == "boolean":
        return f"--{name}|--no-{name}"
    return f"{name.upper()}{'…' if required['kind'] == 'list' else ''}"


def _as_option(parameter: Entry, value: Any) -> list[str]:
    name = parameter["name"].replace("_", "-")
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [word for one in _values(parameter, value) for word in (f"--{name}", one)]


def _values(parameter: Entry, value: Any) -> list[str]:
    if isinstance(value, list):
        return [_written(parameter.get("of", parameter), item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return [_written(parameter, value)]


def _written(parameter: Entry, value: Any) -> str:
    """Text as it is, a plain object as key=value, the rest as JSON."""
    import json

    if isinstance(value, str):
        return f"@{value}" if value.startswith("@") and is_long(parameter) else value
    if parameter["kind"] == "object" and all(_is_plain(one) for one in value.values()):
        return ",".join(f"{name}={one}" for name, one in value.items())
    return json.dumps(value, ensure_ascii=False)


def _is_plain(value: Any) -> bool:
    return (isinstance(value, str) and "," not in value) or type(value) in (int, float)


def _option(parameter: Entry) -> str:
    name = parameter["name"].replace("_", "-")
    if parameter["kind"] == "boolean":
        return f"--no-{name}" if parameter.get("default") is True else f"--{name}"
    return f"--{name} {_placeholder(parameter)}"


def _placeholder(parameter: Entry) -> str:
    kind = parameter["kind"]
    if kind == "choice":
        return "|".join(parameter["choices"])
    if kind == "list":
        return f"{_placeholder(parameter['of']).removesuffix('…')}…"
    if kind == "object":
        return ",".join(f"{name}=…" for name in parameter["fields"])
    return {"string": "TEXT", "integer": "N", "number": "N", "map": "key=value,…"}.get(kind, "JSON")


def _meaning(parameter: Entry) -> str:
    notes = [typed(parameter["about"], SHORTER)] if parameter.get("about") else []
    if parameter["name"] in PATHS:
        notes.append(_ROOTS)
    if parameter.get("required") and parameter["kind"] not in ("string", "boolean"):
        notes.append(_placeholder(parameter))
    low, high = parameter.get("least"), parameter.get("most")
    if low is not None and high is not None:
        notes.append(f"{low} to {high}")
    if parameter["kind"] == "list":
        notes.append("can be given more than once")
    elif parameter.get("many"):
        notes += [] if notes else [_TARGET]
        notes.append(_ALTERNATIVES.format(parameter["name"].replace("_", "-")))
    default = parameter.get("default")
    if default is not None and not isinstance(default, bool | list | dict):
        notes.append(f"default: {default}")
    return "; ".join(notes)


def _rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for left, right in rows:
        if len(left) > _COLUMN - 2:
            lines.append(f"  {left}")
            left = ""
        text = textwrap.wrap(right, 88) or [""]
        lines.append(f"  {left:<{_COLUMN}}{text[0]}".rstrip())
        lines += [" " * (_COLUMN + 2) + one for one in text[1:]]
        if not left and not right:
            lines.pop()
    return lines
