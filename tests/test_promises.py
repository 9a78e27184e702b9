"""Every promise that is kept has a test, and every test says which promise it proves.

Read from the syntax trees, so that nothing has to run: a test names its promises by `@promise("A07")` on itself or its
class, or by `pytestmark = promise("A07")` for its whole module.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.promises import KEPT, LATER, promise

pytestmark = promise("C04")

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))


class Proof(NamedTuple):
    test: str
    promises: frozenset[str]


def proofs(path: Path) -> Iterator[Proof]:
    """Every test of a file with the promises it names."""
    module = ast.parse(path.read_text("utf-8"))
    marks = [node.value for node in module.body if isinstance(node, ast.Assign) and _is_mark(node)]
    yield from _within(module, str(path.relative_to(TESTS)), _named(marks))


def _within(node: ast.Module | ast.ClassDef, place: str, inherited: frozenset[str]) -> Iterator[Proof]:
    for one in node.body:
        if isinstance(one, ast.ClassDef) and one.name.startswith("Test"):
            yield from _within(one, f"{place}::{one.name}", inherited | _named(one.decorator_list))
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test"):
            yield Proof(f"{place}::{one.name}", inherited | _named(one.decorator_list))


def _is_mark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _named(marks: list[ast.expr]) -> frozenset[str]:
    """The arguments of every call of `promise` in some marks, lists of them included."""
    calls = [
        node
        for mark in marks
        for node in ast.walk(mark)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "promise"
    ]
    given = [argument for call in calls for argument in call.args]
    return frozenset(str(one.value) for one in given if isinstance(one, ast.Constant))


def test_every_kept_promise_has_a_test():
    proved: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for proof in proofs(path):
            for one in proof.promises:
                proved[one].append(proof.test)
    missing = {one: text for one, text in KEPT.items() if one not in proved}
    assert not missing, f"kept promises that no test names: {missing}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_every_test_names_a_promise(path: Path):
    silent = [proof.test for proof in proofs(path) if not proof.promises]
    assert not silent, f"these tests name no promise: {silent}"


def test_a_promise_is_kept_or_comes_later():
    assert not KEPT.keys() & LATER.keys()
    with pytest.raises(AssertionError, match="no such promise"):
        promise("Z99")


def test_names_are_found_where_they_stand():
    path = TESTS / "test_promises.py"
    found = {proof.test.rpartition("::")[2]: proof.promises for proof in proofs(path)}
    assert found["test_every_kept_promise_has_a_test"] == {"C04"}
    assert _named([ast.parse("[promise('A01', 'A02'), other('A03')]").body[0].value]) == {"A01", "A02"}  # pyright: ignore
