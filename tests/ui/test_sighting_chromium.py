"""D07, F07: the picture of what a question is about: the thing is where the box says, for whoever waits or does not."""

from typing import Any

import httpx
import pytest

from tests.daemon_here import Here, asks_for_writes
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent

pytestmark = promise("D07", "F07")

PLAIN = """<!doctype html><body style="margin:0"><button style="position:absolute;left:300px;top:200px;width:120px;height:40px">Go</button>"""
BELOW = """<!doctype html><body style="margin:0;height:5000px"><button style="position:absolute;left:300px;top:3000px;width:120px;height:40px">Go</button>"""
FRAMED = """<!doctype html><body style="margin:0"><iframe style="position:absolute;left:100px;top:50px;width:600px;height:400px;border:0"
srcdoc="<body style='margin:0'><button style='position:absolute;left:200px;top:150px;width:120px;height:40px'>Go</button>"></iframe>"""


async def looked(here: Here, agent: RestAgent) -> dict[str, Any]:
    """A click whose caller does not wait for the answer, and the picture of its question."""
    here.decide = asks_for_writes
    there = f"/api/browser/{agent.session}/click"
    told = await agent.line.post(there, json={"target": "role=button"}, headers={"Prefer": "respond-async"})
    assert told.json()["error"]["code"] == "approval_pending"
    question = here.gate.approvals.pending()[0]["id"]
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        seen = (await person.get(f"/api/approvals/{question}/picture")).json()
        await here.gate.approvals.answer(question, "deny")
        here.gate.approvals._denials.clear()
        after = await person.get(f"/api/approvals/{question}/picture")
    assert after.status_code == 404  # with its question it is forgotten
    assert not here.gate.permits._left
    assert seen["success"], seen
    return seen["data"]


@pytest.mark.parametrize(("page", "x", "y"), [(PLAIN, 300, 200), (FRAMED, 300, 200), (BELOW, 300, 380)])
async def test_the_box_is_where_the_thing_is(here: Here, agent: RestAgent, site: PageServer, page: str, x: int, y: int):
    """The window is 1280 x 800; what is further down stands in the middle of the picture."""
    await agent.do("navigate", url=site.inline(page))
    seen = await looked(here, agent)
    (box,) = seen["boxes"]
    scale = seen["width"] / 1280
    assert [round(box[name] / scale) for name in ("width", "height")] == [120, 40]
    assert abs(box["x"] / scale - x) <= 2
    assert abs(box["y"] / scale - y) <= 2
