"""Refs: the elements of the last snapshot by their numbers (e12), and by nothing else."""

from typing import Annotated

from msgspec import Meta

from pilothouse.browser import input as hand
from pilothouse.browser.fill import fill
from pilothouse.browser.locate import Element, locate
from pilothouse.browser.refs import is_ref
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, tool
from pilothouse.tools.outcome import Acted, Want, acted, called, typed

Ref = Annotated[str, Meta(max_length=1000)]
_OTHER_NAMES = {"ref_id": "ref", "target": "ref", "element": "ref", "selector": "ref"}


@tool(Access.WRITE, example={"ref": "e1"}, synonyms=_OTHER_NAMES)
async def click_ref(tab: Tab, ref: Ref, snapshot: Want = None) -> Result[Acted]:
    """Click the element of a ref."""
    where = await hand.click(tab, await _element(tab, ref, "click"))
    return await acted(tab, f"clicked {called(where.role, where.name, where.hint)}", where.note, snapshot, sends=True)


@tool(Access.WRITE, example={"ref": "e1", "text": "Ada"}, synonyms=_OTHER_NAMES)
async def type_ref(
    tab: Tab,
    ref: Ref,
    text: Annotated[str, Meta(max_length=1_000_000)],
    clear: bool = True,
    snapshot: Want = None,
) -> Result[Acted]:
    """Type into the field of a ref."""
    filled = await fill(tab, await _element(tab, ref, "type_text"), text, clear=clear)
    return await acted(tab, typed(filled), filled.note, snapshot)


@tool(Access.WRITE, example={"ref": "e1"}, synonyms=_OTHER_NAMES)
async def focus_ref(tab: Tab, ref: Ref, snapshot: Want = None) -> Result[Acted]:
    """Focus the element of a ref."""
    where = await hand.focus(tab, await _element(tab, ref, "click"))
    return await acted(tab, f"{called(where.role, where.name, where.hint)} has the focus", where.note, snapshot)


async def _element(tab: Tab, ref: str, instead: str) -> Element:
    if not is_ref(ref):
        raise Failure(
            "bad_request",
            f"{ref[:80]!r} is no ref: a ref reads e12",
            suggestions=["refs come from get_page_state or find", f"{instead} takes CSS, text= and role= as well"],
        )
    return await locate(tab, ref)
