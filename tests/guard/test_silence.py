"""The browser speaks to nobody but the pages' own servers: no look-ups, no reports, no help with forms."""

import pytest

from pilothouse.guard.sluice import Gateway
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D04")


async def test_chrome_asks_for_no_host_by_itself(agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch):
    """Each of these forms once made Chrome ask Google what its fields mean, twice."""
    asked: set[str] = set()
    admit = Gateway.asked

    def note(gateway: Gateway, visitor: object, host: str, port: int) -> None:
        asked.add(host)
        admit(gateway, visitor, host, port)  # type: ignore[arg-type]

    monkeypatch.setattr(Gateway, "asked", note)
    for number in range(4):
        await agent.call("navigate", url=f"{site.url('form.html')}?{number}")
        await agent.call("type_text", target="#text", text="Ada")
        await agent.call("navigate", url=f"{site.url('small.html')}?{number}")
        await agent.call("click", target="#go")
    assert asked <= {"127.0.0.1", "localhost"}
    assert asked
