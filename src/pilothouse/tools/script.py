"""Script: running code in the page."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import script
from pilothouse.browser.tab import Tab
from pilothouse.result import Result
from pilothouse.tool import Access, TimeoutMs, tool

MAX_CHARS = 20_000


class Value(msgspec.Struct, omit_defaults=True):
    value: Any = None
    path: str = ""


@tool(Access.SENSITIVE, core=True, example={"expression": "1 + 1"}, aliases=("js.execute",))
async def evaluate_js(
    tab: Tab,
    expression: Annotated[str, Meta(max_length=500_000, description="expression, function, or body with return/await")],
    target: Annotated[str | list[str] | None, Meta(description="passed as `element`")] = None,
    args: list[Any] = [],
    world: Literal["page", "isolated"] = "page",
    timeout_ms: TimeoutMs = 30_000,
) -> Result[Value]:
    """Run JavaScript in the page."""
    told = await script.run(tab, expression, target=target, args=args, world=world, timeout=timeout_ms / 1000)
    value = told.value
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if value is None and told.odd:
        return Result("undefined", Value())
    if len(shown) > MAX_CHARS:
        shown = tab.terms.redact_text(shown)  # a file passes no gate
        path = tab.files.keep("value.json", shown.encode("utf-8", "replace"))
        note = f"{len(shown)} characters; all of it is in {path}"
        note += f" ({told.note})" if told.note else ""
        return Result(note, Value(path=str(path)), page=shown[:1000] + "…")
    if value is None or isinstance(value, int | float):
        return Result(shown, Value(value))
    return Result(f"({told.note})" if told.note else "", Value(value), page=shown)
