"""The daemon's hints as one would type them: `handle_dialog(accept=true)` is `pilothouse handle-dialog --accept`.

Above: call, offered. Below: actions, arguments. Only suggestions, and the place that a refused argument has in the
schema, are put into other words: they never carry text of a page.
"""

from __future__ import annotations

import re

from pilothouse.commands.actions import DEBUG
from pilothouse.commands.arguments import label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    Entry = dict[str, Any]

SHORTER = {tool: f"browser-debug {action}" for action, (tool, *_) in DEBUG.items()}
_CALL = re.compile(r"\b([a-z]+(?:_[a-z]+)*)(?:\(([^()]*)\))?")
_ARGUMENT = re.compile(r'([a-z_]+)=("[^"]*"|[^,]+)')
_PLACE = re.compile(r"(.*) - at `\$\.(\w+)([^`]*)`(.*)", re.DOTALL)


def answered(answer: Entry, tool: Entry, known: Entry, called: str = "") -> Entry:
    """A failed call's answer in the words of the command that made it; `called` is the command where that is not the
    tool's own name."""
    error: Entry = answer["data"]["error"]
    text, steps = answer["text"], error["suggestions"]
    of_tool, said = f"{tool['name']}: ", error["message"]
    if error["code"] == "bad_request" and said.startswith(of_tool):
        command = called or tool["name"].replace("_", "-")
        labels = {one["name"]: label(one) for one in tool["parameters"]}
        text = text.replace(said, f"{command}: {_placed(said.removeprefix(of_tool), labels)}", 1)
        steps = [_taking(one, labels | {tool["name"]: ""}, command) for one in error["suggestions"]]
        for told, put in zip(error["suggestions"], steps, strict=True):
            text = text.replace(f"\n- {told}", f"\n- {put}", 1)
    return {**answer, "text": in_commands(text, steps, {one["name"] for one in known["tools"]})}


def _taking(hint: str, labels: dict[str, str], command: str) -> str:
    """`find takes text?, css?` speaks of a schema; of a command, its help says what it takes."""
    name, takes, rest = hint.partition(" takes ")
    if not takes or name not in labels:
        return hint
    return f"{labels[name]} takes {rest}" if labels[name] else f"Try 'pilothouse {command} --help'."


def _placed(said: str, labels: dict[str, str]) -> str:
    """`Expected `int` <= 999 - at `$.status_min`` begins with the option that is wrong: `--status-min: expected …`."""
    found = _PLACE.fullmatch(said)
    if found is None or found[2] not in labels:
        return said
    wrong, name, deeper, more = found.groups()
    return f"{labels[name]}{deeper}: {wrong[:1].lower()}{wrong[1:]}{more}"


def in_commands(text: str, suggestions: list[str], tools: Collection[str]) -> str:
    """The text of an error with the hints in it as one would type them."""
    for hint in suggestions:
        text = text.replace(f"\n- {hint}", f"\n- {typed(hint, tools)}", 1)
    return text


def typed(hint: str, tools: Collection[str]) -> str:
    def put(found: re.Match[str]) -> str:
        name, arguments = found[1], found[2]
        if name not in tools or (arguments is None and "_" not in name):  # `wait` and `find` are words too
            return found[0]
        options = [_option(*one) for one in _ARGUMENT.findall(arguments or "")]
        return " ".join(["pilothouse", SHORTER.get(name) or name.replace("_", "-"), *options])

    return _CALL.sub(put, hint)


def _option(name: str, value: str) -> str:
    written = name.replace("_", "-")
    if value in ("true", "false"):
        return f"--{written}" if value == "true" else f"--no-{written}"
    return f"--{written} {value}"
