"""The corridor's own small things; what it does to calls is in the tests of tools, doors and hostile pages."""

import pytest

from pilothouse.call import Defaults
from tests.house import House
from tests.promises import promise

pytestmark = promise("B06", "E09")


def test_what_a_connection_does_not_say_is_as_the_daemon_was_started():
    daemon = Defaults(tools="all", headed=True)
    assert Defaults(tools="").over(daemon) == Defaults(tools="all", headed=True)
    assert Defaults(tools="core", profile="work").over(daemon) == Defaults(tools="core", profile="work", headed=True)
    assert Defaults(tools="", headed=True).over(Defaults()) == Defaults(tools="core", headed=True)


@pytest.mark.parametrize("tool", ["click", "no_such_tool", "list_sessions", "navigate"])
async def test_who_outlived_a_daemon_is_told_with_the_first_answer_whatever_it_is(house: House, tool: str):
    async with house.agent(Defaults(again=True)) as agent:
        args = {"click": {"target": "e2"}, "navigate": {"url": "about:blank"}}.get(tool, {})
        first = await agent.ask(tool, **args)
        assert "Pilothouse was started anew: the session, its tabs, cookies and refs of before are gone" in first.text
        opens = tool in ("click", "navigate")
        assert ("\nsession: s" in first.text) == opens
        assert (first.data.get("session", "")[:1] == "s") == opens
        assert "anew" not in (await agent.ask("click", target="e2")).text


@pytest.mark.parametrize("steps", [False, True])
async def test_a_refusal_has_the_schema_whole_and_what_was_given_masked(house: House, steps: bool):
    given = {"token": {"password": "hunter2hunter2"}, "limit": "password=hunter2hunter2"}
    tool = "browser_debug_get_network"
    async with house.agent() as agent:
        call = agent.ask("batch", steps=[{"tool": tool, "args": given}]) if steps else agent.ask(tool, **given)
        answer = await call
    assert answer.data["error"]["code"] == "bad_request"
    assert answer.data["error"]["details"]["expected"] == house.gate.registry.find(tool).input_schema
    assert "hunter2" not in str(answer)
