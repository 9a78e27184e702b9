"""What can be served beside the registry's tools, and how it talks to the client in the middle of a call.

Above: conformance implements `Extras`, mcp implements `Client`. Below: nothing.
"""

from typing import Any, Protocol

Wire = dict[str, Any]


class Client(Protocol):
    """The other side of one request."""

    responses: Wire
    state: str | None

    @property
    def capabilities(self) -> Wire: ...

    async def ask(self, method: str, params: Wire) -> Wire:
        """Put a question to a client of the old generation while the call runs."""
        ...

    async def log(self, level: Any, data: Any) -> None: ...

    async def progress(self, done: float, total: float) -> None: ...

    async def drop_stream(self) -> None:
        """Close the response's stream early; the client comes back for the rest."""
        ...

    def require(self, capability: str) -> None:
        """Refuse the request unless the client has declared this."""
        ...

    def changed(self, kind: str) -> None:
        """Tell listeners that the list of "tools" or "prompts" is another now."""
        ...


class Extras(Protocol):
    """Tools, prompts and resources in wire form. None from a method means: not one of mine."""

    groups: str
    tools: list[Wire]
    prompts: tuple[Wire, ...]
    resources: tuple[Wire, ...]
    templates: tuple[Wire, ...]

    async def call(self, client: Client, name: str, args: Wire) -> Wire | None: ...

    async def prompt(self, client: Client, name: str, args: Wire) -> Wire | None: ...

    def read(self, uri: str) -> Wire | None: ...

    def complete(self, argument: str, value: str) -> list[str]: ...
