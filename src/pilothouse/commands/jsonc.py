"""One member of a JSON file set or removed, and not a byte of the rest: comments, order, indentation stay.

Above: clients. Below: nothing. Reads JSON with comments and trailing commas, as editors write it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_STRING_OR_COMMENT = re.compile(_STRING.pattern + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING_OR_COMMA = re.compile(_STRING.pattern + r"|,(\s*[}\]])")
_COMMENT_TO_LINE_END = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)")
_REST_OF_LINE = re.compile(r"[ \t]*\r?\n")
MAX_DEPTH = 100


class Malformed(ValueError):
    """The text is no JSON object; the message names the line."""


class Node(NamedTuple):
    start: int
    end: int
    members: "dict[str, Member] | None"  # of an object

    def value(self, text: str) -> Any:
        return json.loads(_plain(text[self.start : self.end]))


class Member(NamedTuple):
    start: int
    value: Node


def parse(text: str) -> Node:
    start = _BLANK.match(text, 1 if text.startswith("\ufeff") else 0)
    assert start
    node = _value(text, start.end(), 0)
    rest = _BLANK.match(text, node.end)
    assert rest
    if rest.end() != len(text):
        raise _malformed(text, rest.end())
    if node.members is None:
        raise Malformed("line 1: not a JSON object")
    return node


def get(text: str, path: tuple[str, ...]) -> Any:
    """The value at a path, or None."""
    node = _at(parse(text), path)
    return None if node is None else node.value(text)


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with the value at the path; objects on the way are made where they are missing."""
    if not text.strip().removeprefix("\ufeff"):
        text = "{}\n"
    root = parse(text)
    if (there := _at(root, path)) is not None:
        return text[: there.start] + _dump(text, value, _column(text, there.start)) + text[there.end :]
    depth = next(n for n in range(len(path) - 1, -1, -1) if _at(root, path[:n]) is not None)
    parent = _at(root, path[:depth])
    assert parent
    if parent.members is None:
        raise Malformed(f"{'.'.join(path[:depth])} is not an object")
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _insert(text, parent, path[depth], value)


def drop(text: str, path: tuple[str, ...]) -> str:
    """The text without the member, its comma and, where they are its own, its lines."""
    parent = _at(parse(text), path[:-1])
    if parent is None or parent.members is None or path[-1] not in parent.members:
        return text
    gone = parent.members[path[-1]]
    if (comma := _comma(text, gone.value.end)) is not None:
        rest = _REST_OF_LINE.match(text, comma + 1)
        if rest and _begins_line(text, gone.start):
            return text[: gone.start - len(_column(text, gone.start))] + text[rest.end() :]
        return text[: gone.start] + text[comma + 1 :].lstrip(" \t")
    before = [one.value.end for one in parent.members.values() if one.start < gone.start]
    between = text[max(before, default=parent.start + 1) : gone.start].rstrip()
    if before:
        comma = _comma(text, before[-1]) or before[-1]
        between = text[before[-1] : comma] + text[comma + 1 : gone.start].rstrip()
    return text[: max(before, default=parent.start + 1)] + between + text[gone.value.end :]


def veiled(text: str, path: tuple[str, ...]) -> str:
    """The text with every string and list replaced, but for what is at the path."""
    root = parse(text)
    clear = _at(root, path)
    for leaf in sorted(_leaves(root, clear), key=lambda one: -one.start):
        cover = {'"': '"…"', "[": "[…]"}.get(text[leaf.start])
        text = text[: leaf.start] + cover + text[leaf.end :] if cover else text
    return text


def _leaves(node: Node, clear: Node | None) -> Iterator[Node]:
    if node is clear:
        return
    if node.members is None:
        yield node
        return
    for member in node.members.values():
        yield from _leaves(member.value, clear)


def _at(node: Node, path: tuple[str, ...]) -> Node | None:
    for key in path:
        if node.members is None or key not in node.members:
            return None
        node = node.members[key].value
    return node


def _insert(text: str, parent: Node, key: str, value: Any) -> str:
    assert parent.members is not None
    step, line_end = _indent(text), "\r\n" if "\r\n" in text else "\n"
    if not parent.members:
        outer = _column(text, parent.start)
        inner = outer + step
        written = f"{json.dumps(key)}: {_dump(text, value, inner)}"
        kept = text[parent.start + 1 : parent.end - 1].rstrip()  # a comment, perhaps
        body = f"{{{kept}{line_end}{inner}{written}{line_end}{outer}}}"
        return text[: parent.start] + body + text[parent.end :]
    last = list(parent.members.values())[-1]
    inner = _column(text, last.start)
    written = f"{json.dumps(key)}: {_dump(text, value, inner)}"
    if "\n" not in text[parent.start : last.start]:
        return f"{text[: last.value.end]}, {json.dumps(key)}: {json.dumps(value)}{text[last.value.end :]}"
    comma = _comma(text, last.value.end)
    end = last.value.end if comma is None else comma + 1
    rest = _COMMENT_TO_LINE_END.match(text, end)  # it speaks of the member before
    at = rest.end() if rest else end
    kept = text[: last.value.end] + ("," if comma is None else "") + text[last.value.end : at]
    return f"{kept}{line_end}{inner}{written}{'' if comma is None else ','}{text[at:]}"


def _dump(text: str, value: Any, indent: str) -> str:
    line_end = "\r\n" if "\r\n" in text else "\n"
    if "\n" not in text.strip() and text.strip() not in ("", "{}"):
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_indent(text)).split("\n")
    return f"{line_end}{indent}".join(lines)


def _indent(text: str) -> str:
    found = re.search(r"\{[^\S\n]*\r?\n([ \t]+)\"", text)
    return found[1] if found else "  "


def _comma(text: str, position: int) -> int | None:
    """Where the comma behind a value stands, if it has one."""
    position = _skip(text, position)
    return position if text[position : position + 1] == "," else None


def _begins_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()


def _column(text: str, position: int) -> str:
    """The blank that the position's line begins with."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise _malformed(text, at)
    if text[at : at + 1] == "{":
        return _object(text, at, depth)
    if text[at : at + 1] == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _malformed(text, at)
    return Node(at, found.end(), None)


def _object(text: str, at: int, depth: int) -> Node:
    members: dict[str, Member] = {}
    position = _skip(text, at + 1)
    while text[position : position + 1] != "}":
        key = _STRING.match(text, position)
        if key is None:
            raise _malformed(text, position)
        colon = _skip(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _malformed(text, colon)
        value = _value(text, _skip(text, colon + 1), depth + 1)
        members[json.loads(key[0])] = Member(position, value)
        position = _after(text, value.end, "}")
    return Node(at, position + 1, members)


def _array(text: str, at: int, depth: int) -> Node:
    position = _skip(text, at + 1)
    while text[position : position + 1] != "]":
        position = _after(text, _value(text, position, depth + 1).end, "]")
    return Node(at, position + 1, None)


def _after(text: str, position: int, closing: str) -> int:
    """Behind a value and its comma; the last may have one too."""
    position = _skip(text, position)
    if text[position : position + 1] == ",":
        return _skip(text, position + 1)
    if text[position : position + 1] != closing:
        raise _malformed(text, position)
    return position


def _skip(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return blank.end() if blank else position


def _plain(text: str) -> str:
    """Without comments and trailing commas, which `json` does not read."""
    bare = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return _STRING_OR_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else found[1], bare)


def _malformed(text: str, at: int) -> Malformed:
    return Malformed(f"line {text.count(chr(10), 0, at) + 1}: not JSON")
