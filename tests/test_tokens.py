"""What an agent reads before it does anything: the core list and the instructions, counted as o200k_base tokens.

`scripts/tools` installs the counter.
"""

import importlib
import pkgutil
from typing import Any

import msgspec

import pilothouse.tools
from bench.tokens import count_tokens
from pilothouse.doors.instructions import IN_OWN_CHROME, INSTRUCTIONS
from pilothouse.doors.shapes import tool_to_wire
from pilothouse.tool import Registry, declared
from tests.promises import promise

pytestmark = promise("C05")

CORE_MAX = 3_000
ALL_MAX = 11_000
INSTRUCTIONS_MAX = 300


def listed(sets: str) -> str:
    """The tools of an answer to tools/list, as they go over the wire: the SDK puts what it knows by name in order."""
    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    ours = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.")]
    return msgspec.json.encode([_in_order(tool_to_wire(one)) for one in Registry(ours).listed(sets)]).decode()


def _in_order(tool: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(sorted(said.items())) if isinstance(said, dict) else said for name, said in sorted(tool.items())}


def test_what_an_agent_reads_at_the_start_is_short():
    texts = [listed("core"), listed("all"), INSTRUCTIONS, IN_OWN_CHROME]
    core, everything, instructions, in_own_chrome = count_tokens(texts)
    assert core <= CORE_MAX
    assert everything <= ALL_MAX
    assert instructions < INSTRUCTIONS_MAX
    assert in_own_chrome < INSTRUCTIONS_MAX
