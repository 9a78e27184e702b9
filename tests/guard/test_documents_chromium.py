"""A call acts on documents that were judged: not on the one that comes next, nor on that of a frame nobody asked about."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pilothouse.browser.world import World, WorldGone
from pilothouse.call import Call
from pilothouse.cdp.connection import Channel, ProtocolError
from tests.browser.looking import fails
from tests.hostile.conftest import tab_of
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D01", "D03")

Say = Callable[[str], None]
NO_CHANGES = '[[rules]]\nhost = "localhost"\nwrite = false\n'
ASKED = '[[rules]]\nhost = "127.0.0.1"\nwrite = true\n[[rules]]\nhost = "localhost"\napproval = true\n'
BANK = (
    "<title>Bank</title><h1>Bank</h1><iframe srcdoc='<p id=inner>inside'></iframe><script>localStorage.pin = 1</script>"
)
TAKES_OVER = "location.host.startsWith('localhost') ? (document.title = 'taken', true) : (location = '%s', false)"


async def said(agent: Agent, tool: str, **args: Any) -> str:
    """`ok`, or the code it failed with; nobody is waited for."""
    answer = await agent.gate.call(Call(tool, args, agent.caller, patience_s=0))
    return answer.data["error"]["code"] if answer.failed else "ok"


@pytest.mark.parametrize(("rules", "code"), [(NO_CHANGES, "denied"), (ASKED, "stale_ref"), ("", "ok")])
async def test_a_function_that_is_waited_for(agent: Agent, site: PageServer, say: Say, rules: str, code: str) -> None:
    """It leads the tab to a page with other rules, and goes on there only if they allow script."""
    bank = site.inline(BANK, other=True)
    await agent.call("navigate", url=site.url("small.html"))
    say(rules)
    assert await said(agent, "wait_for", function=TAKES_OVER % bank, timeout_ms=5000) == code
    assert (await agent.call("get_page_state"))["title"] == ("Bank" if rules else "taken")


@pytest.mark.parametrize(
    ("tool", "args"),
    [("evaluate_js", {"expression": "document.title = 'taken'"}), ("set_storage", {"key": "pin", "value": "2"})],
)
async def test_what_found_its_document_gone_is_judged_on_the_next(
    agent: Agent, site: PageServer, say: Say, monkeypatch: pytest.MonkeyPatch, tool: str, args: dict[str, str]
) -> None:
    """The document is replaced between the judgement and the script."""
    await agent.call("navigate", url=site.url("small.html"))
    say(NO_CHANGES)
    tab, bank = tab_of(agent), site.inline(BANK, other=True)
    run, post = World.run, Channel.post

    async def leaves() -> None:
        monkeypatch.undo()
        before = tab.document
        await tab.channel.send("Page.navigate", url=bank)
        await tab.signal.until(lambda: tab.document is not before and tab.document.loaded, 5)

    async def gone(self: World, declaration: str, *given: Any, **options: Any) -> Any:
        if "sessionStorage" not in declaration:
            return await run(self, declaration, *given, **options)
        await leaves()
        raise WorldGone("replaced")

    def lost(self: Channel, method: str, **params: Any) -> Any:
        if method != "Runtime.callFunctionOn" or "taken" not in params["functionDeclaration"]:
            return post(self, method, **params)

        async def fail() -> Any:
            await leaves()
            raise ProtocolError(method, {"message": "uniqueContextId not found"})

        return asyncio.ensure_future(fail())

    monkeypatch.setattr(World, "run", gone)
    monkeypatch.setattr(Channel, "post", lost)
    await fails(agent, "denied", tool, **args)
    monkeypatch.undo()
    say("")
    assert await agent.js("[document.title, localStorage.pin]") == ["Bank", "1"]


@pytest.fixture
async def embedding(agent: Agent, site: PageServer) -> str:
    """A page of one host with a frame of another."""
    await agent.call(
        "navigate", url=site.inline(f"<h1>Shop</h1><iframe src='{site.inline(BANK, other=True)}'></iframe>")
    )
    await agent.call("wait_for", target="text=inside")
    return "h1"


async def test_script_with_an_element_runs_where_that_is(
    agent: Agent, site: PageServer, say: Say, embedding: str
) -> None:
    say(NO_CHANGES)
    for target in ("text=Bank", "#inner"):
        await fails(agent, "denied", "evaluate_js", target=target, expression="document.title = 'taken'")
    await agent.call("evaluate_js", target="text=Shop", expression="element.title = 'mine'")
    say(ASKED)
    assert await said(agent, "evaluate_js", target="text=Bank", expression="document.title") == "approval_pending"
    (asked,) = [one for one in agent.gate.approvals.pending() if one["session"] in agent.gate.session_ids(agent.caller)]
    assert any("localhost" in one["url"] for one in asked["aims"])
    say("")
    assert (await agent.call("evaluate_js", target="text=Bank", expression="document.title"))["value"] == "Bank"


async def test_script_with_an_element_is_no_press_on_it(agent: Agent, site: PageServer) -> None:
    """What is at stake is the script: a name, or where a link leads, says nothing of that."""
    await agent.call("navigate", url=site.inline("<button>Pay now</button><a href='http://192.0.2.1/'>Away</a>"))
    assert await said(agent, "evaluate_js", target="button", expression="element.textContent") == "ok"
    assert await said(agent, "evaluate_js", target="a", expression="element.href") == "ok"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("evaluate_js", {"expression": "parent.document.title = 'taken'"}),
        ("get_storage", {}),
        ("set_storage", {"key": "pin", "value": "2"}),
    ],
)
async def test_a_frame_without_an_address_is_its_makers(
    agent: Agent, site: PageServer, say: Say, embedding: str, tool: str, args: dict[str, str]
) -> None:
    found = (await agent.call("get_frames"))["frames"]
    inner = next(one for one in found if one["url"] == "about:srcdoc")
    await agent.call("switch_frame", frame=inner["frame"])
    say(NO_CHANGES)
    await fails(agent, "denied", tool, **args)


@promise("A06")
async def test_an_empty_window_is_its_openers(agent: Agent, house: House, site: PageServer, say: Say) -> None:
    await agent.call("navigate", url=site.inline(BANK, other=True))
    await agent.js("open('about:blank') && 0")
    await agent.call("switch_tab", tab="t2")
    assert (await agent.call("get_current_url"))["url"] == "about:blank"
    say(NO_CHANGES)
    await fails(agent, "denied", "evaluate_js", expression="opener.document.title = 'taken'")
