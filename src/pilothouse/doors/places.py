"""Which address means which tool: the map that the REST door walks by and the OpenAPI document prints.

Above: rest, openapi, followers. Below: tool, gate. Addresses of profiles and browsers are short names for tools; they
are there if the tools are.
"""

from typing import Any, NamedTuple

from pilothouse.call import Caller
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.tool import Access, Registry, Tool

OWN = ("default", "-")  # what stands for the caller's own session where an address needs one


class Place(NamedTuple):
    """What one method means at one address: a tool as it was called, and the arguments that the address gives."""

    tool: Tool
    called: str
    args: dict[str, Any]


class Shortcut(NamedTuple):
    method: str
    path: str
    tool: str


SHORTCUTS = (
    Shortcut("GET", "profiles", "list_profiles"),
    Shortcut("POST", "profiles", "create_profile"),
    Shortcut("GET", "profiles/{id}", "get_profile"),
    Shortcut("PUT", "profiles/{id}", "update_profile"),
    Shortcut("PATCH", "profiles/{id}", "update_profile"),
    Shortcut("DELETE", "profiles/{id}", "delete_profile"),
    Shortcut("POST", "launch/{id}", "launch_browser"),
    Shortcut("POST", "kill/{id}", "kill_browser"),
    Shortcut("GET", "running", "get_running_browsers"),
)


class Places:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        tools = {tool.name: tool for tool in registry}
        self._short: dict[str, dict[str, Tool]] = {}
        for one in SHORTCUTS:
            if one.tool in tools:
                self._short.setdefault(one.path, {})[one.method] = tools[one.tool]

    def shortcuts(self) -> dict[str, dict[str, Tool]]:
        return self._short

    def at(self, path: str) -> dict[str, Place]:
        """What each method does at an address below /api/."""
        parts = path.split("/")
        if len(parts) == 2 and parts[0] == "tools":
            return self._methods(parts[1], {})
        if len(parts) == 3 and parts[0] == "browser":
            return self._on_session(parts[1], parts[2])
        return self._shortcut(parts)

    def _methods(self, name: str, args: dict[str, Any]) -> dict[str, Place]:
        tool = self._registry.find(name)
        return dict.fromkeys(methods(tool), Place(tool, name, args))

    def _on_session(self, session: str, name: str) -> dict[str, Place]:
        if not takes(self._registry.find(name), "session"):
            raise Failure("not_found", f"{name} works on no session", suggestions=[f"use /api/tools/{name}"])
        return self._methods(name, {} if session in OWN else {"session": session})

    def _shortcut(self, parts: list[str]) -> dict[str, Place]:
        if len(parts) == 1 and parts[0] in self._short:
            return {method: Place(tool, tool.name, {}) for method, tool in self._short[parts[0]].items()}
        if len(parts) == 2 and parts[1] and f"{parts[0]}/{{id}}" in self._short:
            named = self._short[f"{parts[0]}/{{id}}"].items()
            return {method: Place(tool, tool.name, {id_name(tool): parts[1]}) for method, tool in named}
        raise Failure("not_found", "there is nothing at this address", suggestions=["GET /api/tools lists the tools"])


def methods(tool: Tool) -> tuple[str, ...]:
    """What only reads may be asked for by GET too."""
    return ("GET", "POST") if tool.access is Access.READ else ("POST",)


def takes(tool: Tool, argument: str) -> bool:
    return argument in tool.arguments.__struct_fields__


def id_name(tool: Tool) -> str:
    """The argument that says which profile or browser."""
    fields = tool.arguments.__struct_fields__
    return next((name for name in ("profile", "id", "name") if name in fields), fields[0])


def path_of(tool: Tool) -> str:
    """The address that the documents give for a tool."""
    return f"/api/browser/{{id}}/{tool.name}" if takes(tool, "session") else f"/api/tools/{tool.name}"


def own_session(gate: Gate, caller: Caller, named: str) -> str:
    """The handle of a session, whatever it was called by; of the caller's only one if it was not named."""
    if named and named not in OWN:
        return gate.session_id(caller, named)
    own = gate.session_ids(caller)
    if len(own) != 1:
        hint = "open one with open_session" if not own else "say its handle"
        message = f"{len(own)} sessions are open: name one" if own else "no session is open"
        raise Failure("not_found", message, details={"sessions": own}, suggestions=[hint])
    return own[0]
