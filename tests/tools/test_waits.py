"""Waiting for elements, texts, addresses, and for time to pass."""

import asyncio

import pytest

from pilothouse.call import Call
from tests.browser.looking import fails, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01", "C06")

LATER = {
    "visible": ("<p id=it hidden>It</p>", "it.hidden = false"),
    "hidden": ("<p id=it>It</p>", "it.style.visibility = 'hidden'"),
    "attached": ("<p>Nothing</p>", "document.body.insertAdjacentHTML('beforeend', '<p id=it hidden>It</p>')"),
    "detached": ("<p id=it>It</p>", "it.remove()"),
}


@pytest.mark.parametrize("state", LATER)
async def test_a_state_that_comes_later(agent: Agent, site: PageServer, state: str) -> None:
    body, change = LATER[state]
    await agent.call("navigate", url=site.inline(f"<title>T</title>{body}"))
    await fails(agent, "timeout", "wait_for_element", target="#it", state=state, timeout_ms=50)
    waiting = asyncio.ensure_future(agent.ask("wait_for_element", selector="#it", state=state, timeout=5000))
    await agent.js(f"void setTimeout(() => {{ {change} }}, 50)")
    assert (await waiting).text == f"{state}: met"


@pytest.mark.parametrize("state", ["hidden", "detached"])
async def test_a_ref_that_goes(agent: Agent, site: PageServer, state: str) -> None:
    await agent.call("navigate", url=site.inline("<button id=it>It</button>"))
    it = await ref(agent, 'button "It"')
    await agent.call("wait_for_element", target=it, state="attached")
    waiting = asyncio.ensure_future(agent.ask("wait_for_element", ref=it, state=state))
    await agent.js("void setTimeout(() => it.remove(), 50)")
    assert (await waiting).data["met"] == state


async def test_alternatives(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p id=a>A</p><p id=b>B</p>"))
    await agent.call("wait_for_element", target=["#never", "#b"])
    await fails(agent, "timeout", "wait_for_element", target=["#never", "#b"], state="hidden", timeout_ms=100)
    waiting = asyncio.ensure_future(agent.ask("wait_for_element", target=["#a", "#b"], state="detached"))
    await agent.js("void setTimeout(() => { a.remove(); b.remove() }, 50)")
    assert not (await waiting).failed


@promise("A21")
async def test_an_element_of_a_frame_that_comes_later(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<h1>Page</h1>"))
    frame = site.inline("<p id=it>It</p>", other=True)
    waiting = asyncio.ensure_future(agent.ask("wait_for_element", target="#it"))
    await agent.call(
        "evaluate_js",
        expression="document.body.append(Object.assign(document.createElement('iframe'), { src: args[0] })); return 0",
        args=[frame],
    )
    assert not (await waiting).failed
    gone = asyncio.ensure_future(agent.ask("wait_for_element", target="#it", state="detached"))
    await agent.js("void setTimeout(() => document.querySelector('iframe').remove(), 50)")
    assert not (await gone).failed


async def test_a_text(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p id=it></p>"))
    waiting = asyncio.ensure_future(agent.ask("wait_for_text", text="ready"))
    await agent.js("void setTimeout(() => { it.textContent = 'Now READY' }, 50)")
    assert (await waiting).text == "text: met"
    await fails(agent, "timeout", "wait_for_text", text="never", timeout_ms=50)


async def test_an_address(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    waiting = asyncio.ensure_future(agent.ask("wait_for_url", pattern="*/form.html"))
    await agent.js("void setTimeout(() => { location = 'form.html' }, 50)")
    assert (await waiting).text.startswith("url: met")
    await fails(agent, "timeout", "wait_for_url", url="nowhere.html", timeout_ms=50)


@pytest.mark.parametrize("tool", ["wait_for_element", "wait_for_text", "wait_for_url"])
async def test_nothing_to_wait_for(agent: Agent, site: PageServer, tool: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "bad_request", tool)
    name = {"wait_for_element": "target", "wait_for_text": "text", "wait_for_url": "url"}[tool]
    await fails(agent, "bad_request", tool, **{name: ""})


async def test_a_target_that_is_none(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "bad_request", "wait_for_element", target="role=", state="detached")
    await fails(agent, "bad_request", "wait_for_element", target="#go", state="gone")


async def test_a_dialog_ends_a_wait(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    waiting = asyncio.ensure_future(agent.ask("wait_for_element", target="#nowhere"))
    await agent.js("void setTimeout(() => alert(1), 50)")
    assert (await waiting).data["error"]["code"] == "dialog_open"


@promise("C02")
@pytest.mark.parametrize(
    "said",
    [
        {"time_ms": 60},
        {"ms": 60},
        {"milliseconds": "60"},
        {"duration": 60},
        {"timeout": 60},
        {"seconds": 0.06},
        {"time": 0.06},
    ],
    ids=str,
)
async def test_time_by_any_name(agent: Agent, said: dict[str, float]) -> None:
    began = asyncio.get_running_loop().time()
    assert (await agent.call("browser_wait", **said))["waited_ms"] == 60
    assert asyncio.get_running_loop().time() - began >= 0.059  # the loop counts whole milliseconds


async def test_times_that_are_refused(agent: Agent) -> None:
    for wrong in (
        {},
        {"time_ms": 600_001},
        {"time_ms": -1},
        {"seconds": 601},
        {"time_ms": 5, "seconds": 1},
        {"time": 5000},
    ):
        await fails(agent, "bad_request", "wait", **wrong)


async def test_a_wait_longer_than_the_deadline_of_calls(agent: Agent) -> None:
    session = (await agent.call("open_session", timeout_ms=300))["session"]
    assert (await agent.call("wait", session=session, time_ms=1200))["waited_ms"] == 1200


async def test_a_wait_tells_that_it_lives_and_can_be_cancelled(agent: Agent) -> None:
    told = asyncio.Event()

    async def progress(done: float, total: float | None, message: str) -> None:
        assert total == 300
        told.set()

    waiting = asyncio.ensure_future(agent.gate.call(Call("wait", {"seconds": 300}, agent.caller, progress)))
    await told.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
