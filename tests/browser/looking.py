"""What browser tests do again and again: go to a page, read refs out of snapshots, expect a failure."""

import re
from typing import Any

import pytest

from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from tests.house import Agent

REF = re.compile(r"\be\d+\b")


def ref_in(snapshot: str, part: str) -> str:
    """The first ref at or after a part of a snapshot: `ref_in(text, 'button "Go"')`."""
    assert part in snapshot, f"{part!r} is not in:\n{snapshot}"
    found = REF.search(snapshot, snapshot.index(part) + len(part))
    assert found, f"no ref after {part!r} in:\n{snapshot}"
    return found[0]


def tab_of(agent: Agent) -> Tab:
    (session,) = agent.gate.own(agent.caller).all()
    assert session.current
    return session.current


async def look(agent: Agent, **options: Any) -> str:
    return (await agent.call("get_page_state", **options))["snapshot"]


async def ref(agent: Agent, part: str) -> str:
    return ref_in(await look(agent, full=True, budget=20_000), part)


async def fails(agent: Agent, code: str, tool: str, **args: Any) -> Failure:
    """The call must fail with this code."""
    with pytest.raises(Failure) as caught:
        await agent.call(tool, **args)
    assert caught.value.code == code, f"{caught.value.code}: {caught.value.message}"
    return caught.value


async def put(agent: Agent, html: str) -> None:
    """Replace the page's body."""
    await agent.call("evaluate_js", expression="document.body.innerHTML = args[0]; return 0", args=[html])
