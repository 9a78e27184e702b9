"""A scripted agent: calls tools at full speed, reads snapshots as a model would, and never sleeps."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.mcp_line import LineClient, Reply


class Agent(LineClient):
    def __init__(self, argv: Iterable[str], *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(argv, env=env)
        self.initialize()

    def do(self, tool: str, /, **args: Any) -> Reply:
        """A call that must succeed."""
        reply = self.call(tool, **args)
        assert reply.ok, f"{tool} {args}: {reply.text}"
        return reply

    def fail(self, tool: str, /, **args: Any) -> str:
        """A call that must fail; its code."""
        reply = self.call(tool, **args)
        assert reply.error, f"{tool} {args} succeeded: {reply.text}"
        return reply.error

    def js(self, expression: str, **args: Any) -> Any:
        return self.do("evaluate_js", expression=expression, **args).data.get("value")

    def see(self, *expected: str, unless: str | None = None, **args: Any) -> str:
        """The snapshot of this very moment; the page must already be whole."""
        text = self.do("get_page_state", **args).text
        for part in expected:
            assert part in text, f"{part!r} is not in:\n{text}"
        assert unless is None or unless not in text, f"{unless!r} is still in:\n{text}"
        return text


def ref_of(snapshot: str, role: str, name: str, *, after: str | None = None) -> str:
    """The ref of the first such element, or of the first one after the element or text `after`."""
    start = 0
    if after is not None:
        assert after in snapshot, f"{after!r} is not in:\n{snapshot}"
        start = snapshot.index(after)
    found = re.compile(rf'\b{role} "{re.escape(name)}" (e\d+)\b').search(snapshot, start)
    assert found, f'{role} "{name}" has no ref in:\n{snapshot}'
    return found[1]
