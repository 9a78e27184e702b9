"""`pilothouse dashboard`: a link that works once; it starts the daemon if none runs."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.command_line import CommandLine
from tests.daemon_here import Here, daemon_here
from tests.promises import promise

pytestmark = promise("E08", "F07")


@pytest.fixture
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    async with daemon_here(tmp_path_factory.mktemp("here")) as one:
        yield one


async def test_the_link_works_once(here: Here):
    line = CommandLine(here.home)
    printed = await asyncio.to_thread(line.text, "dashboard", "--print")
    address, _, ticket = printed.strip().partition("#ticket=")
    assert address == f"{here.url}/dashboard"
    assert here.person not in printed
    async with httpx.AsyncClient() as anybody:
        entered = await anybody.post(f"{here.url}/dashboard/enter", json={"ticket": ticket})
        assert entered.json()["data"]["pass"]
        assert (await anybody.post(f"{here.url}/dashboard/enter", json={"ticket": ticket})).status_code == 401
    told = json.loads(await asyncio.to_thread(line.text, "dashboard", "--json"))
    assert told["valid_s"] == 60
    assert ticket not in (here.home / "audit.jsonl").read_text()


def test_it_starts_the_daemon(home: Path):
    line = CommandLine(home)
    assert "/dashboard#ticket=" in line.text("dashboard", "--print")
    line.text("stop")
