"""Forms: many fields at once, choices, files."""

import base64
import binascii
from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.browser import fill as pen
from pilothouse.browser import input as hand
from pilothouse.browser import upload
from pilothouse.browser.locate import locate
from pilothouse.browser.tab import Tab
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import Result, counted, quoted
from pilothouse.tool import Access, Target, tool
from pilothouse.tools.outcome import Acted, Want, acted, called


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    target: str | list[str]
    value: str | bool | int | float | list[str]


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=255)]
    data: Annotated[str, Meta(description="base64")]
    mime_type: str = ""


@tool(Access.WRITE, core=True, example={"fields": [{"target": "#name", "value": "Ada"}]})
async def fill_form(
    tab: Tab,
    fields: Annotated[list[Field], Meta(min_length=1, max_length=200)],
    submit: Annotated[bool, Meta(description="then press Enter")] = False,
    snapshot: Want = None,
) -> Result[Acted]:
    """Fill fields of any kind: text, select, checkbox, date …"""
    done: list[str] = []
    notes: list[str] = []
    for index, field in enumerate(fields):
        try:
            with doing(lambda number=index + 1: f"filling field {number} of {len(fields)}"):
                filled = await _fill_one(tab, field)
        except Failure as failure:
            failure.message = f"field {index + 1} of {len(fields)}: {failure.message}"
            failure.details["filled"] = done
            failure.suggestions += [f"filled before it: {counted(len(done), 'field')}"] if done else []
            raise
        done.append(called(filled.role, filled.name, filled.hint))
        notes += [f"{called(filled.role, filled.name, filled.hint)}: {filled.note}"] if filled.note else []
        tab.check_dialog()
    if submit:
        await hand.press_key(tab, "Enter", frame=tab.mark.frame if tab.mark else None)
    sent = " and pressed Enter" if submit else ""
    count = counted(len(done), "field")
    return await acted(tab, f"filled {count}{sent}", "; ".join(notes), snapshot, sends=submit)


async def _fill_one(tab: Tab, field: Field) -> pen.Filled:
    element = await locate(tab, field.target)
    if isinstance(field.value, list):
        filled, _ = await pen.choose(tab, element, field.value)
        return filled
    value = str(field.value).lower() if isinstance(field.value, bool) else str(field.value)
    return await pen.fill(tab, element, value)


@tool(Access.WRITE, core=True, example={"target": "#color", "values": ["Blue"]}, aliases=("browser.select",))
async def select_option(
    tab: Tab, target: Target, values: Annotated[list[str], Meta(max_length=200)], snapshot: Want = None
) -> Result[Acted]:
    """Choose options of a select by label or value."""
    filled, chosen = await pen.choose(tab, await locate(tab, target), values)
    picked = ", ".join(quoted(one) for one in chosen)
    field = called(filled.role, filled.name, filled.hint)
    done = f"{field} is now {picked or 'empty'}" if filled.holds else f"chose {picked or 'nothing'} in {field}"
    return await acted(tab, done, filled.note, snapshot)


@tool(Access.SENSITIVE, core=True, example={"files": [{"name": "a.txt", "data": "aGk="}]})
async def upload_file(
    tab: Tab,
    target: str | list[str] | None = None,
    paths: Annotated[list[str], Meta(max_length=50)] = [],
    files: Annotated[list[File], Meta(max_length=50)] = [],
    snapshot: Want = None,
) -> Result[Acted]:
    """Put files into a file input or the open chooser."""
    contents = [(file.name, _decoded(file)) for file in files]
    names, note = await upload.upload(tab, target, paths, contents)
    return await acted(tab, f"chose {', '.join(quoted(one) for one in names)}", note, snapshot)


def _decoded(file: File) -> bytes:
    try:
        return base64.b64decode(file.data, validate=True)
    except binascii.Error:
        raise Failure("bad_request", f"the data of {file.name} is not base64") from None
