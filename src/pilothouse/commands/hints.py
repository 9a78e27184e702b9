"""The daemon's hints as one would type them: `handle_dialog(accept=true)` is `pilothouse handle-dialog --accept`.

Above: call. Below: actions. Only suggestions are put into other words: they never carry text of a page.
"""

from __future__ import annotations

import re

from pilothouse.commands.actions import DEBUG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    Entry = dict[str, Any]

SHORTER = {tool: f"browser-debug {action}" for action, (tool, *_) in DEBUG.items()}
_CALL = re.compile(r"\b([a-z]+(?:_[a-z]+)*)(?:\(([^()]*)\))?")
_ARGUMENT = re.compile(r'([a-z_]+)=("[^"]*"|[^,]+)')


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
