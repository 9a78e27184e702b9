"""The house keeps its rooms apart: who may import whom, where CDP is spoken, where the MCP SDK is known.

The table is the one of docs/architecture.md, as data. It is held against the syntax tree of every file, imports
inside functions and those for type checkers included.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.promises import promise

pytestmark = promise("C04", "A01")

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pilothouse"
GROUND = {
    "errors",
    "result",
    "schema",
    "tool",
    "options",
    "config",
    "home",
    "likely",
    "doing",
    "metrics",
    "minted",
    "overlong",
    "written",
}

# A name is a room or one module of it. Every room may import itself, and the package for its version.
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(GROUND, GROUND),
    "cdp": {"errors"},
    "callers": {"options", "errors"},
    "tables": {"errors"},
    "editing": {"written", "errors"},
    "profiles": {"config", "options", "editing", "tables", "errors"},
    "cocoons": {"config", "options", "editing", "tables", "guard", "errors"},
    "proxy": {"cocoons", "options", "guard", "errors"},
    "users": {"config", "options", "editing", "tables", "errors"},
    "hub": {"cocoons", "guard", "minted", "result", "errors"},
    "alone": {"cocoons", "config", "options", "doors", "errors", "guard", "home", "hub", "log"},
    "providers": {"cdp", "options", "errors"},
    "browser": {"cdp", "doing", "minted", "profiles", "result", "errors"},
    "guard": {"tool", "config", "doing", "options", "result", "tables", "written", "errors"},
    "tools": {"browser", "doing", "hub.own", "hub.words", "profiles", "tool", "result", "errors"},
    "call": {"browser", "guard.policy", "tool", "result", "errors"},
    "envelope": set(),
    "aiming": {"browser", "guard", "tool"},
    "telling": {"call", "browser", "guard", "envelope", "tool", "result", "errors"},
    "timing": {"call", "browser", "tool", "errors"},
    "reporting": {"call", "doing", "guard.redact", "tool", "result"},
    "permitting": {"call", "aiming", "pausing", "timing", "guard", "browser", "tool", "result", "errors"},
    "gate": {
        "aiming",
        "call",
        "cocoons",
        "hub",
        "telling",
        "timing",
        "reporting",
        "doing",
        "pausing",
        "permitting",
        "guard",
        "browser",
        "cdp.connection",
        "metrics",
        "tool",
        "result",
        "errors",
    },
    "doors": {
        "call",
        "cocoons",
        "proxy",
        "hub",
        "gate",
        "wheel",
        "profiles",
        "guard",
        "browser.watch",
        "browser.stream",
        "providers.link",
        "providers.frames",
        "metrics",
        "overlong",
        "tool",
        "options",
        "result",
        "errors",
    },
    "instance": {"home", "written"},
    "reach": {"instance"},
    "bridge": {"instance", "reach", "home", "overlong", "errors"},
    "log": {"guard.redact", "options", "errors", "instance"},
    "abodes": {"browser", "written"},
    "pausing": {"call", "browser.pause", "doing", "errors"},
    "wheel": {"call", "permitting", "guard", "browser", "tool", "result", "errors"},
    "adjusting": {"gate", "browser", "guard", "providers.elsewhere", "reload", "options", "errors"},
    "presence": set(),
    "reload": {"errors"},
    "commands": {
        "reach",
        "instance",
        "home",
        "likely",
        "written",
        "errors",
        "config",
        "options",
        "tool",
        "tools",
        "providers",
        "guard",
        "result",
        "admin",
        "cocoons",
        "users",
    },
    "admin": {"alone", "commands", "bridge", "daemon", "instance", "home", "profiles", "errors"},
    "entry": {"commands", "bridge", "admin", "instance"},
}
KNOWS_EVERY_ROOM = {"daemon"}
SPEAKS_CDP = {"browser", "providers", "cdp"}
STDLIB_ONLY = ["__init__.py", "entry.py", "bridge.py", "reach.py", "instance.py", "home.py", "errors.py", "written.py"]
STDLIB_ONLY += ["overlong.py"]
STDLIB_ONLY += [
    f"commands/{name}.py"
    for name in (
        "__init__",
        "arguments",
        "call",
        "completion",
        "follow",
        "line",
        "manifest",
        "show",
        "terminal",
        "usage",
    )
]

_CDP = re.compile(r"[A-Z][A-Za-z]+\.[a-z][A-Za-z]+")
FILES = sorted(SOURCE.rglob("*.py"))
NAMES = [str(path.relative_to(SOURCE)) for path in FILES]


def tree(name: str) -> ast.Module:
    return ast.parse((SOURCE / name).read_text("utf-8"))


def room_of(name: str) -> str:
    return name.removesuffix(".py").partition("/")[0]


def imports(name: str) -> Iterator[str]:
    """Every module that a file imports, by its full name."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative imports hide where a name comes from"
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if _is_module(f"{node.module}.{alias.name}") else str(node.module)


def _is_module(dotted: str) -> bool:
    path = ROOT / "src" / dotted.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def own(name: str) -> set[str]:
    """The rooms and modules of ours that a file imports, without the package's own name."""
    return {one.removeprefix("pilothouse.") for one in imports(name) if one.startswith("pilothouse.")}


@pytest.mark.parametrize("name", NAMES)
def test_a_room_imports_only_what_the_table_allows(name: str):
    room = room_of(name)
    if name == "__init__.py" or room in KNOWS_EVERY_ROOM:
        return
    allowed = MAY_IMPORT[room] | {room}
    wrong = [one for one in own(name) if not any(one == ok or one.startswith(f"{ok}.") for ok in allowed)]
    assert not wrong, f"{name} may import {sorted(allowed)}, not {wrong}"


@pytest.mark.parametrize("name", [name for name in NAMES if room_of(name) not in SPEAKS_CDP])
def test_cdp_is_spoken_below_the_tools_only(name: str):
    spoken = [
        node.value
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CDP.fullmatch(node.value)
    ]
    assert not spoken, f"{name} speaks CDP: {spoken}"


def test_only_the_mcp_door_knows_the_sdk():
    users = {name for name in NAMES if {one.partition(".")[0] for one in imports(name)} & {"mcp", "mcp_types"}}
    assert users == {"doors/mcp.py", "doors/seal.py"}


@promise("E03")
@pytest.mark.parametrize("name", STDLIB_ONLY)
def test_what_the_bridge_needs_is_in_the_standard_library(name: str):
    foreign = {one.partition(".")[0] for one in imports(name)} - set(sys.stdlib_module_names) - {"pilothouse"}
    assert not foreign


@pytest.mark.parametrize("name", NAMES)
def test_a_module_opens_by_saying_what_it_is(name: str):
    said = ast.get_docstring(tree(name))
    assert said, f"{name} has no docstring"
    assert len(said.splitlines()) <= 12


@pytest.mark.parametrize("name", NAMES)
def test_a_name_with_an_underscore_stays_in_its_file(name: str):
    taken = [
        alias.name
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pilothouse")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not taken


def test_the_table_is_the_one_in_the_architecture():
    """The drawing in the docs names every room that the table names."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    missing = [room for room in [*MAY_IMPORT, *KNOWS_EVERY_ROOM] if f"`{room}`" not in text]
    assert not missing


def test_the_map_of_the_guard_names_every_file():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    chapter = text.partition("## The guard\n")[2].partition("\n## ")[0]
    files = {path.stem for path in (SOURCE / "guard").glob("*.py")} - {"__init__"}
    assert files == set(re.findall(r"`([a-z]+)`", chapter))


def test_the_table_names_every_room():
    assert {room_of(name) for name in NAMES} - {"__init__"} == set(MAY_IMPORT) | KNOWS_EVERY_ROOM
