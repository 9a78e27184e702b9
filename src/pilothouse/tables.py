"""Edits lists of tables (`[[profiles]]`) in a TOML text; what was not asked for stays byte for byte what it was.

Above: profiles. Below: errors. tomlkit finds the places, and the standard library's reader is held against the
result: a text that would say anything else than was meant is refused.
"""

import re
import tomllib
from typing import TYPE_CHECKING, Any, cast

from pilothouse.errors import Failure

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_MARK = "pilothouse-mark-7d1f"


def with_entry(text: str, name: str, entry: dict[str, Any], place: str) -> str:
    """The text with one more table at the end of the list; `place` is what complaints call it."""
    wanted = tomllib.loads(text)
    wanted[name] = [*wanted.get(name, []), entry]
    document = _document(text, place)
    table = f"\n[[{name}]]\n{_lines(entry)}"
    here: Any = cast(Any, document).get(name)
    if here is None:
        ended = text if not text or text.endswith("\n") else f"{text}\n"
        new = ended + (table if ended else table.lstrip("\n"))
    elif not _is_list_of_tables(here):
        here.append(_inline(entry))
        new = document.as_string()
    else:
        _mark_end(here[-1])
        new = _replaced_mark(document.as_string(), table)
    return checked(new, wanted, place)


def with_changes(text: str, name: str, at: int, values: dict[str, Any], place: str) -> str:
    """The text with other values in the table at a position; None takes a key out."""
    wanted = tomllib.loads(text)
    told = {key: value for key, value in values.items() if value is not None}
    wanted[name][at] |= told
    for key in values.keys() - told.keys():
        wanted[name][at].pop(key, None)
    document = _document(text, place)
    table: Any = document[name][at]  # pyright: ignore[reportIndexIssue]
    for key in values.keys() & table.keys():
        if key in told:
            _set(table, key, told[key])
        else:
            table.pop(key)
    fresh = {key: value for key, value in told.items() if key not in table}
    if fresh and _is_list_of_tables(document[name]):
        _mark_end(table, deep=False)
        new = _replaced_mark(document.as_string(), _lines(fresh))
    else:
        table |= fresh
        new = document.as_string()
    return checked(new, wanted, place)


def without_entry(text: str, name: str, at: int, place: str) -> str:
    """The text without the table at a position."""
    wanted = tomllib.loads(text)
    del wanted[name][at]
    document = _document(text, place)
    tables: Any = document[name]
    if not _is_list_of_tables(tables):
        tables.pop(at)
        return checked(document.as_string(), wanted, place)
    if not wanted[name]:
        del wanted[name]
    _mark_end(tables[at])
    before, _, after = document.as_string().partition(f"# {_MARK}\n")
    heads = [found.start() for found in re.finditer(rf"^[ \t]*\[\[[ \t]*{name}[ \t]*\]\]", before, re.MULTILINE)]
    return checked((before[: heads[at]] if at < len(heads) else before) + after.lstrip("\n"), wanted, place)


def _document(text: str, place: str) -> "TOMLDocument":
    import tomlkit

    document = tomlkit.parse(text)
    if document.as_string() != text:  # tables of one list with other sections between them would be moved
        raise Failure(
            "bad_request",
            f"{place} cannot be changed without moving its parts",
            suggestions=["put the tables of a list next to each other", "or change it by hand"],
        )
    return document


def checked(new: str, wanted: dict[str, Any], place: str) -> str:
    """The safety net: the new text must say exactly what was meant, in every other section too."""
    try:
        if tomllib.loads(new) == wanted:
            return new
    except tomllib.TOMLDecodeError:
        pass
    raise Failure(
        "system", f"{place} is written in a way that only a person can change", suggestions=["edit it by hand"]
    )


def _is_list_of_tables(here: Any) -> bool:
    from tomlkit.items import AoT

    return isinstance(here, AoT)


def _mark_end(table: Any, *, deep: bool = True) -> None:
    """A comment of ours right after the last key: what stands below it (the next section's words) is not the table's.

    With `deep` after the last key of its last sub-table, else before the first of them.
    """
    import tomlkit

    body = table.value.body
    tables = [n for n, (key, item) in enumerate(body) if key is not None and hasattr(item, "is_super_table")]
    if deep and tables:
        _mark_end(body[tables[-1]][1])
        return
    plain = [n for n, (key, item) in enumerate(body) if key is not None and not hasattr(item, "is_super_table")]
    body.insert(plain[-1] + 1 if plain else 0, (None, tomlkit.comment(_MARK)))


def _replaced_mark(text: str, lines: str) -> str:
    before, _, after = text.partition(f"# {_MARK}\n")
    return (before if before.endswith("\n") or not before else f"{before}\n") + lines + after


def _set(table: Any, key: str, value: Any) -> None:
    if isinstance(value, dict) and hasattr(table[key], "is_super_table"):  # a sub-table keeps its own lines
        for inner, one in cast(dict[str, Any], value).items():
            table[key][inner] = one
    else:
        table[key] = _inline(cast(dict[str, Any], value)) if isinstance(value, dict) else value


def _inline(values: dict[str, Any]) -> Any:
    import tomlkit

    made = tomlkit.inline_table()
    for key, value in values.items():
        made.append(key, _inline(cast(dict[str, Any], value)) if isinstance(value, dict) else value)
    return made


def _lines(values: dict[str, Any]) -> str:
    import tomlkit

    made = tomlkit.document()
    for key, value in values.items():
        made.append(key, _inline(cast(dict[str, Any], value)) if isinstance(value, dict) else value)
    return made.as_string()
