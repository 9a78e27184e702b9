"""Keyboard: typing, and single keys."""

from typing import Annotated

from msgspec import Meta

from pilothouse.browser import input as hand
from pilothouse.browser import keys, typist
from pilothouse.browser.fill import fill
from pilothouse.browser.locate import locate
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, Target, TimeoutMs, tool
from pilothouse.tools.outcome import Acted, Want, acted, typed


@tool(Access.WRITE, core=True, example={"target": "#name", "text": "Ada"}, aliases=("browser.type",))
async def type_text(
    tab: Tab,
    target: Target,
    text: Annotated[str, Meta(max_length=1_000_000)],
    clear: bool = True,
    submit: Annotated[bool, Meta(description="then press Enter")] = False,
    snapshot: Want = None,
) -> Result[Acted]:
    """Type into a field, replacing its text unless clear is false."""
    element = await locate(tab, target)
    filled = await fill(tab, element, text, clear=clear)
    done = typed(filled)
    if submit and not tab.dialog:
        await hand.press_key(tab, "Enter", frame=element.frame)
        done += " and pressed Enter"
    return await acted(tab, done, filled.note, snapshot, sends=submit)


@tool(Access.WRITE, example={"target": "#name", "text": "Ada", "delay_ms": 10}, synonyms={"delay": "delay_ms"})
async def slow_type(
    tab: Tab,
    target: Target,
    text: Annotated[str, Meta(max_length=20_000)],
    delay_ms: Annotated[int, Meta(ge=0, le=10_000)] = 50,
    clear: bool = True,
    timeout_ms: TimeoutMs = 120_000,
    snapshot: Want = None,
) -> Result[Acted]:
    """Type key by key, with a pause after each."""
    if len(text) * delay_ms > timeout_ms:
        raise Failure(
            "bad_request",
            f"{len(text)} keys every {delay_ms} ms take longer than {timeout_ms} ms",
            suggestions=["give a shorter delay_ms or a longer timeout_ms, or use type_text"],
        )

    element = await locate(tab, target)
    filled = await typist.type_slowly(tab, element, text, delay_s=delay_ms / 1000, clear=clear)
    done = typed(filled)
    return await acted(tab, done, filled.note, snapshot, sends=keys.enters(text))


@tool(Access.WRITE, core=True, example={"key": "Enter"})
async def press_key(
    tab: Tab,
    key: Annotated[str, Meta(max_length=100, description="Enter, ArrowDown, Control+a …")],
    count: Annotated[int, Meta(ge=1, le=100)] = 1,
    snapshot: Want = None,
) -> Result[Acted]:
    """Press a key in the focused element."""
    pressed = await hand.press_key(tab, key, count)
    times = f" {pressed} times" if pressed > 1 else f" once, not {count} times" if count > 1 else ""
    return await acted(tab, f"pressed {key}{times}", want=snapshot, sends=True)
