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
INNER = """<!doctype html><body style="margin:0"><div style="position:absolute;left:100px;top:100px;width:300px;height:200px;overflow:auto">
<div style="height:900px"></div><button style="width:120px;height:40px">Go</button></div><p style="position:absolute;top:700px">Else"""
HALF = """<!doctype html><body style="margin:0"><div style="position:absolute;left:100px;top:100px;width:300px;height:200px;overflow:auto">
<button style="display:block;margin:180px 0 0 50px;width:120px;height:40px">Go</button></div>"""
DEEP = """<!doctype html><body style="margin:0"><iframe style="position:absolute;left:100px;top:50px;width:600px;height:400px;border:0"
srcdoc="<body style='margin:0;height:3000px'><button style='position:absolute;left:200px;top:1500px;width:120px;height:40px'>Go</button>"></iframe>"""
HIDDEN_FRAME = """<!doctype html><body style="margin:0"><div style="width:800px;height:300px;overflow:auto"><div style="height:2000px"></div>
<iframe style="width:600px;height:400px;border:0" srcdoc="<button>Go</button>"></iframe></div>"""
ESCAPES = """<!doctype html><body style="margin:0"><div style="width:50px;height:50px;overflow:auto">
<button style="position:fixed;left:300px;top:200px;width:120px;height:40px">Go</button></div>"""
DRAWN = """<!doctype html><body style="margin:0"><svg style="position:absolute;left:0;top:0" width="800" height="600">
<foreignObject x="300" y="200" width="120" height="40"><button style="width:120px;height:40px;margin:0">Go</button></foreignObject></svg>"""
FOCUS = """<!doctype html><body style="margin:0"><iframe style="position:absolute;left:100px;top:50px;width:600px;height:400px;border:0"
srcdoc="<body style='margin:0'><input autofocus style='position:absolute;box-sizing:border-box;left:200px;top:150px;width:120px;height:40px'>"></iframe>"""


async def looked(here: Here, agent: RestAgent, tool: str = "click", **args: Any) -> dict[str, Any]:
    """A call that does not wait for the answer, and the picture of its question."""
    here.decide = asks_for_writes
    there = f"/api/browser/{agent.session}/{tool}"
    told = await agent.line.post(there, json=args or {"target": "button"}, headers={"Prefer": "respond-async"})
    assert told.json()["error"]["code"] == "approval_pending", told.json()
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


@pytest.mark.parametrize(
    ("page", "x", "y"),
    [(PLAIN, 300, 200), (FRAMED, 300, 200), (BELOW, 300, 380), (ESCAPES, 300, 200), (DRAWN, 300, 200)],
)
async def test_the_box_is_where_the_thing_is(here: Here, agent: RestAgent, site: PageServer, page: str, x: int, y: int):
    """The window is 1280 x 800; what is further down stands in the middle of the picture."""
    await agent.do("navigate", url=site.inline(page))
    seen = await looked(here, agent)
    (box,) = seen["boxes"]
    scale = seen["width"] / 1280
    assert [round(box[name] / scale) for name in ("width", "height")] == [120, 40]
    assert abs(box["x"] / scale - x) <= 2
    assert abs(box["y"] / scale - y) <= 2


@pytest.mark.parametrize("page", [INNER, DEEP, HIDDEN_FRAME])
async def test_what_is_scrolled_out_of_sight_is_not_marked(here: Here, agent: RestAgent, site: PageServer, page: str):
    """There is something else where it would be."""
    await agent.do("navigate", url=site.inline(page))
    seen = await looked(here, agent)
    assert seen["boxes"] == []
    assert "not in view" in seen["note"]


async def test_of_what_is_half_hidden_the_other_half_is_marked(here: Here, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(HALF))
    seen = await looked(here, agent)
    (box,) = seen["boxes"]
    scale = seen["width"] / 1280
    assert [round(box[name] / scale) for name in ("x", "y", "width", "height")] == [150, 280, 120, 20]
    assert seen["note"] == ""


async def test_a_point_is_marked(here: Here, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PLAIN))
    seen = await looked(here, agent, "click_at", x=360, y=220)
    (box,) = seen["boxes"]
    scale = seen["width"] / 1280
    middle = (box["x"] + box["width"] / 2) / scale, (box["y"] + box["height"] / 2) / scale
    assert [round(one) for one in middle] == [360, 220]


async def test_what_keys_go_to_is_marked(here: Here, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(FOCUS))
    await agent.do("click", target="input")
    seen = await looked(here, agent, "press_key", key="Enter")
    (box,) = seen["boxes"]
    scale = seen["width"] / 1280
    assert [round(box[name] / scale) for name in ("x", "y", "width", "height")] == [300, 200, 120, 40]
