"""Chrome's own accessibility tree of a frame, filtered to what can be acted on and what has a name.

Above: tools. Below: tab, world, cdp. The snapshot is faster and says more; this is what assistive technology is told.
Refs are the same as everywhere: the walker's, for the nodes that are kept.
"""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from pilothouse.browser.frames import Frame
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure
from pilothouse.result import quoted

TIMEOUT_S = 20.0
MAX_TEXT = 200
_SKIPPED = {"none", "generic", "InlineTextBox", "LineBreak", "ListMarker", "presentation"}
_INTERACTIVE = {
    "button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option",
    "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem", "MenuListPopup", "DateTime",
    "Date", "InputTime", "ColorWell", "DisclosureTriangle",
}  # fmt: skip
# What is told of a node: a word when it is true, or a word and its value.
_FLAGS = ("disabled", "readonly", "required", "focused", "selected", "modal", "multiselectable")
_VALUES = ("checked", "pressed", "expanded", "invalid", "level")
_groups = itertools.count(1)


class Node(msgspec.Struct, omit_defaults=True):
    role: str
    name: str = ""
    ref: str = ""
    value: str = ""
    states: list[str] = []
    depth: int = 0

    def line(self) -> str:
        name, value = quoted(self.name) if self.name else "", f"={quoted(self.value)}" if self.value else ""
        words = [self.role, name, self.ref, value]
        return "  " * self.depth + " ".join(word for word in [*words, *self.states] if word)


class Tree(msgspec.Struct, frozen=True):
    nodes: list[Node]
    total: int


async def read(tab: Tab, max_nodes: int) -> Tree:
    frame = tab.here
    world = await tab.frames.ready(frame, TIMEOUT_S)
    kept = list(_kept(await _nodes(frame)))
    shown = kept[:max_nodes]
    refs = await _refs(tab, world, [raw.get("backendDOMNodeId", 0) for raw, _ in shown])
    nodes = [_node(raw, depth, refs.get(raw.get("backendDOMNodeId", 0), "")) for raw, depth in shown]
    return Tree(nodes, len(kept))


async def _nodes(frame: Frame) -> list[dict[str, Any]]:
    try:
        reply = await frame.channel.send("Accessibility.getFullAXTree", frameId=frame.id, timeout=TIMEOUT_S)
    except ProtocolError as error:
        raise Failure("page_error", f"the browser gave no tree: {error.reason}", retryable=True) from None
    finally:
        frame.channel.post("Accessibility.disable")  # left on, it costs every later change of the page
    return reply["nodes"]


def _kept(nodes: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], int]]:
    """In the order of the page, with the depth among those that are kept. No recursion: pages nest as they like."""
    by_id = {one["nodeId"]: one for one in nodes}
    children = {child for one in nodes for child in one.get("childIds", [])}
    stack = [(one["nodeId"], 0) for one in reversed(nodes) if one["nodeId"] not in children]
    while stack:
        node_id, depth = stack.pop()
        node = by_id.get(node_id)
        if node is None:
            continue
        is_kept = _is_kept(node, by_id)
        if is_kept:
            yield node, depth
        stack += [(child, depth + is_kept) for child in reversed(node.get("childIds", []))]


def _is_kept(node: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> bool:
    role = _text(node.get("role"))
    if node.get("ignored") or role in _SKIPPED:
        return False
    if role in _INTERACTIVE:
        return True
    name = _text(node.get("name")).strip()
    if role == "StaticText":  # what its parent is named by need not be said twice
        parent = by_id.get(node.get("parentId", ""), {})
        return bool(name) and _text(parent.get("name")).strip() != name
    return bool(name)


def _node(raw: dict[str, Any], depth: int, ref: str) -> Node:
    told = {one["name"]: one.get("value", {}).get("value") for one in raw.get("properties", [])}
    states = [name for name in _FLAGS if told.get(name) is True]
    states += [f"{name}={told[name]}" for name in _VALUES if told.get(name) not in (None, False, "false", "")]
    role, name = _text(raw.get("role")), " ".join(_text(raw.get("name")).split())
    value = " ".join(_text(raw.get("value")).split())
    return Node(role, name[:MAX_TEXT], ref, value[:MAX_TEXT], states, depth)


def _text(value: dict[str, Any] | None) -> str:
    return str(value.get("value", "")) if value else ""


async def _refs(tab: Tab, world: World, backend_ids: list[int]) -> dict[int, str]:
    """The walker's refs of the nodes that are elements."""
    group = f"pilothouse-ax-{next(_groups)}"
    wanted = [one for one in dict.fromkeys(backend_ids) if one]
    sent = [
        world.channel.post("DOM.resolveNode", backendNodeId=one, executionContextId=world.context_id, objectGroup=group)
        for one in wanted
    ]
    try:
        replies = await asyncio.gather(*sent, return_exceptions=True)
        found = {
            node: handle
            for node, reply in zip(wanted, replies, strict=True)
            if not isinstance(reply, BaseException) and (handle := reply["object"].get("objectId"))
        }
        numbers: list[int] = await world.call_with("refsOf", *found.values()) if found else []
    finally:
        world.channel.post("Runtime.releaseObjectGroup", objectGroup=group)
    return {node: tab.refs.number(world.uid, local) for node, local in zip(found, numbers, strict=True) if local}
