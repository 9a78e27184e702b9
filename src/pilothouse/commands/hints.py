"""The daemon's hints as one would type them: `handle_dialog(accept=true)` is `pilothouse handle-dialog --accept`.

Above: call. Below: nothing. Only suggestions are put into other words: they never carry text of a page.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    Entry = dict[str, Any]

# Tools that have a command of their own beside the one that is called like them.
PROFILE = {
    "list": "list_profiles",
    "show": "get_profile",
    "add": "create_profile",
    "edit": "update_profile",
    "remove": "delete_profile",
}
DEBUG = {
    "list-tabs": "browser_debug_list_tabs",
    "network": "browser_debug_get_network",
    "console": "browser_debug_get_console",
}
_SHORTER = {tool: f"browser-debug {action}" for action, tool in DEBUG.items()}
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
        return " ".join(["pilothouse", _SHORTER.get(name) or name.replace("_", "-"), *options])

    return _CALL.sub(put, hint)


def _option(name: str, value: str) -> str:
    written = name.replace("_", "-")
    if value in ("true", "false"):
        return f"--{written}" if value == "true" else f"--no-{written}"
    return f"--{written} {value}"
