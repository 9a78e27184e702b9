"""A person sees and ends the sessions of all callers; agents only their own."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilothouse.call import Call, Caller
from tests.command_line import CommandLine
from tests.daemon_here import Here, daemon_here
from tests.promises import promise

pytestmark = promise("B08", "E08")


@pytest.fixture
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    async with daemon_here(tmp_path_factory.mktemp("here")) as one:
        yield one


async def test_everybodys_sessions_are_listed_and_can_be_ended(here: Here):
    line = CommandLine(here.home)
    opened = await here.gate.call(Call("open_session", {}, Caller("ci", "http-1", "mcp")))
    ident = opened.data["session"]
    assert "no session" in await asyncio.to_thread(line.text, "list-sessions")
    listed = await asyncio.to_thread(line.text, "sessions")
    assert f"{ident} of ci by http: isolated" in listed
    assert f"session: {ident} of ci" in await asyncio.to_thread(line.text, "status")
    assert await asyncio.to_thread(line.text, "sessions", "close", ident) == f"closed {ident}\n"
    assert await asyncio.to_thread(line.text, "sessions") == "no session is open\n"
    again = await asyncio.to_thread(line.run, "sessions", "close", ident)
    assert (again.returncode, "pilothouse sessions" in again.stderr) == (1, True)
    assert (await asyncio.to_thread(line.run, "sessions", "close")).returncode == 2
    assert "session_ended" in await asyncio.to_thread(line.text, "log", "show")
