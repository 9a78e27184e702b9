"""Several steps in one call."""

import errno
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pilothouse.browser.files import Folder
from pilothouse.call import Call
from pilothouse.doors.parcel import envelope
from pilothouse.doors.shapes import answer_to_wire
from pilothouse.tools import batch
from tests.browser.looking import fails, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C09")


def step(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


async def test_steps_run_in_order(agent: Agent, site: PageServer) -> None:
    steps = [
        step("navigate", url=site.url("todo.html")),
        step("type_text", target="#task", text="Milk", submit=True),
        step("type_text", target="#task", text="Bread", submit=True),
        step("click", target="text=Milk"),
        step("click", target='role=button[name="Open"]'),
        step("get_page_text", target="#list"),
    ]
    done = await agent.ask("batch", steps=steps)
    assert not done.failed, done.text
    assert [one["tool"] for one in done.data["results"]] == [one["tool"] for one in steps]
    assert "Bread" in done.data["results"][-1]["text"]
    assert "Milk" not in done.data["results"][-1]["text"]
    assert "6. get_page_text" in done.text


async def test_it_stops_at_the_first_failure(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    answer = await agent.ask(
        "batch",
        steps=[
            step("click", target="#go"),
            step("get_page_text", target="h1"),
            step("click", target="#nowhere"),
            step("click", target="#go"),
        ],
    )
    error = answer.data["error"]
    assert error["code"] == "not_found"
    assert "step 3 of 4 (click)" in error["message"]
    assert error["details"]["step"] == 3
    assert [one["tool"] for one in error["details"]["results"]] == ["click", "get_page_text", "click"]
    assert "Small page" in answer.text
    assert await agent.js("clicks") == 1


@promise("C08")
async def test_bad_steps(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    unknown = await fails(agent, "unknown_tool", "batch", steps=[step("click", target="#go"), step("clik")])
    assert "step 2 of 2" in unknown.message
    nested = await fails(agent, "bad_request", "batch", steps=[step("click", target="#go"), step("batch", steps=[])])
    assert "a batch cannot hold a batch" in nested.message
    late = await fails(agent, "bad_request", "batch", steps=[step("click", target="#go"), step("press_key", nothing=1)])
    assert late.suggestions[-1] == "no step was run"
    assert await agent.js("clicks") == 0
    await fails(agent, "bad_request", "batch", steps=[])
    mistaken = await fails(agent, "bad_request", "batch", steps=[{"tool": "click", "arguments": {"target": "#go"}}])
    assert mistaken.suggestions == ["steps[0] takes tool, args?", "batch takes steps, session?"]
    wrong = await fails(agent, "bad_request", "batch", steps=[step("click", nothing=1)])
    assert "step 1 of 1" in wrong.message


@promise("B06")
async def test_a_step_may_name_its_session_by_any_name(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    (session,) = (await agent.call("list_sessions"))["sessions"]
    ways = [{"sessionId": session["session"]}, {"session": session["session"]}, {"session": ""}, {"session_id": ""}, {}]
    done = await agent.ask("batch", steps=[step("click", target="#go", **way) for way in ways])
    assert not done.failed, done.text
    assert await agent.js("clicks") == len(ways)


@promise("B06")
async def test_a_session_is_opened_before_a_batch_not_in_it(agent: Agent, site: PageServer) -> None:
    steps = [step("open_session"), step("navigate", url=site.url("small.html")), step("get_page_text")]
    refused = await fails(agent, "bad_request", "batch", steps=steps)
    assert "call open_session first" in refused.message
    assert (await agent.call("list_sessions"))["sessions"] == []
    opened = (await agent.call("open_session"))["session"]
    done = await agent.call("batch", steps=steps[1:], session=opened)
    assert "Small page" in done["results"][-1]["text"]


@promise("C11")
async def test_progress_is_reported(agent: Agent, site: PageServer) -> None:
    told: list[tuple[float, float | None, str]] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    steps = [step("navigate", url=site.url("small.html")), step("click", target="#go")]
    answer = await agent.gate.call(Call("batch", {"steps": steps}, agent.caller, progress))
    assert not answer.failed
    # A step that lasts is told of in parts, and so is what comes before the first.
    steps_told = [(total, message.partition(":")[0]) for _, total, message in told if total]
    assert list(dict.fromkeys(steps_told)) == [(2, "navigate"), (2, "click")]
    assert next(one[0] for one in told if one[2] == "click") == 1
    assert [one[0] for one in told] == sorted({one[0] for one in told})


@promise("A19")
async def test_a_dialog_in_the_middle(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("dialogs.html"))
    steps = [step("click", target="text=Confirm"), step("handle_dialog", accept=True), step("get_page_text")]
    done = await agent.call("batch", steps=steps)
    assert "confirm true" in done["results"][-1]["text"]


@promise("C07", "A15")
async def test_pictures_of_steps_come_with_the_answer(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    steps = [step("screenshot"), step("get_page_title"), step("screenshot", target="h1", format="png")]
    done = await agent.ask("batch", steps=steps)
    assert [one.mime_type for one in done.images] == ["image/jpeg", "image/png"]
    assert [one.get("picture") for one in done.data["results"]] == [1, None, 2]
    assert "1. screenshot (picture 1): 1280x800" in done.text
    assert [one["type"] for one in answer_to_wire(done)["content"]] == ["text", "image", "image"]
    assert [one["mime_type"] for one in envelope(done, 1)["images"]] == ["image/jpeg", "image/png"]


@promise("C07", "A15")
async def test_pictures_before_a_failure_are_not_lost(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    failed = await agent.ask("batch", steps=[step("screenshot"), step("click", target="#nowhere")])
    assert failed.data["error"]["code"] == "not_found"
    assert "1. screenshot (picture 1)" in failed.text
    assert [one.mime_type for one in failed.images] == ["image/jpeg"]
    assert [one["type"] for one in answer_to_wire(failed)["content"]] == ["text", "image"]
    assert len(envelope(failed, 1)["images"]) == 1


@promise("C07", "A15", "B08")
async def test_what_is_too_much_for_one_answer_lies_in_files(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    monkeypatch.setattr(batch, "MOST_PICTURES", 2)
    steps = [step("screenshot", target="h1")] * 4
    done = await agent.ask("batch", steps=steps)
    told = done.data["results"]
    assert ([one.get("picture") for one in told], len(done.images)) == ([1, 2, None, None], 2)
    assert all(Path(one["path"]).read_bytes().startswith(b"\xff\xd8") for one in told[2:])
    assert told[2]["path"] in done.text
    monkeypatch.setattr(batch, "MOST_PICTURE_BYTES", 10)
    tab_of(agent).files.quota_bytes = 0
    for refuses in (None, OSError(errno.ENOSPC, "No space left on device")):
        if refuses:
            monkeypatch.setattr(Folder, "keep", Mock(side_effect=refuses))
        full = await agent.ask("batch", steps=steps[:1])
        assert not full.failed
        assert (full.images, "could not be kept" in full.text) == ([], True)
