"""Every CDP command and event in our source is held against the browser's own description of its protocol."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cdp.conftest import Remote
from tests.promises import promise

SOURCE = Path(__file__).parents[2] / "src" / "pilothouse"
OURS = {"timeout", "steadfast"}


class Use(NamedTuple):
    place: str
    verb: str
    method: str
    names: frozenset[str]


def uses() -> Iterator[Use]:
    """Every call of send, post or on with a literal `Domain.name`."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and (use := _use(path, node)):
                yield use


def _use(path: Path, call: ast.Call) -> Use | None:
    verb = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args else None
    if verb not in ("send", "post", "on") or not isinstance(first, ast.Constant) or "." not in str(first.value):
        return None
    names = frozenset(keyword.arg for keyword in call.keywords if keyword.arg) - OURS
    return Use(f"{path.relative_to(SOURCE)}:{call.lineno}", verb, str(first.value), names)


@pytest.fixture(scope="module")
def described(remote: Remote) -> dict[str, Any]:
    return {domain["domain"]: domain for domain in remote.protocol()["domains"]}


@promise("A01")
def test_the_tree_is_walked() -> None:
    found = list(uses())
    assert len([use for use in found if use.verb != "on"]) > 40
    assert len([use for use in found if use.verb == "on"]) > 30


@promise("A01")
def test_every_command_and_its_arguments_exist(described: dict[str, Any]) -> None:
    wrong = [fault for use in uses() if use.verb != "on" and (fault := _fault(described, use))]
    assert wrong == []


@promise("A01")
def test_every_event_exists(described: dict[str, Any]) -> None:
    wrong = [use for use in uses() if use.verb == "on" and not _entry(described, use, "events")]
    assert wrong == []


@promise("A01")
def test_every_name_in_a_table_exists(described: dict[str, Any]) -> None:
    """Many are handed on before they are sent or listened to."""
    found = set(names())
    assert len(found) > 120
    known = {
        f"{domain}.{one['name']}"
        for domain, entries in described.items()
        for kind in ("commands", "events")
        for one in entries.get(kind, [])
    }
    assert {name for _, name in found if name.partition(".")[0] in described} - known == set()


def names() -> Iterator[tuple[str, str]]:
    """Every text of the form `Domain.name`, and where it stands."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and re.fullmatch(r"[A-Z]\w+\.[a-z]\w+", str(node.value)):
                yield str(path.relative_to(SOURCE)), str(node.value)


def _entry(described: dict[str, Any], use: Use, kind: str) -> dict[str, Any] | None:
    domain, _, name = use.method.partition(".")
    entries = described.get(domain, {}).get(kind, [])
    return next((one for one in entries if one["name"] == name), None)


def _fault(described: dict[str, Any], use: Use) -> str:
    command = _entry(described, use, "commands")
    if command is None:
        return f"{use.place}: there is no {use.method}"
    unknown = use.names - {parameter["name"] for parameter in command.get("parameters", [])}
    return f"{use.place}: {use.method} takes no {sorted(unknown)}" if unknown else ""
