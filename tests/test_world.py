"""The walker's source as every document gets it: it parses, nothing in it is named twice, and it stays small."""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pilothouse.browser import world
from tests.promises import promise

pytestmark = promise("A10", "A11")

FOLDER = Path(world.__file__).parent / "world"
ROOMS = sorted(FOLDER.glob("*.js"))
MAX_BYTES = 190_000
SOURCE = Path(__file__).parent.parent / "src" / "pilothouse"

_DECLARED = re.compile(r"^(?:async )?(?:function\*?|class|const|let|var) +([\w$]+)", re.MULTILINE)
_OFFERED = re.compile(r"^ph\.(\w+) =", re.MULTILINE)
# `world.call("snapshot", …)`, `tab.call(…)`, `world.call_with(…)`.
_WANTED = re.compile(r"\.call(?:_with)?\(\s*\"(\w+)\"")


TOOLS = Path(__file__).parents[1] / ".tools" / "node_modules" / ".bin"


def read_all() -> str:
    return "\n".join(room.read_text("utf-8") for room in ROOMS)


def test_it_parses(tmp_path: Path):
    node = shutil.which("node", path=f"{TOOLS}:{os.environ['PATH']}")
    assert node, "scripts/tools brings node along"
    file = tmp_path / "world.js"
    file.write_text(world.source(), "utf-8")
    checked = subprocess.run([node, "--check", str(file)], capture_output=True, text=True, timeout=20, check=False)
    assert checked.returncode == 0, checked.stderr


def test_no_name_is_declared_twice():
    """Two constants of one name are a syntax error; two functions are not, and the later one silently wins."""
    twice = [name for name, count in Counter(_DECLARED.findall(read_all())).items() if count > 1]
    assert not twice


def test_no_function_is_offered_twice():
    twice = [name for name, count in Counter(_OFFERED.findall(read_all())).items() if count > 1]
    assert not twice


def test_what_the_daemon_calls_is_there():
    offered = set(_OFFERED.findall(read_all()))
    callers = [path for room in ("browser", "tools") for path in (SOURCE / room).rglob("*.py")]
    wanted = {name for path in callers for name in _WANTED.findall(path.read_text("utf-8"))}
    assert {"snapshot", "check", "locate", "tick"} <= wanted
    assert wanted <= offered


def test_it_stays_small():
    assert len(world.source().encode()) < MAX_BYTES


def test_comments_stay_at_home():
    assert not [line for line in world.source().splitlines() if re.search(r"(^|\s)//", line)]
    assert not [line for line in read_all().splitlines() if re.search(r"[\"'`].*\s// .*[\"'`]", line.split("  // ")[0])]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_opens_by_saying_what_it_is(room: Path):
    first, second = room.read_text("utf-8").splitlines()[:2]
    assert first.startswith("// ")
    assert second.startswith("// ")
