"""Handles that we make: nobody guesses them, and our own redaction takes none for a key."""

import re
from pathlib import Path

from pilothouse.browser.folders import _SESSION
from pilothouse.guard.redact import LOGGED, REGISTERED, SAID, SHOWN
from pilothouse.minted import LETTERS, lettered, minted
from tests.house import Agent
from tests.hub.test_hub import World, offered
from tests.promises import promise

pytestmark = promise("B05", "D11")


def test_no_degree_of_redaction_masks_a_handle() -> None:
    handles = [minted() for _ in range(20_000)]
    assert len(set(handles)) == len(handles)
    assert 26**LETTERS > 2**128
    assert all(re.fullmatch(r"[a-z]+", one) for one in handles)
    for degree in (REGISTERED, SHOWN, SAID, LOGGED):
        for text in (
            "\n".join(f"session s{one} is open" for one in handles),
            "\n".join(f"/api/v1/sessions/s{one}/tabs" for one in handles),
            "\n".join(f'"session":"s{one}","tab":"{one}"' for one in handles),
        ):
            assert degree.text(text) == text
        assert degree.tree([{"session": f"s{one}", "tabId": one} for one in handles])[-1]["tabId"] == handles[-1]


async def test_a_session_is_called_so(agent: Agent) -> None:
    name = (await agent.call("open_session"))["session"]
    assert re.fullmatch(rf"s[a-z]{{{LETTERS}}}", name)
    assert _SESSION.fullmatch(name), "its folder is swept when it is old"


def test_a_handle_may_come_from_a_signature() -> None:
    """Every bit of it counts, up to as many as a handle has room for."""
    signed = [bytes(31) + bytes([number]) for number in range(256)] + [b"\xff" * 32]
    assert len({lettered(one) for one in signed}) == len(signed)
    assert all(re.fullmatch(rf"[a-z]{{{LETTERS}}}", lettered(one)) for one in signed)


def test_so_is_a_tab_that_is_offered_for_inspection(tmp_path: Path) -> None:
    assert re.fullmatch(rf"[a-z]{{{LETTERS}}}", offered(World(tmp_path))[2])
